//! Beginnings and ends of one thread's page faults, put together.
//!
//! A fault that waited is not served when a signal came meanwhile: the thread handles the signal and touches the page again with
//! the same instruction, which by then is there. The two are reported as one fault, including the handler's time, because events of
//! faults alone do not show when the wait was over. For the same reason a fault whose purpose is the signal (JDK 8 has a page that
//! threads may not write for a moment) is one with a later fault of the same instruction, if that is the thread's next one there.

use super::parse::ThreadFaults;
use super::{BUCKETS, Fault};

/// The smallest page; where pages are larger, a repeated fault repeats the address.
const PAGE_BYTES: u64 = 4096;

/// A thread is back at a page that it waited for after so many faults of the handler, and after so long, at most.
const HANDLER_FAULTS: u32 = 16;
const AWAY_NS: i64 = 10_000_000_000;

/// A thread that reads a page and then writes it does so within this time; later the page's rights have changed.
const REPEATED_NS: i64 = 10_000_000;

/// What the kernel reports about the faults of a thread, in order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A fault begins.
    Begins(Begun),
    /// It has been served.
    Served { time_ns: i64, major: bool },
    /// Events are missing here.
    Lost,
}

impl Event {
    /// On the monotonic clock.
    pub(super) fn time_ns(&self) -> Option<i64> {
        match self {
            Event::Begins(begun) => Some(begun.time_ns),
            Event::Served { time_ns, .. } => Some(*time_ns),
            Event::Lost => None,
        }
    }
}

/// The beginning of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Begun {
    pub(super) time_ns: i64,
    pub(super) address: u64,
    /// Of the program.
    pub(super) instruction: Option<u64>,
    pub(super) in_kernel: bool,
}

impl Begun {
    fn page(&self) -> u64 {
        self.address / PAGE_BYTES
    }

    /// Whether a thread touches the same once more.
    fn is_as(&self, other: &Begun) -> bool {
        (self.address, self.instruction) == (other.address, other.instruction)
    }
}

/// A fault that began but was not served.
#[derive(Debug, Clone, Copy)]
struct Interrupted {
    begun: Begun,
    /// Times that it began.
    times: u64,
    /// Faults served since.
    served: u32,
}

/// A fault that was served.
#[derive(Debug, Clone, Copy)]
struct Last {
    page: u64,
    length_ns: u64,
    end_ns: i64,
}

/// What is known of a thread's faults.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// Sums of all but what the kernel counts by itself.
    pub(super) sums: ThreadFaults,
    /// Faults of which it is known how long they took.
    pub(super) timed: u64,
    pending: Option<Begun>,
    interrupted: Option<Interrupted>,
    /// The last fault that was served.
    last: Option<Last>,
}

impl Pairs {
    /// Takes the next event; tells the fault that it ends.
    pub(super) fn see(&mut self, event: Event, histogram: &mut [u64; BUCKETS as usize]) -> Option<Fault> {
        match event {
            Event::Begins(begun) => {
                self.begins(begun);
                None
            }
            Event::Served { time_ns, major } => {
                let begun = self.pending.take()?;
                self.timed += 1;
                let fault = self.served(begun, time_ns, major);
                histogram[fault.duration_ns.max(1).ilog2().min(BUCKETS - 1) as usize] += 1;
                Some(fault)
            }
            Event::Lost => {
                (self.pending, self.interrupted, self.last) = (None, None, None);
                None
            }
        }
    }

    fn begins(&mut self, begun: Begun) {
        let Some(before) = self.pending.replace(begun) else { return };
        self.sums.unserved += 1;
        match &mut self.interrupted {
            Some(interrupted) if interrupted.begun.is_as(&before) => interrupted.times += 1,
            interrupted => *interrupted = Some(Interrupted { begun: before, times: 1, served: 0 }),
        }
    }

    fn served(&mut self, begun: Begun, time_ns: i64, major: bool) -> Fault {
        let began_ns = self.resumed(&begun).unwrap_or(begun.time_ns);
        let duration_ns = time_ns.saturating_sub(began_ns).max(0);
        let (page, length_ns) = (begun.page(), duration_ns as u64);
        self.sums.time_ns += length_ns;
        let is_repeated = |last: &Last| last.page == page && began_ns < last.end_ns.saturating_add(REPEATED_NS);
        if let Some(last) = self.last.filter(is_repeated) {
            self.sums.repeated += 1;
            self.sums.in_vain_ns += last.length_ns;
        }
        self.last = Some(Last { page, length_ns, end_ns: time_ns });
        let Begun { address, instruction, in_kernel, .. } = begun;
        Fault { began_ns, duration_ns, address, instruction, in_kernel, major, off_cpu_ns: None }
    }

