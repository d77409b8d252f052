//! Room for what grows with a recording, on huge pages where the kernel grants them.
//!
//! A recording of some 100 MB fills columns and tables of as many bytes. On pages of 4 KiB a fifth of the
//! loading time goes into page faults, and lookups all over a large table miss the TLB each time. So large
//! allocations ask for huge pages before they are touched, and are copied rather than remapped when they
//! grow, because remapping splits huge pages again.

/// Allocations from this size on are worth the system call, in bytes. Miri takes a microsecond for each step.
const LARGE_BYTES: usize = if cfg!(miri) { 64 << 10 } else { 4 << 20 };

/// A huge page, in bytes, where the small ones have 4 KiB.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// What allocators put in front of an allocation, at most, in bytes.
const HEADER_BYTES: usize = 64;

/// A large vector becomes this many times as large when it must grow. Room that is not used yet takes no
/// memory, only addresses, but each move takes time.
const GROWTH: usize = 4;

/// Makes room for `more` values behind those of `vec`, and for many more when it must grow.
#[inline]
pub fn reserve<T>(vec: &mut Vec<T>, more: usize) {
    if vec.capacity() - vec.len() < more {
        grow(vec, more);
    }
}

#[cold]
fn grow<T>(vec: &mut Vec<T>, more: usize) {
    let wanted = vec.len().saturating_add(more);
    let room = wanted.max(vec.capacity().saturating_mul(GROWTH));
    if room.saturating_mul(size_of::<T>()) < LARGE_BYTES {
        return vec.reserve(more);
    }
    let mut larger = with_capacity(room);
    larger.append(vec);
    *vec = larger;
}

/// An empty vector with room for `room` values.
pub fn with_capacity<T>(room: usize) -> Vec<T> {
    if room.saturating_mul(size_of::<T>()) < LARGE_BYTES {
        return Vec::with_capacity(room);
    }
    let mut vec = Vec::with_capacity(on_whole_pages::<T>(room));
    ask_for_huge_pages(&mut vec);
    vec
}

/// A vector of `length` default values, which should be numbers.
pub fn filled<T: Clone + Default>(length: usize) -> Vec<T> {
    // For numbers this is memory that the system hands out zeroed, not touched here.
    if length.saturating_mul(size_of::<T>()) < LARGE_BYTES {
        return vec![T::default(); length];
    }
    let mut vec = vec![T::default(); on_whole_pages::<T>(length)];
    ask_for_huge_pages(&mut vec);
    vec.truncate(length);
    vec
}

/// At least as many values, so that they and what the allocator adds fill whole huge pages: the kernel puts a
/// mapping on the border of a huge page only if its size is a multiple of one.
fn on_whole_pages<T>(length: usize) -> usize {
    let bytes = length.saturating_mul(size_of::<T>()).saturating_add(HEADER_BYTES);
    match bytes.checked_next_multiple_of(HUGE_PAGE_BYTES) {
        Some(bytes) => length.max((bytes - HEADER_BYTES) / size_of::<T>()),
        None => length,
    }
}

/// Advice only: where it is refused, pages stay small. Miri knows no advice.
#[cfg(all(target_os = "linux", not(miri)))]
fn ask_for_huge_pages<T>(vec: &mut Vec<T>) {
    use rustix::mm::{Advice, madvise};

    let page = rustix::param::page_size();
    let start = vec.as_mut_ptr() as usize;
    let end = start + vec.capacity() * size_of::<T>();
    // The last page is meant as well: without it the huge page there would not be a whole one. (The first huge page
    // is none in any case, because the allocator has already written its header there.)
    let (first, last) = (start / page * page, end.next_multiple_of(page));
    // SAFETY: each page between `first` and `last` holds a part of the vector's own allocation, so that it is
    // mapped, and the advice changes neither the content nor the access rights of any page.
    let _ = unsafe { madvise(first as *mut _, last - first, Advice::LinuxHugepage) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn ask_for_huge_pages<T>(_vec: &mut Vec<T>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_keep_their_values_while_they_grow_large() {
        let count = LARGE_BYTES as u32;
        let mut vec: Vec<u32> = Vec::new();
        for value in 0..count {
            reserve(&mut vec, 1);
            vec.push(value);
        }
        assert!(vec.iter().copied().eq(0..count));
        assert!(vec.capacity() * size_of::<u32>() >= LARGE_BYTES);
        assert_eq!(filled::<u64>(LARGE_BYTES / 8 + 1), vec![0; LARGE_BYTES / 8 + 1]);
        assert!(with_capacity::<u8>(0).is_empty());
    }
}
