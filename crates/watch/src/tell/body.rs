//! Bodies of webhooks.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::notice::Notice;
use crate::config::Format;
use crate::incident::{AboutJvm, Incident, Named, Stage, Verdict};
use crate::triggers::Severity;

/// How long an alert stays open that is not resolved.
const ALERT_STANDS: SignedDuration = SignedDuration::from_hours(1);

/// What a message says.
pub(super) enum News<'a> {
    /// That something was noticed, or is not recorded.
    Notice(&'a Notice),
    /// What came of it.
    Verdict(&'a Incident),
}

impl News<'_> {
    /// The incident.
    pub(super) fn id(&self) -> &str {
        match self {
            News::Notice(notice) => &notice.id,
            News::Verdict(incident) => &incident.id,
        }
    }

    /// Whether a verdict follows.
    pub(super) fn is_followed(&self) -> bool {
        matches!(self, News::Notice(notice) if notice.stage == Stage::Noticed)
    }
}

/// The body of this format; `page` is where people reach the page.
pub(super) fn body(format: Format, news: &News<'_>, page: Option<&str>) -> Value {
    let mut body = match format {
        Format::Json => {
            let mut document = match news {
                News::Notice(notice) => json!(notice),
                News::Verdict(incident) => json!(incident),
            };
            document["page"] = json!(page);
            document
        }
        Format::Slack => json!({ "text": text(news, page) }),
        Format::Alertmanager => json!([alert(news, page)]),
    };
    without_controls(&mut body);
    body
}

/// Texts that a JVM or a file said (its version, its main class) do nothing to a terminal on which a receiver shows them.
fn without_controls(value: &mut Value) {
    match value {
        Value::String(text) if text.contains(is_control) => *text = text.replace(is_control, " "),
        Value::Array(all) => all.iter_mut().for_each(without_controls),
        Value::Object(fields) => fields.values_mut().for_each(without_controls),
        _ => {}
    }
}

/// Lines of a message stay lines.
fn is_control(letter: char) -> bool {
    letter.is_control() && letter != '\n'
}

fn text(news: &News<'_>, page: Option<&str>) -> String {
    let mut lines = match news {
        News::Notice(notice) => {
            let mut lines = vec![first(Some(&notice.jvm), &notice.host, &notice.trigger.says, notice.severity)];
            lines.push(notice.but.first().cloned().unwrap_or_else(|| notice.follows().to_owned()));
            lines
        }
        News::Verdict(incident) => of_incident(incident),
    };
    lines.extend(page.map(str::to_owned));
    lines.join("\n")
}

fn first(jvm: Option<&AboutJvm>, host: &str, why: &str, severity: Severity) -> String {
    let who = jvm.map_or_else(|| "a JVM".to_owned(), |jvm| format!("`{}` (pid {})", plain(&jvm.main), jvm.pid));
    let mark = if severity == Severity::Critical { "critical: " } else { "" };
    format!("{mark}*{who} on {}*: {}", plain(host), plain(why))
}

fn of_incident(incident: &Incident) -> Vec<String> {
    let why = incident.trigger.as_ref().map_or("found after a crash", |trigger| trigger.says.as_str());
    let why = format!("{why}{}", incident.also());
    let mut lines = vec![first(incident.jvm.as_ref(), &incident.host, &why, incident.severity)];
    match &incident.verdict {
        Some(verdict) => {
            lines.push(plain(&verdict.says));
            lines.extend(verdict.causes.iter().map(cause));
            lines.extend(requests(verdict));
            lines.extend(verdict.but.iter().map(|but| format!("but: {}", plain(but))));
        }
        None => lines.push(format!("no verdict: {}", plain(&incident.errors.join("; ")))),
    }
    lines.extend(incident.not_seen.iter().map(|what| format!("not seen: {}", plain(what))));
    if incident.times_today > 1 {
        lines.push(format!("{} times today", incident.times_today));
    }
    lines.push(format!("`fathom explain {}`", incident.folder.display()));
    lines
}

fn requests(verdict: &Verdict) -> Option<String> {
    let (late, unanswered) = (verdict.requests_late?, verdict.requests_unanswered?);
    (late + unanswered > 0).then(|| format!("{late} requests late, {unanswered} without an answer"))
}

fn cause(cause: &Named) -> String {
    let remedy = cause.remedies.first().map_or_else(String::new, |remedy| format!(" → {}", plain(remedy)));
    format!("• *{}* {} {:.0} %: {}{remedy}", cause.id, cause.verdict, cause.share * 100.0, plain(&cause.says))
}

/// Names from elsewhere must not mention people or break lines: these letters have a meaning in such texts.
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

