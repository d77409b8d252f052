//! What was observed, in one shape for every source.
//!
//! A [`Recording`] holds everything known about one JVM over one stretch of time as a handful of
//! tables (see [`tables`]) plus dictionaries for what repeats (strings, frames, stacks, threads).
//! Readers and collectors fill it; the account of time and the causes read it. Constraints:
//!
//! * **One clock.** Every `time_ns` is nanoseconds since the Unix epoch; readers convert before they push.
//! * **Columns, not rows.** A recording has millions of rows; each table is a struct of vectors.
//! * **Ids, not text.** Text is interned once ([`Strings`]); stacks share their prefixes ([`Stacks`]).
//! * **Merging is the only way to combine.** Chunks, files and collectors each fill a recording of
//!   their own and [`Recording::absorb`] renumbers the ids, so that they can work in parallel.
//! * **Losses are rows.** What was lost, cut or refused is data like everything else.
//! * **No files.** How a recording gets to the disk and back is known to the crate `store` alone, through
//!   [`Table::values`]: who only thinks about recordings does not build Arrow and Parquet.

mod cpu_samples;
pub mod detail;
mod dictionaries;
mod foreign_times;
mod ids;
pub mod jar;
pub mod kinds;
pub mod mask;
pub mod memory;
pub mod process_memory;
mod recording;
pub mod roles;
mod sampled_waits;
pub mod schema;
pub mod settings;
mod stack_tree;
pub mod system_calls;
mod table;
pub mod tables;
mod values;

pub use dictionaries::{Frame, FrameId, Stack, StackId, Stacks, StrId, Strings, Thread, Threads};
pub use recording::{Finished, Recording, RowCounts};
pub use sampled_waits::{STANDING, looks_of};
pub use table::{ColumnDoc, Table};
pub use values::{Column, ColumnMut, ColumnType};

/// Makes cargo build this crate anew when another checkout uses the same target folder (`.cargo/config.toml`).
const _: Option<&str> = option_env!("FATHOM_CHECKOUT");

/// From this on, the thread of a counter is none: such numbers tell series of the same name apart, as those of two logs.
pub const SERIES_FROM: i64 = 1 << 40;
