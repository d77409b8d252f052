//! What an explanation says: the answer of the engine, and the contract of `fathom explain --json`.
//!
//! Field names are those of the JSON (version [`SCHEMA`]); a field is never renamed or given
//! another meaning without raising the version.

mod evidence;

use serde::Serialize;

pub use evidence::{Evidence, Missing};

/// Version of the JSON.
pub const SCHEMA: u32 = 1;

/// The answer to "why was it slow".
#[derive(Debug, Clone, Default, Serialize)]
pub struct Explanation {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What was looked at.
    pub recording: RecordingSummary,
    /// Whether anything was slow, in one sentence, with what could make that wrong.
    pub headline: Headline,
    /// When it was slow; empty when nothing was slow, or it is unknown.
    pub slow: Vec<SlowInterval>,
    /// Whether slow time came by the clock; none where it did not, or too little is known.
    pub rhythm: Option<Rhythm>,
    /// What the slow time was compared with.
    pub baseline: Baseline,
    /// Headline figures, slow against baseline: latency, CPU, stops.
    pub figures: Vec<Evidence>,
    /// Every cause of the catalogue, the best explanation first.
    pub causes: Vec<CauseVerdict>,
    /// What no cause explains.
    pub unexplained: Unexplained,
    /// Requests that were measured at sockets, by the port that they came to; the one whose requests tell slow time first.
    pub requests: Vec<PortSummary>,
    /// What changed within the recording, the largest change first; there where nothing can be called slow, and where no cause of the slowness is named.
    pub changed: Vec<Change>,
    /// Kinds of messages in logs that came more or less often in the slow time, the clearest difference first. They are by-products: none is a cause.
    pub messages: Vec<LineKind>,
    /// The same of requests by method and path, where an access log or another file of latencies names them: a request is as often the victim of a
    /// slowdown as it makes one.
    pub request_kinds: Vec<LineKind>,
    /// The same of the status of their answers.
    pub statuses: Vec<LineKind>,
    /// What is missing from the recording.
    pub losses: Vec<LossNote>,
}

/// A kind of message in logs of the application, or of requests, slow time against baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LineKind {
    /// Level, logger, and what its messages have in common; method and path of requests; status of answers.
    pub says: String,
    /// How many came per second in the slow time.
    pub slow_per_s: f64,
    /// How many came per second in the baseline.
    pub baseline_per_s: f64,
    /// Its part of all messages in the slow time.
    pub slow_ratio: f64,
    /// Its part of all messages in the baseline.
    pub baseline_ratio: f64,
    /// Odds of a message to be of this kind in the slow time, by those in the baseline.
    pub odds_ratio: f64,
    /// Lower end of its 95 % interval.
    pub odds_low: f64,
    /// Upper end of it.
    pub odds_high: f64,
    /// How likely so large a difference is by chance (a permutation test); none where there are too few messages to tell.
    pub chance: Option<f64>,
    /// Whether it differs: among all kinds with this flag, 5 % may differ by chance (Benjamini and Hochberg).
    pub differs: bool,
}

/// What a person reads first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Headline {
    /// What can be said about slowness.
    pub kind: HeadlineKind,
    /// One sentence.
    pub says: String,
    /// What is missing that could hide an answer, or a part of one: a sentence each.
    pub but: Vec<String>,
}

/// What can be said about slowness.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HeadlineKind {
    /// It was slow.
    Slow,
    /// It was not: how long requests took was seen, or everything that the JVM and the kernel can tell.
    NothingSlow,
    /// What was recorded shows nothing; how long requests took was not recorded.
    NoSign,
    /// Nothing that was recorded could have shown it.
    #[default]
    CannotTell,
}

/// Slow stretches that come by the clock, or in equal distances.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rhythm {
    /// One sentence.
    pub says: String,
    /// From one to the next.
    pub period_ns: i64,
    /// How long after the full second, minute or hour they begin; none for those that are only in equal distances.
    pub phase_ns: Option<i64>,
    /// How many there are.
    pub count: u64,
    /// How likely so clear a rhythm is by chance (Rayleigh's test and that of the shortest arc, over all tried periods).
    pub chance: f64,
}

/// A lasting change of something that was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// What changed.
    pub says: String,
    /// When.
    pub at_ns: i64,
    /// Its mean before.
    pub before: f64,
    /// Its mean from then on.
    pub after: f64,
    /// Unit of both, as of [`Evidence::unit`].
    pub unit: String,
    /// Of a wait, the stack that waited most from then on, leaf first; else empty.
    pub stack: String,
    /// How likely so large a change is when nothing changed (Pettitt's test).
    pub chance: f64,
}

