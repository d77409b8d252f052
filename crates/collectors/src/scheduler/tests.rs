//! Waits that threads of this process make, so that their kind and length are known.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, mpsc};
use std::thread;
use std::time::Instant;

use fathom_evidence::detail::from_text;

use super::*;
use crate::bpf::tests::{Seen, can_load, functions, observed};

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
        let mut observe = || {
            observed(&COLLECTOR, || {
                let began = Instant::now();
                work();
                took_ns = began.elapsed().as_nanos() as i64;
            })
        };
        // Other tests wait in this process, too, and only so many waits a second become spans.
        let is_told = |seen: &Seen| seen.spans(span::BLOCKED, Duration::from_millis(60)).len() == 1;
        let seen = (0..5).map(|_| observe()).find(is_told).unwrap_or_else(|| panic!("{kind}: never told"));
        let long = seen.spans(span::BLOCKED, Duration::from_millis(60));
        assert_eq!(seen.found.text(long[0].name), kind);
        assert!(long[0].duration_ns <= took_ns, "{kind}: {} ns told, {took_ns} ns taken", long[0].duration_ns);
        let detail: Blocked = from_text(seen.found.text(long[0].detail));
        assert_eq!((detail.state.as_deref(), detail.system_call.as_deref()), (Some("S"), Some(call)));
        assert_ne!(long[0].kernel_stack_id, StackId(0), "{kind}");
        let blocked_ns = seen.counted(counter::BLOCKED_NS, kind);
        assert!(blocked_ns >= long[0].duration_ns as f64, "{kind}: {blocked_ns} ns in sum");
    }
}

#[test]
fn a_wait_that_goes_on_at_the_end_is_told_with_its_stack() {
    if !can_load("a_wait_that_goes_on_at_the_end_is_told_with_its_stack") {
        return;
    }
    let (sender, receiver) = mpsc::channel::<()>();
    let (tid_of, tid) = mpsc::channel();
    let hanging = thread::spawn(move || {
        tid_of.send(i64::from(rustix::thread::gettid().as_raw_nonzero().get())).unwrap();
        receiver.recv().unwrap_err();
    });
    let tid = tid.recv().unwrap();
    // Until it waits.
    thread::sleep(Duration::from_millis(50));
    let seen = observed(&COLLECTOR, || thread::sleep(Duration::from_millis(200)));
    let seen = Seen { tid, ..seen };
    drop(sender);
    hanging.join().unwrap();
    let waits = seen.spans(span::BLOCKED, Duration::from_millis(150));
    let wait = waits.first().expect("it has waited since before the recording");
    let detail: Blocked = from_text(seen.found.text(wait.detail));
    assert_eq!((seen.found.text(wait.name), detail.unfinished), ("futex", Some(true)));
    assert_ne!(wait.kernel_stack_id, StackId(0));
    let sample = seen.found.samples.rows().find(|sample| sample.tid == tid).expect("a stack");
    assert_eq!((sample.time_ns, sample.weight_ns), (wait.time_ns, wait.duration_ns));
    let functions = functions(&seen.found, sample.stack_id);
    // A test without symbols has callers without names.
    assert!(functions.len() > 3 && functions[0].contains("syscall"), "{functions:?}");
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

/// Long waits for a CPU of a thread that shares one with four others of its process.
fn crowded() -> Vec<RunQueueWait> {
    let seen = observed(&COLLECTOR, || crowd(4, Duration::from_millis(300)));
    let waited_ns = seen.counted(counter::RUN_QUEUE_WAITS_NS, "");
    assert!(waited_ns > 75e6, "five threads share one CPU, and this one waited {waited_ns} ns for it");
    let long = seen.spans(span::RUN_QUEUE_WAIT, Duration::from_millis(2));
    assert!(!long.is_empty());
    long.iter().map(|span| from_text(seen.found.text(span.detail))).collect()
}

#[test]
fn who_ran_instead_is_told() {
    if !can_load("who_ran_instead_is_told") {
        return;
    }
    // Others may be so busy on this CPU that each time one of them ran longest.
    for _ in 0..20 {
        let waits = crowded();
        assert!(waits.iter().all(|wait| wait.instead.as_ref().is_none_or(|name| !name.is_empty())), "{waits:?}");
        if waits.iter().any(|wait| wait.own == Some(true)) {
            return;
        }
    }
    panic!("threads of this process took turns on one CPU, and none was told");
}
