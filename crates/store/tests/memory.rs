//! How much memory an untrusted file takes. The peak is measured per process, so this is a program of its own.

#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, DictionaryArray, Int64Array, RecordBatch, StringArray, UInt32Array};
use arrow_schema::{DataType, Field, Schema};
use fathom_evidence::Recording;
use fathom_evidence::tables::Loss;
use fathom_store::FolderWriter;
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::arrow::encode_arrow_schema;
use parquet::basic::Encoding;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};

const ROWS: usize = 4_000;
const TEXT_BYTES: usize = 1 << 20;
/// Once for each row the text would take 4 GB.
const CEILING_KB: u64 = 256 * 1024;

fn peak_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

/// Logs that all have the same long text in the column `name`, which is stored once and stated to be of type `stated`.
fn write(folder: &Path, name: &str, stated: DataType, properties: WriterPropertiesBuilder) {
    fathom_store::write(folder, &Recording::default()).unwrap();
    fs::remove_file(folder.join("manifest.json")).unwrap();
    let times: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS as i64));
    let text = StringArray::from(vec!["a".repeat(TEXT_BYTES)]);
    let keys = UInt32Array::from(vec![0; ROWS]);
    let texts: ArrayRef = Arc::new(DictionaryArray::new(keys, Arc::new(text)));
    let batch = RecordBatch::try_from_iter([("time_ns", times), (name, texts)]).unwrap();
    let time = Field::new("time_ns", DataType::Int64, false);
    let stated = encode_arrow_schema(&Schema::new(vec![time, Field::new(name, stated, false)]));
    let stated = vec![KeyValue::new("ARROW:schema".to_owned(), stated)];
    let properties = properties.set_key_value_metadata(Some(stated)).build();
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let file = File::create(folder.join("logs.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new_with_options(file, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn a_text_that_all_rows_share_is_in_memory_once() {
    let place = tempfile::tempdir().unwrap();
    let key = |text: DataType| DataType::Dictionary(Box::new(DataType::UInt32), Box::new(text));
    let once = || WriterProperties::builder().set_dictionary_page_size_limit(2 * TEXT_BYTES);
    for (number, (name, stated, is_text)) in [
        ("text", DataType::LargeUtf8, true),
        ("text", DataType::Utf8, true),
        ("text", key(DataType::Utf8), true),
        ("of_others", DataType::LargeUtf8, false),
    ]
    .into_iter()
    .enumerate()
    {
        let path = place.path().join(format!("{number}.fathom"));
        write(&path, name, stated.clone(), once());
        assert!(fs::metadata(path.join("logs.parquet")).unwrap().len() < 2 * TEXT_BYTES as u64);
        let recording = fathom_store::open(&path).unwrap();
        let lengths: Vec<usize> = recording.logs.rows().map(|row| recording.text(row.text).len()).collect();
        assert!(lengths.len() == ROWS, "{name} {stated}: {} rows", lengths.len());
        assert!(lengths.iter().all(|length| *length == if is_text { TEXT_BYTES } else { 0 }), "{name} {stated}");
    }
    let path = place.path().join("differences.fathom");
    let differences = WriterProperties::builder().set_dictionary_enabled(false);
    let differences = differences.set_column_encoding("text".into(), Encoding::DELTA_BYTE_ARRAY);
    write(&path, "text", DataType::LargeUtf8, differences);
    let recording = fathom_store::open(&path).unwrap();
    assert!(recording.logs.rows().next().is_none());
    assert!(recording.losses.rows().any(|loss| recording.text(loss.says).contains("stored as differences")));
    assert!(peak_kb() < CEILING_KB, "{} kB", peak_kb());
}

/// Holes in files take no room on the disk.
#[test]
fn what_a_journal_says_is_not_read_however_long_it_is() {
    let place = tempfile::tempdir().unwrap();
    for (name, line) in [("logs.arrows", "logs 3221225472 0000000000000000\n"), ("journal", "")] {
        let path = place.path().join(format!("of_{name}.fathom"));
        let mut writer = FolderWriter::create(&path).unwrap();
        writer.flush(&mut Recording::default()).unwrap();
        drop(writer);
        fs::write(path.join("journal"), line).unwrap();
        File::options().write(true).open(path.join(name)).unwrap().set_len(3 << 30).unwrap();
        let recording = fathom_store::open(&path).unwrap();
        let tells = |loss: Loss| recording.text(loss.says).contains("table logs is damaged");
        assert_eq!(recording.losses.rows().any(tells), !line.is_empty());
        assert!(peak_kb() < CEILING_KB, "{name}: {} kB", peak_kb());
    }
}
