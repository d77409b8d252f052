//! The same truth recorded otherwise: with less evidence, at another time, together with irrelevant data.

use std::collections::{BTreeMap, BTreeSet};

use fathom_evidence::detail::to_text;
use fathom_evidence::kinds::{counter, event, frame, loss, recorded, role, span, subject};
use fathom_evidence::tables::{Counters, Facts, Sample, Samples, Span, Spans};
use fathom_evidence::{Frame, Recording, StackId, StrId};
use serde_json::Value;

const SECOND_NS: i64 = 1_000_000_000;

/// What one collector, or one kind of event of the JVM's recorder, adds to a recording.
pub(crate) struct Group {
    /// Of the collector, if it is one.
    pub(crate) name: &'static str,
    source: Source,
    kinds: &'static [&'static str],
    samples: &'static [&'static str],
    /// Beginnings of counters' names.
    counters: &'static [&'static str],
    /// Events of the JVM's recorder, which its settings name.
    events: &'static [&'static str],
}

#[derive(PartialEq)]
enum Source {
    /// The JVM's recorder.
    Jfr,
    /// A collector beside the JVM.
    Other,
}

macro_rules! group {
    ($name:literal, $source:ident, $kinds:expr, $samples:expr, $counters:expr, $events:expr) => {
        Group {
            name: $name,
            source: Source::$source,
            kinds: $kinds,
            samples: $samples,
            counters: $counters,
            events: $events,
        }
    };
}

const PAUSES: &[&str] = &[span::GC, span::GC_PAUSE, span::GC_PHASE, span::GC_CONCURRENT];
const FILES: &[&str] = &[span::FILE_READ, span::FILE_WRITE, span::FILE_FORCE];

pub(crate) const GROUPS: &[Group] = &[
    group!("monitors", Jfr, &[span::MONITOR_ENTER], &[], &[], &["jdk.JavaMonitorEnter"]),
    group!("parks", Jfr, &[span::PARK], &[], &[], &["jdk.ThreadPark"]),
    group!("sockets of Java", Jfr, &[span::SOCKET_READ, span::SOCKET_WRITE], &[], &[], &["jdk.SocketRead"]),
    group!("files of Java", Jfr, FILES, &[], &[], &["jdk.FileRead", "jdk.FileWrite", "jdk.FileForce"]),
    group!(
        "samples",
        Jfr,
        &[],
        &[event::CPU, event::EXECUTION, event::NATIVE, event::WALL],
        &[],
        &["jdk.ExecutionSample"]
    ),
    group!("deoptimizations", Jfr, &[span::DEOPTIMIZATION], &[], &[], &["jdk.Deoptimization"]),
    group!("compilers", Jfr, &[span::COMPILATION], &[], &["compile_"], &["jdk.Compilation", "jdk.CompilerStatistics"]),
    group!("code cache", Jfr, &[span::CODE_CACHE_FULL], &[], &["code_cache_", "code_sweeps_"], &["jdk.CodeCacheFull"]),
    group!("collections", Jfr, PAUSES, &[], &["heap_", "old_", "gc_cpu_"], &["jdk.GarbageCollection"]),
    group!("safepoints", Jfr, &[span::SAFEPOINT, span::TIME_TO_SAFEPOINT], &[], &[], &["jdk.SafepointBegin"]),
    group!("load of the CPUs", Jfr, &[], &[], &["cpu_process_", "cpu_machine_"], &["jdk.CPULoad"]),
    group!("threads", Other, &[], &[], &["thread_"], &[]),
    group!("page_faults", Other, &[span::PAGE_FAULT], &[], &["page_faults_"], &[]),
    group!("scheduler", Other, &[span::RUN_QUEUE_WAIT, span::BLOCKED], &[], &["blocked_", "run_queue_waits_"], &[]),
    group!("system_calls", Other, &[span::SYSTEM_CALL], &[], &["system_calls_"], &[]),
    group!("block", Other, &[span::BLOCK_REQUEST], &[], &["block_"], &[]),
    group!("drops", Other, &[span::PACKET_DROP], &[], &["packets_"], &[]),
    group!("datagrams", Other, &[span::DATAGRAMS_LATE], &[], &["datagram"], &[]),
    group!("sockets", Other, &[], &[], &["socket_", "sockets_", "network_"], &[]),
    group!("memory", Other, &[], &[], &["meminfo_", "vmstat_", "process_memory_"], &[]),
    group!("machine", Other, &[span::HOST_STALL], &[], &["machine_", "one_cpu_", "wakeup_"], &[]),
    group!("cgroup", Other, &[], &[], &["cgroup_"], &[]),
];

