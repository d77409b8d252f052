//! Requests that were measured at sockets: how many, how long, how much of it users lost.

use fathom_causes::explanation::{Explanation, PortSummary};

use crate::sheet::{Sheet, Tone, piece};
use crate::{TextOptions, units};

/// Ports that are told without being asked.
const SHOWN_PORTS: usize = 2;

pub(super) fn write(sheet: &mut Sheet, explanation: &Explanation, options: &TextOptions) {
    let shown = if options.all { usize::MAX } else { SHOWN_PORTS };
    for port in explanation.requests.iter().take(shown) {
        sheet.paragraph(2, Tone::Plain, &says(port));
    }
    if let Some(hidden) = explanation.requests.len().checked_sub(shown).filter(|hidden| *hidden > 0) {
        sheet.line(2, [piece(Tone::Faint, &format!("requests at {hidden} more ports: --all"))]);
    }
}

/// For example `12,340 requests at :8080: p50 1.2 ms, p99 48 ms, longest 312 ms; 17 s of waiting lost`.
fn says(port: &PortSummary) -> String {
    let [p50, p99, longest, lost] =
        [port.p50_ns, port.p99_ns, port.longest_ns, port.lost_ns].map(|ns| units::amount(ns, "ns"));
    let (count, plural) = (units::amount(port.count as f64, ""), if port.count == 1 { "" } else { "s" });
    format!(
        "{} request{plural} at {}: p50 {p50}, p99 {p99}, longest {longest}; {lost} lost in waiting",
        count.trim(),
        port.port
    )
}
