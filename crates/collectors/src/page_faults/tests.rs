//! Faults of this process itself, so that their number and latency are known; observed both ways.

mod lazy_binding;
mod unprivileged;

use std::ffi::c_void;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use fathom_evidence::detail::{PageFault, from_text};
use fathom_evidence::kinds::{counter, loss, span};

use super::*;
use crate::Clock;
use crate::bpf::tests::{Seen, SlowDisk, can_load, functions, observed};
use crate::recorder::Plan;
use fathom_evidence::Recording;

static BY_PERF: PageFaults = PageFaults { may_use_bpf: false };

/// The ways to see faults that this test may use; says loudly what it may not.
fn ways(test: &str) -> Vec<&'static PageFaults> {
    let mut ways = Vec::new();
    if can_load(test) {
        ways.push(&COLLECTOR);
    }
    match by_perf::check(&Target::of(std::process::id()).unwrap()) {
        Ok(()) => ways.push(&BY_PERF),
        Err(refusal) => eprintln!("SKIPPED: {test}: {}", refusal.why),
    }
    ways
}

const PAGE: usize = 4096;
const HUGE_PAGE: usize = 2 << 20;

/// What is seen of a thread while it does `work`. It is there before, as threads are taken up at a look only.
fn seen_by(collector: &PageFaults, threshold_ns: i64, work: impl FnOnce() + Send) -> Seen {
    let target = Target::of(std::process::id()).unwrap();
    let order = Order { page_fault_ns: threshold_ns, ..Plan::new("/nowhere".into()).order };
    let mut found = Recording::default();
    let (begin, begins) = mpsc::channel();
    let (tell, told) = mpsc::channel();
    let tid = thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let tid = rustix::thread::gettid().as_raw_nonzero().get();
            tell.send(i64::from(tid)).unwrap();
            begins.recv().unwrap();
            work();
            // Its events can be read as long as it is there.
            tell.send(0).unwrap();
            begins.recv().unwrap();
        });
        let tid = told.recv().unwrap();
        let mut observer = collector.start(&target, &order).unwrap_or_else(|refusal| panic!("{}", refusal.why));
        begin.send(()).unwrap();
        while told.recv_timeout(Duration::from_millis(5)) == Err(mpsc::RecvTimeoutError::Timeout) {
            observer.look(&mut found);
        }
        observer.finish(&mut found);
        begin.send(()).unwrap();
        worker.join().unwrap();
        tid
    });
    Seen { found, tid }
}

/// The usual threshold.
const MS: i64 = 1_000_000;

struct Mapped {
    at: *mut c_void,
    bytes: usize,
}

// SAFETY: an address is as good in one thread as in another; reads and writes are volatile.
unsafe impl Sync for Mapped {}

impl Mapped {
    fn new(bytes: usize, file: Option<&File>) -> Mapped {
        let flags = if file.is_some() { libc::MAP_SHARED } else { libc::MAP_PRIVATE | libc::MAP_ANONYMOUS };
        let protection = if file.is_some() { libc::PROT_READ } else { libc::PROT_READ | libc::PROT_WRITE };
        let descriptor = file.map_or(-1, AsRawFd::as_raw_fd);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, descriptor, 0) };
        assert_ne!(at, libc::MAP_FAILED);
        // SAFETY: the mapping was just made. Small pages, so that each page is a fault.
        unsafe { libc::madvise(at, bytes, libc::MADV_NOHUGEPAGE) };
        Mapped { at, bytes }
    }

    /// Never inlined, so that it can be found in stacks.
    #[inline(never)]
    fn read(&self, offset: usize) -> u8 {
        assert!(offset < self.bytes);
        // SAFETY: within the mapping.
        unsafe { self.at.cast::<u8>().add(offset).read_volatile() }
    }

    fn write(&self, offset: usize) {
        assert!(offset < self.bytes);
        // SAFETY: within the mapping, which is private and of this test alone.
        unsafe { self.at.cast::<u8>().add(offset).write_volatile(1) };
    }
}

/// Memory that may have huge pages, aligned to them.
fn huge(bytes: usize) -> (Mapped, usize) {
    let memory = Mapped::new(bytes + HUGE_PAGE, None);
    // SAFETY: the mapping was just made.
    unsafe { libc::madvise(memory.at, memory.bytes, libc::MADV_HUGEPAGE) };
    let first = (memory.at as usize).next_multiple_of(HUGE_PAGE) - memory.at as usize;
    (memory, first)
}

