//! The list of JVMs, with real ones in it.

use std::time::Duration;

use fathom_collectors::attach::{Attach, PATIENCE};
use fathom_collectors::jvms::{self, jvms};
use regex::Regex;

use crate::jvm::{Jvm, NOBODY, is_root, java, javas, own_uid};

/// The JVM in the list.
pub(crate) fn listed(jvm: &Jvm) -> jvms::Jvm {
    let mark = Regex::new(&regex::escape(jvm.mark())).unwrap();
    let mut found: Vec<_> = jvms().into_iter().filter(|other| other.matches(&mark)).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn what_is_known_of_a_jvm() {
    for (major, option, collector) in [
        (17, "-XX:+UseSerialGC", "Serial"),
        (17, "-XX:+UseParallelGC", "Parallel"),
        (17, "-XX:+UseG1GC", "G1"),
        (25, "-XX:+UseZGC", "ZGC"),
        (25, "-XX:+UseShenandoahGC", "Shenandoah"),
    ] {
        let Some(java) = java(major) else { continue };
        for counters in ["-XX:-PerfDisableSharedMem", "-XX:+PerfDisableSharedMem"] {
            let jvm = Jvm::start(&java, own_uid(), &[option, counters]);
            let found = listed(&jvm);
            assert_eq!(found.target, jvm.target());
            assert_eq!((found.main.as_str(), found.collector.as_str()), ("Program", collector), "{counters}");
            assert!(found.version.starts_with(&format!("{major}.")), "{}", found.version);
            assert!(found.uptime_ns > 0 && found.uptime_ns < 120_000_000_000, "{}", found.uptime_ns);
            assert_eq!(found.container, None);
            if counters.starts_with("-XX:-") {
                assert!(found.heap_max_bytes.is_some_and(|max| (48 << 20..=64 << 20).contains(&max)), "{found:?}");
                assert!(found.heap_used_bytes <= found.heap_max_bytes, "{found:?}");
            }
        }
    }
}

#[test]
fn jvms_of_others_and_in_containers() {
    let Some(java) = javas().pop().filter(|_| is_root()) else { return };
    assert_eq!(listed(&Jvm::start(&java, NOBODY, &[])).user, "nobody");
    let inside = Jvm::start_inside(&java);
    let found = listed(&inside);
    assert_eq!(found.container.as_deref(), Some("own namespace"));
    assert_eq!(found.target.inner_pid, 1);
    let attach = Attach::to(&found.target, PATIENCE).unwrap();
    assert!(attach.diagnose("VM.uptime", PATIENCE).unwrap().contains(" s"));
    let recording = crate::recorded::record("hsperfdata", &found.target, Duration::from_millis(300));
    assert!(!recording.counters.time_ns.is_empty());
    drop(inside);
}
