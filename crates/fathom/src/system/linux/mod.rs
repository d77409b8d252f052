//! What the program asks of Linux.

pub(crate) mod confine;
pub(crate) mod folder;
pub(crate) mod left_in_jvm;
pub(crate) mod owner;
pub(crate) mod unpacked;
#[cfg(feature = "full")]
pub(crate) mod watched;