/// The recording as it would be if `group` had not been recorded; `None` if nothing of it was recorded.
pub(crate) fn without(recording: &Recording, group: &Group) -> Option<Recording> {
    let text = |id: StrId| recording.text(id);
    let is_jfr = |source: StrId| (text(source) == "jfr") == (group.source == Source::Jfr);
    let is_of = |counter: &str| group.counters.iter().any(|beginning| counter.starts_with(beginning));
    let mut less = recording.clone();
    less.spans = Spans::default();
    let is_span = |kind, source| group.kinds.contains(&text(kind)) && is_jfr(source);
    recording.spans.rows().filter(|row| !is_span(row.kind, row.source)).for_each(|row| less.spans.push(row));
    less.samples = Samples::default();
    let others = recording.samples.rows().filter(|row| !group.samples.contains(&text(row.event)));
    others.for_each(|row| less.samples.push(row));
    less.counters = Counters::default();
    let is_counter = |name, source| is_of(text(name)) && is_jfr(source);
    recording.counters.rows().filter(|row| !is_counter(row.name, row.source)).for_each(|row| less.counters.push(row));
    let rows = |of: &Recording| of.row_counts();
    if rows(&less) == rows(recording) {
        return None;
    }
    forget_facts(recording, group, &mut less);
    Some(less)
}

/// The recording without one of its tables each, as it is read when that is gone from its folder.
pub(crate) fn without_tables(recording: &Recording) -> Vec<(&'static str, Recording)> {
    let without = |table: &'static str, rows: usize, empty: &dyn Fn(&mut Recording)| {
        let mut less = recording.clone();
        empty(&mut less);
        let says = format!("table {table} is missing, with its {rows} rows");
        less.add_loss("recording", loss::MISSING, rows as i64, &says);
        (rows > 0).then_some((table, less))
    };
    let tables = [
        without("spans", recording.spans.rows().len(), &|less| less.spans = Spans::default()),
        without("samples", recording.samples.rows().len(), &|less| less.samples = Samples::default()),
        without("counters", recording.counters.rows().len(), &|less| less.counters = Counters::default()),
    ];
    tables.into_iter().flatten().collect()
}

/// The recording without one field of its rows each, and as it would be had the JVM's recorder left out what is shorter than its own
/// settings say.
pub(crate) fn without_fields(recording: &Recording) -> Vec<(&'static str, Recording)> {
    let mut fields: Vec<(&'static str, Recording)> = Vec::new();
    let mut changed = |name: &'static str, change: &dyn Fn(&mut Recording)| {
        let mut less = recording.clone();
        change(&mut less);
        fields.push((name, less));
    };
    changed("stacks of spans", &|less| less.spans.stack_id.fill(StackId(0)));
    changed("kernel stacks of spans", &|less| less.spans.kernel_stack_id.fill(StackId(0)));
    changed("names of spans", &|less| less.spans.name.fill(StrId(0)));
    changed("details of spans", &|less| less.spans.detail.fill(StrId(0)));
    changed("stacks of samples", &|less| less.samples.stack_id.fill(StackId(0)));
    changed("short events of Java", &only_long_events);
    fields
}

/// As short as that an event is left out by the JVM's own settings.
const OWN_THRESHOLD_NS: i64 = 20_000_000;

fn only_long_events(less: &mut Recording) {
    let of_group =
        |group: &&Group| group.source == Source::Jfr && group.events.iter().any(|event| is_timed(less, event));
    let timed: Vec<&Group> = GROUPS.iter().filter(of_group).collect();
    let is_left_out = |row: &Span| {
        let kind = less.text(row.kind);
        let is_timed = timed.iter().any(|group| group.kinds.contains(&kind));
        is_timed && less.text(row.source) == "jfr" && row.duration_ns < OWN_THRESHOLD_NS
    };
    let mut spans = Spans::default();
    less.spans.rows().filter(|row| !is_left_out(row)).for_each(|row| spans.push(row));
    let events: Vec<&str> = timed.iter().flat_map(|group| group.events.iter().copied()).collect();
    less.spans = spans;
    with_facts(less, |key, _| {
        let event = key.strip_suffix("#threshold")?;
        events.contains(&event).then(|| "20 ms".to_owned())
    });
}

