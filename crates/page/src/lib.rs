//! The page: a recording as a browser shows it, served on this machine or written as one file.
//!
//! * [`Loaded`] is a recording prepared for questions: explained, sorted, in columns, in memory once.
//! * [`model`] answers them, one file per answer: pure functions from a recording and a question to bytes.
//! * [`serve`] gives the answers to a browser on this machine only.
//! * [`mcp`] gives them to assistants.
//! * [`single_file`] writes the page with its answers into one file that needs no server.
//!
//! The page itself is built from `ui/` and embedded by the build script. It knows no cause and no format of input
//! files; names from recordings are sent as data, never as markup.

mod axis;
mod columns;
mod index;
mod loaded;
pub mod mcp;
pub mod model;
mod query;
mod refused;
pub mod serve;
pub mod single_file;

pub use loaded::{About, Baseline, Loaded};
pub use model::export::marks;
pub use query::Query;
pub use refused::Refused;
