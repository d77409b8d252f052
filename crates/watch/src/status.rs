//! What a service's folder says about it, for the page: watched JVMs, the last hour, recordings and their reasons.
//!
//! Read from the folder alone, so that it can be read from outside, also after the service has ended.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::control;
use crate::minutes::{Row, minute_of, recent};

const HOUR_NS: i64 = 3600 * 1_000_000_000;

/// Incidents that are reported, the newest first.
const INCIDENTS_MAX: usize = 200;

/// JVMs that are shown, those with requests first.
const JVMS_MAX: usize = 200;

/// A verdict is some 10 KB.
const VERDICT_MAX_BYTES: u64 = 4 << 20;

/// Everything about a folder.
#[derive(Debug, Serialize)]
pub struct Status {
    /// Version of this document.
    pub schema: u32,
    /// Whether a service is at work.
    pub is_running: bool,
    /// The last hour begins with this minute. Times are text: a browser's numbers do not hold them.
    pub from_ns: String,
    /// JVMs of which there is anything in the last hour.
    pub jvms: Vec<WatchedJvm>,
    /// What was recorded, the newest first.
    pub incidents: Vec<Reported>,
}

/// A JVM in the last hour.
#[derive(Debug, Default, Serialize)]
pub struct WatchedJvm {
    /// Main class, module or jar.
    pub service: String,
    /// Process.
    pub pid: i64,
    /// Version of Java.
    pub java: String,
    /// Its collector.
    pub collector: String,
    /// Container, if it is in one.
    pub container: Option<String>,
    /// Its minutes.
    pub minutes: Vec<OneMinute>,
}

/// A minute of a JVM. What was not seen is null.
#[derive(Debug, Serialize)]
pub struct OneMinute {
    /// Which minute of the hour, from 0.
    pub at: i64,
    /// Requests answered.
    pub requests: Option<i64>,
    /// Seconds that this is about.
    pub seconds: Option<i64>,
    /// 95th percentile of their latency.
    pub p95_ms: Option<f64>,
    /// Longest one.
    pub max_ms: Option<f64>,
    /// Longest stop of the whole application.
    pub stop_ms: Option<f64>,
    /// Reasons to record.
    pub triggers: Option<String>,
    /// The recording that began.
    pub incident: Option<String>,
}

/// An incident as the page shows it.
#[derive(Debug, Serialize)]
pub struct Reported {
    /// Name of its recording, without ending.
    pub id: String,
    /// Number of the recording on the page, which the page's server knows; `None` if the recording was deleted.
    pub recording: Option<u32>,
    /// Main class, module or jar.
    pub service: Option<String>,
    /// Process.
    pub pid: Option<i64>,
    /// When it was noticed.
    pub at_ns: Option<String>,
    /// Why it was recorded.
    pub why: Option<String>,
    /// Whether anything was slow, in one sentence.
    pub says: String,
    /// The cause with the largest share.
    pub cause: Option<String>,
    /// How sure that is.
    pub verdict: Option<String>,
    /// Its share.
    pub share: Option<f64>,
    /// How often there was this reason within a day.
    pub times_today: u64,
}

/// Whether a folder is that of a service.
pub fn is_folder(path: &Path) -> bool {
    path.join("first_start").is_file() && path.join("lock").is_file()
}

/// What there is to say of a service's folder.
pub fn status(folder: &Path) -> Status {
    let now_ns = i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX);
    let from_ns = minute_of(now_ns) - HOUR_NS;
    Status {
        schema: 1,
        is_running: control::answers(folder),
        from_ns: from_ns.to_string(),
        jvms: jvms(recent(&folder.join("minutes")), from_ns),
        incidents: incidents(folder),
    }
}

