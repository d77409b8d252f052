//! Data are read from sockets in many small reads although more data had already arrived.

use fathom_evidence::kinds::counter;

use crate::explanation::Evidence;
use crate::measure::stacks;
use crate::measure::syscalls::{self, ByThread, POLL, RECEIVE, SEND, running_claims};
use crate::{Cause, Claim, Comparison, Family, Finding, Need, Period, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "chatty_socket_reads",
    readme: include_str!("README.md"),
    family: Family::Code,
    refines: &[Refined::Family(Family::Cpu), Refined::Family(Family::Load)],
    equals: &[(
        &["accept_queue_overflow", "dns_slow", "sleeping_handlers", "slow_downstream"],
        "requests were late while no thread was seen to wait: each claims as much as it measured itself",
    )],
    has_lab: true,
    collectors: &["system_calls", "scheduler", "async_profiler"],
    needs: &[&[Need::Counter(counter::SYSTEM_CALLS_COUNT)]],
    actions: &["larger buffers (64-128 KB) that are drained, connections that are kept, no time-out per read"],
    decide,
};

/// A call costs about as much as copying this many bytes: below it most of the price is the call's.
const SMALL_BYTES: f64 = 4096.0;

/// What a client with a good buffer takes at once; its calls are not too many.
const GOOD_BYTES: f64 = 65_536.0;

/// A message that is taken in a few reads (head and body, chunk and its size) is not chatty: it has no more to give.
/// Only more reads than this for each thing sent are many.
const READS_PER_SEND: f64 = 8.0;

/// When so many of the reads had to wait for their data, a larger buffer would not have found more in it.
const WAITED: f64 = 0.5;

/// How many times more calls there are than before, to tell a change of style from a change of load.
const MIN_CALL_RATIO: f64 = 2.0;

/// Where the JVM and the JDK read sockets: of 8-12, of 13 and later, of channels.
const READERS: &[&str] = &[
    "java.net.SocketInputStream.",
    "java.net.Socket$SocketInputStream.",
    "sun.nio.ch.NioSocketImpl.read",
    "sun.nio.ch.NioSocketImpl.implRead",
    "sun.nio.ch.SocketChannelImpl.read",
    "sun.nio.ch.SocketDispatcher.read",
];

/// How the application's threads took data from sockets in some time.
#[derive(Debug, Clone, Copy)]
struct Style {
    /// System calls of any kind.
    calls: f64,
    reads: f64,
    sends: f64,
    connects: f64,
    bytes: f64,
    /// Reads, or polls before them, for which the thread had to wait.
    waited: f64,
    seconds: f64,
    /// Time in reads and polls without the waits.
    cpu_ns: f64,
}

impl Style {
    fn of(comparison: &Comparison<'_>, period: &Period<'_>) -> Style {
        let readers = syscalls::receivers_in(&comparison.slow);
        let sum = |name: &str, instances: &[&str]| {
            ByThread::of(period, name, instances).rise(period, |tid| readers.contains(&tid))
        };
        let both = [RECEIVE, POLL].concat();
        const WAITS: &[&str] = &["read_write", "poll"];
        Style {
            calls: ByThread::of_all_calls(period).rise(period, |tid| readers.contains(&tid)),
            reads: sum(counter::SYSTEM_CALLS_COUNT, RECEIVE),
            sends: sum(counter::SYSTEM_CALLS_COUNT, SEND),
            connects: sum(counter::SYSTEM_CALLS_COUNT, &["connect"]),
            bytes: sum(counter::SYSTEM_CALLS_BYTES, RECEIVE),
            waited: sum(counter::BLOCKED_COUNT, WAITS),
            seconds: period.seconds(),
            cpu_ns: (sum(counter::SYSTEM_CALLS_NS, &both) - sum(counter::BLOCKED_NS, WAITS)).max(0.0),
        }
    }

    fn bytes_per_read(&self) -> f64 {
        self.bytes / self.reads.max(1.0)
    }

    fn reads_per_mb(&self) -> f64 {
        self.per_mb(self.reads)
    }

    fn calls_per_mb(&self) -> f64 {
        self.per_mb(self.calls)
    }

    fn per_mb(&self, count: f64) -> f64 {
        count / (self.bytes / 1_048_576.0).max(f64::MIN_POSITIVE)
    }

