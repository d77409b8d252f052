use fathom_readers::{LoadOptions, load_file};
fn main() {
    let mut r = fathom_evidence::Recording::default();
    for a in std::env::args().skip(1) {
        let t = std::time::Instant::now();
        match load_file(a.as_ref(), &LoadOptions::default()) {
            Ok(x) => {
                eprintln!(
                    "{a}: {:?} spans {} samples {} counters {}",
                    t.elapsed(),
                    x.spans.time_ns.len(),
                    x.samples.time_ns.len(),
                    x.counters.time_ns.len()
                );
                r.absorb(x)
            }
            Err(e) => eprintln!("{e}"),
        }
    }
    let t = std::time::Instant::now();
    let e = fathom_causes::explain(&r, &Default::default());
    eprintln!("explained in {:?}", t.elapsed());
    println!("{:?} baseline {}", e.recording, e.baseline.says);
    for s in &e.slow {
        println!(
            "slow {:.1}..{:.1} {} {}",
            (s.from_ns - e.recording.from_ns) as f64 / 1e9,
            (s.to_ns - e.recording.from_ns) as f64 / 1e9,
            s.signal,
            s.says
        );
    }
    for f in &e.figures {
        println!("  figure {} {} {:?} {}", f.says, f.value, f.baseline, f.unit);
    }
    for c in &e.causes {
        println!("{:5.1}% {:?} {} — {}", c.share * 100.0, c.verdict, c.id, c.says);
    }
    println!(
        "unexplained {:.3} {} {:?}",
        e.unexplained.share,
        e.unexplained.says,
        e.unexplained.stacks.iter().map(|s| (&s.stack[..s.stack.len().min(90)], s.share)).collect::<Vec<_>>()
    );
    if let Some(a) = fathom_timeline::analyse(&r, &Default::default()) {
        println!("startup {} concurrency {:.2}", a.account.startup_buckets, a.excess.concurrency);
        for c in &a.excess.cells {
            println!(
                "   {:?} slow {:.3} base {:.3} counts {}",
                c.cell,
                c.slow_ns / a.excess.slow_ns,
                c.baseline_ns / a.excess.slow_ns,
                c.counts
            );
        }
    }
    for l in &e.losses {
        println!("loss {} {}", l.kind, l.says);
    }
}
