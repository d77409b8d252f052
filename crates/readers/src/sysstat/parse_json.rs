//! What `sadf -j` prints, as tables with the columns of sar. Knows no evidence.

use serde_json::{Map, Value};

use crate::sysstat::meaning::OF_JSON;
use crate::sysstat::times::{date, of_day};

/// How `sadf -j` begins.
const KEY: &[u8] = b"\"sysstat\"";
const KEY_WITHIN_BYTES: usize = 64;

/// Whether a file that begins with `head` is of `sadf -j`.
pub(super) fn is_sadf(head: &[u8]) -> bool {
    let near = &head[..head.len().min(KEY_WITHIN_BYTES)];
    head.trim_ascii_start().starts_with(b"{") && memchr::memmem::find(near, KEY).is_some()
}

/// A set of values of one interval: names as sar has them.
pub(super) type Values = Vec<(String, f64)>;

/// What the machine did over an interval.
#[derive(Debug, Default)]
pub(super) struct Interval {
    pub(super) time_ns: i64,
    pub(super) length_ns: i64,
    pub(super) is_local: bool,
    pub(super) values: Values,
    /// By CPU.
    pub(super) cpus: Vec<(String, Values)>,
    /// By device.
    pub(super) disks: Vec<(String, Values)>,
}

/// A file.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) cpus: usize,
    pub(super) intervals: Vec<Interval>,
}

/// Reads a file; the error says what is wrong with it.
pub(super) fn file(text: &[u8]) -> Result<File, String> {
    let value: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let host = &value["sysstat"]["hosts"][0];
    let zone = host["timezone"].as_str().unwrap_or_default();
    let cpus = host["number-of-cpus"].as_u64().and_then(|cpus| usize::try_from(cpus).ok()).unwrap_or(0);
    let statistics = host["statistics"].as_array().map(Vec::as_slice).unwrap_or_default();
    let intervals = statistics.iter().filter_map(Value::as_object).filter_map(|one| interval(one, zone)).collect();
    Ok(File { cpus, intervals })
}

fn interval(one: &Map<String, Value>, zone: &str) -> Option<Interval> {
    let stamp = one.get("timestamp")?;
    let midnight_ns = date(stamp["date"].as_str()?.as_bytes(), false)?;
    let time_ns = midnight_ns.checked_add(of_day(stamp["time"].as_str()?.as_bytes(), None)?)?;
    let is_utc = stamp["utc"].as_i64() == Some(1) || zone == "UTC";
    let values =
        OF_JSON.iter().filter_map(|(group, key, name)| Some(((*name).to_owned(), one.get(*group)?[*key].as_f64()?)));
    Some(Interval {
        time_ns,
        length_ns: stamp["interval"].as_i64()?.checked_mul(1_000_000_000)?,
        is_local: !is_utc,
        values: values.collect(),
        cpus: list(one.get("cpu-load").or_else(|| one.get("cpu-load-all")), "cpu", |key| format!("%{key}")),
        disks: list(one.get("disk"), "disk-device", |key| match key {
            "rkB" | "wkB" | "dkB" => format!("{key}/s"),
            "util-percent" => "%util".to_owned(),
            _ => key.to_owned(),
        }),
    })
}

/// The rows of a list, each with the name that a key has.
fn list(list: Option<&Value>, key: &str, name: impl Fn(&str) -> String) -> Vec<(String, Values)> {
    let rows = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let row = |row: &Value| {
        let values = row.as_object()?.iter().filter_map(|(key, value)| Some((name(key), value.as_f64()?)));
        Some((row[key].as_str()?.to_owned(), values.collect()))
    };
    rows.iter().filter_map(row).collect()
}