/// Whether the settings say that an event is recorded from some length on.
fn is_timed(recording: &Recording, event: &str) -> bool {
    recording.fact(subject::SETTING, &format!("{event}#threshold")).is_some_and(|from| from != "0 ms")
}

/// What the facts say of the group: settings of its events, thresholds, the control group's limits.
fn forget_facts(recording: &Recording, group: &Group, less: &mut Recording) {
    let is_about = |about: &str, key: &str| match about {
        subject::SETTING => group.events.iter().any(|event| key.split('#').next() == Some(event)),
        subject::RECORDING if key == recorded::PROCESS_STOP_LOOKS_NS => group.counters.contains(&"thread_"),
        subject::RECORDING if key == recorded::BLOCKED_THRESHOLD_NS => group.kinds.contains(&span::BLOCKED),
        subject::RECORDING => key == "page_fault_threshold_ns" && group.kinds.contains(&span::PAGE_FAULT),
        subject::CGROUP => group.counters.contains(&"cgroup_"),
        _ => false,
    };
    less.facts = Facts::default();
    for fact in recording.facts.rows() {
        let is_its_own = group.source == Source::Other && recording.text(fact.source) == group.name;
        if !is_its_own && !is_about(recording.text(fact.subject), recording.text(fact.key)) {
            less.facts.push(fact);
        }
    }
    group.events.iter().for_each(|event| less.add_fact(subject::SETTING, &format!("{event}#enabled"), "false", "jfr"));
}

/// The same at another time.
pub(crate) fn shifted(recording: &Recording, by_ns: i64) -> Recording {
    let mut moved = recording.clone();
    let columns = [
        &mut moved.samples.time_ns,
        &mut moved.spans.time_ns,
        &mut moved.counters.time_ns,
        &mut moved.logs.time_ns,
        &mut moved.clocks.time_ns,
    ];
    columns.into_iter().flatten().for_each(|time| *time += by_ns);
    // Losses that concern the whole source have no time.
    let losses = moved.losses.from_ns.iter_mut().chain(&mut moved.losses.to_ns);
    losses.filter(|time| **time != 0).for_each(|time| *time += by_ns);
    with_facts(&mut moved, |key, value| {
        let time = value.parse::<i64>().ok().filter(|_| key.ends_with("_at_ns") || key.ends_with("_from_ns"));
        time.map(|time| (time + by_ns).to_string())
    });
    moved
}

/// Replaces the values of facts for which there is a new one.
fn with_facts(recording: &mut Recording, new: impl Fn(&str, &str) -> Option<String>) {
    for index in 0..recording.row_counts().facts {
        let fact = recording.facts.row(index);
        if let Some(value) = new(recording.text(fact.key), recording.text(fact.value)) {
            recording.facts.value[index] = recording.strings.intern(&value);
        }
    }
}

/// Threads that have nothing to do with anything: workers of some pool that wait for tasks which never come.
pub(crate) fn with_idle_threads(recording: &Recording, count: i64) -> Recording {
    const CONDITION: &str = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject";
    let mut more = recording.clone();
    let Some((from_ns, to_ns)) = recording.time_range_ns() else { return more };
    for tid in (0..count).map(|index| 900_000 + index) {
        more.add_thread(tid, &format!("idle-pool-thread-{tid}"));
        if are_waits_sampled(recording) {
            (from_ns..to_ns).step_by(SECOND_NS as usize).for_each(|time_ns| add_idle_sample(&mut more, tid, time_ns));
            continue;
        }
        // They waited before the recording began.
        for time_ns in (from_ns - 5 * SECOND_NS..to_ns).step_by(5 * SECOND_NS as usize) {
            more.add_span(time_ns, (5 * SECOND_NS).min(to_ns - time_ns), tid, span::PARK, CONDITION, "", "jfr");
        }
    }
    more
}

/// Whether waits are known by samples of the wall clock only.
fn are_waits_sampled(recording: &Recording) -> bool {
    let has = |kind: &str| recording.strings.find(kind).is_some_and(|kind| recording.spans.kind.contains(&kind));
    let waits = [span::PARK, span::SLEEP, span::MONITOR_ENTER, span::MONITOR_WAIT];
    let wall = recording.strings.find(event::WALL);
    wall.is_some_and(|wall| recording.samples.event.contains(&wall)) && !waits.into_iter().any(has)
}

