//! Waits for files whose requests are throttled by a control group (`io.max`, `blkio.throttle`). Throttling happens before
//! the block layer queues requests, so block events show a quick device and no wait. The sign is a thread that waits for a
//! file while no request is in flight, in a group that uses much of its limit.

use fathom_evidence::kinds::{counter, span};
use fathom_evidence::tables::Span;
use fathom_timeline::{Intervals, Series};

use crate::cause::{Claim, Finding, Support};
use crate::comparison::Comparison;
use crate::explanation::Evidence;
use crate::format;
use crate::measure::block_io::{self, MIN_STAGE_RATIO};
use crate::period::Period;

/// Requests come at random: if less than half of a limit is used, it delays a request by less than half its turn.
const USED: f64 = 0.5;

/// Most of the waiting has to be without a request, or the requests explain it.
const MIN_SHARE_WITHOUT_REQUEST: f64 = 0.5;

/// A limit and its use.
#[derive(Debug, Clone, PartialEq)]
struct Limit {
    /// `major:minor`.
    device: String,
    /// `read requests`, `write bytes` and so on.
    what: String,
    per_second: f64,
    used_per_second: f64,
}

impl Limit {
    fn used(&self) -> f64 {
        self.used_per_second / self.per_second
    }

    /// `22.9 of 24 read requests per second`.
    fn says(&self) -> String {
        let number =
            |value: f64| if self.what.ends_with("bytes") { format::bytes(value) } else { format::number(value) };
        format!("{} of {} {} per second", number(self.used_per_second), number(self.per_second), self.what)
    }
}

/// The waits of one period for files.
#[derive(Debug, Default, Clone, Copy)]
struct Waits {
    count: usize,
    all_ns: f64,
    /// While no request of the waiting thread was in flight; if it had none, no write of any thread either.
    without_ns: f64,
}

impl Waits {
    fn mean_ns(self) -> f64 {
        self.without_ns / self.count.max(1) as f64
    }
}

/// What a limit did; `None` when the waits have requests, or no limit is used much.
pub(super) fn find(comparison: &Comparison<'_>) -> Option<Finding> {
    let limit = most_used(&comparison.slow).filter(|limit| limit.used() >= USED)?;
    let lives = block_io::RequestIntervals::of(comparison.sources());
    let waits = waits(comparison, &comparison.slow, &lives);
    if waits.without_ns < MIN_SHARE_WITHOUT_REQUEST * waits.all_ns || waits.without_ns <= 0.0 {
        return None;
    }
    let baseline = comparison
        .baseline
        .as_ref()
        .map(|baseline| self::waits(comparison, baseline, &block_io::RequestIntervals::of(baseline.sources)));
    let support = match baseline {
        Some(baseline) if waits.mean_ns() < MIN_STAGE_RATIO * baseline.mean_ns() => Support::Weak,
        Some(_) => Support::Observed,
        None => Support::Consistent,
    };
    let mut finding =
        Finding::new(support, says(&waits, &limit)).with_all(evidence(comparison, &waits, baseline, &limit));
    finding.claims = claims(comparison, &lives);
    finding
        .actions
        .push("more of the disk for the control group (io.max, blkio.throttle), or fewer requests".to_owned());
    Some(finding)
}

/// Whether a limit that was not recorded could be why threads wait for files without a request.
pub(super) fn may_be(comparison: &Comparison<'_>) -> bool {
    let is_recorded = comparison.has_source("cgroup") || comparison.sources().has_counter(counter::CGROUP_IO_COUNT);
    let waits = waits(comparison, &comparison.slow, &block_io::RequestIntervals::of(comparison.sources()));
    !is_recorded && waits.without_ns > 0.0 && waits.without_ns >= MIN_SHARE_WITHOUT_REQUEST * waits.all_ns
}

fn says(waits: &Waits, limit: &Limit) -> String {
    format!(
        "threads wait for files before their requests are queued ({} of {}): the control group uses {} that it may on {}",
        format::time(waits.without_ns),
        format::time(waits.all_ns),
        limit.says(),
        limit.device
    )
}

