//! That the JVM crashed, and why, from its error file.

use fathom_evidence::detail::{Crash, from_text};
use fathom_evidence::kinds::span;

use crate::comparison::Comparison;
use crate::format;

/// Threads of the JVM may have names of any length, in characters.
const NAME_MAX: usize = 60;

/// `the JVM died 2.7 s after its start: SIGSEGV at address 0x0 in ..., in thread http-worker-3`.
pub(crate) fn says(comparison: &Comparison<'_>) -> Option<String> {
    let recording = comparison.recording();
    let row = comparison.sources().spans(span::CRASH).last()?;
    let detail: Crash = from_text(recording.text(row.detail));
    let after = match detail.uptime_ns {
        None => String::new(),
        // Some versions write whole seconds.
        Some(0) => " within its first second".to_owned(),
        Some(ns) => format!(" {} after its start", format::time(ns as f64)),
    };
    let thread = detail
        .thread
        .map_or(String::new(), |name| format!(", in thread {}", name.chars().take(NAME_MAX).collect::<String>()));
    let mappings = detail.mappings.zip(detail.mappings_max);
    let mappings = mappings.map_or(String::new(), |(used, max)| {
        format!("; {} of {} memory mappings were used", format::number(used as f64), format::number(max as f64))
    });
    let available = detail.available_bytes.map_or(String::new(), |bytes| {
        format!("; the machine had {} of memory available", format::bytes(bytes as f64))
    });
    Some(format!("the JVM died{after}: {}{thread}{mappings}{available}", recording.text(row.name)))
}
