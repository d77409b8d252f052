//! Compares recordings of one program that differ in one thing each.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;

use crate::jvm::Jvm;
use crate::{fathom, json, record};

/// More of the machine's CPUs than this are used by other tests: then a busy run is none.
const QUIET_BELOW: f64 = 0.5;

/// The program `java` of an installed JDK.
fn java_of(major: &str) -> Option<PathBuf> {
    let version = format!("JAVA_VERSION=\"{major}");
    let is_that =
        |home: &PathBuf| std::fs::read_to_string(home.join("release")).is_ok_and(|text| text.contains(&version));
    let homes = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten().map(|entry| entry.path());
    homes.filter(|home| home.join("bin/javac").exists()).find(is_that).map(|home| home.join("bin/java"))
}

/// Records one JVM for two seconds.
fn recorded(place: &Path, name: &str, java: &Path, options: &[&str]) -> Option<()> {
    let jvm = Jvm::of(java, options, &[])?;
    let path = place.join(name);
    std::fs::create_dir_all(path.parent()?).unwrap();
    json(&record(&jvm, &path, &["--for", "2s"]).output().unwrap());
    Some(())
}

fn compared(place: &Path, a: &str, b: &str) -> Value {
    json(&fathom().current_dir(place).args(["compare", a, "--with", b, "--json"]).output().unwrap())
}

fn given(compared: &Value) -> Vec<&str> {
    compared["facts"]["given"].as_array().unwrap().iter().map(|fact| fact["fact"].as_str().unwrap()).collect()
}

#[test]
fn two_jdks_and_one_flag_are_all_that_differs() {
    let (Some(java_17), Some(java_25)) = (java_of("17"), java_of("25")) else {
        return eprintln!("SKIPPED: JDK 17 and 25 are not both installed");
    };
    let place = tempfile::tempdir().unwrap();
    for (name, java, options) in [
        ("17.fathom", &java_17, &[][..]),
        ("again.fathom", &java_17, &[]),
        ("flag.fathom", &java_17, &["-XX:MaxInlineSize=30"]),
        ("25.fathom", &java_25, &[]),
    ] {
        recorded(place.path(), name, java, options).unwrap();
    }
    for (other, expected) in
        [("again.fathom", &[][..]), ("flag.fathom", &["flag MaxInlineSize"]), ("25.fathom", &["jdk"])]
    {
        let compared = compared(place.path(), "17.fathom", other);
        assert_eq!(given(&compared), expected, "{other}: {:#}", compared["facts"]);
    }
}

#[test]
fn a_run_with_both_cpus_taken_is_not_compared() {
    let place = tempfile::tempdir().unwrap();
    for name in ["a/1.fathom", "b/1.fathom", "b/2.fathom"] {
        let Some(()) = recorded(place.path(), name, Path::new("java"), &[]) else { return };
    }
    with_all_cpus_taken(|| recorded(place.path(), "a/2.fathom", Path::new("java"), &[]).unwrap());
    let compared = compared(place.path(), "a", "b");
    let others = |side: &str| -> Vec<f64> {
        compared[side]["runs"].as_array().unwrap().iter().filter_map(|run| run["others_cpu"].as_f64()).collect()
    };
    let quiet = others("b");
    if quiet.len() != 2 || quiet.iter().any(|cpu| *cpu > QUIET_BELOW) {
        return eprintln!("SKIPPED: other programs use the CPUs: {quiet:?}");
    }
    let verdict = &compared["verdict"];
    assert_eq!(verdict["kind"], "not_comparable", "{verdict:#}");
    let says = verdict["says"].as_str().unwrap();
    assert!(says.contains("other processes used the machine's CPUs") && says.contains("2.fathom ("), "{says}");
}

/// Two threads for each CPU that do nothing but run, until the work is over or has failed.
fn with_all_cpus_taken(work: impl FnOnce()) {
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let is_over = AtomicBool::new(false);
    let count = thread::available_parallelism().map_or(2, usize::from) * 2;
    thread::scope(|scope| {
        let _over = Over(&is_over);
        for _ in 0..count {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        work();
    });
}
