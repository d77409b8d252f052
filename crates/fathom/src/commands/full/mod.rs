//! Commands whose libraries take long to build and that a demonstration does not need.

pub(crate) mod completions;
pub(crate) mod export;
pub(crate) mod open;

use super::Answer;
