//! Gives the answers to browsers and assistants: which recordings there are (the shelf), what a question's address means
//! (`answers`), and a server for a browser on this machine, which only the feature `server` has.

mod answers;
#[cfg(feature = "server")]
mod server;
mod shelf;

pub use answers::answer;
#[cfg(feature = "server")]
pub use server::Server;
pub use shelf::{Entry, Library, LoadError, Shelf};
