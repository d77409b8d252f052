//! `fathom watch`: continuous monitoring of the JVMs of a host.
//!
//! The service reads a few cheap signals of each JVM all the time and keeps the last minute in memory. When a JVM turns
//! slow, the service records more together with the time before, explains the recording, and reports it. Three parts:
//!
//! * **Pure decisions**, without clock and I/O: [`signals`] turns the rows of a second into signals, [`triggers`] turns signals into
//!   reasons ([`port`] for requests with [`change_detector`] and [`rare`], [`rules`]), and [`admission`] decides what becomes a recording.
//! * **One `watched_jvm` for each JVM**, a thread that looks, keeps the [`ring`] and records (`capture`).
//! * **The `service`** around them: finding JVMs, explaining (`conclude`), telling, keeping the folder small (`retention`), a row of each JVM and
//!   minute ([`minutes`]), signals.
//!
//! Nothing is done that a JVM would feel, unless the configuration asks for it.

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
