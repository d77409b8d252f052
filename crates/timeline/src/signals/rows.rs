//! One row per signal: its name, what it measures, and from which values on a second is slow by it.

use super::INTERPRETED_SHARE;
use crate::requests::NOTICED_NS;
use crate::startup::Startup;
use crate::states::ThreadState::{self, Blocked, Collector, Compiler, Runnable, Running, Stopped};
use crate::states::{Layer, Origin, Scope, Stop, Wait};

/// A user who waits for an answer does not notice this, in ns.
pub(super) const UNNOTICED_NS: f64 = 1e6;

/// From which values of a signal on a second is slow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// A lower value harms no user.
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
    name: &'static str,
    /// What is said of the worst value, `{}`, in a slow stretch.
    says: &'static str,
    unit: &'static str,
    about: About,
    at_start: AtStart,
    /// Whether it counts thread time of a kind; none for a signal that counts something else.
    made_of: fn(ThreadState) -> bool,
    limits: Limits,
}

/// What no healthy program has at all: once is enough.
const ONCE: Limits = Limits { floor: 1.0, factor: 1.0, alone: 1.0, run: 1, ideal_is_zero: true, least_part: 0.0 };

/// A good part of a second at once.
const OFTEN: Limits = Limits { floor: 0.1, factor: 3.0, alone: 0.1, ..ONCE };

/// What comes and goes in any program, and has to last.
const LASTING: Limits = Limits { alone: f64::INFINITY, run: 3, ..OFTEN };

/// Waits that any program has: half of a thread, and a good part of what the threads at work do.
const WAITS: Limits = Limits { floor: 0.5, alone: 2.0, run: 2, least_part: 0.25, ..OFTEN };

/// Work of the JVM's own threads. There is always a little of it: eight cores of it are too much at once.
const CORES: Limits = Limits { alone: 8.0, run: 3, ..OFTEN };

const LATENCY: Limits = Limits { floor: UNNOTICED_NS, alone: NOTICED_NS, run: 3, ideal_is_zero: false, ..OFTEN };

const GIVEN: Row = Row {
    name: "given",
    says: "as given",
    unit: "",
    about: About::Anything,
    at_start: AtStart::Never,
    made_of: |_| false,
    limits: ONCE,
};

