//! Requests that were measured at sockets: how many, how long, how much of it users lost.

use fathom_causes::explanation::{Explanation, PortFailures, PortSummary, SlowRequests};
use fathom_causes::format::count;

use super::detail::Detail;
use crate::sheet::{Sheet, Tone, styled};
use crate::units;

/// The median of all is printed beside the usual one if it is so many times as long.
const TOLD_FROM: f64 = 1.25;

/// Less than this part of their time is not printed.
const MIN_PART: f64 = 0.01;

pub(super) fn write(sheet: &mut Sheet, explanation: &Explanation, detail: &Detail<'_>) {
    for port in explanation.requests.iter().take(detail.ports) {
        sheet.paragraph(2, Tone::Plain, &says(port));
        if let Some(text) = divided(&port.slow) {
            sheet.paragraph(4, Tone::Plain, &text);
        }
    }
    if let Some(hidden) = explanation.requests.len().checked_sub(detail.ports).filter(|hidden| *hidden > 0) {
        sheet.line(2, [styled(Tone::Faint, &format!("requests at {hidden} more ports: --all"))]);
    }
}

/// For example `12,340 requests at :8080: p50 1.2 ms, p99 48 ms, longest 312 ms; 17 s lost in waiting`.
fn says(port: &PortSummary) -> String {
    let [p50, p99, longest, lost] =
        [port.p50_ns, port.p99_ns, port.longest_ns, port.lost_ns].map(|ns| units::amount(ns, "ns"));
    let known_to = match port.uncertain_ns {
        ns if ns > 0.0 => format!(" (known to {})", units::amount(ns, "ns")),
        _ => String::new(),
    };
    let usual = match port.p50_ns > TOLD_FROM * port.usual_ns {
        true => format!(" (usual {})", units::amount(port.usual_ns, "ns")),
        false => String::new(),
    };
    let unanswered = match port.unanswered_count {
        0 => String::new(),
        all if all == port.count => ", none answered".to_owned(),
        some => format!(", {some} never answered"),
    };
    let lengths = match port.count {
        0 => String::new(),
        // Without an answer the usual latency is unknown.
        _ if 2 * port.unanswered_count > port.count => format!(": p50 {p50}, p99 {p99}, longest {longest}{known_to}"),
        _ => format!(": p50 {p50}{usual}, p99 {p99}, longest {longest}{known_to}; {lost} lost in waiting"),
    };
    let requests = count(port.count as usize, "request");
    let streams = match port.streams_count {
        0 => "",
        all if all == port.count => " (streams of HTTP/2)",
        _ => " (some of them streams of HTTP/2)",
    };
    format!(
        "{requests} at {}{streams}{unanswered}{lengths}{}{}",
        port.port,
        several_at_once(port),
        failed(&port.failed)
    )
}

/// For example `; 3 connections were reset; 120 curt answers (a tenth of the usual time and bytes, as errors are)`.
fn failed(failed: &PortFailures) -> String {
    let told = [
        (failed.reset_count, "connection", " reset"),
        (failed.closed_unanswered_count, "connection", " closed without any answer"),
        (failed.curt_count, "curt answer", " (a tenth of the usual time and bytes, as errors are)"),
    ];
    let told = told.into_iter().filter(|(failed, ..)| *failed > 0);
    told.map(|(failed, what, how)| format!("; {}{how}", count(failed as usize, what))).collect()
}

/// For example `; 120 times several at once on one connection (HTTP/2, HBase, Kafka): how long each took is not known; data came 1,003 times
/// a second and was sent 1,001 times`.
fn several_at_once(port: &PortSummary) -> String {
    let data = port.data.as_ref().map_or(String::new(), |data| {
        let seconds = data.arrivals_count as f64 / data.arrivals_per_s.max(f64::MIN_POSITIVE);
        let [came, sent] =
            [data.arrivals_count, data.sends_count].map(|times| (times as f64 / seconds).round() as usize);
        format!("; data came {} a second and was sent {}", count(came, "time"), count(sent, "time"))
    });
    match port.overlapping_count as usize {
        0 => String::new(),
        several => format!(
            "; {} several at once on one connection (HTTP/2, HBase, Kafka, WebSocket): how long each took is not known{data}",
            count(several, "time")
        ),
    }
}

/// For example `7 slow ones: 71 % of their time unread in the socket (who read them at last: waiting for locks (60 %)), 29 % in service`.
fn divided(slow: &SlowRequests) -> Option<String> {
    let part = |ns: f64| ns / slow.total_ns.max(1.0);
    let reader = match slow.unread_while.as_str() {
        "" => String::new(),
        what => format!(" (who read them at last: {what})"),
    };
    let parts = [
        (slow.unread_ns, format!("unread in the socket{reader}")),
        (slow.queued_ns, "in line for a worker".to_owned()),
        (slow.service_ns, "in service".to_owned()),
        (slow.calls_ns, "in calls of other services".to_owned()),
        (slow.unsent_ns, "not sent yet".to_owned()),
        (slow.unknown_ns, "not known where".to_owned()),
    ];
    let told: Vec<String> = parts
        .iter()
        .filter(|(ns, _)| part(*ns) >= MIN_PART)
        .map(|(ns, what)| format!("{} {what}", units::amount(part(*ns), "ratio")))
        .collect();
    (slow.count > 0 && !told.is_empty())
        .then(|| format!("{}: {}", count(slow.count as usize, "slow one"), told.join(", ")))
}