/// Identity and extent of a recording.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RecordingSummary {
    /// Main class or jar of the JVM, or the name of the file.
    pub title: String,
    /// Process id, if known.
    pub pid: Option<i64>,
    /// For example `JDK 25.0.3`.
    pub jvm: String,
    /// For example `G1`.
    pub collector: String,
    /// CPUs that the JVM may use.
    pub cpus: Option<u32>,
    /// First instant.
    pub from_ns: i64,
    /// Last instant.
    pub to_ns: i64,
    /// Where the evidence is from: `jfr`, `gc_log`, `latency`.
    pub sources: Vec<String>,
    /// Which capture tier it amounts to (0: files and JVM only).
    pub tier: u8,
}

/// Requests that came to a port of the process, over the whole recording.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PortSummary {
    /// For example `:8080`.
    pub port: String,
    /// How many, of those that are known one by one.
    pub count: u64,
    /// Of these, how many were streams of HTTP/2 in the clear; many streams share a connection.
    pub streams_count: u64,
    /// Of these, how many were not answered before the recording ended, or their clients gave up: their time ends there.
    pub unanswered_count: u64,
    /// Stretches with several at once on a connection, or with unrequested data (HTTP/2, WebSocket). Their times are unknown.
    pub overlapping_count: u64,
    /// When the first of these began, in ns since the Unix epoch; none where there was none.
    pub several_from_ns: Option<i64>,
    /// What is known without telling which answer belongs to which request; none where it was not counted.
    pub data: Option<PortData>,
    /// What failed there.
    pub failed: PortFailures,
    /// Median of the time from the arrival of a request to the end of its answer, in ns.
    pub p50_ns: f64,
    /// The usual value, in ns: the median of the time that the slow one is compared with; without it, of all.
    pub usual_ns: f64,
    /// 99th percentile of it, in ns.
    pub p99_ns: f64,
    /// The longest, in ns.
    pub longest_ns: f64,
    /// Sum of what each took beyond twice what is usual, in ns.
    pub lost_ns: f64,
    /// How far each of these lengths may be off, in ns: 0 where each byte was seen at its socket, a few ticks of the kernel's
    /// clock where connections were looked at now and then.
    pub uncertain_ns: f64,
    /// Where those spent their time that took longer than twice what is usual.
    pub slow: SlowRequests,
}

/// Data that came to a port and left it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PortData {
    /// How often data came. Where each request comes by itself and is small, that is how many came, however many at once.
    pub arrivals_count: u64,
    /// How often something was sent. Where each answer is sent by itself and at once, that is how many came as well.
    pub sends_count: u64,
    /// The first of these for each second in which it was counted.
    pub arrivals_per_s: f64,
    /// Bytes that were read.
    pub received_bytes: u64,
    /// Bytes that were sent.
    pub sent_bytes: u64,
}

/// Requests and connections that failed, which no latency tells.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PortFailures {
    /// Connections that either side reset.
    pub reset_count: u64,
    /// Connections that ended after something had been asked, without any answer ever.
    pub closed_unanswered_count: u64,
    /// Requests that were answered in a tenth of the usual time by a tenth of the usual bytes, as errors are.
    pub curt_count: u64,
}

/// The time of slow requests. Each request is divided once: its parts make the total.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SlowRequests {
    /// How many.
    pub count: u64,
    /// Their time together, in ns.
    pub total_ns: f64,
    /// They had arrived but had not been read.
    pub unread_ns: f64,
    /// What the threads that read them at last did meanwhile for most of that, as far as it is recorded: a sentence, or empty.
    pub unread_while: String,
    /// They had been read and were queued: the thread that then worked on them was at work on others. A lower bound.
    pub queued_ns: f64,
    /// Other services were called for them, by whatever thread.
    pub calls_ns: f64,
    /// The rest: they were worked on, or waited in the program.
    pub service_ns: f64,
    /// Their answers stood in the kernel after the program had given them away.
    pub unsent_ns: f64,
    /// It is not known who read and who answered them: their connections were looked at now and then only.
    pub unknown_ns: f64,
}

/// A stretch of time in which the service was slow.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SlowInterval {
    /// Its beginning.
    pub from_ns: i64,
    /// Its end.
    pub to_ns: i64,
    /// Which signal shows it: `request_latency`, `rare_requests`, `stopped`, `full_collections`, `throttled`, `locks`, `permits`,
    /// `input_output`, `run_queue`, `page_faults`, `lost_datagrams`, `refused_connections`, `unanswered_requests`, `allocation_stalls`, `recompiling`,
    /// `freeing_code`, `collecting`, `interpreting`, `cpu`, `below_java`, `given`.
    pub signal: String,
    /// One sentence with figures.
    pub says: String,
    /// What explains it, and other intervals of its kind: the causes that are shown or likely, by share.
    pub causes: Vec<IntervalCause>,
    /// The longest single stall or wait in it, with thread and instant; empty when none stands out.
    pub worst: String,
}

