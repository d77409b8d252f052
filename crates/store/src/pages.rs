//! Reads tables from Parquet files, trusting nothing in them.
//!
//! A few bytes there can expand to gigabytes. So what a file states is checked before anything is unpacked, columns
//! that the table does not have are ignored, and texts are read as views: a text that all rows share is in memory once.

use std::fs::File;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, FieldRef, Schema};
use fathom_evidence::Table;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{Encoding, Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};

use crate::batch::{BATCH_ROWS, foreign, is_of_texts};
use crate::caught;
use crate::error::FolderError;

/// Rows that a table of any length may have.
const ROWS_IN_ANY_FILE: u64 = 1 << 20;
/// Rows that each byte of a file may stand for beyond that. Real rows have times of their own, which take a byte or two each.
const ROWS_PER_BYTE: u64 = 16;

/// Bytes of text that a table of any length may have, unpacked.
const TEXT_IN_ANY_FILE: u64 = 64 << 20;
/// Bytes of text that each byte of a file may stand for beyond that. Real texts are packed to a tenth or so.
const TEXT_PER_BYTE: u64 = 64;

/// Why a file cannot hold what it states: rows or texts that are all alike take next to nothing there, and all of them in memory.
fn overstated(stated: &ParquetMetaData, file_bytes: u64) -> Option<String> {
    let most = |in_any: u64, per_byte: u64| in_any.saturating_add(file_bytes.saturating_mul(per_byte));
    let texts = || {
        let columns = stated.row_groups().iter().flat_map(RowGroupMetaData::columns);
        columns.filter(|column| column.column_type() == Type::BYTE_ARRAY)
    };
    let unpacked =
        texts().map(ColumnChunkMetaData::uncompressed_size).fold(0, |sum, bytes| count(bytes).saturating_add(sum));
    let rows = count(stated.file_metadata().num_rows());
    if rows > most(ROWS_IN_ANY_FILE, ROWS_PER_BYTE) {
        return Some(format!("{rows} rows in {file_bytes} bytes"));
    }
    if unpacked > most(TEXT_IN_ANY_FILE, TEXT_PER_BYTE) {
        return Some(format!("{unpacked} bytes of text in {file_bytes} bytes"));
    }
    // Each text may be the one before it and next to nothing more, of any length.
    let is_of_differences =
        |column: &ColumnChunkMetaData| column.encodings().any(|is| is == Encoding::DELTA_BYTE_ARRAY);
    texts().any(is_of_differences).then(|| "texts that are stored as differences are not read".to_owned())
}

/// What a file states of itself may be anything.
fn count(stated: i64) -> u64 {
    u64::try_from(stated).unwrap_or(u64::MAX)
}

/// Gives the batches of a Parquet file up to the first that cannot be read, and why it cannot.
pub(crate) fn each_sound<T: Table>(
    file: File,
    take: &mut impl FnMut(RecordBatch) -> Result<(), FolderError>,
) -> Result<Option<String>, FolderError> {
    let mut batches = match caught::attempt(|| open::<T>(file)) {
        Some(Ok(batches)) => batches,
        Some(Err(says)) => return Ok(Some(says)),
        None => return Ok(Some("what it says of its pages makes no sense".to_owned())),
    };
    loop {
        match caught::attempt(|| batches.next()) {
            Some(None) => return Ok(None),
            Some(Some(Ok(batch))) => take(batch)?,
            Some(Some(Err(error))) => return Ok(Some(error.to_string())),
            None => return Ok(Some("a page makes no sense".to_owned())),
        }
    }
}

fn open<T: Table>(file: File) -> Result<ParquetRecordBatchReader, String> {
    let says = |error: ParquetError| error.to_string();
    let file_bytes = file.metadata().map_or(0, |data| data.len());
    let stated = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).map_err(says)?;
    let has_rows = stated.metadata().file_metadata().num_rows() != 0;
    // What programs state of columns without a value is of no account.
    let is_foreign = has_rows.then(|| foreign::<T>(stated.schema())).flatten();
    if let Some(says) = is_foreign.or_else(|| overstated(stated.metadata(), file_bytes)) {
        return Err(says);
    }
    let views = ArrowReaderOptions::new().with_schema(Arc::new(with_views(stated.schema())));
    let viewed = ArrowReaderMetadata::try_new(Arc::clone(stated.metadata()), views).map_err(says)?;
    let known = T::columns().iter().filter_map(|column| viewed.schema().index_of(column.name).ok());
    let known = ProjectionMask::roots(viewed.parquet_schema(), known);
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, viewed);
    builder.with_batch_size(BATCH_ROWS).with_projection(known).build().map_err(says)
}

/// The same columns, their texts as views: any other form has a text once for each row, or may come to have it so.
fn with_views(schema: &Schema) -> Schema {
    let viewed = |field: &FieldRef| -> FieldRef {
        match is_of_texts(field.data_type()) {
            true => Arc::new(Field::clone(field).with_data_type(DataType::Utf8View)),
            false => Arc::clone(field),
        }
    };
    Schema::new_with_metadata(schema.fields().iter().map(viewed).collect::<Vec<_>>(), schema.metadata().clone())
}
