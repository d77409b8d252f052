//! `fathom lab run ID --both --repeat N`: sick and fixed in turns, then compared.
//!
//! Turns go A B, B A, A B: disturbances of the machine hit both sides, and no side always comes first.

use anyhow::Result;
use fathom_compare::{Accepted, Comparison, Run as Measured};
use fathom_labs::{Lab, TextProgress, Variant};
use fathom_report::json;
use serde::Serialize;

use super::judge::Outcome;
use super::one::Runner;
use super::{RunArgs, verdict_line};
use crate::commands::Answer;
use crate::inputs::runs::runs;
use crate::terminal::Terminal;

/// Each run is ill for half as long as a single one: there are many.
pub(super) const EXPOSED: f64 = 0.5;

const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Repeated<'a> {
    schema: u32,
    lab: &'a str,
    comparison: &'a Comparison,
}

/// Runs both variants so many times. The answer is the comparison.
pub(super) fn run(
    args: &RunArgs,
    lab: &'static Lab,
    variants: [&'static Variant; 2],
    terminal: &Terminal,
) -> Result<Answer> {
    let runner = Runner::new(args, EXPOSED)?;
    let mut sides: [Vec<Measured>; 2] = Default::default();
    let (mut lines, mut outcomes) = (String::new(), Vec::new());
    for (number, side) in turns(args.repeat.into()).enumerate() {
        let variant = variants[side];
        eprintln!("run {} of {}: {}", number + 1, 2 * args.repeat, variant.name);
        let folder = runner.place.folder().join(format!("{}/{:03}", variant.name, number + 1));
        let run = runner.run(lab, variant, folder, &mut TextProgress::to_stderr(), terminal)?;
        sides[side].extend(runs(&run.files, &variant.name, terminal)?);
        lines += &verdict_line(&run);
        outcomes.extend(run.judgement.outcome);
    }
    let [sick, fixed] = sides;
    // What companions do to the CPUs is the illness itself.
    let has_companions = variants.iter().any(|variant| lab.has_companions(variant));
    let accepted: &[Accepted] = if has_companions { &[Accepted::Busy] } else { &[] };
    let comparison = fathom_compare::compare(sick, fixed, accepted, &[]);
    let text = match args.json {
        true => json::pretty(&Repeated { schema: SCHEMA, lab: &lab.id, comparison: &comparison }),
        false => format!("{}{lines}", fathom_report::comparison(&comparison, &terminal.text(false))),
    };
    Ok(Answer { text, code: Outcome::code(outcomes.into_iter()) })
}

/// Whose turn it is, 0 or 1: two a pair, the order turned round in every other pair.
fn turns(pairs: usize) -> impl Iterator<Item = usize> {
    (0..pairs).flat_map(|pair| if pair % 2 == 0 { [0, 1] } else { [1, 0] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_side_always_comes_first() {
        assert_eq!(turns(4).collect::<Vec<_>>(), [0, 1, 1, 0, 0, 1, 1, 0]);
    }
}
