//! Whether anything was slow, in one sentence: "nothing was slow" only where it was seen.

use fathom_evidence::StrId;
use fathom_evidence::kinds::{counter, loss, recorded, span, subject};
use fathom_timeline::{Account, Flaw, JITTER_P99_NS, MOVES_P99, Unanswered, begins_with, median};

use crate::comparison::Comparison;
use crate::crash;
use crate::explanation::{Change, Headline, HeadlineKind, LossNote};
use crate::failures;
use crate::format;
use crate::gaps::Unjudged;
use crate::latency::{self, is_long_throughout};
use crate::limits::MIN_COVERED_SHARE;
use crate::measure::cpu_shortage;
use crate::signs::Signs;

/// What was observed of the service.
struct Seen {
    /// Seconds in which requests were recorded, of all.
    requests_s: (usize, usize),
    /// Why those that were measured do not tell that the service was well.
    flaw: Option<Flaw>,
    stops: bool,
    code: bool,
    waits: bool,
    kernel: bool,
}

/// The JVM's events of threads that wait: for locks, for other threads, for other services.
const WAITS: &[&str] = &["jdk.JavaMonitorEnter", "jdk.ThreadPark", "jdk.SocketRead"];

/// Says it.
pub(crate) fn of(
    comparison: &Comparison<'_>,
    losses: &[LossNote],
    mechanisms: Vec<Unjudged>,
    change: Option<&Change>,
) -> Headline {
    let mut but = hidden(comparison, losses);
    but.extend(mechanism(comparison, mechanisms));
    let seen = Seen::of(comparison);
    let signs = Signs::of(comparison).says();
    let (kind, says) = if comparison.is_slow() {
        (HeadlineKind::Slow, slow(comparison))
    } else if let Some(signs) = signs {
        (HeadlineKind::CannotTell, seen.signs(comparison, &signs))
    } else if let Some(says) = unanswered(comparison) {
        (HeadlineKind::CannotTell, says)
    } else if seen.has_latency() && but.is_empty() && !is_long_throughout(comparison) {
        (HeadlineKind::NothingSlow, "nothing was slow".to_owned())
    } else if seen.requests_s.0 > 0 && is_long_throughout(comparison) {
        (HeadlineKind::NoSign, throughout(comparison))
    } else if seen.stops && seen.code && seen.waits && seen.kernel && but.is_empty() {
        (HeadlineKind::NothingSlow, seen.nothing_below())
    } else if seen.requests_s.0 > 0 || seen.stops || seen.code || seen.waits || seen.kernel {
        (HeadlineKind::NoSign, seen.no_sign())
    } else {
        let says = "cannot tell: neither latency nor stops nor what threads did was recorded";
        (HeadlineKind::CannotTell, says.to_owned())
    };
    if !comparison.is_slow() {
        but.extend(not_counted(comparison));
    }
    but.extend(change.filter(|_| kind != HeadlineKind::NothingSlow).map(|change| changed(comparison, change)));
    but.extend(in_virtual_threads(comparison));
    but.extend(contradicted(comparison));
    but.extend(full_machine(comparison));
    but.extend(out_of_memory(comparison));
    let not_judged = NotJudged::of(comparison).filter(|_| kind == HeadlineKind::NoSign);
    let says = not_judged.map_or(says.clone(), |not_judged| not_judged.headline(&says));
    after_a_crash(comparison, although_noticed(comparison, Headline { kind, says, but }))
}

/// A service that was watched for hours was slow by its own history. That no second of the recording is slower than its others
/// clears nothing: the slow time may have begun before.
fn although_noticed(comparison: &Comparison<'_>, headline: Headline) -> Headline {
    let recording = comparison.recording();
    let fact = |key| recording.fact(subject::RECORDING, key);
    let is_noticed = fact(recorded::TRIGGER).is_some_and(|trigger| trigger.starts_with(recorded::TRIGGER_OF_REQUESTS));
    if !is_noticed || !matches!(headline.kind, HeadlineKind::NothingSlow | HeadlineKind::NoSign) {
        return headline;
    }
    let noticed = fact(recorded::TRIGGER_SAYS).unwrap_or("requests were slow");
    let says = format!(
        "cannot tell why fathom watch noticed it ({noticed}): no second of the recording is slower than the others, so it may lack \
         the time before"
    );
    Headline { kind: HeadlineKind::CannotTell, says, ..headline }
}

