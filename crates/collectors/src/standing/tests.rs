use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use super::*;
use crate::bpf::tests::{can_load, functions};
use crate::recorder::Plan;

/// Short waits, as a thread at work has them.
fn works() {
    for _ in 0..400 {
        thread::sleep(Duration::from_millis(1));
    }
}

fn of_this_process() -> Box<dyn Observer> {
    let target = Target::of(std::process::id()).unwrap();
    let order = Plan::new("/nowhere".into()).order;
    start(&target, &order).unwrap_or_else(|refusal| panic!("{}", refusal.why))
}

fn own_tid() -> i64 {
    rustix::thread::gettid().as_raw_nonzero().get().into()
}

#[test]
fn a_stall_has_its_length_and_its_stack() {
    if !can_load("a_stall_has_its_length_and_its_stack") {
        return;
    }
    let mut observer = of_this_process();
    let (tid_of, tid) = mpsc::channel();
    let (lets_go, stalls) = mpsc::channel::<()>();
    let worker = thread::spawn(move || {
        tid_of.send(own_tid()).unwrap();
        works();
        let began = Instant::now();
        stalls.recv().unwrap();
        let took_ns = began.elapsed().as_nanos() as i64;
        works();
        took_ns
    });
    let tid = tid.recv().unwrap();
    let mut found = Recording::default();
    for look in 0..20 {
        thread::sleep(PERIOD);
        observer.look(&mut found);
        if look == 15 {
            lets_go.send(()).unwrap();
        }
    }
    let took_ns = worker.join().unwrap();
    observer.finish(&mut found);
    let waits: Vec<Span> = found.spans.rows().filter(|row| row.tid == tid).collect();
    assert!(!waits.is_empty(), "it stood for {took_ns} ns");
    assert!(waits.iter().all(|row| functions(&found, row.stack_id).len() > 3), "{waits:?}");
    // A look stands for little more than a period before it, and after it.
    let waited_ns: i64 = waits.iter().map(|row| row.duration_ns).sum();
    assert!((PERIOD_NS..took_ns + 3 * PERIOD_NS).contains(&waited_ns), "{waited_ns} of {took_ns} ns: {waits:?}");
}

/// Waits of one and a half periods that begin just after a look, so that mostly one look finds each.
#[test]
fn waits_that_one_look_found_count() {
    if !can_load("waits_that_one_look_found_count") {
        return;
    }
    const WAITS: usize = 6;
    let mut observer = of_this_process();
    let (tid_of, tid) = mpsc::channel();
    let (stands, is_to_stand) = mpsc::channel::<()>();
    let worker = thread::spawn(move || {
        tid_of.send(own_tid()).unwrap();
        for _ in 0..WAITS {
            while is_to_stand.try_recv().is_err() {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(PERIOD + PERIOD / 2);
        }
        works();
    });
    let tid = tid.recv().unwrap();
    let mut found = Recording::default();
    for look in 0..4 * WAITS {
        thread::sleep(PERIOD * 4 / 5);
        observer.look(&mut found);
        thread::sleep(PERIOD / 5);
        if look % 4 == 1 {
            stands.send(()).unwrap();
        }
    }
    worker.join().unwrap();
    observer.finish(&mut found);
    let waits: Vec<Span> = found.spans.rows().filter(|row| row.tid == tid).collect();
    assert!(!waits.is_empty() && waits.iter().all(|row| row.duration_ns >= PERIOD_NS / 2), "{waits:?}");
}
