//! Recordings survive the way to disk and back, finished, unfinished and cut.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt16Type, UInt32Type};
use arrow_array::{
    Array as _, ArrayRef, DictionaryArray, LargeStringArray, PrimitiveArray, RecordBatch, StringArray, StringViewArray,
    UInt32Array,
};
use arrow_schema::DataType;
use fathom_evidence::kinds::{event, frame, loss};
use fathom_evidence::tables::{Fact, Sample};
use fathom_evidence::{Frame, FrameId, Recording, Table};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

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
    // What is said of the folder itself is tested in damage.rs.
    for l in r.losses.rows().filter(|l| r.text(l.source) != "recording") {
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
    fathom_store::write(&path, &sample_recording()).unwrap();
    let back = fathom_store::open(&path).unwrap();
    assert_eq!(says(&back), says(&sample_recording()));
    assert_eq!(back.fact("recording", "schema_version"), Some("1"));
}

#[test]
fn grown_in_steps_read_unfinished_then_finished() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.fathom");
    let mut writer = fathom_store::FolderWriter::create(&path).unwrap();
    let mut growing = sample_recording();
    let mut whole = sample_recording();
    writer.flush(&mut growing).unwrap();
    assert!(growing.samples.is_empty());
    for r in [&mut growing, &mut whole] {
        r.add_thread(42, "late");
        push_sample(r, 13, "main", "late");
    }
    writer.flush(&mut growing).unwrap();
    assert_eq!(says(&fathom_store::open(&path).unwrap()), says(&whole), "unfinished");
    drop(writer);
    let finished = fathom_store::Finishing::begin(&path).unwrap().end().unwrap();
    assert_eq!(finished.rows, whole.row_counts());
    assert!(!has_streams(&path));
    assert_eq!(says(&fathom_store::open(&path).unwrap()), says(&whole), "finished");
}

/// A new thread has its parent's name until it gives itself one, and whole names come later than the kernel's.
#[test]
fn a_threads_last_name_counts() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.fathom");
    let mut writer = fathom_store::FolderWriter::create(&path).unwrap();
    let mut growing = Recording::default();
    for (tid, name) in [(7, "java"), (8, "worker"), (7, "GC Thread#1"), (9, "late")] {
        growing.add_thread(tid, name);
        growing.add_log(1, "gc.log", "info", "", name);
        writer.flush(&mut growing).unwrap();
        // Gives texts other ids, which is no change.
        growing.forget_texts_of_rows();
    }
    drop(writer);
    let expected = ["thread 7 GC Thread#1 gc", "thread 8 worker java", "thread 9 late java"];
    let threads = |r: &Recording| says(r).into_iter().filter(|line| line.starts_with("thread")).collect::<Vec<_>>();
    assert_eq!(threads(&fathom_store::open(&path).unwrap()), expected, "unfinished");
    let stream = fs::read(path.join("threads.arrows")).unwrap();
    assert_eq!(stream.windows(6).filter(|bytes| bytes == b"worker").count(), 1, "what stays is written once");
    fathom_store::Finishing::begin(&path).unwrap().end().unwrap();
    assert_eq!(threads(&fathom_store::open(&path).unwrap()), expected, "finished");
}

fn has_streams(path: &Path) -> bool {
    fs::read_dir(path).unwrap().any(|e| e.unwrap().path().extension().is_some_and(|e| e == "arrows"))
}

#[test]
fn a_stream_cut_anywhere_gives_what_is_whole_and_a_loss() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.fathom");
    let mut writer = fathom_store::FolderWriter::create(&path).unwrap();
    writer.flush(&mut sample_recording()).unwrap();
    drop(writer);
    let stream = path.join("samples.arrows");
    let bytes = fs::read(&stream).unwrap();
    for cut in (0..bytes.len()).step_by(7) {
        fs::write(&stream, &bytes[..cut]).unwrap();
        let back = fathom_store::open(&path).unwrap();
        assert!(back.samples.is_empty() || back.samples.len() == 2, "cut at {cut}");
        assert_eq!(back.counters.len(), 1, "cut at {cut}");
    }
}

