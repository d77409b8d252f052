//! A mapped file that another process may truncate.
//!
//! A page of a map beyond the new end of its file no longer exists, and a thread that reads it is killed by SIGBUS. So
//! that signal is caught. If the page belongs to one of our maps, the map from there on becomes zeros, which no reader
//! takes for data, and the map remembers it. Any other page kills the process as usual.
//!
//! The handler runs between any two instructions: it takes no lock, allocates nothing and calls nothing but the kernel.

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use memmap2::Mmap;

/// More files than are read at once. What finds no place is read without being mapped.
const PLACES_MAX: usize = 64;

static PLACES: [Place; PLACES_MAX] = [const { Place::new() }; PLACES_MAX];

/// Where a map is; the handler finds it here.
#[derive(Debug)]
struct Place {
    is_taken: AtomicBool,
    /// Addresses of the first byte and behind the last page; the latter is 0 as long as nothing is there.
    start: AtomicUsize,
    end: AtomicUsize,
    was_cut: AtomicBool,
}

impl Place {
    const fn new() -> Place {
        Place {
            is_taken: AtomicBool::new(false),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            was_cut: AtomicBool::new(false),
        }
    }

    fn take() -> Option<&'static Place> {
        PLACES.iter().find(|place| !place.is_taken.swap(true, Ordering::Acquire))
    }

    fn release(&self) {
        self.end.store(0, Ordering::SeqCst);
        self.was_cut.store(false, Ordering::SeqCst);
        self.is_taken.store(false, Ordering::Release);
    }

    fn set(&self, bytes: &[u8]) {
        let start = bytes.as_ptr() as usize;
        self.start.store(start, Ordering::SeqCst);
        self.end.store((start + bytes.len()).next_multiple_of(page_bytes()), Ordering::SeqCst);
    }

    /// Puts zeros in place of the page of `address` and of all behind it, if the address is in this map.
    fn replace_from(&self, address: usize) -> bool {
        let (start, end) = (self.start.load(Ordering::SeqCst), self.end.load(Ordering::SeqCst));
        if !(start..end).contains(&address) {
            return false;
        }
        let page = address - address % page_bytes();
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
        // SAFETY: these pages are of a map that lives, is only read, and is taken for bytes of any value; a thread that
        // waits for one of them reads zeros instead of being killed.
        let put = unsafe { libc::mmap(page as *mut c_void, end - page, libc::PROT_READ, flags, -1, 0) };
        self.was_cut.store(true, Ordering::SeqCst);
        put != libc::MAP_FAILED
    }
}

/// Size of a page. Read once before the handler can need it, which only reads the number then.
fn page_bytes() -> usize {
    static BYTES: AtomicUsize = AtomicUsize::new(0);
    match BYTES.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: it only asks.
            let bytes = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
            BYTES.store(bytes, Ordering::Relaxed);
            bytes
        }
        known => known,
    }
}

/// What was done at this signal before; it is done again for what is not ours.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Whether the signal is caught, from the first question on.
fn is_caught() -> bool {
    static CAUGHT: OnceLock<bool> = OnceLock::new();
    *CAUGHT.get_or_init(|| {
        page_bytes();
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: zeros are an action without flags and with an empty mask.
        let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        action.sa_sigaction = on_missing_page as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: both are whole; the first call writes what was there before the second one replaces it.
        unsafe {
            libc::sigaction(libc::SIGBUS, ptr::null(), before.as_mut_ptr()) == 0
                && BEFORE.set(before.assume_init()).is_ok()
                && libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) == 0
        }
    })
}

/// Runs at SIGBUS. The instruction is done again afterwards.
extern "C" fn on_missing_page(_signal: i32, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel passes the information of the signal to a handler with SA_SIGINFO.
    let address = unsafe { (*info).si_addr() } as usize;
    if PLACES.iter().any(|place| place.replace_from(address)) {
        return;
    }
    if let Some(before) = BEFORE.get() {
        // SAFETY: it was there before. The same signal comes again at once, and finds it.
        unsafe { libc::sigaction(libc::SIGBUS, before, ptr::null_mut()) };
    }
}

/// The bytes of a file.
#[derive(Debug)]
pub(crate) struct Mapped {
    map: Mmap,
    place: &'static Place,
}

impl Mapped {
    /// `None` when the file has to be read in another way.
    pub(crate) fn of(file: &File) -> io::Result<Option<Mapped>> {
        let Some(place) = is_caught().then(Place::take).flatten() else { return Ok(None) };
        // SAFETY: the map is only read. When its file is cut, the signal handler replaces what is gone.
        let map = unsafe { Mmap::map(file) }.inspect_err(|_| place.release())?;
        place.set(&map);
        Ok(Some(Mapped { map, place }))
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn map(&self) -> &Mmap {
        &self.map
    }

    /// Whether a part of it was gone when it was read.
    pub(crate) fn was_cut(&self) -> bool {
        self.place.was_cut.load(Ordering::SeqCst)
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        self.place.release();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_is_cut_while_it_is_read_becomes_zeros() {
        let page = page_bytes();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; 8 * page + 100]).unwrap();
        let mapped = Mapped::of(&file).unwrap().unwrap();
        assert!(mapped.iter().all(|byte| *byte == 7) && !mapped.was_cut());
        file.set_len(3 * page as u64).unwrap();
        // From several threads at once, as chunks are read.
        std::thread::scope(|scope| {
            for from in 4..8 {
                let mapped = &mapped;
                scope.spawn(move || assert!(mapped[from * page..].iter().all(|byte| *byte == 0)));
            }
        });
        assert!(mapped[..3 * page].iter().all(|byte| *byte == 7) && mapped.was_cut());
        assert_eq!(mapped.len(), 8 * page + 100);
        drop(mapped);
        let next = Mapped::of(&file).unwrap().unwrap();
        assert!(next.iter().all(|byte| *byte == 7) && !next.was_cut());
    }

    #[test]
    fn more_files_than_there_are_places_are_not_mapped() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 100]).unwrap();
        let mapped: Vec<_> = (0..=PLACES_MAX).map_while(|_| Mapped::of(&file).unwrap()).collect();
        assert!(mapped.len() <= PLACES_MAX && !mapped.is_empty());
    }
}
