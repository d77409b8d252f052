//! Listening sockets: how many connections are in their queues, how many may be, and how many were refused.

use std::io;
use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::kinds::{counter, loss};

use super::SOURCE;
use super::owned::OwnedSockets;
use crate::changed_counters::ChangedCounters;
use crate::rate_limit::RateLimit;
use crate::sock_diag::{LISTENING, SockDiag, Socket};
use crate::{Clock, Target};

/// A queue of a few places is full within a moment.
const PERIOD: Duration = Duration::from_millis(100);

/// Who asks for them.
pub(super) struct Listeners {
    kernel: io::Result<SockDiag>,
    pub(super) limit: RateLimit,
}

impl Listeners {
    pub(super) fn of(target: &Target) -> Listeners {
        Listeners { kernel: SockDiag::of(target), limit: RateLimit::every(PERIOD) }
    }

    /// Whether the kernel reports them.
    pub(super) fn are_seen(&self) -> bool {
        self.kernel.is_ok()
    }

    /// Writes the numbers of the target's own that changed.
    pub(super) fn look(
        &mut self,
        own: &OwnedSockets,
        clock: Clock,
        numbers: &mut ChangedCounters,
        found: &mut Recording,
    ) {
        let at_ns = clock.now_ns();
        let (Ok(kernel), Some(reading)) = (&mut self.kernel, self.limit.begin(at_ns)) else { return };
        let is_own = |socket: &Socket| own.has(u64::from(socket.inode), u64::from(socket.uid));
        let asked = kernel.each(LISTENING, |socket| {
            if is_own(&socket) {
                see(&socket, at_ns, numbers, found);
            }
        });
        self.limit.end(reading);
        if let Err(error) = asked {
            self.kernel = Err(error);
        }
    }

    /// Says what was not seen.
    pub(super) fn tell(&self, found: &mut Recording) {
        self.limit.tell(found, SOURCE, "the sockets that wait for connections");
        if let Err(error) = &self.kernel {
            let says = format!(
                "how many connections were turned away because they were not accepted is not known ({error}); in \
                 another network namespace that takes CAP_SYS_ADMIN"
            );
            found.add_loss(SOURCE, loss::REFUSED, 0, &says);
        }
    }
}

fn see(socket: &Socket, at_ns: i64, numbers: &mut ChangedCounters, found: &mut Recording) {
    let name = format!("tcp {} #{}", socket.port, socket.inode);
    let mut see = |counter: &'static str, value: u32| numbers.see(found, at_ns, counter, &name, f64::from(value));
    see(counter::SOCKET_ACCEPT_QUEUE_COUNT, socket.receive_queue);
    see(counter::SOCKET_ACCEPT_QUEUE_LIMIT_COUNT, socket.send_queue);
    if let Some(drops) = socket.drops {
        see(counter::SOCKET_ACCEPT_DROPS_COUNT, drops);
    }
}
