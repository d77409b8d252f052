//! What must be said of a world.

use fathom_causes::explanation::{CauseVerdict, Explanation, SlowInterval, Verdict};

use crate::recorders::BEGIN_NS;
use crate::text::{Words, quantity, range, time};

/// Slow time is found to this exactness: seconds begin where a recording does, and the seconds
/// beside a slow one may be partly slow.
const SLOW_SLACK_NS: i64 = 2_000_000_000;

/// Figures are doses: they come out as they were put in, but for rounding and the edges.
const FIGURE_SLACK: f64 = 0.03;

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
}

#[derive(Debug)]
pub(crate) struct Cause {
    pub(crate) id: String,
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

    /// What is wrong; `None` when it holds. Slow stretches are compared all at once elsewhere.
    pub(crate) fn failure(&self, answer: &Explanation) -> Option<String> {
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
        }
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
        let verdicts: Result<Vec<Verdict>, String> = words.next("verdict")?.split('|').map(verdict).collect();
        let mut cause = Cause { id: id.to_owned(), verdicts: verdicts?, share: None, texts: Vec::new() };
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
        if !self.verdicts.contains(&found.verdict) {
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
