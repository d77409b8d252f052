//! Whether it is enough to encrypt the Huffman tables of a DEFLATE stream: the prototype, and attacks on it.

pub mod bits;
pub mod codes;
#[cfg(feature = "cost")]
pub mod cost;
pub mod deflate;
pub mod documents;
pub mod history;
pub mod length;
pub mod likeness;
pub mod model;
pub mod seal;
pub mod search;
pub mod trials;