fn add_idle_sample(recording: &mut Recording, tid: i64, time_ns: i64) {
    const FROM_ROOT: [&str; 3] = [
        "java.lang.Thread.run",
        "java.util.concurrent.LinkedBlockingQueue.take",
        "java.util.concurrent.locks.LockSupport.park",
    ];
    let kind = recording.strings.intern(frame::COMPILED);
    let frames = FROM_ROOT.map(|symbol| {
        let symbol = recording.strings.intern(symbol);
        recording.stacks.intern_frame(Frame { symbol, kind, ..Frame::default() })
    });
    let stack_id = recording.stacks.intern_from_root(frames.to_vec());
    let event = recording.strings.intern(event::WALL);
    recording.samples.push(Sample {
        time_ns,
        tid,
        cpu: -1,
        event,
        weight_ns: SECOND_NS,
        stack_id,
        ..Sample::default()
    });
}

/// An hour in which the JVM had nothing to do, before `recording` or after it.
pub(crate) fn with_idle_hour(recording: &Recording, sources: &[String], before: bool) -> Recording {
    const HOUR_NS: i64 = 3_600_000_000_000;
    let Some((from_ns, to_ns)) = recording.time_range_ns() else { return recording.clone() };
    let mut more = with_idle_time(
        recording,
        sources,
        if before { (from_ns - HOUR_NS, from_ns) } else { (to_ns, to_ns + HOUR_NS) },
    );
    if before {
        with_facts(&mut more, |key, value| {
            let time = value.parse::<i64>().ok().filter(|_| key == "started_at_ns");
            time.map(|time| (time - HOUR_NS).to_string())
        });
    }
    more
}

/// Some time in which the JVM had nothing to do. Recorders say that they looked.
fn with_idle_time(recording: &Recording, sources: &[String], (from_ns, to_ns): (i64, i64)) -> Recording {
    let mut more = recording.clone();
    for time_ns in (from_ns..to_ns).step_by(10_000_000_000) {
        for source in sources {
            match source.as_str() {
                "jfr" => more.add_counter(time_ns, counter::CPU_PROCESS_RATIO, "user", 0.001, "jfr"),
                "live" => more.add_counter(time_ns, counter::MEMINFO_BYTES, "MemFree", 2e9, "live"),
                "gc_log" => more.add_span(time_ns, 100_000, 0, span::SAFEPOINT, "Cleanup", "", "gc_log"),
                _ => {}
            }
        }
    }
    more
}

/// The same service twice as large: each thread of the application, and each compiler, has a twin that does the same, on twice as
/// many CPUs.
pub(crate) fn doubled(recording: &Recording) -> Recording {
    const TWIN: i64 = 500_000;
    let twin = |tid: i64| if tid < 0 { tid - TWIN } else { tid + TWIN };
    let is_application = |tid: i64| {
        let known = recording.threads.get(tid).map(|thread| recording.text(thread.role));
        tid != 0 && known.is_none_or(|known| matches!(known, role::JAVA | role::HANDLER | role::COMPILER))
    };
    let clients = clients(recording);
    let mut more = recording.clone();
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for (tid, mut thread) in recording.threads.iter().filter(|(tid, _)| is_application(*tid)) {
        names.insert(recording.text(thread.name));
        thread.name = more.strings.intern(&twin_name(recording.text(thread.name)));
        more.threads.insert(twin(tid), thread);
    }
    for mut row in recording.spans.rows() {
        if is_application(row.tid) || recording.text(row.kind) == span::REQUEST {
            row.tid = if row.tid == 0 { 0 } else { twin(row.tid) };
            let detail = twin_detail(recording.text(row.detail), &is_application, &twin, &names);
            row.detail = more.strings.intern(&detail);
            if clients.contains(&row.name) {
                row.name = more.strings.intern(&twin_client(recording.text(row.name)));
            }
            more.spans.push(row);
        }
    }
    for mut row in recording.samples.rows().filter(|row| is_application(row.tid)) {
        row.tid = twin(row.tid);
        more.samples.push(row);
    }
    for mut row in recording.counters.rows().filter(|row| is_application(row.tid)) {
        row.tid = twin(row.tid);
        more.counters.push(row);
    }
    double_memory(&mut more);
    with_facts(&mut more, |key, value| {
        let cpus = value.parse::<u32>().ok().filter(|_| key == "cpus");
        cpus.map(|cpus| (2 * cpus).to_string())
    });
    more
}

