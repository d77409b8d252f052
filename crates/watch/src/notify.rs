//! Reports the state of the service to systemd (`sd_notify`): a datagram to the socket that systemd names.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Where notifications go; `None` if the service was not started by systemd.
#[derive(Debug)]
pub(crate) struct Notify(Option<(UnixDatagram, SocketAddr)>);

impl Notify {
    /// As the environment says.
    pub(crate) fn from_env() -> Notify {
        Notify(std::env::var_os("NOTIFY_SOCKET").and_then(|name| Notify::to(name.as_bytes())))
    }

    fn to(name: &[u8]) -> Option<(UnixDatagram, SocketAddr)> {
        let address = match name.strip_prefix(b"@") {
            Some(abstract_name) => SocketAddr::from_abstract_name(abstract_name).ok()?,
            None => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(name)).ok()?,
        };
        Some((UnixDatagram::unbound().ok()?, address))
    }

    /// Sends a state, for example `READY=1`. Nothing can be done when systemd does not take it.
    pub(crate) fn says(&self, state: &str) {
        if let Some((socket, address)) = &self.0 {
            let _ = socket.send_to_addr(state.as_bytes(), address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_arrive() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let systemd = UnixDatagram::bind(&path).unwrap();
        Notify(Notify::to(path.as_os_str().as_bytes())).says("READY=1");
        let mut bytes = [0; 64];
        let length = systemd.recv(&mut bytes).unwrap();
        assert_eq!(&bytes[..length], b"READY=1");
        Notify(None).says("READY=1");
    }
}
