//! What signals say of a JVM that starts.

use super::{Signal, SignalKind};
use crate::startup::Startup;

/// A JVM that starts stops for a while; one that stands still for half of a second or more does nothing else. Part of a second.
const STANDS_STILL: f64 = 0.5;

impl SignalKind {
    /// Whether a value of it says that the whole application stood still for most of the time.
    pub(super) fn stands_still(self, value: f64) -> bool {
        matches!(self, SignalKind::Stopped | SignalKind::FullCollections) && value >= STANDS_STILL
    }
}

impl Signal {
    /// Zeros what is usual while a JVM starts.
    pub(super) fn forget_start(&mut self, startup: Startup) {
        let ordinary = self.kind.ordinary_at_start(startup).min(self.values.len());
        let kind = self.kind;
        let usual = self.values[..ordinary].iter_mut().filter(|value| !kind.stands_still(**value));
        usual.for_each(|value| *value = 0.0);
    }
}
