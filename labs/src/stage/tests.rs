//! Stages that are really prepared, which needs root and the tools of a slow disk.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use super::*;
use crate::declaration::{Content, SlowDisk};

const DELAY_MS: u32 = 40;

fn can_prepare(test: &str) -> bool {
    let has = |name: &str| needs::program(name).is_some();
    let can = rustix::process::geteuid().is_root()
        && ["nbdkit", "nbdfuse", "losetup", "mkfs.ext4"].into_iter().all(has)
        && std::path::Path::new("/dev/fuse").exists();
    if !can {
        eprintln!("SKIPPED: {test}: a stage needs root, nbdkit, nbdfuse, losetup, mkfs.ext4 and /dev/fuse");
    }
    can
}

fn disk(scheduler: Option<&str>) -> SlowDisk {
    SlowDisk {
        size_mb: 16,
        swap: false,
        read_delay_ms: DELAY_MS,
        write_delay_ms: 0,
        rates_kib_per_s: BTreeMap::from([("after".to_owned(), 16)]),
        files: BTreeMap::from([("data".to_owned(), Content::NoiseMb(1)), ("folder".to_owned(), Content::Folder {})]),
        scheduler: scheduler.map(str::to_owned),
        nr_requests: None,
        read_ahead_kb: Some(0),
    }
}

/// What is on the machine of stages in `folder`: mounts and loop devices.
fn traces(folder: &std::path::Path) -> Vec<String> {
    let is_ours = |line: &&str| line.contains(&*folder.to_string_lossy());
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let loops = tool("losetup", &["--list".as_ref()]).unwrap();
    mounts.lines().chain(loops.lines()).filter(is_ours).map(str::to_owned).collect()
}

fn read_took(folder: &Places, block: u64) -> Duration {
    let file = fs::File::open(folder.disk().join("data")).unwrap();
    let began = Instant::now();
    let mut bytes = [0; 4096];
    file.read_exact_at(&mut bytes, block * 4096).unwrap();
    assert!(bytes.iter().any(|byte| *byte != 0));
    began.elapsed()
}

#[test]
fn a_stage_is_slow_as_told_and_undone() {
    if !can_prepare("a_stage_is_slow_as_told_and_undone") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let places = Places::in_folder(scratch.path());
    let wanted = declaration::Stage {
        slow_disk: Some(disk(Some("mq-deadline"))),
        memory_limit_mb: Some(64),
        memory_left_mb: BTreeMap::from([("after".to_owned(), 8)]),
        cpu_limit: Some(0.5),
        disk_reads_per_s: BTreeMap::from([("after".to_owned(), 20)]),
        perf_data_on_disk: false,
    };
    let stage = Stage::prepare(&wanted, &places, &AtomicBool::new(false)).unwrap();
    assert!(places.disk().join("folder").is_dir());
    assert!(read_took(&places, 100) >= Duration::from_millis(DELAY_MS.into()));
    stage.phase_begins("before").unwrap();
    stage.phase_begins("after").unwrap();
    // 4 KiB at 16 KiB/s.
    let _ = read_took(&places, 101);
    assert!(read_took(&places, 102) >= Duration::from_millis(200));
    let entry = stage.entry();
    let mut child = Command::new("sleep");
    child.arg("60").stdin(Stdio::null());
    entry.prepare(&mut child).unwrap();
    let mut child = child.spawn().unwrap();
    for group in &entry.groups {
        assert_eq!(fs::read_to_string(group).unwrap().trim(), child.id().to_string());
    }
    child.kill().unwrap();
    child.wait().unwrap();
    drop(stage);
    assert_eq!(traces(scratch.path()), Vec::<String>::new());
    assert!(entry.groups.iter().all(|group| !group.exists()));
}

#[test]
fn a_stage_that_fails_halfway_is_undone() {
    if !can_prepare("a_stage_that_fails_halfway_is_undone") {
        return;
    }
    for (scheduler, stopped, expected) in [(Some("crystal_ball"), false, "scheduler"), (None, true, "stopped before")] {
        let scratch = tempfile::tempdir().unwrap();
        let wanted = declaration::Stage { slow_disk: Some(disk(scheduler)), ..Default::default() };
        let prepared = Stage::prepare(&wanted, &Places::in_folder(scratch.path()), &AtomicBool::new(stopped));
        let error = prepared.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(expected), "{error:?} for {scheduler:?}");
        assert_eq!(traces(scratch.path()), Vec::<String>::new());
    }
}
