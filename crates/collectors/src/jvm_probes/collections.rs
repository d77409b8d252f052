//! Collections: the pauses of the VM thread, and cycles beside the application, with the memory before and after.
//!
//! `gc__begin` and `gc__end` enclose what one operation of the VM thread collects, which may be a young
//! collection and a full one after it. Which it was tell the memory managers, that each report all pools
//! before and after their part.

use std::collections::HashMap;

use fathom_evidence::Recording;
use fathom_evidence::detail::{self, Gc};
use fathom_evidence::kinds::span;

use super::NAME;
use super::parse::Event;
use super::pools::{Usage, scope_of_manager, scope_of_operation};
use super::probes::Probe;

/// Parts of one pause, and cycles at a time, that are kept; a JVM has two of each.
const PARTS_MAX: usize = 8;

/// What the collectors are at.
#[derive(Debug, Default)]
pub(super) struct Collections {
    pause: Option<Pause>,
    /// Beside the application, by thread.
    cycles: HashMap<u32, Part>,
}

#[derive(Debug)]
struct Pause {
    tid: u32,
    began_ns: i64,
    /// `gc__begin` within each other.
    depth: u32,
    cause: String,
    is_full: bool,
    operation: String,
    parts: Vec<Part>,
}

/// What one memory manager does.
#[derive(Debug, Default)]
struct Part {
    manager: String,
    began_ns: i64,
    ended_ns: i64,
    before: Usage,
    after: Usage,
}

impl Part {
    fn begin(event: &Event) -> Part {
        Part { manager: event.texts[0].clone(), began_ns: event.time_ns, ended_ns: event.time_ns, ..Part::default() }
    }

    fn see(&mut self, event: &Event) {
        let usage = if event.probe == Probe::PoolBefore { &mut self.before } else { &mut self.after };
        let [used, committed, max, ..] = event.numbers;
        usage.add(&event.texts[1], used, committed, max);
        self.ended_ns = event.time_ns;
    }

    /// Whether a pool that is reported now belongs to a new part.
    fn is_over(&self, event: &Event) -> bool {
        self.manager != event.texts[0] || (event.probe == Probe::PoolBefore && self.after.pools > 0)
    }

    fn is_complete(&self) -> bool {
        self.before.pools > 0 && self.after.pools >= self.before.pools
    }
}

impl Collections {
    /// Takes what concerns it. `operation` is what the VM thread is at.
    pub(super) fn see(&mut self, event: &Event, operation: &str, found: &mut Recording) {
        match event.probe {
            Probe::CollectionBegin => self.begin(event, operation),
            Probe::CollectionEnd => self.end(event, found),
            Probe::PoolBefore | Probe::PoolAfter => self.pool(event, found),
            _ => {}
        }
    }

    /// A pause that has not ended is as long as it is by now.
    pub(super) fn finish(&mut self, now_ns: i64, found: &mut Recording) {
        if let Some(pause) = self.pause.take() {
            pause.write(now_ns, found);
        }
    }

    fn begin(&mut self, event: &Event, operation: &str) {
        if let Some(pause) = self.pause.as_mut().filter(|pause| pause.tid == event.tid) {
            pause.depth += 1;
            pause.is_full |= event.numbers[0] != 0;
            return;
        }
        self.pause = Some(Pause {
            tid: event.tid,
            began_ns: event.time_ns,
            depth: 1,
            cause: event.texts[0].clone(),
            is_full: event.numbers[0] != 0,
            operation: operation.to_owned(),
            parts: Vec::new(),
        });
    }

    fn end(&mut self, event: &Event, found: &mut Recording) {
        let Some(pause) = self.pause.as_mut().filter(|pause| pause.tid == event.tid) else { return };
        pause.depth = pause.depth.saturating_sub(1);
        // A remark or a cleanup has no cause: the last one is that of the collection before.
        if !is_cause(&pause.cause) && !pause.parts.is_empty() {
            pause.cause.clone_from(&event.texts[0]);
        }
        if pause.depth == 0
            && let Some(pause) = self.pause.take()
        {
            pause.write(event.time_ns, found);
        }
    }

