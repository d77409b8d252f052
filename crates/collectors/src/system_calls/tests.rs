//! Calls that this process makes itself, so that their number and length are known.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Instant;

use fathom_evidence::detail::from_text;

use super::*;
use crate::bpf::tests::{SlowDisk, can_load, counted, observed, this_thread};

fn slow_spans(found: &Recording) -> Vec<Span> {
    found.spans.rows().filter(|span| span.tid == this_thread()).collect()
}

#[test]
fn every_call_is_counted() {
    if !can_load("every_call_is_counted") {
        return;
    }
    let (mut ours, mut theirs) = UnixStream::pair().unwrap();
    let found = observed(&COLLECTOR, || {
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
        assert_eq!(counted(&found, name, call), expected, "{name} {call}");
    }
    let received: f64 =
        ["read", "recvfrom"].iter().map(|call| counted(&found, counter::SYSTEM_CALLS_BYTES, call)).sum();
    // Starting and stopping the collector reads files of procfs in this thread as well.
    assert!(received >= 32_100.0, "{received} bytes");
    assert!(counted(&found, counter::SYSTEM_CALLS_NS, "getppid") > 0.0);
}

#[test]
fn a_slow_read_of_a_file_is_told_with_its_stack() {
    if !can_load("a_slow_read_of_a_file_is_told_with_its_stack") {
        return;
    }
    let Some(disk) = SlowDisk::start(120) else { return };
    let mut file = disk.open();
    let mut took_ns = 0;
    let found = observed(&COLLECTOR, || {
        let began = Instant::now();
        assert_eq!(file.read(&mut [0; 1000]).unwrap(), 1000);
        took_ns = began.elapsed().as_nanos() as i64;
    });
    let spans = slow_spans(&found);
    let slow: Vec<&Span> = spans.iter().filter(|span| span.duration_ns >= 100_000_000).collect();
    assert_eq!(slow.len(), 1, "{spans:?}");
    assert_eq!(found.text(slow[0].name), "read");
    assert!((slow[0].duration_ns - took_ns).abs() < 5_000_000, "{} told, {took_ns} taken", slow[0].duration_ns);
    let detail: SystemCall = from_text(found.text(slow[0].detail));
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
    let found = observed(&COLLECTOR, || {
        let peer = thread::spawn(move || {
            thread::sleep(Duration::from_millis(60));
            theirs.write_all(b"x").unwrap();
        });
        ours.read_exact(&mut [0]).unwrap();
        peer.join().unwrap();
        thread::sleep(Duration::from_millis(60));
    });
    let told: Vec<(String, StackId)> = slow_spans(&found)
        .iter()
        .filter(|span| span.duration_ns >= 50_000_000)
        .map(|span| (found.text(span.name).to_owned(), span.stack_id))
        .collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(["read", "recvfrom"].contains(&told[0].0.as_str()), "{told:?}");
    assert_eq!(told[0].1, StackId(0));
    assert!(counted(&found, counter::SYSTEM_CALLS_NS, "clock_nanosleep") >= 60e6);
}
