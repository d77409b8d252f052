//! `fathom watch`: there when it happens.
//!
//! A service on the host that reads a few cheap signals of each JVM all the time, keeps the last minute in memory, notices
//! when a JVM turns slow, records more with the time before, has it explained, and tells somebody. Three parts:
//!
//! * **Pure decisions**, without clock and I/O: [`signals`] of a second from the rows that collectors find, [`triggers`] from
//!   signals ([`port`] for requests with [`change_detector`] and [`rare`], [`rules`]), and the [`admission`] that says what becomes a recording.
//! * **One `watched_jvm` for each JVM**, a thread that looks, keeps the [`ring`] and records (`capture`).
//! * **The `service`** around them: finding JVMs, explaining (`conclude`), telling, keeping the folder small (`retention`), a row of each JVM and
//!   minute ([`minutes`]), signals.
//!
//! Nothing is done to a JVM that it would feel, unless the configuration asks for it.

pub mod admission;
mod block_detector;
mod capture;
pub mod change_detector;
mod conclude;
pub mod config;
pub mod control;
mod ended;
mod finder;
mod glob;
mod host;
mod host_events;
mod idle;
mod incident;
mod incident_handler;
mod kept;
mod latencies;
pub mod levels;
mod log;
mod lost;
mod metrics;
pub mod minutes;
mod notify;
mod places;
pub mod port;
mod postponed;
pub mod quiet;
pub mod rare;
mod refusals;
mod retention;
pub mod ring;
mod rings;
pub mod rules;
mod segment;
mod service;
mod service_group;
mod shortage;
mod sidecars;
pub mod signals;
mod skip;
pub mod status;
pub mod targets;
mod tell;
mod times;
mod together;
pub mod triggers;
mod trusted;
mod usual;
mod watched_jvm;

pub use incident::{Incident, Verdict};
pub use service::{WatchError, run};
