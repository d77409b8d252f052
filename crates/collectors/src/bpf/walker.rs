//! Programs that are run once for each entry of a map, or for each thread, when user space asks for it.

use std::io::Read;

use libbpf_rs::{Iter, Link};

/// A program and what it looks at.
pub(crate) struct Walker(Link);

impl Walker {
    pub(super) fn new(link: Link) -> Walker {
        Walker(link)
    }

    /// Runs the program for each entry. What it prints is not looked at.
    pub(crate) fn walk(&self) {
        let mut printed = [0; 512];
        // Where the kernel refuses (no memory, no descriptors), nobody was looked at; the next walk may succeed.
        if let Ok(mut iteration) = Iter::new(&self.0) {
            while matches!(iteration.read(&mut printed), Ok(1..)) {}
        }
    }
}
