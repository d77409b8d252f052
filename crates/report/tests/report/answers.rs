//! Explanations made by hand: what an engine may answer, figures invented.

use fathom_causes::explanation::{
    Baseline, CauseVerdict, Change, DrillDown, During, Evidence, Explanation, Headline, HeadlineKind, IntervalCause,
    LossNote, Missing, PortFailures, PortSummary, RecordingSummary, SCHEMA, SlowInterval, SlowRequests, StackShare,
    Unexplained, Verdict,
};

/// 2026-11-20 10:02:01 UTC.
const START_NS: i64 = 1_795_168_921_000_000_000;
const SECOND_NS: i64 = 1_000_000_000;

/// Fifty seconds of a service in which nothing was slow.
pub(crate) fn healthy() -> Explanation {
    Explanation {
        schema: SCHEMA,
        recording: RecordingSummary {
            title: "checkout".into(),
            pid: Some(4242),
            jvm: "JDK 25.0.3".into(),
            collector: "G1".into(),
            cpus: Some(2),
            from_ns: START_NS,
            to_ns: START_NS + 50 * SECOND_NS,
            sources: vec!["jfr".into(), "gc_log".into()],
            tier: 0,
        },
        headline: Headline { kind: HeadlineKind::NothingSlow, says: "nothing was slow".into(), but: vec![] },
        requests: vec![],
        changed: vec![],
        messages: vec![],
        request_kinds: vec![],
        statuses: vec![],
        slow: vec![],
        rhythm: None,
        baseline: Baseline {
            kind: "rest_of_recording".into(),
            says: "the other 20 s of the recording".into(),
            duration_ns: 20 * SECOND_NS,
        },
        figures: vec![
            figure("longest stop of the application", 4_100_000.0, None, "ns"),
            figure("CPU of the JVM", 0.21, None, "cores"),
        ],
        causes: vec![ruled_out("lock_contention", "blocked on monitors", 0.002), not_enough("swap_in")],
        unexplained: Unexplained { share: 0.0, says: String::new(), stacks: vec![], drill_down: DrillDown::default() },
        losses: vec![],
    }
}

/// A starved code cache.
pub(crate) fn one_cause() -> Explanation {
    let churn = CauseVerdict {
        says: "C1 and C2 threads use 44 points of a core more than before, and 9 collections per second free code: \
               the code compiled so far is 3.9 times the 5 MB cache"
            .into(),
        evidence: vec![
            figure("CPU of compiler threads", 0.61, Some(0.17), "cores"),
            figure("collections to free code", 9.0, Some(0.0), "1/s"),
            figure("code compiled so far against the size of the cache", 3.9, None, "times"),
            figure("swing of the code cache", 2.8e6, Some(120e3), "bytes"),
            figure("compilations", 1_204.0, Some(31.0), "1/s"),
        ],
        actions: vec!["-XX:ReservedCodeCacheSize=240m, or drop the setting".into()],
        prove: "fathom lab run code_cache_churn".into(),
        ..cause("code_cache_churn", Verdict::Shown, 0.71)
    };
    let mut causes = vec![churn];
    causes.extend(
        ["full_gc_old_generation_full", "long_time_to_safepoint", "lock_contention", "allocation_pressure"]
            .map(|id| ruled_out(id, "share of the lost time", 0.012)),
    );
    causes.extend(
        ["explicit_gc", "jit_warm_up", "more_traffic", "slow_downstream", "deoptimization_storm"]
            .map(|id| CauseVerdict { says: "nothing of it was seen".into(), ..cause(id, Verdict::RuledOut, 0.0) }),
    );
    causes.extend(["lazy_symbol_binding", "block_device_slow", "swap_in"].map(not_enough));
    Explanation {
        slow: vec![interval(20, 50, "request_latency", "99th percentile of request latency 19.8 ms, 50 times the baseline's")],
        rhythm: None,
        figures: vec![
            figure("p99 of requests", 19_800_000.0, Some(1_400_000.0), "ns"),
            figure("process CPU", 1.04, Some(0.17), "cores"),
        ],
        causes,
        unexplained: Unexplained {
            share: 0.29,
            says: "biggest: interpreted frames of handler threads".into(),
            stacks: vec![
                StackShare {
                    stack: "java.util.HashMap.get;com.acme.Cache.find;com.acme.Shop.basket;com.acme.Http.serve;java.lang.Thread.run".into(),
                    share: 0.18,
                },
                StackShare { stack: "CodeHeap::allocate(unsigned long);CodeBuffer::expand(int)".into(), share: 0.004 },
            ],
            drill_down: DrillDown::default(),
        },
        ..healthy()
    }
}

