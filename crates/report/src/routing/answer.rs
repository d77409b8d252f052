//! Where a dead node's keys go, as a table for a person and as JSON.

use super::{Examination, Failover, Independence, Tier, Verdict};
use serde::Serialize;

use crate::sheet::{Sheet, Tone, columns, styled};
use crate::{TextOptions, units};

/// Version of the JSON.
const SCHEMA: u32 = 1;

/// Column at which texts begin.
const HANG: usize = 13;

/// More nodes than this fill more than a screen: the worst are shown.
const SHOWN: usize = 24;

/// A key with half of a node's share of the lines is named.
const HOT: f64 = 0.5;

/// The whole answer.
#[derive(Debug, Clone, Serialize)]
pub struct Routing {
    /// Version of the JSON.
    pub schema: u32,
    /// What was found out.
    #[serde(flatten)]
    pub examination: Examination,
    /// Keys that were not UTF-8.
    pub not_utf8: u64,
    /// Lines left out because there were too many different keys.
    pub left_out: u64,
    /// The judgement in a sentence.
    pub says: String,
    /// What to do about it.
    #[serde(rename = "do")]
    pub actions: Vec<String>,
}

impl Routing {
    /// Puts the answer together.
    pub fn new(examination: Examination, not_utf8: u64, left_out: u64) -> Routing {
        let (says, actions) = (says(&examination), actions(&examination));
        Routing { schema: SCHEMA, examination, not_utf8, left_out, says, actions }
    }
}

/// The death that makes a node hottest.
fn worst(found: &Examination) -> Option<&Failover> {
    found.failovers.iter().max_by(|a, b| a.hottest.total_cmp(&b.hottest).then(b.node.cmp(&a.node)))
}

fn says(found: &Examination) -> String {
    let Some(worst) = worst(found).filter(|_| found.keys > 0) else { return "there are no keys".to_owned() };
    let hottest = format!("node {} gets {}", worst.hottest_node, over_mean(worst.hottest));
    let chance = format!("chance gives up to {}", times(worst.by_chance));
    match (found.verdict, &found.second) {
        (Verdict::TooFewKeys, _) => {
            format!("too few keys to tell: at the worst {hottest}, {chance}; give more")
        }
        (Verdict::Skewed, Some(second)) => format!(
            "when node {} dies its keys reach {} of {} nodes: {hottest}, {chance}",
            worst.node, worst.reached, second.nodes
        ),
        (Verdict::Dependent, _) => format!("the tiers depend on each other, but at the worst {hottest}"),
        (_, Some(_)) => {
            format!("whichever node dies, its keys spread like any others: at the worst {hottest}, {chance}")
        }
        (_, None) => format!("when node {} dies {hottest} of all keys, {chance}", worst.node),
    }
}

fn actions(found: &Examination) -> Vec<String> {
    let (Verdict::Skewed, Some(second)) = (found.verdict, &found.second) else { return Vec::new() };
    let nodes = second.nodes;
    let mut actions = vec![
        format!(
            "hash the second tier by itself, with a function that mixes: try --second 'murmur3 seed 1 mod {nodes}'"
        ),
        format!(
            "or let the first tier's survivors take over: try --first 'xxh3 rendezvous {}' alone",
            found.first.nodes
        ),
    ];
    let arithmetic = found.independence.as_ref().and_then(|independence| independence.arithmetic);
    actions.extend(arithmetic.map(|(divisor, _)| {
        format!("numbers of nodes without the common divisor {divisor} end it too, until the next change of size")
    }));
    actions
}

/// `1.05 ×`.
fn times(ratio: f64) -> String {
    format!("{ratio:.2} ×")
}

fn over_mean(ratio: f64) -> String {
    format!("{} the mean", times(ratio))
}

fn count(number: u64) -> String {
    units::amount(number as f64, "count")
}

/// The same for a person.
pub fn text(routing: &Routing, options: &TextOptions) -> String {
    let found = &routing.examination;
    let mut sheet = Sheet::new(options.width);
    let read = match found.lines == found.keys {
        true => count(found.keys),
        false => format!("{} different ones in {} lines", count(found.keys), count(found.lines)),
    };
    sheet.labelled(0, HANG, styled(Tone::Strong, "keys"), &read);
    for (label, tier) in [("first", Some(&found.first)), ("second", found.second.as_ref())] {
        if let Some(tier) = tier {
            sheet.labelled(0, HANG, styled(Tone::Strong, label), &normal(tier));
        }
    }
    notes(&mut sheet, routing);
    sheet.blank();
    judgement(&mut sheet, routing);
    sheet.blank();
    table(&mut sheet, found, options.all);
    sheet.render(options.color)
}

fn normal(tier: &Tier) -> String {
    format!("{}: in normal operation the hottest node has {}", tier.function, over_mean(tier.hottest))
}

fn notes(sheet: &mut Sheet, routing: &Routing) {
    let found = &routing.examination;
    let nodes = found.second.as_ref().map_or(0, |tier| tier.nodes).max(found.first.nodes) as f64;
    let hot = found.hot_key.as_ref().filter(|hot| hot.share * nodes >= HOT).map(|hot| {
        let share = units::amount(hot.share, "ratio");
        format!("{} has {share} of all lines; no function spreads one key", hot.key)
    });
    let not_utf8 = (routing.not_utf8 > 0)
        .then(|| format!("{} were not UTF-8; bad bytes were replaced, as Java does", count(routing.not_utf8)));
    let left_out =
        (routing.left_out > 0).then(|| format!("{} lines with further keys were left out", count(routing.left_out)));
    for (label, note) in [("hot key", hot), ("note", not_utf8), ("note", left_out)] {
        if let Some(note) = note {
            sheet.labelled(0, HANG, styled(Tone::Warn, label), &note);
        }
    }
}

