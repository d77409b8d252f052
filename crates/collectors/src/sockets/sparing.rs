//! Losses of sockets, for continuous monitoring. The total losses of the network namespace are read each second, the sockets
//! themselves only when that total has risen, and now and then to find new ones. For that the kernel walks all its sockets.

use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::Recording;

use super::{Protocol, Watch, parse};
use crate::Observer;
use crate::clock::thread_cpu_ns;
use crate::rate_limit::RateLimit;

/// Time from one look at the counters of the namespace to the next.
const PERIOD: Duration = Duration::from_secs(1);

/// Time between two looks at the sockets where others in the namespace lose something all the time.
const AFTER_A_LOSS: Duration = Duration::from_secs(10);

/// How old a socket is at most before its losses are seen as such: one that is met for the first time may have lost it long ago.
const LEARN: Duration = Duration::from_secs(60);

/// The counters of losses at sockets that are not read in time, and of UDP over IPv6.
const LOSSES: [(&str, &str); 2] = [("Udp", "RcvbufErrors"), ("TcpExt", "ListenDrops")];
const LOSSES_6: &str = "RcvbufErrors";

/// Sockets that are looked at rarely.
pub(super) struct Sparing {
    watch: Watch,
    /// What the namespace lost by the last look.
    lost: Option<u64>,
    has_risen: bool,
    after_a_loss: RateLimit,
    learn: RateLimit,
}

impl Sparing {
    pub(super) fn of(mut watch: Watch) -> Sparing {
        watch.tables.retain(|table| table.protocol == Protocol::Udp);
        Sparing {
            watch,
            lost: None,
            has_risen: false,
            after_a_loss: RateLimit::every(AFTER_A_LOSS),
            learn: RateLimit::every(LEARN),
        }
    }

    /// What the namespace has lost.
    fn losses(&mut self) -> u64 {
        let Watch { buffer, snmp, netstat, snmp6, .. } = &mut self.watch;
        let mut lost = 0_u64;
        for file in [Some(&*snmp), netstat.as_ref()].into_iter().flatten() {
            let Ok(text) = file.read(buffer) else { continue };
            parse::protocols(text, |protocol, field, value| {
                lost = lost.wrapping_add(if LOSSES.contains(&(protocol, field)) { value } else { 0 });
            });
        }
        let text = snmp6.as_ref().and_then(|file| file.read(buffer).ok());
        let of_6 = text.into_iter().flat_map(parse::protocols_6).filter(|(field, _)| *field == LOSSES_6);
        of_6.fold(lost, |lost, (_, value)| lost.wrapping_add(value))
    }

    fn look_at_sockets(&mut self, now_ns: i64, found: &mut Recording) {
        let began_cpu_ns = thread_cpu_ns();
        self.has_risen = false;
        self.watch.look_at_all_now(found);
        let took_ns = thread_cpu_ns() - began_cpu_ns;
        self.after_a_loss.done(now_ns, took_ns);
        self.learn.done(now_ns, took_ns);
    }
}

impl Observer for Sparing {
    fn period(&self) -> Duration {
        PERIOD
    }

    fn is_sparing(&self) -> bool {
        true
    }

    fn look(&mut self, found: &mut Recording) {
        let now_ns = self.watch.clock.now_ns();
        let lost = self.losses();
        self.has_risen |= self.lost.replace(lost).is_some_and(|before| before != lost);
        if self.has_risen && self.after_a_loss.is_due(now_ns) || self.learn.is_due(now_ns) {
            self.look_at_sockets(now_ns, found);
        }
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.look_at_sockets(self.watch.clock.now_ns(), found);
        self.watch.numbers.close(found);
        Vec::new()
    }
}
