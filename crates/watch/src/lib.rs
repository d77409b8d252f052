//! `fathom watch`: there when it happens.
//!
//! A service on the host that reads a few cheap signals of each JVM all the time, keeps the last minute in memory, notices
//! when a JVM turns slow, records more with the time before, has it explained, and tells somebody. Three parts:
//!
//! * **Pure decisions**, without clock and I/O: [`signals`] of a second from the rows that collectors find, [`triggers`] from
//!   signals ([`port`] for requests with [`ladder`] and [`rare`], [`rules`]), and the [`desk`] that says what becomes a recording.
//! * **One `scout` for each JVM**, a thread that looks, keeps the [`ring`] and records (`capture`).
//! * **The `service`** around them: finding JVMs, explaining (`conclude`), telling, the folder (`shelf`), a row of each JVM and
//!   minute ([`minutes`]), signals.
//!
//! Nothing is done to a JVM that it would feel, unless the configuration asks for it.

mod beside;
mod capture;
mod climber;
mod conclude;
pub mod config;
pub mod control;
pub mod desk;
mod duty;
mod ended;
mod finder;
mod glob;
mod host;
mod host_events;
mod incident;
mod kept;
mod labels;
pub mod ladder;

mod latencies;
pub mod levels;
mod log;
mod lost;
mod metrics;
pub mod minutes;
mod notify;
pub mod port;
mod postponed;
pub mod quiet;
pub mod rare;
pub mod ring;
mod rings;
pub mod rules;
mod scout;
mod service;
mod service_group;
mod shelf;
mod shortage;
pub mod signals;
mod skip;
pub mod status;
pub mod targets;
mod tell;
mod times;
pub mod triggers;
mod trusted;

pub use incident::{Incident, Verdict};
pub use service::{WatchError, run};
