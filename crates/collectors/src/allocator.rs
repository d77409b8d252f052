//! Where the C library keeps freed memory. Programs that are linked with another C library have their own ways.

/// Returns freed memory to the system: the C library keeps it for threads that have ended, and the thread that finishes
/// a recording needs memory.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: has no preconditions; it moves no memory that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Lets threads share what they allocate from. Each has a place of its own otherwise, and what is freed there is of use to that
/// thread only: a recorder has a thread for each collector, a service one for each JVM, and each would keep what it needed to start.
pub fn share_among_threads() {
    #[cfg(target_env = "gnu")]
    // SAFETY: has no preconditions; it concerns places that are made from now on.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}