/// One cause behind another, several slow stretches, an unsure one besides.
pub(crate) fn two_causes() -> Explanation {
    let downstream = CauseVerdict {
        says: "handlers wait 410 ms per request for db.internal:5432, 12 ms before".into(),
        evidence: vec![figure("waiting for db.internal:5432", 4.1e8, Some(1.2e7), "ns")],
        chain: vec!["more_traffic".into()],
        actions: vec![
            "look at the database between 10:02:21 and 10:02:31".into(),
            "set a timeout".into(),
            "third".into(),
        ],
        ..cause("slow_downstream", Verdict::Likely, 0.555)
    };
    let locks = CauseVerdict {
        says: "threads queue for com.acme.Pool".into(),
        missing: vec![Missing {
            says: "the owner of the lock is not sampled".into(),
            record_with: "fathom record --pid 4242 --wall 10ms".into(),
        }],
        ..cause("lock_contention", Verdict::Possible, 0.4446)
    };
    let mut answer = one_cause();
    answer.slow = (0..5).map(|i| interval(10 * i, 10 * i + 4, "stopped", "stopped for 1.2 s in all")).collect();
    let attributed = CauseVerdict {
        says: "already attributed to other causes: 0.6 threads wait for a CPU on average".into(),
        ..cause("run_queue_wait", Verdict::Possible, 0.0)
    };
    answer.causes.splice(0..1, [downstream, locks, attributed]);
    answer.requests = vec![port(":8080", 12_340), port(":9090", 1)];
    answer.unexplained = Unexplained {
        share: 0.0004,
        says: "too little to look at".into(),
        stacks: vec![],
        drill_down: DrillDown::default(),
    };
    answer
}

/// Slow, and none of the sources tells why.
pub(crate) fn all_not_enough() -> Explanation {
    let ids = [
        "code_cache_churn",
        "code_cache_full",
        "nmethod_barrier_storm",
        "icache_flush_storm",
        "lazy_symbol_binding",
        "file_pages_evicted",
        "read_then_write_faults",
        "chatty_socket_reads",
        "block_queue_wait",
    ];
    let mut causes: Vec<CauseVerdict> = ids.map(not_enough).into();
    let mut no_jfr = not_enough("lock_contention");
    no_jfr.missing = vec![Missing {
        says: "no monitor events".into(),
        record_with: "jcmd PID JFR.start settings=fathom.jfc".into(),
    }];
    causes.push(no_jfr);
    Explanation {
        recording: RecordingSummary {
            pid: None,
            jvm: String::new(),
            collector: String::new(),
            cpus: None,
            sources: vec!["latency".into()],
            ..healthy().recording
        },
        slow: vec![interval(5, 6, "request_latency", "p99 1.2 s")],
        rhythm: None,
        baseline: Baseline { kind: "none".into(), says: String::new(), duration_ns: 0 },
        figures: vec![],
        causes,
        unexplained: Unexplained {
            share: 1.0,
            says: "only latencies were given".into(),
            stacks: vec![],
            drill_down: DrillDown::default(),
        },
        ..healthy()
    }
}

/// Much is missing.
pub(crate) fn losses() -> Explanation {
    let notes = (1..=7).map(|n| LossNote {
        source: "jfr".into(),
        kind: "truncated".into(),
        says: format!("a{n}.jfr ends in the middle of an event: the last {n},000 bytes were not read"),
    });
    Explanation { losses: notes.collect(), ..healthy() }
}

/// What every recording of the kernel loses.
pub(crate) fn details() -> Explanation {
    let notes = [
        ("scheduler", "ticks_missed", "6 of 420 looks each 100 ms were missed because the CPU was taken"),
        ("system_calls", "stacks_cut", "13 of 21 user stacks may lack callers: compiled code keeps no frame pointer"),
        ("system_calls", "names_missing", "16 of 123 user addresses have no name: compiled code"),
    ];
    let note = |(source, kind, says): (&str, &str, &str)| LossNote {
        source: source.into(),
        kind: kind.into(),
        says: says.into(),
    };
    Explanation { losses: notes.map(note).to_vec(), ..healthy() }
}