const REQUESTS: Row = Row {
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

/// The kinds of signals and what is known of each, in one order.
macro_rules! signals {
    ($($(#[$doc:meta])* $kind:ident = $row:expr,)*) => {
        /// What a signal measures.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum SignalKind {
            $($(#[$doc])* $kind,)*
        }

        const ROWS: &[Row] = &[$($row,)*];
    };
}

signals! {
    /// A person said so.
    Given = GIVEN,
    /// 99th percentile of the requests' latency, in ns.
    RequestLatency = REQUESTS,
    /// Median of the requests' latency, in ns.
    // Single requests do not move a median.
    MedianLatency = Row { says: "requests took up to {} (median of a second)",
        limits: Limits { factor: 2.0, ..LATENCY }, ..REQUESTS },
    /// Mean of the requests' latency, in ns: only asked for when no other signal tells slow time.
    // A single request moves it, so it has to be higher for long (`lasting`).
    MeanLatency = Row { says: "requests took up to {} (mean of a second)",
        limits: Limits { floor: f64::INFINITY, ..LATENCY }, ..REQUESTS },
    /// Thread time at work for each arrival of data, in ns: only asked for when no other signal leads to a cause.
    // Other work moves it as well, so it has to be higher for long (`lasting`).
    TimeInService = Row { name: "time_in_service",
        says: "threads were at work, or waited, for up to {} for each arrival of data",
        limits: Limits { floor: f64::INFINITY, ..LATENCY }, ..REQUESTS },
    /// Share of the requests of a second that were late, where those are few of all but more than at other times.
    // Late requests that are no more than this part of all do not show in a percentile.
    RareRequests = Row { name: "rare_requests",
        says: "up to {} of a second's requests were late{longest}: few of all, but more than at other times",
        about: About::Latency,
        limits: Limits { floor: 0.001, alone: 1.0, ideal_is_zero: false, ..OFTEN }, ..SHARE },
    /// For how long half of the requests were in their sockets before the service read them, in ns.
    // No request has to wait this long, and where the service keeps up hardly any does.
    UnreadRequests = Row { name: "unread_requests",
        says: "half of the requests waited for up to {} until the service read them",
        at_start: AtStart::WarmUp,
        limits: Limits { floor: NOTICED_NS, alone: f64::INFINITY, ideal_is_zero: true, ..LATENCY }, ..REQUESTS },
    /// Share of time in which the whole application stood still.
    Stopped = Row { name: "stopped", says: "the application was stopped for up to {} of a second",
        made_of: |state| matches!(state, Stopped(_)), ..SHARE },
    /// Share of time in which full collections, or ones that were asked for, stopped everything:
    /// no healthy service has them again and again.
    FullCollections = Row { name: "full_collections",
        says: "full or explicit GCs paused the application for up to {} of a second",
        limits: Limits { floor: 0.03, alone: 0.03, ..OFTEN },
        made_of: is_never_usual, ..SHARE },
    /// Share of time for which a CPU quota stopped the process, where requests wait for that.
    // Less is a burst now and then: a service without a quota stops as long for a collection.
    Throttled = Row { name: "throttled",
        says: "a CPU quota stopped the process for up to {} of a second",
        limits: LASTING, ..SHARE },
    /// Threads waiting for locks, on average.
    Locks = Row { name: "locks", says: "up to {} threads waited for locks",
        limits: Limits { alone: 3.0, least_part: 0.2, ..WAITS },
        made_of: |state| state == Blocked(Wait::Lock), ..THREADS },
    /// Threads in a deadlock, as the JVM found them.
    // A single dump stands for a second, which may lie in two of the grid's.
    Deadlock = Row { name: "deadlock", says: "the JVM found up to {} threads in a deadlock",
        at_start: AtStart::Never, limits: Limits { floor: 0.5, alone: 0.5, ..ONCE }, ..THREADS },
    /// Threads waiting for permits of semaphores or for objects of a pool, on average.
    // Waits that no pool is made for make its ideal zero (`pools`).
    Permits = Row { name: "permits",
        says: "up to {} threads waited for permits of a semaphore or for objects of a pool",
        limits: Limits { factor: 2.0, ideal_is_zero: false, ..WAITS },
        made_of: |state| matches!(state, Blocked(Wait::Permit | Wait::Pool)), ..THREADS },
    /// Threads waiting for other services or files, on average.
    InputOutput = Row { name: "input_output",
        says: "up to {} threads waited for other services or files",
        limits: Limits { factor: 2.0, ideal_is_zero: false, ..WAITS },
        made_of: is_input_output, ..THREADS },
    /// Threads of the application waiting for a CPU, on average.
    RunQueue = Row { name: "run_queue", says: "up to {} threads waited for a CPU",
        at_start: AtStart::WarmUp,
        limits: Limits { alone: 4.0, ideal_is_zero: false, ..WAITS },
        made_of: |state| state == Runnable, ..THREADS },
    /// Threads of the application waiting for pages of memory, on average.
    PageFaults = Row { name: "page_faults", says: "up to {} threads waited for pages of memory",
        made_of: |state| state == Blocked(Wait::PageFault), ..THREADS },
    /// Datagrams per second that were lost because no thread read them from a socket of the process.
    LostDatagrams = Row { name: "lost_datagrams", says: "up to {} datagrams were lost in a second",
        ..HARM },
    /// Attempts to connect per second that were dropped because earlier connections had not been accepted.
    RefusedConnections = Row { name: "refused_connections",
        says: "up to {} attempts to connect were dropped in a second",
        ..HARM },
    /// Requests without an answer, on average, while threads hang or their clients give up.
    UnansweredRequests = Row { name: "unanswered_requests",
        says: "up to {} requests waited at once that were not answered",
        unit: "requests", at_start: AtStart::Never,
        limits: Limits { floor: 1.0, ..LASTING }, ..HARM },
    /// Threads waiting for the collector to free memory, on average.
    AllocationStalls = Row { name: "allocation_stalls", says: "up to {} threads waited for memory",
        made_of: |state| matches!(state, Blocked(Wait::AllocationStall | Wait::DirectMemory)), ..THREADS },
    /// Cores used by compiler threads to compile again what was compiled before.
    Recompiling = Row { name: "recompiling", says: "recompiling took up to {} cores",
        limits: Limits { floor: 0.2, least_part: 0.2, ..CORES },
        made_of: |state| state == Compiler, ..WORK },
    /// Collections per second that were started to free code.
    // Since JDK 20 the collector frees code. Once or twice while a program grows is upkeep: again and again means that what is
    // freed is needed.
    FreeingCode = Row { name: "freeing_code", says: "up to {} collections per second to free code",
        unit: "1/s",
        limits: Limits { floor: 0.5, run: 5, ..LASTING }, ..THREADS },
    /// Cores used by the collector.
    Collecting = Row { name: "collecting", says: "the collector took up to {} cores",
        limits: Limits { floor: 0.25, ideal_is_zero: false, least_part: 0.25, ..CORES },
        made_of: |state| matches!(state, Collector(_)), ..WORK },
    /// Cores used by interpreted code after start-up.
    Interpreting = Row { name: "interpreting", says: "interpreted code took up to {} cores",
        limits: Limits { run: 5, least_part: INTERPRETED_SHARE, ..CORES },
        made_of: |state| state == Running(Layer::Interpreted), ..WORK },
    /// Share of the CPUs that the process uses, when they are nearly all in use.
    // Running is not slowness, being out of CPU is: only seconds with nearly all CPUs in use count.
    Cpu = Row { name: "cpu", says: "the process used up to {} of the CPUs",
        unit: "ratio", about: About::Anything,
        limits: Limits { floor: 0.85, factor: 1.3, ideal_is_zero: false, ..CORES }, ..WORK },
    /// Cores used by the kernel and the JVM on the application's threads: only asked for when no
    /// other signal leads to a cause.
    BelowJava = Row { name: "below_java",
        says: "the kernel and the JVM took up to {} cores on the application's threads",
        at_start: AtStart::Boot,
        limits: Limits { factor: 1.5, run: 5, ideal_is_zero: false, ..LASTING },
        made_of: ThreadState::is_below_java, ..WORK },
}

/// Stops that no healthy service has again and again.
fn is_never_usual(state: ThreadState) -> bool {
    matches!(state, Stopped(Stop::Collection(of)) if of.scope == Scope::Full || of.origin == Origin::Explicit)
}

/// Waits for other services and for files.
fn is_input_output(state: ThreadState) -> bool {
    use Wait::{Connect, File, FileLock, NameLookup, Process, Socket};
    matches!(state, Blocked(Socket | File | NameLookup | FileLock | Process | Connect))
}

/// A JVM that starts stops for a while; one that stands still for half of a second or more does nothing else. Part of a second.
const STANDS_STILL: f64 = 0.5;

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

    /// Whether it counts time of this kind.
    pub fn is_made_of(self, state: ThreadState) -> bool {
        (self.row().made_of)(state)
    }

    /// Whether a value of it says that the whole application stood still for most of the time.
    pub(super) fn stands_still(self, value: f64) -> bool {
        matches!(self, SignalKind::Stopped | SignalKind::FullCollections) && value >= STANDS_STILL
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
