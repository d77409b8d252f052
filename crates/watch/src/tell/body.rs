//! Bodies of webhooks.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::config::Format;
use crate::incident::{Incident, Named};

/// For so long an alert stands that nobody resolves.
const ALERT_STANDS: SignedDuration = SignedDuration::from_hours(1);

/// The body of this format.
pub(super) fn body(format: Format, incident: &Incident) -> Value {
    match format {
        Format::Json => json!(incident),
        Format::Slack => json!({ "text": text(incident) }),
        Format::Alertmanager => json!([alert(incident)]),
    }
}

fn text(incident: &Incident) -> String {
    let who = incident.jvm.as_ref().map_or_else(
        || "a JVM".to_owned(),
        |jvm| format!("`{}` (pid {}) on {}", plain(&jvm.main), jvm.pid, plain(&incident.host)),
    );
    let why = incident.trigger.as_ref().map_or("found after a crash", |trigger| trigger.says.as_str());
    let mut lines = vec![format!("*{who}*: {}", plain(why))];
    match &incident.verdict {
        Some(verdict) => {
            lines.push(plain(&verdict.says));
            lines.extend(verdict.causes.iter().map(cause));
        }
        None => lines.push(format!("no verdict: {}", plain(&incident.errors.join("; ")))),
    }
    if incident.times_today > 1 {
        lines.push(format!("{} times today", incident.times_today));
    }
    lines.push(format!("`fathom explain {}`", incident.folder.display()));
    lines.join("\n")
}

fn cause(cause: &Named) -> String {
    let remedy = cause.remedies.first().map_or_else(String::new, |remedy| format!(" → {}", plain(remedy)));
    format!("• *{}* {} {:.0} %: {}{remedy}", cause.id, cause.verdict, cause.share * 100.0, plain(&cause.says))
}

/// Names that came from elsewhere call nobody and break no line: these letters mean something in such texts.
fn plain(text: &str) -> String {
    let plain = text.chars().map(|c| match c {
        '<' => '‹',
        '>' => '›',
        '&' => '+',
        '@' => '＠',
        '`' | '*' => '\'',
        c if c.is_control() => ' ',
        c => c,
    });
    plain.collect()
}

fn alert(incident: &Incident) -> Value {
    let main = incident.jvm.as_ref().map_or("unknown", |jvm| jvm.main.as_str());
    let kind = incident.trigger.as_ref().map_or("recovered", |trigger| trigger.kind.name());
    let at_ns = incident.trigger.as_ref().map_or_else(|| Timestamp::now().as_nanosecond(), |t| i128::from(t.at_ns));
    let starts = Timestamp::from_nanosecond(at_ns).unwrap_or(Timestamp::UNIX_EPOCH);
    let ends = Timestamp::now().checked_add(ALERT_STANDS).unwrap_or(Timestamp::MAX);
    json!({
        "labels": {
            "alertname": "FathomIncident",
            "instance": incident.host,
            "service": main,
            "trigger": kind,
            "cause": incident.cause().unwrap_or("none"),
        },
        "annotations": { "summary": incident.line(), "recording": incident.folder },
        "startsAt": starts.to_string(),
        "endsAt": ends.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incident::{AboutJvm, Verdict};
    use crate::triggers::Trigger;

    fn incident() -> Incident {
        let cause = Named {
            id: "full_gc".to_owned(),
            verdict: "shown".to_owned(),
            share: 0.95,
            says: "23 collections <of> 200 ms, says @here".to_owned(),
            remedies: vec!["a larger heap".to_owned()],
        };
        Incident {
            schema: 1,
            id: "x".to_owned(),
            host: "h".to_owned(),
            jvm: Some(AboutJvm { pid: 7, main: "shop.*Cart".to_owned(), ..AboutJvm::default() }),
            trigger: Some(Trigger::by_hand(1_700_000_000_000_000_000)),
            times_today: 2,
            folder: "/var/lib/fathom/x.fathom".into(),
            before_ns: 0,
            after_ns: 0,
            ended: String::new(),
            verdict: Some(Verdict { says: "slow 10 s".to_owned(), causes: vec![cause], ..Verdict::default() }),
            errors: Vec::new(),
        }
    }

    #[test]
    fn each_receiver_gets_what_it_understands() {
        let json = body(Format::Json, &incident());
        assert_eq!((&json["jvm"]["pid"], &json["verdict"]["causes"][0]["id"]), (&json!(7), &json!("full_gc")));
        let slack = body(Format::Slack, &incident());
        assert_eq!(
            slack["text"],
            "*`shop.'Cart` (pid 7) on h*: somebody asked for it\nslow 10 s\n\
             • *full_gc* shown 95 %: 23 collections ‹of› 200 ms, says ＠here → a larger heap\n2 times today\n\
             `fathom explain /var/lib/fathom/x.fathom`"
        );
        let alert = &body(Format::Alertmanager, &incident())[0];
        assert_eq!(alert["labels"]["cause"], "full_gc");
        assert_eq!(alert["startsAt"], "2023-11-14T22:13:20Z");
        let without = Incident { verdict: None, jvm: None, trigger: None, errors: vec!["e".to_owned()], ..incident() };
        assert_eq!(body(Format::Alertmanager, &without)[0]["labels"]["cause"], "none");
        assert!(body(Format::Slack, &without)["text"].as_str().unwrap().contains("no verdict: e"));
    }
}
