//! What a machine lets Fathom see, what each cause would lack, and how to grant it.

use serde::Serialize;

use crate::TextOptions;
use crate::sheet::{Sheet, Tone, styled};

/// Version of the JSON.
const SCHEMA: u32 = 1;

/// The whole answer.
#[derive(Debug, Clone, Serialize)]
pub struct Doctor {
    /// Version of the JSON.
    pub schema: u32,
    /// The process that was looked at; null when it was the machine alone.
    pub pid: Option<u32>,
    /// The tier in which a recording would run: `process`, `perf` or `bpf`.
    pub tier: &'static str,
    /// What decides over it.
    pub host: Vec<HostLine>,
    /// The collectors.
    pub collectors: Vec<CollectorLine>,
    /// The causes.
    pub causes: Vec<CauseLine>,
}

/// Something about the machine or the rights.
#[derive(Debug, Clone, Serialize)]
pub struct HostLine {
    /// What it is.
    pub name: String,
    /// How it is.
    pub value: String,
    /// What it hinders; empty when nothing.
    pub means: String,
}

/// One collector.
#[derive(Debug, Clone, Serialize)]
pub struct CollectorLine {
    /// Its name.
    pub name: String,
    /// What it sees.
    pub sees: String,
    /// The tier that it needs; of one that sees less than it could, that in which it would observe.
    pub tier: &'static str,
    /// Why it cannot; null when it can.
    pub refused: Option<String>,
    /// Why it sees less than it could with more rights; null when it sees all.
    pub lesser: Option<String>,
    /// What would let it, or let it see all; null when nothing is needed or nothing helps.
    pub grant: Option<String>,
}

/// One cause of the catalogue.
#[derive(Debug, Clone, Serialize)]
pub struct CauseLine {
    /// Its id.
    pub id: String,
    /// The collectors that show it.
    pub collectors: Vec<String>,
    /// Those of them that cannot observe here.
    pub lacks: Vec<String>,
}

impl Doctor {
    /// Puts the parts together.
    pub fn new(
        pid: Option<u32>,
        tier: &'static str,
        host: Vec<HostLine>,
        collectors: Vec<CollectorLine>,
        causes: impl Iterator<Item = (&'static str, &'static [&'static str])>,
    ) -> Doctor {
        let is_refused = |name: &&str| collectors.iter().any(|line| line.name == **name && line.refused.is_some());
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        let causes = causes.map(|(id, needed)| CauseLine {
            id: id.to_owned(),
            collectors: owned(needed.to_vec()),
            lacks: owned(needed.iter().copied().filter(is_refused).collect()),
        });
        let causes = causes.collect();
        Doctor { schema: SCHEMA, pid, tier, host, collectors, causes }
    }
}

/// Columns of the first labels.
const HANG: usize = 30;

/// The same for a person.
pub fn text(doctor: &Doctor, options: &TextOptions) -> String {
    let mut sheet = Sheet::new(options.width);
    let whom = doctor.pid.map_or_else(|| "this machine".to_owned(), |pid| format!("process {pid}"));
    let seeing = doctor.collectors.iter().filter(|line| line.refused.is_none()).count();
    let heading = format!("{whom}: {seeing} of {} collectors can observe", doctor.collectors.len());
    sheet.line(0, [styled(Tone::Strong, &heading)]);
    sheet.blank();
    host(doctor, &mut sheet);
    sheet.blank();
    collectors(doctor, &mut sheet);
    sheet.blank();
    causes(doctor, &mut sheet);
    sheet.render(options.color)
}

fn host(doctor: &Doctor, sheet: &mut Sheet) {
    for HostLine { name, value, means } in &doctor.host {
        let (tone, means) = match means.as_str() {
            "" => (Tone::Plain, String::new()),
            means => (Tone::Warn, format!(": {means}")),
        };
        sheet.labelled(0, HANG, styled(tone, name), &format!("{value}{means}"));
    }
}

fn collectors(doctor: &Doctor, sheet: &mut Sheet) {
    for line in &doctor.collectors {
        let (tone, can, says) = match (&line.refused, &line.lesser) {
            (Some(why), _) => (Tone::Bad, "cannot", why.clone()),
            (None, Some(why)) => (Tone::Warn, "partly", format!("{} ({why})", line.sees)),
            (None, None) => (Tone::Good, "sees", line.sees.clone()),
        };
        sheet.labelled(0, HANG, styled(tone, &format!("{can:<8}{}", line.name)), &says);
        if let Some(grant) = &line.grant {
            sheet.labelled(HANG, HANG + 3, styled(Tone::Strong, "→"), grant);
        }
    }
}

fn causes(doctor: &Doctor, sheet: &mut Sheet) {
    let group = |wanted: &dyn Fn(&CauseLine) -> bool| -> Vec<String> {
        doctor.causes.iter().filter(|cause| wanted(cause)).map(|cause| cause.id.clone()).collect()
    };
    let shown = group(&|cause| cause.lacks.is_empty() && !cause.collectors.is_empty());
    if !shown.is_empty() {
        sheet.labelled(0, HANG, styled(Tone::Good, "a recording can show"), &shown.join(", "));
    }
    for cause in doctor.causes.iter().filter(|cause| !cause.lacks.is_empty()) {
        let label = format!("lacks for {}", cause.id);
        sheet.labelled(0, HANG, styled(Tone::Warn, &label), &cause.lacks.join(", "));
    }
    let others = group(&|cause| cause.collectors.is_empty());
    if !others.is_empty() {
        sheet.labelled(0, HANG, styled(Tone::Faint, "not told by one"), &others.join(", "));
    }
}
