//! Events of a log to rows of evidence.
//!
//! Names and kinds are the same as in a Flight Recorder recording, so that a cause need not know where a pause was
//! seen.

use fathom_evidence::Recording;
use fathom_evidence::detail::{self, Gc};
use fathom_evidence::kinds::{counter, loss, span, subject};
use fathom_evidence::tables::ClockPair;

use crate::gc_log::clock::Clock;
use crate::gc_log::collector::{collector, family_name, scope, whole_collection};
use crate::gc_log::cycles::{Cycle, Cycles};
use crate::gc_log::event::{Change, Event, Pause, Phase, Safepoint, Stamp};
use crate::gc_log::files;
use crate::gc_log::gather::{Gather, Gathered, SafepointGather};
use crate::gc_log::parse::Tally;
use crate::gc_log::setup::{self, SOURCE};
use crate::gc_log::stalled;
use crate::gc_log::table::Table;
use crate::time::TIMES_NS;

/// Longest stop or phase that is believed: more is a damaged number.
const MAX_DURATION_NS: i64 = 7 * 86_400 * 1_000_000_000;

/// Fills a recording from the events of one JVM's log.
pub(super) struct Loader {
    recording: Recording,
    clock: Clock,
    gather: Gather,
    safepoints: SafepointGather,
    table: Table,
    cycles: Cycles,
    /// Spans that could not be placed because their lines have no time.
    unplaced: i64,
    /// Numbers that cannot be true.
    absurd: i64,
    /// Lines without a time that were put at the line before them.
    borrowed: i64,
    /// A pause that began and has not ended.
    begun: Option<(Stamp, String)>,
    /// Length of the runs of the JVM before the one whose collections are gathered.
    earlier_runs_ns: i64,
}

impl Loader {
    pub(super) fn new(clock: Clock) -> Loader {
        Loader {
            recording: Recording::default(),
            clock,
            gather: Gather::default(),
            safepoints: SafepointGather::default(),
            table: Table::default(),
            cycles: Cycles::default(),
            unplaced: 0,
            absurd: 0,
            borrowed: 0,
            begun: None,
            earlier_runs_ns: 0,
        }
    }

    /// Takes one event.
    pub(super) fn event(&mut self, event: &Event<'_>) {
        let at = files::stamp_of(event).unwrap_or_default();
        if self.is_of_another_run(event, at) {
            self.end_collections();
        }
        if !matches!(event, Event::Safepoint(_)) && at.wall_ns.is_some() {
            self.end_table();
        }
        let start_ns = if let Event::Pause(pause) = event { self.place_pause(pause) } else { None };
        if let Some(done) = self.gather.event(event, start_ns) {
            self.pause(&done);
        }
        match event {
            Event::PauseBegins { at, name, .. } => self.begun = Some((*at, text(name))),
            Event::Pause(_) => self.begun = None,
            Event::PausePhase(phase) => self.phase(span::GC_PHASE, 0, phase),
            Event::Concurrent(phase) => self.phase(span::GC_CONCURRENT, 0, phase),
            Event::Stall(phase) => {
                let tid = stalled::thread(&mut self.recording, &text(phase.name));
                self.phase(span::ALLOCATION_STALL, tid, phase);
            }
            Event::Collection { .. } => self.collection(event),
            Event::SafepointName(name) => self.safepoints.name(name),
            Event::Safepoint(safepoint) => {
                for (safepoint, operation) in self.safepoints.event(safepoint).into_iter().flatten() {
                    self.safepoint(&safepoint, &operation);
                }
            }
            Event::CodeCache { at, segment, size, used } => self.code_cache(*at, segment, *size, *used),
            Event::CodeCacheFull { at, segment } => self.code_cache_full(*at, segment),
            Event::Note { at, class, text: line } => self.note(*at, class, line),
            Event::Fact { key, value } => {
                self.gather.family = self.gather.family.or(setup::family(value));
                setup::fact(&mut self.recording, &text(key), &text(value));
            }
            _ => {}
        }
    }

    /// All that was gathered, and what has to be said about it.
    pub(super) fn finish(mut self, tally: &Tally) -> Recording {
        self.end_collections();
        self.end_table();
        if let Some((safepoint, operation)) = self.safepoints.finish() {
            self.safepoint(&safepoint, &operation);
        }
        self.lines_read(tally);
        self.losses(tally);
        if let Some(family) = self.gather.family {
            self.recording.add_fact(subject::GC, "collector", family_name(family), SOURCE);
        }
        self.started_at();
        self.recording
    }