/// Ids in what a reader found and in what was written while recording name different things.
#[test]
fn what_readers_find_is_added_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.fathom");
    let mut read = Recording::default();
    push_sample(&mut read, 1, "other", "thing");
    read.absorb(sample_recording());
    let mut whole = sample_recording();
    whole.absorb(read.clone());
    let mut writer = fathom_store::FolderWriter::create(&path).unwrap();
    writer.flush(&mut sample_recording()).unwrap();
    drop(writer);
    let mut finishing = fathom_store::Finishing::begin(&path).unwrap();
    finishing.add(read).unwrap();
    assert!(has_streams(&path), "whole until the end");
    let finished = finishing.end().unwrap();
    assert_eq!(finished.rows, whole.row_counts());
    assert_eq!(says(&fathom_store::open(&path).unwrap()), says(&whole));
}

/// Other writers number their stacks as they like.
#[test]
fn stacks_with_gaps_and_repetitions_are_renumbered() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.fathom");
    fathom_store::write(&path, &sample_recording()).unwrap();
    let expected = says(&fathom_store::open(&path).unwrap());
    for ids in [[1, 2, 3], [7, 2_000_000_000, 9], [3, 1, 2]] {
        renumber_stacks(&path, &ids);
        assert_eq!(says(&fathom_store::open(&path).unwrap()), expected, "{ids:?}");
        fs::remove_file(path.join("manifest.json")).unwrap();
        fathom_store::Finishing::begin(&path).unwrap().end().unwrap();
        assert_eq!(says(&fathom_store::open(&path).unwrap()), expected, "{ids:?}, finished");
    }
}

/// Stores the stacks 1, 2, ... under these ids.
fn renumber_stacks(path: &Path, ids: &[u32]) {
    let new = |old: u32| if old == 0 { 0 } else { ids[old as usize - 1] };
    for (table, columns) in [("stacks", &["stack_id", "parent_id"][..]), ("samples", &["stack_id"])] {
        let file = path.join(format!("{table}.parquet"));
        let batches: Vec<RecordBatch> = read(&file).iter().map(|batch| renumbered(batch, columns, new)).collect();
        write_as(&file, &batches, None);
    }
}

fn read(file: &Path) -> Vec<RecordBatch> {
    let file = fs::File::open(file).unwrap();
    ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap().map(Result::unwrap).collect()
}

fn write_as(file: &Path, batches: &[RecordBatch], properties: Option<WriterProperties>) {
    let file = fs::File::create(file).unwrap();
    let mut writer = ArrowWriter::try_new(file, batches[0].schema(), properties).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
}

fn renumbered(batch: &RecordBatch, columns: &[&str], new: impl Fn(u32) -> u32) -> RecordBatch {
    let schema = batch.schema();
    let column = |(index, field): (usize, &Arc<arrow_schema::Field>)| -> ArrayRef {
        let array = batch.column(index);
        if !columns.contains(&field.name().as_str()) {
            return array.clone();
        }
        let ids = array.as_primitive::<UInt32Type>().values().iter().map(|id| new(*id));
        Arc::new(UInt32Array::from_iter_values(ids))
    };
    let columns = schema.fields().iter().enumerate().map(column).collect();
    RecordBatch::try_new(schema.clone(), columns).unwrap()
}

#[test]
fn texts_of_rows_are_forgotten_and_those_of_frames_and_threads_stay() {
    let mut recording = sample_recording();
    let (stacks, threads) = (stacks_of(&recording), recording.threads.len());
    let mut writer_saw = recording.clone();
    let dir = tempfile::tempdir().unwrap();
    fathom_store::FolderWriter::create(&dir.path().join("a.fathom")).unwrap().flush(&mut recording).unwrap();
    assert!(recording.strings.find("söme line").is_some());
    recording.forget_texts_of_rows();
    assert_eq!(recording.strings.find("söme line"), None);
    recording.samples = std::mem::take(&mut writer_saw.samples);
    assert_eq!((stacks_of(&recording), recording.threads.len()), (stacks, threads));
    assert_eq!(recording.threads.get(41).map(|thread| recording.text(thread.name)), Some("C2 CompilerThread0"));
}

fn stacks_of(r: &Recording) -> Vec<String> {
    let stack = |id| r.stacks.leaf_to_root(id).map(|f| r.text(f.symbol)).collect::<Vec<_>>().join("<");
    r.samples.rows().map(|s| stack(s.stack_id)).collect()
}

