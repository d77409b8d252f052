//! All labs in one run, as a table: what this machine can prove.

use std::fmt::Write;
use std::io::stderr;
use std::time::Instant;

use anyhow::Result;
use fathom_causes::explanation::Explanation;
use fathom_labs::{Lab, LabError, Progress, Second, Variant};
use fathom_report::{clean, json};
use serde::Serialize;

use super::judge::{Judgement, Outcome};
use super::one::{Run, Runner};
use super::{Answer, RunArgs, SCHEMA, judge};
use crate::exit::told;
use crate::terminal::Terminal;

/// All runs together should take no more than this, in s.
const LIMIT_S: f64 = 28.0 * 60.0;
/// What a run takes besides its phases: compiling, starting, explaining, in s.
const OVERHEAD_S: f64 = 8.0;
/// Ill for less than this part of its usual length no lab shows what it has to.
const LEAST_SCALE: f64 = 0.5;

/// A row of the table.
#[derive(Serialize)]
struct Row {
    lab: &'static str,
    variant: &'static str,
    jdk: Option<String>,
    expected: String,
    /// The first cause with its verdict and share.
    found: String,
    #[serde(flatten)]
    judgement: Judgement,
    /// Why it could not be run here.
    skipped: Option<String>,
    /// Where the recording is, if it was kept.
    folder: Option<String>,
}

#[derive(Serialize)]
struct Table {
    schema: u32,
    minutes: f64,
    runs: Vec<Row>,
}

pub(super) fn run(args: &RunArgs, terminal: &Terminal) -> Result<Answer> {
    let wanted = wanted(args.every_variant);
    let scale = if args.every_variant {
        1.0
    } else {
        scale(wanted.iter().map(|(lab, _)| (lab.seconds(), lab.exposed_seconds())))
    };
    let runner = Runner::new(args, scale)?;
    let began = Instant::now();
    let mut runs = Vec::new();
    for (index, (lab, variant)) in wanted.iter().enumerate() {
        let place = format!("[{}/{}] {} {}", index + 1, wanted.len(), lab.id, variant.name);
        tell(&place);
        let row = row(lab, variant, &runner, terminal)?;
        tell(&format!("{place}: {}, {}", row.found, row.outcome()));
        runs.push(row);
    }
    let code = Outcome::code(runs.iter().filter_map(|row| row.judgement.outcome));
    let table = Table { schema: SCHEMA, minutes: began.elapsed().as_secs_f64() / 60.0, runs };
    let text = if args.json { json::pretty(&table) } else { text(&table) };
    Ok(Answer { text, code })
}

/// The sick and the fixed variant of each lab, or all.
fn wanted(every: bool) -> Vec<(&'static Lab, &'static Variant)> {
    let of_lab = |lab: &'static Lab| -> Vec<&'static Variant> {
        if every { lab.variants.iter().collect() } else { std::iter::once(lab.sick()).chain(lab.fixed()).collect() }
    };
    fathom_labs::labs().iter().flat_map(|lab| of_lab(lab).into_iter().map(move |variant| (lab, variant))).collect()
}

/// The part of the time for which they are usually ill that all runs can have, by how long they last and how long of that they are ill.
fn scale(runs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (fixed_s, ill_s) =
        runs.fold((0.0, 0.0), |sum, (all_s, ill_s)| (sum.0 + OVERHEAD_S + all_s - ill_s, sum.1 + ill_s));
    ((LIMIT_S - fixed_s) / ill_s).clamp(LEAST_SCALE, 1.0)
}

fn row(lab: &'static Lab, variant: &'static Variant, runner: &Runner, terminal: &Terminal) -> Result<Row> {
    let folder = runner.place.folder().join(&lab.id).join(&variant.name);
    let row = Row {
        lab: &lab.id,
        variant: &variant.name,
        jdk: None,
        expected: variant.expects_of(runner.rights(variant)).says(),
        found: String::new(),
        judgement: Judgement::default(),
        skipped: None,
        folder: None,
    };
    match runner.run(lab, variant, folder, &mut Quiet, terminal) {
        Ok(Run { jdk, folder, judgement, explanation, .. }) => {
            Ok(Row { jdk: Some(jdk), folder, judgement, found: found(&explanation), ..row })
        }
        Err(error) if runner.is_stopped() => Err(error),
        Err(error) => match error.downcast_ref::<LabError>() {
            Some(says) if says.is_of_the_machine() => Ok(Row { skipped: Some(says.to_string()), ..row }),
            _ => {
                let judgement = Judgement::new(Outcome::NotAsExpected, vec![told(&error)], Vec::new());
                Ok(Row { judgement, ..row })
            }
        },
    }
}

