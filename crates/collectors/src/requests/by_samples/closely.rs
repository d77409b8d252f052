//! Looks at one connection at short distances, which show whether it carries several requests at once: at the distance of the
//! other looks a busy one has always sent and received.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use super::connections::Known;
use crate::clock::monotonic_ns;
use crate::rate_limit::RateLimit;
use crate::sock_diag::SockDiag;

/// A quick service takes some hundred µs for a request.
const APART: Duration = Duration::from_micros(250);

/// Of one connection: some requests of a thousand a second, in less than a tenth of the time between two other looks.
const FOR: Duration = Duration::from_millis(10);

/// The first seconds of a recording should decide it: for so many looks CPU is not limited, which takes 1 % of a core for some seconds.
const AT_ONCE: u32 = 50;

/// From then on it may take a quarter of a percent of a core.
const PERIOD: Duration = Duration::from_millis(100);

/// What came and went is seen only where at least so much did between two other looks.
const BUSY: u32 = 2;

/// When to look closely.
#[derive(Debug)]
pub(super) struct Closely {
    limit: RateLimit,
    count: u32,
}

impl Closely {
    pub(super) fn new() -> Closely {
        Closely { limit: RateLimit::every(PERIOD), count: 0 }
    }

    /// Looks at one of these connections, if one needs it.
    pub(super) fn look(&mut self, kernel: &mut SockDiag, known: &mut HashMap<u64, Known>) {
        let is_wanted = |one: &&mut Known| one.busy >= BUSY && !one.several.is_known();
        // The busiest of those that were looked at least.
        let Some(one) = known.values_mut().filter(is_wanted).max_by_key(|one| one.busy / (1 + one.closely)) else {
            return;
        };
        if self.count < AT_ONCE {
            watch(kernel, one);
        } else if let Some(reading) = self.limit.begin(monotonic_ns()) {
            watch(kernel, one);
            self.limit.end(reading);
        } else {
            return;
        }
        self.count = self.count.saturating_add(1);
    }
}

fn watch(kernel: &mut SockDiag, one: &mut Known) {
    one.closely = one.closely.saturating_add(1);
    let until_ns = monotonic_ns() + FOR.as_nanos() as i64;
    while monotonic_ns() < until_ns && !one.several.is_known() {
        let Some(seen) = kernel.again(&one.name) else { return };
        one.look_closely(&seen);
        thread::sleep(APART);
    }
}
