//! What tests of several collectors share: this process as the target, and a disk that is slow to a known degree.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use fathom_evidence::Recording;

use crate::recorder::Plan;
use crate::{Collector, Target};

/// Whether the kernel lets this test load programs; says so loudly if not.
pub(crate) fn can_load(test: &str) -> bool {
    match super::rights::look() {
        Ok(()) => true,
        Err(refusal) => {
            eprintln!("SKIPPED: {test}: {}", refusal.why);
            false
        }
    }
}

/// What a collector sees of this process while `work` runs.
pub(crate) fn observed(collector: &dyn Collector, work: impl FnOnce()) -> Recording {
    let target = Target::of(std::process::id()).unwrap();
    let order = Plan::new("/nowhere".into()).order;
    let mut observer = collector.start(&target, &order).unwrap_or_else(|refusal| panic!("{}", refusal.why));
    work();
    let mut found = Recording::default();
    observer.look(&mut found);
    observer.finish(&mut found);
    found
}

/// The thread that runs the test.
pub(crate) fn this_thread() -> i64 {
    i64::from(rustix::thread::gettid().as_raw_nonzero().get())
}

/// The highest value of a counter of this thread; 0 when there is none.
pub(crate) fn counted(found: &Recording, name: &str, instance: &str) -> f64 {
    counted_of(found, this_thread(), name, instance)
}

/// The highest value of a counter of a thread; 0 when there is none.
pub(crate) fn counted_of(found: &Recording, tid: i64, name: &str, instance: &str) -> f64 {
    let rows = found
        .counters
        .rows()
        .filter(|row| found.text(row.name) == name && found.text(row.instance) == instance && row.tid == tid);
    rows.map(|row| row.value).fold(0.0, f64::max)
}

/// A server of a file on a disk that takes `delay_ms` for each read; ends when dropped.
pub(crate) struct SlowDisk {
    server: Child,
    folder: tempfile::TempDir,
}

impl SlowDisk {
    /// Begins to serve; `None` where the tools for it are missing.
    pub(crate) fn start(delay_ms: u32) -> Option<SlowDisk> {
        let has = |name: &str| ["/usr/bin", "/usr/sbin"].iter().any(|folder| Path::new(folder).join(name).exists());
        if !has("nbdkit") || !has("nbdfuse") || !Path::new("/dev/fuse").exists() {
            eprintln!("SKIPPED: a slow disk needs nbdkit, nbdfuse and /dev/fuse");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let delay = format!("delay-read={delay_ms}ms");
        let file = folder.path().join("disk");
        File::create(&file).unwrap();
        let server = Command::new("nbdfuse")
            .arg(&file)
            .args(["--command", "nbdkit", "-s", "--exit-with-parent", "--filter=delay", "memory", "1M", &delay])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let disk = SlowDisk { server, folder };
        let until = Instant::now() + Duration::from_secs(20);
        while disk.open().metadata().unwrap().len() == 0 {
            assert!(Instant::now() < until, "nbdfuse did not serve its file within 20 s");
            thread::sleep(Duration::from_millis(20));
        }
        Some(disk)
    }

    /// Where the file is.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    /// Opens the file anew.
    pub(crate) fn open(&self) -> File {
        File::open(self.path()).unwrap()
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
