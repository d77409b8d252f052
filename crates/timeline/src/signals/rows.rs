//! One row per signal: its name, what it measures, and from which values on a second is slow by it.

use super::latency::UNNOTICED_NS;
use super::{INTERPRETED_SHARE, SignalKind};
use crate::requests::NOTICED_NS;
use crate::startup::Startup;

/// From which values of a signal on a second is slow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Below this nobody is harmed.
    pub(crate) floor: f64,
    /// How many times worse than the quiet seconds a slow second is.
    pub(crate) factor: f64,
    /// From this value a single second counts; less has to last for `run` seconds.
    pub(crate) alone: f64,
    pub(crate) run: usize,
    /// Whether a healthy program has (nearly) none of it.
    pub(crate) ideal_is_zero: bool,
    /// What is a smaller part of what the threads at work do, or the process runs, does not matter.
    pub(crate) least_part: f64,
}

/// What a signal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    /// How long requests took.
    Latency,
    /// Time that is lost in itself.
    Loss,
    /// Harm of another kind than time, which is not made good by requests that are quick.
    Harm,
    /// That something was too much, without saying what, so that ordinary running counts as well.
    Anything,
}

/// For how long a JVM that starts is always so.
#[derive(Debug, Clone, Copy)]
enum AtStart {
    Never,
    Boot,
    WarmUp,
}

/// What is known of a signal.
#[derive(Debug, Clone, Copy)]
struct Row {
    kind: SignalKind,
    name: &'static str,
    /// What is said of the worst value, `{}`, in a slow stretch.
    says: &'static str,
    unit: &'static str,
    about: About,
    at_start: AtStart,
    limits: Limits,
}

/// What no healthy program has at all: once is enough.
const ONCE: Limits = Limits { floor: 1.0, factor: 1.0, alone: 1.0, run: 1, ideal_is_zero: true, least_part: 0.0 };

/// A good part of a second at once.
const OFTEN: Limits = Limits { floor: 0.1, factor: 3.0, alone: 0.1, ..ONCE };

/// What comes and goes in any program, and has to last.
const LASTING: Limits = Limits { alone: f64::INFINITY, run: 3, ..OFTEN };

/// Waits of which any program has some: half of a thread, and a good part of what the threads at work do.
const WAITS: Limits = Limits { floor: 0.5, alone: 2.0, run: 2, least_part: 0.25, ..OFTEN };

/// Work of the JVM's own threads, of which there is always a little: eight cores of it are too much at once.
const CORES: Limits = Limits { alone: 8.0, run: 3, ..OFTEN };

const LATENCY: Limits = Limits { floor: UNNOTICED_NS, alone: NOTICED_NS, run: 3, ideal_is_zero: false, ..OFTEN };

const GIVEN: Row = Row {
    kind: SignalKind::Given,
    name: "given",
    says: "as given",
    unit: "",
    about: About::Anything,
    at_start: AtStart::Never,
    limits: ONCE,
};

const REQUESTS: Row = Row {
    kind: SignalKind::RequestLatency,
    name: "request_latency",
    says: "requests took up to {} (99th percentile of a second)",
    unit: "ns",
    about: About::Latency,
    limits: LATENCY,
    ..GIVEN
};

const THREADS: Row = Row { unit: "threads", about: About::Loss, at_start: AtStart::Boot, limits: OFTEN, ..GIVEN };

const SHARE: Row = Row { unit: "ratio", ..THREADS };

const WORK: Row = Row { unit: "cores", at_start: AtStart::WarmUp, limits: CORES, ..THREADS };

/// A datagram that is lost never comes again, and who could not connect waits for a second at least.
const HARM: Row = Row { unit: "1/s", about: About::Harm, limits: ONCE, ..THREADS };

