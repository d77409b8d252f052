//! Page faults seen by a user without any right beyond that of being the process's own.

use std::process::Command;

use super::*;

/// Set in the process that runs as nobody.
const AS_NOBODY: &str = "FATHOM_TEST_AS_NOBODY";

const NOBODY: &str = "65534";

/// Runs the test of that name again, as nobody; says loudly where that cannot be.
fn run_as_nobody(test: &str) {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: {test}: only root can become nobody");
        return;
    }
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    if paranoid.trim().parse::<i32>().is_ok_and(|level| level > 2) {
        eprintln!("SKIPPED: {test}: kernel.perf_event_paranoid is {}", paranoid.trim());
        return;
    }
    let again = Command::new("setpriv")
        .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("page_faults::tests::unprivileged::{test}"), "--nocapture"])
        .env(AS_NOBODY, "1")
        .output();
    match again {
        Err(error) => eprintln!("SKIPPED: {test}: setpriv: {error}"),
        Ok(output) => {
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            assert!(output.status.success() && said.contains("1 passed"), "{said}");
        }
    }
}

#[test]
fn nobody_sees_latencies_and_places_of_its_own_faults() {
    const TEST: &str = "nobody_sees_latencies_and_places_of_its_own_faults";
    if std::env::var_os(AS_NOBODY).is_none() {
        return run_as_nobody(TEST);
    }
    // As anybody would start it: programs in the kernel are refused, and the rest is seen.
    let target = Target::of(std::process::id()).unwrap();
    assert_eq!(COLLECTOR.check(&target), Ok(()));
    assert_eq!(COLLECTOR.lesser(&target).map(|lesser| lesser.tier), Some(Tier::Perf));
    let (mut first, mut began_ns, mut ended_ns) = (0, 0, 0);
    const PAGES: usize = 100;
    let seen = seen_by(&COLLECTOR, 0, || {
        let memory = Mapped::new(PAGES * PAGE, None);
        first = memory.at as u64;
        began_ns = Clock::read().now_ns();
        (0..PAGES).for_each(|page| memory.write(page * PAGE + 3));
        ended_ns = Clock::read().now_ns();
    });
    let mut addresses = Vec::new();
    for span in seen.spans(span::PAGE_FAULT, Duration::ZERO) {
        let detail: PageFault = from_text(seen.found.text(span.detail));
        assert_eq!((detail.major, detail.off_cpu_ns), (Some(false), None), "{detail:?}");
        if detail.address.is_some_and(|address| (first..first + (PAGES * PAGE) as u64).contains(&address)) {
            assert!(span.time_ns >= began_ns - MS && span.time_ns + span.duration_ns <= ended_ns + MS, "{span:?}");
            assert_eq!(functions(&seen.found, span.stack_id).len(), 1);
            addresses.extend(detail.address);
        }
    }
    let expected: Vec<u64> = (0..PAGES).map(|page| first + (page * PAGE + 3) as u64).collect();
    assert_eq!(addresses, expected);
    assert!(seen.counted(counter::PAGE_FAULTS_COUNT, "minor") >= PAGES as f64);
    let losses: Vec<&str> = seen.found.losses.rows().map(|row| seen.found.text(row.says)).collect();
    for part in ["CAP_BPF", "in system calls"] {
        assert!(losses.iter().any(|says| says.contains(part)), "{part}: {losses:?}");
    }
}
