//! Which descriptors are sockets and which are files, known from the calls that make and use them.

use fathom_evidence::system_calls;
use rustc_hash::FxHashMap;

use crate::calls::Call;

/// Descriptors that are remembered: the kernel allows a process a million of them unless its limit was raised.
const MAX: usize = 1 << 20;

/// As `-y` and `-yy` write sockets.
const SOCKETS: &[&str] = &["socket:", "TCP", "UDP", "UNIX", "NETLINK", "PACKET", "RAW", "ICMP", "SCTP", "VSOCK"];

/// What a descriptor is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Socket,
    Path(String),
}

/// Those of the process that is traced.
#[derive(Debug, Default)]
pub(super) struct Descriptors(FxHashMap<i64, Kind>);

impl Descriptors {
    /// Learns from a call of which `traits` are true and that has returned; true if it was on a socket.
    pub(super) fn see(&mut self, call: &Call<'_>, traits: u16) -> bool {
        let is_socket = traits & system_calls::ON_SOCKETS != 0 || self.is_known_socket(call);
        let Some(result) = call.result else { return is_socket };
        if let (Some(descriptor), true) = (call.descriptor, is_socket) {
            self.insert(descriptor, Kind::Socket);
        }
        if result >= 0 {
            if traits & system_calls::GIVES_SOCKET != 0 {
                self.insert(result, Kind::Socket);
            } else if traits & system_calls::OPENS != 0 {
                self.insert(result, Kind::Path(text(call.path)));
            }
        }
        if let (Some(descriptor), "close") = (call.descriptor, call.name) {
            self.0.remove(&descriptor);
        }
        is_socket
    }

    /// The file of a call's descriptor, as far as it is known.
    pub(super) fn path(&self, call: &Call<'_>) -> Option<String> {
        if !call.target.is_empty() {
            return Some(text(call.target));
        }
        match self.0.get(&call.descriptor?)? {
            Kind::Socket => Some("socket:".to_owned()),
            Kind::Path(path) => Some(path.clone()),
        }
    }

    fn is_known_socket(&self, call: &Call<'_>) -> bool {
        match call.target {
            [] => call.descriptor.and_then(|descriptor| self.0.get(&descriptor)) == Some(&Kind::Socket),
            // Most are files.
            [b'/', ..] => false,
            target => SOCKETS.iter().any(|word| target.starts_with(word.as_bytes())),
        }
    }

    fn insert(&mut self, descriptor: i64, kind: Kind) {
        if self.0.len() < MAX {
            self.0.insert(descriptor, kind);
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
