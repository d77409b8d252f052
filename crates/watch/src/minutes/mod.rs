//! One row of numbers per JVM and minute, to look at many hosts or at longer times than a recording has.
//!
//! `Minute` adds up the seconds of a JVM (pure), `spool` keeps the rows on the disk, `facts` says what is true of the JVM meanwhile.

mod facts;
pub mod recorded;
mod row;
mod spool;

use std::collections::{BTreeMap, BTreeSet};

use fathom_collectors::jvms::Jvm;

use crate::host::host;
use crate::levels::Latencies;
use crate::signals::Second;
pub use facts::FACT_COLUMNS;
pub(crate) use facts::Looks;
pub use row::{COLUMNS, ColumnDoc, Row, documentation, documentation_of};
pub use spool::recent;
pub(crate) use spool::{Message, work};

const MINUTE_NS: i64 = 60_000_000_000;

/// How the signals of a minute's seconds become one number.
#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    sum: f64,
    max: f64,
    last: f64,
    count: f64,
}

/// The minute that a JVM is in.
#[derive(Debug)]
pub(crate) struct Minute {
    /// What is true of the JVM in every minute.
    about: Row,
    began_ns: i64,
    seconds: i64,
    sums: BTreeMap<&'static str, Sum>,
    answered: Latencies,
    has_ports: bool,
    triggers: Vec<&'static str>,
    not_recorded: i64,
    /// Collectors that see the JVM not at all or in part.
    not_seen: BTreeSet<&'static str>,
}

impl Minute {
    /// Of a JVM of which nothing was seen yet.
    pub(crate) fn new(jvm: &Jvm) -> Minute {
        Minute::of(about(jvm), 0)
    }

    fn of(about: Row, began_ns: i64) -> Minute {
        Minute {
            about,
            began_ns,
            seconds: 0,
            sums: BTreeMap::new(),
            answered: Latencies::default(),
            has_ports: false,
            triggers: Vec::new(),
            not_recorded: 0,
            not_seen: BTreeSet::new(),
        }
    }

    /// Notes that a collector sees the JVM not at all or in part, or that it does.
    pub(crate) fn not_seen(&mut self, collector: &'static str, is: bool) {
        match is {
            true => self.not_seen.insert(collector),
            false => self.not_seen.remove(collector),
        };
    }

    /// Takes a second that ended at `at_ns`; the row of the minute before when that is over.
    pub(crate) fn see(&mut self, at_ns: i64, second: &Second) -> Option<Row> {
        let row = self.turn(at_ns);
        self.seconds += 1;
        for (name, value) in &second.values {
            let sum = self.sums.entry(name).or_default();
            sum.sum += value;
            sum.max = sum.max.max(*value);
            sum.last = *value;
            sum.count += 1.0;
        }
        self.has_ports |= !second.ports.is_empty();
        second.ports.values().for_each(|port| self.answered.merge(&port.answered));
        row
    }

    /// Notes a reason to record, and whether it was one.
    pub(crate) fn triggered(&mut self, kind: &'static str, is_recorded: bool) {
        if !self.triggers.contains(&kind) {
            self.triggers.push(kind);
        }
        self.not_recorded += i64::from(!is_recorded);
    }

    /// The row of the minute that has begun, as far as it goes.
    pub(crate) fn end(&mut self) -> Option<Row> {
        let next = Minute { not_seen: self.not_seen.clone(), ..Minute::of(self.about.clone(), self.began_ns) };
        let minute = std::mem::replace(self, next);
        (minute.seconds > 0).then(|| minute.row())
    }

    fn turn(&mut self, at_ns: i64) -> Option<Row> {
        // What ended with the minute belongs to it.
        let began_ns = minute_of(at_ns - 1);
        if began_ns == self.began_ns {
            return None;
        }
        let row = self.end();
        self.began_ns = began_ns;
        row
    }

