//! Flight Recorder of real JVMs.

use std::fs;
use std::process::Command;
use std::time::Duration;

use fathom_collectors::Policy;
use fathom_collectors::attach::Attach;
use fathom_collectors::recorder::End;
use fathom_evidence::Recording;
use fathom_evidence::kinds::{span, subject};
use fathom_readers::LoadOptions;

use crate::jvm::{Jvm, NOBODY, is_root, java, javas, own_uid};
use crate::recorded::{Outcome, answered, during_turns, outcome, outcome_until};

pub(crate) fn pauses(recording: &Recording) -> usize {
    recording.spans.rows().filter(|row| recording.text(row.kind) == span::GC_PAUSE).count()
}

/// Our folders in the JVM's `/tmp` by now.
fn left_in_tmp(jvm: &Jvm) -> Vec<String> {
    let names = fs::read_dir("/tmp").unwrap().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(&format!("fathom-{}-", jvm.pid()))).collect()
}

/// Enough for some collections, of which two are full.
const TURNS: u64 = 40;

/// A JVM with little CPU takes long to load Flight Recorder.
const LONG: Duration = Duration::from_secs(120);

/// Flight Recorder in any case, going on or not.
fn policy(keep_ring: bool) -> Policy {
    Policy { keep_ring, ..Policy::thorough() }
}

#[test]
fn on_request_it_is_started_once_dumped_each_time_and_goes_on() {
    for java in javas() {
        for uid in [own_uid(), NOBODY] {
            if uid != own_uid() && !is_root() {
                continue;
            }
            let jvm = Jvm::start(&java, uid, &["-Ddb.password=hunter2"]);
            let record = |turns| answered(|| during_turns("jfr", &jvm, turns, |plan| plan.order.policy = policy(true)));
            let (first, tries) = record(TURNS);
            let actions = ["attach", "JFR.check", "JFR.start", "JFR.dump"];
            // One that took too long to answer may have started it all the same.
            assert!(own_actions(&first) == actions || tries > 1, "{:?}", first.says());
            let read = first.read();
            assert!(pauses(&read) > 0);
            assert_eq!(read.fact(subject::PROPERTY, "db.password"), None, "our settings leave properties out");
            assert!(first.seen.fact(subject::RECORDING, "left_running").is_some() || tries > 1);

            let (second, _) = record(20);
            assert_eq!(own_actions(&second), ["attach", "JFR.check", "JFR.dump"]);
            assert!(pauses(&second.read()) > pauses(&read), "the time before the second call is there");
            assert_eq!(left_in_tmp(&jvm), [""; 0]);
            let attach = Attach::to(&jvm.target(), LONG).unwrap();
            let running = attach.diagnose("JFR.check", LONG).unwrap();
            assert!(running.contains("name=fathom "), "{running}");
            assert_eq!(jvm.end().lines().filter(|line| line.contains("Full thread dump")).count(), 0);
        }
    }
}

/// What was done, but for the time in which it was felt.
fn own_actions(outcome: &Outcome) -> Vec<&str> {
    outcome.own_actions().into_iter().filter(|name| !name.contains("anew")).collect()
}

#[test]
fn without_a_wish_it_ends_with_the_recording() {
    for java in javas() {
        let jvm = Jvm::start(&java, own_uid(), &[]);
        let (once, _) = answered(|| during_turns("jfr", &jvm, TURNS, |plan| plan.order.policy = policy(false)));
        assert!(pauses(&once.read()) > 0, "{:?}", once.says());
        assert!(once.seen.fact(subject::RECORDING, "left_running").is_none());
        let attach = Attach::to(&jvm.target(), LONG).unwrap();
        let running = attach.diagnose("JFR.check", LONG).unwrap();
        assert!(!running.contains("(running)"), "{running}");
    }
}

