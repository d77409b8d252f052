//! The known code that the JVM compiled, shared by all code that names addresses.

use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use fathom_symbols::jit::JitMap;

use super::memory;
use crate::Target;

/// The newest list of compiled code, and whether a newer one is wanted.
#[derive(Debug, Default)]
pub(crate) struct Code {
    newest: Mutex<Arc<JitMap>>,
    version: AtomicU32,
    is_wanted: AtomicBool,
}

impl Code {
    /// Takes over the perf map that the JVM wrote, and reads from its code how large the frames are.
    /// How many pieces of code there are.
    pub(crate) fn read(&self, target: &Target, perf_map: &[u8]) -> usize {
        let mut code = JitMap::parse(perf_map);
        if let Some(memory) = memory::of(target) {
            code.learn_frames(|address, bytes| memory.read_exact_at(bytes, address).is_ok());
        }
        let pieces = code.len();
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(code);
        self.version.fetch_add(1, Ordering::Release);
        pieces
    }

    /// Says that addresses of compiled code have to be named.
    pub(super) fn want(&self) {
        self.is_wanted.store(true, Ordering::Relaxed);
    }

    /// Whether a newer one was requested since the last call.
    pub(crate) fn is_wanted(&self) -> bool {
        self.is_wanted.swap(false, Ordering::Relaxed)
    }

    /// The list and its version, if there is a newer one than `version`.
    pub(super) fn newer_than(&self, version: u32) -> Option<(u32, Arc<JitMap>)> {
        let newest = self.version.load(Ordering::Acquire);
        (newest != version).then(|| (newest, Arc::clone(&self.newest.lock().unwrap_or_else(PoisonError::into_inner))))
    }
}
