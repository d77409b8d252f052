//! The thread that sleeps, and what it reports about each late wake-up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::thread::{clock_nanosleep_absolute, sched_getcpu};
use rustix::time::{ClockId, Timespec};

use super::histogram::Histogram;
use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::procfs::{ProcFile, number, words};

/// Messages that may wait; the collector takes them twice a second.
const WAITING: usize = 4096;

const SECOND_NS: i64 = 1_000_000_000;

/// The account of waits for a CPU is read after a late beat, and after others as soon as their delays come to this: reading it
/// takes a third as long as waking up. What a late beat is said to have waited for a CPU is too much by this at most.
const UNREAD_MAX_NS: i64 = 1_000_000;

/// What the thread says. Times are those of the monotonic clock.
#[derive(Debug, Clone)]
pub(super) enum Beat {
    /// It woke up late.
    Late {
        /// When it should have.
        due_ns: i64,
        delay_ns: i64,
        /// The part of the delay in which it was runnable and had no CPU; `None` if not accounted here.
        run_queue_ns: Option<i64>,
        /// Where it woke up.
        cpu: usize,
    },
    /// A second is over.
    Second { at_ns: i64, p99_ns: u64, max_ns: u64, cpu_ns: i64, dropped: u64 },
}

/// The thread, as its owner sees it. Ends with it.
pub(super) struct Heart {
    pub(super) beats: Receiver<Beat>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Heart {
    /// Starts a thread that wakes up each `period` and reports delays from `threshold` on.
    pub(super) fn start(period: Duration, threshold: Duration) -> std::io::Result<Heart> {
        let (sender, beats) = sync_channel(WAITING);
        let stop = Arc::new(AtomicBool::new(false));
        let seen_stop = Arc::clone(&stop);
        let (period_ns, threshold_ns) = (period.as_nanos() as i64, threshold.as_nanos() as i64);
        let thread = thread::Builder::new().name("fathom-beat".into());
        let thread = thread.spawn(move || Beating::new(period_ns, threshold_ns, sender).run(&seen_stop))?;
        Ok(Heart { beats, stop, thread: Some(thread) })
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of that thread has been reported by it.
            let _ = thread.join();
        }
    }
}

/// The thread's own state.
struct Beating {
    period_ns: i64,
    threshold_ns: i64,
    sender: SyncSender<Beat>,
    /// Its own account of waits for a CPU.
    schedstat: Option<ProcFile>,
    buffer: Vec<u8>,
    waited_ns: Option<i64>,
    /// Delays since that account was read.
    unread_ns: i64,
    delays: Histogram,
    dropped: u64,
}

impl Beating {
    fn new(period_ns: i64, threshold_ns: i64, sender: SyncSender<Beat>) -> Beating {
        Beating {
            period_ns,
            threshold_ns,
            sender,
            schedstat: None,
            buffer: Vec::new(),
            waited_ns: None,
            unread_ns: 0,
            delays: Histogram::default(),
            dropped: 0,
        }
    }

    fn run(mut self, stop: &AtomicBool) {
        self.schedstat = ProcFile::open("/proc/thread-self/schedstat").ok();
        self.waited_ns = self.read_waited_ns();
        let mut due_ns = monotonic_ns() + self.period_ns;
        let mut second_at_ns = due_ns + SECOND_NS;
        while !stop.load(Ordering::Relaxed) {
            let until = Timespec { tv_sec: due_ns / SECOND_NS, tv_nsec: due_ns % SECOND_NS };
            // Interrupted by a signal: not late, and asleep again until the same instant.
            if clock_nanosleep_absolute(ClockId::Monotonic, &until).is_err() {
                continue;
            }
            let now_ns = monotonic_ns();
            self.woke_up(due_ns, now_ns);
            if now_ns >= second_at_ns {
                self.second(now_ns);
                second_at_ns = now_ns + SECOND_NS;
            }
            // After a long delay the beat goes on from now, without making up for what was missed.
            due_ns = (due_ns + self.period_ns).max(now_ns);
        }
    }

    fn woke_up(&mut self, due_ns: i64, now_ns: i64) {
        let delay_ns = (now_ns - due_ns).max(0);
        self.delays.add(delay_ns as u64);
        self.unread_ns += delay_ns;
        let is_late = delay_ns >= self.threshold_ns;
        if !is_late && self.unread_ns < UNREAD_MAX_NS {
            return;
        }
        let before = self.waited_ns;
        self.waited_ns = self.read_waited_ns();
        self.unread_ns = 0;
        if is_late {
            let run_queue_ns = self.waited_ns.zip(before).map(|(now, before)| (now - before).clamp(0, delay_ns));
            self.say(Beat::Late { due_ns, delay_ns, run_queue_ns, cpu: sched_getcpu() });
        }
    }

    fn second(&mut self, at_ns: i64) {
        let delays = std::mem::take(&mut self.delays);
        let (p99_ns, max_ns) = (delays.quantile_ns(0.99), delays.max_ns());
        self.say(Beat::Second { at_ns, p99_ns, max_ns, cpu_ns: thread_cpu_ns(), dropped: self.dropped });
    }

    /// Never waits for the reader: that would be a delay of its own making.
    fn say(&mut self, beat: Beat) {
        self.dropped += u64::from(self.sender.try_send(beat).is_err());
    }

    fn read_waited_ns(&mut self) -> Option<i64> {
        let text = self.schedstat.as_ref()?.read_short(&mut self.buffer).ok()?;
        i64::try_from(number(words(text).nth(1)?)?).ok()
    }
}
