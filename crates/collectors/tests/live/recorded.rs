//! Records a JVM with one collector.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fathom_collectors::recorder::{self, Plan, Recorded, Watcher};
use fathom_collectors::{Policy, Refusal, Target, collectors};
use fathom_evidence::Recording;
use fathom_evidence::kinds::span;
use tempfile::TempDir;

use crate::jvm::Jvm;

/// For what never comes.
const LONGEST: Duration = Duration::from_secs(300);

/// Asks all the time, from when the collector has begun, whether the recording has enough.
struct Asking<'a, F> {
    name: &'a str,
    has_begun: bool,
    is_enough: F,
    interrupted: &'a AtomicBool,
}

impl<F: FnMut() -> bool> Watcher for Asking<'_, F> {
    fn started(&mut self, name: &'static str, _refused: Option<&Refusal>) {
        self.has_begun |= name == self.name;
    }

    fn passes(&mut self, _elapsed: Duration, _bytes: u64) {
        if self.has_begun && (self.is_enough)() {
            self.interrupted.store(true, Ordering::Relaxed);
        }
    }
}

/// A recording and what became of it.
pub(crate) struct Outcome {
    place: TempDir,
    pub(crate) recorded: Recorded,
    /// What the collector found while it looked.
    pub(crate) seen: Recording,
}

/// Records a JVM with the collector of this name, for a while or until it ends.
pub(crate) fn outcome(name: &str, target: &Target, change: impl FnOnce(&mut Plan)) -> Outcome {
    outcome_until(name, target, change, || false)
}

/// The same, for as long as the program takes for so many turns: how long that is is the machine's affair.
pub(crate) fn during_turns(name: &str, jvm: &Jvm, turns: u64, change: impl FnOnce(&mut Plan)) -> Outcome {
    let mut first = None;
    outcome_until(name, &jvm.target(), change, || jvm.turns() >= *first.get_or_insert_with(|| jvm.turns()) + turns)
}

/// The same, until a callback that is asked all the time says that it is enough.
pub(crate) fn outcome_until(
    name: &str,
    target: &Target,
    change: impl FnOnce(&mut Plan),
    is_enough: impl FnMut() -> bool,
) -> Outcome {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.fathom");
    let mut plan = Plan::new(path.clone());
    // Whatever else the machine does meanwhile.
    plan.order.policy = Policy::thorough();
    plan.only = vec![name.to_owned()];
    plan.duration = Some(LONGEST);
    change(&mut plan);
    let interrupted = AtomicBool::new(false);
    let mut asking = Asking { name, has_begun: false, is_enough, interrupted: &interrupted };
    let recorded = recorder::record(target, collectors(), &plan, &interrupted, &mut asking).unwrap();
    Outcome { recorded, seen: fathom_store::open(&path).unwrap(), place }
}

/// The same, again while the JVM answers too late: the machine may be busy. The last, and how many it took.
pub(crate) fn answered(mut record: impl FnMut() -> Outcome) -> (Outcome, u32) {
    let mut tries = 1;
    loop {
        let outcome = record();
        let is_silent = outcome.says().iter().any(|says| says.contains("did not answer"));
        if !is_silent || tries == 10 {
            return (outcome, tries);
        }
        tries += 1;
    }
}

/// The rows that a collector finds in a while.
pub(crate) fn record(name: &str, target: &Target, duration: Duration) -> Recording {
    outcome(name, target, |plan| plan.duration = Some(duration)).seen
}

impl Outcome {
    /// Files that were left for a reader.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.recorded.parts.iter().flat_map(|part| part.files.clone()).collect()
    }

    /// What a reader makes of the only file.
    pub(crate) fn read(&self) -> Recording {
        let files = self.files();
        assert_eq!(files.len(), 1, "{:?}", self.says());
        assert!(files[0].starts_with(self.place.path()));
        fathom_readers::load_file(&files[0], &fathom_readers::LoadOptions::default()).unwrap()
    }

    /// What was lost.
    pub(crate) fn says(&self) -> Vec<&str> {
        self.seen.losses.rows().map(|row| self.seen.text(row.says)).collect()
    }

    /// What was done to the process.
    pub(crate) fn own_actions(&self) -> Vec<&str> {
        self.seen
            .spans
            .rows()
            .filter(|row| self.seen.text(row.kind) == span::OWN_ACTION)
            .map(|row| self.seen.text(row.name))
            .collect()
    }
}
