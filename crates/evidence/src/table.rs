//! The macro that makes a table: the struct of columns, its row, its documentation, and the view of
//! its columns that files are written and read through, all from one declaration.

use crate::memory;
pub(crate) use crate::values::Remap;
use crate::values::{Column, ColumnMut, ColumnType, Value};

/// What one column means; `docs/schema.md` is printed from these.
#[derive(Debug, Clone, Copy)]
pub struct ColumnDoc {
    /// Name of the column in memory and on disk.
    pub name: &'static str,
    /// Type of its values.
    pub column_type: ColumnType,
    /// Unit, or `text`, `id`.
    pub unit: &'static str,
    /// Meaning, and where it comes from.
    pub meaning: &'static str,
}

/// Room that is made for the first row of a table, in rows.
pub(crate) const MIN_ROWS: usize = 64;

/// A table of so many rows is taken over by all processors.
pub(crate) const LARGE_ROWS: usize = 100_000;

/// Puts the rows of another recording behind those of `column`.
pub(crate) fn absorb_column<V: Value>(column: &mut Vec<V>, mut other: Vec<V>, remap: &Remap) {
    V::remap(&mut other, remap);
    if column.is_empty() {
        *column = other;
    } else {
        memory::reserve(column, other.len());
        column.append(&mut other);
    }
}

/// A table of a recording.
pub trait Table: Default {
    /// File name without extension, and name in documents.
    const NAME: &'static str;
    /// What a row is.
    const MEANING: &'static str;

    /// The columns with type, unit and meaning, in order.
    fn columns() -> &'static [ColumnDoc];
    /// The values of each column, in the order of [`Table::columns`].
    fn values(&self) -> Vec<Column<'_>>;
    /// The same, to append to. All must gain the same number of values.
    fn values_mut(&mut self) -> Vec<ColumnMut<'_>>;
    /// Number of rows.
    fn len(&self) -> usize;
    /// Whether there is no row.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Drops all rows, keeps the memory.
    fn clear(&mut self);
    /// Keeps the rows for which `keep` is true, in order.
    fn retain(&mut self, keep: &[bool]);
    /// Appends the rows of `other`, whose ids are translated.
    fn absorb(&mut self, other: Self, remap: &Remap);
}

/// Declares a table. Each column: doc comment (meaning and source), unit in brackets, name, type.
macro_rules! table {
    ($(#[doc = $doc:literal])+ $table:ident = $name:literal, row $row:ident {
        $( $(#[doc = $column_doc:literal])+ [$unit:literal] $column:ident: $type:ty, )+
    }) => {
        $(#[doc = $doc])+
        #[derive(Debug, Default, Clone)]
        pub struct $table {
            $( $(#[doc = $column_doc])+ pub $column: Vec<$type>, )+
        }

        #[doc = concat!("One row of [`", stringify!($table), "`].")]
        #[derive(Debug, Default, Clone, Copy, PartialEq)]
        pub struct $row {
            $( $(#[doc = $column_doc])+ pub $column: $type, )+
        }

        impl $table {
            /// Appends a row.
            #[inline]
            pub fn push(&mut self, row: $row) {
                if self.room() == 0 {
                    self.grow();
                }
                $( self.$column.push(row.$column); )+
            }

            /// Appends many rows, column by column.
            pub fn extend(&mut self, rows: &[$row]) {
                if self.room() < rows.len() {
                    self.reserve(rows.len().max($crate::Table::len(self)).max($crate::table::MIN_ROWS));
                }
                $( self.$column.extend(rows.iter().map(|row| row.$column)); )+
            }

            /// Rows that fit before the table has to grow.
            fn room(&self) -> usize {
                [$( self.$column.capacity() - self.$column.len(), )+][0]
            }

            #[cold]
            fn grow(&mut self) {
                self.reserve($crate::Table::len(self).max($crate::table::MIN_ROWS));
            }

            /// Row `index`. Panics when there is none, as indexing a slice does.
            #[inline]
            pub fn row(&self, index: usize) -> $row {
                $row { $( $column: self.$column[index], )+ }
            }

            /// All rows in order.
            pub fn rows(&self) -> impl DoubleEndedIterator<Item = $row> + ExactSizeIterator + '_ {
                (0..$crate::Table::len(self)).map(|index| self.row(index))
            }

            /// Makes room for `more` rows.
            pub fn reserve(&mut self, more: usize) {
                $( $crate::memory::reserve(&mut self.$column, more); )+
            }
        }

        impl $crate::Table for $table {
            const NAME: &'static str = $name;
            const MEANING: &'static str = concat!($($doc),+);

            fn columns() -> &'static [$crate::ColumnDoc] {
                &[$( $crate::ColumnDoc {
                    name: stringify!($column),
                    column_type: <$type as $crate::values::Value>::TYPE,
                    unit: $unit,
                    meaning: concat!($($column_doc),+),
                }, )+]
            }

            fn values(&self) -> Vec<$crate::Column<'_>> {
                vec![$( $crate::values::Value::column(&self.$column), )+]
            }

            fn values_mut(&mut self) -> Vec<$crate::ColumnMut<'_>> {
                vec![$( $crate::values::Value::column_mut(&mut self.$column), )+]
            }

            fn len(&self) -> usize {
                [$( self.$column.len(), )+][0]
            }

            fn clear(&mut self) {
                $( self.$column.clear(); )+
            }

            fn retain(&mut self, keep: &[bool]) {
                $(
                    let mut keep_row = keep.iter();
                    self.$column.retain(|_| keep_row.next() == Some(&true));
                )+
            }

            fn absorb(&mut self, other: Self, remap: &$crate::table::Remap) {
                use $crate::table::absorb_column;
                if $crate::Table::len(&other) < $crate::table::LARGE_ROWS {
                    $( absorb_column(&mut self.$column, other.$column, remap); )+
                    return;
                }
                rayon::scope(|scope| {
                    $(
                        let column = &mut self.$column;
                        scope.spawn(move |_| absorb_column(column, other.$column, remap));
                    )+
                });
            }
        }
    };
}
pub(crate) use table;
