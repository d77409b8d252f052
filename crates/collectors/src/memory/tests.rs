//! Memory of this very process, whose own counts are known.

use std::fs;

use super::*;

fn last(found: &Recording, name: &str, instance: &str) -> Option<f64> {
    let (name, instance) = (found.strings.find(name)?, found.strings.find(instance)?);
    let row = found.counters.rows().rfind(|row| row.name == name && row.instance == instance)?;
    Some(row.value)
}

#[test]
fn what_this_process_does_is_seen() {
    let target = Target::of(std::process::id()).unwrap();
    let mut found = Recording::default();
    let mut watch = Memory.start(&target, &crate::recorder::Plan::new(PathBuf::from("none")).order).unwrap();
    watch.look(&mut found);
    let faults = last(&found, counter::VMSTAT_COUNT, "pgfault").unwrap();
    let pages = std::hint::black_box(vec![1_u8; 64 << 20]);
    watch.finish(&mut found);
    let more = last(&found, counter::VMSTAT_COUNT, "pgfault").unwrap() - faults;
    // With huge pages there are as few as one fault for 2 MiB.
    assert!(more >= (pages.len() >> 21) as f64, "{more} faults");
    let memory_bytes = last(&found, counter::MEMINFO_BYTES, "MemTotal").unwrap();
    for name in ["MemFree", "MemAvailable"] {
        let bytes = last(&found, counter::MEMINFO_BYTES, name).unwrap();
        assert!(bytes > 0.0 && bytes < memory_bytes, "{name}");
    }
    let resident = last(&found, counter::RESIDENT_BYTES, "").unwrap();
    assert!(resident > 0.0 && resident < memory_bytes);
    if fs::exists("/proc/self/smaps_rollup").unwrap() {
        let shared_out = last(&found, counter::PROCESS_MEMORY_BYTES, "proportional").unwrap();
        assert!(shared_out > 0.0, "{shared_out}");
    }
}
