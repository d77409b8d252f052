//! Rows of `minutes` and `facts` out of a recording, for hosts that have no `fathom watch`.
//!
//! Only what was recorded is there: a signal without recorded rows is empty in every minute. If several sources report
//! the same pauses, the source that reports the most of them counts.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use fathom_evidence::Recording;
use fathom_evidence::kinds::{counter, span, subject};
use fathom_evidence::tables::{Counter, Span};
use jiff::Timestamp;

use super::facts::{self, Sheet};
use super::row::Row;
use super::{MINUTE_NS, minute_of, spool};

/// A week; whatever is longer has a wrong time in it.
const MINUTES_MAX: i64 = 7 * 24 * 60;

/// What is not in the recording.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// Name of the host.
    pub host: String,
    /// Name of the recording.
    pub incident: String,
    /// Whether anything was slow, in one sentence.
    pub verdict: String,
    /// When the first slow time began, or `None`.
    pub slow_from_ns: Option<i64>,
    /// The cause with the largest share of the slow time, and that share.
    pub cause: Option<(String, f64)>,
}

/// The minutes of a recording, in order.
pub fn rows(recording: &Recording, about: &About) -> Vec<Row> {
    let Some((from_ns, to_ns)) = recording.time_range_ns() else { return Vec::new() };
    let first = minute_of(from_ns);
    if (to_ns - first) / MINUTE_NS > MINUTES_MAX {
        return Vec::new();
    }
    let minutes = (first..to_ns.max(from_ns + 1)).step_by(MINUTE_NS as usize);
    let mut rows: BTreeMap<i64, Row> =
        minutes.map(|minute| (minute, row_of(recording, about, minute, (from_ns, to_ns)))).collect();
    stops(recording, &mut rows);
    requests(recording, &mut rows);
    numbers(recording, &mut rows);
    let slow = about.slow_from_ns.map_or(first, |at_ns| minute_of(at_ns).clamp(first, minute_of(to_ns)));
    if let Some(row) = rows.get_mut(&slow) {
        row.incident = Some(about.incident.clone());
        row.verdict = Some(about.verdict.clone());
        (row.cause, row.cause_share) = about.cause.clone().unzip();
    }
    rows.into_values().collect()
}

/// Writes the minutes and facts of a recording below a folder.
pub fn write(folder: &Path, recording: &Recording, about: &About) -> io::Result<usize> {
    let rows = rows(recording, about);
    let minutes = folder.join("minutes");
    let mut days: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for row in &rows {
        let at = Timestamp::from_nanosecond(i128::from(row.time_ns.unwrap_or_default())).map_err(io::Error::other)?;
        days.entry(at.strftime("date=%Y-%m-%d").to_string()).or_default().push(row.clone());
    }
    days.iter().try_for_each(|(day, rows)| spool::write_file(&minutes.join(day), &about.incident, rows))?;
    if let Some(row) = rows.first() {
        facts::write(&minutes, &Sheet::of_recording(row, facts_of(recording)))?;
    }
    Ok(rows.len())
}

fn row_of(recording: &Recording, about: &About, minute: i64, (from_ns, to_ns): (i64, i64)) -> Row {
    let of_jvm = |key: &str| recording.fact(subject::JVM, key).map(str::to_owned);
    let main = of_jvm("java_arguments").and_then(|line| line.split_whitespace().next().map(str::to_owned));
    let covered_ns = to_ns.min(minute + MINUTE_NS) - from_ns.max(minute);
    Row {
        time_ns: Some(minute),
        host: Some(about.host.clone()),
        service: main,
        pid: of_jvm("pid").and_then(|pid| pid.parse().ok()),
        java: of_jvm("version"),
        collector: of_jvm("collector"),
        kernel: recording.fact(subject::HOST, "kernel").map(str::to_owned),
        seconds: Some((covered_ns + 500_000_000) / 1_000_000_000),
        ..Row::default()
    }
}

