//! The results of a run: as JSON, as text, and each request for `--latency`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::rc::Rc;

use fathom_report::clean;
use serde::Serialize;

use super::engine::{Engine, Sent};
use super::fakes::Did;
use super::judge;
use super::machine::Machine;
use super::numbers::{Times, ms};
use super::schedule::Due;

/// Version of the JSON.
const SCHEMA: u32 = 1;

/// How many routes are shown; JSON has all.
const ROUTES_SHOWN: usize = 12;

/// What vegeta's client says of requests that it gave up.
const GIVEN_UP: &str = "deadline exceeded";

/// The whole answer.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    schema: u32,
    /// `measured`, or `inconclusive`: the generator was too slow itself.
    outcome: &'static str,
    /// Why it is inconclusive.
    reasons: Vec<String>,
    from: String,
    to: String,
    folder: String,
    seed: u64,
    requests: usize,
    duration_ns: i64,
    rate: f64,
    /// What has to be said of the source.
    notes: Vec<String>,
    generator: Generator,
    /// What stood in for services that the server calls.
    fakes: Vec<Did>,
    /// Only of a run that is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Measured>,
}

/// The generator itself.
#[derive(Debug, Serialize)]
struct Generator {
    lag: Times,
    /// How many CPUs it used on average, of how many; none on kernels that do not say.
    cpu_ratio: Option<f64>,
    cpus: u32,
    run_queue_ns_per_request: Option<i64>,
    /// What the machine did meanwhile; none on kernels that do not say.
    machine: Option<Machine>,
    /// Whether its threads came before those of other programs (SCHED_FIFO).
    real_time: bool,
    under_way_max: u32,
    workers: u32,
}

/// What the server did.
#[derive(Debug, Serialize)]
struct Measured {
    from_sent: Times,
    from_scheduled: Times,
    bytes: u64,
    statuses: BTreeMap<u16, usize>,
    /// Requests without an answer, by the reason.
    without_answer: BTreeMap<String, usize>,
    routes: Vec<Route>,
}

/// Requests with one path; parts of it that are numbers or ids are `*`.
#[derive(Debug, Default, Serialize)]
struct Route {
    route: String,
    requests: usize,
    /// Without an answer, or with a status from 500 on.
    failed: usize,
    from_scheduled: Times,
}

/// What was asked for.
pub(super) struct Asked<'a> {
    pub(super) from: String,
    pub(super) to: &'a str,
    pub(super) folder: String,
    pub(super) seed: u64,
    pub(super) notes: Vec<String>,
    pub(super) fakes: Vec<Did>,
    /// The requests of the schedule, and which of them was due when.
    pub(super) requests: &'a [(String, f64)],
    pub(super) due: &'a [Due],
}

/// What was sent, with the route that each request had.
fn with_routes<'a>(asked: &Asked<'a>, sent: &'a [Sent]) -> impl Iterator<Item = (&'a Sent, Rc<str>)> {
    let of_each: Vec<Rc<str>> = asked.requests.iter().map(|(request, _)| route_of(request).into()).collect();
    sent.iter().zip(asked.due).map(move |(one, due)| (one, Rc::clone(&of_each[due.request as usize])))
}

impl Summary {
    pub(super) fn new(asked: Asked, sent: &[Sent], engine: &Engine, machine: Option<Machine>) -> Summary {
        let lag = judge::lag(sent);
        let reasons = judge::reasons(sent, &lag, engine, machine.as_ref());
        let duration_ns = sent.last().map_or(0, |last| last.due_ns);
        Summary {
            schema: SCHEMA,
            outcome: if reasons.is_empty() { "measured" } else { "inconclusive" },
            measured: reasons.is_empty().then(|| measured(&asked, sent)),
            reasons,
            requests: sent.len(),
            duration_ns,
            rate: sent.len() as f64 / (duration_ns.max(1) as f64 / 1e9),
            generator: generator(lag, sent, engine, machine),
            from: asked.from,
            to: asked.to.to_owned(),
            folder: asked.folder,
            seed: asked.seed,
            notes: asked.notes,
            fakes: asked.fakes,
        }
    }

