//! Page faults with their latency, thread, place and stacks.
//!
//! A fault that waits for a disk stops one thread for as long as the disk takes, and no profiler of CPU time shows it.
//! Faults are classified by how long they took, never by whether the kernel calls them major: waiting for a page that
//! another thread is reading counts as minor. Programs in the kernel ([`by_bpf`]) count every fault there; only those
//! above the threshold leave it, with what the thread waited for there, and its registers and a copy of its stack, as
//! the code that faults first (loader, C library) has no frame pointers. Where programs are not allowed, the kernel's
//! events of faults are read one by one ([`by_perf`]): the same latencies, but not what was waited for.

mod by_bpf;
mod by_perf;
mod pairs;
mod parse;
mod rows;

use std::time::Duration;

use crate::{Collector, Lesser, Observer, Order, Refusal, Target, Tier};
use rows::Fault;

const NAME: &str = "page_faults";

/// Counts are written so often.
const COUNT_PERIOD: Duration = Duration::from_secs(1);

/// Powers of two of ns that latencies are counted by.
const BUCKETS: u32 = 40;

pub(crate) static COLLECTOR: PageFaults = PageFaults { may_use_bpf: true };

/// The collector.
pub(crate) struct PageFaults {
    may_use_bpf: bool,
}

impl PageFaults {
    /// What stands in the way of programs in the kernel, if anything does.
    fn without_bpf(&self, target: &Target) -> Option<Refusal> {
        if !self.may_use_bpf {
            return Some(Refusal::new("programs in the kernel are not wanted", ""));
        }
        by_bpf::attached(target, i64::MAX).err()
    }
}

impl Collector for PageFaults {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sees(&self) -> &'static str {
        "page faults with their latency, file and section, user stack, and kernel stack of the wait"
    }

    fn tier(&self) -> Tier {
        Tier::Bpf
    }

    fn check(&self, target: &Target) -> Result<(), Refusal> {
        match self.without_bpf(target) {
            None => Ok(()),
            Some(refusal) => by_perf::check(target).map_err(|also| refusal.and(&also)),
        }
    }

    fn lesser(&self, target: &Target) -> Option<Lesser> {
        let refusal = self.without_bpf(target)?;
        Some(Lesser { tier: Tier::Perf, sees: by_perf::SEES.to_owned(), refusal })
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        let refusal = match self.may_use_bpf {
            true => match by_bpf::start(target, order) {
                Ok(observer) => return Ok(observer),
                Err(refusal) => refusal,
            },
            false => Refusal::new("programs in the kernel are not wanted", ""),
        };
        by_perf::start(target, order, &refusal).map_err(|also| refusal.and(&also))
    }
}

#[cfg(test)]
mod tests;
