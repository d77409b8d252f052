//! Finds JVMs as they appear. Known processes are looked at again, more and more rarely: a launcher becomes a JVM
//! later, most processes never do.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use fathom_collectors::Target;
use fathom_collectors::jvms::{Jvm, pids};

/// How often the processes of the machine are listed.
const PERIOD: Duration = Duration::from_secs(2);

/// What is no JVM is looked at again after this, then after twice as long each time.
const AGAIN: Duration = Duration::from_secs(2);
const AGAIN_MAX: Duration = Duration::from_secs(60);

/// A JVM was found by its process and start.
#[derive(Debug)]
struct Known {
    /// When to look again; never for a JVM that was reported.
    next: Option<Instant>,
    wait: Duration,
}

/// Sends each JVM once, until the receiver is gone. On a thread of its own, because looking at a process may hang.
pub(crate) fn work(found: &Sender<Jvm>) {
    let own = std::process::id();
    let mut known: HashMap<u32, Known> = HashMap::new();
    loop {
        let pids: HashSet<u32> = pids().filter(|pid| *pid != own).collect();
        known.retain(|pid, _| pids.contains(pid));
        let now = Instant::now();
        for pid in pids {
            let at = known.entry(pid).or_insert(Known { next: Some(now), wait: AGAIN });
            if at.next.is_none_or(|next| next > now) {
                continue;
            }
            at.next = Some(now + at.wait);
            at.wait = (at.wait * 2).min(AGAIN_MAX);
            let Some(jvm) = Target::of(pid).ok().and_then(|target| Jvm::of(&target)) else { continue };
            at.next = None;
            if found.send(jvm).is_err() {
                return;
            }
        }
        thread::sleep(PERIOD);
    }
}
