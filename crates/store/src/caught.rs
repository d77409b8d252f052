//! The Parquet library panics at some damage. That is damage of the file, not a bug of the program: it becomes a loss.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread is caught and told as damage, so that who reports panics has nothing to report.
pub fn is_caught() -> bool {
    IS_CAUGHT.get()
}

/// What `work` gives; `None` if it panics. Nothing that it had in hand may be used after that.
pub(crate) fn attempt<T>(work: impl FnOnce() -> T) -> Option<T> {
    IS_CAUGHT.set(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    IS_CAUGHT.set(false);
    done.ok()
}
