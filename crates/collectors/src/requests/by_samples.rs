//! Requests and calls for those who may not bring programs into the kernel, or whose kernel has no tracepoints at sockets: what the
//! kernel shows every user of each TCP connection, when data came last and when data was sent last, read each 100 ms.
//!
//! So the last request of each connection is known to a tick of the kernel's clock, and so is each that takes longer than from one
//! look to the next. What is known of no request is who read and answered it. A call is the same seen from the other side.
//!
//! Where a connection may carry several at once, such a length is none: looks at short distances at the busiest ones find out
//! (`closely`, `several`).

mod closely;
mod connections;
mod cycles;
mod several;
mod walks;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::detail::{self, Call, Request};
use fathom_evidence::kinds::{counter, loss, span};
use fathom_evidence::tables::Span;
use fathom_evidence::{Recording, StackId};

use super::parse::{Endpoint, bucket_from_ns, bucket_of_ns};
use super::{NAME, tick_ns};
use crate::changed_counters::ChangedCounters;
use crate::rate_limit::RateLimit;
use crate::sock_diag::{Connection, SockDiag};
use crate::{Clock, Observer, Order, Refusal, Target, Tier, serving};
use closely::Closely;
use connections::{Asked, Known, Made};
use cycles::Told;
use walks::{Member, Walk, Wanted};

/// What it sees.
pub(super) const SEES: &str =
    "requests per port, and calls, from looks at their connections each 100 ms: how long, to some ms; not by whom";

/// Time from one look to the next.
const PERIOD: Duration = Duration::from_millis(100);

/// Nothing is worth more than how long requests took, and there are no programs in the kernel that cost anything: three quarters of a
/// percent of a core, which is 0.75 ms for each look. A walk over the kernel's table takes that where there is much memory. The
/// quarter that is left of a percent is for looks at single connections (`closely`).
const WORTH: i64 = 3;

/// Ports that are listened on hardly ever change, and connections of a pool last for long.
const SOCKETS_PERIOD: Duration = Duration::from_secs(5);

/// Both ends of a length are known to a tick of the kernel's clock: differences below that are not seen.
const TICKS: i64 = 2;

/// Whether the kernel answers.
pub(super) fn check(target: &Target) -> Result<(), Refusal> {
    kernel(target).map(|_| ())
}

fn kernel(target: &Target) -> Result<SockDiag, Refusal> {
    let mut kernel = SockDiag::of(target).map_err(|error| {
        let grant = "as root, where the target is in a network namespace of its own";
        Refusal::new(format!("the kernel could not be asked for the target's connections: {error}"), grant)
    })?;
    let asked = kernel.connections(|_| ());
    asked.map_err(|error| Refusal::new(format!("the kernel does not tell of connections: {error}"), ""))?;
    Ok(kernel)
}

fn member(target: &Target) -> Result<Member, Refusal> {
    Member::of(target)
        .map_err(|error| Refusal::new(format!("the target's connections cannot be looked at: {error}"), ""))
}

/// Begins to observe; `refusal` is why there is no better way.
pub(super) fn start(target: &Target, order: &Order, refusal: &Refusal) -> Result<Box<dyn Observer>, Refusal> {
    Ok(Box::new(BySamples::of(target, order, refusal)?))
}

struct BySamples {
    kernel: SockDiag,
    walks: Member,
    target: Target,
    clock: Clock,
    /// Connections by the kernel's cookie of each.
    known: HashMap<u64, Known>,
    closely: Closely,
    made: Made,
    /// Whose connections carry several at once.
    of_several: HashSet<Asked>,
    /// The target's own.
    own: Wanted,
    /// When the last look was; none before the first.
    looked_ns: Option<i64>,
    seen: Time,
    /// How many requests and calls took how long, by bucket.
    by_latency: BTreeMap<(Asked, usize), u64>,
    /// How often data came, and was sent, by port.
    data: BTreeMap<u16, [u64; 2]>,
    numbers: ChangedCounters,
    pace_of_sockets: RateLimit,
    shortest_ns: i64,
    /// Why there are no programs in the kernel.
    why: String,
    /// Why the kernel stopped answering.
    failed: Option<String>,
}

impl Observer for BySamples {
    fn tier(&self) -> Option<Tier> {
        Some(Tier::Process)
    }

    fn period(&self) -> Duration {
        PERIOD
    }

    fn look(&mut self, found: &mut Recording) {
        let now_ns = self.clock.now_ns();
        if let Some(reading) = self.pace_of_sockets.begin(now_ns) {
            let (ports, sockets) = serving::ports_and_sockets(&self.target);
            self.own = Wanted { ports, sockets };
            self.walks.want(&self.own);
            self.count_not_met(found);
            self.pace_of_sockets.end(reading);
        }
        let walk = self.walks.next();
        if let Some(walk) = self.known_walk(walk) {
            self.look_at_connections(&walk, found);
            self.closely.look(&mut self.kernel, &mut self.known);
        }
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        let walk = self.walks.at_once();
        if let Some(walk) = self.known_walk(walk) {
            self.look_at_connections(&walk, found);
        }
        self.count_not_met(found);
        self.end_all(false, found);
        self.count(self.clock.now_ns(), found);
        self.numbers.close(found);
        self.tell(found);
        Vec::new()
    }
}

