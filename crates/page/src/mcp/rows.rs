//! The page's tables as JSON: what the page maps as Arrow, an assistant reads as text.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt32Type};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_schema::DataType;
use serde_json::{Map, Value, json};

use crate::Loaded;

/// The rows of an answer about a recording, with the notes on it. Times become those of the Unix epoch, and threads get names.
pub(crate) fn of(stream: &[u8], page: &Loaded) -> Result<Value, String> {
    // What is read here was made a moment ago in this process; all the same the library is not believed.
    let read = || -> Option<Value> {
        let reader = StreamReader::try_new(stream, None).ok()?;
        let mut answer: Map<String, Value> =
            reader.schema().metadata().iter().map(|(name, note)| (name.clone(), number_or_text(note))).collect();
        let batches: Vec<RecordBatch> = reader.collect::<Result<_, _>>().ok()?;
        let rows = batches.iter().flat_map(|batch| (0..batch.num_rows()).map(|row| one(batch, row, page)));
        answer.insert("rows".to_owned(), rows.collect());
        Some(answer.into())
    };
    catch_unwind(AssertUnwindSafe(read)).ok().flatten().ok_or_else(|| "a mistake in fathom: no table".to_owned())
}

fn number_or_text(note: &str) -> Value {
    serde_json::from_str(note).ok().filter(Value::is_number).unwrap_or_else(|| note.into())
}

fn one(batch: &RecordBatch, row: usize, page: &Loaded) -> Value {
    let schema = batch.schema();
    let mut values = Map::new();
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        match (field.name().as_str(), value(column.as_ref(), row)) {
            ("t", time) => {
                values.insert(
                    "time_ns".to_owned(),
                    time.as_i64().map(|time| time.saturating_add(page.origin_ns())).into(),
                );
            }
            ("duration", time) => drop(values.insert("duration_ns".to_owned(), time)),
            // The whole process has none.
            ("thread", number) => {
                if let Some(number) = number.as_i64().and_then(|number| u32::try_from(number).ok()) {
                    values.insert("thread_name".to_owned(), page.thread_name(number).into());
                    values.insert("thread".to_owned(), number.into());
                }
            }
            // The empty stack, and texts that say nothing.
            ("stack" | "kernel_stack", id) if id == 0 => {}
            (_, nothing) if nothing.is_null() || nothing == "" => {}
            (name, value) => drop(values.insert(name.to_owned(), value)),
        }
    }
    values.into()
}

/// One value; null for a number that is none, and for types that no answer has.
fn value(column: &dyn Array, row: usize) -> Value {
    match column.data_type() {
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).into(),
        DataType::Int32 => column.as_primitive::<Int32Type>().value(row).into(),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).into(),
        DataType::Float64 => json!(column.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => column.as_string::<i32>().value(row).into(),
        DataType::Dictionary(..) => {
            let texts = column.as_dictionary::<UInt32Type>();
            let key = texts.keys().value(row) as usize;
            texts.values().as_string::<i32>().value(key).into()
        }
        _ => Value::Null,
    }
}
