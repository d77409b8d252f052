//! Packets dropped because a queue towards a reader was full.
//!
//! A receiver that is held up for some tens of milliseconds loses what does not fit into its buffer, and gets no error.
//! Drops are counted in the kernel per local port and reason, over the target's network namespace; those at a port of
//! the target become a row per burst.

mod ports;
mod reasons;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::detail::{self, PacketDrop};
use fathom_evidence::kinds::{counter, loss, span};

use crate::bpf::{Increments, Programs, Recipe, Table, counter_of, halves, may_load, words};
use crate::procfs;
use crate::{Clock, Collector, Observer, Order, Refusal, Target, Tier};
use ports::Ports;
use reasons::Reasons;

const NAME: &str = "drops";
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/drops.bpf.o"));

const PERIOD: Duration = Duration::from_millis(100);

pub(crate) static COLLECTOR: Drops = Drops;

/// The collector.
pub(crate) struct Drops;

impl Collector for Drops {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sees(&self) -> &'static str {
        "packets dropped at full receive queues, per port and reason"
    }

    fn tier(&self) -> Tier {
        Tier::Bpf
    }

    fn check(&self, target: &Target) -> Result<(), Refusal> {
        attached(target, &Reasons::of_kernel()).map(|_| ())
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        let reasons = Reasons::of_kernel();
        let programs = attached(target, &reasons)?;
        let observer = Observed {
            bursts: Table::new(programs.map("bursts")?),
            programs,
            reasons,
            ports: Ports::of(target),
            clock: order.clock,
            counted: Increments::new(order.clock.now_ns()),
            dropped: HashMap::new(),
            looked_ns: 0,
        };
        Ok(Box::new(observer))
    }
}

/// The programs at work.
fn attached(target: &Target, reasons: &Reasons) -> Result<Programs, Refusal> {
    may_load()?;
    let link = procfs::link(target.proc("ns/net"));
    let space = link.as_deref().ok().and_then(namespace).ok_or_else(|| {
        Refusal::new(
            "the target's network namespace cannot be read",
            "run as the target's user, or with CAP_SYS_PTRACE",
        )
    })?;
    let mut config = space.to_ne_bytes().to_vec();
    config.extend([0; 4]);
    config.extend(reasons.table());
    let mut programs = Programs::load(&Recipe { object: OBJECT, config, sizes: &[], without: &[], spare: &[] })?;
    programs.attach_tracepoints()?;
    Ok(programs)
}

/// The number in `net:[4026531840]`.
fn namespace(link: &str) -> Option<u32> {
    link.strip_prefix("net:[")?.strip_suffix(']')?.parse().ok()
}

/// Where packets were dropped, and why: a key of the map `bursts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct At {
    port: u32,
    protocol: u16,
    reason: i16,
}

impl At {
    fn parse(key: &[u8]) -> At {
        let (port, rest) = words(key).next().map(halves).unwrap_or_default();
        let [low, high, reason_low, reason_high] = rest.to_ne_bytes();
        At { port, protocol: u16::from_ne_bytes([low, high]), reason: i16::from_ne_bytes([reason_low, reason_high]) }
    }

    fn protocol(self) -> String {
        match i32::from(self.protocol) {
            libc::IPPROTO_UDP => "udp".to_owned(),
            libc::IPPROTO_TCP => "tcp".to_owned(),
            other => format!("protocol {other}"),
        }
    }
}

/// A value of the map `bursts`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Burst {
    /// Since the recording began.
    count: u64,
    /// Of the last burst, on the monotonic clock.
    first_ns: i64,
    last_ns: i64,
}

impl Burst {
    fn parse(value: &[u8]) -> Burst {
        let mut all = words(value);
        let mut next = || all.next().unwrap_or(0);
        Burst { count: next(), first_ns: next() as i64, last_ns: next() as i64 }
    }
}

struct Observed {
    programs: Programs,
    bursts: Table,
    reasons: Reasons,
    ports: Ports,
    clock: Clock,
    counted: Increments<At, u64>,
    /// Counts that bursts were told of.
    dropped: HashMap<At, u64>,
    /// When the last look was, on the monotonic clock.
    looked_ns: i64,
}

impl Observer for Observed {
    fn period(&self) -> Duration {
        PERIOD
    }

    fn look(&mut self, found: &mut Recording) {
        let now_ns = self.clock.now_ns();
        self.bursts.read();
        let rows: Vec<(At, Burst)> =
            self.bursts.rows().map(|(key, value)| (At::parse(key), Burst::parse(value))).collect();
        self.counted.read(now_ns);
        for (at, burst) in rows {
            if let Some(rise) = self.counted.see(at, burst.count) {
                let instance = format!("{} {} {}", at.protocol(), at.port, self.reasons.name(at.reason));
                let row = counter_of(found, counter::PACKETS_DROPPED_COUNT, &instance, 0, NAME);
                rise.write(found, &row, |count| *count);
                self.add_burst(at, burst, found);
            }
        }
        self.looked_ns = self.clock.monotonic_of_ns(now_ns);
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.look(found);
        let lost = [
            (loss::EVENTS_LOST, "packets dropped at ports beyond the number that is counted"),
            (
                loss::EVENTS_LOST,
                "packets dropped in some network namespace of this machine: the kernel did not say in which (TCP's before Linux 6.11)",
            ),
        ];
        self.programs.tell_losses(found, NAME, lost);
        Vec::new()
    }
}

impl Observed {
    fn add_burst(&mut self, at: At, burst: Burst, found: &mut Recording) {
        let before = self.dropped.insert(at, burst.count).unwrap_or(0);
        if !self.ports.has(at.protocol, at.port) {
            return;
        }
        let reason = self.reasons.name(at.reason);
        let name = format!("{} {reason}", at.protocol());
        let count = burst.count.saturating_sub(before);
        let detail = PacketDrop { port: Some(at.port), reason: Some(reason), count: Some(count) };
        // What was dropped before the last look has its row already.
        let first_ns = burst.first_ns.max(self.looked_ns).min(burst.last_ns);
        let (time_ns, duration_ns) = (self.clock.wall_ns(first_ns), burst.last_ns.saturating_sub(first_ns));
        found.add_span(time_ns, duration_ns, 0, span::PACKET_DROP, &name, &detail::to_text(&detail), NAME);
    }
}

#[cfg(test)]
mod tests;
