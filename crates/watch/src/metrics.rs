//! What Prometheus reads: `/metrics`, and what the service costs itself.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use rustix::time::{ClockId, clock_gettime};

use crate::latencies::{Labels, RequestSeconds};
use crate::signals::Second;

type Value = Gauge<f64, AtomicU64>;

/// Everything that is counted.
#[derive(Debug, Default, Clone)]
pub(crate) struct Metrics {
    jvms: Gauge,
    signals: Family<Labels, Value>,
    requests: RequestSeconds,
    triggers: Family<Labels, Counter>,
    skipped: Family<Labels, Counter>,
    verdicts: Family<Labels, Counter>,
    reported: Family<Labels, Counter>,
    refused: Family<Labels, Counter>,
    not_seen: Family<Labels, Gauge>,
    dropped: Counter,
    minutes: Family<Labels, Counter>,
    own_cpu: Counter<f64, AtomicU64>,
    own_memory: Gauge,
}

/// A JVM as labels name it.
pub(crate) fn of_jvm(main: &str, pid: u32) -> Labels {
    vec![("service", main.to_owned()), ("pid", pid.to_string())]
}

impl Metrics {
    /// With the names under which they are reported.
    pub(crate) fn registry(&self) -> Registry {
        let mut registry = Registry::with_prefix("fathom");
        let own = self.clone();
        registry.register("jvms", "JVMs that are watched", own.jvms);
        registry.register("signal", "Signals of the last second, as rules name them", own.signals);
        own.requests.register(&mut registry);
        registry.register("triggers", "Reasons to record", own.triggers);
        registry.register("not_recorded", "Reasons that did not become a recording, by why", own.skipped);
        registry.register("incidents", "Recordings with a verdict, by the cause with the largest share", own.verdicts);
        registry.register("told", "Webhooks and commands", own.reported);
        registry.register("refused", "Collectors that could not see a JVM", own.refused);
        registry.register("not_seen", "1 for each collector that sees a JVM not at all or in part", own.not_seen);
        registry.register("rows_dropped", "Rows of JVMs for which there was no room in memory", own.dropped);
        registry.register("minutes", "Rows of minutes that were written, or could not be", own.minutes);
        registry.register("own_cpu_seconds", "CPU time of this service", own.own_cpu);
        registry.register("own_memory_bytes", "Memory of this service that is resident", own.own_memory);
        registry
    }

    /// How many JVMs are watched.
    pub(crate) fn set_jvms(&self, count: usize) {
        self.jvms.set(count as i64);
    }

    /// Signals of one second of a JVM. What could not be seen is not there, whatever it was before.
    pub(crate) fn second(&self, jvm: &Labels, second: &Second) {
        self.dropped.inc_by(u64::try_from(second.dropped).unwrap_or(0));
        self.requests.add(jvm, &second.ports);
        for (name, _) in crate::signals::NAMES {
            let mut labels = jvm.clone();
            labels.push(("name", name.to_owned()));
            match second.values.get(name) {
                Some(value) => drop(self.signals.get_or_create(&labels).set(*value)),
                None => drop(self.signals.remove(&labels)),
            }
        }
    }

    /// Nothing is seen of a JVM for a while.
    pub(crate) fn pause(&self, jvm: &Labels) {
        self.second(jvm, &Second::default());
    }

    /// A JVM has ended.
    pub(crate) fn forget(&self, jvm: &Labels) {
        self.pause(jvm);
        self.requests.forget(jvm);
        for collector in fathom_collectors::collectors() {
            self.not_seen(jvm, collector.name(), false);
        }
    }

    /// A collector sees a JVM not at all or in part, or all that it can.
    pub(crate) fn not_seen(&self, jvm: &Labels, collector: &str, is: bool) {
        let mut labels = jvm.clone();
        labels.push(("collector", collector.to_owned()));
        match is {
            true => drop(self.not_seen.get_or_create(&labels).set(1)),
            false => drop(self.not_seen.remove(&labels)),
        }
    }

    /// A reason to record, and why it was none.
    pub(crate) fn triggered(&self, kind: &str, skip: Option<&str>) {
        self.triggers.get_or_create(&vec![("kind", kind.to_owned())]).inc();
        if let Some(why) = skip {
            self.skipped.get_or_create(&vec![("why", why.to_owned())]).inc();
        }
    }

    /// A recording has its verdict.
    pub(crate) fn concluded(&self, cause: &str) {
        self.verdicts.get_or_create(&vec![("cause", cause.to_owned())]).inc();
    }

    /// A report was delivered, or could not be.
    pub(crate) fn reported(&self, by: &str, is_done: bool) {
        let result = if is_done { "done" } else { "given_up" };
        self.reported.get_or_create(&vec![("by", by.to_owned()), ("result", result.to_owned())]).inc();
    }

    /// A row of a minute was written, or could not be.
    pub(crate) fn minute(&self, is_kept: bool) {
        let result = if is_kept { "kept" } else { "dropped" };
        self.minutes.get_or_create(&vec![("result", result.to_owned())]).inc();
    }

    /// A collector was refused.
    pub(crate) fn refused(&self, collector: &str) {
        self.refused.get_or_create(&vec![("collector", collector.to_owned())]).inc();
    }

    /// Reads what this process has cost.
    pub(crate) fn look_at_self(&self) {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let now_s = cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9;
        self.own_cpu.inc_by((now_s - self.own_cpu.get()).max(0.0));
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<i64>().ok()).unwrap_or(0);
        self.own_memory.set(pages * rustix::param::page_size() as i64);
    }
}

