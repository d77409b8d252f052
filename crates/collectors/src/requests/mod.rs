//! Requests and calls, measured at the sockets: how long they took, and where.
//!
//! The kernel sees when data arrives at a socket, when a thread reads it, and when the answer goes out, whatever the protocol
//! and whether or not it is encrypted: no byte is looked at but the heads of HTTP/2's frames (`frames.bpf.h`). On connections to a port that the target listens on, that is
//! requests (unread in the socket, then service); on connections that it made, calls (the peer's time, then our own delay).
//!
//! Everything is counted in the kernel. Rows are all requests while there are few; else the slow ones (what is rare at this
//! port) and an unbiased sample of the others, which says how many each stands for. Two requests at once on one connection
//! look like one that takes longer: they are busy periods, and said to be such where that shows. Of HTTP/2 in the clear each stream is a row
//! (`streams.bpf.h`).

mod by_samples;
mod listening;
mod older;
mod parse;
mod rows;
mod sampling;
mod shared;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::kinds::{counter, loss, recorded, subject};

use crate::bpf::{Increment, Increments, Part, counter_of};
use crate::changed_counters::ChangedCounters;
use crate::clock::monotonic_ns;
use crate::rate_limit::RateLimit;
use crate::{Clock, Collector, Lesser, Observer, Order, Refusal, Target, Tier};
use older::Older;
use parse::{Endpoint, SUMS_WORDS, Sums, Unpaired};
use sampling::Latencies;
use shared::Share;

const NAME: &str = "requests";
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/requests.bpf.o"));

const PERIOD: Duration = Duration::from_millis(100);
const LOOKS_PER_SECOND: u32 = 10;

/// Times that the ring is emptied at the end: it holds fewer events than so many looks take over.
const LOOKS_AT_END: u32 = 16;

/// Tracepoints without which nothing is seen, with the kernel that brought them.
const NEEDED: [(&str, &str); 4] = [
    ("inet_sock_set_state", "4.16"),
    ("sk_data_ready", "6.2"),
    ("sock_send_length", "6.3"),
    ("sock_recv_length", "6.3"),
];

pub(crate) static COLLECTOR: Requests = Requests;

/// The collector.
pub(crate) struct Requests;

impl Collector for Requests {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sees(&self) -> &'static str {
        "requests per port and calls per peer, measured at the sockets: time unread, in service, at the peer; by whom"
    }

    fn tier(&self) -> Tier {
        Tier::Bpf
    }

    fn check(&self, target: &Target) -> Result<(), Refusal> {
        match Share::of(target) {
            Ok(_) => Ok(()),
            Err(refusal) => by_samples::check(target).map_err(|also| refusal.and(&also)),
        }
    }

    fn lesser(&self, target: &Target) -> Option<Lesser> {
        match Share::of(target) {
            Ok(share) => share.left_out().lesser(self.sees()),
            Err(refusal) => Some(Lesser { tier: Tier::Process, sees: by_samples::SEES.to_owned(), refusal }),
        }
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        match Share::of(target) {
            Ok(share) => Ok(Box::new(observer(share, target, order))),
            Err(refusal) => by_samples::start(target, order, &refusal).map_err(|also| refusal.and(&also)),
        }
    }
}

/// Begins to observe with the programs at work.
fn observer(share: Share, target: &Target, order: &Order) -> Observed {
    let share_sees_under_way = share.sees_under_way();
    Observed {
        share,
        older: Older::of(target, &order.clock),
        endpoints: HashMap::new(),
        clock: order.clock,
        counted: Increments::new(order.clock.now_ns()),
        by_latency: Increments::new(order.clock.now_ns()),
        unpaired: Increments::new(order.clock.now_ns()),
        under_way: share_sees_under_way.then(|| ChangedCounters::new(NAME)),
        limit: RateLimit::every(PERIOD),
        looks: 0,
        rows_per_look: f64::from(order.requests_per_second.max(1)) / f64::from(LOOKS_PER_SECOND),
    }
}

