//! Collections: the pauses of the VM thread, and concurrent cycles, with the memory before and after.
//!
//! `gc__begin` and `gc__end` enclose what one operation of the VM thread collects, which may be a young collection and
//! a full one after it. The memory managers show which it was: each reports all pools before and after its part. If
//! these are not followed, the JVM's counters of how long each collector has run show it.

use std::collections::HashMap;

use fathom_evidence::detail::{self, Gc};
use fathom_evidence::kinds::span;
use fathom_evidence::{Recording, settings};

use super::NAME;
use super::parse::Event;
use super::pools::{Usage, scope_of_manager, scope_of_operation};
use super::probes::{COLLECTORS, Probe};
use crate::hsperfdata::scope;

/// Parts of one pause, and cycles at a time, that are kept; a JVM has two of each.
const PARTS_MAX: usize = 8;

/// What the collectors are at.
#[derive(Debug, Default)]
pub(super) struct Collections {
    pause: Option<Pause>,
    /// Beside the application, by thread.
    cycles: HashMap<u32, Part>,
    /// Names of the collectors that the JVM counts.
    collectors: Vec<String>,
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
    /// For how long each collector had run when it began.
    ran_before: [i64; COLLECTORS],
}

/// What one memory manager does, or one collector.
#[derive(Debug, Default)]
struct Part {
    manager: String,
    began_ns: i64,
    /// When it told what there is after it.
    ended_ns: Option<i64>,
    before: Usage,
    after: Usage,
}

impl Part {
    fn begin(event: &Event) -> Part {
        Part { manager: event.texts[0].clone(), began_ns: event.time_ns, ..Part::default() }
    }

    fn see(&mut self, event: &Event) {
        let is_after = event.probe == Probe::PoolAfter;
        let usage = if is_after { &mut self.after } else { &mut self.before };
        let [used, committed, max, ..] = event.numbers;
        usage.add(&event.texts[1], used, committed, max);
        self.ended_ns = is_after.then_some(event.time_ns).or(self.ended_ns);
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
    /// Of a JVM that counts what these collectors do.
    pub(super) fn of(collectors: Vec<String>) -> Collections {
        Collections { collectors, ..Collections::default() }
    }

    /// Takes what concerns it. `operation` is what the VM thread is at.
    pub(super) fn see(&mut self, event: &Event, operation: &str, found: &mut Recording) {
        match event.probe {
            Probe::CollectionBegin => self.begin(event, operation),
            Probe::CollectionEnd => self.end(event, found),
            Probe::PoolBefore | Probe::PoolAfter => self.pool(event, found),
            _ => {}
        }
    }

    /// Its probes are not followed any more.
    pub(super) fn forget(&mut self) {
        self.pause = None;
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
        let [is_full, first, second, third, ..] = event.numbers;
        self.pause = Some(Pause {
            tid: event.tid,
            began_ns: event.time_ns,
            depth: 1,
            cause: event.texts[0].clone(),
            is_full: is_full != 0,
            operation: operation.to_owned(),
            parts: Vec::new(),
            ran_before: [first, second, third],
        });
    }

    fn end(&mut self, event: &Event, found: &mut Recording) {
        let Some(pause) = self.pause.as_mut().filter(|pause| pause.tid == event.tid) else { return };
        pause.depth = pause.depth.saturating_sub(1);
        if pause.depth == 0 && pause.parts.is_empty() {
            pause.parts = pause.counted(&self.collectors, event);
        }
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

    /// The collections in it by the JVM's counters at its end, the last of which leaves what is in use now. Each collector ran
    /// until the next began.
    fn counted(&self, collectors: &[String], end: &Event) -> Vec<Part> {
        let [first, second, third, sizes @ ..] = end.numbers;
        let ran =
            self.ran_before.iter().zip([first, second, third]).map(|(before, after)| after.saturating_sub(*before));
        let is_one = |(name, ran_ns): &(&String, i64)| *ran_ns > 0 && matches!(scope(name), Some("young" | "full"));
        let ran: Vec<(&String, i64)> = collectors.iter().zip(ran).filter(is_one).collect();
        let (mut after, mut ended_ns) = (Usage::of_counters(sizes), end.time_ns);
        let mut parts = Vec::new();
        for (manager, ran_ns) in ran.into_iter().rev() {
            let began_ns = ended_ns.saturating_sub(ran_ns).max(self.began_ns);
            let (manager, after) = (manager.clone(), std::mem::take(&mut after));
            parts.push(Part { manager, began_ns, ended_ns: Some(ended_ns), before: Usage::default(), after });
            ended_ns = began_ns;
        }
        parts.reverse();
        parts
    }

    /// Each part begins with its pools, but the first, and ends with them: what follows is the JVM's writing about it.
    fn write(self, ended_ns: i64, found: &mut Recording) {
        if self.parts.is_empty() {
            let scope = scope_of_operation(&self.operation, self.is_full);
            return self.add(self.began_ns, ended_ns, &Gc { scope: Some(scope.to_owned()), ..Gc::default() }, found);
        }
        for (index, part) in self.parts.iter().enumerate() {
            let from_ns = if index == 0 { self.began_ns } else { part.began_ns };
            let to_ns = part.ended_ns.unwrap_or(ended_ns);
            self.add(from_ns, to_ns, &part.detail(&self.operation), found);
            part.write_counters(from_ns, to_ns, found);
        }
    }

    fn add(&self, from_ns: i64, to_ns: i64, detail: &Gc, found: &mut Recording) {
        let cause = Some(self.cause.clone()).filter(|cause| is_cause(cause));
        let scope = detail.scope.as_deref().unwrap_or_default().replace('_', " ");
        let name = format!("Pause {}", settings::capitalised(&scope));
        let detail = Gc { cause, level: Some(0), ..detail.clone() };
        let duration_ns = to_ns.saturating_sub(from_ns).max(0);
        found.add_span(from_ns, duration_ns, 0, span::GC_PAUSE, &name, &detail::to_text(&detail), NAME);
    }
}

impl Part {
    fn detail(&self, operation: &str) -> Gc {
        let (collector, scope) = scope_of_manager(&self.manager, operation);
        let (before, after) = (&self.before, &self.after);
        let capacity = if self.ended_ns.is_some() { after } else { before };
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
        let ended_ns = self.ended_ns.unwrap_or(self.began_ns);
        let duration_ns = ended_ns.saturating_sub(self.began_ns).max(0);
        let text = detail::to_text(&detail);
        found.add_span(self.began_ns, duration_ns, i64::from(tid), span::GC, &collector, &text, NAME);
        self.write_counters(self.began_ns, ended_ns, found);
    }
}

/// The JVM's word for no cause at all is none.
fn is_cause(text: &str) -> bool {
    !text.is_empty() && text != "No GC"
}
