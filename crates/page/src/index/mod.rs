//! A recording sorted for questions: each part is built once, when the recording is loaded.

pub(crate) mod change;
pub(crate) mod cover;
pub(crate) mod figures;
pub(crate) mod joins;
pub(crate) mod lane;
pub(crate) mod lanes;
pub(crate) mod lasting;
pub(crate) mod provenance;
pub(crate) mod reasons;
pub(crate) mod requests;
pub(crate) mod samples;
pub(crate) mod spans;
pub(crate) mod stacks;
pub(crate) mod threads;
pub(crate) mod tree;
pub(crate) mod words;
