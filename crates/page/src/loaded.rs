//! A recording prepared for questions.
//!
//! The data for questions are sorted once and kept in columns; the tables that they were made from are freed, so that a
//! recording is in memory once. The explanation is made by the same functions as that of `fathom explain`.

use std::sync::{Arc, OnceLock};

use fathom_causes::explanation::Explanation;
use fathom_causes::{ExplainOptions, investigate};
use fathom_compare::Run;
use fathom_evidence::tables::Counters;
use fathom_evidence::{Recording, StackId};
use fathom_timeline::{Analysis, Intervals};

use crate::axis::{Axis, Range};
use crate::index::change::{Changes, Times};
use crate::index::cover::Cover;
use crate::index::joins::Joins;
use crate::index::lane::Lane;
use crate::index::lanes;
use crate::index::lasting::{self, Places, Waited};
use crate::index::provenance::Provenance;
use crate::index::reasons::Reasons;
use crate::index::requests::Requests;
use crate::index::samples::{self, Event};
use crate::index::spans::Spans;
use crate::index::stacks::Joined;
use crate::index::threads::Threads;
use crate::index::tree::Tree;

/// What is known of a recording beside its rows.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// Its number among the recordings that are served.
    pub id: u32,
    /// Name of the file or folder.
    pub name: String,
    /// Its size on disk; 0 when unknown.
    pub size_bytes: u64,
    /// When it was slow, if a person says so, in ns since the Unix epoch.
    pub slow: Option<(i64, i64)>,
    /// A recording of the same service when it was well.
    pub baseline: Option<Arc<Baseline>>,
}

/// A recording of the same service when it was well: as the explanation compares with it, and as it is looked at.
#[derive(Debug)]
pub struct Baseline {
    name: String,
    recording: Recording,
    loaded: OnceLock<Arc<Loaded>>,
}

impl Baseline {
    /// A baseline with the name of its file.
    pub fn new(name: String, recording: Recording) -> Baseline {
        Baseline { name, recording, loaded: OnceLock::new() }
    }

    /// Name of its file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The same, ready for questions: made when it is first asked for.
    fn loaded(&self) -> Arc<Loaded> {
        let about = || About { name: self.name.clone(), ..About::default() };
        self.loaded.get_or_init(|| Arc::new(Loaded::new(self.recording.clone(), about()))).clone()
    }
}

/// A recording made ready for questions.
#[derive(Debug)]
pub struct Loaded {
    pub(crate) about: About,
    pub(crate) explanation: Explanation,
    /// What is compared with other recordings.
    pub(crate) run: Run,
    /// Dictionaries, facts, spans, logs and losses; samples and counters have been taken out of it.
    pub(crate) recording: Recording,
    pub(crate) axis: Axis,
    pub(crate) threads: Threads,
    pub(crate) provenance: Provenance,
    pub(crate) tree: Tree,
    node_of_stack: Vec<u32>,
    pub(crate) events: Vec<Event>,
    pub(crate) spans: Spans,
    pub(crate) requests: Requests,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) changes: Changes,
    pub(crate) cover: Cover,
    /// What the slow time is compared with, if that is a part of this recording; in ns since the origin.
    baseline: Vec<(i64, i64)>,
    /// The same of the other recording, in ns since its own origin.
    baseline_of_other: Vec<(i64, i64)>,
}

/// What is made of a recording before its tables are taken apart.
struct Prepared {
    explanation: Explanation,
    run: Run,
    axis: Axis,
    threads: Threads,
    provenance: Provenance,
    spans: Spans,
    requests: Requests,
    lanes: Vec<Lane>,
    changes: Changes,
    cover: Cover,
    waits: Vec<Waited>,
    reasons: Reasons,
    baseline: Vec<(i64, i64)>,
    baseline_of_other: Vec<(i64, i64)>,
}

impl Loaded {
    /// Explains a recording and sorts it.
    pub fn new(mut recording: Recording, about: About) -> Loaded {
        let mut prepared = prepare(&recording, &about);
        if prepared.explanation.recording.title.is_empty() {
            prepared.explanation.recording.title.clone_from(&about.name);
        }
        recording.counters = Counters::default();
        let joined = Joined::new(&mut recording);
        let stacks_of_reasons = prepared.reasons.stacks(&mut recording, &joined);
        let (tree, node_of_stack) = Tree::new(&recording);
        let mut events = samples::take(&mut recording, &prepared.axis, &prepared.threads, &node_of_stack);
        let places = Places {
            recording: &recording,
            axis: &prepared.axis,
            threads: &prepared.threads,
            joined: &joined,
            node_of_stack: &node_of_stack,
        };
        let reasons = (&prepared.reasons, stacks_of_reasons.as_slice());
        events.extend(places.events(&prepared.waits, reasons, &prepared.spans));
        Loaded {
            about,
            explanation: prepared.explanation,
            run: prepared.run,
            recording,
            axis: prepared.axis,
            threads: prepared.threads,
            provenance: prepared.provenance,
            tree,
            node_of_stack,
            events,
            spans: prepared.spans,
            requests: prepared.requests,
            lanes: prepared.lanes,
            changes: prepared.changes,
            cover: prepared.cover,
            baseline: prepared.baseline,
            baseline_of_other: prepared.baseline_of_other,
        }
    }

