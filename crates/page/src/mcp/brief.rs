//! First answers: what an assistant needs to continue, in a few kilobytes. Everything else is requested by name.

use fathom_causes::explanation::{CauseVerdict, Evidence, Explanation, Missing, Verdict};
use fathom_report::clean::shorten;
use serde_json::{Map, Value, json};

/// What a first answer may take, in bytes: a model reads it before it knows what it looks for.
const MAX_BYTES: usize = 6_000;

/// How much of each list is tried, the most first, until all fits.
const LENGTHS: [usize; 5] = [8, 5, 3, 2, 1];

/// Sentences longer than this are cut in their middle.
const SENTENCE_MAX_CHARS: usize = 400;

/// Of everything that has names only, so many times as much as of what has sentences.
const NAMES_PER_SENTENCE: usize = 12;

/// The first answer to why it was slow.
pub(super) fn explanation(explanation: &Explanation) -> Value {
    fitting(|most| {
        let slow = explanation.slow.iter().take(most);
        let slow = slow.map(|it| json!({ "from_ns": it.from_ns, "to_ns": it.to_ns, "says": sentence(&it.says) }));
        let named: Vec<&CauseVerdict> = with(explanation, |verdict| verdict <= Verdict::Possible);
        let changes = explanation.changed.iter().take(most);
        let changes = changes
            .map(|it| json!({ "says": sentence(&it.says), "at_ns": it.at_ns, "before": it.before, "after": it.after }));
        let mut answer = json!({
            "recording": explanation.recording,
            "headline": {
                "kind": explanation.headline.kind,
                "says": sentence(&explanation.headline.says),
                "but": sentences(&explanation.headline.but, most),
            },
            "slow": slow.collect::<Vec<_>>(),
            "slow_count": explanation.slow.len(),
            "figures": figures(&explanation.figures, most),
            "causes": named.iter().take(most).map(|of| cause(of, most)).collect::<Vec<_>>(),
            "causes_count": named.len(),
            "unexplained": { "share": rounded(explanation.unexplained.share), "says": sentence(&explanation.unexplained.says) },
            "ruled_out": ruled_out(explanation),
            "cannot_tell": cannot_tell(explanation),
            "losses": explanation.losses.iter().take(most).map(|loss| sentence(&loss.says)).collect::<Vec<_>>(),
            "losses_count": explanation.losses.len(),
            "more": "explain with `cause`: an id of any list here, for its measurements and why it is ruled out or cannot be told; \
                     with form=json: everything",
        });
        if explanation.slow.is_empty() {
            answer["changed"] = changes.collect();
        }
        answer
    })
}

/// What can be asked of a recording, by name; `whole` has the details.
pub(super) fn contents(whole: &Value) -> Value {
    let list = |name: &str| whole[name].as_array().map_or(&[][..], Vec::as_slice);
    let ids = |name: &str, most: usize| list(name).iter().take(most).map(|it| it["id"].clone()).collect::<Vec<_>>();
    fitting(|most| {
        let names = most * NAMES_PER_SENTENCE;
        let threads = list("threads").iter().take(most);
        json!({
            "from_ns": whole["from_ns"],
            "to_ns": whole["to_ns"],
            "kinds": ids("kinds", names),
            "kinds_count": list("kinds").len(),
            "events": ids("events", names),
            "events_count": list("events").len(),
            "lanes": ids("lanes", names),
            "lanes_count": list("lanes").len(),
            "threads": threads.map(|thread| of(thread, &["index", "name", "role"])).collect::<Vec<_>>(),
            "threads_count": whole["threads_count"],
            "facts_count": whole["facts_count"],
            "lines_of_logs": whole["lines_of_logs"],
            "more": "contents with `part`: kinds, events or lanes, for all of them with what they mean; threads or facts, for the \
                     first 50",
        })
    })
}

