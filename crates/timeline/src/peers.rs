//! Which peers of our sockets are services that we call, and which are clients that call us.
//!
//! Waiting for a service is lost time, waiting for a client's next request is not, and the two reads
//! look the same. A service is known by a port that clients are not given, or by several of our
//! threads talking to the same port: every connection of a client has a port of its own.

use std::collections::{HashMap, HashSet};

use fathom_evidence::detail::{Io, from_text};
use fathom_evidence::kinds::span;
use fathom_evidence::{Recording, StrId};

/// First port that Linux gives to clients by default.
const FIRST_CLIENT_PORT: u32 = 32_768;

/// The names (`host:port`) of the peers that are services.
pub(crate) fn services(recording: &Recording) -> HashSet<StrId> {
    let kinds = [span::SOCKET_READ, span::SOCKET_WRITE].map(|kind| recording.strings.find(kind));
    let sockets = recording.spans.rows().filter(|span| kinds.contains(&Some(span.kind)));
    let mut first_thread: HashMap<StrId, i64> = HashMap::new();
    let mut services = HashSet::new();
    for socket in sockets {
        let known = first_thread.insert(socket.name, socket.tid);
        let is_shared = known.is_some_and(|tid| tid != socket.tid);
        if is_shared || (known.is_none() && has_service_port(recording, socket.detail)) {
            services.insert(socket.name);
        }
    }
    services
}

fn has_service_port(recording: &Recording, detail: StrId) -> bool {
    let detail: Io = from_text(recording.text(detail));
    detail.port.is_some_and(|port| port > 0 && port < FIRST_CLIENT_PORT)
}
