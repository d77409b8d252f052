//! What each event of a collection adds to it.

use fathom_evidence::kinds::{counter, span};
use fathom_evidence::tables::Counter;

use super::load_chunk::{Head, Loader};
use super::load_gc::GcSpan;
use super::load_handlers::Fields;
use super::load_map::GcPart;
use super::load_rows::when;

impl Loader<'_, '_> {
    pub(super) fn gc_part(&mut self, head: Head, gc_id: i64, part: GcPart, fields: &Fields, slots: &[u64]) {
        match part {
            GcPart::Collection => self.collection(head, gc_id, fields, slots),
            GcPart::Pause => self.gc_span(head, gc_id, span::GC_PAUSE, 0, fields, slots),
            GcPart::Phase(level) => self.gc_span(head, gc_id, span::GC_PHASE, level, fields, slots),
            GcPart::Concurrent => self.gc_span(head, gc_id, span::GC_CONCURRENT, 0, fields, slots),
            GcPart::Heap => self.heap(head, gc_id, fields, slots),
            GcPart::ParallelHeap => self.parallel_heap(head, gc_id, fields, slots),
            GcPart::G1Heap => self.g1_heap(head, gc_id, fields, slots),
            GcPart::CpuTime => self.cpu_time(head, gc_id, fields, slots),
            GcPart::G1Type => {
                let text = self.field_text(fields, "type", slots);
                self.out.collections.entry(gc_id).g1_type = text;
            }
        }
    }

    fn field_text(&mut self, fields: &Fields, name: &str, slots: &[u64]) -> String {
        fields.get(name).map_or(String::new(), |bound| self.short_text(bound, slots))
    }

    /// The sum of fields that cannot be negative; `None` when this JVM lacks one of them.
    fn bytes(&self, fields: &Fields, names: &[&str], slots: &[u64]) -> Option<u64> {
        names.iter().try_fold(0_u64, |sum, name| {
            let value = self.integer(fields.get(name)?, slots)?;
            Some(sum.saturating_add(u64::try_from(value).ok()?))
        })
    }

    fn collection(&mut self, head: Head, gc_id: i64, fields: &Fields, slots: &[u64]) {
        let collector = self.field_text(fields, "name", slots);
        let cause = self.field_text(fields, "cause", slots);
        let [sum, longest] = ["sumOfPauses", "longestPause"].map(|name| self.bytes(fields, &[name], slots));
        let detail = &mut self.out.collections.entry(gc_id).detail;
        detail.collector = Some(collector).filter(|text| !text.is_empty());
        detail.cause = Some(cause).filter(|text| !text.is_empty());
        (detail.sum_of_pauses_ns, detail.longest_pause_ns) = (sum, longest);
        self.gc_span(head, gc_id, span::GC, 0, fields, slots);
    }

    fn gc_span(&mut self, head: Head, gc_id: i64, kind: &'static str, level: u32, fields: &Fields, slots: &[u64]) {
        let name = self.field_text(fields, "name", slots);
        let Head { time_ns, duration_ns, tid, .. } = head;
        self.out.collections.push(GcSpan { gc_id, kind, name, time_ns, duration_ns, tid, level });
    }

    fn heap(&mut self, head: Head, gc_id: i64, fields: &Fields, slots: &[u64]) {
        let when = when(&self.field_text(fields, "when", slots));
        let used = self.bytes(fields, &["heapUsed"], slots);
        let committed = self.bytes(fields, &["heapSpace.committedSize"], slots);
        let collection = self.out.collections.entry(gc_id);
        if when == "before_gc" {
            (collection.heap_before_ns, collection.detail.heap_before_bytes) = (head.time_ns, used);
        } else {
            (collection.heap_after_ns, collection.detail.heap_after_bytes) = (head.time_ns, used);
            collection.detail.heap_committed_bytes = committed;
        }
        self.gc_counter(head, counter::HEAP_USED_BYTES, when, used);
        self.gc_counter(head, counter::HEAP_COMMITTED_BYTES, when, committed);
    }

    fn parallel_heap(&mut self, head: Head, gc_id: i64, fields: &Fields, slots: &[u64]) {
        let old = self.bytes(fields, &["oldObjectSpace.used"], slots);
        let young = self.bytes(fields, &["edenSpace.used", "fromSpace.used"], slots);
        let old_capacity = self.bytes(fields, &["oldSpace.committedSize"], slots);
        let young_capacity = self.bytes(fields, &["youngSpace.committedSize"], slots);
        self.generations(head, gc_id, (old, young), (old_capacity, young_capacity), fields, slots);
    }

    fn g1_heap(&mut self, head: Head, gc_id: i64, fields: &Fields, slots: &[u64]) {
        let young = self.bytes(fields, &["edenUsedSize", "survivorUsedSize"], slots);
        let old = self.bytes(fields, &["oldGenUsedSize"], slots);
        let young_capacity = self.bytes(fields, &["edenTotalSize", "survivorUsedSize"], slots);
        self.generations(head, gc_id, (old, young), (None, young_capacity), fields, slots);
    }

    /// Enters `(old, young)` bytes in use and capacities.
    fn generations(
        &mut self,
        head: Head,
        gc_id: i64,
        (old, young): (Option<u64>, Option<u64>),
        (old_capacity, young_capacity): (Option<u64>, Option<u64>),
        fields: &Fields,
        slots: &[u64],
    ) {
        let when = when(&self.field_text(fields, "when", slots));
        let detail = &mut self.out.collections.entry(gc_id).detail;
        if when == "before_gc" {
            (detail.old_before_bytes, detail.young_before_bytes) = (old, young);
        } else {
            (detail.old_after_bytes, detail.young_after_bytes) = (old, young);
            (detail.old_capacity_bytes, detail.young_capacity_bytes) = (old_capacity, young_capacity);
        }
        self.gc_counter(head, counter::OLD_USED_BYTES, when, old);
        self.gc_counter(head, counter::YOUNG_USED_BYTES, when, young);
        self.gc_counter(head, counter::OLD_CAPACITY_BYTES, when, old_capacity);
        self.gc_counter(head, counter::YOUNG_CAPACITY_BYTES, when, young_capacity);
    }

    fn cpu_time(&mut self, head: Head, gc_id: i64, fields: &Fields, slots: &[u64]) {
        let [user, system, real] =
            ["userTime", "systemTime", "realTime"].map(|name| self.bytes(fields, &[name], slots));
        let detail = &mut self.out.collections.entry(gc_id).detail;
        (detail.user_ns, detail.system_ns, detail.real_ns) = (user, system, real);
        self.gc_counter(head, counter::GC_CPU_NS, "user", user);
        self.gc_counter(head, counter::GC_CPU_NS, "system", system);
        self.gc_counter(head, counter::GC_REAL_NS, "", real);
    }

    fn gc_counter(&mut self, head: Head, name: &str, instance: &str, value: Option<u64>) {
        let Some(value) = value else { return };
        let strings = &mut self.out.recording.strings;
        let (name, instance) = (strings.intern(name), strings.intern(instance));
        let row = Counter { time_ns: head.time_ns, name, instance, tid: 0, value: value as f64, source: self.source };
        self.out.recording.counters.push(row);
    }
}
