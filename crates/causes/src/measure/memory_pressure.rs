//! How long memory had been short when something happened. It may be short in the container, whose memory reaches its limit
//! repeatedly, or on the machine, whose free memory stays between the watermarks at which the kernel starts and stops
//! reclaim. Both vary with each reclaim, so memory counts as short until it was not for a whole second.

use fathom_evidence::kinds::{counter, subject};
use fathom_timeline::{Intervals, Series};

use crate::cause::Finding;
use crate::comparison::Comparison;
use crate::explanation::Evidence;
use crate::format;

/// As long as nothing was short for less than this, the shortage went on: the samplers look each 100 ms, and the account
/// is kept in seconds.
const PAUSE_NS: i64 = 1_000_000_000;

/// Events of a container whose memory came to a limit.
const LIMITS: &[&str] = &["max", "high"];

/// Memory that was short.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shortage {
    /// Since when.
    since_ns: i64,
    /// Whether there is no record of the time before.
    is_since_start: bool,
    /// The limit, or the watermark, in bytes, if it is known.
    bytes: Option<f64>,
    of: Memory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Memory {
    Container,
    Machine,
}

/// Adds to a finding how long memory had been short when it began, as far as that was measured.
#[must_use]
pub fn tell(mut finding: Finding, comparison: &Comparison<'_>, at_ns: i64) -> Finding {
    for shortage in [of_container(comparison, at_ns), of_machine(comparison, at_ns)].into_iter().flatten() {
        finding.says += &format!("; {}", shortage.says(comparison, at_ns));
        finding = finding.with(shortage.evidence(comparison, at_ns));
    }
    if takes_out_idle_pages(comparison) {
        finding.says +=
            "; the kernel's DAMON takes out pages that were not used for a while (pageout), short of memory or not";
    }
    finding
}

fn takes_out_idle_pages(comparison: &Comparison<'_>) -> bool {
    let actions = comparison.recording().fact(subject::HOST, "damon.actions").unwrap_or("");
    actions.split_whitespace().any(|action| action == "pageout")
}

/// Of the groups that limit the process, that which had been at its limit for longest.
fn of_container(comparison: &Comparison<'_>, at_ns: i64) -> Option<Shortage> {
    let recording = comparison.recording();
    let events = comparison.sources().counters(counter::CGROUP_MEMORY_EVENTS_COUNT);
    let shortage = |((instance, _), series): (&(_, i64), &Series)| {
        let (event, group) = split(recording.text(*instance));
        let times = series.rises().map(|(from_ns, to_ns, _)| (from_ns, to_ns)).collect();
        let since_ns = LIMITS.contains(&event).then(|| run_up_to(at_ns, times))??;
        let is_since_start = series.0.first().is_some_and(|(first_ns, _)| since_ns <= *first_ns);
        let bytes = limit_before(comparison, group, at_ns).filter(|_| event == "max");
        Some(Shortage { since_ns, is_since_start, bytes, of: Memory::Container })
    };
    events.iter().filter_map(shortage).min_by_key(|shortage| shortage.since_ns)
}

/// `max /pods`: the event and the group, which is empty for the process's own.
fn split(instance: &str) -> (&str, &str) {
    instance.split_once(' ').unwrap_or((instance, ""))
}

/// The limit that a group had last; as a fact where it was not read again and again.
fn limit_before(comparison: &Comparison<'_>, group: &str, at_ns: i64) -> Option<f64> {
    let series = comparison.sources().counter(counter::CGROUP_MEMORY_BYTES, format!("limit {group}").trim_end());
    let last = series.0.iter().take_while(|(time_ns, _)| *time_ns <= at_ns).last().map(|(_, bytes)| *bytes);
    last.or_else(|| {
        comparison.recording().fact(subject::CGROUP, format!("memory.max {group}").trim_end())?.parse().ok()
    })
}