/// Collections, safepoints and compilations.
fn stops(recording: &Recording, rows: &mut BTreeMap<i64, Row>) {
    let compiled = of_best_source(recording, span::COMPILATION);
    let pauses = of_best_source(recording, span::GC_PAUSE);
    let safepoints = of_best_source(recording, span::SAFEPOINT);
    for row in rows.values_mut() {
        let minute = row.time_ns.unwrap_or_default();
        let seconds = row.seconds.unwrap_or_default().max(1) as f64;
        let within = |spans: &[Span]| spans.iter().map(|span| overlap_ns(span, minute)).sum::<i64>() as f64 / 1e6;
        let longest = |spans: &[Span]| {
            let ended = spans.iter().filter(|span| minute_of(span.end_ns() - 1) == minute);
            ended.map(|span| span.duration_ns as f64 / 1e6).fold(0.0, f64::max)
        };
        row.gc_stopped_ratio = (!pauses.is_empty()).then(|| within(&pauses) / 1e3 / seconds);
        row.compiler_ms_per_s = (!compiled.is_empty()).then(|| within(&compiled) / seconds);
        let is_known = !pauses.is_empty() || !safepoints.is_empty();
        row.stops_longest_ms = is_known.then(|| longest(&pauses).max(longest(&safepoints)));
    }
}

fn overlap_ns(span: &Span, minute: i64) -> i64 {
    (span.end_ns().min(minute + MINUTE_NS) - span.time_ns.max(minute)).max(0)
}

fn of_best_source(recording: &Recording, kind: &str) -> Vec<Span> {
    let Some(kind) = recording.strings.find(kind) else { return Vec::new() };
    let mut sources: BTreeMap<&str, Vec<Span>> = BTreeMap::new();
    for span in recording.spans.rows().filter(|span| span.kind == kind) {
        sources.entry(recording.text(span.source)).or_default().push(span);
    }
    sources.into_values().max_by_key(Vec::len).unwrap_or_default()
}

/// Latencies of requests that ended in a minute.
fn requests(recording: &Recording, rows: &mut BTreeMap<i64, Row>) {
    let mut ended: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for span in of_best_source(recording, span::REQUEST) {
        ended.entry(minute_of(span.end_ns() - 1)).or_default().push(span.duration_ns);
    }
    // Of many requests at a socket only the slow ones and a sample are rows: their quantiles are those of no population.
    let is_sampled = recording.strings.find(counter::REQUESTS_BY_LATENCY_COUNT).is_some();
    if ended.is_empty() || is_sampled {
        return by_latency(recording, rows);
    }
    for (minute, row) in rows {
        let mut latencies = ended.remove(minute).unwrap_or_default();
        latencies.sort_unstable();
        let levels: Vec<(i64, f64)> = latencies.into_iter().map(|ns| (ns, 1.0)).collect();
        set_latencies(row, &levels);
    }
}

/// The same from how many requests took how long.
fn by_latency(recording: &Recording, rows: &mut BTreeMap<i64, Row>) {
    let mut levels: BTreeMap<i64, BTreeMap<i64, f64>> = BTreeMap::new();
    for (instance, minute, rise) in rises(recording, counter::REQUESTS_BY_LATENCY_COUNT) {
        let Some(ns) = instance.rsplit(' ').next().and_then(|ns| ns.parse().ok()) else { continue };
        *levels.entry(minute).or_default().entry(ns).or_default() += rise;
    }
    if !levels.is_empty() {
        for (minute, row) in rows {
            set_latencies(row, &levels.remove(minute).unwrap_or_default().into_iter().collect::<Vec<_>>());
        }
    }
}

/// `levels` are latencies in order, with how many requests took them.
fn set_latencies(row: &mut Row, levels: &[(i64, f64)]) {
    let count: f64 = levels.iter().map(|(_, count)| count).sum();
    row.requests_count = Some(count.round() as i64);
    let quantile = |part: f64| {
        let mut seen = 0.0;
        let reached = levels.iter().find(|(_, count)| {
            seen += count;
            seen >= part * count_of(levels)
        });
        reached.map(|(ns, _)| *ns as f64 / 1e6)
    };
    row.requests_p50_ms = quantile(0.5);
    row.requests_p95_ms = quantile(0.95);
    row.requests_p99_ms = quantile(0.99);
    row.requests_max_ms = levels.last().map(|(ns, _)| *ns as f64 / 1e6);
}

fn count_of(levels: &[(i64, f64)]) -> f64 {
    levels.iter().map(|(_, count)| count).sum()
}