/// Huge pages that the kernel has split so far; `None` when it was told not to make any.
fn splits() -> Option<u64> {
    let enabled = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let text = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("thp_split_pmd "));
    line.and_then(|count| count.parse().ok()).filter(|_| !enabled.is_empty() && !enabled.contains("[never]"))
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping is of this struct.
        unsafe { libc::munmap(self.at, self.bytes) };
    }
}

/// Faults of this thread as the kernel accounts them.
fn own_faults() -> f64 {
    // SAFETY: the struct is plain numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is valid for the call.
    assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) }, 0);
    (usage.ru_minflt + usage.ru_majflt) as f64
}

#[test]
fn every_fault_is_counted() {
    for collector in ways("every_fault_is_counted") {
        check_counts(collector);
    }
}

fn check_counts(collector: &PageFaults) {
    let mut expected = 0.0;
    let seen = seen_by(collector, MS, || {
        let memory = Mapped::new(20_000 * PAGE, None);
        (0..20_000).for_each(|page| memory.write(page * PAGE));
        expected = own_faults();
    });
    let counted = ["minor", "major"].map(|kind| seen.counted(counter::PAGE_FAULTS_COUNT, kind));
    let counted: f64 = counted.iter().sum();
    assert!(expected >= 20_000.0 && (counted - expected).abs() <= expected * 0.01, "{counted} seen, {expected} made");
    let found = &seen.found;
    let by_latency: f64 = found
        .counters
        .rows()
        .filter(|row| found.text(row.name) == counter::PAGE_FAULTS_BY_LATENCY_COUNT)
        .map(|row| row.value)
        .sum();
    let lost: i64 =
        found.losses.rows().filter(|row| found.text(row.kind) == loss::EVENTS_LOST).map(|row| row.count).sum();
    assert!(by_latency + lost as f64 >= counted, "{by_latency} in the histogram, which has all threads, {lost} lost");
}

#[test]
fn pages_that_are_read_before_they_are_written_fault_twice() {
    for collector in ways("pages_that_are_read_before_they_are_written_fault_twice") {
        check_repeated(collector);
    }
}

fn check_repeated(collector: &PageFaults) {
    // As many as fit into a ring.
    const PAGES: usize = 200;
    for (reads_first, expected) in [(true, PAGES), (false, 0)] {
        let seen = seen_by(collector, MS, || {
            let memory = Mapped::new(PAGES * PAGE, None);
            for page in 0..PAGES {
                if reads_first {
                    assert_eq!(memory.read(page * PAGE), 0);
                }
                memory.write(page * PAGE);
            }
        });
        let repeated = seen.counted(counter::PAGE_FAULTS_COUNT, "repeated") as usize;
        // The test's own stack and heap may add a few.
        assert!((expected..expected + 50).contains(&repeated), "{repeated} when reading first is {reads_first}");
        assert_eq!(seen.counted(counter::PAGE_FAULTS_NS, "in vain") > 1e4, reads_first);
    }
}

/// As of JDK 8, whose threads write a page that the JVM makes unwritable for a moment at each safepoint.
#[test]
fn a_page_that_is_taken_away_now_and_then_is_not_one_that_is_read_first() {
    const TIMES: usize = 60;
    for collector in ways("a_page_that_is_taken_away_now_and_then_is_not_one_that_is_read_first") {
        let seen = seen_by(collector, MS, || {
            let memory = Mapped::new(PAGE, None);
            for _ in 0..TIMES {
                memory.write(0);
                // SAFETY: the mapping is private and of this test alone.
                unsafe { libc::madvise(memory.at, memory.bytes, libc::MADV_DONTNEED) };
                thread::sleep(Duration::from_millis(11));
            }
        });
        let counted = |kind| seen.counted(counter::PAGE_FAULTS_COUNT, kind) as usize;
        assert!(counted("minor") >= TIMES && counted("repeated") < TIMES / 2, "{} repeated", counted("repeated"));
    }
}

