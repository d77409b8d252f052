//! A stretch of time in columns.

use super::select::Stretch;

/// The columns of a picture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Raster {
    pub(crate) stretch: Stretch,
    pub(crate) columns: usize,
}

impl Raster {
    /// Where a column begins.
    pub(crate) fn begin(&self, column: usize) -> i64 {
        let part = self.stretch.length() * column as f64 / self.columns as f64;
        self.stretch.from.saturating_add(part as i64)
    }

    /// Length of a column in ns.
    pub(crate) fn column_ns(&self) -> f64 {
        self.stretch.length() / self.columns as f64
    }
}
