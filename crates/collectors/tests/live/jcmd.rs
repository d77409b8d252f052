//! Diagnostic commands of real JVMs.

use std::time::Duration;

use fathom_evidence::kinds::{counter, subject};

use crate::jvm::{Jvm, javas, own_uid};
use crate::recorded::record;

#[test]
fn flags_properties_and_the_code_cache() {
    for java in javas() {
        for (segmented, segments) in [("-XX:+SegmentedCodeCache", 3), ("-XX:-SegmentedCodeCache", 1)] {
            let jvm = Jvm::start(&java, own_uid(), &[segmented, "-Ddb.password=hunter2", "-Dmine=a=b"]);
            let recording = record("jcmd", &jvm.target(), Duration::from_millis(1_200));
            assert_eq!(recording.fact(subject::FLAG, "MaxHeapSize"), Some("67108864"));
            assert_eq!(recording.fact(subject::FLAG_ORIGIN, "MaxHeapSize"), Some("Command line"));
            assert_eq!(recording.fact(subject::PROPERTY, "db.password"), Some("[masked]"));
            assert_eq!(recording.fact(subject::PROPERTY, "mine"), Some("[masked]"), "nobody knows what it is");
            let of = |name: &str| {
                recording.counters.rows().filter(|row| recording.text(row.name) == name).collect::<Vec<_>>()
            };
            let used = of(counter::CODE_CACHE_USED_BYTES);
            let mut names: Vec<&str> = used.iter().map(|row| recording.text(row.instance)).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), segments, "{names:?}");
            assert_eq!(names[0].is_empty(), segments == 1);
            assert!(used.iter().all(|row| row.value > 0.0));
            assert_eq!(of(counter::CODE_CACHE_FULL_COUNT)[0].value, 0.0);
        }
    }
}
