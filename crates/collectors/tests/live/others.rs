//! JVMs of other releases, and such as have a root of their own with another libc, as far as `.ci/jdks` has put them here.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use fathom_collectors::recorder::End;
use fathom_evidence::Recording;
use fathom_evidence::kinds::{counter, event, subject};

use crate::hsperfdata::collector;
use crate::jfr::pauses;
use crate::jvm::{Jvm, is_root, own_uid};
use crate::jvms::listed;
use crate::recorded::{Outcome, answered, during_turns, outcome_until, record};

/// A runtime, and how it is called: `11`, or `8-root` when it has a root of its own.
struct Other {
    name: String,
    java: PathBuf,
}

impl Other {
    fn start(&self, options: &[&str]) -> Jvm {
        Jvm::start(&self.java, own_uid(), options)
    }

    fn major(&self) -> u32 {
        self.name.trim_end_matches("-root").parse().unwrap()
    }
}

/// All that are here; if none is installed, none, and a line that says that the test is skipped.
fn others() -> Vec<Other> {
    let cache = |home: PathBuf| home.join(".cache/fathom-bench/jdks");
    let folder = env::var_os("FATHOM_JDKS").map(PathBuf::from).or_else(|| env::home_dir().map(cache));
    let homes = folder.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let homes = homes.filter(|home| home.path().join("release").is_file());
    let all = homes.map(|home| Other {
        name: home.file_name().to_string_lossy().into_owned(),
        java: home.path().join("bin/java"),
    });
    let all: Vec<Other> = all.filter(|other| !other.name.ends_with("-root") || is_root()).collect();
    if all.is_empty() {
        println!("SKIPPED: no other JDKs are here: .ci/jdks installs some");
    }
    all
}

fn has_counter(recording: &Recording, name: &str) -> bool {
    recording.counters.rows().any(|row| recording.text(row.name) == name)
}

#[test]
fn they_are_known_and_tell_their_counters_and_flags() {
    for other in others() {
        let jvm = other.start(&["-XX:+UseSerialGC"]);
        let found = listed(&jvm);
        let version = if other.major() == 8 { "1.8.".to_owned() } else { format!("{}.", other.major()) };
        assert!(found.version.starts_with(&version), "{}: {found:?}", other.name);
        assert_eq!((found.collector.as_str(), found.main.as_str()), ("Serial", "Program"), "{}", other.name);
        assert_eq!(found.container.is_some(), other.name.ends_with("-root"), "{}", other.name);
        let counters = record("hsperfdata", &jvm.target(), Duration::from_millis(300));
        assert!(has_counter(&counters, counter::GC_RUNS_COUNT), "{}", other.name);
        let told = record("jcmd", &jvm.target(), Duration::from_millis(1_200));
        assert_eq!(told.fact(subject::FLAG, "MaxHeapSize"), Some("67108864"), "{}", other.name);
        // JDK 8 does not know the command, and is asked once.
        assert_eq!(has_counter(&told, counter::CODE_CACHE_USED_BYTES), other.major() > 8, "{}", other.name);
        let losses: Vec<&str> = told.losses.rows().map(|row| told.text(row.says)).collect();
        assert_eq!(losses.len(), usize::from(other.major() == 8), "{}: {losses:?}", other.name);
    }
}

#[test]
fn one_that_shares_no_counters_is_known_by_its_files() {
    for other in others() {
        let found = listed(&other.start(&["-XX:-UsePerfData"]));
        // The packages of JDK 8 have no file that says so.
        let is_said = other.major() > 8;
        let is_known = found.version.starts_with(&format!("{}.", other.major()));
        assert_eq!(is_known, is_said, "{}: {found:?}", other.name);
    }
}

/// What Flight Recorder has of one that gets a signal while it is at work.
fn recorded_until_ended(jvm: &Jvm, signal: &str) -> Outcome {
    let mut first = None;
    let has_ended = || {
        if jvm.turns() >= *first.get_or_insert_with(|| jvm.turns()) + 100 {
            jvm.signal(signal);
        }
        false
    };
    outcome_until("jfr", &jvm.target(), |_| {}, has_ended)
}

#[test]
fn flight_recorder_is_there_while_they_live_and_when_they_end() {
    for other in others() {
        let jvm = other.start(&[]);
        let (alive, _) = answered(|| during_turns("jfr", &jvm, 40, |_| {}));
        assert!(pauses(&alive.read()) > 0, "{}: {:?}", other.name, alive.says());
        let ended = recorded_until_ended(&jvm, "TERM");
        assert_eq!(ended.recorded.end, End::TargetEnded, "{}", other.name);
        assert!(pauses(&ended.read()) > 0, "{}: {:?}", other.name, ended.says());
    }
}

#[test]
fn one_that_is_killed_leaves_nothing_or_what_it_wrote_and_it_is_said() {
    for other in others() {
        let jvm = other.start(&[]);
        let ended = recorded_until_ended(&jvm, "KILL");
        let expected = if other.major() < 14 { "JDK 14" } else { "its own files were taken" };
        assert!(ended.says().iter().any(|says| says.contains(expected)), "{}: {:?}", other.name, ended.says());
        assert_eq!(ended.files().is_empty(), other.major() < 14, "{}", other.name);
    }
}

#[test]
fn the_profiler_is_loaded_once_and_used_again() {
    for other in others() {
        let jvm = other.start(&[]);
        if collector("async_profiler").check(&jvm.target()).is_err_and(|refusal| refusal.why.contains("built without"))
        {
            println!("SKIPPED: built without async-profiler");
            return;
        }
        for turn in 0..2 {
            let profiled = during_turns("async_profiler", &jvm, 200, |plan| plan.only.push("hsperfdata".to_owned()));
            let read = profiled.read();
            let samples = read.samples.rows().filter(|row| read.text(row.event) == event::WALL).count();
            assert!(samples > 10, "{} {turn}: {:?}", other.name, profiled.says());
        }
    }
}

#[test]
fn the_log_is_found_by_its_whole_name() {
    for other in others() {
        let place = tempfile::tempdir_in("/var/tmp").unwrap();
        // In a root of its own the same name means another file.
        let file = match other.name.ends_with("-root") {
            true => "/tmp/gc.log".to_owned(),
            false => place.path().join("gc.log").to_string_lossy().into_owned(),
        };
        let jvm = match other.major() {
            8 => other.start(&[&format!("-Xloggc:{file}"), "-XX:+PrintGCDetails", "-XX:+PrintGCDateStamps"]),
            _ => other.start(&[&format!("-Xlog:gc*:file={file}:time,uptime,level,tags")]),
        };
        let taken = during_turns("gc_log", &jvm, 100, |_| {});
        assert!(pauses(&taken.read()) > 0, "{}: {:?}", other.name, taken.says());
    }
}

#[test]
fn without_probes_in_libjvm_it_is_said() {
    for other in others().into_iter().filter(|_| is_root()) {
        let jvm = other.start(&[]);
        let refused = collector("jvm_probes").check(&jvm.target()).err();
        match other.major() {
            8 => assert!(refused.is_some_and(|refusal| refusal.why.contains("without probes")), "{}", other.name),
            _ => assert_eq!(refused, None, "{}", other.name),
        }
    }
}