/// Names chosen by somebody who wants to harm whoever reads the report.
pub(crate) fn hostile() -> Explanation {
    let evil = "\x1b]0;owned\x07\x1b[2J\u{202e}txt.exe\r\nslow nothing";
    let long = format!("com.acme.{}.run", "Very".repeat(300));
    let mut answer = one_cause();
    answer.recording.title = format!("{evil}{long}");
    answer.recording.jvm = evil.into();
    answer.recording.sources = vec![evil.into()];
    answer.slow[0].says = evil.into();
    answer.figures[0].says = long.clone();
    answer.figures[1].unit = evil.into();
    answer.causes[0].id = evil.into();
    answer.causes[0].says = format!("threads queue for {long} and {evil}");
    answer.causes[0].evidence[0].says = long.clone();
    answer.causes[0].evidence[1].value = f64::NAN;
    answer.causes[0].actions = vec![evil.into()];
    answer.causes[1].evidence[0].says = long.clone();
    answer.unexplained.stacks[0].stack = format!("{long};{evil};{}", "x;".repeat(1000));
    answer.losses = vec![LossNote { source: evil.into(), kind: evil.into(), says: long }];
    answer
}

/// An explanation in which every list has something and every option is there.
pub(crate) fn complete() -> Explanation {
    let mut answer = two_causes();
    answer.losses = losses().losses;
    answer.unexplained = one_cause().unexplained;
    answer.headline.but = vec!["the recorder was killed: what it had not written is missing".into()];
    answer.changed = vec![Change {
        says: "waiting for files".into(),
        at_ns: START_NS,
        before: 0.1,
        after: 2.4,
        unit: "threads".into(),
        stack: "a.B.c".into(),
        chance: 0.0001,
    }];
    answer.slow[0].causes = vec![IntervalCause { id: "code_cache_churn".into(), verdict: Verdict::Shown, share: 0.7 }];
    answer.slow[0].worst = "281 ms at second 4.1 on handler-1: waiting for files".into();
    answer.causes[0].evidence[0].stack = "a.B.c;d.E.f".into();
    answer.causes[0].missing = answer.causes[1].missing.clone();
    answer
}

fn port(port: &str, count: u64) -> PortSummary {
    let (p50_ns, p99_ns, longest_ns, lost_ns) = (1.2e6, 48e6, 312e6, 17e9);
    let slow = SlowRequests {
        count: count / 100,
        total_ns: 20e9,
        unread_ns: 12e9,
        unread_while: "waiting for locks (71 %)".into(),
        queued_ns: 0.0,
        calls_ns: 3e9,
        service_ns: 5e9,
        unsent_ns: 0.0,
        unknown_ns: 0.0,
    };
    PortSummary {
        port: port.into(),
        count,
        unanswered_count: 0,
        streams_count: 0,
        overlapping_count: 0,
        several_from_ns: None,
        data: None,
        failed: PortFailures::default(),
        p50_ns,
        usual_ns: p50_ns,
        p99_ns,
        longest_ns,
        lost_ns,
        uncertain_ns: 0.0,
        slow,
    }
}

fn cause(id: &str, verdict: Verdict, share: f64) -> CauseVerdict {
    CauseVerdict { verdict, share, ..CauseVerdict::nothing(id) }
}

fn ruled_out(id: &str, measured: &str, ratio: f64) -> CauseVerdict {
    let during = Some(During { from_ns: START_NS + 20 * SECOND_NS, to_ns: START_NS + 50 * SECOND_NS });
    let evidence = vec![figure(measured, ratio, None, "ratio")];
    CauseVerdict { during, evidence, ..cause(id, Verdict::RuledOut, 0.0) }
}

fn not_enough(id: &str) -> CauseVerdict {
    let missing = Missing { says: "needs kernel events".into(), record_with: "sudo fathom record --pid 4242".into() };
    CauseVerdict { missing: vec![missing], ..cause(id, Verdict::NotEnough, 0.0) }
}

fn figure(says: &str, value: f64, baseline: Option<f64>, unit: &str) -> Evidence {
    Evidence { says: says.into(), value, baseline, unit: unit.into(), table: "counters".into(), ..Evidence::default() }
}

fn interval(from_s: i64, to_s: i64, signal: &str, says: &str) -> SlowInterval {
    SlowInterval {
        from_ns: START_NS + from_s * SECOND_NS,
        to_ns: START_NS + to_s * SECOND_NS,
        signal: signal.into(),
        says: says.into(),
        ..SlowInterval::default()
    }
}