/// One alert for the reason, which the verdict goes on with: what identifies an alert are its labels, so that the cause is none of them.
fn alert(news: &News<'_>, page: Option<&str>) -> Value {
    let (jvm, trigger, host, severity) = match news {
        News::Notice(notice) => (Some(&notice.jvm), Some(&notice.trigger), &notice.host, notice.severity),
        News::Verdict(incident) => {
            (incident.jvm.as_ref(), incident.trigger.as_ref(), &incident.host, incident.severity)
        }
    };
    let (summary, cause, recording) = match news {
        News::Notice(notice) => (notice.line(), "none", None),
        News::Verdict(incident) => (incident.line(), incident.cause().unwrap_or("none"), Some(&incident.folder)),
    };
    let at_ns = trigger.map_or_else(|| Timestamp::now().as_nanosecond(), |trigger| i128::from(trigger.at_ns));
    let starts = Timestamp::from_nanosecond(at_ns).unwrap_or(Timestamp::UNIX_EPOCH);
    let ends = Timestamp::now().checked_add(ALERT_STANDS).unwrap_or(Timestamp::MAX);
    json!({
        "labels": {
            "alertname": "FathomIncident",
            "instance": host,
            "service": jvm.map_or("unknown", |jvm| jvm.main.as_str()),
            "trigger": trigger.map_or("recovered", |trigger| trigger.kind.name()),
            "severity": severity.name(),
            "incident": news.id(),
        },
        "annotations": { "summary": summary, "cause": cause, "recording": recording, "page": page },
        "startsAt": starts.to_string(),
        "endsAt": ends.to_string(),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::skip::Skip;
    use crate::triggers::Trigger;

    pub(in crate::tell) fn incident() -> Incident {
        let cause = Named {
            id: "full_gc".to_owned(),
            verdict: "shown".to_owned(),
            share: 0.95,
            says: "23 collections <of> 200 ms, says @here".to_owned(),
            remedies: vec!["a larger heap".to_owned()],
        };
        Incident {
            schema: 1,
            stage: Stage::Verdict,
            id: "x".to_owned(),
            host: "h".to_owned(),
            jvm: Some(AboutJvm { pid: 7, main: "shop.*Cart".to_owned(), ..AboutJvm::default() }),
            trigger: Some(Trigger::by_hand(1_700_000_000_000_000_000)),
            severity: Severity::Info,
            times_today: 2,
            not_recorded: None,
            part_of: None,
            is_awaited: false,
            also_hit: Vec::new(),
            folder: "/var/lib/fathom/x.fathom".into(),
            before_ns: 0,
            after_ns: 0,
            ended: String::new(),
            not_seen: vec!["block: no rights".to_owned()],
            verdict: Some(Verdict {
                says: "slow 10 s".to_owned(),
                causes: vec![cause],
                but: vec!["2 s were not judged".to_owned()],
                requests_late: Some(7),
                requests_unanswered: Some(0),
                ..Verdict::default()
            }),
            errors: Vec::new(),
        }
    }

    #[test]
    fn each_receiver_gets_what_it_understands() {
        let of = |format, incident: &Incident| body(format, &News::Verdict(incident), Some("http://page/"));
        let json = of(Format::Json, &incident());
        assert_eq!((&json["jvm"]["pid"], &json["verdict"]["causes"][0]["id"]), (&json!(7), &json!("full_gc")));
        assert_eq!((&json["stage"], &json["page"]), (&json!("verdict"), &json!("http://page/")));
        let slack = of(Format::Slack, &incident());
        assert_eq!(
            slack["text"],
            "*`shop.'Cart` (pid 7) on h*: asked for by hand\nslow 10 s\n\
             • *full_gc* shown 95 %: 23 collections ‹of› 200 ms, says ＠here → a larger heap\n\
             7 requests late, 0 without an answer\nbut: 2 s were not judged\nnot seen: block: no rights\n2 times today\n\
             `fathom explain /var/lib/fathom/x.fathom`\nhttp://page/"
        );
        let alert = &of(Format::Alertmanager, &incident())[0];
        assert_eq!((&alert["annotations"]["cause"], &alert["labels"]["severity"]), (&json!("full_gc"), &json!("info")));
        assert_eq!(alert["startsAt"], "2023-11-14T22:13:20Z");
        let without = Incident { verdict: None, jvm: None, trigger: None, errors: vec!["e".to_owned()], ..incident() };
        assert_eq!(of(Format::Alertmanager, &without)[0]["annotations"]["cause"], "none");
        assert!(of(Format::Slack, &without)["text"].as_str().unwrap().contains("no verdict: e"));
    }

    #[test]
    fn what_a_jvm_says_of_itself_does_nothing_to_a_terminal() {
        let mut incident = incident();
        let jvm =
            AboutJvm { version: "17\u{1b}[2J".to_owned(), main: "a\u{9b}31m\rb".to_owned(), ..AboutJvm::default() };
        (incident.jvm, incident.host) = (Some(jvm), "h\u{7}".to_owned());
        incident.verdict.as_mut().unwrap().causes[0].says = "x\u{1b}]0;y\u{7}".to_owned();
        for format in [Format::Json, Format::Slack, Format::Alertmanager] {
            let body = body(format, &News::Verdict(&incident), None).to_string();
            assert!(!body.contains("\\u00") && !body.contains("\\r") && !body.contains('\u{9b}'), "{body}");
        }
    }

    #[test]
    fn that_something_was_noticed_is_the_same_incident_and_alert() {
        let incident = incident();
        let (jvm, trigger) = (incident.jvm.clone().unwrap(), incident.trigger.clone().unwrap());
        let notice = |skip| Notice { host: "h".to_owned(), ..Notice::of(&jvm, &trigger, ("x", 1), skip, Vec::new()) };
        let noticed = notice(None);
        let labels = |news: &News<'_>| body(Format::Alertmanager, news, None)[0]["labels"].clone();
        assert_eq!(labels(&News::Notice(&noticed)), labels(&News::Verdict(&incident)));
        let slack = body(Format::Slack, &News::Notice(&noticed), None);
        assert_eq!(slack["text"], "*`shop.'Cart` (pid 7) on h*: asked for by hand\nrecording; the verdict follows");
        let ended = Notice { has_ended: true, ..notice(None) };
        let slack = body(Format::Slack, &News::Notice(&ended), None);
        assert!(slack["text"].as_str().unwrap().ends_with("\nits last minute is kept; the verdict follows"));
        let refused = notice(Some(Skip::Hour));
        assert!(News::Notice(&noticed).is_followed() && !News::Notice(&refused).is_followed());
        let json = body(Format::Json, &News::Notice(&refused), None);
        assert_eq!((&json["stage"], &json["why"]), (&json!("not_recorded"), &json!("budget_of_the_hour")));
    }
}
