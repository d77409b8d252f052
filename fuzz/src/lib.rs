//! What the targets share: a file in memory with the fuzzer's bytes, and what must hold of whatever was loaded.

use std::cell::RefCell;
use std::io::{Seek, Write};
use std::sync::Once;

use fathom_evidence::Recording;
use fathom_readers::{LoadOptions, readers};
use tempfile::NamedTempFile;

static ALONE: Once = Once::new();

thread_local! {
    static FILE: RefCell<NamedTempFile> = RefCell::new(NamedTempFile::new_in("/dev/shm").expect("a file in memory"));
}

/// Loads `bytes` with the readers of `formats`, whether or not they recognise them, with a pattern for lines of latencies.
pub fn load(bytes: &[u8], formats: &[&str], pattern: Option<&str>) {
    ALONE.call_once(work_alone);
    FILE.with_borrow_mut(|file| {
        // Times that nothing else places.
        let clock_offsets = vec![(file.path().to_owned(), 1)];
        let latency_pattern = pattern.map(str::to_owned);
        let options = LoadOptions { latency_pattern, clock_offsets, ..LoadOptions::default() };
        file.as_file().set_len(0).expect("the file can be cut");
        file.rewind().expect("the file can be rewound");
        file.write_all(bytes).expect("the file can be written");
        for reader in readers().iter().filter(|reader| formats.contains(&reader.name())) {
            reader.sniff(bytes, file.path());
            if let Ok(recording) = reader.load(&[file.path().to_owned()], &options) {
                check(&recording);
            }
        }
    });
}

/// What readers share out stays on this thread: handing it over costs more than reading a few hundred bytes.
fn work_alone() {
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .use_current_thread()
        .build_global()
        .expect("nothing was shared out before");
}

fn check(recording: &Recording) {
    follow(recording);
    for counter in recording.counters.rows() {
        assert!(counter.value.is_finite(), "{} is no number", recording.text(counter.name));
    }
    for loss in recording.losses.rows() {
        assert!(!recording.text(loss.says).is_empty(), "a loss that says nothing");
    }
}

/// Every id leads somewhere: this panics, and so is found, where one does not.
pub fn follow(recording: &Recording) {
    for sample in recording.samples.rows() {
        recording.text(sample.event);
        recording.stacks.leaf_to_root(sample.stack_id).for_each(|frame| {
            recording.text(frame.symbol);
        });
    }
    for span in recording.spans.rows() {
        recording.text(span.kind);
        recording.text(span.name);
        recording.text(span.detail);
    }
    for counter in recording.counters.rows() {
        recording.text(counter.name);
        recording.text(counter.instance);
    }
    for loss in recording.losses.rows() {
        recording.text(loss.says);
    }
}
