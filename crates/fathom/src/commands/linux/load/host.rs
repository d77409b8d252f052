//! What the host of a virtual machine took of its CPUs while requests were sent: then a late generator is no fault of its own,
//! and only the seconds without it say whether the generator is in time.

use std::fs;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::engine::Sent;
use super::numbers::{Times, ms};

const EACH: Duration = Duration::from_secs(1);

/// From here on the host is said to have taken CPUs. `/proc/stat` counts in 10 ms, so one tick of a second of two CPUs is half of it.
const TAKEN_RATIO: f64 = 0.01;

/// The column of `/proc/stat` with what the host took, and how many columns add up to all time: guests are part of others.
const STEAL: usize = 7;
const COLUMNS: usize = 8;

/// Looks each second until it is asked for what it saw.
pub(super) struct Looking {
    end: Sender<()>,
    thread: JoinHandle<Vec<Look>>,
}

/// Ticks of all CPUs since boot.
#[derive(Debug, Clone, Copy)]
struct Look {
    at_ns: i64,
    stolen: u64,
    all: u64,
}

/// What was seen, for the summary.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Host {
    /// Of the time of all CPUs.
    pub(super) stolen_ratio: f64,
    /// Requests that were due in seconds in which the host took nearly nothing, and how late they were sent.
    pub(super) quiet_requests: usize,
    pub(super) quiet_lag: Times,
}

impl Looking {
    pub(super) fn start() -> Looking {
        let (end, ends) = mpsc::channel();
        let looks = move || {
            let mut looks = Vec::from_iter(look());
            while ends.recv_timeout(EACH) == Err(RecvTimeoutError::Timeout) {
                looks.extend(look());
            }
            looks.extend(look());
            looks
        };
        Looking { end, thread: thread::spawn(looks) }
    }

    /// None where the kernel does not count it.
    pub(super) fn end(self, sent: &[Sent], began_ns: i64) -> Option<Host> {
        drop(self.end);
        host(&self.thread.join().ok()?, sent, began_ns)
    }
}

impl Host {
    /// Whether it took so much that it has to be said.
    pub(super) fn took(&self) -> bool {
        self.stolen_ratio >= TAKEN_RATIO
    }

    pub(super) fn text(&self) -> String {
        let quiet = match self.quiet_requests {
            0 => "in each second".to_owned(),
            count => format!("p99 lag without that {}, of {count} requests", ms(self.quiet_lag.p99_ns)),
        };
        format!("  the host took {:.0} % of the CPUs (steal); {quiet}\n", 100.0 * self.stolen_ratio)
    }
}

fn host(looks: &[Look], sent: &[Sent], began_ns: i64) -> Option<Host> {
    let stolen_ratio = ratio(looks.first()?, looks.last()?)?;
    let quiet: Vec<(i64, i64)> = looks
        .windows(2)
        .filter(|two| ratio(&two[0], &two[1]).is_some_and(|ratio| ratio < TAKEN_RATIO))
        .map(|two| (two[0].at_ns - began_ns, two[1].at_ns - began_ns))
        .collect();
    let lags: Vec<i64> =
        sent.iter().filter(|one| is_within(&quiet, one.due_ns)).map(|one| one.sent_ns - one.due_ns).collect();
    Some(Host { stolen_ratio, quiet_requests: lags.len(), quiet_lag: Times::of(lags) })
}

/// These follow each other in time.
fn is_within(parts: &[(i64, i64)], at_ns: i64) -> bool {
    let next = parts.partition_point(|(_, to_ns)| *to_ns <= at_ns);
    parts.get(next).is_some_and(|(from_ns, _)| *from_ns <= at_ns)
}

fn ratio(from: &Look, to: &Look) -> Option<f64> {
    let all = to.all.checked_sub(from.all).filter(|ticks| *ticks > 0)?;
    Some(to.stolen.saturating_sub(from.stolen) as f64 / all as f64)
}

fn look() -> Option<Look> {
    let at_ns = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_nanos().try_into().ok()?;
    let (stolen, all) = ticks(&fs::read_to_string("/proc/stat").ok()?)?;
    Some(Look { at_ns, stolen, all })
}

/// What the host took and all time, of the line of all CPUs. Kernels that do not count the first have fewer columns.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_ascii_whitespace().take(COLUMNS).map_while(|word| word.parse().ok()).collect();
    Some((*ticks.get(STEAL)?, ticks.iter().sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_of_all_cpus() {
        assert_eq!(ticks("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 1 1 1 1 1 1 1\n"), Some((8, 36)));
        assert_eq!(ticks("cpu  1 2 3 4 5 6 7\n"), None, "before it was counted");
        assert_eq!(ticks("intr 1\n"), None);
    }

    #[test]
    fn quiet_seconds_are_told_apart() {
        let look = |second: i64, stolen| Look { at_ns: 500 + second * 100, stolen, all: 200 * second as u64 };
        // The host takes 20 % of the second of three.
        let looks = [look(0, 7), look(1, 7), look(2, 47), look(3, 48)];
        let sent = [(10, 20), (110, 190), (210, 250), (310, 910)].map(|(due_ns, sent_ns)| Sent {
            due_ns,
            sent_ns,
            ..Sent::default()
        });
        let found = host(&looks, &sent, 500).unwrap();
        assert!((found.stolen_ratio - 41.0 / 600.0).abs() < 1e-9 && found.took());
        let quiet = (found.quiet_requests, found.quiet_lag.max_ns);
        assert_eq!(quiet, (2, 40), "what was due after the last look is not known");
        assert_eq!(
            found.text(),
            "  the host took 7 % of the CPUs (steal); p99 lag without that 0.000 ms, of 2 requests\n"
        );
        assert_eq!(host(&looks[..1], &sent, 500), None);
    }
}
