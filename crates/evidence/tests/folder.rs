//! Recordings survive the way to disk and back, finished, unfinished and cut.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use fathom_evidence::kinds::{event, frame, loss};
use fathom_evidence::tables::Sample;
use fathom_evidence::{Frame, FrameId, Recording, StackId, Table, folder};

fn sample_recording() -> Recording {
    let mut r = Recording::default();
    r.add_fact("jvm", "version", "25.0.3", "test");
    r.add_thread(41, "C2 CompilerThread0");
    r.add_thread(-7, "virtual-7");
    r.add_counter(5, "heap_used_bytes", "after_gc", 1.5e9, "test");
    r.add_span(10, 20, 41, "compilation", "a.B.c", r#"{"level":4}"#, "test");
    r.add_log(7, "gc.log", "info", "not_understood", "söme line");
    r.add_loss("test", loss::TRUNCATED, 3, "three events were cut");
    push_sample(&mut r, 11, "main", "work");
    push_sample(&mut r, 12, "main", "wait");
    r
}

fn push_sample(r: &mut Recording, time_ns: i64, root: &str, leaf: &str) {
    let frame_id = |r: &mut Recording, name: &str| -> FrameId {
        let frame =
            Frame { symbol: r.strings.intern(name), kind: r.strings.intern(frame::INTERPRETED), ..Frame::default() };
        r.stacks.intern_frame(frame)
    };
    let frames = [frame_id(r, root), frame_id(r, leaf)];
    let stack_id = r.stacks.intern_from_root(frames);
    let event = r.strings.intern(event::CPU);
    r.samples.push(Sample { time_ns, tid: 41, cpu: -1, event, weight_ns: 10, stack_id, ..Sample::default() });
}

/// Everything a recording says, as text, without ids.
fn says(r: &Recording) -> Vec<String> {
    let mut lines = Vec::new();
    for f in r.facts.rows().filter(|f| r.text(f.key) != "schema_version") {
        lines.push(format!("fact {} {} {}", r.text(f.subject), r.text(f.key), r.text(f.value)));
    }
    for s in r.samples.rows() {
        let stack: Vec<_> = r.stacks.leaf_to_root(s.stack_id).map(|f| r.text(f.symbol)).collect();
        lines.push(format!("sample {} {} {} {} {}", s.time_ns, s.tid, s.cpu, r.text(s.event), stack.join("<")));
    }
    for s in r.spans.rows() {
        lines.push(format!("span {} {} {} {}", s.time_ns, s.duration_ns, r.text(s.kind), r.text(s.detail)));
    }
    for c in r.counters.rows() {
        lines.push(format!("counter {} {} {} {}", c.time_ns, r.text(c.name), r.text(c.instance), c.value));
    }
    for l in r.logs.rows() {
        lines.push(format!("log {} {}", l.time_ns, r.text(l.text)));
    }
    for l in r.losses.rows() {
        lines.push(format!("loss {} {} {}", r.text(l.kind), l.count, r.text(l.says)));
    }
    for (tid, t) in r.threads.iter() {
        lines.push(format!("thread {tid} {} {}", r.text(t.name), r.text(t.role)));
    }
    lines
}

#[test]
fn written_at_once_and_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.fathom");
    folder::write(&path, &sample_recording()).unwrap();
    let back = folder::open(&path).unwrap();
    assert_eq!(says(&back), says(&sample_recording()));
    assert_eq!(back.fact("recording", "schema_version"), Some("1"));
}

#[test]
fn grown_in_steps_read_unfinished_then_finished() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.fathom");
    let mut writer = folder::FolderWriter::create(&path).unwrap();
    let mut growing = sample_recording();
    let mut whole = sample_recording();
    writer.flush(&mut growing).unwrap();
    assert!(growing.samples.is_empty());
    for r in [&mut growing, &mut whole] {
        r.add_thread(42, "late");
        push_sample(r, 13, "main", "late");
    }
    writer.flush(&mut growing).unwrap();
    assert_eq!(says(&folder::open(&path).unwrap()), says(&whole), "unfinished");
    writer.finish().unwrap();
    assert!(!has_streams(&path));
    assert_eq!(says(&folder::open(&path).unwrap()), says(&whole), "finished");
}

fn has_streams(path: &Path) -> bool {
    fs::read_dir(path).unwrap().any(|e| e.unwrap().path().extension().is_some_and(|e| e == "arrows"))
}

#[test]
fn a_stream_cut_anywhere_gives_what_is_whole_and_a_loss() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.fathom");
    let mut writer = folder::FolderWriter::create(&path).unwrap();
    writer.flush(&mut sample_recording()).unwrap();
    drop(writer);
    let stream = path.join("samples.arrows");
    let bytes = fs::read(&stream).unwrap();
    for cut in (0..bytes.len()).step_by(7) {
        fs::write(&stream, &bytes[..cut]).unwrap();
        let back = folder::open(&path).unwrap();
        assert!(back.samples.is_empty() || back.samples.len() == 2, "cut at {cut}");
        assert_eq!(back.counters.len(), 1, "cut at {cut}");
    }
}

#[test]
fn folders_that_are_no_recordings_are_refused_with_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let message = folder::open(dir.path()).unwrap_err().to_string();
    assert!(message.contains("no table of a recording"), "{message}");

    let newer = dir.path().join("new.fathom");
    let mut r = sample_recording();
    folder::write(&newer, &r).unwrap();
    r.add_fact("recording", "schema_version", "99", "test");
    fs::remove_dir_all(&newer).unwrap();
    let mut writer = folder::FolderWriter::create(&newer).unwrap();
    writer.flush(&mut r).unwrap();
    let message = folder::open(&newer).unwrap_err().to_string();
    assert!(message.contains("schema version 99"), "{message}");

    fs::write(newer.join("spans.parquet"), b"PAR1 nonsense").unwrap();
    assert!(folder::open(&newer).is_err());
}

#[test]
fn merging_renumbers_ids() {
    let mut left = Recording::default();
    push_sample(&mut left, 1, "other", "thing");
    left.absorb(sample_recording());
    assert_eq!(left.samples.len(), 3);
    let stacks: Vec<String> = left
        .samples
        .rows()
        .map(|s| left.stacks.leaf_to_root(s.stack_id).map(|f| left.text(f.symbol)).collect::<Vec<_>>().join("<"))
        .collect();
    assert_eq!(stacks, ["thing<other", "work<main", "wait<main"]);
    assert_eq!(left.fact("jvm", "version"), Some("25.0.3"));
    assert_eq!(left.stacks.leaf_to_root(StackId(9_999)).count(), 0);
    assert_eq!(left.time_range_ns(), Some((1, 30)));
}

#[test]
fn the_page_about_the_schema_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema.md");
    let page = fathom_evidence::schema::page();
    if std::env::var_os("FATHOM_BLESS").is_some() {
        fs::write(path, &page).unwrap();
    }
    let committed = fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/schema.md is not what the code says: run FATHOM_BLESS=1 cargo test -p fathom-evidence"
    );
}