/// Until Linux 6.13 a huge page that is read first is split when it is written, and 513 faults come where one would
/// do; since then there are two.
#[test]
fn huge_pages_that_are_read_before_they_are_written_are_told() {
    if !can_load("huge_pages_that_are_read_before_they_are_written_are_told") {
        return;
    }
    let Some(split_before) = splits() else {
        eprintln!("SKIPPED: huge_pages_that_are_read_before_they_are_written_are_told: there are no huge pages here");
        return;
    };
    const RANGES: usize = 8;
    let seen = observed(&COLLECTOR, || {
        let (memory, first) = huge(RANGES * HUGE_PAGE);
        for page in 0..RANGES * HUGE_PAGE / PAGE {
            assert_eq!(memory.read(first + page * PAGE), 0);
            memory.write(first + page * PAGE);
        }
    });
    let split = splits().unwrap_or(0).saturating_sub(split_before) as usize;
    let [minor, repeated] = ["minor", "repeated"].map(|kind| seen.counted(counter::PAGE_FAULTS_COUNT, kind) as usize);
    assert!((RANGES..RANGES + 50).contains(&repeated), "{repeated} repeated, {minor} minor, {split} split");
    if split >= RANGES {
        assert!(minor >= RANGES * 513, "{minor} faults, {split} split");
    } else {
        assert!(minor < RANGES * 513, "{minor} faults, {split} split");
    }
}

/// What the page that is read is expected to be told as.
fn check_slow_read(collector: &PageFaults, interrupted: bool) {
    let Some(disk) = SlowDisk::start(300) else { return };
    let file = disk.open();
    let memory = Mapped::new(64 * PAGE, Some(&file));
    let (mut took, mut at_ns) = (Duration::ZERO, 0);
    let seen = seen_by(collector, MS, || {
        at_ns = Clock::read().now_ns();
        let began = Instant::now();
        let read = || memory.read(7 * PAGE + 11);
        if interrupted {
            under_signals(read)
        } else {
            read()
        };
        took = began.elapsed();
    });
    let spans = seen.spans(span::PAGE_FAULT, Duration::from_millis(100));
    assert_eq!(spans.len(), 1, "by BPF: {}: {spans:?}", collector.may_use_bpf);
    let span = spans[0];
    let told = Duration::from_nanos(span.duration_ns as u64);
    assert!(Duration::from_millis(300) <= told && told <= took, "{told:?} told, {took:?} taken");
    assert!(span.time_ns >= at_ns && span.time_ns < at_ns + took.as_nanos() as i64);
    let detail: PageFault = from_text(seen.found.text(span.detail));
    assert_eq!(detail.address, Some(memory.at as u64 + 7 * PAGE as u64 + 11));
    assert_eq!(detail.path, Some(disk.path().to_string_lossy().into_owned()));
    assert_eq!(detail.file_offset, Some(7 * PAGE as u64 + 11));
    let user = functions(&seen.found, span.stack_id);
    assert!(user.iter().any(|name| name.contains("Mapped") && name.contains("read")), "{user:?}");
    let kernel = functions(&seen.found, span.kernel_stack_id);
    if collector.may_use_bpf {
        assert!(detail.off_cpu_ns > Some(250_000_000), "{detail:?}");
        assert!(kernel.iter().any(|name| name == "filemap_fault"), "{kernel:?}");
    } else {
        assert_eq!((detail.off_cpu_ns, kernel.len()), (None, 0), "{kernel:?}");
        // That which is interrupted ends as a minor one, of which the callers are not known.
        assert_eq!(user.len() > 1, !interrupted, "{user:?}");
    }
}

extern "C" fn ignore(_signal: libc::c_int) {}

/// Runs `work` while this thread gets signals all the time, as those that a profiler looks at do.
fn under_signals<T>(work: impl FnOnce() -> T) -> T {
    let handler = ignore as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler does nothing; no other test uses this signal.
    unsafe { libc::signal(libc::SIGUSR2, handler) };
    // SAFETY: has no requirements.
    let thread = unsafe { libc::pthread_self() };
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                // SAFETY: the thread waits below for this one, so it is alive.
                unsafe { libc::pthread_kill(thread, libc::SIGUSR2) };
                std::thread::yield_now();
            }
        });
        let result = work();
        is_done.store(true, Ordering::Relaxed);
        result
    })
}

#[test]
fn a_fault_on_a_slow_disk_is_one_span() {
    for collector in ways("a_fault_on_a_slow_disk_is_one_span") {
        check_slow_read(collector, false);
    }
}

#[test]
fn a_fault_that_a_signal_interrupts_is_one_span() {
    for collector in ways("a_fault_that_a_signal_interrupts_is_one_span") {
        check_slow_read(collector, true);
    }
}