/// That the JVM died comes before how quick it was; and one that died is not well.
fn after_a_crash(comparison: &Comparison<'_>, headline: Headline) -> Headline {
    let Some(died) = crash::says(comparison) else { return headline };
    let kind = if headline.kind == HeadlineKind::NothingSlow { HeadlineKind::NoSign } else { headline.kind };
    Headline { kind, says: format!("{died}; until then: {}", headline.says), ..headline }
}

/// The mechanism that was seen most, if that is more than noise: whether requests waited for it is not known.
fn mechanism(comparison: &Comparison<'_>, mechanisms: Vec<Unjudged>) -> Option<String> {
    let most = mechanisms.into_iter().max_by(|a, b| a.ns.total_cmp(&b.ns))?;
    let is_material = most.ns >= comparison.material_ns();
    is_material.then(|| format!("seen, and whether requests waited for it is not known: {}", most.says))
}

/// The largest lasting change of what was measured.
fn changed(comparison: &Comparison<'_>, change: &Change) -> String {
    let amount = |value| format::amount(value, &change.unit);
    let at_ns = change.at_ns.saturating_sub(comparison.sources().grid.start_ns);
    format!(
        "changed after {}: {}, {} before and {} from then on",
        format::time(at_ns as f64),
        change.says,
        amount(change.before),
        amount(change.after)
    )
}

/// That requests were measured elsewhere than where clients wait, which the stops of the application show.
fn contradicted(comparison: &Comparison<'_>) -> Option<String> {
    let flaw = comparison.analysis.account.requests_flaw?;
    matches!(flaw, Flaw::Contradicted { .. }).then(|| format!("how long requests took was {}", of_flaw(flaw)))
}

/// That the JVM was out of memory, by its own words or the program's.
fn out_of_memory(comparison: &Comparison<'_>) -> Option<String> {
    let recording = comparison.recording();
    let is_of_it = |text: StrId| recording.text(text).contains("java.lang.OutOfMemoryError");
    let lines = recording.logs.rows().filter(|row| is_of_it(row.text)).map(|row| row.time_ns);
    // Exceptions of the application's own log are counted by their class.
    let counts = comparison.sources().counters(counter::LOG_MESSAGES_COUNT).into_iter();
    let counted = counts.filter(|((kind, _), _)| is_of_it(*kind)).filter_map(|(_, series)| Some(series.0.first()?.0));
    let times: Vec<i64> = lines.chain(counted).collect();
    let first_ns = times.iter().filter(|time_ns| **time_ns > 0).min();
    let after = |ns: &i64| ns.saturating_sub(comparison.sources().grid.start_ns).max(0);
    let when = first_ns.map_or(String::new(), |ns| format!(", first after {}", format::time(after(ns) as f64)));
    (!times.is_empty()).then(|| format!("the logs tell of java.lang.OutOfMemoryError{when}"))
}

/// That the machine had no CPU left: whatever threads wait for seems to take longer then.
fn full_machine(comparison: &Comparison<'_>) -> Option<String> {
    let shortage = cpu_shortage(comparison);
    let used = shortage.machine.filter(|_| shortage.is_full() == Some(true))?;
    let used = format::percent(used);
    Some(format!("the machine's CPUs were {used} busy, which makes all other waits look longer"))
}

/// The part of the recording's seconds that are not judged, above which the others say little of all.
const MAX_UNJUDGED_SHARE: f64 = 1.0 - MIN_COVERED_SHARE;

