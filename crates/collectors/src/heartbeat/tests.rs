//! A heartbeat in this process, and artificial delays.

use fathom_evidence::detail::from_text;

use super::*;

fn watch(period: Duration, threshold: Duration) -> Watch {
    Watch {
        clock: Clock::read(),
        heart: Heart::start(period, threshold).unwrap(),
        shares_group: false,
        dropped: 0,
        thread_cpu_ns: 0,
    }
}

#[test]
fn delays_are_told_apart_by_where_they_come_from() {
    let ms = 1_000_000;
    let mut watch = watch(Duration::from_millis(100), Duration::from_secs(3600));
    for (run_queue_ns, expected) in [
        (Some(99 * ms), "no CPU free"),
        (Some(50 * ms), "machine stood still"),
        (Some(0), "machine stood still"),
        (None, "woken late"),
    ] {
        let mut found = Recording::default();
        watch.take(&Beat::Late { due_ns: 5, delay_ns: 100 * ms, run_queue_ns, cpu: 1 }, &mut found);
        let row = found.spans.row(0);
        assert_eq!((found.text(row.name), row.duration_ns, row.time_ns), (expected, 100 * ms, watch.clock.wall_ns(5)));
        let detail: HostStall = from_text(found.text(row.detail));
        assert_eq!(detail.run_queue_ns, run_queue_ns.map(|ns| ns as u64));
    }
}

#[test]
fn the_heart_beats_and_its_delays_are_real() {
    // With a threshold of nothing every wake-up is late: the timer's own slack suffices.
    let watch = watch(Duration::from_millis(1), Duration::ZERO);
    let (mut due, mut delays) = (Vec::new(), Vec::new());
    while due.len() < 50 {
        if let Beat::Late { due_ns, delay_ns, .. } = watch.heart.beats.recv_timeout(Duration::from_secs(30)).unwrap() {
            due.push(due_ns);
            delays.push(delay_ns);
        }
    }
    assert!(due.windows(2).all(|pair| pair[1] - pair[0] >= 1_000_000), "not before a period has passed: {due:?}");
    let now_ns = crate::clock::monotonic_ns();
    assert!(due.iter().zip(&delays).all(|(due, delay)| *delay >= 0 && due + delay <= now_ns));
}
