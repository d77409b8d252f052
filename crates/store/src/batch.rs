//! Converts tables to Arrow and back. The columns of a table are those that it shows; nothing here knows any of them by name.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, UInt32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, PrimitiveArray, RecordBatch, StringArray, StringViewArray, UInt32Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use fathom_evidence::{Column, ColumnDoc, ColumnMut, ColumnType, StackId, StrId, Strings, Table};
use rustc_hash::FxHashMap;

/// Rows per batch; bounds what a reader has to hold at once.
pub(crate) const BATCH_ROWS: usize = 1 << 16;

/// Arrow types of a table's columns.
pub(crate) fn schema<T: Table>() -> Schema {
    let field = |column: &ColumnDoc| Field::new(column.name, data_type(column.column_type), false);
    Schema::new(T::columns().iter().map(field).collect::<Vec<_>>())
}

fn data_type(column_type: ColumnType) -> DataType {
    match column_type {
        ColumnType::Int64 => DataType::Int64,
        ColumnType::Int32 => DataType::Int32,
        ColumnType::UInt32 => DataType::UInt32,
        ColumnType::Float64 => DataType::Float64,
        ColumnType::Utf8 => DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8)),
    }
}

pub(crate) fn batches<'a, T: Table>(
    table: &'a T,
    strings: &'a Strings,
) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> + 'a {
    (0..table.len())
        .step_by(BATCH_ROWS)
        .map(move |start| to_batch(table, start..table.len().min(start + BATCH_ROWS), strings))
}

/// Rows as Arrow arrays, with text instead of string ids.
fn to_batch<T: Table>(table: &T, rows: Range<usize>, strings: &Strings) -> Result<RecordBatch, ArrowError> {
    let columns = table.values().iter().map(|column| to_array(column, rows.clone(), strings)).collect();
    RecordBatch::try_new(Arc::new(schema::<T>()), columns)
}

fn to_array(column: &Column, rows: Range<usize>, strings: &Strings) -> ArrayRef {
    match column {
        Column::Int64(values) => primitive::<Int64Type>(values[rows].iter().copied()),
        Column::Int32(values) => primitive::<Int32Type>(values[rows].iter().copied()),
        Column::UInt32(values) => primitive::<UInt32Type>(values[rows].iter().copied()),
        Column::Float64(values) => primitive::<Float64Type>(values[rows].iter().copied()),
        Column::Stack(values) => primitive::<UInt32Type>(values[rows].iter().map(|id| id.0)),
        Column::Text(values) => texts(&values[rows], strings),
    }
}

pub(crate) fn primitive<P: ArrowPrimitiveType>(values: impl IntoIterator<Item = P::Native>) -> ArrayRef {
    Arc::new(PrimitiveArray::<P>::from_iter_values(values))
}

fn texts(column: &[StrId], strings: &Strings) -> ArrayRef {
    let mut used: Vec<StrId> = Vec::new();
    let mut key_of: FxHashMap<StrId, u32> = FxHashMap::default();
    let keys = column.iter().map(|id| {
        *key_of.entry(*id).or_insert_with(|| {
            used.push(*id);
            used.len() as u32 - 1
        })
    });
    let keys = UInt32Array::from_iter_values(keys.collect::<Vec<_>>());
    let values = StringArray::from_iter_values(used.iter().map(|id| strings.get(*id)));
    Arc::new(DictionaryArray::<UInt32Type>::new(keys, Arc::new(values)))
}

/// What of stored columns is not as the table's declaration has it.
pub(crate) fn foreign<T: Table>(stored: &Schema) -> Option<String> {
    let is = |column: ColumnType, found: &DataType| match column {
        ColumnType::Utf8 => is_of_texts(found),
        number => data_type(number) == *found,
    };
    let unlike = |column: &ColumnDoc| {
        let found = stored.field_with_name(column.name).ok()?.data_type();
        let says = || format!("column {} is {found}, expected {}", column.name, column.column_type);
        (!is(column.column_type, found)).then(says)
    };
    T::columns().iter().find_map(unlike)
}