    pub(super) fn is_measured(&self) -> bool {
        self.measured.is_some()
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "{} requests in {:.1} s ({:.1}/s) from {} to {}, seed {}\n",
            self.requests,
            self.duration_ns as f64 / 1e9,
            self.rate,
            clean::line(&self.from),
            clean::line(&self.to),
            self.seed
        );
        self.notes.iter().for_each(|note| text += &format!("  {}\n", clean::line(note)));
        text += &self.generator.text();
        self.fakes.iter().for_each(|fake| text += &fake.text());
        match &self.measured {
            Some(measured) => text += &measured.text(&self.generator.lag),
            None => text += &format!("\nINCONCLUSIVE, {}\n", self.reasons.join("; ")),
        }
        let files = match self.is_measured() {
            true => "requests.csv (for --latency), latency.hlog (HDR histograms), summary.json",
            false => "summary.json; a latency of this run would be the generator's",
        };
        text += &format!("\n{}: {files}\n", clean::line(&self.folder));
        text
    }
}

impl Generator {
    fn text(&self) -> String {
        let cpu = match (self.cpu_ratio, self.run_queue_ns_per_request) {
            (Some(ratio), Some(waited)) => {
                format!("{ratio:.2} of {} CPUs, {} in run queues for each request", self.cpus, ms(waited))
            }
            _ => "its CPU and run queues are not known on this kernel".to_owned(),
        };
        format!(
            "generator: p99 lag {} at {} priority, {cpu}, at most {} of {} workers busy\n",
            ms(self.lag.p99_ns),
            if self.real_time { "real-time" } else { "normal" },
            self.under_way_max,
            self.workers
        ) + &self.machine.as_ref().map_or(String::new(), Machine::text)
    }
}

fn generator(lag: Times, sent: &[Sent], engine: &Engine, machine: Option<Machine>) -> Generator {
    Generator {
        lag,
        cpu_ratio: judge::cpu_ratio(engine),
        cpus: engine.cpus,
        run_queue_ns_per_request: judge::run_queue_ns(sent, engine),
        machine,
        real_time: engine.real_time,
        under_way_max: engine.under_way,
        workers: engine.workers,
    }
}

/// Whether the length of a request is a latency: it was answered, or waited for until the timeout.
fn is_latency(sent: &Sent) -> bool {
    sent.status != 0 || sent.error.contains(GIVEN_UP)
}

fn measured(asked: &Asked, sent: &[Sent]) -> Measured {
    let times = |from: fn(&Sent) -> i64| {
        Times::of(sent.iter().filter(|one| is_latency(one)).map(|one| one.ended_ns - from(one)).collect())
    };
    let mut statuses = BTreeMap::new();
    let mut without_answer = BTreeMap::new();
    for one in sent {
        match one.status {
            0 => *without_answer.entry(reason(&one.error)).or_default() += 1,
            status => *statuses.entry(status).or_default() += 1,
        }
    }
    Measured {
        from_sent: times(|one| one.sent_ns),
        from_scheduled: times(|one| one.due_ns),
        bytes: sent.iter().map(|one| one.bytes).sum(),
        statuses,
        without_answer,
        routes: routes(asked, sent),
    }
}

/// What the system said at last: `Get "http://h/x": dial tcp: connection refused` differs for every path.
fn reason(error: &str) -> String {
    match error.contains(GIVEN_UP) {
        true => "given up after the timeout".to_owned(),
        false => clean::shorten(error.rsplit(": ").next().unwrap_or(error), 60),
    }
}