    fn pool(&mut self, event: &Event, found: &mut Recording) {
        if let Some(pause) = self.pause.as_mut().filter(|pause| pause.tid == event.tid) {
            return pause.pool(event);
        }
        if self.cycles.get(&event.tid).is_none_or(|cycle| cycle.is_over(event)) {
            // The end of a cycle whose beginning was not seen.
            if event.probe == Probe::PoolAfter || self.cycles.len() >= PARTS_MAX {
                return;
            }
            self.cycles.insert(event.tid, Part::begin(event));
        }
        let Some(cycle) = self.cycles.get_mut(&event.tid) else { return };
        cycle.see(event);
        if cycle.is_complete()
            && let Some(cycle) = self.cycles.remove(&event.tid)
        {
            cycle.write_cycle(event.tid, found);
        }
    }
}

impl Pause {
    fn pool(&mut self, event: &Event) {
        if self.parts.last().is_none_or(|part| part.is_over(event)) && self.parts.len() < PARTS_MAX {
            self.parts.push(Part::begin(event));
        }
        if let Some(part) = self.parts.last_mut() {
            part.see(event);
        }
    }

    /// Each part begins with its pools, but the first, and ends with them: what follows is the JVM's writing about it.
    fn write(self, ended_ns: i64, found: &mut Recording) {
        if self.parts.is_empty() {
            let scope = scope_of_operation(&self.operation, self.is_full);
            return self.add(self.began_ns, ended_ns, &Gc { scope: Some(scope.to_owned()), ..Gc::default() }, found);
        }
        for (index, part) in self.parts.iter().enumerate() {
            let from_ns = if index == 0 { self.began_ns } else { part.began_ns };
            let to_ns = if part.after.pools > 0 { part.ended_ns } else { ended_ns };
            self.add(from_ns, to_ns, &part.detail(&self.operation), found);
            part.write_counters(from_ns, to_ns, found);
        }
    }

    fn add(&self, from_ns: i64, to_ns: i64, detail: &Gc, found: &mut Recording) {
        let cause = Some(self.cause.clone()).filter(|cause| is_cause(cause));
        let name = format!("Pause {}", capitalised(detail.scope.as_deref().unwrap_or_default()));
        let detail = Gc { cause, level: Some(0), ..detail.clone() };
        let duration_ns = to_ns.saturating_sub(from_ns).max(0);
        found.add_span(from_ns, duration_ns, 0, span::GC_PAUSE, &name, &detail::to_text(&detail), NAME);
    }
}

impl Part {
    fn detail(&self, operation: &str) -> Gc {
        let (collector, scope) = scope_of_manager(&self.manager, operation);
        let (before, after) = (&self.before, &self.after);
        let capacity = if after.pools > 0 { after } else { before };
        Gc {
            scope: Some(scope.to_owned()),
            collector: Some(collector.to_owned()),
            heap_before_bytes: before.heap().used,
            heap_after_bytes: after.heap().used,
            heap_committed_bytes: capacity.heap().committed,
            old_before_bytes: before.old.used,
            old_after_bytes: after.old.used,
            old_capacity_bytes: capacity.old.committed,
            young_before_bytes: before.young.used,
            young_after_bytes: after.young.used,
            young_capacity_bytes: capacity.young.committed,
            ..Gc::default()
        }
    }

    fn write_counters(&self, from_ns: i64, to_ns: i64, found: &mut Recording) {
        self.before.write(from_ns, "before_gc", found);
        self.after.write(to_ns, "after_gc", found);
    }

    /// A collection beside the application, as a whole.
    fn write_cycle(&self, tid: u32, found: &mut Recording) {
        let detail = Gc { scope: Some("other".to_owned()), ..self.detail("") };
        let collector = detail.collector.clone().unwrap_or_default();
        let duration_ns = self.ended_ns.saturating_sub(self.began_ns).max(0);
        let text = detail::to_text(&detail);
        found.add_span(self.began_ns, duration_ns, i64::from(tid), span::GC, &collector, &text, NAME);
        self.write_counters(self.began_ns, self.ended_ns, found);
    }
}

/// The JVM's word for no cause at all is none.
fn is_cause(text: &str) -> bool {
    !text.is_empty() && text != "No GC"
}

fn capitalised(scope: &str) -> String {
    let mut words = scope.replace('_', " ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words
}