    fn reads_per_second(&self) -> f64 {
        self.reads / self.seconds
    }

    /// The part of the reads that a good buffer would have spared.
    fn needless(&self) -> f64 {
        1.0 - (self.bytes_per_read() / GOOD_BYTES).min(1.0)
    }
}

fn decide(comparison: &Comparison<'_>) -> Finding {
    if !syscalls::are_recorded(comparison) {
        return Finding::needs_kernel("system calls of each thread were not recorded");
    }
    let (slow, baseline) = syscalls::both(comparison, |period| Style::of(comparison, period));
    if slow.reads < 1.0 || slow.bytes < 1.0 {
        return Finding::absent("hardly anything was read from sockets");
    }
    let says = format!(
        "{} reads from sockets per MB, {} each; {} reads for each time something was sent",
        format::number(slow.reads_per_mb()),
        format::bytes(slow.bytes_per_read()),
        format::number(slow.reads / slow.sends.max(1.0))
    );
    let evidence = evidence(comparison, &slow, baseline.as_ref());
    if slow.bytes_per_read() >= SMALL_BYTES || slow.reads < READS_PER_SEND * slow.sends {
        return Finding::absent(says).with_all(evidence);
    }
    let has_grown = baseline
        .as_ref()
        .is_none_or(|baseline| slow.reads_per_second() >= MIN_CALL_RATIO * baseline.reads_per_second());
    if !has_grown {
        return Finding::absent(format!("{says}; as in the baseline")).with_all(evidence);
    }
    let mut finding = if slow.waited > WAITED * slow.reads {
        let why = "but most had to wait for their data: the sender sets the pace";
        Finding::new(Support::Weak, format!("{says}; {why}"))
    } else if let Some(unknown) = comparison.says_if_baseline_is_unknown(baseline.as_ref()) {
        Finding::new(Support::Weak, format!("{says}; the data were there already{unknown}"))
    } else {
        Finding::new(Support::Observed, format!("{says}; the data were there already"))
    };
    if slow.connects >= slow.sends / READS_PER_SEND && slow.connects >= 1.0 {
        finding.actions.push("keep connections: hardly anything is asked for on each".to_owned());
    }
    finding.claims = claims(comparison, &slow, baseline.as_ref());
    finding.with_all(evidence).crowding(comparison)
}

fn evidence(comparison: &Comparison<'_>, slow: &Style, baseline: Option<&Style>) -> Vec<Evidence> {
    let both = |measure: fn(&Style) -> f64| (measure(slow), baseline.map(measure));
    vec![
        comparison
            .evidence("reads from sockets", both(Style::reads_per_second), "1/s", "counters")
            .of(&[counter::SYSTEM_CALLS_COUNT]),
        comparison
            .evidence("system calls of those threads per MB received", both(Style::calls_per_mb), "count", "counters")
            .of(&[counter::SYSTEM_CALLS_COUNT]),
        comparison
            .evidence("bytes of a read", both(Style::bytes_per_read), "bytes", "counters")
            .of(&[counter::SYSTEM_CALLS_BYTES]),
        comparison
            .evidence("reads that had to wait", both(|style| style.waited / style.reads.max(1.0)), "ratio", "counters")
            .of(&[counter::BLOCKED_COUNT]),
        comparison
            .evidence("CPU in reads and polls", both(|style| style.cpu_ns / style.seconds / 1e9), "cores", "counters")
            .of(&[counter::SYSTEM_CALLS_NS]),
        comparison
            .evidence("connections made", both(|style| style.connects / style.seconds), "1/s", "counters")
            .of(&[counter::SYSTEM_CALLS_COUNT]),
    ]
}

/// CPU samples see the whole way of a read, the kernel's counters only its part of it.
fn claims(comparison: &Comparison<'_>, slow: &Style, baseline: Option<&Style>) -> Vec<Claim> {
    let sampled = stacks::below(comparison, READERS);
    if sampled.claims.is_empty() {
        let before = baseline.map_or(0.0, |baseline| baseline.cpu_ns / baseline.seconds * slow.seconds);
        return running_claims(comparison, (slow.cpu_ns - before).max(0.0) * slow.needless());
    }
    let part = |claim: Claim| Claim::part(claim.state, claim.grown_ns(comparison) * slow.needless());
    sampled.claims.into_iter().map(part).collect()
}