/// Peers that a single thread talks to, at a port that Linux gives to clients: its twin has a client of its own.
fn clients(recording: &Recording) -> BTreeSet<StrId> {
    const FIRST_CLIENT_PORT: u32 = 32_768;
    let mut threads: BTreeMap<StrId, BTreeSet<i64>> = BTreeMap::new();
    let sockets = [span::SOCKET_READ, span::SOCKET_WRITE].map(|kind| recording.strings.find(kind));
    for socket in recording.spans.rows().filter(|row| sockets.contains(&Some(row.kind))) {
        threads.entry(socket.name).or_default().insert(socket.tid);
    }
    let port = |name: StrId| recording.text(name).rsplit(':').next().and_then(|port| port.parse::<u32>().ok());
    let is_client = |name: StrId| port(name).is_some_and(|port| port >= FIRST_CLIENT_PORT);
    threads.into_iter().filter(|(name, of)| of.len() == 1 && is_client(*name)).map(|(name, _)| name).collect()
}

/// The same host, another port.
fn twin_client(name: &str) -> String {
    let (host, port) = name.rsplit_once(':').unwrap_or((name, "0"));
    format!("{host}:{}", port.parse::<u32>().unwrap_or(0) + 7_000)
}

/// Numbered as threads of a pool are.
fn twin_name(name: &str) -> String {
    format!("{name}77")
}

/// What the kernel counts of all processes' memory, which twice as many use.
fn double_memory(recording: &mut Recording) {
    let mut doubled = Counters::default();
    for mut row in recording.counters.rows() {
        let is_memory = recording.text(row.name) == counter::VMSTAT_COUNT;
        row.value *= if is_memory { 2.0 } else { 1.0 };
        doubled.push(row);
    }
    recording.counters = doubled;
}

/// Who woke the twin, ran in its place, worked for it, or held its lock, is the other's twin.
fn twin_detail(
    detail: &str,
    is_application: &impl Fn(i64) -> bool,
    twin: &impl Fn(i64) -> i64,
    names: &BTreeSet<&str>,
) -> String {
    let Ok(Value::Object(mut fields)) = serde_json::from_str(detail) else { return detail.to_owned() };
    for key in ["waker_tid", "instead_tid", "worker_tid"] {
        let tid = fields.get(key).and_then(Value::as_i64).filter(|tid| is_application(*tid));
        if let Some(tid) = tid {
            fields.insert(key.to_owned(), Value::from(twin(tid)));
        }
    }
    let owner = fields.get("previous_owner").and_then(Value::as_str).filter(|owner| names.contains(owner));
    if let Some(owner) = owner.map(twin_name) {
        fields.insert("previous_owner".to_owned(), Value::from(owner));
    }
    // The twin has a lock of its own.
    if let Some(address) = fields.get("address").and_then(Value::as_i64) {
        fields.insert("address".to_owned(), Value::from(address + 1_000_000_007));
    }
    to_text(&Value::Object(fields))
}

/// Both recordings as one, `second` eleven minutes after the end of `first`, with nothing to do between: what is usual changes
/// within a recording, but not from one minute to the next.
pub(crate) fn glued(first: &Recording, second: &Recording, sources: &[String]) -> Option<Recording> {
    const APART_NS: i64 = 660_000_000_000;
    let ((_, end_ns), (begin_ns, _)) = (first.time_range_ns()?, second.time_range_ns()?);
    let mut both = with_idle_time(first, sources, (end_ns, end_ns + APART_NS));
    let mut second = shifted(second, end_ns + APART_NS - begin_ns);
    // One JVM started once, and before everything; who looked at it looked at both.
    second.facts = Facts::default();
    let (_, end_ns) = second.time_range_ns()?;
    with_facts(&mut both, |key, _| (key == "observed_to_ns").then(|| end_ns.to_string()));
    both.absorb(second);
    Some(both)
}

/// The requests of a latency file as who measures them at their sockets has them: every second one stands for two where the
/// next is as long.
pub(crate) fn at_sockets(latencies: &Recording) -> Recording {
    let mut recording = Recording::default();
    let requests: Vec<Span> = latencies.spans.rows().collect();
    for pair in requests.chunks(2) {
        let is_alike = pair.iter().all(|request| request.duration_ns == pair[0].duration_ns) && pair.len() == 2;
        let kept = if is_alike { &pair[..1] } else { pair };
        let detail = format!("{{\"port\":8080,\"stands_for\":{}}}", if is_alike { 2 } else { 1 });
        for request in kept {
            recording.add_span(request.time_ns, request.duration_ns, 9, span::REQUEST, ":8080", &detail, "requests");
        }
    }
    recording
}