/// CPU, faults, threads.
fn numbers(recording: &Recording, rows: &mut BTreeMap<i64, Row>) {
    let per_second = |name: &str, only: fn(&str) -> bool| per_second(recording, name, only, rows);
    let cpu = per_second(counter::PROCESS_CPU_NS, |_| true);
    let faults = per_second(counter::PROCESS_FAULTS_COUNT, |instance| instance == "major");
    let waits = per_second(counter::THREAD_RUN_QUEUE_NS, |_| true);
    let throttled = per_second(counter::CGROUP_THROTTLED_NS, |_| true);
    let cpus = recording.fact(subject::HOST, "cpus").and_then(|cpus| cpus.parse::<f64>().ok());
    let shares = means(recording, counter::CPU_PROCESS_RATIO);
    let threads = largest(recording, counter::THREADS_COUNT);
    for (minute, row) in rows {
        let cores_of_share = || Some(shares.get(minute)? * cpus?);
        row.cpu_cores = cpu.get(minute).map(|ns| ns / 1e9).or_else(cores_of_share);
        row.memory_major_faults_per_s = faults.get(minute).copied();
        row.cpu_run_queue_ratio = waits.get(minute).map(|ns| ns / 1e9);
        row.cgroup_throttled_ratio = throttled.get(minute).map(|ns| (ns / 1e9).min(1.0));
        row.jvm_threads_max = threads.get(minute).copied();
    }
}

/// Rises of a counter in each minute, per second of it; only of minutes with a rise or rows around.
fn per_second(
    recording: &Recording,
    name: &str,
    only: fn(&str) -> bool,
    rows: &BTreeMap<i64, Row>,
) -> BTreeMap<i64, f64> {
    let mut sums: BTreeMap<i64, f64> = BTreeMap::new();
    for (instance, minute, rise) in rises(recording, name) {
        if only(&instance) {
            *sums.entry(minute).or_default() += rise;
        }
    }
    let seconds = |minute: &i64| rows.get(minute).and_then(|row| row.seconds).unwrap_or_default().max(1) as f64;
    sums.iter().map(|(minute, rise)| (*minute, rise / seconds(minute))).collect()
}

/// Of a counter that only grows: instance, minute, and what it rose by there. A rise between two rows is spread over their time.
fn rises(recording: &Recording, name: &str) -> Vec<(String, i64, f64)> {
    let mut series: BTreeMap<(String, i64), Vec<(i64, f64)>> = BTreeMap::new();
    for row in counters(recording, name) {
        series.entry((recording.text(row.instance).to_owned(), row.tid)).or_default().push((row.time_ns, row.value));
    }
    let mut found = Vec::new();
    for ((instance, _), mut values) in series {
        values.sort_by_key(|(time_ns, _)| *time_ns);
        for pair in values.windows(2) {
            let [(from_ns, before), (to_ns, after)] = [pair[0], pair[1]];
            let whole_ns = (to_ns - from_ns).max(1) as f64;
            let mut minute = minute_of(from_ns);
            while minute < to_ns {
                let part_ns = to_ns.min(minute + MINUTE_NS) - from_ns.max(minute);
                found.push((instance.clone(), minute, (after - before).max(0.0) * part_ns as f64 / whole_ns));
                minute += MINUTE_NS;
            }
        }
    }
    found
}

fn counters<'a>(recording: &'a Recording, name: &str) -> impl Iterator<Item = Counter> + 'a {
    let name = recording.strings.find(name);
    recording.counters.rows().filter(move |row| Some(row.name) == name)
}

/// Of a number with parts: the mean of their sum in each minute.
fn means(recording: &Recording, name: &str) -> BTreeMap<i64, f64> {
    let mut instants: BTreeMap<i64, f64> = BTreeMap::new();
    counters(recording, name).for_each(|row| *instants.entry(row.time_ns).or_default() += row.value);
    let mut minutes: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
    for (time_ns, value) in instants {
        let (sum, count) = minutes.entry(minute_of(time_ns)).or_default();
        (*sum, *count) = (*sum + value, *count + 1.0);
    }
    minutes.into_iter().map(|(minute, (sum, count))| (minute, sum / count)).collect()
}

fn largest(recording: &Recording, name: &str) -> BTreeMap<i64, f64> {
    let mut minutes: BTreeMap<i64, f64> = BTreeMap::new();
    for row in counters(recording, name) {
        let most = minutes.entry(minute_of(row.time_ns)).or_insert(row.value);
        *most = most.max(row.value);
    }
    minutes
}

