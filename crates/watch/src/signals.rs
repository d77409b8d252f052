//! Turns the rows that collectors find into one number per signal and second.
//!
//! Rows have the recording's own schema, so signals are made of the same rows as a recording, and nothing is measured
//! twice. If a collector cannot provide a signal, the signal is absent, and a rule about it never holds.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fathom_collectors::scope_of_collector;
use fathom_evidence::Recording;
use fathom_evidence::detail::{self, Request, VmOperation};
use fathom_evidence::kinds::{counter, span};
use fathom_evidence::tables::{Counter, Span};

use crate::levels::{Latencies, Level};
use crate::port::PortSecond;

/// Signals of one second by name.
pub type Values = BTreeMap<&'static str, f64>;

/// The signals that rules may name, each with what it is.
pub const NAMES: [(&str, &str); 21] = [
    ("gc.full_per_min", "full collections that began in the last 60 s"),
    ("gc.stopped_ratio", "share of the second that collections stopped the application for, by the JVM's counters"),
    ("stops.longest_ms", "longest stop of the whole application that ended in the second"),
    ("requests.per_s", "requests answered, all ports"),
    ("requests.p50_ms", "median latency, all ports"),
    ("requests.p95_ms", "95th percentile, all ports"),
    ("requests.max_ms", "longest, all ports"),
    ("requests.uncertain_ms", "how far latencies may be off, where they are not measured at the sockets"),
    ("requests.under_way", "requests that have arrived and are not answered, all ports"),
    ("calls.p95_ms", "95th percentile of calls that the process made, all peers"),
    ("cpu.cores", "CPUs that the process used"),
    ("cpu.run_queue_ratio", "threads that waited for a CPU, on average"),
    (
        "cgroup.throttled_ratio",
        "share of the second for which a CPU quota of its groups held the process back, at most",
    ),
    ("cgroup.oom_kills", "processes in the control group that the kernel killed because memory ran out"),
    ("memory.major_faults_per_s", "pages that had to be read from a disk"),
    ("sockets.datagrams_lost", "datagrams that the process's sockets dropped in the second, mostly as they were full"),
    ("sockets.connects_lost", "attempts to connect that its listening sockets dropped in the second"),
    (
        "sockets.failed",
        "connections that were reset, or ended after something had been asked without any answer, in the second",
    ),
    ("sockets.connects_failed", "attempts to connect that were refused or not answered, in the second"),
    ("compiler.ms_per_s", "time of compilations, by the JVM's counters"),
    ("jvm.threads", "threads of the process"),
];

/// Something that happened and took long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Kind of the span.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// How long it took, in ns.
    pub duration_ns: i64,
}

/// Everything about one second.
#[derive(Debug, Clone, Default)]
pub struct Second {
    /// Signals.
    pub values: Values,
    /// Requests by port (`:8080`).
    pub ports: BTreeMap<String, PortSecond>,
    /// Stops and other events that were recorded one by one.
    pub events: Vec<Event>,
    /// Rows for which there was no room.
    pub dropped: i64,
}

/// Spans that say nothing of anybody who was held up.
const NO_EVENTS: [&str; 8] = [
    span::REQUEST,
    span::CALL,
    span::OWN_ACTION,
    span::NOT_RECORDED,
    span::COLLECTOR_RUN,
    span::COMPILATION,
    span::SAMPLED_WAIT,
    span::GC,
];

/// Kinds of spans that stop or hold up the whole application.
pub const STOPS: [&str; 4] = [span::GC_PAUSE, span::SAFEPOINT, span::VM_OPERATION, span::PROCESS_STOPPED];

/// Full collections are looked at over so many seconds.
const MINUTE_S: usize = 60;

/// Totals whose last value is known: some hundred of the process and its ports, and one of each thread.
const TOTALS_MAX: usize = 50_000;

/// A thread of which nothing was heard for so many seconds has ended, or its next row comes with the one that it rose from.
const THREAD_KEPT_S: u64 = 600;