#[test]
fn the_services_own_recording_is_taken_and_left_on() {
    for java in javas() {
        let jvm = Jvm::start(&java, own_uid(), &["-Ddb.password=hunter2"]);
        let attach = Attach::to(&jvm.target(), LONG).unwrap();
        attach.diagnose("JFR.start name=other", LONG).unwrap();
        let record = |policy| answered(|| during_turns("jfr", &jvm, TURNS, |plan| plan.order.policy = policy));
        let (taken, _) = record(Policy::default());
        assert_eq!(own_actions(&taken), ["attach", "JFR.check", "JFR.dump"], "{:?}", taken.says());
        let read = taken.read();
        assert!(pauses(&read) > 0);
        assert_eq!(read.fact(subject::PROPERTY, "db.password"), Some("[masked]"));
        let (beside, tries) = record(Policy::thorough());
        assert!(own_actions(&beside).contains(&"JFR.start") || tries > 1, "{:?}", beside.says());
        let running = attach.diagnose("JFR.check", LONG).unwrap();
        assert!(running.contains("name=other") && !running.contains("name=fathom"), "{running}");
    }
}

#[test]
fn where_its_first_start_is_felt_it_is_not_started_unasked() {
    let Some(java) = java(17) else { return };
    let jvm = Jvm::start(&java, own_uid(), &[]);
    let recorded = outcome("jfr", &jvm.target(), |plan| {
        plan.order.policy = Policy::default();
        plan.only.push("hsperfdata".to_owned());
        plan.duration = Some(Duration::from_millis(300));
    });
    let part = recorded.recorded.parts.iter().find(|part| part.name == "jfr").unwrap();
    // A machine with nothing else to do has room for it.
    let Some(refusal) = part.refused.clone() else { return };
    assert!(refusal.why.contains("JDK 17") && refusal.grant.contains("--jfr always"), "{refusal:?}");
    assert_eq!(recorded.own_actions(), [""; 0], "nothing was asked of the JVM");
}

/// Whether pauses have come to where the JVM collects what it records: it writes there once a second, when it has a CPU.
fn has_written(jvm: &Jvm) -> bool {
    let folders = fs::read_dir("/tmp").unwrap().flatten().map(|entry| entry.path());
    let of_jvm = folders.filter(|path| path.to_string_lossy().ends_with(&format!("_{}", jvm.pid())));
    let files = of_jvm.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let mut read = files.filter_map(|file| fathom_readers::load_file(&file.path(), &LoadOptions::default()).ok());
    read.any(|recording| pauses(&recording) > 0)
}

#[test]
fn a_jvm_that_ends_leaves_what_it_recorded() {
    let Some(java) = javas().pop() else { return };
    for signal in ["TERM", "KILL"] {
        let jvm = Jvm::start(&java, own_uid(), &[]);
        let target = jvm.target();
        // Running before: what is tested is the end, not the start.
        let attach = Attach::to(&target, LONG).unwrap();
        attach.diagnose("JFR.start name=fathom", LONG).unwrap();
        let mut is_signalled = false;
        let ended = outcome_until(
            "jfr",
            &target,
            |_| {},
            || {
                if !is_signalled && has_written(&jvm) {
                    jvm.signal(signal);
                    is_signalled = true;
                }
                false
            },
        );
        assert_eq!(ended.recorded.end, End::TargetEnded, "{signal}");
        assert!(ended.says().iter().any(|says| says.contains("its own files were taken")), "{:?}", ended.says());
        assert!(pauses(&ended.read()) > 0, "{signal}");
    }
}

#[test]
fn a_runtime_without_it_is_refused_with_the_reason() {
    let Some(java) = java(25) else { return };
    let place = tempfile::tempdir_in("/var/tmp").unwrap();
    let runtime = place.path().join("runtime");
    let mut jlink = Command::new(java.with_file_name("jlink"));
    jlink.args(["--add-modules", "java.base", "--output"]).arg(&runtime);
    if !jlink.output().is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: this JDK cannot make a runtime with jlink");
        return;
    }
    let jvm = Jvm::start(&runtime.join("bin/java"), own_uid(), &[]);
    let both = || {
        outcome("jfr", &jvm.target(), |plan| {
            plan.only.push("hsperfdata".to_owned());
            plan.duration = Some(Duration::from_secs(1));
        })
    };
    let recorded = answered(both).0.recorded;
    let refused = recorded.parts.iter().find(|part| part.name == "jfr").unwrap().refused.clone().unwrap();
    assert!(refused.why.contains("jdk.jfr"), "{refused:?}");
}