/// Whether a column is one of texts, in whatever form its writer chose.
pub(crate) fn is_of_texts(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, texts) => is_of_texts(texts),
        texts => matches!(texts, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
    }
}

/// Appends the rows of a batch, or nothing. Columns that are missing there (an older writer) are zero.
pub(crate) fn append_batch<T: Table>(
    table: &mut T,
    batch: &RecordBatch,
    strings: &mut Strings,
) -> Result<(), ArrowError> {
    if let Some(says) = foreign::<T>(batch.schema_ref()) {
        return Err(ArrowError::SchemaError(says));
    }
    for (doc, mut column) in T::columns().iter().zip(table.values_mut()) {
        let appended = batch.column_by_name(doc.name).and_then(|array| append_array(&mut column, array, strings));
        if appended.is_none() {
            append_zeros(&mut column, batch.num_rows());
        }
    }
    Ok(())
}

fn append_zeros(column: &mut ColumnMut, rows: usize) {
    match column {
        ColumnMut::Int64(values) => values.resize(values.len() + rows, 0),
        ColumnMut::Int32(values) => values.resize(values.len() + rows, 0),
        ColumnMut::UInt32(values) => values.resize(values.len() + rows, 0),
        ColumnMut::Float64(values) => values.resize(values.len() + rows, 0.0),
        ColumnMut::Stack(values) => values.resize(values.len() + rows, StackId(0)),
        ColumnMut::Text(values) => values.resize(values.len() + rows, StrId(0)),
    }
}

/// `None` when the array is of another type.
fn append_array(column: &mut ColumnMut, array: &dyn Array, strings: &mut Strings) -> Option<()> {
    match column {
        ColumnMut::Int64(values) => values.extend_from_slice(array.as_primitive_opt::<Int64Type>()?.values()),
        ColumnMut::Int32(values) => values.extend_from_slice(array.as_primitive_opt::<Int32Type>()?.values()),
        ColumnMut::UInt32(values) => values.extend_from_slice(array.as_primitive_opt::<UInt32Type>()?.values()),
        ColumnMut::Float64(values) => values.extend_from_slice(array.as_primitive_opt::<Float64Type>()?.values()),
        ColumnMut::Stack(values) => {
            values.extend(array.as_primitive_opt::<UInt32Type>()?.values().iter().map(|id| StackId(*id)));
        }
        ColumnMut::Text(values) => append_texts(values, array, strings)?,
    }
    Some(())
}

/// Texts are in dictionaries, in streams, or views, from Parquet.
fn append_texts(column: &mut Vec<StrId>, array: &dyn Array, strings: &mut Strings) -> Option<()> {
    let Some(dictionary) = array.as_any_dictionary_opt() else {
        append_views(column, array.as_string_view_opt()?, strings);
        return Some(());
    };
    let texts = dictionary.values().as_string_opt::<i32>()?;
    let ids: Vec<StrId> = texts.iter().map(|text| strings.intern(text.unwrap_or_default())).collect();
    // Without a text there is no key to normalize.
    let keys = if ids.is_empty() { vec![0; array.len()] } else { dictionary.normalized_keys() };
    let id_of = |(row, key): (usize, usize)| {
        if array.is_null(row) { StrId(0) } else { ids.get(key).copied().unwrap_or_default() }
    };
    column.extend(keys.into_iter().enumerate().map(id_of));
    Some(())
}

/// Longer texts are looked at once for each place at which they stand, and not for each row that has them.
const SHORT_TEXT_BYTES: usize = 16;

fn append_views(column: &mut Vec<StrId>, texts: &StringViewArray, strings: &mut Strings) {
    let mut id_at: FxHashMap<(*const u8, usize), StrId> = FxHashMap::default();
    column.extend(texts.iter().map(|text| match text.unwrap_or_default() {
        short if short.len() <= SHORT_TEXT_BYTES => strings.intern(short),
        text => *id_at.entry((text.as_ptr(), text.len())).or_insert_with(|| strings.intern(text)),
    }));
}