/// In the order of the kinds.
#[rustfmt::skip]
const ROWS: &[Row; SignalKind::BelowJava as usize + 1] = &[
    GIVEN,
    REQUESTS,
    // Single requests do not move a median.
    Row { kind: SignalKind::MedianLatency, says: "requests took up to {} (median of a second)",
        limits: Limits { factor: 2.0, ..LATENCY }, ..REQUESTS },
    // Late requests that are no more than this part of all harm nobody who looks at a percentile.
    Row { kind: SignalKind::RareRequests, name: "rare_requests",
        says: "up to {} of a second's requests were late{longest}: few of all, but more than at other times",
        about: About::Latency,
        limits: Limits { floor: 0.001, alone: 1.0, ideal_is_zero: false, ..OFTEN }, ..SHARE },
    // Nobody's requests have to wait for so long, and where the service keeps up hardly any does.
    Row { kind: SignalKind::UnreadRequests, name: "unread_requests",
        says: "half of the requests waited for up to {} until the service read them",
        at_start: AtStart::WarmUp,
        limits: Limits { floor: NOTICED_NS, alone: f64::INFINITY, ideal_is_zero: true, ..LATENCY }, ..REQUESTS },
    Row { kind: SignalKind::Stopped, name: "stopped", says: "the application was stopped for up to {} of a second",
        ..SHARE },
    Row { kind: SignalKind::FullCollections, name: "full_collections",
        says: "full or explicit GCs paused the application for up to {} of a second",
        limits: Limits { floor: 0.03, alone: 0.03, ..OFTEN }, ..SHARE },
    // Less is a burst now and then: a service without a quota stops as long for a collection.
    Row { kind: SignalKind::Throttled, name: "throttled",
        says: "a CPU quota stopped the process for up to {} of a second",
        limits: LASTING, ..SHARE },
    Row { kind: SignalKind::Locks, name: "locks", says: "up to {} threads waited for locks",
        limits: Limits { alone: 3.0, least_part: 0.2, ..WAITS }, ..THREADS },
    // A single dump stands for a second, which may lie in two of the grid's.
    Row { kind: SignalKind::Deadlock, name: "deadlock", says: "the JVM found up to {} threads in a deadlock",
        at_start: AtStart::Never, limits: Limits { floor: 0.5, alone: 0.5, ..ONCE }, ..THREADS },
    // Waits that no pool is made for make its ideal zero (`pools`).
    Row { kind: SignalKind::Permits, name: "permits",
        says: "up to {} threads waited for permits of a semaphore or for objects of a pool",
        limits: Limits { factor: 2.0, ideal_is_zero: false, ..WAITS }, ..THREADS },
    Row { kind: SignalKind::InputOutput, name: "input_output",
        says: "up to {} threads waited for other services or files",
        limits: Limits { factor: 2.0, ideal_is_zero: false, ..WAITS }, ..THREADS },
    Row { kind: SignalKind::RunQueue, name: "run_queue", says: "up to {} threads waited for a CPU",
        at_start: AtStart::WarmUp,
        limits: Limits { alone: 4.0, ideal_is_zero: false, ..WAITS }, ..THREADS },
    Row { kind: SignalKind::PageFaults, name: "page_faults", says: "up to {} threads waited for pages of memory",
        ..THREADS },
    Row { kind: SignalKind::LostDatagrams, name: "lost_datagrams", says: "up to {} datagrams were lost in a second",
        ..HARM },
    Row { kind: SignalKind::RefusedConnections, name: "refused_connections",
        says: "up to {} attempts to connect were dropped in a second",
        ..HARM },
    Row { kind: SignalKind::UnansweredRequests, name: "unanswered_requests",
        says: "up to {} requests waited at once that were not answered",
        unit: "requests", at_start: AtStart::Never,
        limits: Limits { floor: 1.0, ..LASTING }, ..HARM },
    Row { kind: SignalKind::AllocationStalls, name: "allocation_stalls", says: "up to {} threads waited for memory",
        ..THREADS },
    Row { kind: SignalKind::Recompiling, name: "recompiling", says: "recompiling took up to {} cores",
        limits: Limits { floor: 0.2, least_part: 0.2, ..CORES }, ..WORK },
    // Since JDK 20 the collector frees code. Once or twice while a program grows is upkeep: again and again means that what is
    // freed is needed.
    Row { kind: SignalKind::FreeingCode, name: "freeing_code", says: "up to {} collections per second to free code",
        unit: "1/s",
        limits: Limits { floor: 0.5, run: 5, ..LASTING }, ..THREADS },
    Row { kind: SignalKind::Collecting, name: "collecting", says: "the collector took up to {} cores",
        limits: Limits { floor: 0.25, ideal_is_zero: false, least_part: 0.25, ..CORES }, ..WORK },
    Row { kind: SignalKind::Interpreting, name: "interpreting", says: "interpreted code took up to {} cores",
        limits: Limits { run: 5, least_part: INTERPRETED_SHARE, ..CORES }, ..WORK },
    // Running is not slowness, being out of CPU is: only seconds with nearly all CPUs in use count.
    Row { kind: SignalKind::Cpu, name: "cpu", says: "the process used up to {} of the CPUs",
        unit: "ratio", about: About::Anything,
        limits: Limits { floor: 0.85, factor: 1.3, ideal_is_zero: false, ..CORES }, ..WORK },
    Row { kind: SignalKind::BelowJava, name: "below_java",
        says: "the kernel and the JVM took up to {} cores on the application's threads",
        at_start: AtStart::Boot,
        limits: Limits { factor: 1.5, run: 5, ideal_is_zero: false, ..LASTING }, ..WORK },
];

const _: () = {
    let mut index = 0;
    while index < ROWS.len() {
        assert!(ROWS[index].kind as usize == index);
        index += 1;
    }
};

impl SignalKind {
    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Unit of its values; empty for what a person said.
    pub fn unit(self) -> &'static str {
        self.row().unit
    }

    /// What is said of the worst value, `{}`, in a slow stretch.
    pub fn says(self) -> &'static str {
        self.row().says
    }

    pub(crate) fn limits(self) -> Limits {
        self.row().limits
    }

    /// Whether it measures harm of another kind than time, which is not made good by requests that are quick.
    pub(crate) fn is_for_good(self) -> bool {
        self.row().about == About::Harm
    }

    /// Whether it measures time that is lost in itself. The others measure that something was
    /// too much without saying what, so that ordinary running counts as well.
    pub fn is_loss(self) -> bool {
        matches!(self.row().about, About::Loss | About::Harm)
    }

    /// Whether it measures how long requests took.
    pub fn is_latency(self) -> bool {
        self.row().about == About::Latency
    }

    /// For how many buckets at the beginning it says nothing, because a JVM that starts is so.
    pub(super) fn ordinary_at_start(self, startup: Startup) -> usize {
        match self.row().at_start {
            AtStart::Never => 0,
            AtStart::Boot => startup.boot_buckets,
            AtStart::WarmUp => startup.warm_up_buckets,
        }
    }
}
