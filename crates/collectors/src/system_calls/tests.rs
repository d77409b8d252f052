//! Calls that this process makes itself, so that their number and length are known.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Instant;

use fathom_evidence::detail::from_text;

use super::*;
use crate::bpf::tests::{Seen, SlowDisk, can_load, observed};

#[test]
fn every_call_is_counted() {
    if !can_load("every_call_is_counted") {
        return;
    }
    let (mut ours, mut theirs) = UnixStream::pair().unwrap();
    let seen = observed(&COLLECTOR, || {
        for _ in 0..10_000 {
            // Never answered from memory, unlike getpid in some C libraries.
            let _ = rustix::process::getppid();
        }
        for _ in 0..100 {
            theirs.write_all(&[7; 321]).unwrap();
            let mut read = [0; 4096];
            assert_eq!(ours.read(&mut read).unwrap(), 321);
        }
        // SAFETY: a closed descriptor is an error that the call returns.
        (0..50).for_each(|_| assert_eq!(unsafe { libc::fsync(-1) }, -1));
    });
    for (name, call, expected) in [
        (counter::SYSTEM_CALLS_COUNT, "getppid", 10_000.0),
        (counter::SYSTEM_CALLS_FAILED_COUNT, "getppid", 0.0),
        (counter::SYSTEM_CALLS_COUNT, "fsync", 50.0),
        (counter::SYSTEM_CALLS_FAILED_COUNT, "fsync", 50.0),
        (counter::SYSTEM_CALLS_BYTES, "fsync", 0.0),
    ] {
        assert_eq!(seen.counted(name, call), expected, "{name} {call}");
    }
    let received: f64 =
        ["read socket", "recvfrom"].iter().map(|call| seen.counted(counter::SYSTEM_CALLS_BYTES, call)).sum();
    assert_eq!(received, 32_100.0);
    assert!(seen.counted(counter::SYSTEM_CALLS_NS, "getppid") > 0.0);
}

#[test]
fn reading_a_socket_or_a_pipe_is_told_from_reading_a_file() {
    if !can_load("reading_a_socket_or_a_pipe_is_told_from_reading_a_file") {
        return;
    }
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let mut zeros = std::fs::File::open("/dev/zero").unwrap();
    let (mut heard, mut said) = std::io::pipe().unwrap();
    let seen = observed(&COLLECTOR, || {
        for _ in 0..300 {
            theirs.write_all(b"abcdefgh").unwrap();
            // The standard library receives from sockets; the JVM reads them as it reads files.
            rustix::io::read(&ours, &mut [0; 100]).unwrap();
            zeros.read_exact(&mut [0; 5]).unwrap();
            said.write_all(b"abc").unwrap();
            heard.read_exact(&mut [0; 3]).unwrap();
        }
    });
    for (call, count, bytes) in [
        ("read socket", 300.0, 2_400.0),
        ("read", 300.0, 1_500.0),
        ("read pipe", 300.0, 900.0),
        ("write pipe", 300.0, 900.0),
    ] {
        let counted = [counter::SYSTEM_CALLS_COUNT, counter::SYSTEM_CALLS_BYTES].map(|name| seen.counted(name, call));
        assert_eq!(counted, [count, bytes], "{call}");
    }
}

#[test]
fn a_slow_read_of_a_file_is_told_with_its_stack() {
    if !can_load("a_slow_read_of_a_file_is_told_with_its_stack") {
        return;
    }
    let Some(disk) = SlowDisk::start(120) else { return };
    let mut file = disk.open();
    let mut took_ns = 0;
    let seen = observed(&COLLECTOR, || {
        let began = Instant::now();
        assert_eq!(file.read(&mut [0; 1000]).unwrap(), 1000);
        took_ns = began.elapsed().as_nanos() as i64;
    });
    let slow = seen.spans(span::SYSTEM_CALL, Duration::from_millis(100));
    assert_eq!(slow.len(), 1, "{slow:?}");
    assert_eq!(seen.found.text(slow[0].name), "read");
    let told_ns = slow[0].duration_ns;
    assert!((120_000_000..=took_ns).contains(&told_ns), "{told_ns} ns told, {took_ns} ns taken");
    let detail: SystemCall = from_text(seen.found.text(slow[0].detail));
    assert_eq!(detail.path, Some(disk.path().to_string_lossy().into_owned()));
    assert_eq!((detail.result, detail.bytes), (Some(1000), Some(1000)));
    assert_ne!(slow[0].stack_id, StackId(0));
}