/// The same names as `fathom watch` gives them; a flag that has its default is none.
fn facts_of(recording: &Recording) -> Vec<(String, String)> {
    let facts = recording.facts.rows().filter_map(|fact| {
        let [about, key, value] = [fact.subject, fact.key, fact.value].map(|text| recording.text(text));
        let key = match about {
            subject::HOST if key != "uptime_s" && !key.starts_with("swap ") => key.to_owned(),
            subject::JVM if key == "version" => "jdk_version".to_owned(),
            subject::JVM if key == "name" => "jdk_vm".to_owned(),
            subject::JVM if key == "collector" => key.to_owned(),
            subject::FLAG if recording.fact(subject::FLAG_ORIGIN, key) != Some("Default") => format!("flag:{key}"),
            subject::CGROUP => format!("cgroup:{key}"),
            _ => return None,
        };
        (!value.is_empty()).then(|| (key, value.to_owned()))
    });
    let mut facts: Vec<(String, String)> = facts.collect();
    facts.sort_unstable();
    facts.dedup();
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: i64 = 1_000_000_000;

    fn recording() -> Recording {
        let mut recording = Recording::default();
        recording.add_fact(subject::JVM, "pid", "7", "jfr");
        recording.add_fact(subject::JVM, "java_arguments", "shop.Main --port 1", "jfr");
        recording.add_fact(subject::FLAG, "UseZGC", "true", "jfr");
        recording.add_fact(subject::FLAG, "MaxHeapSize", "1", "jfr");
        recording.add_fact(subject::FLAG_ORIGIN, "MaxHeapSize", "Default", "jfr");
        for at_s in 0..=120 {
            recording.add_counter(at_s * SECOND_NS, counter::PROCESS_CPU_NS, "user", 5e8 * at_s as f64, "cpu");
        }
        for source in ["jfr", "gc_log"] {
            for at_s in (0..60).step_by(10) {
                recording.add_span(at_s * SECOND_NS, SECOND_NS, 0, span::GC_PAUSE, "young", "", source);
            }
        }
        for at in 0..100 {
            recording.add_span(61 * SECOND_NS, (at + 1) * 1_000_000, 1, span::REQUEST, "/", "", "latency");
        }
        recording
    }

    #[test]
    fn a_recording_becomes_minutes() {
        let about = About {
            host: "a".to_owned(),
            incident: "r".to_owned(),
            verdict: "slow".to_owned(),
            slow_from_ns: Some(70 * SECOND_NS),
            cause: Some(("gc".to_owned(), 0.9)),
        };
        let rows = rows(&recording(), &about);
        let of = |row: &Row| (row.time_ns.unwrap() / MINUTE_NS, row.seconds.unwrap(), row.cpu_cores.unwrap());
        assert_eq!(rows.iter().map(of).collect::<Vec<_>>(), [(0, 60, 0.5), (1, 60, 0.5)]);
        assert_eq!((rows[0].gc_stopped_ratio, rows[1].gc_stopped_ratio), (Some(0.1), Some(0.0)), "of one source");
        assert_eq!((rows[0].requests_count, rows[0].requests_p95_ms), (Some(0), None), "no request has no latency");
        assert_eq!((rows[1].requests_p50_ms, rows[1].requests_max_ms), (Some(50.0), Some(100.0)));
        assert_eq!((rows[0].cause.as_deref(), rows[1].cause.as_deref()), (None, Some("gc")));
        assert_eq!((rows[0].service.as_deref(), rows[0].pid), (Some("shop.Main"), Some(7)));
        assert_eq!(rows[0].memory_major_faults_per_s, None, "nobody looked");
    }

    #[test]
    fn only_flags_that_are_set_are_facts() {
        assert_eq!(facts_of(&recording()), [("flag:UseZGC".to_owned(), "true".to_owned())]);
    }

    #[test]
    fn files_are_those_of_watch() {
        let folder = tempfile::tempdir().unwrap();
        let about = About { host: "a".to_owned(), incident: "r.fathom".to_owned(), ..About::default() };
        assert_eq!(write(folder.path(), &recording(), &about).unwrap(), 2);
        assert!(folder.path().join("minutes/date=1970-01-01/r.fathom.parquet").is_file());
        assert_eq!(std::fs::read_dir(folder.path().join("facts/date=1970-01-01")).unwrap().count(), 1);
        assert_eq!(write(folder.path(), &Recording::default(), &about).unwrap(), 0);
    }
}
