//! Collectors against real JVMs. If this machine lacks a JDK or a right, one line says so.

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