#[test]
fn waiting_for_a_peer_has_no_stack_and_mere_waiting_is_not_told() {
    if !can_load("waiting_for_a_peer_has_no_stack_and_mere_waiting_is_not_told") {
        return;
    }
    let (mut ours, mut theirs) = UnixStream::pair().unwrap();
    let seen = observed(&COLLECTOR, || {
        let peer = thread::spawn(move || {
            thread::sleep(Duration::from_millis(60));
            theirs.write_all(b"x").unwrap();
        });
        ours.read_exact(&mut [0]).unwrap();
        peer.join().unwrap();
        thread::sleep(Duration::from_millis(60));
    });
    let told = seen.spans(span::SYSTEM_CALL, Duration::from_millis(50));
    let told: Vec<(&str, StackId)> = told.iter().map(|span| (seen.found.text(span.name), span.stack_id)).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(["read", "recvfrom"].contains(&told[0].0), "{told:?}");
    assert_eq!(told[0].1, StackId(0));
    assert!(seen.counted(counter::SYSTEM_CALLS_NS, "clock_nanosleep") >= 60e6);
}

/// Sixty idle threads wait in one place each: their stacks are taken once, and leave room for that of who begins to wait elsewhere.
#[test]
fn a_wait_in_a_new_place_has_its_stack_beside_idle_threads() {
    if !can_load("a_wait_in_a_new_place_has_its_stack_beside_idle_threads") {
        return;
    }
    const IDLE: usize = 60;
    const WAITS: usize = 20;
    let seen = observed(&COLLECTOR, || {
        thread::scope(|scope| {
            for _ in 0..IDLE {
                scope.spawn(|| (0..15).for_each(|_| thread::sleep(Duration::from_millis(190))));
            }
            thread::sleep(Duration::from_millis(2_300));
            (0..WAITS).for_each(|_| thread::sleep(Duration::from_millis(8)));
        });
    });
    let is_short =
        |sample: &Sample| sample.tid == seen.tid && sample.weight_ns < 50_000_000 && sample.stack_id != StackId(0);
    let told = seen.found.samples.rows().filter(is_short).count();
    assert!(told >= WAITS - 2, "{told} of {WAITS}");
}

/// Short waits are reported while they are few. If they are many the shortest are left out, the others are reported.
#[test]
fn waits_are_told_from_such_a_length_on_that_they_are_not_too_many() {
    if !can_load("waits_are_told_from_such_a_length_on_that_they_are_not_too_many") {
        return;
    }
    const WAITS: usize = 50;
    let told_from = |found: &Recording| -> Vec<f64> {
        let rows = found.counters.rows().filter(|row| found.text(row.name) == counter::WAITS_SAMPLED_FROM_NS);
        rows.map(|row| row.value).collect()
    };
    let told = |seen: &Seen, least_ms: i64| {
        let is_told = |sample: &Sample| sample.tid == seen.tid && sample.weight_ns >= least_ms * 1_000_000;
        seen.found.samples.rows().filter(is_told).count()
    };
    let few = observed(&COLLECTOR, || (0..WAITS).for_each(|_| thread::sleep(Duration::from_millis(2))));
    assert!(told(&few, 2) >= WAITS - 2, "{} of {WAITS}", told(&few, 2));
    assert!(told_from(&few.found).iter().all(|from_ns| *from_ns <= 2e6), "{:?}", told_from(&few.found));
    let many = observed(&COLLECTOR, || {
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..2_500).for_each(|_| thread::sleep(Duration::from_micros(1_100))));
            }
            (0..WAITS).for_each(|_| thread::sleep(Duration::from_millis(40)));
        });
    });
    assert!(told_from(&many.found).iter().any(|from_ns| *from_ns >= 2e6), "{:?}", told_from(&many.found));
    assert!(told(&many, 40) >= WAITS / 2, "{} of {WAITS}", told(&many, 40));
}

/// More threads and calls than there are places for: the others are in the hash map, and none is counted twice or lost.
#[test]
fn sums_are_whole_when_their_places_are_taken() {
    if !can_load("sums_are_whole_when_their_places_are_taken") {
        return;
    }
    const THREADS: usize = 300;
    const ROUNDS: usize = 10;
    let calls = [
        (libc::SYS_getpgid, "getpgid"),
        (libc::SYS_getsid, "getsid"),
        (libc::SYS_getpriority, "getpriority"),
        (libc::SYS_sched_getscheduler, "sched_getscheduler"),
        (libc::SYS_sched_get_priority_max, "sched_get_priority_max"),
        (libc::SYS_sched_get_priority_min, "sched_get_priority_min"),
        (libc::SYS_sched_getparam, "sched_getparam"),
    ];
    let seen = observed(&COLLECTOR, || {
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for (number, _) in calls.iter().cycle().take(calls.len() * ROUNDS) {
                        // SAFETY: these calls only ask, and take numbers.
                        unsafe { libc::syscall(*number, 0, 0) };
                    }
                });
            }
        });
    });
    for (_, call) in calls {
        let mut by_thread = HashMap::new();
        for row in seen.found.counters.rows() {
            if seen.found.text(row.name) == counter::SYSTEM_CALLS_COUNT && seen.found.text(row.instance) == call {
                by_thread.insert(row.tid, row.value);
            }
        }
        assert_eq!(by_thread.values().sum::<f64>(), (THREADS * ROUNDS) as f64, "{call}");
    }
}