    /// Whether the JVM was started again before `event`: the uptime fell, or the line with which each JVM begins its log came.
    fn is_of_another_run(&mut self, event: &Event<'_>, at: Stamp) -> bool {
        let has_fallen = at.earlier_runs_ns > self.earlier_runs_ns;
        self.earlier_runs_ns = self.earlier_runs_ns.max(at.earlier_runs_ns);
        has_fallen || matches!(event, Event::Collector(_))
    }

    /// Writes the collections under way: in the next run of the JVM their numbers are those of others.
    fn end_collections(&mut self) {
        if let Some(done) = self.gather.finish() {
            self.pause(&done);
        }
        for cycle in self.cycles.finish() {
            self.whole(&cycle);
        }
    }

    /// The instant of `at`; counts what cannot be placed.
    fn place(&mut self, at: Stamp) -> Option<i64> {
        let Some(ns) = self.clock.place(at) else {
            self.unplaced += 1;
            return None;
        };
        self.believe(TIMES_NS.contains(&ns)).then_some(ns)
    }

    fn believe(&mut self, is_sane: bool) -> bool {
        self.absurd += i64::from(!is_sane);
        is_sane
    }

    /// When a pause began; one without a time comes after what was before it.
    fn place_pause(&mut self, pause: &Pause<'_>) -> Option<i64> {
        if !pause.start.is_none() {
            let placed = self.place(pause.start);
            placed.into_iter().for_each(|ns| self.table.pause(ns));
            return placed;
        }
        let ns = self.clock.place_undated(pause.duration_ns.clamp(0, MAX_DURATION_NS));
        self.believe(TIMES_NS.contains(&ns)).then_some(ns)
    }

    /// As [`Self::place`], or the instant of the line before: for lines that the JVM writes without a time.
    fn place_or_borrow(&mut self, at: Stamp) -> Option<i64> {
        match (at.is_none(), self.clock.last_ns) {
            (true, Some(last)) => {
                self.borrowed += 1;
                Some(last)
            }
            _ => self.place(at),
        }
    }

    fn duration(&mut self, ns: i64) -> Option<i64> {
        self.believe((0..=MAX_DURATION_NS).contains(&ns)).then_some(ns)
    }

    fn pause(&mut self, gathered: &Gathered) {
        let pause = &gathered.pause;
        let Some(duration_ns) = self.duration(pause.duration_ns) else { return };
        let Some(start_ns) = gathered.start_ns else { return };
        let end_ns = start_ns + duration_ns;
        let scope = scope(&gathered.name);
        let collector = collector(self.gather.family, scope);
        let detail = pause_detail(gathered, scope, collector);
        let detail_text = detail::to_text(&detail);
        self.recording.add_span(start_ns, duration_ns, 0, span::GC_PAUSE, &gathered.name, &detail_text, SOURCE);
        self.heap_counters(start_ns, end_ns, gathered);
        if !gathered.trouble.is_empty() {
            self.recording.add_log(end_ns, SOURCE, "warning", "gc_trouble", &gathered.trouble);
        }
        match pause.gc_id {
            Some(gc_id) => self.pause_of_cycle(gc_id, start_ns, end_ns, &detail),
            // Logs without numbers do not say which pauses are one concurrent cycle's.
            None if matches!(scope, "young" | "mixed" | "full") => {
                let whole = Gc {
                    sum_of_pauses_ns: unsigned(duration_ns),
                    longest_pause_ns: unsigned(duration_ns),
                    level: None,
                    ..detail
                };
                self.recording.add_span(
                    start_ns,
                    duration_ns,
                    0,
                    span::GC,
                    collector,
                    &detail::to_text(&whole),
                    SOURCE,
                );
            }
            None => {}
        }
    }

    fn pause_of_cycle(&mut self, gc_id: u64, start_ns: i64, end_ns: i64, detail: &Gc) {
        let duration_ns = end_ns - start_ns;
        let cycle = self.cycle(gc_id, start_ns, end_ns);
        cycle.sum_of_pauses_ns = cycle.sum_of_pauses_ns.saturating_add(duration_ns);
        cycle.longest_pause_ns = cycle.longest_pause_ns.max(duration_ns);
        if cycle.cause.is_empty() {
            cycle.cause = detail.cause.clone().unwrap_or_default();
        }
        // A collection is what its weightiest pause is: degenerated and full before all others.
        let logged = detail.scope.as_deref().map_or("other", |logged| logged);
        if cycle.scope.is_empty() || matches!(logged, "full" | "degenerated") {
            cycle.scope = crate::gc_log::collector::known_scope(logged);
        }
        if cycle.heap.is_none() {
            cycle.heap = detail.heap_before_bytes.zip(detail.heap_after_bytes);
        }
    }

