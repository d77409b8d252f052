//! Counts and requests as rows.

use fathom_evidence::Recording;
use fathom_evidence::detail::{Call, Request, to_text};
use fathom_evidence::kinds::{counter, span, unsent};

use crate::pcap::counts::{Step, Steps, What};
use crate::pcap::exchanges::{Exchange, Hold};
use crate::pcap::packet::Endpoint;
use crate::pcap::roles::Role;
use crate::rates::{Rates, Which};

/// The `source` column of everything that comes from a capture.
pub(super) const SOURCE: &str = "pcap";

/// Requests and calls that are kept, some 100 MB as rows. Of more, each kept one stands for several.
const KEPT_MAX: usize = 1 << 19;

/// What is counted, as counters of requests and of calls, or of neither.
const COUNTERS: [(What, [&str; 2]); 10] = [
    (What::Arrivals, [counter::DATA_ARRIVALS_COUNT; 2]),
    (What::Sends, [counter::DATA_SENDS_COUNT; 2]),
    (What::ReceivedBytes, [counter::RECEIVED_BYTES; 2]),
    (What::SentBytes, [counter::SENT_BYTES; 2]),
    (What::Resent, [counter::SEGMENTS_RESENT_COUNT; 2]),
    (What::Reset, [counter::CONNECTIONS_RESET_COUNT; 2]),
    (What::ClosedUnanswered, [counter::CLOSED_UNANSWERED_COUNT; 2]),
    (What::Ended, [counter::REQUESTS_COUNT, counter::CALLS_COUNT]),
    (What::EndedNs, [counter::REQUEST_TIME_NS, counter::CALL_TIME_NS]),
    (What::ConnectsFailed, ["", counter::CONNECTS_FAILED_COUNT]),
];

/// Of datagrams only these are known.
const OF_DATAGRAMS: [What; 2] = [What::Arrivals, What::Sends];

/// What an endpoint is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Port,
    Service(Endpoint),
    Datagrams,
}

/// A request that is kept.
#[derive(Debug, Clone, Copy)]
struct Kept {
    endpoint: usize,
    port: u16,
    stands_for: u64,
    exchange: Exchange,
}

/// Rows under way.
#[derive(Debug, Default)]
pub(super) struct Rows {
    recording: Recording,
    rates: Rates,
    steps: Steps,
    kinds: Vec<Kind>,
    kept: Vec<Kept>,
    /// When the first packet came, and the last.
    seen_ns: Option<(i64, i64)>,
    /// Of so many that end one is kept.
    one_in: u64,
    ended: u64,
}

impl Rows {
    /// Time goes on: steps that are over become rows.
    pub(super) fn now(&mut self, now_ns: i64) {
        let (first_ns, last_ns) = self.seen_ns.unwrap_or((now_ns, now_ns));
        self.seen_ns = Some((first_ns, last_ns.max(now_ns)));
        let step = self.steps.over(now_ns);
        self.step(step);
    }

    /// The number of a port or a service.
    pub(super) fn endpoint(&mut self, role: &Role) -> Option<usize> {
        match role.is_own {
            true => self.number(format!(":{}", role.server.port), Kind::Port),
            false => self.number(role.server.name(), Kind::Service(role.server)),
        }
    }

    /// A datagram came to a port, or was sent from it.
    pub(super) fn datagram(&mut self, port: u16, what: What) {
        if let Some(endpoint) = self.number(format!("udp {port}"), Kind::Datagrams) {
            self.count(endpoint, what, 1.0);
        }
    }

    fn number(&mut self, name: String, kind: Kind) -> Option<usize> {
        let number = self.steps.endpoint(name)?;
        if number == self.kinds.len() {
            self.kinds.push(kind);
        }
        Some(number)
    }

    pub(super) fn count(&mut self, endpoint: usize, what: What, amount: f64) {
        self.steps.add(endpoint, what, amount);
    }

    /// A request or a call has ended.
    pub(super) fn exchange(&mut self, role: &Role, endpoint: usize, exchange: &Exchange) {
        if exchange.answered_ns.is_some() {
            self.count(endpoint, What::Ended, 1.0);
            self.count(endpoint, What::EndedNs, (exchange.end_ns - exchange.began_ns).max(0) as f64);
        }
        self.one_in = self.one_in.max(1);
        self.ended += 1;
        if !self.ended.is_multiple_of(self.one_in) {
            return;
        }
        if self.kept.len() >= KEPT_MAX {
            self.thin();
        }
        let (port, stands_for) = (role.server.port, self.one_in);
        self.kept.push(Kept { endpoint, port, stands_for, exchange: *exchange });
    }

    /// Every second one goes, and each that stays stands for twice as many.
    fn thin(&mut self) {
        let mut is_kept = false;
        self.kept.retain(|_| {
            is_kept = !is_kept;
            is_kept
        });
        self.kept.iter_mut().for_each(|kept| kept.stands_for *= 2);
        self.one_in *= 2;
    }