#[test]
fn folders_that_are_no_recordings_are_refused_with_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let message = fathom_store::open(dir.path()).unwrap_err().to_string();
    assert!(message.contains("no table of a recording"), "{message}");

    let newer = dir.path().join("new.fathom");
    let mut r = sample_recording();
    fathom_store::write(&newer, &r).unwrap();
    r.add_fact("recording", "schema_version", "99", "test");
    fs::remove_dir_all(&newer).unwrap();
    let mut writer = fathom_store::FolderWriter::create(&newer).unwrap();
    writer.flush(&mut r).unwrap();
    let message = fathom_store::open(&newer).unwrap_err().to_string();
    assert!(message.contains("schema version 99"), "{message}");

    fs::write(newer.join("spans.parquet"), b"PAR1 nonsense").unwrap();
    assert!(fathom_store::open(&newer).is_err());
}

/// A table that another tool has read and written back: compressed as pyarrow, DuckDB and Spark do it, texts in the
/// forms that they and Polars choose.
#[test]
fn tables_that_other_programs_wrote_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.fathom");
    let mut recording = sample_recording();
    recording.facts.push(Fact::default());
    fathom_store::write(&path, &recording).unwrap();
    let expected = says(&fathom_store::open(&path).unwrap());
    let key = |index: DataType, text: DataType| DataType::Dictionary(Box::new(index), Box::new(text));
    for text in [
        DataType::Utf8,
        DataType::LargeUtf8,
        DataType::Utf8View,
        key(DataType::Int32, DataType::Utf8),
        key(DataType::UInt16, DataType::LargeUtf8),
    ] {
        for table in ["facts", "samples", "spans", "frames", "threads", "losses"] {
            let file = path.join(format!("{table}.parquet"));
            let batches: Vec<RecordBatch> = read(&file).iter().map(|batch| with_texts_as(batch, &text)).collect();
            let snappy = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            write_as(&file, &batches, Some(snappy));
        }
        assert_eq!(says(&fathom_store::open(&path).unwrap()), expected, "{text}");
    }
}

fn with_texts_as(batch: &RecordBatch, wanted: &DataType) -> RecordBatch {
    let columns = batch.columns().iter().map(|array| match texts_of(array) {
        Some(texts) => as_type(texts, wanted),
        None => array.clone(),
    });
    let named = batch.schema().fields().iter().map(|field| field.name().clone()).zip(columns).collect::<Vec<_>>();
    RecordBatch::try_from_iter_with_nullable(named.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

/// The texts of a column, none for an empty one.
fn texts_of(array: &ArrayRef) -> Option<Vec<Option<String>>> {
    let (keys, values) = match array.as_any_dictionary_opt() {
        Some(dictionary) => (dictionary.normalized_keys(), dictionary.values().clone()),
        None => ((0..array.len()).collect(), array.clone()),
    };
    let value = |row: usize| match values.data_type() {
        DataType::Utf8 => values.as_string::<i32>().value(row),
        DataType::LargeUtf8 => values.as_string::<i64>().value(row),
        _ => values.as_string_view().value(row),
    };
    let is_text = matches!(values.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let text = |(row, key): (usize, &usize)| {
        Some(*key).filter(|key| !array.is_null(row) && !values.is_null(*key)).map(&value).unwrap_or_default().to_owned()
    };
    let texts = || keys.iter().enumerate().map(text).map(|text| Some(text).filter(|text| !text.is_empty()));
    is_text.then(|| texts().collect())
}

fn as_type(texts: Vec<Option<String>>, wanted: &DataType) -> ArrayRef {
    match wanted {
        DataType::Utf8 => Arc::new(StringArray::from(texts)),
        DataType::LargeUtf8 => Arc::new(LargeStringArray::from(texts)),
        DataType::Utf8View => Arc::new(StringViewArray::from_iter(texts)),
        DataType::Dictionary(index, text) => {
            let keys = texts.iter().enumerate().map(|(row, text)| text.is_some().then_some(row as u16));
            let keys: PrimitiveArray<UInt16Type> = keys.collect();
            let values = as_type(texts, text);
            match index.as_ref() {
                DataType::UInt16 => Arc::new(DictionaryArray::new(keys, values)),
                _ => Arc::new(DictionaryArray::new(keys.unary::<_, Int32Type>(i32::from), values)),
            }
        }
        other => panic!("{other} is no type of texts"),
    }
}