fn routes(asked: &Asked, sent: &[Sent]) -> Vec<Route> {
    let mut by_route: BTreeMap<Rc<str>, (Route, Vec<i64>)> = BTreeMap::new();
    for (one, route) in with_routes(asked, sent) {
        let (route, times) = by_route.entry(route).or_default();
        route.requests += 1;
        route.failed += usize::from(one.status == 0 || one.status >= 500);
        times.extend(is_latency(one).then_some(one.ended_ns - one.due_ns));
    }
    let mut routes: Vec<Route> = by_route
        .into_iter()
        .map(|(name, (route, times))| Route { route: name.to_string(), from_scheduled: Times::of(times), ..route })
        .collect();
    routes.sort_by_key(|route| std::cmp::Reverse(route.requests));
    routes
}

/// `GET /orders/*` of `GET /orders/4711?full=1`.
fn route_of(request: &str) -> String {
    let path = request.split('?').next().unwrap_or(request);
    let is_id = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        let is_hex = part.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        digits > 0 && (digits == part.len() || (is_hex && part.len() >= 8))
    };
    let parts: Vec<&str> = path.split('/').map(|part| if is_id(part) { "*" } else { part }).collect();
    parts.join("/")
}

impl Measured {
    fn text(&self, lag: &Times) -> String {
        let mut text =
            format!("\n{:<16}{:>12}{:>12}{:>12}{:>12}{:>12}   ms\n", "", "p50", "p90", "p99", "p99.9", "max");
        for (name, times) in [("lag", lag), ("from sent", &self.from_sent), ("from scheduled", &self.from_scheduled)] {
            let Times { p50_ns, p90_ns, p99_ns, p999_ns, max_ns } = *times;
            text += &format!("{name:<16}");
            [p50_ns, p90_ns, p99_ns, p999_ns, max_ns].into_iter().for_each(|ns| text += &column(ns));
            text.push('\n');
        }
        text += &format!("\n{}\n", self.answers());
        text += &format!("\n{:<40}{:>12}{:>12}{:>12}{:>12}\n", "route", "requests", "p50", "p99", "failed");
        for route in self.routes.iter().take(ROUTES_SHOWN) {
            text += &format!("{:<40}{:>12}", clean::shorten(&route.route, 39), route.requests);
            text += &column(route.from_scheduled.p50_ns);
            text += &column(route.from_scheduled.p99_ns);
            text += &format!("{:>12}\n", route.failed);
        }
        if let Some(more) = self.routes.len().checked_sub(ROUTES_SHOWN).filter(|more| *more > 0) {
            text += &format!("and {more} more in summary.json\n");
        }
        text
    }

    fn answers(&self) -> String {
        let statuses = self.statuses.iter().map(|(status, count)| format!("{count} × {status}"));
        let without = self.without_answer.iter().map(|(reason, count)| format!("{count} × {reason}"));
        format!("answers: {}", statuses.chain(without).collect::<Vec<_>>().join(", "))
    }
}

fn column(ns: i64) -> String {
    format!("{:>12.3}", ns as f64 / 1e6)
}

