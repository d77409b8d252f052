//! What must be said of a world.

use fathom_causes::explanation::{CauseVerdict, Explanation, SlowInterval, Verdict};

use serde_json::Value;

use crate::recorders::BEGIN_NS;
use crate::text::{Words, quantity, range, time};

/// Slow time is found to this exactness: seconds begin where a recording does, and the seconds
/// beside a slow one may be partly slow.
const SLOW_SLACK_NS: i64 = 2_000_000_000;

/// Figures are doses: they come out as they were put in, but for rounding and the edges.
const FIGURE_SLACK: f64 = 0.03;

/// What is `minor` has no more than this of the lost time, unless the line says so.
const MINOR_SHARE: f64 = 0.1;

/// One `expect` line.
#[derive(Debug)]
pub(crate) struct Expectation {
    pub(crate) line: usize,
    pub(crate) text: String,
    pub(crate) what: What,
}

#[derive(Debug)]
pub(crate) enum What {
    /// A slow stretch in ns since the world began; by which signal.
    Slow(i64, i64, Option<String>),
    NeverSlow,
    Cause(Cause),
    /// Cause, part of the measurement's name, value, baseline.
    Evidence(String, String, f64, Option<f64>),
    Unexplained(f64, f64),
    /// A cause and those behind it.
    Chain(String, Vec<String>),
    /// The sum of the shares of causes, `unexplained` among them.
    Together(Vec<String>, (f64, f64)),
    /// What a cause has by another measure: `only` or `reach`, of the lost time, or its `cost` per request.
    Measure(String, String, (f64, f64)),
    /// A cause's share in the explanation of the slow stretch at some time.
    At((i64, i64), String, (f64, f64)),
    /// Whether some text stands in a part of the answer.
    Says(Part, String, bool),
}

/// A part of the answer that texts are looked for in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    Headline,
    Changed,
    Figures,
    /// What the first cause says to look at.
    Look,
}

#[derive(Debug)]
pub(crate) struct Cause {
    pub(crate) id: String,
    /// Empty for `minor`: any, with a small share.
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) share: Option<(f64, f64)>,
    pub(crate) texts: Vec<String>,
}

impl Expectation {
    /// Reads what comes after `expect`.
    pub(crate) fn parse(line: usize, text: &str, mut words: Words) -> Result<Expectation, String> {
        let what = match words.next("what is expected")?.as_str() {
            "slow" => slow(words)?,
            "evidence" => evidence(words)?,
            "chain" => What::Chain(words.next("cause")?, words.rest()),
            "together" => together(words)?,
            measure @ ("only" | "reach" | "cost") => {
                let (id, share) = (words.next("cause")?, range(&words.next("share")?, quantity)?);
                What::Measure(measure.to_owned(), id, share)
            }
            "at" => at(words)?,
            "no" => {
                let part = words.next("part of the answer")?;
                What::Says(Part::parse(&part)?, words.next("text")?, false)
            }
            part @ ("headline" | "text" | "changed" | "figure" | "look") => {
                What::Says(Part::parse(part)?, words.next("text")?, true)
            }
            "unexplained" => range(&words.next("range")?, quantity).map(|(from, to)| What::Unexplained(from, to))?,
            id => What::Cause(Cause::parse(id, words)?),
        };
        Ok(Expectation { line, text: text.to_owned(), what })
    }

    /// The cause that a line speaks of.
    pub(crate) fn cause(&self) -> Option<&Cause> {
        match &self.what {
            What::Cause(cause) => Some(cause),
            _ => None,
        }
    }

    /// The cause that a line speaks of and that may be accused.
    pub(crate) fn accused(&self) -> Option<&Cause> {
        self.cause().filter(|cause| !cause.verdicts.is_empty())
    }

    /// Whether it says something of a cause.
    pub(crate) fn names(&self, id: &str) -> bool {
        match &self.what {
            What::Cause(cause) => cause.id == id,
            What::Together(ids, _) => ids.iter().any(|one| one == id),
            What::At(_, one, _) => one == id,
            _ => false,
        }
    }