/// Seconds that are not judged, of all.
struct NotJudged {
    /// Fathom acted on the JVM.
    acted: usize,
    /// The recorder did not run.
    absent: usize,
    either: usize,
    all: usize,
}

impl NotJudged {
    /// Where it is known all the time how long requests took, that was judged.
    fn of(comparison: &Comparison<'_>) -> Option<NotJudged> {
        let (grid, disturbed) = (comparison.sources().grid, &comparison.analysis.account.disturbed);
        let mut absent = vec![false; disturbed.len()];
        for away in comparison.sources().spans(span::NOT_RECORDED) {
            absent[grid.buckets_of(away.time_ns, away.end_ns())].fill(true);
        }
        let count = |of: &[bool]| of.iter().filter(|is| **is).count();
        let either = disturbed.iter().zip(&absent).filter(|(acted, absent)| **acted || **absent).count();
        let found = NotJudged { acted: count(disturbed), absent: count(&absent), either, all: disturbed.len() };
        let is_much = either as f64 > MAX_UNJUDGED_SHARE * found.all as f64;
        (is_much && !latency::has_latency(comparison)).then_some(found)
    }

    /// What is said, without what it may be taken for.
    fn headline(&self, says: &str) -> String {
        format!("judged {} of {} s: {says}", self.all - self.either, self.all)
    }

    fn why(&self) -> impl Iterator<Item = String> {
        let acted = (self.acted, "Fathom loaded its recorders in");
        let absent = (self.absent, "the recorder did not run (stopped, without a CPU, or its disk hung) in");
        let of = self.all;
        let said = move |(seconds, what): (usize, &str)| format!("{what} {seconds} of {of} s, which are not judged");
        [acted, absent].into_iter().filter(|(seconds, _)| *seconds > 0).map(said)
    }
}

/// That requests were not answered, where nothing tells why.
fn unanswered(comparison: &Comparison<'_>) -> Option<String> {
    let found = Unanswered::of(comparison.sources())?;
    (found.count >= MOVES_P99 * found.all).then(|| {
        format!(
            "cannot tell whether it was slow: {} of {} requests had no answer when the recording ended or their clients gave up, the oldest \
             after {}; a service that hangs looks so, and one that answers when there is news",
            format::number(found.count),
            format::number(found.all),
            format::time(found.longest_ns as f64)
        )
    })
}

/// That requests may hang where no recorder looked: what waits in a virtual thread is on no thread's stack.
fn in_virtual_threads(comparison: &Comparison<'_>) -> Option<String> {
    /// Threads that the JDK has only for virtual ones; the kernel cuts their names.
    const HELPERS: [&str; 3] = ["VirtualThread-u", "Read-Poller", "Write-Poller"];
    Unanswered::of(comparison.sources())?;
    let recording = comparison.recording();
    let mut names = recording.threads.iter().map(|(_, thread)| recording.text(thread.name));
    names.any(|name| begins_with(name, &HELPERS)).then(|| {
        "what virtual threads wait for was not seen: jcmd PID Thread.dump_to_file FILE lists their stacks".to_owned()
    })
}

/// Requests take this many times as long as is usual, and longer than any jitter of a machine, where something is felt.
const FELT_RATIO: f64 = 3.0;

/// Requests that were late for a reason that is no slowness of the service, and not to be kept from who asks: Fathom loaded its
/// recorders, or the JVM had just started.
fn not_counted(comparison: &Comparison<'_>) -> impl Iterator<Item = String> {
    let account = &comparison.analysis.account;
    let start = account.startup.boot_buckets.max(account.startup.warm_up_buckets);
    let by_us = late_where(account, |index| account.disturbed[index]);
    let at_start = late_where(account, |index| index < start && !account.disturbed[index]);
    let says = |(late, when): (Option<Late>, &str)| {
        let late = late?;
        let seconds = format::count(late.seconds, "second");
        let (worst, usual) = (format::time(late.worst_ns), format::time(late.usual_ns));
        Some(format!("in {seconds} {when} requests took up to {worst} (p99; else {usual}): not counted here"))
    };
    [(by_us, "in which Fathom loaded its recorders"), (at_start, "of the JVM's start")].into_iter().filter_map(says)
}