impl BySamples {
    fn of(target: &Target, order: &Order, refusal: &Refusal) -> Result<BySamples, Refusal> {
        Ok(BySamples {
            kernel: kernel(target)?,
            walks: member(target)?,
            target: target.clone(),
            clock: order.clock,
            known: HashMap::new(),
            closely: Closely::new(),
            made: Made::of(target),
            of_several: HashSet::new(),
            own: Wanted::default(),
            looked_ns: None,
            seen: Time::default(),
            by_latency: BTreeMap::new(),
            data: BTreeMap::new(),
            numbers: ChangedCounters::new(NAME),
            pace_of_sockets: RateLimit::every(SOCKETS_PERIOD),
            shortest_ns: i64::from(tick_ns()) * TICKS,
            why: refusal.why.clone(),
            failed: None,
        })
    }

    /// Notes what failed.
    fn known_walk(&mut self, walk: io::Result<Option<Walk>>) -> Option<Walk> {
        walk.unwrap_or_else(|error| {
            self.failed.get_or_insert_with(|| error.to_string());
            None
        })
    }

    fn look_at_connections(&mut self, walk: &Walk, found: &mut Recording) {
        let now_ns = self.clock.wall_ns(walk.began_ns);
        let mut now: HashMap<u64, Known> = HashMap::with_capacity(self.known.len());
        for connection in walk.connections.iter() {
            let Some(asked) = Asked::of(connection, &self.own) else { continue };
            if !asked.is_called() {
                self.add_data(connection);
            }
            let (known, told) = self.next(asked, connection, now_ns);
            let is_several = known.several.is_known() || self.of_several.contains(&asked);
            told.iter().for_each(|told| self.add(asked, told, is_several, found));
            now.insert(connection.cookie, known);
        }
        self.end_all(true, found);
        self.known = now;
        self.of_several = connections::asked_several_at_once(&self.known);
        self.seen.look(self.looked_ns.replace(now_ns), now_ns);
        self.count(now_ns, found);
    }

    /// Adds the segments that a connection has had since the last look; one that was there at the first look had some before.
    fn add_data(&mut self, now: &Connection) {
        let before = match (self.known.get(&now.cookie), self.looked_ns) {
            (Some(known), _) => known.cycle.segments(),
            (None, Some(_)) => [0; 2],
            (None, None) => return,
        };
        let data = self.data.entry(now.port).or_default();
        for (sum, (now, before)) in data.iter_mut().zip([now.segments_in, now.segments_out].into_iter().zip(before)) {
            *sum += u64::from(now.wrapping_sub(before));
        }
    }

    /// Tells what is known of requests on connections that are gone, or at the end.
    fn end_all(&mut self, are_gone: bool, found: &mut Recording) {
        let ended = self.known.values().filter_map(|known| {
            let is_several = known.several.is_known() || self.of_several.contains(&known.asked);
            Some((known.asked, known.cycle.end(are_gone)?, is_several))
        });
        for (asked, told, is_several) in ended.collect::<Vec<_>>() {
            self.add(asked, &told, is_several, found);
        }
    }

    /// What a connection is at now, and the request that is over.
    fn next(&mut self, asked: Asked, connection: &Connection, now_ns: i64) -> (Known, Option<Told>) {
        if let Some(mut known) = self.known.remove(&connection.cookie) {
            let told = known.look(now_ns, connection);
            return (known, told);
        }
        self.made.met += u64::from(self.looked_ns.is_some() && !asked.is_called());
        (Known::new(asked, self.before_ns(asked), now_ns, connection), None)
    }

    /// Writes how many connections no look met.
    fn count_not_met(&mut self, found: &mut Recording) {
        let Some((count, _)) = self.made.not_met() else { return self.made.begin() };
        let now_ns = self.clock.now_ns();
        self.numbers.see(found, now_ns, counter::CONNECTIONS_NOT_MET_COUNT, "", count as f64);
    }

    /// The look at which a connection that is new to them was surely not there. One that the target made is looked at from when its
    /// sockets were listed next, and may be older.
    fn before_ns(&self, asked: Asked) -> Option<i64> {
        self.looked_ns.filter(|_| !asked.is_called())
    }

    /// Writes how many requests and calls are under way, and how many took how long.
    fn count(&mut self, now_ns: i64, found: &mut Recording) {
        let mut open: BTreeMap<Asked, u32> = self.own.ports.iter().map(|port| (Asked::Port(*port), 0)).collect();
        for known in self.known.values() {
            *open.entry(known.asked).or_default() += u32::from(known.cycle.is_open());
        }
        for (asked, count) in open {
            let counter =
                if asked.is_called() { counter::CALLS_UNDER_WAY_COUNT } else { counter::REQUESTS_UNDER_WAY_COUNT };
            self.numbers.see(found, now_ns, counter, &asked.endpoint().name(), f64::from(count));
        }
        for (port, counts) in &self.data {
            let name = Endpoint::Port(*port).name();
            for (counter, count) in [counter::DATA_ARRIVALS_COUNT, counter::DATA_SENDS_COUNT].into_iter().zip(counts) {
                self.numbers.see(found, now_ns, counter, &name, *count as f64);
            }
        }
        for ((asked, bucket), count) in &self.by_latency {
            let counter =
                if asked.is_called() { counter::CALLS_BY_LATENCY_COUNT } else { counter::REQUESTS_BY_LATENCY_COUNT };
            let name = format!("{} {}", asked.endpoint().name(), bucket_from_ns(*bucket));
            self.numbers.see(found, now_ns, counter, &name, *count as f64);
        }
    }

