//! Events that programs send one by one, read in place from the kernel's memory.
//!
//! libbpf maps the events twice in a row, so that none is split, and each page counts twice as memory of this process.
//! Here they are mapped once: a service that watches two hundred JVMs has a ring for each.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use libbpf_rs::{MapCore, MapHandle};
use memmap2::{MmapOptions, MmapRaw};

use crate::Refusal;

/// Most events that one look takes over; more stay in the kernel's ring, which counts what it cannot hold.
const EVENTS_MAX: usize = 4096;

/// Before each event: its length with these two marks, and a word for the kernel.
const HEADER_BYTES: u64 = 8;
const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;

/// Events begin at multiples of this.
const ALIGNED_BYTES: u64 = 8;

/// The reading end of a ring. The kernel writes nothing over what was not read.
pub(crate) struct Ring {
    /// A page that begins with how far was read.
    read: MmapRaw,
    /// A page that begins with how far was written, and behind it the events.
    written: MmapRaw,
    page_bytes: usize,
}

impl Ring {
    /// Reads `map`, which must be a ring.
    pub(crate) fn new(map: &MapHandle) -> Result<Ring, Refusal> {
        let (fd, page_bytes) = (map.as_fd().as_raw_fd(), rustix::param::page_size());
        let refused = |error: io::Error| Refusal::new(format!("a ring could not be mapped: {error}"), "");
        let written_bytes = page_bytes + map.max_entries() as usize;
        let read = MmapOptions::new().len(page_bytes).map_raw(fd).map_err(refused)?;
        let written = MmapOptions::new().offset(page_bytes as u64).len(written_bytes).map_raw_read_only(fd);
        Ok(Ring { read, written: written.map_err(refused)?, page_bytes })
    }

    /// What has arrived since the last time.
    pub(crate) fn take(&mut self) -> Vec<Vec<u8>> {
        let (read, written) = (position(&self.read), position(&self.written).load(Ordering::Acquire));
        let mut at = read.load(Ordering::Relaxed);
        let mut events = Vec::new();
        while at < written && events.len() < EVENTS_MAX {
            let header = self.header(at).load(Ordering::Acquire);
            if header & BUSY != 0 {
                break;
            }
            let event_bytes = u64::from(header & !DISCARDED);
            if header & DISCARDED == 0 {
                events.push(self.copy(at + HEADER_BYTES, event_bytes as usize));
            }
            at += (HEADER_BYTES + event_bytes).next_multiple_of(ALIGNED_BYTES);
        }
        read.store(at, Ordering::Release);
        events
    }

    fn data_bytes(&self) -> usize {
        self.written.len() - self.page_bytes
    }

    /// Where the byte `at` of all that were ever written is now. The ring's size is a power of two.
    fn place(&self, at: u64) -> usize {
        (at & (self.data_bytes() as u64 - 1)) as usize
    }

    fn header(&self, at: u64) -> &AtomicU32 {
        let place = self.page_bytes + self.place(at);
        assert!(place + size_of::<u32>() <= self.written.len());
        // SAFETY: within the mapping, and aligned, as events are; both sides access these words atomically.
        unsafe { AtomicU32::from_ptr(self.written.as_mut_ptr().add(place).cast()) }
    }

    /// An event, which may go on at the beginning of the ring.
    fn copy(&self, at: u64, event_bytes: usize) -> Vec<u8> {
        let (from, event_bytes) = (self.place(at), event_bytes.min(self.data_bytes()));
        let to_the_end = event_bytes.min(self.data_bytes() - from);
        let mut event: Vec<u8> = Vec::with_capacity(event_bytes);
        for (from, bytes) in [(from, to_the_end), (0, event_bytes - to_the_end)] {
            // SAFETY: the source is within the mapping, and the kernel does not write there before it was read; the
            // destination has just been reserved.
            unsafe {
                let source = self.written.as_ptr().add(self.page_bytes + from);
                ptr::copy_nonoverlapping(source, event.as_mut_ptr().add(event.len()), bytes);
                event.set_len(event.len() + bytes);
            }
        }
        event
    }
}

fn position(page: &MmapRaw) -> &AtomicU64 {
    // SAFETY: the first word of a page; both sides access it atomically, and only who may write to the page does.
    unsafe { AtomicU64::from_ptr(page.as_mut_ptr().cast()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA_BYTES: u64 = 4096;

    fn ring() -> Ring {
        let page_bytes = rustix::param::page_size();
        let pages = |bytes| MmapRaw::from(MmapOptions::new().len(bytes).map_anon().unwrap());
        Ring { read: pages(page_bytes), written: pages(page_bytes + DATA_BYTES as usize), page_bytes }
    }

    /// Writes as the kernel does.
    fn send(ring: &Ring, event: &[u8], mark: u32) {
        let written = position(&ring.written);
        let at = written.load(Ordering::Relaxed);
        ring.header(at).store(event.len() as u32 | mark, Ordering::Relaxed);
        for (byte, place) in event.iter().zip(at + HEADER_BYTES..) {
            // SAFETY: within the mapping, which nothing else accesses.
            unsafe { *ring.written.as_mut_ptr().add(ring.page_bytes + ring.place(place)) = *byte };
        }
        let bytes = (HEADER_BYTES + event.len() as u64).next_multiple_of(ALIGNED_BYTES);
        written.store(at + bytes, Ordering::Release);
    }

    #[test]
    fn events_come_whole_and_in_order_for_many_rounds() {
        let mut ring = ring();
        for round in 0..500_u32 {
            let event = |at: u32| vec![(round + at) as u8; at as usize * 37 + 1];
            let events: Vec<Vec<u8>> = (0..round % 7).map(event).collect();
            events.iter().for_each(|event| send(&ring, event, 0));
            assert_eq!(ring.take(), events, "{round}");
        }
        assert!(position(&ring.read).load(Ordering::Relaxed) > 10 * DATA_BYTES);
    }

    #[test]
    fn what_is_not_finished_waits_and_what_was_discarded_never_comes() {
        let mut ring = ring();
        send(&ring, b"first", 0);
        send(&ring, b"nothing", DISCARDED);
        let at = position(&ring.written).load(Ordering::Relaxed);
        send(&ring, b"busy", BUSY);
        send(&ring, b"last", 0);
        assert_eq!(ring.take(), [b"first"]);
        assert!(ring.take().is_empty());
        ring.header(at).store(4, Ordering::Relaxed);
        assert_eq!(ring.take(), [b"busy", b"last"]);
    }
}