/// All of one kind of what can be asked of a recording; of those that are cut short also how many there are.
pub(super) fn part(whole: &Value, part: &str) -> Value {
    let count = format!("{part}_count");
    let fields = ["from_ns", "to_ns", part, count.as_str()];
    let there: Vec<&str> = fields.into_iter().filter(|field| whole.get(*field).is_some()).collect();
    of(whole, &there)
}

/// The longest answer of those that are short enough.
fn fitting(answer: impl Fn(usize) -> Value) -> Value {
    let is_short = |value: &Value| fathom_report::json::line(value).len() <= MAX_BYTES;
    let mut answers = LENGTHS.into_iter().map(&answer);
    answers.find(is_short).unwrap_or_else(|| answer(0))
}

fn with(explanation: &Explanation, is_meant: fn(Verdict) -> bool) -> Vec<&CauseVerdict> {
    explanation.causes.iter().filter(|cause| is_meant(cause.verdict)).collect()
}

fn cause(cause: &CauseVerdict, most: usize) -> Value {
    json!({
        "id": cause.id,
        "verdict": cause.verdict,
        "share": rounded(cause.share),
        "cost": cause.cost,
        "says": sentence(&cause.says),
        "evidence": figures(&cause.evidence, most.min(4)),
        "chain": cause.chain,
        "do": sentences(&cause.actions, most.min(2)),
        "prove": cause.prove,
    })
}

/// For when they are ruled out, and which: why, `cause` tells.
fn ruled_out(explanation: &Explanation) -> Value {
    let causes = with(explanation, |verdict| verdict == Verdict::RuledOut);
    let during = causes.first().and_then(|cause| cause.during);
    json!({
        "from_ns": during.map(|during| during.from_ns),
        "to_ns": during.map(|during| during.to_ns),
        "ids": ids(&causes),
    })
}

/// Causes that nothing recorded decides, and the command that would answer most of them.
fn cannot_tell(explanation: &Explanation) -> Value {
    let causes = with(explanation, |verdict| verdict == Verdict::NotEnough);
    let commands = || causes.iter().filter_map(|cause| command(cause));
    let most = commands().max_by_key(|one| commands().filter(|other| other == one).count());
    json!({ "ids": ids(&causes), "record_with": most.unwrap_or_default() })
}

fn command(cause: &CauseVerdict) -> Option<&str> {
    let Missing { record_with, .. } = cause.missing.first()?;
    Some(record_with.as_str()).filter(|command| !command.is_empty())
}

fn ids<'a>(causes: &[&'a CauseVerdict]) -> Vec<&'a str> {
    causes.iter().map(|cause| cause.id.as_str()).collect()
}

fn figures(figures: &[Evidence], most: usize) -> Vec<Value> {
    let figure =
        |it: &Evidence| json!({ "says": it.says, "value": it.value, "baseline": it.baseline, "unit": it.unit });
    figures.iter().take(most).map(figure).collect()
}

fn sentences(texts: &[String], most: usize) -> Vec<String> {
    texts.iter().take(most).map(|text| sentence(text)).collect()
}

fn sentence(text: &str) -> String {
    shorten(text, SENTENCE_MAX_CHARS)
}

fn rounded(share: f64) -> f64 {
    (share * 1e3).round() / 1e3
}

/// Some fields of an object.
pub(super) fn of(value: &Value, fields: &[&str]) -> Value {
    fields.iter().map(|field| ((*field).to_owned(), value[*field].clone())).collect::<Map<_, _>>().into()
}

/// A value without what is null in its objects: what is not known yet is left out.
pub(super) fn without_nulls(value: Value) -> Value {
    match value {
        Value::Array(values) => values.into_iter().map(without_nulls).collect(),
        Value::Object(fields) => {
            let known = fields.into_iter().filter(|(_, value)| !value.is_null());
            known.map(|(name, value)| (name, without_nulls(value))).collect::<Map<_, _>>().into()
        }
        other => other,
    }
}
