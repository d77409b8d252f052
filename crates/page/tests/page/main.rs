//! The page's answers compared with independently computed counts, and everything that could go wrong with them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod answers;
mod hostile;
mod runs;
mod server;
mod single_file;
mod stacks;
mod threads;
mod world;
