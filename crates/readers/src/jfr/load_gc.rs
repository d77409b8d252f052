//! Collections, put together from the events that share a `gcId`.
//!
//! A JVM reports one collection in many events: cause and collector in one, pauses in others, the heap before and after
//! in two more, CPU time in another. They are gathered over all chunks, because a collection may begin in one and end
//! in the next, and become spans at the end.

use rustc_hash::FxHashMap;

use fathom_evidence::detail::{self, Gc};
use fathom_evidence::{Recording, kinds};

/// Everything known about the collections of a recording.
#[derive(Default)]
pub(super) struct Collections {
    by_id: FxHashMap<i64, Collection>,
    spans: Vec<GcSpan>,
}

/// What the events of one collection say.
#[derive(Debug, Default, Clone)]
pub(super) struct Collection {
    pub(super) detail: Gc,
    /// G1's own name for a young collection: `Normal`, `Mixed`, ...
    pub(super) g1_type: String,
    /// Time, and bytes of the young generation where only G1's total and young are known.
    pub(super) heap_before_ns: i64,
    pub(super) heap_after_ns: i64,
    pauses: u32,
}

/// A pause, a phase or a whole collection.
#[derive(Debug, Clone)]
pub(super) struct GcSpan {
    pub(super) gc_id: i64,
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) time_ns: i64,
    pub(super) duration_ns: i64,
    pub(super) tid: i64,
    /// Nesting of a phase of a pause; 0 for everything else.
    pub(super) level: u32,
}

impl Collections {
    /// The collection `gc_id`, to be added to.
    pub(super) fn entry(&mut self, gc_id: i64) -> &mut Collection {
        self.by_id.entry(gc_id).or_default()
    }

    pub(super) fn push(&mut self, span: GcSpan) {
        if span.kind == kinds::span::GC_PAUSE {
            self.entry(span.gc_id).pauses += 1;
        }
        self.spans.push(span);
    }

    /// Takes over what a later chunk says.
    pub(super) fn absorb(&mut self, later: Collections) {
        for (gc_id, collection) in later.by_id {
            self.entry(gc_id).absorb(collection);
        }
        self.spans.extend(later.spans);
    }

    /// Writes all spans, and what follows from several events together.
    pub(super) fn finish(mut self, recording: &mut Recording, source: &str) {
        self.stand_in_for_pauses(recording, source);
        let mut ids: Vec<i64> = self.by_id.keys().copied().collect();
        ids.sort_unstable();
        for gc_id in ids {
            self.entry(gc_id).derive_old(recording, source);
        }
        for span in &self.spans {
            let collection = self.by_id.get(&span.gc_id).cloned().unwrap_or_default();
            let detail = detail::to_text(&collection.detail_of(span));
            let GcSpan { time_ns, duration_ns, tid, kind, name, .. } = span;
            recording.add_span(*time_ns, *duration_ns, *tid, kind, name, &detail, source);
        }
    }
}

impl Collections {
    /// Recordings without `jdk.GCPhasePause` tell of the pauses of a collection only how long they were together, and
    /// when the collection was.
    fn stand_in_for_pauses(&mut self, recording: &mut Recording, source: &str) {
        let wholes = self.spans.iter().filter(|span| span.kind == kinds::span::GC);
        let missing: Vec<GcSpan> = wholes.filter_map(|whole| self.by_id.get(&whole.gc_id)?.only_pause(whole)).collect();
        if missing.is_empty() {
            return;
        }
        let says = format!(
            "jdk.GCPhasePause was not recorded for {} collections: their pauses stand at the beginning of each, as long \
             together as jdk.GarbageCollection says; record with settings=profile, or enable jdk.GCPhasePause",
            missing.len()
        );
        recording.add_loss(source, kinds::loss::REFUSED, i64::try_from(missing.len()).unwrap_or(i64::MAX), &says);
        for pause in missing {
            let collection = self.entry(pause.gc_id);
            // A collection that is one pause has the pause's heap; that of a concurrent one is not its pauses'.
            collection.pauses = u32::from(matches!(collection.scope(""), "young" | "mixed" | "full"));
            self.spans.push(pause);
        }
    }
}

