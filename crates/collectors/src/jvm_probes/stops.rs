//! Safepoints and the work of the VM thread at them.

use fathom_evidence::Recording;
use fathom_evidence::detail::{self, Safepoint, VmOperation};
use fathom_evidence::kinds::span;

use super::NAME;
use super::parse::Event;
use super::probes::Probe;

/// Operations that begin within each other; the JVM nests two.
const DEEPEST: usize = 8;

/// What is going on in the VM thread.
#[derive(Debug, Default)]
pub(super) struct Stops {
    safepoint: Option<Stop>,
    operations: Vec<Operation>,
}

#[derive(Debug)]
struct Stop {
    began_ns: i64,
    /// When the last thread had stopped.
    reached_ns: Option<i64>,
    threads: Option<u64>,
    /// The first operation.
    operation: String,
}

#[derive(Debug)]
struct Operation {
    began_ns: i64,
    name: String,
    at_safepoint: bool,
}

impl Stops {
    /// Takes what concerns it.
    pub(super) fn see(&mut self, event: &Event, found: &mut Recording) {
        let at_ns = event.time_ns;
        match event.probe {
            Probe::SafepointBegin => {
                let (reached_ns, threads, operation) = (None, None, String::new());
                self.safepoint = Some(Stop { began_ns: at_ns, reached_ns, threads, operation });
            }
            Probe::SafepointReached => self.reached(at_ns, event.numbers[0]),
            Probe::SafepointEnd => self.released(at_ns, found),
            Probe::OperationBegin => self.begins(event),
            Probe::OperationEnd => self.ends(event, found),
            _ => {}
        }
    }

    /// The operation that the VM thread is at.
    pub(super) fn operation(&self) -> &str {
        self.operations.last().map_or("", |operation| operation.name.as_str())
    }

    /// A stop that has not ended is as long as it is by now.
    pub(super) fn finish(&mut self, now_ns: i64, found: &mut Recording) {
        self.released(now_ns, found);
    }

    fn reached(&mut self, at_ns: i64, threads: i64) {
        if let Some(stop) = &mut self.safepoint {
            stop.reached_ns.get_or_insert(at_ns);
            stop.threads = u64::try_from(threads).ok().filter(|threads| *threads > 0);
        }
    }

    fn begins(&mut self, event: &Event) {
        let name = event.texts[0].clone();
        // How it is evaluated: at a safepoint (0, and 3 in old JVMs), without one, or beside the application.
        let at_safepoint = matches!(event.numbers[0], 0 | 3);
        if let Some(stop) = self.safepoint.as_mut().filter(|_| at_safepoint) {
            // Without the function that says so, an operation is the first thing that happens then.
            stop.reached_ns.get_or_insert(event.time_ns);
            if stop.operation.is_empty() {
                stop.operation.clone_from(&name);
            }
        }
        if self.operations.len() < DEEPEST {
            self.operations.push(Operation { began_ns: event.time_ns, name, at_safepoint });
        }
    }

    fn ends(&mut self, event: &Event, found: &mut Recording) {
        let Some(operation) = self.operations.pop() else { return };
        let detail = VmOperation { safepoint: Some(operation.at_safepoint), ..VmOperation::default() };
        let duration_ns = event.time_ns.saturating_sub(operation.began_ns).max(0);
        let (kind, tid) = (span::VM_OPERATION, i64::from(event.tid));
        found.add_span(operation.began_ns, duration_ns, tid, kind, &operation.name, &detail::to_text(&detail), NAME);
    }

    fn released(&mut self, at_ns: i64, found: &mut Recording) {
        let Some(stop) = self.safepoint.take() else { return };
        let waited_ns = stop.reached_ns.map(|reached_ns| reached_ns.saturating_sub(stop.began_ns).max(0));
        let detail = Safepoint {
            time_to_safepoint_ns: waited_ns.map(|ns| ns as u64),
            threads: stop.threads,
            ..Safepoint::default()
        };
        let text = detail::to_text(&Safepoint { time_to_safepoint_ns: None, ..detail.clone() });
        if let Some(waited_ns) = waited_ns {
            found.add_span(stop.began_ns, waited_ns, 0, span::TIME_TO_SAFEPOINT, &stop.operation, &text, NAME);
        }
        let duration_ns = at_ns.saturating_sub(stop.began_ns).max(0);
        found.add_span(
            stop.began_ns,
            duration_ns,
            0,
            span::SAFEPOINT,
            &stop.operation,
            &detail::to_text(&detail),
            NAME,
        );
        // An end that was not seen must not become the end of a later one.
        self.operations.clear();
    }
}