fn judgement(sheet: &mut Sheet, routing: &Routing) {
    let (tone, word) = match routing.examination.verdict {
        Verdict::Independent => (Tone::Good, "independent"),
        Verdict::Dependent => (Tone::Warn, "dependent"),
        Verdict::Skewed => (Tone::Bad, "skewed"),
        Verdict::TooFewKeys => (Tone::Warn, "unknown"),
    };
    sheet.labelled(0, HANG, styled(tone, word), &routing.says);
    if let Some(independence) = &routing.examination.independence {
        sheet.paragraph(HANG, Tone::Faint, &statistics(independence));
    }
    for (index, action) in routing.actions.iter().enumerate() {
        sheet.labelled(0, HANG, styled(Tone::Strong, if index == 0 { "do" } else { "" }), action);
    }
}

fn statistics(found: &Independence) -> String {
    let p = match found.p_value {
        p if p < 1e-300 => "p < 1e-300".to_owned(),
        p if p < 0.001 => format!("p = {p:.0e}"),
        p => format!("p = {p:.3}"),
    };
    let arithmetic = found.arithmetic.map_or(String::new(), |(divisor, difference)| {
        let sum = if difference == 0 { String::new() } else { format!(" + {difference}") };
        format!("; for every key: second node = first node{sum} (modulo {divisor})")
    });
    format!(
        "Cramér's V {:.3} (0: independent, 1: the first node determines the second), {p}{arithmetic}",
        found.cramers_v
    )
}

const HEADS: [&str; 6] = ["node dies", "its keys", "reach", "hottest node", "over the mean", "by chance"];

fn table(sheet: &mut Sheet, found: &Examination, all: bool) {
    let mut failovers: Vec<&Failover> = found.failovers.iter().collect();
    let hidden = if all { 0 } else { failovers.len().saturating_sub(SHOWN) };
    if hidden > 0 {
        failovers.sort_by(|a, b| b.hottest.total_cmp(&a.hottest));
        failovers.truncate(SHOWN);
        failovers.sort_by_key(|failover| failover.node);
    }
    let has_load = found.lines != found.keys;
    let heads = HEADS.into_iter().chain(has_load.then_some("by load"));
    line(sheet, Tone::Faint, heads.map(str::to_owned).collect());
    for failover in failovers {
        line(sheet, Tone::Plain, row(failover, has_load));
    }
    if hidden > 0 {
        sheet.paragraph(0, Tone::Faint, &format!("{hidden} nodes that are less hot: --all"));
    }
}

fn row(failover: &Failover, has_load: bool) -> Vec<String> {
    let mut cells = vec![
        failover.node.to_string(),
        count(failover.keys),
        format!("{} of {}", failover.reached, failover.to.len()),
        failover.hottest_node.to_string(),
        times(failover.hottest),
        times(failover.by_chance),
    ];
    cells.extend(has_load.then(|| times(failover.hottest_by_lines)));
    cells
}

/// Cells to the right of their columns.
fn line(sheet: &mut Sheet, tone: Tone, cells: Vec<String>) {
    let widths = HEADS.into_iter().chain(["by load"]).map(|head| columns(head).max(8));
    let padded = cells.iter().zip(widths).enumerate().map(|(index, (cell, width))| {
        let gap = if index == 0 { 0 } else { 2 };
        let blanks = " ".repeat(gap + width.saturating_sub(columns(cell)));
        styled(tone, &format!("{blanks}{cell}"))
    });
    sheet.line(0, padded.collect::<Vec<_>>());
}

#[cfg(test)]
mod tests {
    use super::super::{Keys, examine};
    use jiff::tz::TimeZone;

    use super::*;

    #[test]
    fn answers_as_they_are_read() {
        let mut keys = Keys::default();
        (0..40_000).for_each(|task| keys.add(format!("tenant-{}/task-{task}", task % 50).as_bytes()));
        let mut few = Keys::default();
        (0..12).for_each(|task| few.add(format!("task-{task}").as_bytes()));
        let mut hot = Keys::default();
        (0..8_000).for_each(|task| hot.add(format!("task-{}", task % 2_000).as_bytes()));
        (0..4_000).for_each(|_| hot.add(b"\x1b[2Jbig tenant\xff"));
        let options = TextOptions { width: 100, color: false, all: false, zone: TimeZone::UTC };
        let told = [
            (&keys, "java-hash mod 8", Some("java-hash mod 4")),
            (&keys, "java-hash mod 8", Some("hash-code-builder mod 4")),
            (&keys, "java-hash mod 8", Some("murmur3 seed 1 mod 4")),
            (&keys, "java-hash rendezvous 6", None),
            (&few, "java-hash mod 8", Some("murmur3 seed 1 mod 4")),
            (&hot, "xxh3 mod 40", Some("xxh3 seed 1 mod 3")),
        ];
        let told = told.map(|(keys, first, second)| {
            let second = second.map(|second| second.parse().unwrap());
            let found = examine(keys, &first.parse().unwrap(), second.as_ref());
            text(&Routing::new(found, keys.not_utf8, keys.left_out), &options)
        });
        insta::assert_snapshot!(told.join("\n----\n"));
    }
}