/// Seconds in which requests were late.
struct Late {
    seconds: usize,
    worst_ns: f64,
    /// How long requests take in other seconds.
    usual_ns: f64,
}

/// Those of some seconds, against the others.
fn late_where(account: &Account, select: impl Fn(usize) -> bool) -> Option<Late> {
    let p99_ns = &account.requests_as_work()?.p99_ns;
    let of = |chosen: bool| {
        let known = p99_ns.iter().enumerate().filter(|(index, _)| select(*index) == chosen);
        known.filter_map(|(_, p99_ns)| *p99_ns).collect::<Vec<f64>>()
    };
    let usual_ns = median(of(false))?;
    let mut late = of(true);
    late.retain(|p99_ns| *p99_ns >= JITTER_P99_NS.max(FELT_RATIO * usual_ns));
    let worst_ns = late.iter().copied().reduce(f64::max)?;
    Some(Late { seconds: late.len(), worst_ns, usual_ns })
}

fn slow(comparison: &Comparison<'_>) -> String {
    let grid = comparison.sources().grid;
    let (slow_ns, all_ns) = (comparison.slow.time.total_ns(), grid.end_ns().saturating_sub(grid.start_ns));
    let of = format!("slow for {} of {}", format::time(slow_ns as f64), format::time(all_ns as f64));
    match comparison.baseline {
        Some(_) => of,
        None => format!("{of}: all of it, with nothing to compare it with (--baseline RECORDING)"),
    }
}

/// What is said of requests that do not tell that the service was well.
fn of_flaw(flaw: Flaw) -> String {
    match flaw {
        Flaw::Multiplexed(part) => format!(
            "not measured of {} of what came, which came several at once on its connections",
            format::percent(part)
        ),
        Flaw::Few => "measured of a few only, which may be health checks".to_owned(),
        Flaw::Coarse { uncertain_ns, not_met } => format!(
            "measured to {} only, by looking at connections now and then{}",
            format::time(uncertain_ns),
            of_not_met(not_met)
        ),
        Flaw::Contradicted { stop_ns, longest_ns } => format!(
            "not measured where clients wait: the application was stopped for {} while no request took longer than {}",
            format::time(stop_ns),
            format::time(longest_ns)
        ),
    }
}

/// Connections that no look met.
fn of_not_met(count: f64) -> String {
    match count as usize {
        0 => String::new(),
        some => format!(
            ", and not at all on up to {} that lived from one look to the next",
            format::count(some, "connection")
        ),
    }
}

impl Seen {
    fn of(comparison: &Comparison<'_>) -> Seen {
        let sources = comparison.sources();
        let account = &comparison.analysis.account;
        let has_spans = |kind: &str| sources.spans(kind).len() > 0;
        let stops =
            has_spans(span::SAFEPOINT) || has_spans(span::GC_PAUSE) || comparison.is_recorded("jdk.SafepointBegin");
        Seen {
            requests_s: latency::seconds(comparison),
            flaw: account.requests_flaw,
            stops: stops || comparison.has_source("gc_log"),
            code: sources.running_event().is_some(),
            waits: WAITS.iter().all(|event| comparison.is_recorded(event)),
            kernel: sources.has_counter(counter::THREAD_RUN_QUEUE_NS)
                && ["page_faults", "scheduler"].iter().all(|source| comparison.has_source(source)),
        }
    }

    /// Whether it is known how long requests took, all the time or nearly so.
    fn has_latency(&self) -> bool {
        latency::are_nearly_all(self.requests_s)
    }

