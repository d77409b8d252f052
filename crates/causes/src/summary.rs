//! What was recorded, when it was slow, and the headline figures.

use fathom_evidence::Recording;
use fathom_evidence::kinds::{counter, loss, span, subject};
use fathom_timeline::{BUCKET_NS, Divided, Port, SignalKind, SlowInterval as Slow, ThreadState, Unpaired, Wait};

use crate::catalog;
use crate::comparison::Comparison;
use crate::explanation::{
    Baseline, CauseVerdict, Evidence, Explanation, Headline, HeadlineKind, IntervalCause, LossNote, PortData,
    PortFailures, PortSummary, RecordingSummary, SCHEMA, SlowInterval, SlowRequests,
};
use crate::failures;
use crate::period::Period;
use crate::versions::major_version;
use crate::{format, per_request, worst};

/// The answer for a recording without anything in it that has a time.
pub fn of_nothing(recording: &Recording) -> Explanation {
    let says = "the recording holds nothing that has a time".to_owned();
    // Whoever recorded nothing may still have noted when.
    let clocks = || recording.clocks.time_ns.iter().copied();
    let (from_ns, to_ns) = clocks().min().zip(clocks().max()).unwrap_or_default();
    let causes = catalog().iter().map(|cause| CauseVerdict { says: says.clone(), ..CauseVerdict::nothing(cause.id) });
    Explanation {
        schema: SCHEMA,
        recording: RecordingSummary { from_ns, to_ns, ..identity(recording) },
        headline: Headline { kind: HeadlineKind::CannotTell, says: says.clone(), but: Vec::new() },
        baseline: Baseline { kind: "none".to_owned(), says: says.clone(), duration_ns: 0 },
        causes: causes.collect(),
        losses: losses(recording),
        ..Explanation::default()
    }
}

/// Identity and extent.
pub(crate) fn recording(comparison: &Comparison<'_>) -> RecordingSummary {
    let grid = comparison.sources().grid;
    RecordingSummary { from_ns: grid.start_ns, to_ns: grid.end_ns(), ..identity(comparison.recording()) }
}

/// The ports that requests were measured at.
pub(crate) fn ports(comparison: &Comparison<'_>) -> Vec<PortSummary> {
    let of = |port: &Port| {
        let name = comparison.recording().text(port.name);
        let of = |baseline: &Period<'_>| baseline.sources.traffic.usual_ns(name, &baseline.time);
        let usual_ns = comparison.baseline.as_ref().and_then(of).unwrap_or(port.p50_ns);
        let divided = comparison.analysis.divided(port, usual_ns);
        PortSummary {
            port: name.to_owned(),
            count: port.count as u64,
            streams_count: port.streams as u64,
            unanswered_count: port.unanswered as u64,
            overlapping_count: port.overlapping as u64,
            several_from_ns: port.overlapping_from_ns,
            data: Unpaired::of(comparison.sources(), name).map(|unpaired| data(&unpaired)),
            failed: failed(comparison, port),
            p50_ns: port.p50_ns,
            usual_ns,
            p99_ns: port.p99_ns,
            longest_ns: port.longest_ns,
            lost_ns: divided.late_ns,
            uncertain_ns: port.uncertain_ns,
            slow: slow_requests(&divided),
        }
    };
    comparison.sources().traffic.ports().iter().map(of).collect()
}

fn data(unpaired: &Unpaired) -> PortData {
    PortData {
        arrivals_count: unpaired.arrivals as u64,
        sends_count: unpaired.sends as u64,
        arrivals_per_s: unpaired.arrivals / unpaired.counted_s.max(f64::MIN_POSITIVE),
        received_bytes: unpaired.received_bytes as u64,
        sent_bytes: unpaired.sent_bytes as u64,
    }
}

fn failed(comparison: &Comparison<'_>, port: &Port) -> PortFailures {
    let name = comparison.recording().text(port.name);
    let of = |counter| failures::count(comparison.sources(), counter, name) as u64;
    PortFailures {
        reset_count: of(counter::CONNECTIONS_RESET_COUNT),
        closed_unanswered_count: of(counter::CLOSED_UNANSWERED_COUNT),
        curt_count: port.curt as u64,
    }
}

fn slow_requests(divided: &Divided) -> SlowRequests {
    SlowRequests {
        count: divided.count as u64,
        total_ns: divided.total_ns,
        unread_ns: divided.unread_ns,
        unread_while: unread_while(divided),
        queued_ns: divided.queued_ns,
        calls_ns: divided.calls_ns,
        service_ns: divided.service_ns(),
        unsent_ns: divided.unsent_ns,
        unknown_ns: divided.unknown_ns,
    }
}