/// A client that sends its request slower than this gets no answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A request line and its headers are smaller.
const REQUEST_MAX_BYTES: u64 = 16 << 10;

/// Answers `GET /metrics`, one connection after the other, until the process ends.
pub(crate) fn serve(listener: &TcpListener, registry: &Arc<Registry>) {
    for stream in listener.incoming().flatten() {
        // Who goes away gets nothing.
        let _ = answer(&stream, registry);
    }
}

fn answer(mut stream: &TcpStream, registry: &Registry) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut lines = BufReader::new(stream.take(REQUEST_MAX_BYTES));
    let mut first = String::new();
    lines.read_line(&mut first)?;
    // Headers are read to their end: closing with unread bytes would cut the answer off.
    let mut header = String::new();
    while lines.read_line(&mut header)? > 2 {
        header.clear();
    }
    let (status, body) = match first.split(' ').nth(1) {
        Some("/metrics") if first.starts_with("GET ") => {
            let mut body = String::new();
            encode(&mut body, registry).map_err(std::io::Error::other)?;
            ("200 OK", body)
        }
        _ => ("404 Not Found", "only /metrics is here\n".to_owned()),
    };
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::thread;

    use super::*;
    use crate::levels::Level;
    use crate::port::PortSecond;
    use crate::signals::Values;

    /// Five requests of some 3 ms and two of some 6 ms.
    fn answered() -> BTreeMap<String, PortSecond> {
        let mut second = PortSecond::default();
        second.answered.add(Level::of_ns(3_000_000), 5);
        second.answered.add(Level::of_ns(6_000_000), 2);
        BTreeMap::from([(":8080".to_owned(), second)])
    }

    fn ask(address: std::net::SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn what_is_counted_is_reported() {
        let metrics = Metrics::default();
        let jvm = of_jvm("shop.Cart", 7);
        let values = Values::from([("jvm.threads", 42.0)]);
        let of_requests = Values::from([("jvm.threads", 42.0), ("requests.p95_ms", 3.0)]);
        metrics.second(&jvm, &Second { values: of_requests, ports: answered(), ..Second::default() });
        metrics.second(&jvm, &Second { values, dropped: 5, ..Second::default() });
        metrics.triggered("stop", Some("cool_down"));
        metrics.not_seen(&jvm, "block", true);
        metrics.not_seen(&jvm, "cgroup", true);
        metrics.not_seen(&jvm, "cgroup", false);
        metrics.look_at_self();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let registry = Arc::new(metrics.registry());
        thread::spawn(move || serve(&listener, &registry));
        let text = ask(address, "/metrics");
        for expected in [
            "fathom_signal{service=\"shop.Cart\",pid=\"7\",name=\"jvm.threads\"} 42.0",
            "fathom_request_seconds_bucket{le=\"0.004194304\",service=\"shop.Cart\",pid=\"7\",port=\"8080\"} 5",
            "fathom_request_seconds_bucket{le=\"0.008388608\",service=\"shop.Cart\",pid=\"7\",port=\"8080\"} 7",
            "fathom_triggers_total{kind=\"stop\"} 1",
            "fathom_not_recorded_total{why=\"cool_down\"} 1",
            "fathom_not_seen{service=\"shop.Cart\",pid=\"7\",collector=\"block\"} 1",
            "fathom_own_cpu_seconds_total",
            "fathom_rows_dropped_total 5",
        ] {
            assert!(text.contains(expected), "{expected} in {text}");
        }
        assert!(!text.contains("cgroup"), "it sees all again: {text}");
        assert!(!text.contains("requests.p95_ms"), "what was there a second ago: {text}");
        assert!(ask(address, "/").starts_with("HTTP/1.1 404"));
        metrics.forget(&jvm);
        assert!(!ask(address, "/metrics").contains("shop.Cart"));
    }

    #[test]
    fn the_dashboard_asks_for_what_there_is() {
        let metrics = Metrics::default();
        let jvm = of_jvm("shop.Cart", 7);
        let values = crate::signals::NAMES.map(|(name, _)| (name, 1.0)).into_iter().collect();
        metrics.second(&jvm, &Second { values, ports: answered(), ..Second::default() });
        metrics.triggered("stop", Some("cool_down"));
        metrics.concluded("none");
        metrics.reported("webhook", false);
        metrics.refused("requests");
        metrics.minute(false);
        let mut reported = String::new();
        encode(&mut reported, &metrics.registry()).unwrap();
        let dashboard: serde_json::Value = serde_json::from_str(include_str!("../service/grafana.json")).unwrap();
        let queries: Vec<&str> = dashboard["panels"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|panel| panel["targets"].as_array().unwrap())
            .map(|target| target["expr"].as_str().unwrap())
            .collect();
        assert!(queries.len() > 15, "{queries:?}");
        for query in queries {
            let at = query.find("fathom_").unwrap();
            let rest = &query[at..];
            let name = &rest[..rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len())];
            let is_reported = |line: &str| line.starts_with(name) && line[name.len()..].starts_with(['{', ' ']);
            assert!(reported.lines().any(is_reported), "{name} of {query} is not in {reported}");
            let signal = rest.split("name=\"").nth(1).and_then(|rest| rest.split('"').next());
            assert!(signal.is_none_or(|signal| reported.contains(&format!("name=\"{signal}\""))), "{query}");
        }
    }
}
