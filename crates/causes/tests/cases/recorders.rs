//! What each recorder writes down of a world, in the words that its reader expects.

use fathom_evidence::detail::{self, Gc, Safepoint};
use fathom_evidence::kinds::{counter, event, frame, recorded, span, subject};
use fathom_evidence::tables::{Counter, Sample, Span};
use fathom_evidence::{Recording, STANDING, StackId};

use crate::happen::{Collection, Event, Extra, When};
use crate::world::World;

/// When every world begins, in ns since the Unix epoch.
pub(crate) const BEGIN_NS: i64 = 1_700_000_000_000_000_000;

/// Spans that a collector's log has as well; all others are the JVM's own recorder's.
const LOGGED: &[&str] =
    &[span::ALLOCATION_STALL, span::CODE_CACHE_FULL, span::GC_PAUSE, span::GC_PHASE, span::SAFEPOINT];

/// Spans that only a recorder of the live machine sees.
const LIVE: &[&str] = &[
    span::PAGE_FAULT,
    span::BLOCKED,
    span::RUN_QUEUE_WAIT,
    span::SYSTEM_CALL,
    span::VM_THREAD_WRITE,
    span::BLOCK_REQUEST,
    span::PACKET_DROP,
    span::DATAGRAMS_LATE,
    span::HOST_STALL,
    span::OWN_ACTION,
    span::NOT_RECORDED,
    span::COLLECTOR_RUN,
    span::PROCESS_STOPPED,
];

/// Samples that only a recorder of the live machine takes.
const LIVE_SAMPLES: &[&str] = &[event::CPU_FROM_OUTSIDE, event::WAIT];

/// Spans that are measured at sockets; `request 3ms` is one that came to port 8080.
const AT_SOCKETS: &[&str] = &[span::REQUEST, span::CALL];

/// Beginnings of the names of counters that only a recorder of the live machine reads.
const LIVE_COUNTERS: &[&str] = &[
    "thread_",
    "vmstat_",
    "meminfo_",
    "cgroup_memory_",
    "cgroup_io_",
    "machine_cpu_",
    "wakeup_",
    "system_calls_",
    "blocked_",
    "run_queue_waits_",
    "process_io_",
    "gc_runs_",
    "gc_time_",
    "safepoint",
    "page_faults_",
    "socket_",
    "network_",
    "segments_",
    "data_",
    "connections_not_met_",
    "datagram",
    "disk_",
];

/// Beginning of the names of counters that iostat prints.
const OF_DISKS: &str = "disk_";

/// Beginnings of the names of counters that a capture of packets has.
const CAPTURED_COUNTERS: &[&str] = &["segments_", "data_"];

/// Spans that only a collector's log has.
const ONLY_LOGGED: &[&str] = &[span::COMPILER_DISABLED];

/// What the JVM's recorder keeps, and from which length on, unless the world says otherwise: Fathom's
/// own settings.
const KEPT: &[(&str, &str)] = &[
    ("jdk.GarbageCollection", "0 ms"),
    ("jdk.SafepointBegin", "0 ms"),
    ("jdk.Deoptimization", "0 ms"),
    ("jdk.JavaMonitorEnter", "1 ms"),
    ("jdk.ThreadPark", "1 ms"),
    ("jdk.SocketRead", "1 ms"),
];

/// The kernel's names of threads are no longer than this.
const KERNEL_NAME_BYTES: usize = 15;

/// The recording that some recorders make together.
pub(crate) fn record(world: &World, recorders: &[String]) -> Recording {
    let mut recording = Recording::default();
    recorders.iter().for_each(|recorder| recording.absorb(Recorder::new(world, recorder).record(&world.events)));
    recording.name_waits_by_samples();
    recording
}

/// The recording that they made when the service was well, if the world has one.
pub(crate) fn record_baseline(world: &World, recorders: &[String]) -> Option<Recording> {
    let mut recording = Recording::default();
    recorders.iter().for_each(|recorder| recording.absorb(Recorder::new(world, recorder).record(&world.baseline)));
    (!world.baseline.is_empty()).then_some(recording)
}

/// One recorder at work.
struct Recorder<'a> {
    world: &'a World,
    source: &'a str,
    /// A profiler in the JVM writes the same file, and nothing measures waits.
    is_profiler: bool,
    out: Recording,
    gc_id: u64,
}