    /// The collection `gc_id`; those that are certainly over are written.
    fn cycle(&mut self, gc_id: u64, start_ns: i64, end_ns: i64) -> &mut Cycle {
        for done in self.cycles.done(gc_id) {
            self.whole(&done);
        }
        self.cycles.extend(gc_id, start_ns, end_ns)
    }

    fn whole(&mut self, cycle: &Cycle) {
        let name = whole_collection(&cycle.name, self.gather.family, cycle.scope);
        let detail = Gc {
            gc_id: Some(cycle.gc_id),
            cause: some_text(&cycle.cause),
            scope: some_text(cycle.scope),
            collector: some_text(name),
            heap_before_bytes: cycle.heap.map(|(before, _)| before),
            heap_after_bytes: cycle.heap.map(|(_, after)| after),
            sum_of_pauses_ns: unsigned(cycle.sum_of_pauses_ns),
            longest_pause_ns: unsigned(cycle.longest_pause_ns),
            ..Gc::default()
        };
        let duration_ns = cycle.end_ns.saturating_sub(cycle.start_ns);
        self.recording.add_span(cycle.start_ns, duration_ns, 0, span::GC, name, &detail::to_text(&detail), SOURCE);
    }

    fn collection(&mut self, event: &Event<'_>) {
        let Event::Collection { at, gc_id, name, cause, heap, duration_ns, .. } = event else { return };
        let Some(end_ns) = self.place(*at) else { return };
        let start_ns = duration_ns.and_then(|ns| self.duration(ns)).map_or(end_ns, |ns| end_ns.saturating_sub(ns));
        let Some(gc_id) = gc_id else { return };
        let cycle = self.cycle(*gc_id, start_ns, end_ns);
        cycle.name = text(name);
        if !cause.is_empty() {
            cycle.cause = text(cause);
        }
        if let Some(Change { before, after, capacity }) = *heap {
            cycle.heap = Some((before, after));
            self.count(start_ns, counter::HEAP_USED_BYTES, "before_gc", before);
            self.count(end_ns, counter::HEAP_USED_BYTES, "after_gc", after);
            if let Some(capacity) = capacity {
                self.count(end_ns, counter::HEAP_COMMITTED_BYTES, "after_gc", capacity);
            }
        }
    }

    fn count(&mut self, time_ns: i64, name: &str, instance: &str, value: u64) {
        self.recording.add_counter(time_ns, name, instance, value as f64, SOURCE);
    }

    fn heap_counters(&mut self, start_ns: i64, end_ns: i64, gathered: &Gathered) {
        let pause = &gathered.pause;
        let spaces = [
            (pause.heap, counter::HEAP_USED_BYTES, counter::HEAP_COMMITTED_BYTES),
            (pause.young, counter::YOUNG_USED_BYTES, counter::YOUNG_CAPACITY_BYTES),
            (pause.old, counter::OLD_USED_BYTES, counter::OLD_CAPACITY_BYTES),
        ];
        for (change, used, capacity) in spaces {
            let Some(change) = change else { continue };
            self.count(start_ns, used, "before_gc", change.before);
            self.count(end_ns, used, "after_gc", change.after);
            if let Some(bytes) = change.capacity {
                self.count(end_ns, capacity, "after_gc", bytes);
            }
        }
        if let Some(change) = pause.metaspace.or(pause.permanent) {
            self.count(end_ns, counter::METASPACE_USED_BYTES, "after_gc", change.after);
        }
        if let Some(cpu) = pause.cpu {
            self.recording.add_counter(end_ns, counter::GC_CPU_NS, "user", cpu.user_ns as f64, SOURCE);
            self.recording.add_counter(end_ns, counter::GC_CPU_NS, "system", cpu.system_ns as f64, SOURCE);
            self.recording.add_counter(end_ns, counter::GC_REAL_NS, "", cpu.real_ns as f64, SOURCE);
        }
    }

