//! The columns of `minutes`, declared once. The lines of the journal, the Parquet files and the table in the
//! documentation are made from them.

use fathom_store::Cells;
use serde::{Deserialize, Serialize};

/// What one column means; `docs/minutes.md` is printed from these.
#[derive(Debug, Clone, Copy)]
pub struct ColumnDoc {
    /// Its name.
    pub name: &'static str,
    /// Type of its cells, as SQL calls it.
    pub kind: &'static str,
    /// Unit, or `text`, `id`.
    pub unit: &'static str,
    /// Meaning.
    pub meaning: &'static str,
}

/// What may stand in a cell.
trait Cell: Sized {
    const KIND: &'static str;
    fn cells(values: Vec<Option<Self>>) -> Cells;
}

impl Cell for i64 {
    const KIND: &'static str = "BIGINT";
    fn cells(values: Vec<Option<i64>>) -> Cells {
        Cells::Int64(values)
    }
}

impl Cell for f64 {
    const KIND: &'static str = "DOUBLE";
    fn cells(values: Vec<Option<f64>>) -> Cells {
        Cells::Float64(values)
    }
}

impl Cell for String {
    const KIND: &'static str = "VARCHAR";
    fn cells(values: Vec<Option<String>>) -> Cells {
        Cells::Utf8(values)
    }
}

macro_rules! row {
    ($( #[doc = $meaning:literal] [$unit:literal] $column:ident: $type:ty, )+) => {
        /// One JVM in one minute. What was not seen is not there.
        #[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Row {
            $( #[doc = $meaning] #[serde(skip_serializing_if = "Option::is_none")] pub $column: Option<$type>, )+
        }

        /// The columns in order.
        pub const COLUMNS: &[ColumnDoc] = &[$( ColumnDoc {
            name: stringify!($column),
            kind: <$type as Cell>::KIND,
            unit: $unit,
            meaning: $meaning.trim_ascii(),
        }, )+];

        impl Row {
            /// Takes what another row about the same JVM and minute knows.
            pub fn take(&mut self, other: Row) {
                $( if other.$column.is_some() { self.$column = other.$column; } )+
            }
        }

        /// Rows as columns.
        pub(super) fn columns(rows: &[Row]) -> Vec<(&'static str, Cells)> {
            vec![$( (
                stringify!($column),
                <$type as Cell>::cells(rows.iter().map(|row| row.$column.clone()).collect()),
            ), )+]
        }
    };
}

row! {
    /// When the minute began.
    ["ns since the Unix epoch"] time_ns: i64,
    /// Name of the host.
    ["text"] host: String,
    /// Main class, module or jar.
    ["text"] service: String,
    /// Process id on the host.
    ["id"] pid: i64,
    /// When the process began, in the kernel's ticks since boot: with `pid` it names one process.
    ["ticks"] start_ticks: i64,
    /// User of the process.
    ["text"] user: String,
    /// Container, if it is in one.
    ["text"] container: String,
    /// Version of Java.
    ["text"] java: String,
    /// Collector: `G1`, `Parallel`, `Serial`, `ZGC` or `Shenandoah`.
    ["text"] collector: String,
    /// Release of the kernel.
    ["text"] kernel: String,
    /// Limit of the heap.
    ["bytes"] heap_max_bytes: i64,
    /// Seconds of the minute in which the JVM was looked at: fewer when it began or ended, or while a recording was made.
    ["s"] seconds: i64,
    /// Requests answered, all ports.
    ["number"] requests_count: i64,
    /// Median latency of the requests of the minute.
    ["ms"] requests_p50_ms: f64,
    /// 95th percentile of it.
    ["ms"] requests_p95_ms: f64,
    /// 99th percentile of it.
    ["ms"] requests_p99_ms: f64,
    /// Longest request.
    ["ms"] requests_max_ms: f64,
    /// How far each of these latencies may be off, where the kernel refused to measure them at the sockets.
    ["ms"] requests_uncertain_ms: f64,
    /// Most requests that had arrived and were not answered at the end of a second.
    ["number"] requests_under_way_max: f64,
    /// Highest 95th percentile of the calls that the process made, of all seconds.
    ["ms"] calls_p95_max_ms: f64,
    /// Full collections in the 60 s before the last second that was looked at.
    ["1/min"] gc_full_per_min: f64,
    /// Share of the time for which collections stopped the application, by the JVM's counters.
    ["ratio"] gc_stopped_ratio: f64,
    /// Longest stop of the whole application that ended in the minute.
    ["ms"] stops_longest_ms: f64,
    /// CPUs that the process used, on average.
    ["CPUs"] cpu_cores: f64,
    /// Threads that waited for a CPU, on average.
    ["threads"] cpu_run_queue_ratio: f64,
    /// Share of the time for which a CPU quota of its control groups held the process back, at most.
    ["ratio"] cgroup_throttled_ratio: f64,
    /// Processes of the control group that the kernel killed because memory ran out.
    ["number"] cgroup_oom_kills: f64,
    /// Pages that had to be read from a disk, on average.
    ["1/s"] memory_major_faults_per_s: f64,
    /// Time of compilations, on average.
    ["ms/s"] compiler_ms_per_s: f64,
    /// Most threads.
    ["number"] jvm_threads_max: f64,
    /// Collectors that saw the JVM not at all or in part, one after the other; what they would have reported is missing or coarse.
    ["text"] not_seen: String,
    /// Reasons to record, by their kinds, one after the other, each once.
    ["text"] triggers: String,
    /// How many reasons became no recording.
    ["number"] not_recorded: i64,
    /// The recording that began with this minute.
    ["text"] incident: String,
    /// Whether anything was slow in it, in one sentence.
    ["text"] verdict: String,
    /// The cause with the largest share of its slow time; empty without one.
    ["text"] cause: String,
    /// That share.
    ["ratio"] cause_share: f64,
}

/// The documentation of the table, in Markdown.
pub fn documentation() -> String {
    documentation_of(COLUMNS)
}

/// The documentation of some columns.
pub fn documentation_of(columns: &[ColumnDoc]) -> String {
    let row = |column: &ColumnDoc| {
        format!("| `{}` | {} | {} | {} |\n", column.name, column.kind, column.unit, column.meaning)
    };
    format!("| column | type | unit | meaning |\n|---|---|---|---|\n{}", columns.iter().map(row).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_journal_is_a_row() {
        let row = Row { time_ns: Some(60), cause: Some("gc".to_owned()), requests_p95_ms: Some(1.5), ..Row::default() };
        let line = serde_json::to_string(&row).unwrap();
        assert_eq!(line, r#"{"time_ns":60,"requests_p95_ms":1.5,"cause":"gc"}"#);
        assert_eq!(serde_json::from_str::<Row>(&line).unwrap(), row);
        // Of a later version.
        assert_eq!(serde_json::from_str::<Row>(r#"{"time_ns":1,"moon":2}"#).unwrap().time_ns, Some(1));
    }

    #[test]
    fn columns_are_those_of_the_row() {
        let columns = columns(&[Row::default(), Row::default()]);
        assert_eq!(columns.len(), COLUMNS.len());
        assert_eq!(columns[1], ("host", Cells::Utf8(vec![None, None])));
        assert_eq!((COLUMNS[1].name, COLUMNS[1].kind, COLUMNS[1].meaning), ("host", "VARCHAR", "Name of the host."));
    }
}