    /// What is wrong; `None` when it holds. Slow stretches are compared all at once elsewhere.
    pub(crate) fn failure(&self, answer: &Explanation, json: &Value) -> Option<String> {
        match &self.what {
            What::Slow(..) => None,
            What::NeverSlow => (!answer.slow.is_empty()).then(|| "it was slow".to_owned()),
            What::Cause(cause) => cause.failure(answer),
            What::Evidence(id, says, value, baseline) => evidence_failure(answer, id, says, *value, *baseline),
            What::Chain(id, expected) => {
                let cause = answer.causes.iter().find(|cause| cause.id == *id)?;
                (cause.chain != *expected).then(|| format!("the chain is {:?}", cause.chain))
            }
            What::Unexplained(from, to) => {
                let share = answer.unexplained.share;
                (!(*from..=*to).contains(&share)).then(|| format!("unexplained is {share:.3}"))
            }
            What::Together(ids, (from, to)) => {
                let share = ids.iter().map(|id| share_of(answer, id)).sum::<f64>();
                // Sums of shares are off by their last digit.
                (!(*from - 1e-6..=*to + 1e-6).contains(&share)).then(|| format!("together they have {share:.3}"))
            }
            What::Measure(measure, id, share) => {
                let cause = json["causes"].as_array()?.iter().find(|cause| cause["id"] == id.as_str());
                let found = cause.map_or(&Value::Null, |cause| &cause[measure]);
                not_within(if measure == "cost" { &found["ns"] } else { found }, *share)
            }
            What::At(when, id, share) => at_failure(json, *when, id, *share),
            What::Says(part, text, expected) => {
                let said = part.text(json);
                // The answer itself is shown anyway, as far as a person wants to see it.
                let shown = if *part == Part::Whole { "" } else { said.as_str() };
                (said.contains(text.as_str()) != *expected).then(|| format!("it is: {shown}"))
            }
        }
    }
}

/// `CAUSE... RANGE`
fn together(words: Words) -> Result<What, String> {
    let mut ids = words.rest();
    let share = ids.pop().ok_or("share is missing")?;
    range(&share, quantity).map(|share| What::Together(ids, share))
}

/// `FROM..TO CAUSE RANGE`
fn at(mut words: Words) -> Result<What, String> {
    let (when, id) = (range(&words.next("range")?, time)?, words.next("cause")?);
    let share = range(&words.next("share")?, quantity)?;
    words.end().map(|()| What::At(when, id, share))
}

fn share_of(answer: &Explanation, id: &str) -> f64 {
    let cause = answer.causes.iter().find(|cause| cause.id == id).map_or(0.0, |cause| cause.share);
    if id == "unexplained" { answer.unexplained.share } else { cause }
}

fn not_within(found: &Value, (from, to): (f64, f64)) -> Option<String> {
    let holds = found.as_f64().is_some_and(|share| (from..=to).contains(&share));
    (!holds).then(|| format!("it is {found}"))
}

/// Looks for the slow stretch that has most of the given time.
fn at_failure(json: &Value, (from, to): (i64, i64), id: &str, share: (f64, f64)) -> Option<String> {
    let time = |slow: &Value, field: &str| slow[field].as_i64().unwrap_or(0) - BEGIN_NS;
    let common = |slow: &&Value| time(slow, "to_ns").min(to) - time(slow, "from_ns").max(from);
    let slow = json["slow"].as_array()?.iter().filter(|slow| common(slow) > 0).max_by_key(common);
    let Some(slow) = slow else { return Some("it was not slow then".to_owned()) };
    let causes = slow["causes"].as_array().map_or(&[][..], Vec::as_slice);
    let cause = causes.iter().find(|cause| cause["id"] == id);
    let nothing = Value::from(0.0);
    match slow["causes"].is_array() {
        true => not_within(cause.map_or(&nothing, |cause| &cause["share"]), share),
        false => Some("the stretch has no causes of its own".to_owned()),
    }
}

impl Part {
    fn parse(word: &str) -> Result<Part, String> {
        match word {
            "text" => Ok(Part::Whole),
            "headline" => Ok(Part::Headline),
            "changed" => Ok(Part::Changed),
            "figure" => Ok(Part::Figures),
            "look" => Ok(Part::Look),
            _ => Err(format!("`{word}` is no part of an answer")),
        }
    }

    /// All texts in it, one to a line.
    fn text(self, json: &Value) -> String {
        let part = match self {
            Part::Whole => json,
            Part::Headline => &json["headline"],
            Part::Changed => &json["changed"],
            Part::Figures => &json["figures"],
            Part::Look => &json["causes"][0]["look"],
        };
        let was_slow = json["slow"].as_array().is_some_and(|slow| !slow.is_empty());
        let mut texts = Vec::new();
        match (self, part) {
            // What the text report says where the answer has no headline.
            (Part::Headline, Value::Null) if !was_slow => texts.push("nothing was slow"),
            _ => collect(part, &mut texts),
        }
        texts.join("\n")
    }
}

