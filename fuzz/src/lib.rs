//! What the targets share: a file or a folder in memory with the fuzzer's bytes, and checks of whatever was loaded.

use std::cell::RefCell;
use std::io::{Seek, Write};
use std::path::Path;
use std::sync::Once;

use fathom_evidence::kinds::{counter, event, frame, span};
use fathom_evidence::tables::Sample;
use fathom_evidence::{Frame, Recording, StackId};
use fathom_readers::{LoadOptions, readers};
use tempfile::{NamedTempFile, TempDir};

static ALONE: Once = Once::new();

thread_local! {
    static FILE: RefCell<NamedTempFile> = RefCell::new(NamedTempFile::new_in("/dev/shm").expect("a file in memory"));
    static FOLDER: TempDir = TempDir::new_in("/dev/shm").expect("a folder in memory");
}

/// Reads files of several names, in a folder in memory that is the same for each input.
pub fn in_folder(read: impl FnOnce(&Path)) {
    FOLDER.with(|folder| read(folder.path()));
}

/// Loads `bytes` with the readers of `formats`, whether or not they recognise them, with a pattern for lines of latencies.
pub fn load(bytes: &[u8], formats: &[&str], pattern: Option<&str>) {
    work_alone();
    FILE.with_borrow_mut(|file| {
        // Times without any other reference.
        let clock_offsets = vec![(file.path().to_owned(), 1)];
        let latency_pattern = pattern.map(str::to_owned);
        let options = LoadOptions { latency_pattern, clock_offsets, takes_untimed: true, ..LoadOptions::default() };
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

/// Parallel work stays on this thread: handing it over costs more than reading a few hundred bytes.
pub fn work_alone() {
    ALONE.call_once(|| {
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        alone.build_global().expect("nothing was shared out before");
    });
}

/// The valid text at the beginning of the input.
pub fn text(bytes: &[u8]) -> &str {
    bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid())
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

/// Checks that every id is valid: an invalid one panics here, so that the fuzzer finds it.
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

/// A recording with a little of everything, to ask questions about.
pub fn some_recording() -> Recording {
    const BEGIN_NS: i64 = 1_700_000_000_000_000_000;
    let mut recording = Recording::default();
    let [symbol, module] = ["shop.Cart.add", "shop"].map(|text| recording.strings.intern(text));
    let [kind, event] = [frame::COMPILED, event::CPU].map(|text| recording.strings.intern(text));
    let frame = recording.stacks.intern_frame(Frame { symbol, module, kind, line: 7 });
    let stack_id = recording.stacks.intern(StackId(0), frame);
    for second in 0..8 {
        let (time_ns, tid) = (BEGIN_NS + second * 1_000_000_000, 100 + second % 3);
        recording.add_thread(tid, &format!("handler-{tid}"));
        recording.add_counter(time_ns, counter::HEAP_USED_BYTES, "", second as f64, "jfr");
        recording.add_span(time_ns, 900_000_000, tid, span::MONITOR_ENTER, "shop.Cart", "", "jfr");
        recording.add_span(time_ns, 50_000_000, 0, span::GC_PAUSE, "Pause Full", "", "gc_log");
        recording.add_log(time_ns, "gc_log", "info", "Pause Full", "gc");
        recording.samples.push(Sample { time_ns, tid, event, weight_ns: 10_000_000, stack_id, ..Sample::default() });
    }
    recording
}
