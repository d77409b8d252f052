//! async-profiler in real JVMs.

use std::fs;

use fathom_collectors::recorder::Plan;
use fathom_collectors::{Policy, Use};
use fathom_evidence::Recording;
use fathom_evidence::kinds::{event, frame, span, subject};
use fathom_readers::LoadOptions;

use crate::hsperfdata::collector;
use crate::jvm::{Jvm, NOBODY, is_root, java, javas, own_uid};
use crate::recorded::{Outcome, during_turns};

/// Whether the library was built in; if not, a line that says that the test is skipped.
fn is_bundled(jvm: &Jvm) -> bool {
    let refusal = collector("async_profiler").check(&jvm.target()).err();
    let is_missing = refusal.is_some_and(|refusal| refusal.why.contains("built without"));
    if is_missing {
        println!("SKIPPED: built without async-profiler");
    }
    !is_missing
}

fn profile(jvm: &Jvm, change: impl FnOnce(&mut Plan)) -> Outcome {
    // Something beside it observes, so that it may be refused without ending the recording.
    during_turns("async_profiler", jvm, 400, |plan| {
        plan.only.push("hsperfdata".to_owned());
        // Tests share the machine: there may be no CPU idle.
        plan.order.policy = Policy::thorough();
        change(plan);
    })
}

fn count(recording: &Recording, wanted: &str) -> usize {
    recording.samples.rows().filter(|row| recording.text(row.event) == wanted).count()
}

fn has_frames(recording: &Recording, kind: &str) -> bool {
    let mut frames = recording.samples.rows().flat_map(|row| recording.stacks.leaf_to_root(row.stack_id));
    frames.any(|found| recording.text(found.kind) == kind)
}

#[test]
fn samples_of_real_jvms() {
    for java in javas() {
        for uid in [own_uid(), NOBODY] {
            if uid != own_uid() && !is_root() {
                continue;
            }
            let jvm = Jvm::start(&java, uid, &[]);
            if !is_bundled(&jvm) {
                return;
            }
            for turn in 0..2 {
                let profiled = profile(&jvm, |_| {});
                let read = profiled.read();
                assert!(count(&read, event::CPU) > 0, "{java:?} {uid} {turn}: {:?}", profiled.says());
                assert!(count(&read, event::WALL) > 20, "{java:?} {uid} {turn}");
                assert!(has_frames(&read, frame::VM), "{java:?}: frames of the JVM");
            }
            let maps = fs::read_to_string(format!("/proc/{}/maps", jvm.pid())).unwrap();
            let mut loaded: Vec<&str> = maps
                .lines()
                .filter(|line| line.contains("libasyncProfiler"))
                .filter_map(|line| line.split('/').nth(2))
                .collect();
            loaded.dedup();
            assert_eq!(loaded.len(), 1, "the second recording used the library of the first: {loaded:?}");
            assert_eq!(jvm.end(), "", "it prints nothing");
        }
    }
}

/// What a reader makes of the profiler's own file, beside Flight Recorder's.
fn read_profile(profiled: &Outcome) -> Recording {
    let part = profiled.recorded.parts.iter().find(|part| part.name == "async_profiler").unwrap();
    assert_eq!(part.files.len(), 1, "{:?}", profiled.says());
    fathom_readers::load_file(&part.files[0], &LoadOptions::default()).unwrap()
}

#[test]
fn locks_are_seen_where_flight_recorder_is_not() {
    for java in javas() {
        let jvm = Jvm::start(&java, own_uid(), &["-Dcontended=true"]);
        if !is_bundled(&jvm) {
            return;
        }
        for (jfr, are_seen) in [(Use::Never, true), (Use::Always, false)] {
            let profiled = profile(&jvm, |plan| {
                plan.only.push("jfr".to_owned());
                plan.order.policy.jfr = jfr;
            });
            let read = read_profile(&profiled);
            let is_known = read.fact(subject::SETTING, "jdk.JavaMonitorEnter#enabled") == Some("true");
            let waits = read.spans.rows().filter(|span| read.text(span.kind) == span::MONITOR_ENTER);
            let is_found = waits.filter(|wait| read.text(wait.name) == "java.lang.Class").count() > 10;
            assert_eq!((is_known, is_found), (are_seen, are_seen), "{java:?} {jfr:?}: {:?}", profiled.says());
        }
    }
}

#[test]
fn where_it_must_not_run_it_does_not() {
    let Some(java) = java(25) else { return };
    for (options, agent, why) in
        [(&[][..], Use::Never, "--agent"), (&["-XX:-EnableDynamicAgentLoading"], Use::Always, "did not load")]
    {
        let jvm = Jvm::start(&java, own_uid(), options);
        if !is_bundled(&jvm) {
            return;
        }
        let profiled = profile(&jvm, |plan| plan.order.policy.agent = agent);
        let refusal =
            profiled.recorded.parts.iter().find(|part| part.name == "async_profiler").unwrap().refused.clone();
        assert!(refusal.as_ref().is_some_and(|refusal| refusal.why.contains(why)), "{refusal:?}");
        let maps = fs::read_to_string(format!("/proc/{}/maps", jvm.pid())).unwrap();
        assert!(!maps.contains("libasyncProfiler"));
    }
}
