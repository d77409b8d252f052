//! Finds reasons to record, second by second. Pure: signals in, reasons out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::port::{Finding, Floors, Port, Quantile, Rise};
use crate::rare::Late;
use crate::rules::{Rule, Watched, When};
use crate::signals::{STOPS, Second, Values};

/// Ports of one JVM that are followed.
const PORTS_MAX: usize = 32;

/// Kinds of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Requests of a port take longer than they ever do.
    RequestsSlow,
    /// Several requests of one second were held up.
    RequestsStall,
    /// More requests of a port are late than ever, though few.
    RequestsRare,
    /// A port answers nothing.
    RequestsHung,
    /// The whole application stood still.
    Stop,
    /// Something else that is recorded one by one took long.
    Wait,
    /// The CPU quota held the process back.
    Throttled,
    /// The kernel killed a process of the control group because memory ran out.
    OomKill,
    /// The JVM ended without being asked to: killed, crashed, or with an error.
    Vanished,
    /// Sockets of the process dropped what was sent to them, mostly as they were full.
    Lost,
    /// Most services of the host turned slow together, and it is short of something.
    RequestsTogether,
    /// A rule of the configuration.
    Rule,
    /// Requested by hand.
    ByHand,
}

impl Kind {
    /// As rows, metrics and JSON name it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::RequestsSlow => "requests_slow",
            Kind::RequestsStall => "requests_stall",
            Kind::RequestsRare => "requests_rare",
            Kind::RequestsHung => "requests_hung",
            Kind::Stop => "stop",
            Kind::Wait => "wait",
            Kind::Throttled => "throttled",
            Kind::OomKill => "oom_kill",
            Kind::Vanished => "vanished",
            Kind::Lost => "lost",
            Kind::RequestsTogether => "requests_together",
            Kind::Rule => "rule",
            Kind::ByHand => "by_hand",
        }
    }
}

/// How bad a reason is, for those who are notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A few requests were late, or a recording was requested.
    Info,
    /// Requests are slow.
    Warning,
    /// Nothing is answered any more.
    Critical,
}

impl Severity {
    /// As JSON and alerts name it.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Critical => "critical",
        }
    }
}

impl Kind {
    /// How bad it is.
    pub fn severity(self) -> Severity {
        match self {
            Kind::RequestsHung | Kind::OomKill | Kind::Vanished => Severity::Critical,
            Kind::RequestsRare | Kind::Lost | Kind::ByHand => Severity::Info,
            Kind::RequestsSlow
            | Kind::RequestsStall
            | Kind::Stop
            | Kind::Wait
            | Kind::Throttled
            | Kind::RequestsTogether
            | Kind::Rule => Severity::Warning,
        }
    }
}

/// A reason to record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    /// Kind.
    pub kind: Kind,
    /// Which one of its kind: a port, a rule, a kind of event; empty when there is one.
    pub which: String,
    /// One sentence for a person.
    pub says: String,
    /// When it was known, in ns since the Unix epoch.
    pub at_ns: i64,
}

impl Trigger {
    /// A request by hand at this instant.
    pub fn by_hand(at_ns: i64) -> Trigger {
        Trigger { kind: Kind::ByHand, which: String::new(), says: "asked for by hand".to_owned(), at_ns }
    }
}

/// All reasons of one JVM.
#[derive(Debug)]
pub struct Triggers {
    floors: Floors,
    watches_requests: bool,
    warm_up_s: i64,
    stop_ns: i64,
    wait_ns: i64,
    oom_kill: bool,
    lost: bool,
    throttled: Option<Watched>,
    rules: Vec<Watched>,
    ports: BTreeMap<String, Port>,
    /// Of the port with most requests in the last second.
    rise: Option<Rise>,
}

impl Triggers {
    /// Those of a configuration.
    pub fn new(config: &Config) -> Triggers {
        let ns = |time: std::time::Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        Triggers {
            floors: Floors::new(config.requests.slow, config.requests.stall),
            watches_requests: config.requests.enabled,
            warm_up_s: i64::try_from(config.requests.warm_up.as_secs()).unwrap_or(i64::MAX),
            stop_ns: ns(config.events.stop),
            wait_ns: ns(config.events.wait),
            oom_kill: config.events.oom_kill,
            lost: config.events.lost,
            throttled: throttled(config.events.throttled),
            rules: config.rule.iter().cloned().map(Watched::new).collect(),
            ports: BTreeMap::new(),
            rise: None,
        }
    }

    /// Takes the next second of a JVM that is `age_s` old, by a monotonic clock: histories go by it.
    pub fn see(&mut self, at_ns: i64, age_s: i64, second: &Second) -> Vec<Trigger> {
        if age_s < self.warm_up_s {
            return Vec::new();
        }
        let reported = self.of_events(second).chain(self.of_values(second)).chain(self.of_requests(age_s, second));
        reported.map(|(kind, which, says)| Trigger { kind, which, says, at_ns }).collect()
    }

