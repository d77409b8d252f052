//! What the runner says while a lab runs.

use std::fmt;
use std::io::{IsTerminal, Write, stderr};

use crate::declaration::PhaseRole;

/// Receives the progress of a run.
pub trait Progress {
    /// A step of the runner: what will happen, what happens now.
    fn says(&mut self, text: &str);
    /// A second of the service under load has passed.
    fn second(&mut self, second: &Second);
}

/// The name of the phase that begins with this line of the program, if any.
pub(crate) fn phase_that_begins(line: &str) -> Option<&str> {
    line.strip_prefix("phase_begins=")
}

/// What the clients saw in one second.
#[derive(Debug, Clone, PartialEq)]
pub struct Second {
    /// Since the first request was sent.
    pub second: u64,
    /// The phase's name.
    pub phase: String,
    /// What the phase is for; none if the declaration does not have the phase.
    pub role: Option<PhaseRole>,
    /// Requests answered in this second.
    pub requests: u64,
    /// Their median latency.
    pub p50_ms: f64,
    /// Their 99th percentile.
    pub p99_ms: f64,
    /// Their longest latency.
    pub max_ms: f64,
}

impl Second {
    /// Reads a line of the program that consists of `name=value`; other lines do not describe a second.
    pub(crate) fn parse(line: &str, role: impl Fn(&str) -> Option<PhaseRole>) -> Option<Self> {
        let value = |name: &str| {
            let mut fields = line.split(' ').filter_map(|field| field.split_once('='));
            fields.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        let phase = value("phase")?;
        Some(Self {
            second: value("second")?.parse().ok()?,
            phase: phase.to_owned(),
            role: role(phase),
            requests: value("requests")?.parse().ok()?,
            p50_ms: value("p50_ms")?.parse().ok()?,
            p99_ms: value("p99_ms")?.parse().ok()?,
            max_ms: value("max_ms")?.parse().ok()?,
        })
    }
}

impl fmt::Display for Second {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { second, phase, requests, p50_ms, p99_ms, max_ms, .. } = self;
        write!(
            f,
            "{second:>4} s  {phase:<10} {requests:>6}/s  p50 {p50_ms:>8.2} ms  p99 {p99_ms:>8.2} ms  max {max_ms:>8.2} ms"
        )
    }
}

/// Progress as text on standard error: each second on a terminal, every fifth elsewhere.
#[derive(Debug)]
pub struct TextProgress {
    every: u64,
}

impl TextProgress {
    /// The type of standard error decides how often to print.
    #[must_use]
    pub fn to_stderr() -> Self {
        Self { every: if stderr().is_terminal() { 1 } else { 5 } }
    }
}

impl Progress for TextProgress {
    // A lab must not fail because its progress cannot be shown: write errors are ignored.
    fn says(&mut self, text: &str) {
        let _ = writeln!(stderr(), "{text}");
    }

    fn second(&mut self, second: &Second) {
        if second.second.is_multiple_of(self.every) {
            let _ = writeln!(stderr(), "{second}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_program() {
        let good = "second=12 time_ms=1795156534898 phase=after requests=356 p50_ms=0.151 p99_ms=2.749 max_ms=4.251";
        for (line, expected) in [
            (good, Some("  12 s  after         356/s  p50     0.15 ms  p99     2.75 ms  max     4.25 ms")),
            ("OpenJDK 64-Bit Server VM warning: something", None),
            ("second=12 phase=after requests=many p50_ms=1 p99_ms=1 max_ms=1", None),
            ("", None),
        ] {
            let second = Second::parse(line, |_| Some(PhaseRole::Exposed));
            assert_eq!(second.map(|second| second.to_string()).as_deref(), expected, "{line}");
        }
    }
}