fn found(explanation: &Explanation) -> String {
    if explanation.slow.is_empty() {
        return "nothing slow".to_owned();
    }
    let first = judge::accused(explanation).next();
    first.map_or_else(
        || "no cause named".to_owned(),
        |cause| format!("{} {} {:.0} %", cause.id, judge::name(cause.verdict), cause.share * 100.0),
    )
}

impl Row {
    fn outcome(&self) -> String {
        match &self.skipped {
            Some(why) => format!("SKIPPED: {}", clean::line(why)),
            None => clean::line(&self.judgement.text()),
        }
    }
}

fn text(table: &Table) -> String {
    let cells: Vec<[String; 4]> = table
        .runs
        .iter()
        .map(|row| [format!("{} {}", row.lab, row.variant), row.expected.clone(), row.found.clone(), row.outcome()])
        .collect();
    let heading = ["lab and variant", "expected", "found", ""].map(str::to_owned);
    let widths: Vec<usize> =
        (0..3).map(|i| cells.iter().chain([&heading]).map(|row| row[i].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in std::iter::once(&heading).chain(&cells) {
        let padded: Vec<String> = widths.iter().zip(row).map(|(width, cell)| format!("{cell:<width$}")).collect();
        let line = format!("{}  {}", padded.join("  "), row[3]);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let count = |wanted: Option<Outcome>| table.runs.iter().filter(|row| row.judgement.outcome == wanted).count();
    let (good, bad) = (count(Some(Outcome::AsExpected)), count(Some(Outcome::NotAsExpected)));
    let (open, skipped) = (count(Some(Outcome::Inconclusive)), count(None));
    let _ = writeln!(
        text,
        "\n{good} as expected, {bad} not, {open} INCONCLUSIVE, {skipped} SKIPPED; {:.0} minutes",
        table.minutes
    );
    text
}

fn tell(text: &str) {
    // If the progress cannot be shown, the labs continue all the same.
    let _ = std::io::Write::write_fmt(&mut stderr(), format_args!("{text}\n"));
}

/// The table says it all.
struct Quiet;

impl Progress for Quiet {
    fn says(&mut self, _text: &str) {}
    fn second(&mut self, _second: &Second) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_fit_the_limit() {
        for (runs, seconds, expected) in [(10, (30.0, 15.0), 1.0), (50, (35.0, 20.0), 0.53), (100, (60.0, 30.0), 0.5)] {
            let scale = scale(std::iter::repeat_n(seconds, runs));
            assert!((scale - expected).abs() < 0.001, "{runs} of {seconds:?}: {scale}");
        }
    }

    #[test]
    fn the_table_says_what_was_skipped() {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let judged = |outcome, problems, disturbances| Judgement::new(outcome, owned(problems), owned(disturbances));
        let row = |judgement: Judgement, skipped: Option<&str>| Row {
            lab: "swap_in",
            variant: "sick",
            jdk: None,
            expected: "swap_in first".to_owned(),
            found: "nothing slow".to_owned(),
            judgement,
            skipped: skipped.map(str::to_owned),
            folder: None,
        };
        let runs = vec![
            row(judged(Outcome::AsExpected, &[], &[]), None),
            row(judged(Outcome::AsExpected, &[], &["the host took 30 % of the CPUs"]), None),
            row(judged(Outcome::NotAsExpected, &["nothing was slow"], &[]), None),
            row(judged(Outcome::Inconclusive, &["nothing was slow"], &["other processes took 60 % of the CPUs"]), None),
            row(Judgement::default(), Some("swap_in (sick) needs the rights of root")),
        ];
        insta::assert_snapshot!(text(&Table { schema: 1, minutes: 2.4, runs }));
    }
}
