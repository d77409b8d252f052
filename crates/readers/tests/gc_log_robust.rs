//! Damaged logs: for any bytes, reading ends, does not panic, and keeps what is complete.

// Helpers of tests are tests.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use fathom_evidence::Recording;
use fathom_readers::{LoadOptions, Reader, readers};
use proptest::prelude::*;

fn reader(name: &str) -> &'static dyn Reader {
    *readers().iter().find(|reader| reader.name() == name).unwrap()
}

/// Reads `bytes` as a log and as latencies; returns the log.
fn read(bytes: &[u8]) -> Recording {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    let files = [file.path().to_owned()];
    for reader in readers() {
        reader.sniff(bytes, file.path());
    }
    // A file without requests is an error of one line; anything else is a recording.
    if let Err(error) = reader("latency").load(&files, &LoadOptions::default()) {
        assert!(!error.to_string().contains('\n'), "{error}");
    }
    let recording = reader("gc_log").load(&files, &LoadOptions::default()).unwrap();
    assert!(recording.spans.rows().all(|row| row.duration_ns >= 0));
    recording
}

fn wrapped(log: &[u8], before: &str, behind: &str) -> Vec<u8> {
    let line = |line: &[u8]| [before.as_bytes(), line, behind.as_bytes(), b"\n"].concat();
    log.split(|byte| *byte == b'\n').flat_map(line).collect()
}

/// A log of each kind, cut to a length that keeps the test quick.
fn samples() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/gc_log");
    let names = [
        "jdk8-concmarksweep-all",
        "jdk8-g1-all",
        "jdk8-parallel-safepoints",
        "jdk17-g1-gcstar",
        "jdk25-codecache",
        "jdk21-genzgc-gcstar",
    ];
    let read = |name: &str| fs::read(folder.join(format!("{name}.log"))).unwrap();
    let mut samples: Vec<_> =
        names.iter().map(|name| read(name)).map(|bytes| bytes[..bytes.len().min(12_000)].to_vec()).collect();
    samples.push(wrapped(&samples[0], "{\"log\":\"", "\\n\",\"stream\":\"stdout\"}"));
    samples.push(wrapped(&samples[3], "Nov 20 06:30:00 host java[4711]: ", ""));
    samples
}

proptest! {
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..4_000)) {
        read(&bytes);
    }

    #[test]
    fn any_text_of_the_alphabet_of_logs(text in "[\\[\\]()0-9.,:> \nGCPausef-]{0,400}") {
        read(text.as_bytes());
    }

    #[test]
    fn any_byte_changed(log in 0..8_usize, at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = samples().swap_remove(log);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        read(&bytes);
    }

    #[test]
    fn any_cut(log in 0..8_usize, at in any::<prop::sample::Index>()) {
        let bytes = samples().swap_remove(log);
        let whole = read(&bytes).spans.rows().count();
        prop_assert!(read(&bytes[..at.index(bytes.len())]).spans.rows().count() <= whole + 1);
    }

    #[test]
    fn any_number_replaced(log in 0..8_usize, at in any::<prop::sample::Index>(), number in "[0-9]{1,40}|1e300|-1|nan") {
        let text = String::from_utf8(samples().swap_remove(log)).unwrap();
        let digits: Vec<_> = regex::Regex::new("[0-9]+").unwrap().find_iter(&text).map(|hit| hit.range()).collect();
        let mut changed = text.clone();
        changed.replace_range(digits[at.index(digits.len())].clone(), &number);
        read(changed.as_bytes());
    }
}

#[test]
fn lines_that_no_log_has() {
    let long = vec![b'['; 5 << 20];
    for bytes in [
        &b""[..],
        b"\0\0\0\n\xff\xfe\n",
        b"[[[[[[]]]]]](((((\n[GC (((((\n[Full GC [[[[\n]]]]]]",
        b"18446744073709551615.999: [GC (x) 18446744073709551615T->18446744073709551615T(18446744073709551615T), 9223372036.854775807 secs]\n",
        b"[9223372036854775807ns][gc] GC(18446744073709551615) Pause Full (x) 1M->1M(1M) 9223372036854.775807ms\n",
        b"[0.1s][gc] GC(18446744073709551615) Pause Full (x) 1M->1M(1M) 1.0ms\n[0.2s][gc] GC(0) Pause Full (x) 1M->1M(1M) 1.0ms\n",
        b"[0.1s][gc,heap] GC(1) Eden regions: 18446744073709551615->9(18446744073709551615)\n[0.1s][gc] GC(1) Pause Young (x) 1M->1M(1M) 1.0ms\n",
        &long,
    ] {
        read(bytes);
    }
}
