//! The ring into which the kernel writes the records of a thread.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};

/// Where the first page has the kernel's write position, and takes our read position.
const HEAD_AT: usize = 1024;
const TAIL_AT: usize = 1032;

/// The reading end of a ring. The kernel writes nothing over what was not read.
pub(crate) struct Ring {
    pages: MmapRaw,
    page_bytes: usize,
    /// What was taken last.
    taken: Vec<u8>,
}

impl Ring {
    /// Of an event, with room for `data_bytes`, a power of two, or for a page if that is more.
    pub(crate) fn of(event: BorrowedFd<'_>, data_bytes: usize) -> io::Result<Ring> {
        let page_bytes = rustix::param::page_size();
        let pages = MmapOptions::new().len(page_bytes + data_bytes.max(page_bytes)).map_raw(event.as_raw_fd())?;
        Ok(Ring { pages, page_bytes, taken: Vec::new() })
    }

    /// The records that have come since the last time.
    pub(crate) fn take(&mut self) -> &[u8] {
        self.taken.clear();
        let head = self.position(HEAD_AT).load(Ordering::Acquire);
        let tail = self.position(TAIL_AT).load(Ordering::Relaxed);
        let data_bytes = self.pages.len() - self.page_bytes;
        let new_bytes = usize::try_from(head.wrapping_sub(tail)).unwrap_or(usize::MAX).min(data_bytes);
        // The kernel counts on; the ring's size is a power of two.
        let from = (tail & (data_bytes as u64 - 1)) as usize;
        let to_the_end = new_bytes.min(data_bytes - from);
        self.copy(from, to_the_end);
        self.copy(0, new_bytes - to_the_end);
        self.position(TAIL_AT).store(head, Ordering::Release);
        &self.taken
    }

    /// What was taken last.
    pub(crate) fn taken(&self) -> &[u8] {
        &self.taken
    }

    fn position(&self, at: usize) -> &AtomicU64 {
        // SAFETY: within the first page and aligned; both sides access these words atomically.
        unsafe { AtomicU64::from_ptr(self.pages.as_mut_ptr().add(at).cast()) }
    }

    /// Appends bytes of the ring to what is taken.
    fn copy(&mut self, from: usize, bytes: usize) {
        debug_assert!(self.page_bytes + from + bytes <= self.pages.len());
        self.taken.reserve(bytes);
        // SAFETY: the source is within the mapping, and the kernel does not write there until the tail passes it; the
        // destination has just been reserved.
        unsafe {
            let source = self.pages.as_mut_ptr().add(self.page_bytes + from);
            ptr::copy_nonoverlapping(source, self.taken.as_mut_ptr().add(self.taken.len()), bytes);
            self.taken.set_len(self.taken.len() + bytes);
        }
    }
}