    /// Whether what was reported once, when it began, is still so.
    pub fn lasts(&self, trigger: &Trigger) -> bool {
        let port = self.ports.get(&trigger.which);
        match trigger.kind {
            Kind::RequestsSlow => port.is_some_and(Port::is_slow),
            Kind::RequestsRare => port.is_some_and(Port::is_rarely_late),
            Kind::Rule => self.rules.iter().any(|rule| rule.name() == trigger.which && rule.holds()),
            _ => false,
        }
    }

    /// By how many levels requests of the port that has most of them took longer than usual in the last second; nothing where they were too
    /// few.
    pub fn rise(&self) -> Option<u8> {
        self.rise.map(|rise| rise.levels)
    }

    fn of_events(&self, second: &Second) -> impl Iterator<Item = Reported> + use<> {
        let longest = |is_stop: bool, at_least_ns: i64| {
            let meant = second.events.iter().filter(|event| STOPS.contains(&event.kind.as_str()) == is_stop);
            let longest =
                meant.max_by_key(|event| event.duration_ns).filter(|event| event.duration_ns >= at_least_ns)?;
            Some((longest.kind.clone(), longest.name.clone(), longest.duration_ns as f64 / 1e6))
        };
        let stop = longest(true, self.stop_ns).map(|(_, name, ms)| {
            (Kind::Stop, String::new(), format!("the whole application stood still for {ms:.0} ms ({name})"))
        });
        let wait = longest(false, self.wait_ns)
            .map(|(kind, name, ms)| (Kind::Wait, kind.clone(), format!("{kind} of {ms:.0} ms ({name})")));
        stop.into_iter().chain(wait)
    }

    fn of_values(&mut self, second: &Second) -> impl Iterator<Item = Reported> + use<> {
        let values = &second.values;
        let mut reported = Vec::new();
        if self.oom_kill && values.get("cgroup.oom_kills").is_some_and(|kills| *kills > 0.0) {
            reported.push((
                Kind::OomKill,
                String::new(),
                "the kernel killed a process because memory ran out".to_owned(),
            ));
        }
        if self.lost {
            reported.extend(lost(values));
        }
        let throttled = self.throttled.as_mut().and_then(|rule| rule.see(values));
        reported.extend(throttled.map(|says| (Kind::Throttled, String::new(), says)));
        for rule in &mut self.rules {
            reported.extend(rule.see(values).map(|says| (Kind::Rule, rule.name().to_owned(), says)));
        }
        reported.into_iter()
    }

    fn of_requests(&mut self, at_s: i64, second: &Second) -> impl Iterator<Item = Reported> + use<> {
        let mut reported = Vec::new();
        self.rise = None;
        for (name, requests) in second.ports.iter().filter(|_| self.watches_requests) {
            if self.ports.len() >= PORTS_MAX && !self.ports.contains_key(name) {
                continue;
            }
            let port = self.ports.entry(name.clone()).or_default();
            for finding in port.see(at_s, requests, self.floors) {
                reported.push(sentence(name, &finding));
            }
            self.rise = self.rise.max(port.rise());
        }
        reported.into_iter()
    }
}

/// Kind, which one, and a sentence.
type Reported = (Kind, String, String);

fn throttled(share: f64) -> Option<Watched> {
    let when = When::parse(&format!("cgroup.throttled_ratio > {share} for 5s")).ok().filter(|_| share > 0.0)?;
    Some(Watched::new(Rule { name: "throttled".to_owned(), when }))
}

fn lost(values: &Values) -> impl Iterator<Item = Reported> + use<> {
    let what = [("sockets.datagrams_lost", "datagrams"), ("sockets.connects_lost", "attempts to connect")];
    let counted = what.map(|(signal, what)| (what, values.get(signal).copied().unwrap_or(0.0)));
    counted.into_iter().filter(|(_, count)| *count > 0.0).map(|(what, count)| {
        (
            Kind::Lost,
            what.to_owned(),
            format!("sockets of the process dropped {count:.0} {what} within a second, mostly as they were full"),
        )
    })
}

