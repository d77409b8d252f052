//! Explanations made by hand, as text and as JSON.

mod answers;
mod json;
mod text;
