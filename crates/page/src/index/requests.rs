//! Requests of the service by the port that they came to, in order of their beginning, with how many each row represents.
//!
//! The leading port is the one whose requests the account uses. A stretch in which a connection had several requests at
//! once does not say how long any of them took, so it is not included.

use std::collections::BTreeMap;

use fathom_evidence::StrId;
use fathom_evidence::detail::{Request, from_text};
use fathom_evidence::kinds::span;
use fathom_timeline::Sources;

use super::spans::duration;
use crate::axis::Axis;

/// All requests.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    ports: Vec<Port>,
}

/// The requests of one port; of a latency file all.
#[derive(Debug, Default)]
pub(crate) struct Port {
    /// For example `:8080`; empty of a latency file.
    pub(crate) name: String,
    /// Ascending, in ns since the origin.
    begin: Vec<i64>,
    length_ns: Vec<i64>,
    weight: Vec<f32>,
}

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    pub(crate) length_ns: i64,
    /// How many requests it stands for.
    pub(crate) weight: f64,
}

impl Requests {
    pub(crate) fn new(view: &Sources<'_>, axis: &Axis) -> Requests {
        let recording = view.recording;
        let mut by_port: BTreeMap<StrId, Port> = BTreeMap::new();
        for row in view.rows(span::REQUEST) {
            let place = *row as usize;
            let detail: Request = match recording.text(recording.spans.detail[place]) {
                "" => Request::default(),
                detail => from_text(detail),
            };
            if detail.overlapping.unwrap_or(false) {
                continue;
            }
            let port = if view.traffic.ports().is_empty() { StrId(0) } else { recording.spans.name[place] };
            let name = || Port { name: recording.text(port).to_owned(), ..Port::default() };
            let requests = by_port.entry(port).or_insert_with(name);
            requests.begin.push(axis.at(recording.spans.time_ns[place]));
            requests.length_ns.push(duration(recording, *row));
            requests.weight.push(detail.stands_for.unwrap_or(1).max(1) as f32);
        }
        let rank = |port: &StrId| view.traffic.ports().iter().position(|known| known.name == *port);
        let mut ports: Vec<(Option<usize>, Port)> = by_port.into_iter().map(|(id, port)| (rank(&id), port)).collect();
        ports.sort_by_key(|(rank, _)| rank.unwrap_or(usize::MAX));
        Requests { ports: ports.into_iter().map(|(_, port)| port).collect() }
    }

    /// The ports, the one that leads first.
    pub(crate) fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// Those of a port; of the one that leads if none is named.
    pub(crate) fn of(&self, port: &str) -> Option<&Port> {
        if port.is_empty() { self.ports.first() } else { self.ports.iter().find(|known| known.name == port) }
    }
}

impl Port {
    /// Those that began in some time.
    pub(crate) fn within(&self, from: i64, to: i64) -> impl Iterator<Item = Taken> + '_ {
        let first = self.begin.partition_point(|begin| *begin < from);
        let end = self.begin.partition_point(|begin| *begin < to).max(first);
        (first..end).map(|row| Taken { length_ns: self.length_ns[row], weight: f64::from(self.weight[row]) })
    }
}