impl<'a> Recorder<'a> {
    fn new(world: &'a World, name: &'a str) -> Recorder<'a> {
        let is_profiler = name == "profiler";
        let source = if is_profiler { "jfr" } else { name };
        assert!(
            matches!(
                source,
                "jfr" | "gc_log" | "latency" | "live" | "probes" | "requests" | "pcap" | "iostat" | STANDING
            ),
            "there is no recorder `{source}`"
        );
        Recorder { world, source, is_profiler, out: Recording::default(), gc_id: 0 }
    }

    fn is_jfr(&self) -> bool {
        self.source == "jfr"
    }

    /// Whether it measures requests at their sockets.
    fn is_at_sockets(&self) -> bool {
        self.source == "requests"
    }

    /// Whether it is a capture of packets.
    fn is_capture(&self) -> bool {
        self.source == "pcap"
    }

    fn is_live(&self) -> bool {
        self.source == "live"
    }

    fn record(mut self, events: &'a [(When, Event)]) -> Recording {
        self.identity();
        let lost = self.world.losses.iter().filter(|(recorder, ..)| recorder == self.source);
        lost.for_each(|(recorder, kind, says)| self.out.add_loss(recorder, kind, 0, says));
        let of_line =
            |(when, event): &'a (_, Event)| instants(when).map(move |(nth, first, at)| (at, nth, first, event));
        let mut all: Vec<_> = events.iter().flat_map(of_line).collect();
        all.sort_by_key(|(at, ..)| *at);
        for (at, nth, first, event) in all {
            self.event(event, BEGIN_NS + at, nth, at - first);
        }
        self.out
    }

    fn identity(&mut self) {
        let (jvm, source) = (&self.world.jvm, self.source);
        if self.is_live() || self.is_at_sockets() {
            let is_at_sockets = self.is_at_sockets();
            let is_own = |key: &str| (key == recorded::REQUESTS_FOLLOWED) == is_at_sockets;
            let facts = self.world.facts.iter().filter(|(_, key, _)| is_live_fact(key) && is_own(key));
            facts.for_each(|(about, key, value)| self.out.add_fact(about, key, value, source));
        }
        if self.is_live() {
            let in_kernel = |name: &'a str| &name[..name.len().min(KERNEL_NAME_BYTES)];
            self.world.threads.iter().for_each(|(tid, name)| self.out.add_thread(*tid, in_kernel(name)));
        }
        if ["latency", "probes", "pcap", "iostat", STANDING].contains(&source)
            || self.is_live()
            || self.is_at_sockets()
            || jvm.release == 0
        {
            return;
        }
        let release = jvm.release;
        let version = if self.is_jfr() {
            format!("OpenJDK 64-Bit Server VM ({release}.0.3+9-LTS)")
        } else {
            format!("{release}.0.3+9-LTS")
        };
        self.out.add_fact(subject::JVM, "version", &version, source);
        self.out.add_fact(subject::JVM, "started_at_ns", &(BEGIN_NS - jvm.age_ns).to_string(), source);
        self.out.add_fact(subject::HOST, "cpus", &jvm.cpus.to_string(), source);
        match self.is_jfr() {
            true => self.jfr_facts(),
            false => self.out.add_fact(subject::GC, "collector", &jvm.collector, source),
        }
    }

    fn jfr_facts(&mut self) {
        let flag = format!("Use{}GC", self.world.jvm.collector);
        self.out.add_fact(subject::FLAG, &flag, "true", self.source);
        for (event, threshold) in KEPT.iter().filter(|_| !self.is_profiler) {
            self.out.add_fact(subject::SETTING, &format!("{event}#enabled"), "true", self.source);
            self.out.add_fact(subject::SETTING, &format!("{event}#threshold"), threshold, self.source);
        }
        for (about, key, value) in self
            .world
            .facts
            .iter()
            .filter(|(_, key, _)| key != recorded::PROCESS_STOP_LOOKS_NS && key != recorded::REQUESTS_FOLLOWED)
        {
            self.out.add_fact(about, key, value, self.source);
        }
        self.world.threads.iter().for_each(|(tid, name)| self.out.add_thread(*tid, name));
    }

    fn event(&mut self, event: &Event, at_ns: i64, nth: usize, after_ns: i64) {
        // Lines of a log have milliseconds.
        let at_ns = if self.source == "gc_log" { at_ns - at_ns % 1_000_000 } else { at_ns };
        match event {
            Event::Request { duration_ns } if self.source == "latency" => {
                self.out.add_span(at_ns, *duration_ns, 0, span::REQUEST, "", "", self.source);
            }
            _ if self.source == "latency" => {}
            Event::Request { duration_ns } if self.is_at_sockets() => {
                self.out.add_span(at_ns, *duration_ns, 0, span::REQUEST, ":8080", "{\"port\":8080}", self.source);
            }
            Event::Span { kind, duration_ns, extra }
                if (self.is_at_sockets() || self.is_capture()) && AT_SOCKETS.contains(&kind.as_str()) =>
            {
                self.span(kind, at_ns, *duration_ns, extra, nth);
            }
            Event::Counter { name, instance, tids, value } if self.is_capture() && is_captured(name) => {
                self.counter(at_ns, name, instance, tids, value.at(after_ns));
            }
            _ if self.is_at_sockets() || self.is_capture() => {}
            Event::Counter { name, instance, tids, value } if self.source == "iostat" && name.starts_with(OF_DISKS) => {
                self.counter(at_ns, name, instance, tids, value.at(after_ns));
            }
            _ if self.source == "iostat" => {}
            Event::Span { kind, duration_ns, extra } if self.source == STANDING && kind == span::SAMPLED_WAIT => {
                self.span(kind, at_ns, *duration_ns, extra, nth);
            }
            _ if self.source == STANDING => {}
            Event::Collection(collection) if self.source == "probes" => self.bare_pause(collection, at_ns),
            _ if self.source == "probes" => {}
            Event::Span { kind, duration_ns, extra } if self.is_live() && LIVE.contains(&kind.as_str()) => {
                self.span(kind, at_ns, *duration_ns, extra, nth);
            }
            Event::Counter { name, instance, tids, value } if self.is_live() && is_live_counter(name) => {
                self.counter(at_ns, name, instance, tids, value.at(after_ns));
            }
            Event::Sample { event, extra } if self.is_live() && LIVE_SAMPLES.contains(&event.as_str()) => {
                self.sample(event, at_ns, extra);
            }
            _ if self.is_live() => {}
            Event::Collection(collection) => self.collection(collection, at_ns),
            Event::Cycle { duration_ns, pause_ns, cause } => self.cycle(at_ns, *duration_ns, *pause_ns, cause),
            Event::Safepoint { duration_ns, waiting_ns, operation } => {
                self.safepoint(at_ns, *duration_ns, *waiting_ns, operation);
            }
            Event::Span { kind, duration_ns, extra } if self.records(kind) => {
                self.span(kind, at_ns, *duration_ns, extra, nth);
            }
            Event::Counter { name, instance, tids, value } if self.is_jfr() && !is_live_counter(name) => {
                self.counter(at_ns, name, instance, tids, value.at(after_ns));
            }
            Event::Sample { event, extra } if self.is_jfr() && !LIVE_SAMPLES.contains(&event.as_str()) => {
                self.sample(event, at_ns, extra)
            }
            _ => {}
        }
    }

    fn records(&self, kind: &str) -> bool {
        if self.is_jfr() {
            !ONLY_LOGGED.contains(&kind) && !LIVE.contains(&kind) && !AT_SOCKETS.contains(&kind)
        } else {
            LOGGED.contains(&kind) || ONLY_LOGGED.contains(&kind)
        }
    }

    fn span(&mut self, kind: &str, time_ns: i64, duration_ns: i64, extra: &Extra, nth: usize) {
        // A span has a stack of its own for what it waited for in the kernel.
        let in_kernel = extra.stack.iter().take_while(|(kind, _)| kind == frame::KERNEL).count();
        let (kernel_stack_id, stack_id) =
            (self.stack(&extra.stack[..in_kernel]), self.stack(&extra.stack[in_kernel..]));
        for tid in &extra.tids {
            let strings = &mut self.out.strings;
            let mut text = |text: &str| strings.intern(&text.replace("$n", &nth.to_string()));
            let (kind, name, detail, source) = (text(kind), text(&extra.name), text(&extra.detail), text(self.source));
            self.out.spans.push(Span {
                time_ns,
                duration_ns,
                tid: *tid,
                kind,
                name,
                detail,
                source,
                stack_id,
                kernel_stack_id,
            });
        }
    }

    fn sample(&mut self, event: &str, time_ns: i64, extra: &Extra) {
        // Where nothing measures waits, what the profiler says of a thread's state counts.
        let state = if self.is_profiler && event == event::WALL { "STATE_SLEEPING" } else { "" };
        let (event, stack_id) = (self.out.strings.intern(event), self.stack(&extra.stack));
        let state = self.out.strings.intern(state);
        let (weight_ns, size_bytes) = (extra.weight_ns, extra.size_bytes);
        for tid in &extra.tids {
            self.out.samples.push(Sample {
                time_ns,
                tid: *tid,
                cpu: -1,
                event,
                weight_ns,
                size_bytes,
                state,
                stack_id,
            });
        }
    }

    fn stack(&mut self, leaf_first: &[(String, String)]) -> StackId {
        let known: Vec<&str> = frame::ALL.iter().map(|word| word.word).collect();
        let frames = leaf_first.iter().rev().map(|(kind, symbol)| {
            assert!(known.contains(&kind.as_str()), "`{kind}` is not a kind of frame");
            let (kind, symbol) = (self.out.strings.intern(kind), self.out.strings.intern(symbol));
            self.out.stacks.intern_frame(fathom_evidence::Frame { symbol, kind, ..Default::default() })
        });
        let frames: Vec<_> = frames.collect();
        self.out.stacks.intern_from_root(frames)
    }

    fn counter(&mut self, time_ns: i64, name: &str, instance: &str, tids: &[i64], value: f64) {
        let strings = &mut self.out.strings;
        let (name, instance, source) = (strings.intern(name), strings.intern(instance), strings.intern(self.source));
        let rows = tids.iter().map(|tid| Counter { time_ns, name, instance, tid: *tid, value, source });
        rows.for_each(|row| self.out.counters.push(row));
    }

    fn next_gc(&mut self) -> u64 {
        self.gc_id += 1;
        self.gc_id
    }

    /// A collection in one pause: both recorders tell its cause, memory and CPU time.
    fn collection(&mut self, collection: &Collection, at_ns: i64) {
        let gc_id = self.next_gc();
        let detail = self.gc_detail(collection, gc_id);
        let text = detail::to_text(&detail);
        let name = detail.collector.unwrap_or_default();
        let logged = if collection.scope == "full" { "Pause Full" } else { "Pause Young (Normal)" };
        let pause = if self.is_jfr() { "GC Pause" } else { logged };
        self.out.add_span(at_ns, collection.duration_ns, 0, span::GC_PAUSE, pause, &text, self.source);
        self.out.add_span(at_ns, collection.duration_ns, 0, span::GC, &name, &text, self.source);
        self.heap_counters(collection, at_ns);
    }

    /// What is known where only the beginnings and the ends of pauses are.
    fn bare_pause(&mut self, collection: &Collection, at_ns: i64) {
        let cause = Some(collection.cause.clone()).filter(|cause| !cause.is_empty());
        let text = detail::to_text(&Gc { cause, scope: Some("other".to_owned()), level: Some(0), ..Gc::default() });
        self.out.add_span(at_ns, collection.duration_ns, 0, span::GC_PAUSE, "Pause Other", &text, self.source);
    }

    fn gc_detail(&self, collection: &Collection, gc_id: u64) -> Gc {
        let old = collection.old.filter(|_| self.tells_old());
        let capacity = old.map(|old| old.capacity).filter(|bytes| *bytes > 0.0 && !self.is_g1_jfr());
        let bytes = |bytes: f64| bytes as u64;
        Gc {
            gc_id: Some(gc_id),
            cause: Some(collection.cause.clone()).filter(|cause| !cause.is_empty()),
            scope: Some(collection.scope.clone()),
            collector: Some(collector(&self.world.jvm.collector, &collection.scope).to_owned()),
            level: Some(0),
            heap_before_bytes: collection.heap.map(|heap| bytes(heap.before)),
            heap_after_bytes: collection.heap.map(|heap| bytes(heap.after)),
            heap_committed_bytes: collection.heap.map(|heap| bytes(heap.capacity)).filter(|bytes| *bytes > 0),
            permanent_before_bytes: collection.permanent.map(|of| bytes(of.before)),
            permanent_capacity_bytes: collection.permanent.map(|of| bytes(of.capacity)),
            old_before_bytes: old.map(|old| bytes(old.before)),
            old_after_bytes: old.map(|old| bytes(old.after)),
            old_capacity_bytes: capacity.map(bytes),
            user_ns: collection.cpu_ns.map(|ns| ns as u64),
            ..Gc::default()
        }
    }

    /// The JVM's recorder tells the generations of Parallel only, and what is old under G1.
    fn tells_old(&self) -> bool {
        !self.is_jfr() || matches!(self.world.jvm.collector.as_str(), "Parallel" | "G1")
    }

    fn is_g1_jfr(&self) -> bool {
        self.is_jfr() && self.world.jvm.collector == "G1"
    }

    fn heap_counters(&mut self, collection: &Collection, at_ns: i64) {
        let end_ns = at_ns + collection.duration_ns;
        if let Some(heap) = collection.heap {
            self.out.add_counter(at_ns, counter::HEAP_USED_BYTES, "before_gc", heap.before, self.source);
            self.out.add_counter(end_ns, counter::HEAP_USED_BYTES, "after_gc", heap.after, self.source);
        }
        if let Some(old) = collection.old.filter(|_| self.tells_old()) {
            self.out.add_counter(end_ns, counter::OLD_USED_BYTES, "after_gc", old.after, self.source);
            if old.capacity > 0.0 && !self.is_g1_jfr() {
                self.out.add_counter(end_ns, counter::OLD_CAPACITY_BYTES, "after_gc", old.capacity, self.source);
            }
        }
        if let Some(ns) = collection.cpu_ns {
            self.out.add_counter(end_ns, counter::GC_CPU_NS, "user", ns as f64, self.source);
        }
    }

    /// A concurrent cycle of G1: a young pause starts it, then come the concurrent phase and two pauses under the next
    /// number. The log gives these no cause.
    fn cycle(&mut self, at_ns: i64, duration_ns: i64, pause_ns: i64, cause: &str) {
        let start =
            Collection { scope: "young".into(), duration_ns: pause_ns, cause: cause.into(), ..Collection::default() };
        self.collection(&start, at_ns);
        let gc_id = Some(self.next_gc());
        let cause = self.is_jfr().then(|| cause.to_owned());
        let part = |scope: &str| {
            let scope = Some(scope.to_owned()).filter(|scope| !scope.is_empty());
            detail::to_text(&Gc { gc_id, cause: cause.clone(), scope, ..Gc::default() })
        };
        let phase = detail::to_text(&Gc { gc_id, ..Gc::default() });
        let begin_ns = at_ns + pause_ns;
        let mut add =
            |at, length, kind, name, detail: &str| self.out.add_span(at, length, 0, kind, name, detail, self.source);
        add(begin_ns, duration_ns, span::GC, "G1Old", &part("other"));
        add(begin_ns, duration_ns, span::GC_CONCURRENT, "Concurrent Mark", &phase);
        add(begin_ns + duration_ns * 6 / 10, pause_ns, span::GC_PAUSE, "Pause Remark", &part("remark"));
        add(begin_ns + duration_ns * 9 / 10, pause_ns, span::GC_PAUSE, "Pause Cleanup", &part("cleanup"));
    }

    fn safepoint(&mut self, at_ns: i64, duration_ns: i64, waiting_ns: i64, operation: &str) {
        let safepoint = Safepoint { time_to_safepoint_ns: u64::try_from(waiting_ns).ok(), ..Safepoint::default() };
        let text = detail::to_text(&safepoint);
        self.out.add_span(at_ns, duration_ns, 0, span::SAFEPOINT, operation, &text, self.source);
        self.out.add_span(at_ns, waiting_ns, 0, span::TIME_TO_SAFEPOINT, operation, "", self.source);
    }
}

