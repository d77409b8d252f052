//! What is reported about one recording: why it was made, what was found, where it is.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::host_events::Hit;
use crate::minutes::{Row, minute_of};
use crate::triggers::{Severity, Trigger};

/// Version of the JSON.
pub(crate) const SCHEMA: u32 = 1;

/// JVMs that are named in a line.
const HITS_NAMED: usize = 5;

/// Causes that are reported; the others are in the recording.
const CAUSES_MAX: usize = 5;

/// Which of several messages about one incident this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// A recording has begun; its verdict follows.
    Noticed,
    /// There will be no recording; reported once in an hour for each reason of this. The verdict on the rows of the time before follows, where these
    /// were kept.
    NotRecorded,
    /// What was found.
    Verdict,
}

/// The JVM that it is about.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct AboutJvm {
    /// Process id on this host.
    pub pid: u32,
    /// When it began, in the kernel's ticks since boot: with `pid` it names one process.
    pub start_ticks: u64,
    /// Main class, module or jar.
    pub main: String,
    /// User.
    pub user: String,
    /// Version of Java.
    pub version: String,
    /// Container, if it is in one.
    pub container: Option<String>,
}

/// A cause that explains something.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Named {
    /// Id in the catalogue.
    pub id: String,
    /// `shown`, `likely` or `possible`.
    pub verdict: String,
    /// Share of the slow time.
    pub share: f64,
    /// One sentence with figures.
    pub says: String,
    /// What to do.
    pub remedies: Vec<String>,
}

/// What `fathom explain` said.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Verdict {
    /// Whether anything was slow, in one sentence.
    pub says: String,
    /// `slow`, `nothing_slow`, `no_sign` or `cannot_tell`.
    pub kind: String,
    /// Causes that explain something, the largest share first.
    pub causes: Vec<Named>,
    /// What no cause explains.
    pub unexplained_share: f64,
    /// What is missing that could hide something: sentences.
    pub but: Vec<String>,
    /// How many requests took longer than twice what is usual, and how many got no answer; nothing where requests were not seen.
    pub requests_late: Option<u64>,
    /// Those without an answer.
    pub requests_unanswered: Option<u64>,
}

/// One recording and what came of it.
#[derive(Debug, Clone, Serialize)]
pub struct Incident {
    /// Version of this document.
    pub schema: u32,
    /// Which of the messages about it this is.
    pub stage: Stage,
    /// Name of the recording.
    pub id: String,
    /// Host.
    pub host: String,
    /// The JVM; `None` of what was saved from the ring of one that had ended.
    pub jvm: Option<AboutJvm>,
    /// Why it was made.
    pub trigger: Option<Trigger>,
    /// How bad it is.
    pub severity: Severity,
    /// How often this reason was there within a day.
    pub times_today: usize,
    /// Where only the rows of the time before were kept: why there is no recording (`cool_down`, `part_of_another` and others).
    pub not_recorded: Option<String>,
    /// The incident of the event of the host to which this belongs, if that is another one.
    pub part_of: Option<String>,
    /// Whether a message said that it is not recorded, and this is what follows.
    #[serde(skip)]
    pub is_awaited: bool,
    /// The other JVMs of the host that the same event hit.
    pub also_hit: Vec<Hit>,
    /// Where it is.
    pub folder: PathBuf,
    /// How much of the time before is in it, in ns.
    pub before_ns: i64,
    /// How long it is from the trigger on, in ns.
    pub after_ns: i64,
    /// How it ended.
    pub ended: String,
    /// What cannot be seen of this JVM all the time, with why.
    pub not_seen: Vec<String>,
    /// What was found.
    pub verdict: Option<Verdict>,
    /// Why there is no verdict, or other things that did not go as they should.
    pub errors: Vec<String>,
}

impl Verdict {
    /// Reads what `fathom explain --json` printed.
    pub fn parse(json: &str) -> Result<Verdict, String> {
        let answer: Value = serde_json::from_str(json).map_err(|error| format!("no JSON: {error}"))?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let texts = |value: &Value| value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
        let headline = answer.get("headline").ok_or("it has no headline")?;
        let is_reported = |cause: &&Value| matches!(text(&cause["verdict"]).as_str(), "shown" | "likely" | "possible");
        let named = |cause: &Value| Named {
            id: text(&cause["id"]),
            verdict: text(&cause["verdict"]),
            share: cause["share"].as_f64().unwrap_or_default(),
            says: text(&cause["says"]),
            remedies: texts(&cause["do"]),
        };
        let causes = answer["causes"].as_array().into_iter().flatten().filter(is_reported).map(named);
        Ok(Verdict {
            says: text(&headline["says"]),
            kind: text(&headline["kind"]),
            causes: causes.take(CAUSES_MAX).collect(),
            unexplained_share: answer["unexplained"]["share"].as_f64().unwrap_or_default(),
            but: texts(&headline["but"]),
            requests_late: sum(&answer, "/slow/count"),
            requests_unanswered: sum(&answer, "/unanswered_count"),
        })
    }

