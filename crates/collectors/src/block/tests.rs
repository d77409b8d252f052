//! Reads of this process from a loop device whose disk is slow to a known degree.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use fathom_evidence::detail::from_text;

use super::*;
use crate::bpf::tests::{SlowDisk, can_load, observed};

/// A block device over a file; taken away when dropped.
struct Loop {
    device: PathBuf,
}

impl Loop {
    fn over(file: &Path) -> Option<Loop> {
        let made = Command::new("losetup").args(["--find", "--show", "--direct-io=on"]).arg(file).output().ok()?;
        let device = PathBuf::from(String::from_utf8_lossy(&made.stdout).trim());
        if !made.status.success() {
            eprintln!("SKIPPED: no loop device: {}", String::from_utf8_lossy(&made.stderr).trim());
            return None;
        }
        Some(Loop { device })
    }

    fn name(&self) -> String {
        self.device.file_name().unwrap().to_string_lossy().into_owned()
    }

    /// Around the page cache.
    fn open(&self) -> File {
        OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(&self.device).unwrap()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
    }
}

/// Memory that is aligned for direct reads.
#[repr(align(4096))]
struct Page([u8; 4096]);

#[test]
fn requests_are_told_with_their_stages() {
    if !can_load("requests_are_told_with_their_stages") {
        return;
    }
    let Some(disk) = SlowDisk::start(40) else { return };
    let Some(device) = Loop::over(&disk.path()) else { return };
    let file = device.open();
    let mut took_ns = Vec::new();
    let seen = observed(&COLLECTOR, || {
        for block in 0..5 {
            let mut page = Page([0; 4096]);
            let began = Instant::now();
            file.read_exact_at(&mut page.0, block * 65_536).unwrap();
            took_ns.push(began.elapsed().as_nanos() as i64);
        }
    });
    let name = device.name();
    let found = &seen.found;
    let spans = seen.spans(span::BLOCK_REQUEST, Duration::from_millis(1));
    assert!(spans.iter().all(|span| found.text(span.name) == name), "{spans:?}");
    assert_eq!(spans.len(), 5, "{spans:?}");
    for (index, (span, took_ns)) in spans.iter().zip(took_ns).enumerate() {
        let detail: BlockRequest = from_text(found.text(span.detail));
        assert!(span.duration_ns <= took_ns, "{} ns told, {took_ns} ns taken", span.duration_ns);
        assert_eq!(detail.operation.as_deref(), Some("read sync"));
        assert_eq!((detail.bytes, detail.sector), (Some(4096), Some(index as u64 * 128)));
        assert_eq!((detail.dispatches, detail.error), (Some(1), Some(0)));
        let stages = [detail.q2g_ns, detail.g2i_ns, detail.i2d_ns, detail.g2d_ns, detail.d2c_ns];
        let sum: i64 = stages.iter().flatten().sum();
        assert_eq!(sum, span.duration_ns, "the stages are all of it: {detail:?}");
        assert!(detail.d2c_ns >= Some(40_000_000), "{detail:?}");
        assert_eq!(detail.g2d_ns.is_some(), detail.i2d_ns.is_none(), "{detail:?}");
    }
    let instance = format!("{name} read");
    let counts = |counter: &str| {
        let rows =
            found.counters.rows().filter(|row| found.text(row.name) == counter && found.text(row.instance) == instance);
        rows.map(|row| row.value).fold(0.0, f64::max)
    };
    assert_eq!(counts(counter::BLOCK_REQUESTS_COUNT), 5.0);
    assert_eq!(counts(counter::BLOCK_REQUESTS_BYTES), 5.0 * 4096.0);
}
