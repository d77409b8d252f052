//! What a previous watcher of a JVM hands to its recorder: the rows of the time before, and running observers.
//!
//! They continue in the recording without a gap: their counts do not restart, and nothing is in the kernel twice.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fathom_evidence::Recording;

use crate::Observer;

/// Rows and observers. A copy is the same hand-over: what has been taken from one is gone from all.
#[derive(Clone, Default)]
pub struct HandOver(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    rows: Recording,
    observers: Vec<(&'static str, Box<dyn Observer>)>,
}

impl HandOver {
    /// Rows of the time before, on the clock of the plan's order, and observers that were started with that clock.
    pub fn new(rows: Recording, observers: Vec<(&'static str, Box<dyn Observer>)>) -> HandOver {
        HandOver(Arc::new(Mutex::new(Inner { rows, observers })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows; none the next time.
    pub(super) fn rows(&self) -> Recording {
        std::mem::take(&mut self.inner().rows)
    }

    /// The observer of this collector, if it is at work already.
    pub(super) fn observer(&self, name: &str) -> Option<Box<dyn Observer>> {
        let mut inner = self.inner();
        let at = inner.observers.iter().position(|(other, _)| *other == name)?;
        Some(inner.observers.swap_remove(at).1)
    }
}

impl fmt::Debug for HandOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.inner();
        let names: Vec<&str> = inner.observers.iter().map(|(name, _)| *name).collect();
        f.debug_struct("HandOver").field("rows", &inner.rows.row_counts()).field("observers", &names).finish()
    }
}
