//! Latencies of two recordings are compared port by port: the latency of an admin page is no usual latency of an order.

use std::collections::HashMap;

use fathom_evidence::Recording;

use super::users::{AtSockets, Port, late_ns, leads};

/// A recording with its requests at sockets.
pub(crate) type Measured<'r, 's> = (&'r Recording, &'s mut AtSockets);

/// Lets the port lead at which requests lost most time against the other recording, and lets that one's requests to the same
/// port be what is usual. Whether there is such a port, or nothing of the kind to compare.
pub(crate) fn pair(own: Measured<'_, '_>, usual: Measured<'_, '_>) -> bool {
    let ((recording, own), (other, usual)) = (own, usual);
    if own.ports.is_empty() || usual.ports.is_empty() {
        return true;
    }
    let median: HashMap<&str, f64> = usual.ports.iter().map(|port| (other.text(port.name), port.p50_ns)).collect();
    let all: f64 = own.ports.iter().map(Port::all).sum();
    let lost = |index: usize| {
        let port = &own.ports[index];
        let usual_ns = median.get(recording.text(port.name))?;
        Some((leads(port, all), late_ns(own.of_port(port.name), *usual_ns), port.count))
    };
    let ranked = (0..own.ports.len()).filter_map(|index| Some((lost(index)?, index)));
    let best = ranked.max_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let Some((_, index)) = best else {
        usual.forget();
        return false;
    };
    let name = own.ports[index].name;
    let same = usual.ports.iter().find(|port| other.text(port.name) == recording.text(name)).map(|port| port.name);
    own.lead(name);
    same.into_iter().for_each(|name| usual.lead(name));
    true
}

#[cfg(test)]
mod tests {
    use fathom_evidence::kinds::span;

    use super::*;
    use crate::traffic::users::AT_SOCKETS;

    /// A request each second at each of some ports, so many ms long.
    fn recording(ports: &[(&str, i64)]) -> Recording {
        let mut recording = Recording::default();
        for second in 0..60 {
            for (port, ms) in ports {
                recording.add_span(second * 1_000_000_000, ms * 1_000_000, 1, span::REQUEST, port, "", AT_SOCKETS);
            }
        }
        recording
    }

    fn leading(sick: &Recording, well: &Recording) -> (bool, Vec<String>) {
        let (mut own, mut usual) = (AtSockets::of(sick), AtSockets::of(well));
        let can = pair((sick, &mut own), (well, &mut usual));
        let first = |recording: &Recording, of: &AtSockets| {
            let port = of.ports.first().filter(|_| !of.requests.is_empty());
            port.map_or("", |port| recording.text(port.name)).to_owned()
        };
        (can, vec![first(sick, &own), first(well, &usual)])
    }

    #[test]
    fn the_port_that_became_slow_leads_in_both() {
        let well = recording(&[(":9090", 400), (":8080", 5)]);
        for (sick, expected) in [
            (recording(&[(":8080", 300), (":9090", 400)]), (true, vec![":8080".to_owned(), ":8080".to_owned()])),
            (recording(&[(":9090", 2_000), (":8080", 5)]), (true, vec![":9090".to_owned(), ":9090".to_owned()])),
            (recording(&[(":7070", 300)]), (false, vec![":7070".to_owned(), String::new()])),
        ] {
            assert_eq!(leading(&sick, &well), expected);
        }
        assert!(leading(&recording(&[]), &well).0, "there is nothing to compare");
    }
}
