//! Writes columns as an Arrow IPC stream of one batch, uncompressed: a browser maps it without parsing.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, UInt32Type};
use arrow_array::{
    ArrayRef, DictionaryArray, PrimitiveArray, RecordBatch, RecordBatchOptions, StringArray, UInt32Array,
};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Field, Schema};
use rustc_hash::FxHashMap;

/// A table under construction.
#[derive(Default)]
pub(crate) struct Columns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
    notes: HashMap<String, String>,
}

impl Columns {
    /// Adds a column of numbers.
    pub(crate) fn numbers<P: ArrowPrimitiveType>(
        mut self,
        name: &str,
        values: impl IntoIterator<Item = P::Native>,
    ) -> Columns {
        let array: PrimitiveArray<P> = PrimitiveArray::from_iter_values(values);
        self.fields.push(Field::new(name, P::DATA_TYPE, false));
        self.arrays.push(Arc::new(array));
        self
    }

    /// Adds a column of text, each different one stored once.
    pub(crate) fn words<'a>(self, name: &str, values: impl IntoIterator<Item = &'a str>) -> Columns {
        let mut known: Vec<&str> = Vec::new();
        let mut key_of: FxHashMap<&str, u32> = FxHashMap::default();
        let keys = values.into_iter().map(|text| {
            *key_of.entry(text).or_insert_with(|| {
                known.push(text);
                known.len() as u32 - 1
            })
        });
        let keys = UInt32Array::from_iter_values(keys.collect::<Vec<u32>>());
        let array = DictionaryArray::<UInt32Type>::new(keys, Arc::new(StringArray::from_iter_values(known)));
        self.push(name, Arc::new(array))
    }

    /// Adds a column of text as it is.
    pub(crate) fn texts<'a>(self, name: &str, values: impl IntoIterator<Item = &'a str>) -> Columns {
        self.push(name, Arc::new(StringArray::from_iter_values(values)))
    }

    fn push(mut self, name: &str, array: ArrayRef) -> Columns {
        self.fields.push(Field::new(name, array.data_type().clone(), false));
        self.arrays.push(array);
        self
    }

    /// Adds a note on the whole table.
    pub(crate) fn note(mut self, name: &str, value: impl ToString) -> Columns {
        self.notes.insert(name.to_owned(), value.to_string());
        self
    }

    /// The stream's bytes.
    pub(crate) fn stream(self) -> Result<Vec<u8>, ArrowError> {
        let schema = Arc::new(Schema::new_with_metadata(self.fields, self.notes));
        let rows = self.arrays.first().map_or(0, |array| array.len());
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(schema.clone(), self.arrays, &options)?;
        let mut writer = StreamWriter::try_new(Vec::with_capacity(batch.get_array_memory_size()), &schema)?;
        writer.write(&batch)?;
        writer.finish()?;
        writer.into_inner()
    }
}