fn evidence(comparison: &Comparison<'_>, waits: &Waits, baseline: Option<Waits>, limit: &Limit) -> [Evidence; 3] {
    let mean = (waits.mean_ns(), baseline.map(Waits::mean_ns));
    let total = (
        waits.without_ns / comparison.slow.seconds(),
        baseline.zip(comparison.baseline.as_ref()).map(|(waits, period)| waits.without_ns / period.seconds()),
    );
    // Short waits are not recorded: they would bring the mean down, but hardly add to the total.
    let spans = &[span::SYSTEM_CALL, span::PAGE_FAULT, span::BLOCK_REQUEST];
    let words = &[counter::CGROUP_IO_LIMIT, counter::CGROUP_IO_COUNT, counter::CGROUP_IO_BYTES];
    [
        comparison.evidence("waited for files without a request", total, "ns/s", "spans").of(spans),
        comparison.evidence("mean of these waits", mean, "ns", "spans").of(spans),
        comparison
            .evidence("used of the limit of the control group", (limit.used(), None), "ratio", "counters")
            .of(words),
    ]
}

/// The limit that is used to the largest part.
fn most_used(period: &Period<'_>) -> Option<Limit> {
    let limits = period.sources.counters(counter::CGROUP_IO_LIMIT);
    let limits = limits.iter().filter_map(|((instance, _), series)| {
        let mut words = period.sources.recording.text(*instance).splitn(4, ' ');
        let (device, operation, unit) = (words.next()?, words.next()?, words.next()?);
        // One that was set later did nothing before; the last one holds.
        let end_ns = period.time.iter().last()?.1;
        let per_second = series.0.iter().take_while(|(at_ns, _)| *at_ns < end_ns).last()?.1;
        let used = if unit == "bytes" { counter::CGROUP_IO_BYTES } else { counter::CGROUP_IO_COUNT };
        let used_per_second =
            period.rise(&of_device(period, used, &format!("{device} {operation}"))) / period.seconds();
        let (device, what) = (device.to_owned(), format!("{operation} {unit}"));
        (per_second > 0.0).then_some(Limit { device, what, per_second, used_per_second })
    });
    limits.max_by(|one, other| one.used().total_cmp(&other.used()))
}

/// What the group used of a device. Flight Recorder counts the same for all devices together, and more often, so that the
/// The choice of one source would leave nothing here.
fn of_device(period: &Period<'_>, name: &str, instance: &str) -> Series {
    let recording = period.sources.recording;
    let (Some(name), Some(instance)) = (recording.strings.find(name), recording.strings.find(instance)) else {
        return Series::default();
    };
    let rows = recording.counters.rows().filter(|row| row.name == name && row.instance == instance);
    let mut points: Vec<(i64, f64)> = rows.map(|row| (row.time_ns, row.value)).collect();
    points.sort_by_key(|point| point.0);
    Series(points)
}

fn waits(comparison: &Comparison<'_>, period: &Period<'_>, lives: &block_io::RequestIntervals) -> Waits {
    let mut waits = Waits::default();
    // The JVM tells its reads and writes of files as well as the kernel does: what both saw counts once.
    let is_of_kernel =
        |span: &Span| [span::SYSTEM_CALL, span::PAGE_FAULT].contains(&comparison.recording().text(span.kind));
    let victims: Vec<Span> = block_io::victims(comparison, period).map(|(_, victim)| victim).collect();
    let has_kernel = victims.iter().any(is_of_kernel);
    for victim in victims.iter().filter(|victim| is_of_kernel(victim) || !has_kernel) {
        let length_ns = victim.duration_ns.max(0) as f64;
        waits.count += 1;
        waits.all_ns += length_ns;
        waits.without_ns += (length_ns - lives.within(period.sources, victim).total_ns() as f64).max(0.0);
    }
    waits
}

fn claims(comparison: &Comparison<'_>, lives: &block_io::RequestIntervals) -> Vec<Claim> {
    let without = |victim: &Span| {
        Intervals::union(lives.within(comparison.sources(), victim).gaps(victim.time_ns, victim.end_ns()))
    };
    block_io::claims_of(
        block_io::victims(comparison, &comparison.slow).map(|(wait, victim)| (wait, victim.tid, without(&victim))),
    )
}
