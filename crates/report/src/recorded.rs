//! The summary at the end of a recording: where it is, what took part, what it cost.

use std::path::Path;

use fathom_evidence::Finished;
use serde::Serialize;

use crate::imported::Imported;
use crate::sheet::{Sheet, Tone, styled};
use crate::{TextOptions, units};

/// Version of the JSON.
const SCHEMA: u32 = 1;

/// A recording of a live JVM.
#[derive(Debug, Clone, Serialize)]
pub struct Recorded {
    /// Version of the JSON.
    pub schema: u32,
    /// The process.
    pub pid: u32,
    /// How long it was observed.
    pub observed_s: f64,
    /// From the call until everything observed.
    pub started_in_ms: f64,
    /// Why it ended, if not because the time was over.
    pub ended_because: Option<String>,
    /// Who took part, and what it cost.
    pub collectors: Vec<RecordedPart>,
    /// What was written.
    #[serde(flatten)]
    pub written: Imported,
}

/// One collector.
#[derive(Debug, Clone, Serialize)]
pub struct RecordedPart {
    /// Its name.
    pub name: String,
    /// Rows that it found.
    pub rows: u64,
    /// Its CPU time as a share of one core.
    pub cpu_ratio: f64,
    /// Why it did not take part.
    pub refused: Option<String>,
    /// What would let it take part.
    pub grant: Option<String>,
}

impl Recorded {
    /// Sums up the recording in `folder`.
    pub fn new(
        folder: &Path,
        pid: u32,
        observed_ns: i64,
        started_in_ns: i64,
        ended_because: Option<String>,
        collectors: Vec<RecordedPart>,
        finished: &Finished,
    ) -> Recorded {
        Recorded {
            schema: SCHEMA,
            pid,
            observed_s: observed_ns as f64 / 1e9,
            started_in_ms: started_in_ns as f64 / 1e6,
            ended_because,
            collectors,
            written: Imported::new(folder, Vec::new(), finished.rows, &finished.kept),
        }
    }
}

/// Columns of the labels.
const HANG: usize = 9;

/// The same for a person.
pub fn text(recorded: &Recorded, options: &TextOptions) -> String {
    let mut sheet = Sheet::new(options.width);
    let because = recorded.ended_because.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
    let what = format!("process {} for {}{because}", recorded.pid, units::amount(recorded.observed_s * 1e9, "ns"));
    sheet.labelled(0, HANG, styled(Tone::Strong, "recorded"), &what);
    sheet.labelled(0, HANG, styled(Tone::Strong, "wrote"), &crate::imported::written(&recorded.written));
    costs(recorded, &mut sheet);
    for (names, why) in refusals(recorded) {
        sheet.labelled(0, HANG, styled(Tone::Warn, "refused"), &format!("{}: {why}", names.join(", ")));
    }
    let refused: Vec<&str> =
        recorded.collectors.iter().filter(|part| part.refused.is_some()).map(|part| part.name.as_str()).collect();
    for loss in recorded.written.losses.iter().filter(|loss| !refused.contains(&loss.source.as_str())) {
        sheet.labelled(
            0,
            HANG,
            styled(Tone::Warn, "lost"),
            &format!("{}: {}", crate::text::spelled(&loss.source), loss.says),
        );
    }
    let next = sheet.unbroken(HANG, &format!("fathom explain {}", recorded.written.folder));
    sheet.labelled(0, HANG, styled(Tone::Strong, "next"), &next);
    sheet.render(options.color)
}

/// What was refused and what grants it, once for all parts that it stopped.
fn refusals(recorded: &Recorded) -> Vec<(Vec<&str>, String)> {
    let mut refusals: Vec<(Vec<&str>, String)> = Vec::new();
    for part in &recorded.collectors {
        let Some(why) = &part.refused else { continue };
        let why = part.grant.as_ref().map_or_else(|| why.clone(), |grant| format!("{why} → {grant}"));
        match refusals.iter_mut().find(|(_, known)| *known == why) {
            Some((names, _)) => names.push(&part.name),
            None => refusals.push((vec![&part.name], why)),
        }
    }
    refusals
}

/// CPU of each part, the dearest first.
fn costs(recorded: &Recorded, sheet: &mut Sheet) {
    let mut parts: Vec<&RecordedPart> = recorded.collectors.iter().filter(|part| part.refused.is_none()).collect();
    parts.sort_by(|a, b| b.cpu_ratio.total_cmp(&a.cpu_ratio));
    let each: Vec<String> = parts.iter().map(|part| format!("{} {:.1} %", part.name, part.cpu_ratio * 100.0)).collect();
    let sum: f64 = parts.iter().map(|part| part.cpu_ratio).sum();
    let says = format!("{:.1} % of one core: {}", sum * 100.0, each.join(", "));
    sheet.labelled(0, HANG, styled(Tone::Faint, "cost"), &says);
}