    fn add(&mut self, asked: Asked, told: &Told, is_several: bool, found: &mut Recording) {
        let duration_ns = told.duration_ns.max(self.shortest_ns);
        *self.by_latency.entry((asked, bucket_of_ns(duration_ns as u64))).or_default() += told.stands_for;
        let endpoint = asked.endpoint();
        let (kind, detail) = match asked {
            Asked::Port(_) => (span::REQUEST, detail::to_text(&self.request(&endpoint, told, is_several))),
            Asked::Peer(..) => (span::CALL, detail::to_text(&self.call(&endpoint, told, is_several))),
        };
        found.spans.push(Span {
            time_ns: told.came_ns,
            duration_ns,
            tid: 0,
            kind: found.strings.intern(kind),
            name: found.strings.intern(&endpoint.name()),
            stack_id: StackId(0),
            kernel_stack_id: StackId(0),
            detail: found.strings.intern(&detail),
            source: found.strings.intern(NAME),
        });
    }

    fn request(&self, endpoint: &Endpoint, told: &Told, is_several: bool) -> Request {
        Request {
            port: endpoint.port(),
            stands_for: (told.stands_for > 1).then_some(told.stands_for),
            overlapping: is_several.then_some(true),
            unanswered: told.is_unanswered.then_some(true),
            uncertain_ns: Some(self.shortest_ns.saturating_add(told.longer_ns)),
            ticks_ns: self.ticks_ns(told),
            ..Request::default()
        }
    }

    fn call(&self, endpoint: &Endpoint, told: &Told, is_several: bool) -> Call {
        Call {
            host: endpoint.host(),
            port: endpoint.port(),
            stands_for: (told.stands_for > 1).then_some(told.stands_for),
            overlapping: is_several.then_some(true),
            unanswered: told.is_unanswered.then_some(true),
            uncertain_ns: Some(self.shortest_ns.saturating_add(told.longer_ns)),
            ticks_ns: self.ticks_ns(told),
            ..Call::default()
        }
    }

    /// What the kernel's clock shows of a length that is not known so closely.
    fn ticks_ns(&self, told: &Told) -> Option<i64> {
        (told.duration_ns < self.shortest_ns).then_some(told.duration_ns)
    }

    fn tell(&mut self, found: &mut Recording) {
        let shortest_ms = self.shortest_ns / 1_000_000;
        let says = format!(
            "known from looks at their connections only, to {shortest_ms} ms, and not those on connections that \
             lived from one look to the next; nor who answered them; calls of other services only on connections that lasted \
             for some seconds ({})",
            self.why
        );
        found.add_loss(NAME, loss::REFUSED, 0, &says);
        self.walks.tell(found);
        self.tell_not_met(found);
        self.seen.tell(found);
        if let Some(error) = &self.failed {
            found.add_loss(NAME, loss::MISSING, 0, &format!("the kernel told no more of connections: {error}"));
        }
    }

    fn tell_not_met(&mut self, found: &mut Recording) {
        let Some((count @ 1.., made)) = self.made.not_met() else { return };
        let whose = match connections::has_other_listeners(&mut self.kernel, &self.own.ports) {
            true => "its network namespace, by any process that listens there",
            false => "its ports",
        };
        let says = format!("{count} of {made} connections that were made to {whose} lived from one look to the next");
        found.add_loss(NAME, loss::LIMIT, count as i64, &says);
    }
}

/// For how long connections were looked at often enough.
#[derive(Debug, Default)]
struct Time {
    seen_ns: i64,
    all_ns: i64,
}

impl Time {
    /// A look, and when the last one was.
    fn look(&mut self, before_ns: Option<i64>, now_ns: i64) {
        let gap_ns = now_ns.saturating_sub(before_ns.unwrap_or(now_ns)).max(0);
        self.all_ns = self.all_ns.saturating_add(gap_ns);
        // A look that is a little late on a busy machine saw what it was to see.
        self.seen_ns = self.seen_ns.saturating_add(gap_ns.min(2 * PERIOD.as_nanos() as i64));
    }

    /// Tells what of the time was between looks that were too far apart, if that is a tenth of it or more.
    fn tell(&self, found: &mut Recording) {
        let [seen_s, all_s] = [self.seen_ns, self.all_ns].map(|ns| ns as f64 / 1e9);
        if seen_s < 0.9 * all_s {
            let says = format!("requests were looked for in {seen_s:.1} of {all_s:.1} s");
            found.add_loss(NAME, loss::LIMIT, 0, &says);
        }
    }
}

#[cfg(test)]
mod tests;
