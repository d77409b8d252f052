//! A JVM that has nothing to do is looked at rarely, because waking up is most of the cost of a look.

use crate::port::PortSecond;
use crate::signals::Second;

/// In a row, before it counts as idle.
const AFTER_S: u32 = 10;

/// What it uses at most then, in cores.
const CORES: f64 = 0.02;

/// For how many seconds in a row a JVM has had nothing to do.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    seconds: u32,
}

impl Idle {
    /// Takes a second.
    pub(crate) fn see(&mut self, second: &Second) {
        self.seconds = if had_nothing_to_do(second) { self.seconds.saturating_add(1) } else { 0 };
    }

    /// Whether it is idle.
    pub(crate) fn is_it(&self) -> bool {
        self.seconds >= AFTER_S
    }
}

/// Where its CPU time is not known it may have had much.
fn had_nothing_to_do(second: &Second) -> bool {
    let is_quiet = |port: &PortSecond| port.under_way == 0 && port.answered.count() == 0;
    let uses_little = second.values.get("cpu.cores").is_some_and(|cores| *cores < CORES);
    uses_little && second.events.is_empty() && second.ports.values().all(is_quiet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_asked_or_computes_is_not_idle() {
        let second = |cores: Option<f64>, under_way: u32| {
            let mut second = Second::default();
            second.values.extend(cores.map(|cores| ("cpu.cores", cores)));
            second.ports.insert(":8080".to_owned(), PortSecond { under_way, ..PortSecond::default() });
            second
        };
        let mut idle = Idle::default();
        (0..9).for_each(|_| idle.see(&second(Some(0.001), 0)));
        assert!(!idle.is_it());
        idle.see(&second(Some(0.001), 0));
        assert!(idle.is_it());
        for busy in [second(Some(0.5), 0), second(Some(0.001), 1), second(None, 0)] {
            (0..20).for_each(|_| idle.see(&second(Some(0.001), 0)));
            idle.see(&busy);
            assert!(!idle.is_it(), "{busy:?}");
        }
    }
}
