//! Writes rows that are not part of a recording, with cells that may be empty, as one Parquet file for other tools.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;

use crate::error::{FolderError, format_error, io_error};
use crate::files::create_file;
use crate::whole::properties;

/// Version of the tables that are written here. Columns may be added without a new one.
const SCHEMA: (&str, &str) = ("fathom.schema", "1");

/// The cells of one column.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Whole numbers.
    Int64(Vec<Option<i64>>),
    /// Numbers.
    Float64(Vec<Option<f64>>),
    /// Texts.
    Utf8(Vec<Option<String>>),
}

impl Cells {
    fn data_type(&self) -> DataType {
        match self {
            Cells::Int64(_) => DataType::Int64,
            Cells::Float64(_) => DataType::Float64,
            Cells::Utf8(_) => DataType::Utf8,
        }
    }

    fn into_array(self) -> ArrayRef {
        match self {
            Cells::Int64(cells) => Arc::new(Int64Array::from(cells)),
            Cells::Float64(cells) => Arc::new(Float64Array::from(cells)),
            Cells::Utf8(cells) => Arc::new(StringArray::from(cells)),
        }
    }
}

/// Writes a file, which has its name when it is whole, in place of one that had it before. All columns have as many cells.
pub fn write_rows(path: &Path, columns: Vec<(&str, Cells)>) -> Result<(), FolderError> {
    let field = |(name, cells): &(&str, Cells)| Field::new(*name, cells.data_type(), true);
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let arrays = columns.into_iter().map(|(_, cells)| cells.into_array()).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).map_err(|error| format_error(path, &error))?;
    let unfinished = path.with_extension("unfinished");
    let _ = fs::remove_file(&unfinished);
    let written = write(path, &unfinished, &schema, &batch);
    if written.is_err() {
        // What a full disk left of it would be in the way of others.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

fn write(path: &Path, unfinished: &Path, schema: &Arc<Schema>, batch: &RecordBatch) -> Result<(), FolderError> {
    let file = create_file(unfinished)?;
    let version = KeyValue::new(SCHEMA.0.to_owned(), SCHEMA.1.to_owned());
    let properties = properties(schema).into_builder().set_key_value_metadata(Some(vec![version])).build();
    let writer = ArrowWriter::try_new(file, Arc::clone(schema), Some(properties));
    let mut writer = writer.map_err(|error| format_error(path, &error))?;
    writer.write(batch).map_err(|error| format_error(path, &error))?;
    let file = writer.into_inner().map_err(|error| format_error(path, &error))?;
    file.sync_all().map_err(|error| io_error(path, error))?;
    fs::rename(unfinished, path).map_err(|error| io_error(path, error))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Float64Type;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;

    #[test]
    fn what_is_not_known_is_empty_and_not_zero() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        for value in [1.0, 2.5] {
            let columns = vec![
                ("time_ns", Cells::Int64(vec![Some(1), Some(2)])),
                ("p95_ms", Cells::Float64(vec![Some(value), None])),
                ("cause", Cells::Utf8(vec![None, Some("gc".to_owned())])),
            ];
            write_rows(&path, columns).unwrap();
        }
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap().build().unwrap();
        let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
        let [batch] = &batches[..] else { panic!("{batches:?}") };
        let numbers = batch.column_by_name("p95_ms").unwrap().as_primitive::<Float64Type>();
        assert_eq!((numbers.value(0), numbers.is_null(1)), (2.5, true));
        assert_eq!(batch.column_by_name("cause").unwrap().as_string::<i32>().value(1), "gc");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let uneven = vec![("a", Cells::Int64(vec![Some(1)])), ("b", Cells::Int64(Vec::new()))];
        assert!(write_rows(&path, uneven).is_err());
        assert!(write_rows(&folder.path().join("none/a.parquet"), Vec::new()).is_err());
    }
}