/// `waiting for locks (60 %)`: the state of most of the time, if that is a good part of it.
fn unread_while(divided: &Divided) -> String {
    const MIN_SHARE_NAMED: f64 = 0.2;
    let told = divided.unread_while.iter().filter(|(state, _)| **state != ThreadState::Unknown);
    let most = told.max_by(|a, b| a.1.total_cmp(b.1)).map(|(state, ns)| (state, ns / divided.unread_ns.max(1.0)));
    let text = |(state, part): (&ThreadState, f64)| format!("{state} ({})", format::percent(part.min(1.0)));
    most.filter(|(_, part)| *part >= MIN_SHARE_NAMED).map_or(String::new(), text)
}

fn identity(recording: &Recording) -> RecordingSummary {
    let jvm = |key: &str| recording.fact(subject::JVM, key);
    let cpus = recording.fact(subject::HOST, "cpus").and_then(|text| text.parse().ok());
    RecordingSummary {
        title: title(recording),
        pid: jvm("pid").and_then(|text| text.parse().ok()),
        jvm: jvm("version").and_then(major_version).map_or(String::new(), |major| format!("JDK {major}")),
        collector: collector(recording),
        cpus,
        from_ns: 0,
        to_ns: 0,
        sources: sources(recording),
        tier: recording.fact(subject::RECORDING, "tier").and_then(|text| text.parse().ok()).unwrap_or(0),
    }
}

/// Main class or jar: the first word of the program's arguments, without folders and packages.
fn title(recording: &Recording) -> String {
    let main = recording.fact(subject::JVM, "java_arguments").unwrap_or("");
    let main = main.split_whitespace().next().unwrap_or("");
    let file = main.rsplit('/').next().unwrap_or(main);
    match file.strip_suffix(".jar") {
        Some(jar) => jar.to_owned(),
        None => file.rsplit('.').next().unwrap_or(file).to_owned(),
    }
}

fn collector(recording: &Recording) -> String {
    let told = [(subject::JVM, "collector"), (subject::GC, "collector"), (subject::GC, "old_collector")];
    let named = told.into_iter().find_map(|(subject, key)| recording.fact(subject, key));
    let by_flag = ["G1", "Parallel", "Serial", "Z", "Shenandoah", "ConcMarkSweep"]
        .into_iter()
        .find(|name| recording.fact(subject::FLAG, &format!("Use{name}GC")) == Some("true"));
    match (by_flag, named) {
        (Some("Z"), _) => "ZGC".to_owned(),
        (Some("ConcMarkSweep"), _) => "CMS".to_owned(),
        (Some(name), _) => name.to_owned(),
        (None, Some(name)) => name.to_owned(),
        (None, None) => String::new(),
    }
}

fn sources(recording: &Recording) -> Vec<String> {
    let all = recording.facts.source.iter().chain(&recording.spans.source).chain(&recording.counters.source);
    let mut ids: Vec<_> = all.copied().collect();
    ids.sort_unstable();
    ids.dedup();
    let mut names: Vec<String> = ids.into_iter().map(|id| recording.text(id).to_owned()).collect();
    names.retain(|name| !name.is_empty() && name != "fathom");
    names.sort_unstable();
    names
}

/// The longest request that was under way in a slow stretch.
fn longest(comparison: &Comparison<'_>, slow: &Slow) -> Option<f64> {
    let longest_ns = &comparison.analysis.account.requests.as_ref()?.longest_ns;
    let grid = comparison.sources().grid;
    let buckets = grid.bucket_of(slow.from_ns)?..=grid.bucket_of(slow.to_ns - 1)?;
    longest_ns.get(buckets)?.iter().flatten().copied().max_by(f64::total_cmp)
}

/// The slow stretches.
pub(crate) fn slow(comparison: &Comparison<'_>, causes: Vec<Vec<IntervalCause>>) -> Vec<SlowInterval> {
    let intervals = comparison.slowdown.intervals.iter().zip(causes);
    intervals
        .map(|(slow, causes)| SlowInterval {
            causes,
            worst: worst::of(comparison, slow),
            from_ns: slow.from_ns,
            to_ns: slow.to_ns,
            signal: slow.signal.name().to_owned(),
            says: says(comparison, slow),
        })
        .collect()
}