fn sentence(port: &str, finding: &Finding) -> Reported {
    let ms = |ns: u64| ns as f64 / 1e6;
    let (kind, says) = match finding {
        Finding::Slow { quantile, from_ns, below_ns } => {
            let (from, below) = (ms(*from_ns), ms(*below_ns));
            let says = match quantile {
                Quantile::Tail => format!(
                    "requests of {port} take {from:.3} ms or more (95th percentile), less than {below:.3} ms before"
                ),
                // Known between two levels by how many are of each.
                Quantile::Median => {
                    format!("requests of {port} take about {from:.3} ms (median), less than about {below:.3} ms before")
                }
            };
            (Kind::RequestsSlow, says)
        }
        Finding::Stall { count, from_ns } => {
            let says = format!("{count} requests of {port} took {:.0} ms or more within a second", ms(*from_ns));
            (Kind::RequestsStall, says)
        }
        Finding::Rare(Late { late, of, from_ns, before, before_of }) => {
            let from = ms(*from_ns);
            let says =
                format!("{late} of {of} requests of {port} took {from:.0} ms or more, {before} of {before_of} before");
            (Kind::RequestsRare, says)
        }
        Finding::Hung { under_way, for_s } => {
            let says = format!("{port} has answered nothing for {for_s} s, {under_way} requests lie there");
            (Kind::RequestsHung, says)
        }
    };
    (kind, port.to_owned(), says)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fathom_evidence::kinds::span;

    use super::*;
    use crate::levels::{Latencies, Level};
    use crate::port::PortSecond;
    use crate::signals::Event;

    fn triggers(config: &str) -> Triggers {
        Triggers::new(&Config::parse(config, Path::new("test")).unwrap())
    }

    fn event(kind: &str, ms: i64) -> Second {
        let event = Event { kind: kind.to_owned(), name: "x".to_owned(), duration_ns: ms * 1_000_000 };
        Second { events: vec![event], ..Second::default() }
    }

    fn value(name: &'static str, value: f64) -> Second {
        Second { values: Values::from([(name, value)]), ..Second::default() }
    }

    #[test]
    fn what_a_sentence_says_is_true_of_all_that_it_may_stand_for() {
        let (now, usual) = (Level::of_ns(12_900_000), Level::of_ns(5_100_000));
        let finding = Finding::Slow { quantile: Quantile::Tail, from_ns: now.from_ns(), below_ns: usual.to_ns() };
        let (_, _, says) = sentence(":80", &finding);
        assert_eq!(says, "requests of :80 take 12.583 ms or more (95th percentile), less than 5.243 ms before");
    }

    #[test]
    fn a_clock_that_is_set_back_blinds_nobody() {
        let mut triggers = triggers("");
        let second = |late: bool| {
            let mut answered = Latencies::default();
            answered.add(Level::of_ns(4_000_000), 100 - u32::from(late));
            answered.add(Level::of_ns(60_000_000), u32::from(late));
            let port = PortSecond { answered, under_way: 0 };
            Second { ports: BTreeMap::from([(":80".to_owned(), port)]), ..Second::default() }
        };
        let mut reported = (0..600).flat_map(|at_s| {
            let set_back_s = if at_s < 300 { 0 } else { 3600 };
            triggers.see((100_000 + at_s - set_back_s) * 1_000_000_000, 1000 + at_s, &second(at_s >= 420))
        });
        let rare = reported.next().unwrap();
        assert_eq!((rare.kind, reported.next()), (Kind::RequestsRare, None));
        assert!(triggers.lasts(&rare) && !triggers.lasts(&Trigger { kind: Kind::RequestsSlow, ..rare }));
    }

    #[test]
    fn a_port_that_is_asked_no_more_rises_no_more() {
        let mut triggers = triggers("");
        let mut rise = |at_s: i64, ms: u64, name: &str| {
            let mut answered = Latencies::default();
            answered.add(Level::of_ns(ms * 1_000_000), 30);
            let port = PortSecond { answered, under_way: 0 };
            let ports = BTreeMap::from([(name.to_owned(), port)]);
            triggers.see(at_s, 1000 + at_s, &Second { ports, ..Second::default() });
            triggers.rise()
        };
        (0..100).for_each(|at_s| assert!(rise(at_s, 8, ":80").is_none_or(|levels| levels == 0)));
        assert_eq!((rise(100, 20, ":80"), rise(101, 8, ":81")), (Some(5), None));
    }

    #[test]
    fn events_and_values_are_reasons() {
        let config = "[[rule]]\nname = \"many\"\nwhen = \"jvm.threads > 100 for 2s\"";
        for (name, seconds, expected) in [
            ("a long stop", vec![event(span::GC_PAUSE, 600)], vec![Kind::Stop]),
            ("a short stop", vec![event(span::SAFEPOINT, 400)], vec![]),
            ("a page", vec![event(span::PAGE_FAULT, 600)], vec![Kind::Wait]),
            ("a kill", vec![value("cgroup.oom_kills", 1.0)], vec![Kind::OomKill]),
            ("a full socket", vec![value("sockets.datagrams_lost", 3.0)], vec![Kind::Lost]),
            ("nothing lost", vec![value("sockets.connects_lost", 0.0)], vec![]),
            ("throttled", vec![value("cgroup.throttled_ratio", 0.5); 6], vec![Kind::Throttled]),
            ("throttled a little", vec![value("cgroup.throttled_ratio", 0.1); 60], vec![]),
            ("a rule", vec![value("jvm.threads", 101.0); 3], vec![Kind::Rule]),
        ] {
            let mut triggers = triggers(config);
            let reported: Vec<Kind> = seconds
                .iter()
                .enumerate()
                .flat_map(|(at, second)| triggers.see(at as i64, 1000, second))
                .map(|trigger| trigger.kind)
                .collect();
            assert_eq!(reported, expected, "{name}");
            assert_eq!(triggers.see(0, 10, &seconds[0]), [], "{name}: at the start of the JVM");
        }
    }
}