fn jvms(rows: Vec<Row>, from_ns: i64) -> Vec<WatchedJvm> {
    let mut jvms: BTreeMap<(Option<i64>, Option<i64>), WatchedJvm> = BTreeMap::new();
    for row in rows {
        let at = (row.time_ns.unwrap_or(0) - from_ns).div_euclid(60_000_000_000);
        if !(0..=60).contains(&at) {
            continue;
        }
        let jvm = jvms.entry((row.pid, row.start_ticks)).or_default();
        jvm.service = row.service.unwrap_or_default();
        jvm.pid = row.pid.unwrap_or_default();
        jvm.java = row.java.unwrap_or_default();
        jvm.collector = row.collector.unwrap_or_default();
        jvm.container = row.container;
        jvm.minutes.push(OneMinute {
            at,
            requests: row.requests_count,
            seconds: row.seconds,
            p95_ms: row.requests_p95_ms,
            max_ms: row.requests_max_ms,
            stop_ms: row.stops_longest_ms,
            triggers: row.triggers,
            incident: row.incident,
        });
    }
    let mut jvms: Vec<WatchedJvm> = jvms.into_values().collect();
    let asked = |jvm: &WatchedJvm| jvm.minutes.iter().filter_map(|minute| minute.requests).sum::<i64>();
    jvms.sort_by_key(|jvm| (std::cmp::Reverse(asked(jvm)), jvm.service.clone(), jvm.pid));
    jvms.truncate(JVMS_MAX);
    jvms
}

fn incidents(folder: &Path) -> Vec<Reported> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut verdicts: Vec<_> = entries.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect();
    // Names sort by time.
    verdicts.sort_unstable_by(|a, b| b.cmp(a));
    verdicts.iter().filter_map(|path| reported(path)).take(INCIDENTS_MAX).collect()
}

fn reported(path: &Path) -> Option<Reported> {
    let is_small = fs::metadata(path).ok()?.len() <= VERDICT_MAX_BYTES;
    let incident: Value = serde_json::from_str(&is_small.then(|| fs::read_to_string(path).ok()).flatten()?).ok()?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let (verdict, first) = (&incident["verdict"], &incident["verdict"]["causes"][0]);
    let errors = || incident["errors"].as_array().into_iter().flatten().filter_map(text).collect::<Vec<_>>().join("; ");
    Some(Reported {
        id: text(&incident["id"])?,
        recording: None,
        service: text(&incident["jvm"]["main"]),
        pid: incident["jvm"]["pid"].as_i64(),
        at_ns: incident["trigger"]["at_ns"].as_i64().map(|at_ns| at_ns.to_string()),
        why: text(&incident["trigger"]["says"]),
        says: text(&verdict["says"]).unwrap_or_else(errors),
        cause: text(&first["id"]),
        verdict: text(&first["verdict"]),
        share: first["share"].as_f64(),
        times_today: incident["times_today"].as_u64().unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_hour_of_each_jvm() {
        let minute = 60_000_000_000;
        let row = |at: i64, pid: i64, requests: Option<i64>| Row {
            time_ns: Some(at * minute),
            pid: Some(pid),
            requests_count: requests,
            ..Row::default()
        };
        let rows = vec![row(99, 1, None), row(100, 1, None), row(160, 2, Some(5)), row(161, 2, Some(5))];
        let jvms = jvms(rows, 100 * minute);
        let seen: Vec<(i64, Vec<i64>)> =
            jvms.iter().map(|jvm| (jvm.pid, jvm.minutes.iter().map(|minute| minute.at).collect())).collect();
        assert_eq!(seen, [(2, vec![60]), (1, vec![0])]);
    }

    #[test]
    fn a_folder_is_read_as_far_as_it_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert!(!is_folder(folder) && status(folder).incidents.is_empty());
        for name in ["lock", "first_start"] {
            fs::write(folder.join(name), "").unwrap();
        }
        fs::write(
            folder.join("b.json"),
            r#"{"id": "b", "jvm": {"main": "Cart", "pid": 7}, "trigger": {"says": "a stop", "at_ns": 5}, "times_today": 2,
                "verdict": {"says": "slow 3 s", "causes": [{"id": "gc", "verdict": "shown", "share": 0.5}]}}"#,
        )
        .unwrap();
        fs::write(folder.join("c.json"), r#"{"id": "c", "jvm": null, "verdict": null, "errors": ["cut off"]}"#)
            .unwrap();
        fs::write(folder.join("a.json"), "nonsense").unwrap();
        let _listener = control::listen(folder).unwrap();
        let status = status(folder);
        assert!(is_folder(folder) && status.is_running);
        let reported: Vec<(&str, &str, Option<&str>)> = status
            .incidents
            .iter()
            .map(|reported| (reported.id.as_str(), reported.says.as_str(), reported.cause.as_deref()))
            .collect();
        assert_eq!(reported, [("c", "cut off", None), ("b", "slow 3 s", Some("gc"))]);
        assert_eq!(status.incidents[1].at_ns.as_deref(), Some("5"));
    }
}
