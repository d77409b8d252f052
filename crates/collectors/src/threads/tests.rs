//! Threads of this very process, whose own clocks and counts are known.

use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use fathom_evidence::kinds::span;
use rustix::thread::gettid;

use super::*;

/// Looks at the running test without a recorder.
fn watch() -> Box<dyn Observer> {
    let target = Target::of(std::process::id()).unwrap();
    Threads.start(&target, &crate::recorder::Plan::new(PathBuf::from("none")).order).unwrap()
}

/// Last value of a counter of a thread.
fn last(found: &Recording, name: &str, tid: i64) -> f64 {
    let name = found.strings.find(name);
    let rows = found.counters.rows().filter(|row| Some(row.name) == name && row.tid == tid);
    rows.max_by_key(|row| row.time_ns).map_or(0.0, |row| row.value)
}

/// Uses CPU and touches new memory; returns what the thread's own clock says.
fn work() -> i64 {
    let mut pages = Vec::new();
    while thread_cpu_ns() < 30_000_000 {
        pages.push(vec![1_u8; 1 << 20]);
        if pages.len() > 16 {
            pages.clear();
        }
    }
    thread_cpu_ns()
}

#[test]
fn a_thread_is_seen_from_its_start_to_its_end() {
    let mut watch = watch();
    let mut found = Recording::default();
    watch.look(&mut found);
    let (say, hear) = mpsc::channel();
    let (release, wait) = mpsc::channel::<()>();
    let worker = thread::Builder::new().name("a worker".into());
    let worker = worker.spawn(move || {
        let used_ns = work();
        say.send((i64::from(gettid().as_raw_nonzero().get()), used_ns)).unwrap();
        wait.recv().unwrap();
    });
    let (tid, used_ns) = hear.recv().unwrap();
    watch.look(&mut found);
    // Until it waits, the thread's account may lag behind by a tick.
    let give_up = Instant::now() + Duration::from_secs(30);
    while last(&found, counter::THREAD_CPU_NS, tid) < used_ns as f64 && Instant::now() < give_up {
        watch.look(&mut found);
        thread::yield_now();
    }
    assert!(last(&found, counter::THREAD_CPU_NS, tid) >= used_ns as f64);
    release.send(()).unwrap();
    worker.unwrap().join().unwrap();
    watch.finish(&mut found);
    assert!(last(&found, counter::THREAD_MINOR_FAULTS_COUNT, tid) >= 1.0);
    let first = found.counters.rows().filter(|row| row.tid == tid).min_by_key(|row| row.time_ns).map(|row| row.value);
    assert_eq!(first, Some(0.0), "what it used before it was seen is a rise, too");
    let name = found.threads.get(tid).map(|thread| found.text(thread.name));
    assert_eq!(name, Some("a worker"));
    let kinds: Vec<&str> = found.spans.rows().filter(|row| row.tid == tid).map(|row| found.text(row.kind)).collect();
    assert_eq!(kinds, [span::THREAD_START, span::THREAD_END]);
}

#[test]
fn threads_add_up_to_the_process() {
    let mut found = Recording::default();
    let mut watch = watch();
    watch.look(&mut found);
    assert_eq!(found.spans.rows().len(), 0, "nothing began or ended");
    let threads = found.counters.rows().map(|row| row.tid).collect::<std::collections::HashSet<_>>();
    assert!(threads.contains(&i64::from(std::process::id())), "{threads:?}");
    let sum = |name: &str, is_wanted: fn(i64) -> bool| {
        let name = found.strings.find(name);
        found
            .counters
            .rows()
            .filter(|row| Some(row.name) == name && is_wanted(row.tid))
            .map(|row| row.value)
            .sum::<f64>()
    };
    let tick_ns = 10_000_000.0;
    let by_thread = sum(counter::THREAD_CPU_NS, |tid| tid > 0);
    let whole = sum(counter::PROCESS_CPU_NS, |tid| tid == 0);
    // The process's account rounds down to ticks, for each of its two modes, and holds ended threads.
    assert!(by_thread > 0.0 && by_thread <= whole + 4.0 * tick_ns, "{by_thread} of {whole}");
}

#[test]
fn a_process_that_has_ended_is_refused() {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let target = Target { pid: child.id(), inner_pid: child.id(), uid: 0, gid: 0, start_ticks: 1 };
    child.wait().unwrap();
    assert!(Threads.check(&target).is_err());
}
