//! Whether something is on both sides.

use serde::Serialize;

/// What became of something from the first side to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Appearance {
    /// In most runs of the second side, and in none of the first.
    Appeared,
    /// In most runs of the first side, and in none of the second.
    Went,
    /// Anything else.
    Both,
}