    fn phase(&mut self, kind: &str, tid: i64, phase: &Phase<'_>) {
        let Some(duration_ns) = self.duration(phase.duration_ns) else { return };
        let Some(start_ns) = self.place(phase.start) else { return };
        let level = (kind == span::GC_PHASE).then_some(1);
        let detail = detail::to_text(&Gc { gc_id: phase.gc_id, level, ..Gc::default() });
        self.recording.add_span(start_ns, duration_ns, tid, kind, &text(phase.name), &detail, SOURCE);
        if let (Some(gc_id), true) = (phase.gc_id, kind != span::ALLOCATION_STALL) {
            self.cycle(gc_id, start_ns, start_ns + duration_ns);
        }
    }

    /// Writes the rows of a table that is over.
    fn end_table(&mut self) {
        let last = if self.clock.lacks_uptime() { self.safepoints.finish() } else { None };
        if let Some((row, operation)) = last {
            self.table.add(&row, &operation);
        }
        for (row, operation) in self.table.take() {
            self.place_safepoint(&row, &operation);
        }
    }

    fn safepoint(&mut self, safepoint: &Safepoint<'_>, operation: &str) {
        let waits = safepoint.coarse && safepoint.start.wall_ns.is_none() && self.clock.lacks_uptime();
        match waits && !self.table.is_full() {
            true => self.table.add(safepoint, operation),
            false => self.place_safepoint(safepoint, operation),
        }
    }

    fn place_safepoint(&mut self, safepoint: &Safepoint<'_>, operation: &str) {
        let Some(duration_ns) = self.duration(safepoint.duration_ns) else { return };
        let Some(start_ns) = self.place_or_borrow(safepoint.start) else { return };
        let time_to_safepoint_ns = safepoint.time_to_safepoint_ns.filter(|ns| (0..=duration_ns).contains(ns));
        let detail = detail::Safepoint {
            safepoint_id: None,
            time_to_safepoint_ns: time_to_safepoint_ns.and_then(unsigned),
            threads: safepoint.threads,
            running_threads: safepoint.running_threads,
        };
        let detail = detail::to_text(&detail);
        self.recording.add_span(start_ns, duration_ns, 0, span::SAFEPOINT, operation, &detail, SOURCE);
        if let Some(ns) = time_to_safepoint_ns {
            self.recording.add_span(start_ns, ns, 0, span::TIME_TO_SAFEPOINT, operation, "", SOURCE);
        }
    }

    fn code_cache(&mut self, at: Stamp, segment: &[u8], size: u64, used: u64) {
        let Some(time_ns) = self.place_or_borrow(at) else { return };
        let segment = String::from_utf8_lossy(segment);
        self.count(time_ns, counter::CODE_CACHE_USED_BYTES, &segment, used);
        self.count(time_ns, counter::CODE_CACHE_RESERVED_BYTES, &segment, size);
    }

    fn code_cache_full(&mut self, at: Stamp, segment: &[u8]) {
        let Some(time_ns) = self.place_or_borrow(at) else { return };
        let segment = String::from_utf8_lossy(segment);
        self.recording.add_span(time_ns, 0, 0, span::CODE_CACHE_FULL, &segment, "", SOURCE);
        self.recording.add_span(time_ns, 0, 0, span::COMPILER_DISABLED, &segment, "", SOURCE);
        let line =
            format!("{} is full. Compiler has been disabled.", if segment.is_empty() { "CodeCache" } else { &segment });
        self.recording.add_log(time_ns, SOURCE, "warning", "code_cache", &line);
    }

    fn note(&mut self, at: Stamp, class: &str, line: &[u8]) {
        if class == "gc_trigger" {
            self.cycles.announce(&String::from_utf8_lossy(line));
        }
        let Some(time_ns) = self.place_or_borrow(at) else { return };
        let level = if class == "gc_trouble" { "warning" } else { "info" };
        self.recording.add_log(time_ns, SOURCE, level, class, &String::from_utf8_lossy(line));
    }

    /// The time that the log covers, which is more than that of the collections in it.
    fn lines_read(&mut self, tally: &Tally) {
        for (at, lines) in [(tally.runs.first, 1), (tally.runs.last, tally.lines)] {
            let placed = self.clock.place(at).filter(|ns| TIMES_NS.contains(ns));
            if let Some(time_ns) = placed {
                self.count(time_ns, counter::LOG_LINES_COUNT, "", lines);
            }
        }
        if self.clock.is_undated() {
            self.recording.add_fact(subject::GC, "times", "none", SOURCE);
        }
    }

