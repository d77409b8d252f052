//! The thread of one collector.

use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fathom_evidence::kinds::loss;
use fathom_evidence::{Recording, Table};

use crate::clock::thread_cpu_ns;
use crate::{Collector, Observer, Order, Outstanding, Refusal, Target, Tier};

/// What a collector found is handed over this often.
const HAND_OVER: Duration = Duration::from_millis(500);

/// So many messages wait for a recorder whose disk hangs: those of all collectors for half a minute.
pub(super) const WAITING: usize = 1_500;

/// What collectors tell the recorder.
pub(super) enum Message {
    Started {
        name: &'static str,
        started: Result<Tier, Refusal>,
        unseen: Vec<Refusal>,
        outstanding: Option<Outstanding>,
    },
    Found {
        name: &'static str,
        found: Box<Recording>,
        cpu_ns: i64,
    },
    Ended {
        name: &'static str,
        files: Vec<PathBuf>,
    },
}

/// Tells all collectors to end.
#[derive(Default)]
pub(super) struct Stop {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    pub(super) fn stop(&self) {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits until `until` or the stop, whichever comes first; whether it was the stop.
    fn wait_until(&self, until: Instant) -> bool {
        let stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = until.saturating_duration_since(Instant::now());
        let waited = self.changed.wait_timeout_while(stopped, wait, |stopped| !*stopped);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Runs one collector from its start, or from where it is `running` already, to its end. A recorder that is gone ends it too.
pub(super) fn work(
    collector: &'static dyn Collector,
    running: Option<Box<dyn Observer>>,
    (target, order): (&Target, &Order),
    stop: &Stop,
    messages: &SyncSender<Message>,
) {
    let name = collector.name();
    let started = running.map_or_else(|| collector.start(target, order), Ok);
    let tier = match &started {
        Ok(observer) => Ok(observer.tier().unwrap_or(collector.tier())),
        Err(refusal) => Err(refusal.clone()),
    };
    let outstanding = started.as_ref().ok().and_then(|observer| observer.outstanding());
    let unseen = started.as_ref().map_or_else(|_| Vec::new(), |observer| observer.unseen());
    let is_heard = messages.send(Message::Started { name, started: tier, unseen, outstanding }).is_ok();
    if let (Ok(mut observer), true) = (started, is_heard) {
        observe(name, observer.as_mut(), stop, messages);
        let mut last = Recording::default();
        let own_threads_ns = observer.own_threads_cpu_ns();
        let files = observer.finish(&mut last);
        let cpu_ns = thread_cpu_ns() + own_threads_ns;
        // The receiver is gone when the recorder has given up on this collector.
        let _ = messages.send(Message::Found { name, found: Box::new(last), cpu_ns });
        let _ = messages.send(Message::Ended { name, files });
    }
}

fn observe(name: &'static str, observer: &mut dyn Observer, stop: &Stop, messages: &SyncSender<Message>) {
    let period = observer.period();
    let mut found = Recording::default();
    let mut next = Instant::now() + period;
    let mut hand_over_at = Instant::now() + HAND_OVER;
    let (mut looks, mut missed) = (0_i64, 0_i64);
    while !stop.wait_until(next) {
        observer.look(&mut found);
        looks += 1;
        let now = Instant::now();
        next += period;
        if next < now {
            let behind = (now - next).as_nanos() / period.as_nanos().max(1) + 1;
            missed += behind as i64;
            next = now + period;
        }
        if now >= hand_over_at {
            hand_over_at = now + HAND_OVER;
            let found_now = Box::new(std::mem::take(&mut found));
            match messages.try_send(Message::Found { name, found: found_now, cpu_ns: cpu_ns(observer) }) {
                Ok(()) => {}
                Err(TrySendError::Full(Message::Found { found: refused, .. })) => found = without_rows(*refused, name),
                Err(_) => return,
            }
        }
    }
    // A few late looks lose nothing of counters that only grow.
    if missed * 100 > looks {
        let says = format!(
            "{missed} of {} looks each {} ms were missed because the last one took too long or the CPU was taken",
            looks + missed,
            period.as_millis()
        );
        found.add_loss(name, loss::TICKS_MISSED, missed, &says);
    }
    // The recorder may have given up waiting.
    let _ = messages.send(Message::Found { name, found: Box::new(found), cpu_ns: cpu_ns(observer) });
}

/// How many rows of measurements were found.
pub(super) fn rows(found: &Recording) -> usize {
    found.samples.len() + found.spans.len() + found.counters.len() + found.logs.len()
}

/// What is kept of rows that are not wanted: names and facts, and a note that the rest is lost.
fn without_rows(mut found: Recording, name: &'static str) -> Recording {
    let rows = rows(&found);
    (found.samples, found.spans) = Default::default();
    (found.counters, found.logs) = Default::default();
    found.add_loss(name, loss::EVENTS_LOST, rows as i64, "rows that were not taken while the recorder's disk hung");
    found
}

/// What an observer, on whose thread this is called, has cost until now.
fn cpu_ns(observer: &dyn Observer) -> i64 {
    thread_cpu_ns() + observer.own_threads_cpu_ns()
}