    /// Signs that may or may not be slowness.
    fn signs(&self, comparison: &Comparison<'_>, signs: &str) -> String {
        match usual_ns(comparison).filter(|_| self.has_latency()) {
            Some(usual_ns) => format!(
                "cannot tell whether it was slow: {signs}; requests took {} (median) all the time, and when they are quick \
                 is not known (--baseline RECORDING of such a time)",
                format::time(usual_ns)
            ),
            None => format!("cannot tell whether it was slow: {signs}; {}", self.latency()),
        }
    }

    fn nothing_below(&self) -> String {
        format!("nothing was slow in the JVM and the kernel; {}", self.latency())
    }

    /// What is known of how long requests took, where it is not known all the time.
    fn latency(&self) -> String {
        let known = match self.requests_s {
            (0, _) => self.flaw.map_or_else(|| "not recorded".to_owned(), of_flaw),
            (known_s, all_s) => format!("recorded for {known_s} of {all_s} s only"),
        };
        format!("how long requests took was {known}")
    }

    fn no_sign(&self) -> String {
        let looked = [
            (self.stops, "stop-the-world pauses"),
            (self.code, "samples of running code"),
            (self.waits, "waits of Java"),
            (self.kernel, "the kernel"),
        ];
        let looked = looked.into_iter().filter(|(seen, _)| *seen).map(|(_, what)| what.to_owned());
        let requests = self.has_latency().then(|| "requests".to_owned());
        let looked: Vec<String> = requests.into_iter().chain(looked).collect();
        let rest = if self.has_latency() { String::new() } else { format!("; {}", self.latency()) };
        format!("no sign of slowness in what was recorded ({}){rest}", looked.join(", "))
    }
}

fn usual_ns(comparison: &Comparison<'_>) -> Option<f64> {
    comparison.analysis.account.requests.as_ref()?.usual_ns()
}

fn throughout(comparison: &Comparison<'_>) -> String {
    let median = format::time(usual_ns(comparison).unwrap_or(0.0));
    format!(
        "requests took {median} (median) all the time; nothing changed within the recording, so it cannot tell whether that is \
         slow: --baseline RECORDING of a time when they were quick tells what is different"
    )
}

/// What was lost that could hide a slowdown or its cause.
fn hidden(comparison: &Comparison<'_>, losses: &[LossNote]) -> Vec<String> {
    // The JVM's own events that are missing are refused by their name.
    let is_of_jfr = |note: &LossNote| note.source == "jfr" && !note.says.starts_with("JFR does not");
    let is_jvm = |note: &LossNote| note.kind == loss::REFUSED && (note.says.starts_with("jfr") || is_of_jfr(note));
    let matters = |note: &&LossNote| matches!(note.kind.as_str(), loss::CUT_OFF | loss::MISSING) || is_jvm(note);
    let mut hidden: Vec<String> = losses.iter().filter(matters).map(|note| note.says.clone()).collect();
    let ended = comparison.recording().fact(subject::RECORDING, recorded::ENDED_BECAUSE).unwrap_or("");
    if hidden.is_empty() && ended == "killed" {
        hidden.push("the recorder was killed: what it had not written is missing".to_owned());
    }
    hidden.extend(several_at_once(comparison));
    hidden.extend(failures::says(comparison));
    hidden.extend(NotJudged::of(comparison).iter().flat_map(NotJudged::why));
    hidden
}

/// That so many requests came several at once on their connections that those whose lengths are known do not tell the 99th percentile.
fn several_at_once(comparison: &Comparison<'_>) -> Option<String> {
    let port = comparison.sources().traffic.ports().iter().max_by(|a, b| a.overlapping.total_cmp(&b.overlapping))?;
    (port.overlapping >= 1.0 && port.overlapping >= MOVES_P99 * (port.count + port.overlapping)).then(|| {
        format!(
            "requests to {} came {} several at once on one connection, or beside what nobody asked for (HTTP/2, WebSocket): how long each of \
             them took is not known",
            comparison.recording().text(port.name),
            format::count(port.overlapping as usize, "time")
        )
    })
}