/// What a live recorder states of itself.
fn is_live_fact(key: &str) -> bool {
    const FACTS: [&str; 5] = [
        recorded::BLOCKED_THRESHOLD_NS,
        recorded::PROCESS_STOP_LOOKS_NS,
        recorded::REQUESTS_FOLLOWED,
        recorded::RIGHTS,
        "observed_from_ns",
    ];
    FACTS.contains(&key)
}

fn is_live_counter(name: &str) -> bool {
    LIVE_COUNTERS.iter().any(|beginning| name.starts_with(beginning)) && name != counter::THREAD_ALLOCATED_BYTES
}

fn is_captured(name: &str) -> bool {
    CAPTURED_COUNTERS.iter().any(|beginning| name.starts_with(beginning))
}

fn collector(family: &str, scope: &str) -> &'static str {
    match (family, scope) {
        ("G1", "full") => "G1Full",
        ("G1", _) => "G1New",
        ("Parallel", "full") => "ParallelOld",
        ("Parallel", _) => "ParallelScavenge",
        ("Serial", "full") => "SerialOld",
        ("Serial", _) => "DefNew",
        ("Shenandoah", _) => "Shenandoah",
        _ => "Z",
    }
}

/// Number, first instant and instant of each time a line happens.
fn instants(when: &When) -> impl Iterator<Item = (usize, i64, i64)> + '_ {
    let first = when.0.first().copied().unwrap_or(0);
    when.0.iter().enumerate().map(move |(nth, at)| (nth, first, *at))
}