/// Every request that has a latency, from when it was due: what `--latency` reads.
pub(super) fn requests_csv(asked: &Asked, sent: &[Sent], began_ns: i64) -> String {
    let mut csv = "time,latency_ms,request,lag_ms,from_sent_ms,status,bytes\n".to_owned();
    for (one, route) in with_routes(asked, sent).filter(|(one, _)| is_latency(one)) {
        // Writing to a text does not fail.
        let _ = writeln!(
            csv,
            "{},{:.6},\"{route}\",{:.6},{:.6},{},{}",
            began_ns + one.due_ns,
            (one.ended_ns - one.due_ns) as f64 / 1e6,
            (one.sent_ns - one.due_ns) as f64 / 1e6,
            (one.ended_ns - one.sent_ns) as f64 / 1e6,
            one.status,
            one.bytes
        );
    }
    csv
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUESTS: [&str; 2] = ["GET /orders/4711?full=1", "GET /"];

    fn sent() -> Vec<Sent> {
        let one = |due_ns, status, error: &str| Sent {
            due_ns,
            sent_ns: due_ns + 20_000,
            ended_ns: due_ns + 3_000_000,
            status,
            bytes: 7,
            error: error.to_owned(),
        };
        let given_up = "Get \"http://h/\": context deadline exceeded";
        vec![
            one(0, 200, ""),
            one(500_000_000, 503, ""),
            one(900_000_000, 0, given_up),
            one(1_000_000_000, 0, "Get \"http://h/\": dial tcp 1.2.3.4:1: connect: connection refused"),
        ]
    }

    fn with<T>(work: impl FnOnce(Asked) -> T) -> T {
        let requests = REQUESTS.map(|text| (text.to_owned(), 1.0));
        let due = [0, 0, 1, 1].map(|request| Due { due_ns: 0, request });
        let asked = Asked {
            from: "access.log".to_owned(),
            to: "http://h",
            folder: "load-1".to_owned(),
            seed: 1,
            notes: vec!["a note".to_owned()],
            fakes: Vec::new(),
            requests: &requests,
            due: &due,
        };
        work(asked)
    }

    fn engine(workers: u32) -> Engine {
        Engine { elapsed_ns: 1_000_000_000, cpus: 2, under_way: 2, workers, ..Engine::default() }
    }

    #[test]
    fn a_run_as_text() {
        let summary = with(|asked| Summary::new(asked, &sent(), &engine(10), None));
        assert!(summary.is_measured());
        let text = summary.text();
        for line in [
            "4 requests in 1.0 s (4.0/s) from access.log to http://h, seed 1\n  a note\n",
            "generator: p99 lag 0.020 ms at normal priority, its CPU and run queues are not known on this kernel, at most 2 of 10 workers busy\n",
            "answers: 1 × 200, 1 × 503, 1 × connection refused, 1 × given up after the timeout\n",
            "\nload-1: requests.csv (for --latency), latency.hlog (HDR histograms), summary.json\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
        let row = |first: &str| {
            let line = text.lines().find(|line| line.starts_with(first)).unwrap_or_else(|| panic!("{first}: {text}"));
            line[first.len()..].split_whitespace().collect::<Vec<_>>()
        };
        assert_eq!(row("from scheduled"), ["3.000"; 5]);
        assert_eq!(row("from sent"), ["2.980"; 5]);
        assert_eq!(row("GET /orders/*"), ["2", "3.000", "3.000", "1"]);
    }

    #[test]
    fn a_refused_run_has_no_latencies() {
        let summary = with(|asked| Summary::new(asked, &sent(), &engine(2), None));
        assert!(!summary.is_measured());
        let json = serde_json::to_value(&summary).unwrap();
        assert_eq!((json["outcome"].as_str(), json.get("measured")), (Some("inconclusive"), None));
        let text = summary.text();
        assert!(
            text.contains("\nINCONCLUSIVE, all 2 workers were busy at once") && !text.contains("from sent"),
            "{text}"
        );
    }

    #[test]
    fn requests_for_explain() {
        let csv = with(|asked| requests_csv(&asked, &sent(), 1_795_156_200_000_000_000));
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 4, "the refused connection has no latency");
        assert_eq!(lines[1], "1795156200000000000,3.000000,\"GET /orders/*\",0.020000,2.980000,200,7");
    }

    #[test]
    fn ids_are_no_routes() {
        for (request, expected) in [
            ("GET /a/b?c=1", "GET /a/b"),
            ("GET /v2/7/x", "GET /v2/*/x"),
            ("GET /u/3f2504e0-4f89-11d3-9a0c-0305e82c3301", "GET /u/*"),
            ("GET /added", "GET /added"),
            ("GET /deadbeef", "GET /deadbeef"),
        ] {
            assert_eq!(route_of(request), expected);
        }
    }
}