/// A cause of one slow interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IntervalCause {
    /// Its id.
    pub id: String,
    /// How sure.
    pub verdict: Verdict,
    /// Part of the time lost in intervals of this kind, 0 to 1.
    pub share: f64,
}

/// What the slow time was compared with.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Baseline {
    /// `rest_of_recording`, `other_recording`, or `none` (everything was slow: compared with no loss at all).
    pub kind: String,
    /// One sentence.
    pub says: String,
    /// How much time it covers.
    pub duration_ns: i64,
}

/// How sure a statement about a cause is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The mechanism was seen and it covers the time.
    Shown,
    /// All signs but one fit, or the mechanism was seen only indirectly.
    Likely,
    /// Some signs fit; not enough to act on.
    Possible,
    /// The evidence does not suffice to say.
    #[default]
    NotEnough,
    /// A measurement excludes it.
    RuledOut,
}

/// What is said of one cause.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CauseVerdict {
    /// Its id, the name of its folder in the catalogue.
    pub id: String,
    /// How sure.
    pub verdict: Verdict,
    /// Part of the lost time that it explains, 0 to 1.
    pub share: f64,
    /// What of that no other cause claims: at least so much is its, 0 to 1.
    pub only: f64,
    /// All that it claims, whichever cause was given it: at most so much is its, 0 to 1.
    pub reach: f64,
    /// What it costs per request; none where requests are not known.
    pub cost: Option<Cost>,
    /// One or two sentences with figures, for a person.
    pub says: String,
    /// For when it holds that the cause is ruled out: the slow time, or the whole recording where nothing was slow; none of other
    /// verdicts.
    pub during: Option<During>,
    /// The measurements behind it.
    pub evidence: Vec<Evidence>,
    /// What would make the answer better.
    pub missing: Vec<Missing>,
    /// Ids of causes behind this one, the nearest first.
    pub chain: Vec<String>,
    /// What to do about it.
    #[serde(rename = "do")]
    pub actions: Vec<String>,
    /// The command that reproduces the mechanism; empty when there is no lab for it.
    pub prove: String,
    /// What to look at to see it at work; empty of a cause that was not found.
    #[serde(rename = "look")]
    pub drill_down: DrillDown,
}

impl CauseVerdict {
    /// A cause without any information.
    pub fn nothing(id: &str) -> CauseVerdict {
        CauseVerdict { id: id.to_owned(), ..CauseVerdict::default() }
    }
}

/// What a cause costs those who wait: a mean over the requests of the slow time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// How much, in ns.
    pub ns: f64,
    /// For each of what: `request`, or `arrival of data` where several requests share a connection.
    pub per: String,
}

/// The time for which something holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct During {
    /// Its beginning.
    pub from_ns: i64,
    /// Its end. Between several slow intervals it holds of none of the time.
    pub to_ns: i64,
}

/// The part of the lost time that no cause explains.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Unexplained {
    /// Part of the lost time, 0 to 1; 0 when nothing was slow.
    pub share: f64,
    /// What its biggest part is.
    pub says: String,
    /// The stacks seen most in it.
    pub stacks: Vec<StackShare>,
    /// What to look at to see its biggest part.
    #[serde(rename = "look")]
    pub drill_down: DrillDown,
}

/// What to look at to see something at work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DrillDown {
    /// What is drawn over time that shows it, the most telling first: names of counters (`NAME|INSTANCE` for one instance of
    /// many) and kinds of spans.
    pub lanes: Vec<String>,
    /// Roles of the threads whose stacks show it; empty for all.
    pub roles: Vec<String>,
    /// Ids of the threads that lost most by it.
    pub threads: Vec<i64>,
    /// Whose stacks show it: an event of samples, `spans/` and a kind of spans, or `waits/` and what was waited for; empty
    /// when no stacks do.
    pub event: String,
    /// A frame to be looked for in the stacks; empty when none stands out.
    pub search: String,
    /// The table of the recording that has most of it: `samples`, `spans`, `counters`, `facts` or `logs`.
    pub table: String,
    /// The worst of it, the longest first.
    pub worst: Vec<Instant>,
}

/// Something that happened once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Instant {
    /// Its beginning.
    pub from_ns: i64,
    /// Its end.
    pub to_ns: i64,
    /// The thread; 0 for the whole process.
    pub tid: i64,
    /// One sentence.
    pub says: String,
}

/// A stack and how much of the samples of the slow time it has.
#[derive(Debug, Clone, Serialize)]
pub struct StackShare {
    /// Leaf first, frames separated by `;`.
    pub stack: String,
    /// Share of the samples of its threads in the slow time, 0 to 1.
    pub share: f64,
}

/// A loss for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LossNote {
    /// Where it was lost.
    pub source: String,
    /// Its kind, one of `fathom_evidence::kinds::loss`.
    pub kind: String,
    /// One sentence.
    pub says: String,
}
