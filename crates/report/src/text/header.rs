//! The first line: which JVM, when, seen by what, and whether anything is missing.

use fathom_causes::explanation::{Explanation, LossNote, RecordingSummary};

use super::detail::Detail;
use super::losses::is_detail;
use super::source::spelled;
use crate::clean::shorten;
use crate::sheet::{Sheet, Styled, Tone, styled};
use crate::units;

const TITLE_MAX_CHARS: usize = 60;

pub(super) fn write(sheet: &mut Sheet, explanation: &Explanation, detail: &Detail<'_>) {
    let recording = &explanation.recording;
    let mut items = vec![styled(Tone::Strong, &shorten(&recording.title, TITLE_MAX_CHARS))];
    items.extend(recording.pid.map(|pid| styled(Tone::Plain, &format!("pid {pid}"))));
    items.extend(machine(recording).map(|machine| styled(Tone::Plain, &shorten(&machine, TITLE_MAX_CHARS))));
    let when = units::time_range(recording.from_ns, recording.to_ns, detail.zone);
    items.push(styled(Tone::Plain, &when));
    items.push(styled(Tone::Plain, &sources(recording)));
    items.push(lost(&explanation.losses));
    sheet.items(2, items, " · ");
}

/// For example `JDK 25.0.3, G1, 2 CPUs`; what is not known is left out.
pub(crate) fn machine(recording: &RecordingSummary) -> Option<String> {
    let cpus = recording.cpus.map(|cpus| format!("{cpus} CPU{}", if cpus == 1 { "" } else { "s" }));
    let known = [recording.jvm.clone(), recording.collector.clone(), cpus.unwrap_or_default()];
    let known: Vec<String> = known.into_iter().filter(|part| !part.is_empty()).collect();
    (!known.is_empty()).then(|| known.join(", "))
}

/// What it was seen by, and the tier.
pub(crate) fn sources(recording: &RecordingSummary) -> String {
    const FILES: &[&str] = &[
        "jfr",
        "gc_log",
        "latency",
        "thread_dump",
        "strace",
        "vmstat",
        "sysstat",
        "prometheus",
        "blktrace",
        "jstat",
        "perf_script",
        "perf_trace",
        "perf_data",
        "hs_err",
        "app_log",
        "pcap",
        "proc_files",
    ];
    // Without a recorder (tier 0) nothing is from a running machine.
    let is_file = |source: &&str| recording.tier == 0 || FILES.contains(source);
    let (files, collectors): (Vec<&str>, Vec<&str>) = recording.sources.iter().map(String::as_str).partition(is_file);
    let mut names: Vec<&str> = files.into_iter().map(spelled).collect();
    names.extend((!collectors.is_empty()).then_some("the running machine"));
    format!("from {} (tier {})", names.join(", "), recording.tier)
}

fn lost(losses: &[LossNote]) -> Styled {
    match losses {
        [] => styled(Tone::Good, "nothing lost"),
        all if all.iter().all(is_detail) => styled(Tone::Plain, "only details lost"),
        [_] => styled(Tone::Warn, "1 loss, see below"),
        all => styled(Tone::Warn, &format!("{} losses, see below", all.len())),
    }
}
