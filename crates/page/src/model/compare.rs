//! Two recordings side by side.

use fathom_causes::explanation::{Evidence, Explanation, Headline, Verdict};
use fathom_compare::FactsCompared;
use serde::Serialize;

use super::Answer;
use crate::loaded::Loaded;

#[derive(Serialize)]
struct Compared<'a> {
    /// As `fathom compare` says it.
    verdict: fathom_compare::Verdict,
    facts: FactsCompared,
    a: Side<'a>,
    b: Side<'a>,
    causes: Vec<Cause<'a>>,
}

#[derive(Serialize)]
struct Side<'a> {
    id: u32,
    name: &'a str,
    title: &'a str,
    jvm: &'a str,
    slow_ns: i64,
    headline: &'a Headline,
    duration_ns: i64,
    unexplained: f64,
    figures: &'a [Evidence],
}

#[derive(Serialize)]
struct Cause<'a> {
    id: &'a str,
    a_share: f64,
    b_share: f64,
    a_verdict: Option<Verdict>,
    b_verdict: Option<Verdict>,
}

/// Answers `compare`.
pub(crate) fn answer(a: &Loaded, b: &Loaded) -> Answer {
    let compared = fathom_compare::compare(vec![a.run.clone()], vec![b.run.clone()], &[], &[]);
    Answer::json(&Compared {
        verdict: compared.verdict,
        facts: compared.facts,
        a: side(a),
        b: side(b),
        causes: causes(&a.explanation, &b.explanation),
    })
}

fn side(page: &Loaded) -> Side<'_> {
    let explanation = &page.explanation;
    Side {
        id: page.about.id,
        name: &page.about.name,
        title: &explanation.recording.title,
        jvm: &explanation.recording.jvm,
        slow_ns: slow_ns(explanation),
        headline: &explanation.headline,
        duration_ns: page.axis.to.saturating_sub(page.axis.from),
        unexplained: explanation.unexplained.share,
        figures: &explanation.figures,
    }
}

/// Length of the slow time.
pub(crate) fn slow_ns(explanation: &Explanation) -> i64 {
    let lengths = explanation.slow.iter().map(|slow| slow.to_ns.saturating_sub(slow.from_ns));
    lengths.fold(0, i64::saturating_add)
}

/// Every cause of both, what explains most first.
fn causes<'a>(a: &'a Explanation, b: &'a Explanation) -> Vec<Cause<'a>> {
    let of = |explanation: &'a Explanation, id: &str| explanation.causes.iter().find(|cause| cause.id == id);
    let mut ids: Vec<&str> = a.causes.iter().chain(&b.causes).map(|cause| cause.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut causes: Vec<Cause<'a>> = ids
        .into_iter()
        .map(|id| {
            let (in_a, in_b) = (of(a, id), of(b, id));
            Cause {
                id,
                a_share: in_a.map_or(0.0, |cause| cause.share),
                b_share: in_b.map_or(0.0, |cause| cause.share),
                a_verdict: in_a.map(|cause| cause.verdict),
                b_verdict: in_b.map(|cause| cause.verdict),
            }
        })
        .collect();
    causes.sort_by(|x, y| y.a_share.max(y.b_share).total_cmp(&x.a_share.max(x.b_share)));
    causes
}
