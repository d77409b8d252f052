//! Verdicts as text and as JSON.
//!
//! Everything here is a pure function from an answer to a `String`: no file, no terminal, no
//! clock. What a terminal can do (width, colour, time zone) comes in as [`TextOptions`], so that
//! the same answer always gives the same text. Constraints:
//!
//! * **Ten seconds.** The text is for an engineer on call: what was slow, why, how sure, what to do,
//!   in that order; the rest is there for those who ask (`all`).
//! * **Names are hostile.** Class, thread and file names come from files that others wrote. Every
//!   text passes through [`clean`] on its way out: a name cannot move the cursor or hide a line.
//! * **Nothing is hidden.** What was cut says how much was cut; what could not be decided is listed.

pub mod clean;
mod compared;
pub mod doctor;
mod history;
pub mod imported;
pub mod json;
pub mod jvms;
mod markdown;
pub mod probed;
pub mod recorded;
pub mod routing;
mod sheet;
mod text;
mod ticket;
pub mod touched;
pub mod units;

pub use compared::{comparison, comparison_as_markdown};
pub use history::{history, history_page, svg};
pub use markdown::page;
pub use text::{Variant, beside, causes, explanation};
pub use ticket::ticket;

use jiff::tz::TimeZone;

/// What the terminal can do and what the reader asked for.
#[derive(Debug, Clone)]
pub struct TextOptions {
    /// Columns that a line may fill.
    pub width: usize,
    /// Whether escape sequences for colour may be written.
    pub color: bool,
    /// Everything instead of what matters most.
    pub all: bool,
    /// The time zone of times of day.
    pub zone: TimeZone,
}