fn says(comparison: &Comparison<'_>, slow: &Slow) -> String {
    let worst = match slow.signal.unit() {
        "ns" => format::time(slow.worst),
        "ratio" => format::percent(slow.worst),
        _ => format::number(slow.worst),
    };
    let longest = longest(comparison, slow).map_or(String::new(), |ns| format!(" ({} the longest)", format::time(ns)));
    slow.signal.says().replacen("{}", &worst, 1).replacen("{longest}", &longest, 1)
}

/// What the slow time was compared with.
pub(crate) fn baseline(comparison: &Comparison<'_>) -> Baseline {
    let duration_ns = comparison.baseline.as_ref().map_or(0, |baseline| baseline.time.total_ns());
    let (kind, says) = match (&comparison.baseline, &comparison.analysis.baseline_recording) {
        _ if comparison.slowdown.intervals.is_empty() => ("none", "nothing was slow".to_owned()),
        (Some(_), Some(other)) => {
            let says = format!("a baseline of {} in the other recording", format::time(duration_ns as f64));
            let apart = "; its requests came to other ports, so how long they took is not compared";
            ("other_recording", if other.has_same_port { says } else { says + apart })
        }
        (Some(_), None) => ("rest_of_recording", rest_of_recording(comparison, duration_ns)),
        (None, _) => (
            "none",
            "no lost time at all, because there is no baseline; --baseline RECORDING gives a better answer".to_owned(),
        ),
    };
    Baseline { kind: kind.to_owned(), says, duration_ns }
}

/// `a baseline of 3 s (7 s of start-up and transitions excluded)`; in a long recording `a baseline of 8 min about then`.
fn rest_of_recording(comparison: &Comparison<'_>, duration_ns: i64) -> String {
    let grid = comparison.sources().grid;
    let all_ns = grid.end_ns().saturating_sub(grid.start_ns);
    let excluded_ns = all_ns - duration_ns - comparison.analysis.slowdown.time.total_ns();
    let is_elsewhere = comparison.analysis.slowdown.is_near && excluded_ns >= 2 * duration_ns;
    let excluded = match excluded_ns >= BUCKET_NS {
        true if is_elsewhere => " about then".to_owned(),
        true => format!(" ({} of start-up and transitions excluded)", format::time(excluded_ns as f64)),
        false => String::new(),
    };
    format!("a baseline of {}{excluded}", format::time(duration_ns as f64))
}

/// Latency, CPU and stops, slow against baseline; over everything when nothing was slow.
pub(crate) fn figures(comparison: &Comparison<'_>) -> Vec<Evidence> {
    if comparison.slowdown.intervals.is_empty() {
        return highest(comparison);
    }
    let account = &comparison.analysis.account;
    let mut figures = Vec::new();
    figures.extend(latency(comparison));
    figures.extend(per_request::figure(comparison));
    if let Some(process) = &account.process_cpu_ns {
        let cores: Vec<f64> = process.iter().map(|ns| ns / BUCKET_NS as f64).collect();
        figures.push(comparison.evidence("process CPU", comparison.mean(&cores), "cores", "counters"));
    }
    if are_stops_measured(comparison) {
        let stopped = account.sum(|state| matches!(state, ThreadState::Stopped(_)));
        let ratio: Vec<f64> = stopped.iter().map(|ns| ns / BUCKET_NS as f64).collect();
        figures.push(comparison.evidence("application stopped", comparison.mean(&ratio), "ratio", "spans"));
    }
    figures
}

/// The 99th percentile of the requests that began in the slow time, and of those of the baseline. What lasts for minutes (long polls)
/// is under way in any time; where all hang and none begins, those under way tell.
fn latency(comparison: &Comparison<'_>) -> Option<Evidence> {
    comparison.analysis.account.requests.as_ref()?;
    let p99 = |period: &Period<'_>| {
        let traffic = &period.sources.traffic;
        let begun = traffic.p99_ns(|request| period.time.contains(request.from_ns));
        begun.or_else(|| traffic.p99_ns(|request| period.has(request.from_ns, request.to_ns)))
    };
    // Requests to other ports say nothing about these.
    let has_same_port = comparison.analysis.baseline_recording.as_ref().is_none_or(|other| other.has_same_port);
    let baseline = comparison.baseline.as_ref().filter(|_| has_same_port).and_then(p99);
    let slow = p99(&comparison.slow)?;
    Some(comparison.evidence("request latency, p99", (slow, baseline), "ns", "spans"))
}