fn collect<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| collect(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

fn slow(mut words: Words) -> Result<What, String> {
    if words.skip("never") {
        return words.end().map(|()| What::NeverSlow);
    }
    let (from, to) = range(&words.next("range")?, time)?;
    let signal = if words.skip("by") { Some(words.next("signal")?) } else { None };
    words.end().map(|()| What::Slow(from, to, signal))
}

fn evidence(mut words: Words) -> Result<What, String> {
    let (id, says) = (words.next("cause")?, words.next("measurement")?);
    let value = quantity(&words.next("value")?)?;
    let baseline = if words.skip("against") { Some(quantity(&words.next("baseline")?)?) } else { None };
    words.end().map(|()| What::Evidence(id, says, value, baseline))
}

impl Cause {
    fn parse(id: &str, mut words: Words) -> Result<Cause, String> {
        let mut cause = Cause { id: id.to_owned(), verdicts: Vec::new(), share: None, texts: Vec::new() };
        match words.next("verdict")?.as_str() {
            "minor" => cause.share = Some((0.0, MINOR_SHARE)),
            verdicts => cause.verdicts = verdicts.split('|').map(verdict).collect::<Result<_, _>>()?,
        }
        if words.peek().is_some_and(|word| word.contains("..")) {
            cause.share = Some(range(&words.next("share")?, quantity)?);
        }
        cause.texts = words.rest();
        Ok(cause)
    }

    fn failure(&self, answer: &Explanation) -> Option<String> {
        let Some(found) = answer.causes.iter().find(|cause| cause.id == self.id) else {
            return Some("there is no such cause".to_owned());
        };
        if !self.verdicts.is_empty() && !self.verdicts.contains(&found.verdict) {
            return Some(format!("it is {:?}: {}", found.verdict, found.says));
        }
        if self.share.is_some_and(|(from, to)| !(from..=to).contains(&found.share)) {
            return Some(format!("its share is {:.3}", found.share));
        }
        let missing = self.texts.iter().find(|text| !all_text(found).contains(text.as_str()));
        missing.map(|text| format!("`{text}` is not in: {}", all_text(found)))
    }
}

fn verdict(word: &str) -> Result<Verdict, String> {
    match word {
        "shown" => Ok(Verdict::Shown),
        "likely" => Ok(Verdict::Likely),
        "possible" => Ok(Verdict::Possible),
        "not_enough" => Ok(Verdict::NotEnough),
        "ruled_out" => Ok(Verdict::RuledOut),
        _ => Err(format!("`{word}` is not a verdict")),
    }
}

/// Everything that is said of a cause.
fn all_text(cause: &CauseVerdict) -> String {
    let missing = cause.missing.iter().flat_map(|missing| [missing.says.clone(), missing.record_with.clone()]);
    let stacks = cause.evidence.iter().map(|evidence| format!("{} {}", evidence.says, evidence.stack));
    let parts = [cause.says.clone()].into_iter().chain(missing).chain(cause.actions.iter().cloned()).chain(stacks);
    parts.collect::<Vec<_>>().join(" | ")
}

fn evidence_failure(answer: &Explanation, id: &str, says: &str, value: f64, baseline: Option<f64>) -> Option<String> {
    let cause = answer.causes.iter().find(|cause| cause.id == id);
    let Some(found) = cause.and_then(|cause| cause.evidence.iter().find(|evidence| evidence.says.contains(says)))
    else {
        return Some("there is no such measurement".to_owned());
    };
    let is_near = |found: f64, expected: f64| (found - expected).abs() <= FIGURE_SLACK * expected.abs().max(1e-9);
    let base_is_near = baseline.is_none_or(|expected| found.baseline.is_some_and(|found| is_near(found, expected)));
    let fits = is_near(found.value, value) && base_is_near;
    (!fits).then(|| format!("it is {} against {:?} {}", found.value, found.baseline, found.unit))
}

/// Compares the slow stretches with those expected, one by one. No line, no opinion.
pub(crate) fn slow_failure(expectations: &[Expectation], answer: &Explanation) -> Option<String> {
    let expected: Vec<(i64, i64, Option<&str>)> = expectations
        .iter()
        .filter_map(|expectation| match &expectation.what {
            What::Slow(from, to, signal) => Some((*from, *to, signal.as_deref())),
            _ => None,
        })
        .collect();
    let fits = |(slow, (from, to, signal)): (&SlowInterval, &(i64, i64, Option<&str>))| {
        let is_near = |at_ns: i64, expected: i64| (at_ns - BEGIN_NS - expected).abs() <= SLOW_SLACK_NS;
        is_near(slow.from_ns, *from) && is_near(slow.to_ns, *to) && signal.is_none_or(|signal| signal == slow.signal)
    };
    let all_fit = expected.len() == answer.slow.len() && answer.slow.iter().zip(&expected).all(fits);
    (!expected.is_empty() && !all_fit).then(|| "the slow stretches are not those expected".to_owned())
}