/// Length of a jiffy: coarse clocks are as old as the last one.
fn tick_ns() -> u32 {
    let tick = rustix::time::clock_getres(rustix::time::ClockId::MonotonicCoarse);
    u32::try_from(tick.tv_nsec).unwrap_or(0)
}

/// What is known of an endpoint.
struct Known {
    endpoint: Endpoint,
    name: String,
    is_peer: bool,
    latencies: Latencies,
}

struct Observed {
    share: Share,
    older: Older,
    /// By number.
    endpoints: HashMap<usize, Known>,
    clock: Clock,
    counted: Increments<usize, Sums>,
    /// By endpoint and bucket.
    by_latency: Increments<(usize, usize), u64>,
    unpaired: Increments<usize, Unpaired>,
    /// None where the kernel refused the program that sees it.
    under_way: Option<ChangedCounters>,
    limit: RateLimit,
    looks: u32,
    /// Requests and calls that are to become rows.
    rows_per_look: f64,
}

impl Observer for Observed {
    fn unseen(&self) -> Vec<Refusal> {
        self.share.left_out().refusals()
    }

    fn period(&self) -> Duration {
        PERIOD
    }

    fn look(&mut self, found: &mut Recording) {
        if self.looks == 0 {
            found.add_fact(subject::RECORDING, recorded::REQUESTS_FOLLOWED, "at each socket", NAME);
        }
        self.looks += 1;
        if let Some(reading) = self.limit.begin(monotonic_ns()) {
            self.share.look();
            self.count(found);
            self.sample();
            self.limit.end(reading);
        }
        self.take_rows(found);
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.share.end();
        self.looks = 0;
        self.count(found);
        while self.take_rows(found) && self.looks < LOOKS_AT_END {
            self.looks += 1;
        }
        self.older.tell(&self.clock, found);
        if let Some(numbers) = &mut self.under_way {
            numbers.close(found);
        }
        self.limit.tell(found, NAME, "all connections");
        self.tell_losses(found);
        Vec::new()
    }
}

impl Observed {
    /// Whether there may be more.
    fn take_rows(&mut self, found: &mut Recording) -> bool {
        let (exchanges, may_be_more) = self.share.take();
        for exchange in exchanges {
            let clock = self.clock;
            let known = self.known(exchange.endpoint as usize);
            let row = rows::span(&exchange, &known.endpoint, &clock, found);
            found.spans.push(row);
        }
        may_be_more
    }

    /// Writes the sums that changed; what is large or of little hurry each second.
    fn count(&mut self, found: &mut Recording) {
        let now_ns = self.clock.now_ns();
        self.counted.read(now_ns);
        let is_second = self.looks.is_multiple_of(LOOKS_PER_SECOND);
        if is_second {
            self.by_latency.read(now_ns);
            self.unpaired.read(now_ns);
        }
        for index in self.share.endpoints() {
            let row = self.share.sums(index);
            self.add(index, &row, is_second, found);
        }
    }

    /// Writes what changed at one endpoint.
    fn add(&mut self, index: usize, row: &[u64; SUMS_WORDS], is_second: bool, found: &mut Recording) {
        let row = parse::row(row);
        self.known(index).latencies.see(row.by_latency);
        let Some(known) = self.endpoints.get(&index) else { return };
        if let Some(grown) = self.counted.see(index, row.sums) {
            write(&grown, words(known.is_peer), &known.name, found);
        }
        let name = if known.is_peer { counter::CALLS_UNDER_WAY_COUNT } else { counter::REQUESTS_UNDER_WAY_COUNT };
        if let Some(numbers) = &mut self.under_way {
            numbers.see(found, self.clock.now_ns(), name, &known.name, row.under_way as f64);
        }
        if is_second {
            if let Some(grown) = self.unpaired.see(index, row.unpaired) {
                write(&grown, UNPAIRED, &known.name, found);
            }
            add_latencies(&mut self.by_latency, (index, known), row.by_latency, found);
        }
    }

