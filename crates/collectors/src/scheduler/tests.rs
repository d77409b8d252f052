//! Waits that threads of this process make, so that their kind and length are known.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Instant;

use fathom_evidence::detail::from_text;

use super::*;
use crate::bpf::tests::{can_load, counted, observed, this_thread};

fn spans(found: &Recording, kind: &str, at_least: Duration) -> Vec<Span> {
    let is_wanted = |span: &Span| {
        span.tid == this_thread() && found.text(span.kind) == kind && span.duration_ns >= at_least.as_nanos() as i64
    };
    found.spans.rows().filter(is_wanted).collect()
}

fn wait_on_lock() {
    let (lock, condition) = (Mutex::new(()), Condvar::new());
    let guard = lock.lock().unwrap();
    drop(condition.wait_timeout(guard, Duration::from_millis(80)).unwrap());
}

fn wait_for_peer() {
    let (mut ours, mut theirs) = UnixStream::pair().unwrap();
    let peer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(80));
        theirs.write_all(b"x").unwrap();
    });
    ours.read_exact(&mut [0]).unwrap();
    peer.join().unwrap();
}

#[test]
fn waits_are_told_by_kind() {
    if !can_load("waits_are_told_by_kind") {
        return;
    }
    for (kind, call, work) in [
        ("sleep", "clock_nanosleep", (|| thread::sleep(Duration::from_millis(80))) as fn()),
        ("futex", "futex", wait_on_lock),
        ("read_write", "recvfrom", wait_for_peer),
    ] {
        let mut took_ns = 0;
        let found = observed(&COLLECTOR, || {
            let began = Instant::now();
            work();
            took_ns = began.elapsed().as_nanos() as i64;
        });
        let long = spans(&found, span::BLOCKED, Duration::from_millis(60));
        assert_eq!(long.len(), 1, "{kind}: {long:?}");
        assert_eq!(found.text(long[0].name), kind);
        assert!(long[0].duration_ns <= took_ns, "{kind}: {} ns told, {took_ns} ns taken", long[0].duration_ns);
        let detail: Blocked = from_text(found.text(long[0].detail));
        assert_eq!((detail.state.as_deref(), detail.system_call.as_deref()), (Some("S"), Some(call)));
        assert_ne!(long[0].kernel_stack_id, StackId(0), "{kind}");
        let blocked_ns = counted(&found, counter::BLOCKED_NS, kind);
        assert!(blocked_ns >= long[0].duration_ns as f64, "{kind}: {blocked_ns} ns in sum");
    }
}

/// Threads that only spin, on one CPU.
fn crowd(threads: usize, how_long: Duration) {
    let spin = move || {
        let until = Instant::now() + how_long;
        while Instant::now() < until {
            std::hint::spin_loop();
        }
    };
    let spinners: Vec<_> = (0..threads)
        .map(|_| {
            thread::spawn(move || {
                pin_to_first_cpu();
                spin();
            })
        })
        .collect();
    pin_to_first_cpu();
    spin();
    spinners.into_iter().for_each(|spinner| spinner.join().unwrap());
}

fn pin_to_first_cpu() {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    let first = (0..rustix::thread::CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).unwrap();
    let mut set = rustix::thread::CpuSet::new();
    set.set(first);
    rustix::thread::sched_setaffinity(None, &set).unwrap();
}

#[test]
fn who_ran_instead_is_told() {
    if !can_load("who_ran_instead_is_told") {
        return;
    }
    // On a thread of its own, as it is pinned to one CPU.
    thread::spawn(|| {
        let found = observed(&COLLECTOR, || crowd(4, Duration::from_millis(400)));
        let waited_ns = counted(&found, counter::RUN_QUEUE_WAITS_NS, "");
        assert!(waited_ns > 100e6, "four threads share one CPU, and this one waited {waited_ns} ns for it");
        let long = spans(&found, span::RUN_QUEUE_WAIT, Duration::from_millis(2));
        assert!(!long.is_empty());
        let details: Vec<RunQueueWait> = long.iter().map(|span| from_text(found.text(span.detail))).collect();
        let own = details.iter().filter(|detail| detail.own == Some(true)).count();
        assert!(own > 0, "threads of this process took turns: {details:?}");
        assert!(
            details.iter().all(|detail| detail.instead.as_ref().is_none_or(|name| !name.is_empty())),
            "{details:?}"
        );
    })
    .join()
    .unwrap();
}
