//! Java code of the target, read from its memory piece by piece as stacks show it, without a question to the JVM.

use std::time::{Duration, Instant};

use fathom_symbols::elf::ReadAt;
use fathom_symbols::hotspot::HotSpot;
use fathom_symbols::jit::SEARCHED_BYTES;
use fathom_symbols::process::Process;
use rustc_hash::FxHashMap;

use super::{Bytes, memory};
use crate::Target;

/// For so long what was found at an address is believed: methods are compiled again, and others come to lie there.
pub(super) const BELIEVED: Duration = Duration::from_secs(1);
/// Pieces of code and addresses without any that are remembered. A JVM runs some ten thousand.
const MOST_REMEMBERED: usize = 1 << 16;

/// Java code of one process.
#[derive(Debug)]
pub(super) struct Java {
    hotspot: HotSpot,
    memory: Bytes,
    /// Pieces of code by where they begin: what tells each from others there, and when it was looked at.
    pieces: FxHashMap<u64, ((u64, u64), Instant)>,
    /// Addresses at which there was none, and when.
    empty: FxHashMap<u64, Instant>,
}

impl Java {
    pub(super) fn of(target: &Target, hotspot: HotSpot) -> Option<Java> {
        let memory = Bytes(memory::of(target)?);
        Some(Java { hotspot, memory, pieces: FxHashMap::default(), empty: FxHashMap::default() })
    }

    /// Looks at the code at those addresses that are of Java and puts it into `process`. What was there before and is
    /// gone: from where to where.
    pub(super) fn learn(&mut self, process: &mut Process, addresses: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
        self.hotspot.find_heaps(&self.memory);
        if self.pieces.len().max(self.empty.len()) > MOST_REMEMBERED {
            (self.pieces, self.empty) = Default::default();
        }
        let now = Instant::now();
        let mut changed = Vec::new();
        for address in addresses {
            if self.hotspot.may_be_code(address) && !self.is_known(process, address, now) {
                changed.extend(self.find(process, address, now));
            }
        }
        changed
    }

    /// The method that the JVM describes at an address.
    pub(super) fn method(&mut self, address: u64) -> Option<String> {
        self.hotspot.method(address, &self.memory)
    }

    /// The methods that were compiled into the one at an address and are at work there, the innermost first.
    pub(super) fn inlined(&mut self, address: u64) -> Vec<String> {
        self.hotspot.inlined(address, &self.memory)
    }

    fn is_known(&self, process: &Process, address: u64, now: Instant) -> bool {
        let is_fresh = |looked: &Instant| now.duration_since(*looked) < BELIEVED;
        match process.compiled_at(address) {
            Some(start) => self.pieces.get(&start).is_some_and(|(_, looked)| is_fresh(looked)),
            None => self.empty.get(&address).is_some_and(is_fresh),
        }
    }

    fn find(&mut self, process: &mut Process, address: u64, now: Instant) -> Option<(u64, u64)> {
        let Some(found) = self.hotspot.code_at(address, &self.memory) else {
            self.empty.insert(address, now);
            return None;
        };
        let before = self.pieces.insert(found.start, (found.stamp, now));
        if before.is_some_and(|(stamp, _)| stamp == found.stamp) && process.compiled_at(address) == Some(found.start) {
            return None;
        }
        let size_bytes = SEARCHED_BYTES.min(found.size_bytes as usize);
        let code = self.memory.read_at(found.start, size_bytes);
        process.put_code(&found, code.as_deref().unwrap_or_default());
        Some((found.start, found.start.saturating_add(found.size_bytes.into())))
    }
}