    /// When a fault first began that has been served now, if it is one that was interrupted.
    fn resumed(&mut self, begun: &Begun) -> Option<i64> {
        let mut interrupted = self.interrupted.take()?;
        let first = interrupted.begun;
        if begun.time_ns.saturating_sub(first.time_ns) > AWAY_NS {
            return None;
        }
        if !first.is_as(begun) {
            interrupted.served += 1;
            self.interrupted = Some(interrupted).filter(|interrupted| interrupted.served <= HANDLER_FAULTS);
            return None;
        }
        self.sums.unserved = self.sums.unserved.saturating_sub(interrupted.times);
        Some(first.time_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 4096;

    fn begins(time_ns: i64, address: u64) -> Event {
        Event::Begins(Begun { time_ns, address, instruction: Some(7), in_kernel: false })
    }

    fn served(time_ns: i64) -> Event {
        Event::Served { time_ns, major: false }
    }

    /// Times and lengths of the faults, and what was added up: unserved, repeated, in vain.
    fn check(events: &[Event], faults: &[(i64, i64)], sums: (u64, u64, u64)) {
        let mut pairs = Pairs::default();
        let mut histogram = [0; BUCKETS as usize];
        let found: Vec<(i64, i64)> = events
            .iter()
            .filter_map(|event| pairs.see(*event, &mut histogram))
            .map(|fault| (fault.began_ns, fault.duration_ns))
            .collect();
        assert_eq!(found, faults, "{events:?}");
        let ThreadFaults { unserved, repeated, in_vain_ns, time_ns, .. } = pairs.sums;
        assert_eq!((unserved, repeated, in_vain_ns), sums, "{events:?}");
        assert_eq!(time_ns as i64, faults.iter().map(|(_, length)| length).sum::<i64>(), "{events:?}");
        assert_eq!((histogram.iter().sum(), pairs.timed), (faults.len() as u64, faults.len() as u64), "{events:?}");
    }

    #[test]
    fn ends_belong_to_the_beginning_before() {
        check(&[], &[], (0, 0, 0));
        check(&[begins(10, 0), served(15)], &[(10, 5)], (0, 0, 0));
        check(&[begins(10, 0), served(15), begins(20, PAGE), served(90)], &[(10, 5), (20, 70)], (0, 0, 0));
        check(&[served(15), begins(20, 0)], &[], (0, 0, 0));
        check(&[begins(20, 0), served(10)], &[(20, 0)], (0, 0, 0));
    }

    #[test]
    fn a_page_that_is_read_and_then_written_faults_twice() {
        let same = [begins(10, PAGE), served(15), begins(20, PAGE + 8), served(21)];
        check(&same, &[(10, 5), (20, 1)], (0, 1, 5));
        let not_known = [begins(10, PAGE), served(15), Event::Lost, begins(20, PAGE), served(21)];
        check(&not_known, &[(10, 5), (20, 1)], (0, 0, 0));
        // Meanwhile the right to write it was taken away.
        let later = 15 + REPEATED_NS;
        let rights = [begins(10, PAGE), served(15), begins(later, PAGE), served(later + 1)];
        check(&rights, &[(10, 5), (later, 1)], (0, 0, 0));
    }

    #[test]
    fn what_is_missing_joins_nothing() {
        check(&[begins(10, 0), Event::Lost, served(900)], &[], (0, 0, 0));
        check(&[begins(10, 0), begins(20, 8), Event::Lost, begins(30, 8), served(31)], &[(30, 1)], (1, 0, 0));
    }

    #[test]
    fn an_interrupted_fault_is_one() {
        let once = [begins(10, PAGE), begins(310, PAGE), served(312)];
        check(&once, &[(10, 302)], (0, 0, 0));
        let twice = [begins(10, PAGE), begins(310, PAGE), begins(320, PAGE), served(322)];
        check(&twice, &[(10, 312)], (0, 0, 0));
        let handler = [begins(10, PAGE), begins(310, 9 * PAGE), served(311), begins(320, PAGE), served(322)];
        check(&handler, &[(310, 1), (10, 312)], (0, 0, 0));
    }

    #[test]
    fn a_fault_that_is_never_served_joins_nothing() {
        let elsewhere = Event::Begins(Begun { time_ns: 310, address: PAGE, instruction: Some(8), in_kernel: false });
        check(&[begins(10, PAGE), elsewhere, served(312)], &[(310, 2)], (1, 0, 0));
        // The JVM's null checks.
        let null = |time_ns| begins(time_ns, 16);
        let checks = [null(10), null(20), begins(30, PAGE), served(31), null(40), begins(50, PAGE), served(51)];
        check(&checks, &[(30, 1), (50, 1)], (3, 1, 1));
        let late = [begins(0, PAGE), begins(AWAY_NS + 1, PAGE), served(AWAY_NS + 3)];
        check(&late, &[(AWAY_NS + 1, 2)], (1, 0, 0));
        let mut many = vec![begins(0, PAGE)];
        for page in 0..=i64::from(HANDLER_FAULTS) {
            many.extend([begins(10 + page, (10 + page as u64) * PAGE), served(10 + page)]);
        }
        let mut faults: Vec<(i64, i64)> = (0..=i64::from(HANDLER_FAULTS)).map(|page| (10 + page, 0)).collect();
        many.extend([begins(100, PAGE), served(101)]);
        faults.push((100, 1));
        check(&many, &faults, (1, 0, 0));
    }
}