    /// The JVM's start, for other sources of the same JVM that only know its uptime.
    fn started_at(&mut self) {
        let Some(started_at_ns) = self.clock.started_at_ns().filter(|ns| TIMES_NS.contains(ns)) else { return };
        self.recording.add_fact(subject::JVM, "started_at_ns", &started_at_ns.to_string(), SOURCE);
        let pair = ClockPair {
            clock: self.recording.strings.intern("jvm_uptime"),
            reading: 0,
            per_second: 1_000_000_000,
            time_ns: started_at_ns,
            source: self.recording.strings.intern(SOURCE),
        };
        self.recording.clocks.push(pair);
    }

    fn losses(&mut self, tally: &Tally) {
        let not_understood = i64::try_from(tally.not_understood).unwrap_or(i64::MAX);
        if not_understood > 0 {
            let says = format!(
                "{not_understood} of {} lines were not recognised as GC log output; the first are kept in the table logs",
                tally.lines
            );
            self.recording.add_loss(SOURCE, loss::NOT_UNDERSTOOD, not_understood, &says);
        }
        for line in &tally.shown {
            self.recording.add_log(0, SOURCE, "", "not_understood", line);
        }
        if self.unplaced > 0 {
            let says = format!(
                "{} pauses and other events have no time in the log and were left out; log with -Xlog:gc*,safepoint:file=gc.log:time,uptime,level,tags (JDK 8: -XX:+PrintGCDateStamps)",
                self.unplaced
            );
            self.recording.add_loss(SOURCE, loss::REFUSED, self.unplaced, &says);
        }
        if self.absurd > 0 {
            let says = format!("{} events have a time or duration that cannot be true and were left out", self.absurd);
            self.recording.add_loss(SOURCE, loss::DAMAGED, self.absurd, &says);
        }
        if self.borrowed > 0 {
            let says = format!(
                "{} lines that the JVM writes without a time were put at the time of the line before them",
                self.borrowed
            );
            self.recording.add_loss(SOURCE, loss::CLOCK_ESTIMATED, self.borrowed, &says);
        }
        if self.table.placed > 0 {
            let says = format!(
                "{} stops of the safepoint table have the JVM's uptime, and the log's lines only dates: they were placed by the collections beside them; log with -XX:+PrintGCTimeStamps too",
                self.table.placed
            );
            self.recording.add_loss(SOURCE, loss::CLOCK_ESTIMATED, self.table.placed, &says);
        }
        for (kind, count, says) in self.clock.losses(tally.runs.restarts) {
            self.recording.add_loss(SOURCE, kind, count, &says);
        }
        if let Some((at, name)) = self.begun.take().filter(|(at, _)| !at.is_none()) {
            let from = self.clock.place(at).unwrap_or_default();
            let says = format!("the log ends in the middle of `{name}`");
            self.recording.add_loss(SOURCE, loss::TRUNCATED, 1, &says);
            self.recording.add_log(from, SOURCE, "warning", "unfinished_pause", &name);
        }
    }
}

fn pause_detail(gathered: &Gathered, scope: &str, collector: &str) -> Gc {
    let pause = &gathered.pause;
    Gc {
        gc_id: pause.gc_id,
        cause: some_text(&gathered.cause),
        scope: some_text(scope),
        collector: some_text(collector),
        level: Some(0),
        heap_before_bytes: pause.heap.map(|c| c.before),
        heap_after_bytes: pause.heap.map(|c| c.after),
        heap_committed_bytes: pause.heap.and_then(|c| c.capacity),
        old_before_bytes: pause.old.map(|c| c.before),
        old_after_bytes: pause.old.map(|c| c.after),
        old_capacity_bytes: pause.old.and_then(|c| c.capacity),
        young_before_bytes: pause.young.map(|c| c.before),
        young_after_bytes: pause.young.map(|c| c.after),
        young_capacity_bytes: pause.young.and_then(|c| c.capacity),
        permanent_before_bytes: pause.permanent.map(|c| c.before),
        permanent_capacity_bytes: pause.permanent.and_then(|c| c.capacity),
        user_ns: pause.cpu.and_then(|cpu| unsigned(cpu.user_ns)),
        system_ns: pause.cpu.and_then(|cpu| unsigned(cpu.system_ns)),
        real_ns: pause.cpu.and_then(|cpu| unsigned(cpu.real_ns)),
        ..Gc::default()
    }
}

fn unsigned(ns: i64) -> Option<u64> {
    u64::try_from(ns).ok()
}

fn some_text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