    /// The answer to why it was slow.
    pub fn explanation(&self) -> &Explanation {
        &self.explanation
    }

    /// The same, of a recording that is done with.
    pub fn into_explanation(self) -> Explanation {
        self.explanation
    }

    /// The instant that is time 0 in questions and answers, in ns since the Unix epoch.
    pub fn origin_ns(&self) -> i64 {
        self.axis.origin_ns
    }

    /// The baseline, as far as it is in this recording.
    pub(crate) fn baseline(&self) -> &[Range] {
        &self.baseline
    }

    /// The other recording that the slow time is compared with, and which of its time.
    pub(crate) fn other(&self) -> Option<(Arc<Loaded>, &[Range])> {
        self.about.baseline.as_ref().map(|baseline| (baseline.loaded(), self.baseline_of_other.as_slice()))
    }

    /// The node of a stack in the tree.
    pub(crate) fn node_of(&self, stack: StackId) -> u32 {
        self.node_of_stack.get(stack.0 as usize).copied().unwrap_or(0)
    }

    /// The name of a thread, or its number where it has none.
    pub fn thread_name(&self, number: u32) -> String {
        let Some(thread) = self.threads.get(number) else { return String::new() };
        let name = self.recording.text(thread.name);
        if name.is_empty() { format!("thread {}", thread.tid) } else { name.to_owned() }
    }
}

fn prepare(recording: &Recording, about: &About) -> Prepared {
    let baseline = about.baseline.as_ref().map(|baseline| &baseline.recording);
    let extent = recording.time_range_ns();
    let Some((analysis, explanation)) = investigate(recording, &ExplainOptions { slow: about.slow, baseline }) else {
        return nothing(recording, &about.name, extent.unwrap_or_default());
    };
    let grid = analysis.sources.grid;
    let accounted = (grid.start_ns, grid.end_ns());
    let axis = Axis::new(accounted, extent.unwrap_or(accounted));
    let threads = Threads::new(recording, Some(&analysis.sources));
    let (baseline, baseline_of_other) = baselines(&analysis, &axis);
    let slow: Ranges = explanation.slow.iter().map(|slow| (axis.at(slow.from_ns), axis.at(slow.to_ns))).collect();
    let mut joins = Joins::new(&analysis);
    let (spans, lanes) = (Spans::new(&analysis.sources), lanes::lanes(&analysis, &axis, &threads));
    Prepared {
        run: Run::of_analysis(&about.name, &analysis, &explanation),
        explanation,
        requests: Requests::new(&analysis.sources, &axis),
        changes: Changes::new(recording, &axis, Times { slow: &slow, baseline: &baseline }, &lanes, &spans),
        spans,
        lanes,
        cover: Cover::new(&analysis, &axis, &threads),
        waits: lasting::waits(&analysis, &axis, &threads, &mut joins),
        reasons: Reasons::new(&analysis, &axis, &threads, &mut joins),
        axis,
        provenance: Provenance::new(recording, &threads),
        threads,
        baseline,
        baseline_of_other,
    }
}

/// A recording without anything that has a time.
fn nothing(recording: &Recording, name: &str, extent: (i64, i64)) -> Prepared {
    let explanation = fathom_causes::explain_nothing(recording);
    Prepared {
        run: Run::without_times(name, recording, &explanation),
        explanation,
        axis: Axis::new(extent, extent),
        threads: Threads::new(recording, None),
        provenance: Provenance::default(),
        spans: Spans::default(),
        requests: Requests::default(),
        lanes: Vec::new(),
        changes: Changes::default(),
        cover: Cover::default(),
        waits: Vec::new(),
        reasons: Reasons::default(),
        baseline: Vec::new(),
        baseline_of_other: Vec::new(),
    }
}

type Ranges = Vec<Range>;

/// The baseline in this recording, and in the other one.
fn baselines(analysis: &Analysis<'_>, axis: &Axis) -> (Ranges, Ranges) {
    let relative = |time: Intervals, axis: &Axis| time.iter().map(|(from, to)| (axis.at(from), axis.at(to))).collect();
    match (&analysis.baseline_recording, analysis.baseline_time(&analysis.slowdown)) {
        (_, None) => (Vec::new(), Vec::new()),
        (None, Some((_, time))) => (relative(time, axis), Vec::new()),
        (Some(other), Some((view, time))) => {
            let grid = other.account.grid;
            let extent = view.recording.time_range_ns().unwrap_or_default();
            (Vec::new(), relative(time, &Axis::new((grid.start_ns, grid.end_ns()), extent)))
        }
    }
}
