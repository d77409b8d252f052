//! The recordings that are served: loaded on demand, a few at a time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fathom_causes::explanation::{Headline, Verdict};
use serde::Serialize;
use serde_json::Value;

use crate::loaded::Loaded;
use crate::model::Others;
use crate::model::compare::slow_ns;
use crate::model::runs::{Missing, Series};
use crate::refused::Refused;

/// A recording that can be loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// Its name, for the list.
    pub name: String,
    /// Its size on disk; 0 when unknown.
    pub size_bytes: u64,
}

/// Why a recording cannot be loaded, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(pub String);

/// Where recordings come from.
pub trait Library: Send + Sync {
    /// All of them, in the order of their numbers, which begin with 0.
    fn entries(&self) -> &[Entry];
    /// What the service that makes them says of itself (docs/watch.md), where there is one.
    fn watched(&self) -> Option<Value> {
        None
    }
    /// Loads one. Called for one at a time.
    fn load(&self, number: usize) -> Result<Loaded, LoadError>;
}

/// The recordings that are served.
pub struct Shelf {
    library: Box<dyn Library>,
    kept_max: usize,
    /// Loading takes memory and all processors: one at a time.
    loading: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Loaded ones, the one that was asked for last at the end.
    kept: VecDeque<(u32, Arc<Loaded>)>,
    /// What is known of each, also of those that are not kept.
    known: Vec<Known>,
    /// What is compared of them.
    runs: Series,
}

/// What is known of a recording.
#[derive(Debug, Clone, Default)]
struct Known {
    summary: Option<Summary>,
    error: Option<String>,
}

/// What a recording is about; nothing of it is known before it was looked into.
#[derive(Debug, Clone, Default, Serialize)]
struct Summary {
    title: Option<String>,
    jvm: Option<String>,
    /// As text: a browser's numbers do not hold it.
    from_ns: Option<String>,
    duration_ns: Option<i64>,
    slow_ns: Option<i64>,
    headline: Option<Headline>,
    first_cause: Option<String>,
    first_cause_name: Option<&'static str>,
    verdict: Option<Verdict>,
    share: Option<f64>,
}

/// A row of the list.
#[derive(Debug, Serialize)]
pub(super) struct Listed {
    id: u32,
    name: String,
    bytes: u64,
    /// Whether it was looked into.
    known: bool,
    #[serde(flatten)]
    summary: Summary,
    error: Option<String>,
}

impl std::fmt::Debug for Shelf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shelf").field("entries", &self.library.entries()).field("kept_max", &self.kept_max).finish()
    }
}

impl Shelf {
    /// A shelf that keeps at most `kept_max` recordings in memory, at least one.
    pub fn new(library: Box<dyn Library>, kept_max: usize) -> Shelf {
        let known = vec![Known::default(); library.entries().len()];
        let state = Mutex::new(State { known, ..State::default() });
        Shelf { library, kept_max: kept_max.max(1), loading: Mutex::new(()), state }
    }

    /// The recordings, in the order of their numbers.
    pub fn entries(&self) -> &[Entry] {
        self.library.entries()
    }

    /// How many recordings there are.
    pub fn len(&self) -> usize {
        self.library.entries().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The recording, if there is but one and it is in memory.
    pub fn only(&self) -> Option<Arc<Loaded>> {
        (self.len() == 1).then(|| self.kept(0)).flatten()
    }

    /// Looks into every recording that was not looked into yet, one after the other, so that the list can tell
    /// what each is about. `go_on` is asked before each.
    pub fn look_into_all(&self, go_on: impl Fn() -> bool) {
        for number in 0..self.len() as u32 {
            if !go_on() {
                return;
            }
            if !self.state().known[number as usize].is_looked_into() {
                // What cannot be loaded stands in the list.
                let _ = self.recording(number);
            }
        }
    }

    /// A lock is only poisoned by a panic, after which what it guards is as whole as before.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self, id: u32) -> Option<Arc<Loaded>> {
        let mut state = self.state();
        let index = state.kept.iter().position(|(known, _)| *known == id)?;
        let found = state.kept.remove(index)?;
        let loaded = found.1.clone();
        state.kept.push_back(found);
        Some(loaded)
    }

    fn load(&self, id: u32) -> Result<Arc<Loaded>, Refused> {
        // Room is made first, so that no more than `kept_max` are in memory while one is loaded.
        while self.state().kept.len() >= self.kept_max {
            self.state().kept.pop_front();
        }
        let loaded = self.library.load(id as usize).map(|mut loaded| {
            loaded.about.id = id;
            Arc::new(loaded)
        });
        let mut state = self.state();
        match loaded {
            Ok(loaded) => {
                state.known[id as usize] = Known { summary: Some(summary(&loaded)), error: None };
                state.runs.add(id, loaded.run.clone());
                state.kept.push_back((id, loaded.clone()));
                Ok(loaded)
            }
            Err(error) => {
                state.known[id as usize].error = Some(error.to_string());
                Err(Refused::Recording(error.to_string()))
            }
        }
    }

    /// What the service that makes the recordings says of itself.
    pub(super) fn watched(&self) -> Option<Value> {
        self.library.watched()
    }

    /// The runs that were read so far, and how many recordings are missing from them.
    pub(super) fn runs(&self) -> (Series, Missing) {
        let state = self.state();
        let read = state.known.iter().filter(|known| known.summary.is_some()).count();
        let looked_into = state.known.iter().filter(|known| known.is_looked_into()).count();
        let missing = Missing {
            unread: state.known.len() - looked_into,
            unreadable: looked_into - read,
            left_out: read - state.runs.len(),
        };
        (state.runs.clone(), missing)
    }

    /// The list.
    pub(super) fn list(&self) -> Vec<Listed> {
        let state = self.state();
        let entries = (0..).zip(self.library.entries()).zip(&state.known);
        entries
            .map(|((id, entry), known)| Listed {
                id,
                name: entry.name.clone(),
                bytes: entry.size_bytes,
                known: known.is_looked_into(),
                summary: known.summary.clone().unwrap_or_default(),
                error: known.error.clone(),
            })
            .collect()
    }
}

impl Known {
    fn is_looked_into(&self) -> bool {
        self.summary.is_some() || self.error.is_some()
    }
}

impl Others for Shelf {
    fn recording(&self, id: u32) -> Result<Arc<Loaded>, Refused> {
        if id as usize >= self.len() {
            return Err(Refused::not_there("recording", &id.to_string()));
        }
        if let Some(loaded) = self.kept(id) {
            return Ok(loaded);
        }
        let _one_at_a_time = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have loaded it meanwhile.
        self.kept(id).map_or_else(|| self.load(id), Ok)
    }
}

fn summary(loaded: &Loaded) -> Summary {
    let explanation = &loaded.explanation;
    let first = explanation.causes.first().filter(|cause| cause.verdict <= Verdict::Possible);
    Summary {
        title: Some(explanation.recording.title.clone()),
        jvm: Some(explanation.recording.jvm.clone()),
        from_ns: Some(explanation.recording.from_ns.to_string()),
        duration_ns: Some(loaded.axis.to.saturating_sub(loaded.axis.from)),
        slow_ns: Some(slow_ns(explanation)),
        headline: Some(explanation.headline.clone()),
        first_cause: first.map(|cause| cause.id.clone()),
        first_cause_name: first.and_then(|first| fathom_causes::cause(&first.id)).map(|cause| cause.name()),
        verdict: first.map(|cause| cause.verdict),
        share: first.map(|cause| cause.share),
    }
}