    /// In one line: the causes with their shares, or what there is to say without any.
    pub fn line(&self) -> String {
        if self.causes.is_empty() {
            return self.says.clone();
        }
        let named = |cause: &Named| format!("{} {} {:.0} %", cause.id, cause.verdict, cause.share * 100.0);
        self.causes.iter().map(named).collect::<Vec<_>>().join(", ")
    }
}

/// A number of all ports.
fn sum(answer: &Value, pointer: &str) -> Option<u64> {
    let ports = answer["requests"].as_array().filter(|ports| !ports.is_empty())?;
    Some(ports.iter().filter_map(|port| port.pointer(pointer)?.as_u64()).sum())
}

impl Incident {
    /// In one line, for people.
    pub fn line(&self) -> String {
        let why = self.trigger.as_ref().map_or("found after a crash", |trigger| trigger.says.as_str());
        let who = self.jvm.as_ref().map_or_else(String::new, |jvm| format!("{} (pid {}): ", jvm.main, jvm.pid));
        let what = match &self.verdict {
            Some(verdict) => verdict.line(),
            None => format!("no verdict ({})", self.errors.join("; ")),
        };
        format!("{who}{why}{} → {what}", self.also())
    }

    /// Which other JVMs were hit, as the end of a sentence.
    pub(crate) fn also(&self) -> String {
        let others = self.also_hit.len();
        let named: Vec<String> =
            self.also_hit.iter().take(HITS_NAMED).map(|hit| format!("{} (pid {})", hit.main, hit.pid)).collect();
        let more = if others > HITS_NAMED { format!(" and {} more", others - HITS_NAMED) } else { String::new() };
        if others == 0 { String::new() } else { format!("; at the same time {}{more}", named.join(", ")) }
    }

    /// What it adds to the row of the minute in which it began.
    pub(crate) fn row(&self) -> Option<Row> {
        let (jvm, trigger) = self.jvm.as_ref().zip(self.trigger.as_ref())?;
        let first = self.verdict.as_ref().and_then(|verdict| verdict.causes.first());
        Some(Row {
            time_ns: Some(minute_of(trigger.at_ns - 1)),
            host: Some(self.host.clone()),
            service: Some(jvm.main.clone()),
            pid: Some(i64::from(jvm.pid)),
            start_ticks: i64::try_from(jvm.start_ticks).ok(),
            incident: Some(self.id.clone()),
            verdict: self.verdict.as_ref().map(|verdict| verdict.says.clone()),
            cause: first.map(|cause| cause.id.clone()),
            cause_share: first.map(|cause| cause.share),
            ..Row::default()
        })
    }

    /// The cause with the largest share.
    pub fn cause(&self) -> Option<&str> {
        self.verdict.as_ref()?.causes.first().map(|cause| cause.id.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_read_from_the_contract() {
        let json = r#"{"headline": {"says": "slow 10 s of 90 s", "kind": "slow", "but": ["x"]},
            "causes": [
                {"id": "gc", "verdict": "shown", "share": 0.9, "says": "a", "do": ["b", "c"]},
                {"id": "locks", "verdict": "ruled_out", "share": 0.0, "says": "", "do": []}],
            "requests": [{"unanswered_count": 1, "slow": {"count": 7}}, {"unanswered_count": 2, "slow": {"count": 0}}],
            "unexplained": {"share": 0.1}}"#;
        let verdict = Verdict::parse(json).unwrap();
        assert_eq!(verdict.line(), "gc shown 90 %");
        assert_eq!((verdict.causes.len(), verdict.but.len(), verdict.unexplained_share), (1, 1, 0.1));
        assert_eq!((verdict.requests_late, verdict.requests_unanswered), (Some(7), Some(3)));
        let quiet = Verdict::parse(r#"{"headline": {"says": "nothing was slow", "kind": "nothing_slow"}}"#).unwrap();
        assert_eq!((quiet.line().as_str(), quiet.requests_late), ("nothing was slow", None));
        assert!(Verdict::parse("{}").is_err() && Verdict::parse("fathom: no").is_err());
    }
}