/// Whether a stop of the application would have been recorded: what was not measured is not zero.
fn are_stops_measured(comparison: &Comparison<'_>) -> bool {
    comparison.has_collections()
        || comparison.is_recorded("jdk.SafepointBegin")
        || comparison.sources().has_counter(counter::GC_TIME_NS)
        || !comparison.analysis.account.stops.is_empty()
}

/// The signals with their highest values, for a recording in which nothing was slow.
fn highest(comparison: &Comparison<'_>) -> Vec<Evidence> {
    let grid = comparison.sources().grid;
    let account = &comparison.analysis.account;
    let most = |kind: SignalKind| {
        account.sum(|state| kind.is_made_of(state)).into_iter().fold(0.0, f64::max) / BUCKET_NS as f64
    };
    let has_stops = are_stops_measured(comparison);
    let has_locks = comparison.is_recorded("jdk.JavaMonitorEnter")
        || account.states.contains_key(&ThreadState::Blocked(Wait::Lock));
    let stalls = comparison.sources().spans(span::ALLOCATION_STALL);
    let longest_stall = stalls.map(|stall| stall.duration_ns as f64).fold(0.0, f64::max);
    let has_collectors = account.states.keys().any(|state| matches!(state, ThreadState::Collector(_)));
    // What was not measured is not zero.
    let figure = |(kind, value): &(SignalKind, f64)| {
        // A signal leaves out what is a small part of all, and the start of the JVM; as a figure both count.
        let all = || most(*kind);
        let (says, unit, value) = match kind {
            SignalKind::RequestLatency => ("highest request latency, p99 of a second", "ns", *value),
            SignalKind::Stopped if has_stops => {
                ("longest stop-the-world time in any second", "ns", all() * BUCKET_NS as f64)
            }
            SignalKind::Cpu => {
                let used = account.process_use().into_iter().flatten();
                ("highest use of the CPUs by the process", "ratio", used.fold(*value, f64::max))
            }
            SignalKind::Locks if has_locks => ("most threads waiting for locks", "threads", all()),
            SignalKind::AllocationStalls if longest_stall > 0.0 => ("longest allocation stall", "ns", longest_stall),
            SignalKind::Collecting if has_collectors => ("most cores used by the collector", "cores", all()),
            _ => return None,
        };
        let (says, unit) = (says.to_owned(), unit.to_owned());
        let (from_ns, to_ns) = (grid.start_ns, grid.end_ns());
        Some(Evidence { says, unit, value, table: "account".to_owned(), from_ns, to_ns, ..Evidence::default() })
    };
    comparison.slowdown.highest.iter().filter_map(figure).collect()
}

/// What is not accounted for of a recording that is too long.
pub(crate) fn left_out(comparison: &Comparison<'_>) -> Option<LossNote> {
    let sources = comparison.sources();
    let days = sources.grid.len as i64 * BUCKET_NS / DAY_NS;
    (sources.left_out_ns > 0).then(|| LossNote {
        source: "account".to_owned(),
        kind: loss::TRUNCATED.to_owned(),
        says: format!(
            "only the last {days} days are explained, the {} before them are not: take a part of the log",
            format::time(sources.left_out_ns as f64)
        ),
    })
}

const DAY_NS: i64 = 24 * 3600 * BUCKET_NS;

/// What is missing from the recording. Losses of one kind from one source that differ only in their numbers are reported
/// once.
pub(crate) fn losses(recording: &Recording) -> Vec<LossNote> {
    let mut notes: Vec<(LossNote, String, usize)> = Vec::new();
    for row in recording.losses.rows() {
        let says = recording.text(row.says).to_owned();
        let template: String = says.chars().filter(|c| !c.is_ascii_digit()).collect();
        let (source, kind) = (recording.text(row.source).to_owned(), recording.text(row.kind).to_owned());
        match notes.iter_mut().find(|(note, known, _)| note.source == source && note.kind == kind && *known == template)
        {
            Some((_, _, times)) => *times += 1,
            None => notes.push((LossNote { source, kind, says }, template, 1)),
        }
    }
    let virtual_threads = recording.strings.find("java.lang.VirtualThread.run").map(|_| LossNote {
        source: "jfr".to_owned(),
        kind: loss::REFUSED.to_owned(),
        says: "JFR does not record how long virtual threads wait for locks: --latency shows what they suffer"
            .to_owned(),
    });
    let told = notes.into_iter().map(|(mut note, _, times)| {
        if times > 1 {
            note.says += &format!(" (and {} more like it)", times - 1);
        }
        note
    });
    told.chain(virtual_threads).collect()
}
