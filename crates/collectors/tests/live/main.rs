//! Collectors against real JVMs. A JDK, or a right, that this machine lacks is said in one line.

#![allow(clippy::unwrap_used)]

mod async_profiler;
mod attach;
mod compiled_code;
mod cpu_samples;
mod datagrams;
mod gc_log;
mod hsperfdata;
mod jcmd;
mod jfr;
mod jvm;
mod jvm_probes;
mod jvms;
mod others;
mod recorded;
mod requests;
mod standing;