    /// Things at endpoints that there was no room for.
    pub(super) fn beyond(&self) -> u64 {
        self.steps.beyond
    }

    /// Ports at which requests were answered.
    pub(super) fn answering_ports(&self) -> u64 {
        let mut ports: Vec<usize> = self.kept.iter().map(|kept| kept.endpoint).collect();
        ports.sort_unstable();
        ports.dedup();
        ports.iter().filter(|endpoint| self.kinds[**endpoint] == Kind::Port).count() as u64
    }

    fn step(&mut self, step: Option<((i64, i64), Vec<Step>)>) {
        let Some(((from_ns, to_ns), steps)) = step else { return };
        let Some((first_ns, last_ns)) = self.seen_ns else { return };
        // No row is outside of the capture: the next file may begin within the same step, and counts from zero.
        let time = (from_ns.max(first_ns), to_ns.min(last_ns.saturating_add(1)));
        for (endpoint, counts) in steps {
            self.rise(endpoint, time, |what| counts[what as usize]);
        }
    }

    /// Rows of all counters of an endpoint, those that did not rise as well: they were seen not to.
    fn rise(&mut self, endpoint: usize, time: (i64, i64), amount: impl Fn(What) -> f64) {
        let kind = self.kinds[endpoint];
        for (what, names) in COUNTERS {
            let name = names[usize::from(matches!(kind, Kind::Service(_)))];
            if name.is_empty() || kind == Kind::Datagrams && !OF_DATAGRAMS.contains(&what) {
                continue;
            }
            let which = Which { name, instance: &self.steps.names()[endpoint], tid: 0 };
            self.rates.add(&mut self.recording, SOURCE, which, time, amount(what));
        }
    }

    pub(super) fn finish(mut self) -> Recording {
        let rest = self.steps.rest();
        self.step(rest);
        // Up to the end nothing more happened.
        let end_ns = self.seen_ns.map_or(0, |(_, last_ns)| last_ns.saturating_add(1));
        for endpoint in 0..self.kinds.len() {
            self.rise(endpoint, (end_ns, end_ns.saturating_add(1)), |_| 0.0);
        }
        std::mem::take(&mut self.rates).finish(&mut self.recording, SOURCE);
        self.kept.sort_by_key(|kept| kept.exchange.began_ns);
        for kept in std::mem::take(&mut self.kept) {
            self.span(&kept);
        }
        self.recording
    }

    fn span(&mut self, kept: &Kept) {
        let exchange = &kept.exchange;
        let duration_ns = (exchange.end_ns - exchange.began_ns).max(0);
        let (kind, detail) = match self.kinds[kept.endpoint] {
            Kind::Service(peer) => (span::CALL, to_text(&call(kept, peer))),
            Kind::Port | Kind::Datagrams => (span::REQUEST, to_text(&request(kept))),
        };
        let name = &self.steps.names()[kept.endpoint];
        self.recording.add_span(exchange.began_ns, duration_ns, 0, kind, name, &detail, SOURCE);
    }
}

fn request(kept: &Kept) -> Request {
    let exchange = &kept.exchange;
    let (unsent_ns, unsent_for) = held(exchange.held[1]);
    Request {
        port: Some(u32::from(kept.port)),
        first_byte_ns: exchange.answered_ns.map(|ns| (ns - exchange.began_ns).max(0)),
        bytes_in: Some(exchange.asked_bytes),
        bytes_out: Some(exchange.answered_bytes),
        stands_for: (kept.stands_for > 1).then_some(kept.stands_for),
        overlapping: exchange.is_overlapping.then_some(true),
        unanswered: exchange.answered_ns.is_none().then_some(true),
        given_up: exchange.is_given_up.then_some(true),
        unsent_ns,
        unsent_for,
        window_full_ns: (exchange.window_full_ns > 0).then_some(exchange.window_full_ns),
        // Each byte was seen. Who read it is not known.
        uncertain_ns: Some(0),
        ..Request::default()
    }
}

fn call(kept: &Kept, peer: Endpoint) -> Call {
    let exchange = &kept.exchange;
    let (unsent_ns, unsent_for) = held(exchange.held[0]);
    Call {
        host: Some(peer.host()),
        port: Some(u32::from(peer.port)),
        peer_ns: exchange.answered_ns.map(|ns| (ns - exchange.began_ns).max(0)),
        bytes_in: Some(exchange.answered_bytes),
        bytes_out: Some(exchange.asked_bytes),
        stands_for: (kept.stands_for > 1).then_some(kept.stands_for),
        overlapping: exchange.is_overlapping.then_some(true),
        unanswered: exchange.answered_ns.is_none().then_some(true),
        unsent_ns,
        unsent_for,
        ..Call::default()
    }
}

fn held(held: Option<(i64, Hold)>) -> (Option<i64>, Option<String>) {
    let word = |hold| match hold {
        Hold::Lost => unsent::RETRANSMISSION,
        Hold::Window => unsent::WINDOW,
    };
    (held.map(|(ns, _)| ns), held.map(|(_, hold)| word(hold).to_owned()))
}
