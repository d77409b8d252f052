//! The types a column can have, and how a column is seen by those who do not know its table.

use std::fmt;

use crate::dictionaries::{StackId, StrId};

/// New ids for the ids of a recording that is being absorbed.
pub struct Remap {
    pub(crate) strings: Vec<StrId>,
    pub(crate) stacks: Vec<StackId>,
}

/// Type of a column, named as Arrow names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// 64 bits, signed.
    Int64,
    /// 32 bits, signed.
    Int32,
    /// 32 bits, for ids that are never negative.
    UInt32,
    /// Double precision.
    Float64,
    /// Text: an id in memory, the text itself wherever else it goes.
    Utf8,
}

impl fmt::Display for ColumnType {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{self:?}")
    }
}

/// Some type in the place of each column's vector or slice.
macro_rules! columns {
    ($(#[$doc:meta])+ $name:ident<$life:lifetime>, $($made:tt)+) => {
        $(#[$doc])+
        #[derive(Debug)]
        pub enum $name<$life> {
            /// Numbers of 64 bits.
            Int64(columns!(@ $life i64 $($made)+)),
            /// Numbers of 32 bits.
            Int32(columns!(@ $life i32 $($made)+)),
            /// Numbers that are never negative.
            UInt32(columns!(@ $life u32 $($made)+)),
            /// Numbers with fractions.
            Float64(columns!(@ $life f64 $($made)+)),
            /// Texts of the recording.
            Text(columns!(@ $life StrId $($made)+)),
            /// Stacks of the recording.
            Stack(columns!(@ $life StackId $($made)+)),
        }
    };
    (@ $life:lifetime $type:ident slice) => { &$life [$type] };
    (@ $life:lifetime $type:ident vector) => { &$life mut Vec<$type> };
}
columns! {
    /// The values of a column.
    Column<'a>, slice
}
columns! {
    /// A column that values are appended to.
    ColumnMut<'a>, vector
}

/// A type that a column may have.
pub(crate) trait Value: Copy + Default + Send {
    const TYPE: ColumnType;
    fn column(values: &[Self]) -> Column<'_>;
    fn column_mut(values: &mut Vec<Self>) -> ColumnMut<'_>;
    fn remap(_column: &mut [Self], _remap: &Remap) {}
}

macro_rules! value {
    ($type:ty, $variant:ident, $column_type:ident $(, $remap:item)?) => {
        impl Value for $type {
            const TYPE: ColumnType = ColumnType::$column_type;
            fn column(values: &[Self]) -> Column<'_> {
                Column::$variant(values)
            }
            fn column_mut(values: &mut Vec<Self>) -> ColumnMut<'_> {
                ColumnMut::$variant(values)
            }
            $($remap)?
        }
    };
}
value!(i64, Int64, Int64);
value!(i32, Int32, Int32);
value!(u32, UInt32, UInt32);
value!(f64, Float64, Float64);
value!(
    StackId,
    Stack,
    UInt32,
    fn remap(column: &mut [Self], remap: &Remap) {
        for id in column {
            *id = remap.stacks.get(id.0 as usize).copied().unwrap_or_default();
        }
    }
);
value!(
    StrId,
    Text,
    Utf8,
    fn remap(column: &mut [Self], remap: &Remap) {
        for id in column {
            *id = remap.strings.get(id.0 as usize).copied().unwrap_or_default();
        }
    }
);
