//! The types a column can have, and their way to and from Arrow.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, UInt32Type};
use arrow_array::{Array, ArrayRef, DictionaryArray, PrimitiveArray, RecordBatch, StringArray, UInt32Array};
use arrow_schema::{ArrowError, DataType};
use rustc_hash::FxHashMap;

use crate::dictionaries::{StackId, StrId, Strings};
use crate::table::Remap;

/// A type that a column may have.
pub(crate) trait Value: Copy + Default + Send {
    fn arrow_type() -> DataType;
    fn to_array(column: &[Self], strings: &Strings) -> ArrayRef;
    fn from_array(array: &dyn Array, strings: &mut Strings) -> Option<Vec<Self>>;
    fn remap(_column: &mut [Self], _remap: &Remap) {}
}

/// Appends the column `name` of `batch`; zeros when the batch has no such column.
pub(crate) fn append_column<V: Value>(
    column: &mut Vec<V>,
    batch: &RecordBatch,
    name: &str,
    strings: &mut Strings,
) -> Result<(), ArrowError> {
    let Some(array) = batch.column_by_name(name) else {
        column.resize(column.len() + batch.num_rows(), V::default());
        return Ok(());
    };
    let mut values = V::from_array(array, strings).ok_or_else(|| {
        ArrowError::SchemaError(format!("column {name} is {}, expected {}", array.data_type(), V::arrow_type()))
    })?;
    column.append(&mut values);
    Ok(())
}

fn primitive<P: ArrowPrimitiveType>(array: &dyn Array) -> Option<Vec<P::Native>> {
    let typed: &PrimitiveArray<P> = array.as_primitive_opt()?;
    Some(typed.values().to_vec())
}

macro_rules! plain_value {
    ($type:ty, $arrow:ty) => {
        impl Value for $type {
            fn arrow_type() -> DataType {
                <$arrow>::DATA_TYPE
            }
            fn to_array(column: &[Self], _: &Strings) -> ArrayRef {
                Arc::new(PrimitiveArray::<$arrow>::from_iter_values(column.iter().copied()))
            }
            fn from_array(array: &dyn Array, _: &mut Strings) -> Option<Vec<Self>> {
                primitive::<$arrow>(array)
            }
        }
    };
}
plain_value!(i64, Int64Type);
plain_value!(i32, Int32Type);
plain_value!(u32, UInt32Type);
plain_value!(f64, Float64Type);

impl Value for StackId {
    fn arrow_type() -> DataType {
        DataType::UInt32
    }

    fn to_array(column: &[Self], _: &Strings) -> ArrayRef {
        Arc::new(UInt32Array::from_iter_values(column.iter().map(|id| id.0)))
    }

    fn from_array(array: &dyn Array, _: &mut Strings) -> Option<Vec<Self>> {
        Some(primitive::<UInt32Type>(array)?.into_iter().map(StackId).collect())
    }

    fn remap(column: &mut [Self], remap: &Remap) {
        for id in column {
            *id = remap.stacks.get(id.0 as usize).copied().unwrap_or_default();
        }
    }
}

impl Value for StrId {
    fn arrow_type() -> DataType {
        DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8))
    }

    fn to_array(column: &[Self], strings: &Strings) -> ArrayRef {
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

    fn from_array(array: &dyn Array, strings: &mut Strings) -> Option<Vec<Self>> {
        if let Some(plain) = array.as_string_opt::<i32>() {
            return Some(plain.iter().map(|text| strings.intern(text.unwrap_or(""))).collect());
        }
        let dictionary = array.as_dictionary_opt::<UInt32Type>()?;
        let values = dictionary.values().as_string_opt::<i32>()?;
        let ids: Vec<StrId> = values.iter().map(|text| strings.intern(text.unwrap_or(""))).collect();
        let keys = dictionary.keys().values().iter();
        Some(keys.map(|key| ids.get(*key as usize).copied().unwrap_or_default()).collect())
    }

    fn remap(column: &mut [Self], remap: &Remap) {
        for id in column {
            *id = remap.strings.get(id.0 as usize).copied().unwrap_or_default();
        }
    }
}