    /// Tells the programs what is to become a row from now on.
    fn sample(&self) {
        let known: Vec<(&usize, &Known)> = self.endpoints.iter().collect();
        let latencies: Vec<&Latencies> = known.iter().map(|(_, known)| &known.latencies).collect();
        for ((index, _), rule) in known.iter().zip(sampling::rules(&latencies, self.rows_per_look)) {
            self.share.set(**index, parse::SLOW_NS, rule.slow_ns);
            self.share.set(**index, parse::ONE_IN, rule.one_in);
        }
    }

    /// An endpoint by its number.
    fn known(&mut self, index: usize) -> &mut Known {
        let share = &self.share;
        self.endpoints.entry(index).or_insert_with(|| {
            let (endpoint, is_peer) = share.endpoint(index);
            Known { name: endpoint.name(), endpoint, is_peer, latencies: Latencies::default() }
        })
    }

    fn tell_losses(&self, found: &mut Recording) {
        let lost = [
            (
                loss::EVENTS_LOST,
                "requests and calls came faster than they could be taken over: they are counted but are no spans",
            ),
            (
                loss::LIMIT,
                "requests and calls beyond the number that is recorded each second: they are counted but are no spans",
            ),
            (
                loss::LIMIT,
                "connections of ports and peers beyond the number that is told apart: they are counted together, as `others`",
            ),
            (
                loss::EVENTS_LOST,
                "connections for which the kernel had no memory: their requests and calls are not counted",
            ),
            (loss::EVENTS_LOST, "events that came while a program was at work on the same CPU"),
        ];
        for (count, (kind, says)) in self.share.lost().into_iter().zip(lost) {
            if count > 0 {
                found.add_loss(NAME, kind, count as i64, says);
            }
        }
    }
}

/// The counters of what needs no pairing.
const UNPAIRED: [(&str, Part<Unpaired>); 4] = [
    (counter::DATA_ARRIVALS_COUNT, |unpaired| unpaired.arrivals),
    (counter::DATA_SENDS_COUNT, |unpaired| unpaired.sends),
    (counter::RECEIVED_BYTES, |unpaired| unpaired.bytes_in),
    (counter::SENT_BYTES, |unpaired| unpaired.bytes_out),
];

/// Writes those numbers of an endpoint that grew.
fn write<V: Copy, const N: usize>(
    grown: &Increment<V>,
    words: [(&str, Part<V>); N],
    endpoint: &str,
    found: &mut Recording,
) {
    for (name, number) in words {
        let row = counter_of(found, name, endpoint, 0, NAME);
        grown.write(found, &row, number);
    }
}

/// The counters of an endpoint.
fn words(is_peer: bool) -> [(&'static str, Part<Sums>); 7] {
    let names = match is_peer {
        true => [counter::CALLS_COUNT, counter::CALL_TIME_NS, counter::CALL_UNREAD_NS],
        false => [counter::REQUESTS_COUNT, counter::REQUEST_TIME_NS, counter::REQUEST_UNREAD_NS],
    };
    [
        (names[0], |sums| sums.count),
        (names[1], |sums| sums.time_ns),
        (names[2], |sums| sums.unread_ns),
        (counter::SEGMENTS_RESENT_COUNT, |sums| sums.resent),
        (counter::CONNECTIONS_RESET_COUNT, |sums| sums.resets),
        (counter::CONNECTS_FAILED_COUNT, |sums| sums.connects_failed),
        (counter::CLOSED_UNANSWERED_COUNT, |sums| sums.closed_unanswered),
    ]
}

/// Writes how many took so long, where that grew.
fn add_latencies(
    by_latency: &mut Increments<(usize, usize), u64>,
    (index, known): (usize, &Known),
    counted: &[u64],
    found: &mut Recording,
) {
    let name = if known.is_peer { counter::CALLS_BY_LATENCY_COUNT } else { counter::REQUESTS_BY_LATENCY_COUNT };
    for (bucket, count) in counted.iter().enumerate() {
        if let Some(grown) = by_latency.see((index, bucket), *count) {
            let instance = format!("{} {}", known.name, parse::bucket_from_ns(bucket));
            let row = counter_of(found, name, &instance, 0, NAME);
            grown.write(found, &row, |count| *count);
        }
    }
}

#[cfg(test)]
mod tests;