    fn row(self) -> Row {
        let of = |name: &str| self.sums.get(name).copied();
        let mean = |name: &str| of(name).map(|sum| sum.sum / sum.count);
        let max = |name: &str| of(name).map(|sum| sum.max);
        let quantile = |part: f64| self.answered.quantile(part).map(|level| level.from_ns() as f64 / 1e6);
        Row {
            time_ns: Some(self.began_ns),
            seconds: Some(self.seconds),
            requests_count: self.has_ports.then(|| i64::from(self.answered.count())),
            requests_p50_ms: quantile(0.5),
            requests_p95_ms: quantile(0.95),
            requests_p99_ms: quantile(0.99),
            requests_max_ms: quantile(1.0),
            requests_uncertain_ms: max("requests.uncertain_ms"),
            requests_under_way_max: max("requests.under_way"),
            calls_p95_max_ms: max("calls.p95_ms"),
            gc_full_per_min: of("gc.full_per_min").map(|sum| sum.last),
            gc_stopped_ratio: mean("gc.stopped_ratio"),
            stops_longest_ms: max("stops.longest_ms"),
            cpu_cores: mean("cpu.cores"),
            cpu_run_queue_ratio: mean("cpu.run_queue_ratio"),
            cgroup_throttled_ratio: mean("cgroup.throttled_ratio"),
            cgroup_oom_kills: of("cgroup.oom_kills").map(|sum| sum.sum),
            memory_major_faults_per_s: mean("memory.major_faults_per_s"),
            compiler_ms_per_s: mean("compiler.ms_per_s"),
            jvm_threads_max: max("jvm.threads"),
            not_seen: (!self.not_seen.is_empty()).then(|| self.not_seen.iter().copied().collect::<Vec<_>>().join(" ")),
            triggers: (!self.triggers.is_empty()).then(|| self.triggers.join(" ")),
            not_recorded: (!self.triggers.is_empty()).then_some(self.not_recorded),
            ..self.about
        }
    }
}

/// When the minute of an instant began.
pub(crate) fn minute_of(at_ns: i64) -> i64 {
    at_ns.div_euclid(MINUTE_NS) * MINUTE_NS
}

fn about(jvm: &Jvm) -> Row {
    let system = rustix::system::uname();
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    Row {
        host: some(&host()),
        service: some(&jvm.main),
        pid: Some(i64::from(jvm.target.pid)),
        start_ticks: i64::try_from(jvm.target.start_ticks).ok(),
        user: some(&jvm.user),
        container: jvm.container.clone(),
        java: some(&jvm.version),
        collector: some(&jvm.collector),
        kernel: some(&system.release().to_string_lossy()),
        heap_max_bytes: jvm.heap_max_bytes.and_then(|bytes| i64::try_from(bytes).ok()),
        ..Row::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::levels::Level;
    use crate::port::PortSecond;
    use crate::signals::Values;

    const SECOND_NS: i64 = 1_000_000_000;

    fn second(cores: f64, ms: f64) -> Second {
        let mut answered = Latencies::default();
        answered.add(Level::of_ns((ms * 1e6) as u64), 10);
        Second {
            values: Values::from([("cpu.cores", cores), ("stops.longest_ms", ms)]),
            ports: BTreeMap::from([(":80".to_owned(), PortSecond { answered, under_way: 0 })]),
            ..Second::default()
        }
    }

    #[test]
    fn seconds_become_minutes() {
        let mut minute = Minute::of(Row { pid: Some(7), ..Row::default() }, 0);
        let mut rows: Vec<Row> = Vec::new();
        for (collector, is) in [("block", true), ("requests", true), ("block", false)] {
            minute.not_seen(collector, is);
        }
        for at_s in 31..=150 {
            if at_s == 100 {
                minute.triggered("stop", true);
                minute.triggered("stop", false);
            }
            rows.extend(minute.see(at_s * SECOND_NS, &second(at_s as f64, if at_s == 70 { 64.0 } else { 1.0 })));
        }
        rows.extend(minute.end());
        let seen: Vec<_> = rows.iter().map(|row| (row.time_ns.unwrap() / MINUTE_NS, row.seconds.unwrap())).collect();
        assert_eq!(seen, [(0, 30), (1, 60), (2, 30)]);
        let row = &rows[1];
        assert_eq!((row.pid, row.requests_count, row.cpu_cores), (Some(7), Some(600), Some(90.5)));
        assert_eq!((row.stops_longest_ms, row.cgroup_oom_kills), (Some(64.0), None));
        assert!(row.requests_max_ms.unwrap() > 30.0 && row.requests_p95_ms.unwrap() < 2.0);
        assert_eq!((row.triggers.as_deref(), row.not_recorded), (Some("stop"), Some(1)));
        assert_eq!((rows[2].triggers.as_deref(), minute.end()), (None, None));
        assert_eq!(rows[2].not_seen.as_deref(), Some("requests"));
    }
}
