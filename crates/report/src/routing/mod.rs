//! Where keys go: two routing functions applied to real keys, and what happens when a node dies.
//!
//! Tier one sends each key to a node; when that node dies, tier two sends its keys to others. A dead
//! node's keys are no random sample: they all have the same answer of the first function. If the second
//! depends on the first, they reach only some nodes of tier two, which no chart of normal operation shows.
//! [`examine()`] applies both functions to keys and judges. Everything here is pure: no I/O, no clock, no
//! randomness but that of the functions themselves, so that the same keys always give the same answer.

mod answer;
mod examine;
mod hash;
mod independence;
mod keys;
mod placement;
mod route;

pub use answer::{Routing, text};
pub use examine::{Examination, Failover, HotKey, Tier, Verdict, examine};
pub use hash::Hash;
pub use independence::Independence;
pub use keys::{Keys, MAX_DISTINCT, field};
pub use route::{MAX_NODES, Route, RouteError};
