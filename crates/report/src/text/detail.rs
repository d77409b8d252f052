//! How much of an answer is shown: all of it, or as much as is read without scrolling.

use jiff::tz::TimeZone;

use crate::TextOptions;

/// Lines of a terminal.
pub(super) const SCREEN_LINES: usize = 40;

/// How many of each thing are shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Detail<'o> {
    /// Everything.
    pub(super) all: bool,
    /// The zone of times.
    pub(super) zone: &'o TimeZone,
    pub(super) intervals: usize,
    pub(super) figures: usize,
    /// Figures of a healthy recording: what was looked at is the whole answer.
    pub(super) looked_at: usize,
    pub(super) changes: usize,
    pub(super) ports: usize,
    /// Kinds of messages in logs, of requests, and of answers.
    pub(super) messages: usize,
    pub(super) causes: usize,
    /// Of the cause that cost most.
    pub(super) first: OfCause,
    /// Of each of the others.
    pub(super) others: OfCause,
    /// Causes that are ruled out with the measurement that excludes them; the engine puts the nearest first.
    pub(super) measured_exclusions: usize,
    /// Stacks of what is unexplained.
    pub(super) stacks: usize,
    /// Frames of a stack, from the leaf.
    pub(super) frames: usize,
    pub(super) losses: usize,
}

/// How much is shown of one cause.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfCause {
    /// Measurements.
    pub(super) evidence: usize,
    /// Things to do.
    pub(super) actions: usize,
    /// Whether commands that prove it or would make the answer surer are shown.
    pub(super) has_commands: bool,
}

impl OfCause {
    const ALL: OfCause = OfCause { evidence: usize::MAX, actions: usize::MAX, has_commands: true };
    const MUCH: OfCause = OfCause { evidence: 4, actions: 2, has_commands: true };
    const LESS: OfCause = OfCause { evidence: 2, actions: 1, has_commands: true };
    const LITTLE: OfCause = OfCause { evidence: 0, actions: 1, has_commands: false };
    const SENTENCE: OfCause = OfCause { evidence: 0, actions: 0, has_commands: false };
}

impl<'o> Detail<'o> {
    /// What is tried, the richest first: the first that fits on a screen is shown. Most answers fit at once.
    pub(super) fn levels(options: &'o TextOptions) -> Vec<Detail<'o>> {
        if options.all {
            return vec![Detail::all(&options.zone)];
        }
        let much = Detail {
            all: false,
            intervals: 3,
            figures: 5,
            looked_at: 8,
            changes: 3,
            ports: 2,
            messages: 2,
            first: OfCause::MUCH,
            others: OfCause::MUCH,
            measured_exclusions: 4,
            stacks: 3,
            frames: 4,
            losses: 5,
            ..Detail::all(&options.zone)
        };
        let less = Detail { others: OfCause::LESS, stacks: 2, losses: 3, ..much };
        let little = Detail {
            intervals: 2,
            ports: 1,
            messages: 1,
            causes: 4,
            others: OfCause::LITTLE,
            stacks: 1,
            losses: 2,
            ..less
        };
        let least = Detail {
            intervals: 1,
            changes: 1,
            messages: 0,
            causes: 3,
            first: OfCause::LESS,
            others: OfCause::SENTENCE,
            measured_exclusions: 0,
            stacks: 0,
            losses: 1,
            ..little
        };
        vec![much, less, little, least]
    }

    fn all(zone: &'o TimeZone) -> Detail<'o> {
        const ALL: usize = usize::MAX;
        Detail {
            all: true,
            zone,
            intervals: ALL,
            figures: ALL,
            looked_at: ALL,
            changes: ALL,
            ports: ALL,
            messages: ALL,
            causes: ALL,
            first: OfCause::ALL,
            others: OfCause::ALL,
            measured_exclusions: ALL,
            stacks: ALL,
            frames: ALL,
            losses: ALL,
        }
    }
}