/// Word, instance and thread of what only grows.
type Total = (&'static str, String, i64);

/// What the kernel counts of a group with a quota: periods, those in which it was held back, and for how long on all CPUs together.
const QUOTA: [&str; 3] = [counter::CGROUP_PERIODS_COUNT, counter::CGROUP_THROTTLED_COUNT, counter::CGROUP_THROTTLED_NS];

/// Adds rows up.
#[derive(Debug, Default)]
pub struct Meter {
    /// Last value of what only grows, and in which second it was heard.
    totals: HashMap<Total, (f64, u64)>,
    seconds: u64,
    dropped: i64,
    /// Last value of what goes up and down.
    under_way: BTreeMap<String, u32>,
    threads: Option<f64>,
    uncertain_ms: Option<f64>,
    /// Sums of this second.
    sums: BTreeMap<&'static str, f64>,
    /// Rises of [`QUOTA`] in this second, of the own group and of each above it.
    quotas: BTreeMap<String, [f64; QUOTA.len()]>,
    ports: BTreeMap<String, Latencies>,
    calls: Latencies,
    events: Vec<Event>,
    full: Vec<f64>,
    /// Counters that were seen at all: what is not there is not zero.
    known: BTreeSet<&'static str>,
}

/// Totals whose rises within a second make a signal, with the factor from their unit.
const SUMS: [(&str, &str, f64); 11] = [
    (counter::GC_TIME_NS, "gc.stopped_ratio", 1e-9),
    (counter::PROCESS_CPU_NS, "cpu.cores", 1e-9),
    (counter::THREAD_RUN_QUEUE_NS, "cpu.run_queue_ratio", 1e-9),
    (counter::CGROUP_MEMORY_EVENTS_COUNT, "cgroup.oom_kills", 1.0),
    (counter::PROCESS_FAULTS_COUNT, "memory.major_faults_per_s", 1.0),
    (counter::SOCKET_DROPS_COUNT, "sockets.datagrams_lost", 1.0),
    (counter::SOCKET_ACCEPT_DROPS_COUNT, "sockets.connects_lost", 1.0),
    (counter::CONNECTIONS_RESET_COUNT, "sockets.failed", 1.0),
    (counter::CLOSED_UNANSWERED_COUNT, "sockets.failed", 1.0),
    (counter::CONNECTS_FAILED_COUNT, "sockets.connects_failed", 1.0),
    (counter::COMPILE_TIME_NS, "compiler.ms_per_s", 1e-6),
];

impl Meter {
    /// Adds what was found.
    pub fn add(&mut self, found: &Recording) {
        found.counters.rows().for_each(|row| self.count(found, &row));
        found.spans.rows().for_each(|row| self.note(found, &row));
    }

    fn count(&mut self, found: &Recording, row: &Counter) {
        let (word, instance) = (found.text(row.name), found.text(row.instance));
        match word {
            counter::REQUESTS_UNDER_WAY_COUNT => {
                self.under_way.insert(instance.to_owned(), row.value.max(0.0) as u32);
            }
            counter::PROCESS_THREADS_COUNT => self.threads = Some(row.value),
            counter::REQUESTS_BY_LATENCY_COUNT => {
                let more = self.rise(counter::REQUESTS_BY_LATENCY_COUNT, instance, 0, row.value, true);
                let Some((port, level)) = of_latency(instance) else { return };
                self.ports.entry(port.to_owned()).or_default().add(level, more as u32);
            }
            counter::CALLS_BY_LATENCY_COUNT => {
                let more = self.rise(counter::CALLS_BY_LATENCY_COUNT, instance, 0, row.value, true);
                let Some((_, level)) = of_latency(instance) else { return };
                self.calls.add(level, more as u32);
            }
            counter::GC_RUNS_COUNT => {
                let is_full = scope_of_collector(instance) == Some("full");
                let more = if is_full { self.rise(counter::GC_RUNS_COUNT, instance, 0, row.value, false) } else { 0.0 };
                *self.sums.entry("gc.full_per_min").or_default() += more;
                self.known.insert("gc.full_per_min");
            }
            _ => match QUOTA.iter().position(|known| *known == word) {
                Some(at) => self.hold_back(at, instance, row.value),
                None => self.sum(word, instance, row),
            },
        }
    }

    fn hold_back(&mut self, at: usize, instance: &str, value: f64) {
        let more = self.rise(QUOTA[at], instance, 0, value, false);
        self.quotas.entry(instance.to_owned()).or_default()[at] += more;
        self.known.insert("cgroup.throttled_ratio");
    }

    fn sum(&mut self, word: &str, instance: &str, row: &Counter) {
        let Some((word, signal, factor)) = SUMS.into_iter().find(|(known, _, _)| *known == word) else { return };
        let is_meant = match word {
            counter::GC_TIME_NS => scope_of_collector(instance).is_some(),
            counter::PROCESS_FAULTS_COUNT => instance == "major",
            // A group above (`oom_kill /pods`) counts the kills of all others in it.
            counter::CGROUP_MEMORY_EVENTS_COUNT => instance == "oom_kill",
            _ => true,
        };
        if is_meant {
            let more = self.rise(word, instance, row.tid, row.value, false);
            *self.sums.entry(signal).or_default() += more * factor;
            self.known.insert(signal);
        }
    }

    /// By how much a total has grown. What is seen for the first time began at zero where it `begins_at_zero`.
    fn rise(&mut self, word: &'static str, instance: &str, tid: i64, value: f64, begins_at_zero: bool) -> f64 {
        let total = (word, instance.to_owned(), tid);
        if self.totals.len() >= TOTALS_MAX && !self.totals.contains_key(&total) {
            self.dropped += 1;
            return 0.0;
        }
        match self.totals.insert(total, (value, self.seconds)) {
            Some((before, _)) => (value - before).max(0.0),
            None if begins_at_zero => value,
            None => 0.0,
        }
    }

    /// Totals of threads that have ended.
    fn forget_threads(&mut self) {
        let since = self.seconds.saturating_sub(THREAD_KEPT_S);
        self.totals.retain(|(_, _, tid), (_, heard)| *tid == 0 || *heard >= since);
    }

    fn note(&mut self, found: &Recording, row: &Span) {
        let kind = found.text(row.kind);
        // Few rows say that, so most need not be read.
        if kind == span::REQUEST && found.text(row.detail).contains("\"uncertain_ns\"") {
            let detail: Request = detail::from_text(found.text(row.detail));
            self.uncertain_ms = detail.uncertain_ns.map(|ns| ns as f64 / 1e6).or(self.uncertain_ms);
        }
        // Idle threads wait as well, and a whole concurrent collection holds up no thread; its pauses have spans of
        // their own.
        if NO_EVENTS.contains(&kind) || (kind == span::VM_OPERATION && is_beside(found, row)) {
            return;
        }
        self.events.push(Event {
            kind: kind.to_owned(),
            name: found.text(row.name).to_owned(),
            duration_ns: row.duration_ns,
        });
    }

    /// Ends a second.
    pub fn second(&mut self) -> Second {
        self.seconds += 1;
        if self.seconds.is_multiple_of(MINUTE_S as u64) {
            self.forget_threads();
        }
        let sums = std::mem::take(&mut self.sums);
        let events = std::mem::take(&mut self.events);
        let quotas = std::mem::take(&mut self.quotas);
        let mut values: Values =
            self.known.iter().map(|name| (*name, sums.get(name).copied().unwrap_or(0.0))).collect();
        self.full.push(sums.get("gc.full_per_min").copied().unwrap_or(0.0));
        if self.full.len() > MINUTE_S {
            self.full.remove(0);
        }
        if let Some(value) = values.get_mut("gc.full_per_min") {
            *value = self.full.iter().sum();
        }
        // A quota stands at any level, and is counted there only.
        values.extend(
            quotas.into_values().map(throttled_ratio).max_by(f64::total_cmp).map(|r| ("cgroup.throttled_ratio", r)),
        );
        values.extend(self.uncertain_ms.map(|ms| ("requests.uncertain_ms", ms)));
        values.extend(self.threads.map(|threads| ("jvm.threads", threads)));
        let stops = events.iter().filter(|event| STOPS.contains(&event.kind.as_str()));
        let longest_ns = stops.map(|event| event.duration_ns).max().unwrap_or(0);
        values.insert("stops.longest_ms", longest_ns as f64 / 1e6);
        let ports = self.ports();
        of_requests(&ports, &mut values);
        let calls = std::mem::take(&mut self.calls);
        values.extend(calls.quantile(0.95).map(|level| ("calls.p95_ms", ms(level))));
        Second { values, ports, events, dropped: std::mem::take(&mut self.dropped) }
    }

    /// The ports that were ever asked anything.
    fn ports(&mut self) -> BTreeMap<String, PortSecond> {
        let mut ports: BTreeMap<String, PortSecond> = BTreeMap::new();
        for (name, latencies) in &mut self.ports {
            let second = PortSecond { answered: std::mem::take(latencies), under_way: 0 };
            ports.insert(name.clone(), second);
        }
        for (name, count) in &self.under_way {
            ports.entry(name.clone()).or_default().under_way = *count;
        }
        ports
    }
}

/// The share of a second for which a quota held a group back, at most: a period may have lost its end only, and time is counted
/// on each CPU.
fn throttled_ratio([periods, throttled, throttled_ns]: [f64; QUOTA.len()]) -> f64 {
    (throttled / periods.max(1.0)).min(throttled_ns / 1e9).min(1.0)
}

/// Whether an operation of the JVM needed no safepoint, as a handshake with single threads: the application ran on.
fn is_beside(found: &Recording, row: &Span) -> bool {
    detail::from_text::<VmOperation>(found.text(row.detail)).safepoint == Some(false)
}

fn of_requests(ports: &BTreeMap<String, PortSecond>, values: &mut Values) {
    if ports.is_empty() {
        return;
    }
    let mut all = Latencies::default();
    ports.values().for_each(|port| all.merge(&port.answered));
    values.insert("requests.per_s", f64::from(all.count()));
    values.insert("requests.under_way", ports.values().map(|port| f64::from(port.under_way)).sum());
    for (name, part) in [("requests.p50_ms", 0.5), ("requests.p95_ms", 0.95), ("requests.max_ms", 1.0)] {
        values.extend(all.quantile(part).map(|level| (name, ms(level))));
    }
}

fn ms(level: Level) -> f64 {
    level.from_ns() as f64 / 1e6
}

/// Port and level of an instance `:8080 1280`.
fn of_latency(instance: &str) -> Option<(&str, Level)> {
    let (port, from_ns) = instance.rsplit_once(' ')?;
    Some((port, Level::of_ns(from_ns.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_rises_and_not_totals() {
        let mut meter = Meter::default();
        let mut value = |full: f64, ms: f64, answered: f64| {
            let mut found = Recording::default();
            found.add_counter(1, counter::GC_RUNS_COUNT, "Parallel full collection pauses", full, "hsperfdata");
            found.add_counter(1, counter::GC_TIME_NS, "Parallel full collection pauses", ms * 1e6, "hsperfdata");
            found.add_counter(1, counter::REQUESTS_BY_LATENCY_COUNT, ":8080 8388608", answered, "requests");
            found.add_counter(1, counter::REQUESTS_UNDER_WAY_COUNT, ":8080", 3.0, "requests");
            found.add_counter(1, counter::PROCESS_FAULTS_COUNT, "minor", answered * 1e6, "threads");
            found.add_span(5, 7_000_000, 0, span::GC_PAUSE, "Pause Full", "", "hsperfdata");
            meter.add(&found);
            meter.second()
        };
        let first = value(100.0, 5_000.0, 10.0);
        assert_eq!((first.values["gc.full_per_min"], first.values["requests.per_s"]), (0.0, 10.0));
        let second = value(102.0, 5_250.0, 40.0);
        assert_eq!(second.values["gc.full_per_min"], 2.0);
        assert_eq!(second.values["gc.stopped_ratio"], 0.25);
        assert_eq!(second.values["requests.per_s"], 30.0);
        assert_eq!(second.values["stops.longest_ms"], 7.0);
        assert_eq!(second.ports[":8080"].under_way, 3);
        assert_eq!(second.values.get("memory.major_faults_per_s"), None);
        assert_eq!(second.events.len(), 1);
        assert_eq!(value(102.0, 5_250.0, 40.0).values["gc.full_per_min"], 2.0, "of the last minute");
    }

    /// A thread has waited for a CPU.
    fn waits(found: &mut Recording, tid: i64) {
        let [name, instance, source] =
            [counter::THREAD_RUN_QUEUE_NS, "", "threads"].map(|text| found.strings.intern(text));
        found.counters.push(Counter { time_ns: 1, name, instance, tid, value: 1e9, source });
    }

    #[test]
    fn threads_that_come_and_go_fill_no_memory() {
        let mut meter = Meter::default();
        for second in 0..2_000_i64 {
            let mut found = Recording::default();
            (0..10).for_each(|thread| waits(&mut found, 1_000 + second * 10 + thread));
            meter.add(&found);
            meter.second();
        }
        assert!(meter.totals.len() <= 10 * (THREAD_KEPT_S as usize + MINUTE_S + 1), "{}", meter.totals.len());
        let mut found = Recording::default();
        (0..TOTALS_MAX as i64 + 5).for_each(|tid| waits(&mut found, 1_000_000 + tid));
        let known = meter.totals.len() as i64;
        meter.add(&found);
        assert_eq!((meter.totals.len(), meter.second().dropped), (TOTALS_MAX, known + 5));
    }

    #[test]
    fn every_signal_has_one_name() {
        let mut names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), NAMES.len());
        assert!(SUMS.iter().all(|(_, signal, _)| names.contains(signal)));
    }

    #[test]
    fn what_runs_beside_the_application_is_no_event() {
        let (mut meter, mut found) = (Meter::default(), Recording::default());
        for (kind, detail) in [
            (span::GC, ""),
            (span::SAMPLED_WAIT, ""),
            (span::VM_OPERATION, r#"{"safepoint":false}"#),
            (span::VM_OPERATION, r#"{"safepoint":true}"#),
            (span::VM_OPERATION, ""),
        ] {
            found.add_span(5, 1_200_000_000, 0, kind, "x", detail, "jvm_probes");
        }
        meter.add(&found);
        let kinds: Vec<String> = meter.second().events.into_iter().map(|event| event.kind).collect();
        assert_eq!(kinds, [span::VM_OPERATION; 2]);
    }

    #[test]
    fn a_quota_holds_back_for_no_more_than_its_periods_and_its_time() {
        // Periods, those that were throttled, and ms of it on all CPUs, of the own group and of the one above.
        for (own, above, expected) in [
            ([10.0, 5.0, 500.0], [0.0; 3], 0.5),
            ([10.0, 2.0, 4_000.0], [0.0; 3], 0.2),
            ([10.0, 10.0, 10.0], [0.0; 3], 0.01),
            ([0.0; 3], [10.0, 4.0, 3_000.0], 0.4),
            ([0.0; 3], [0.0; 3], 0.0),
        ] {
            let mut meter = Meter::default();
            let mut second = |factor: f64| {
                let mut found = Recording::default();
                for (group, counts) in [("", own), ("/pods", above)] {
                    for ((name, count), unit) in QUOTA.into_iter().zip(counts).zip([1.0, 1.0, 1e6]) {
                        found.add_counter(1, name, group, 100.0 + factor * count * unit, "cgroup");
                    }
                }
                meter.add(&found);
                meter.second().values["cgroup.throttled_ratio"]
            };
            assert_eq!(second(0.0), 0.0);
            assert!((second(1.0) - expected).abs() < 1e-9, "{own:?} {above:?}");
            assert_eq!(meter.second().values["cgroup.throttled_ratio"], 0.0, "nothing new");
        }
    }

    #[test]
    fn coarse_latencies_say_how_coarse() {
        let mut meter = Meter::default();
        let mut second = |detail: &str| {
            let mut found = Recording::default();
            found.add_span(5, 1_000_000, 0, span::REQUEST, ":80", detail, "requests");
            meter.add(&found);
            meter.second().values.get("requests.uncertain_ms").copied()
        };
        assert_eq!((second("{}"), second(r#"{"uncertain_ns":8000000}"#), second("{}")), (None, Some(8.0), Some(8.0)));
    }

    #[test]
    fn kills_in_groups_above_are_of_others() {
        let mut meter = Meter::default();
        let mut kills = |own: f64, above: f64| {
            let mut found = Recording::default();
            for (instance, value) in [("oom_kill", own), ("oom_kill /pods", above), ("oom", above)] {
                found.add_counter(1, counter::CGROUP_MEMORY_EVENTS_COUNT, instance, value, "cgroup");
            }
            meter.add(&found);
            meter.second().values["cgroup.oom_kills"]
        };
        assert_eq!((kills(1.0, 5.0), kills(1.0, 9.0), kills(2.0, 10.0)), (0.0, 0.0, 1.0));
    }

    #[test]
    fn what_a_collector_does_beside_the_application_stops_nobody() {
        let mut meter = Meter::default();
        let mut second = |ms: f64| {
            let mut found = Recording::default();
            for name in ["Shenandoah concurrent", "G1 concurrent cycle pauses"] {
                found.add_counter(1, counter::GC_TIME_NS, name, ms * 1e6, "hsperfdata");
            }
            meter.add(&found);
            meter.second().values["gc.stopped_ratio"]
        };
        assert_eq!((second(0.0), second(100.0)), (0.0, 0.1));
    }
}