impl Collection {
    /// One pause for all those of a collection of which no pause was recorded.
    fn only_pause(&self, whole: &GcSpan) -> Option<GcSpan> {
        let sum_ns = i64::try_from(self.detail.sum_of_pauses_ns?).ok()?;
        let is_missing = self.pauses == 0 && sum_ns > 0;
        let name = self.detail.collector.clone().unwrap_or_default();
        let duration_ns = sum_ns.min(whole.duration_ns);
        is_missing.then(|| GcSpan { kind: kinds::span::GC_PAUSE, name, duration_ns, ..whole.clone() })
    }

    fn absorb(&mut self, later: Collection) {
        let (mine, theirs) = (&mut self.detail, later.detail);
        macro_rules! keep_first { ($($field:ident)+) => { $( mine.$field = mine.$field.take().or(theirs.$field); )+ } }
        keep_first!(cause collector heap_before_bytes heap_after_bytes heap_committed_bytes
            old_before_bytes old_after_bytes old_capacity_bytes
            young_before_bytes young_after_bytes young_capacity_bytes
            user_ns system_ns real_ns sum_of_pauses_ns longest_pause_ns);
        self.pauses += later.pauses;
        if self.g1_type.is_empty() {
            self.g1_type = later.g1_type;
        }
        self.heap_before_ns = self.heap_before_ns.max(later.heap_before_ns);
        self.heap_after_ns = self.heap_after_ns.max(later.heap_after_ns);
    }

    /// Before JDK 21, G1 does not tell how full its old generation is; it is all that is not young.
    fn derive_old(&mut self, recording: &mut Recording, source: &str) {
        let detail = &mut self.detail;
        let rest = |heap: Option<u64>, young: Option<u64>| heap?.checked_sub(young?);
        if detail.old_before_bytes.is_none() {
            detail.old_before_bytes = rest(detail.heap_before_bytes, detail.young_before_bytes);
            add_old(recording, self.heap_before_ns, "before_gc", detail.old_before_bytes, source);
        }
        if detail.old_after_bytes.is_none() {
            detail.old_after_bytes = rest(detail.heap_after_bytes, detail.young_after_bytes);
            add_old(recording, self.heap_after_ns, "after_gc", detail.old_after_bytes, source);
        }
    }

    /// The detail of one span. What concerns the whole collection stands with a pause only if it is the
    /// collection's only one: a concurrent cycle's heap before and after are not those of its remark.
    fn detail_of(&self, span: &GcSpan) -> Gc {
        let gc_id = u64::try_from(span.gc_id).ok();
        let cause = self.detail.cause.clone();
        let is_pause = span.kind == kinds::span::GC_PAUSE;
        if span.kind == kinds::span::GC || (is_pause && self.pauses == 1) {
            let scope = self.scope(if is_pause { &span.name } else { "" });
            return Gc { gc_id, scope: Some(scope.to_owned()), level: is_pause.then_some(0), ..self.detail.clone() };
        }
        if is_pause {
            let scope = Some(self.scope(&span.name).to_owned());
            let collector = self.detail.collector.clone();
            return Gc { gc_id, cause, scope, collector, level: Some(0), ..Gc::default() };
        }
        Gc { gc_id, level: (span.level > 0).then_some(span.level), ..Gc::default() }
    }

    /// Scope of a pause by its name, or else of the collection by its collector.
    fn scope(&self, pause: &str) -> &'static str {
        const BY_PAUSE: &[(&str, &str)] = &[
            ("mark start", "mark_start"),
            ("init mark", "mark_start"),
            ("mark end", "mark_end"),
            ("final mark", "mark_end"),
            ("relocate start", "relocate_start"),
            ("remark", "remark"),
            ("cleanup", "cleanup"),
            ("degenerated", "degenerated"),
            ("full", "full"),
        ];
        let pause = pause.to_ascii_lowercase();
        if let Some((_, scope)) = BY_PAUSE.iter().find(|(part, _)| pause.contains(part)) {
            return scope;
        }
        match self.detail.collector.as_deref().unwrap_or("") {
            "G1New" if self.g1_type == "Mixed" => "mixed",
            "G1New" | "ParallelScavenge" | "DefNew" | "ParNew" | "PSMarkSweep Young" => "young",
            "G1Full" | "ParallelOld" | "SerialOld" | "PSMarkSweep" => "full",
            _ => "other",
        }
    }
}

fn add_old(recording: &mut Recording, time_ns: i64, when: &str, bytes: Option<u64>, source: &str) {
    if let Some(bytes) = bytes.filter(|_| time_ns != 0) {
        recording.add_counter(time_ns, kinds::counter::OLD_USED_BYTES, when, bytes as f64, source);
    }
}