fn of_machine(comparison: &Comparison<'_>, at_ns: i64) -> Option<Shortage> {
    let mark = |key: &str| comparison.recording().fact(subject::HOST, key)?.parse::<f64>().ok();
    let (low, high) = (mark("memory_low_watermark_bytes")?, mark("memory_high_watermark_bytes")?);
    let free = comparison.sources().counter(counter::MEMINFO_BYTES, "MemFree");
    // A number holds until the next row, which is written when it changes.
    let short = free.0.windows(2).filter(|pair| pair[0].1 <= high).map(|pair| (pair[0].0, pair[1].0));
    let since_ns = run_up_to(at_ns, short.collect())?;
    let is_since_start = free.0.first().is_some_and(|(first_ns, _)| since_ns <= *first_ns);
    Some(Shortage { since_ns, is_since_start, bytes: Some(low), of: Memory::Machine })
}

/// Since when there were such times, in order, up to an instant without a longer pause.
fn run_up_to(at_ns: i64, times: Vec<(i64, i64)>) -> Option<i64> {
    let times = Intervals::union(times);
    let mut since: Option<(i64, i64)> = None;
    for (from_ns, to_ns) in times.iter().filter(|(from_ns, _)| *from_ns <= at_ns) {
        let goes_on = |(_, end_ns): &(i64, i64)| from_ns.saturating_sub(*end_ns) < PAUSE_NS;
        since = Some((since.filter(goes_on).map_or(from_ns, |(first_ns, _)| first_ns), to_ns));
    }
    let (first_ns, end_ns) = since?;
    (at_ns.saturating_sub(end_ns) < PAUSE_NS).then_some(first_ns)
}

impl Shortage {
    /// `the container's memory had been at its limit of 185 MB for 0.3 s, since second 15.1 of the recording`.
    fn says(&self, comparison: &Comparison<'_>, at_ns: i64) -> String {
        let size = self.bytes.map_or(String::new(), |bytes| format!(" of {}", format::bytes(bytes)));
        let what = match self.of {
            Memory::Container => format!("the container's memory had been at its limit{size}"),
            Memory::Machine => format!("the machine's free memory had been at its low watermark{size}"),
        };
        let since_s = self.since_ns.saturating_sub(comparison.sources().grid.start_ns) as f64 / 1e9;
        let length = format::time(at_ns.saturating_sub(self.since_ns).max(0) as f64);
        match self.is_since_start {
            true => format!("{what} since before anybody looked"),
            false => format!("{what} for {length}, since second {since_s:.1} of the recording"),
        }
    }

    /// How long it had lasted.
    fn evidence(&self, comparison: &Comparison<'_>, at_ns: i64) -> Evidence {
        let length_ns = at_ns.saturating_sub(self.since_ns).max(0) as f64;
        let (says, of): (_, &[&str]) = match self.of {
            Memory::Container => (
                "container at its memory limit before",
                &[counter::CGROUP_MEMORY_EVENTS_COUNT, counter::CGROUP_MEMORY_BYTES],
            ),
            Memory::Machine => {
                ("free memory at its low watermark before", &[counter::MEMINFO_BYTES, "memory_low_watermark_bytes"])
            }
        };
        let evidence = comparison.evidence(says, (length_ns, None), "ns", "counters").of(of);
        Evidence { from_ns: self.since_ns, to_ns: at_ns, ..evidence }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_goes_on_over_short_pauses() {
        const MS: i64 = 1_000_000;
        for (times, at, expected) in [
            (&[][..], 5_000, None),
            (&[(1_000, 1_100)], 1_500, Some(1_000)),
            (&[(1_000, 1_100)], 2_100, None),
            (&[(1_000, 1_100), (2_000, 2_100), (2_200, 9_000)], 5_000, Some(1_000)),
            (&[(1_000, 1_100), (2_200, 2_300)], 2_300, Some(2_200)),
            // What comes later tells nothing.
            (&[(6_000, 7_000)], 5_000, None),
            (&[(i64::MIN / MS, i64::MAX / MS)], 5_000, Some(i64::MIN / MS)),
        ] {
            let times = times.iter().map(|(from, to)| (from * MS, to * MS)).collect();
            assert_eq!(run_up_to(at * MS, times).map(|ns| ns / MS), expected, "at {at}");
        }
    }

    #[test]
    fn instances_name_event_and_group() {
        for (instance, expected) in [("max", ("max", "")), ("max /a b", ("max", "/a b")), ("", ("", ""))] {
            assert_eq!(split(instance), expected);
        }
    }
}
