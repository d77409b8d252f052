//! Programs that are run once for each open file of a process, or for each thread, when user space asks for it.

use std::io::{self, Read};
use std::ptr::NonNull;

use libbpf_rs::libbpf_sys::{bpf_iter_attach_opts, bpf_iter_link_info, bpf_program__attach_iter};
use libbpf_rs::{AsRawLibbpf, Iter, Link, ProgramMut};

/// More than any walk writes: of ten thousand threads it is 3 MB.
const MOST_BYTES: u64 = 16 << 20;

/// A program and what it looks at.
pub(crate) struct Walker(Link);

impl Walker {
    pub(super) fn new(link: Link) -> Walker {
        Walker(link)
    }

    /// Runs the program for each entry; what it writes goes to `into`, up to a bound.
    pub(crate) fn read(&self, into: &mut Vec<u8>) {
        let written = Iter::new(&self.0).map(|iteration| iteration.take(MOST_BYTES).read_to_end(into));
        // As with a walk: what was refused is not there this time.
        drop(written);
    }

    /// Runs the program for each entry. What it prints is not looked at.
    pub(crate) fn walk(&self) {
        let mut printed = [0; 512];
        // If the kernel refuses (no memory, no descriptors), nothing was visited; the next walk may succeed.
        if let Ok(mut iteration) = Iter::new(&self.0) {
            while matches!(iteration.read(&mut printed), Ok(1..)) {}
        }
    }
}

/// Links a program to the files or the threads of one process; libbpf-rs offers maps and control groups only.
pub(super) fn over_process(program: &ProgramMut<'_>, process: u32) -> libbpf_rs::Result<Link> {
    let mut info = bpf_iter_link_info::default();
    info.task.pid = process;
    let options = bpf_iter_attach_opts {
        sz: size_of::<bpf_iter_attach_opts>() as _,
        link_info: &raw mut info,
        link_info_len: size_of::<bpf_iter_link_info>() as u32,
        ..bpf_iter_attach_opts::default()
    };
    // SAFETY: the program is loaded and lives as long as the borrow; the options are valid for the call, and libbpf copies them.
    let link = unsafe { bpf_program__attach_iter(program.as_libbpf_object().as_ptr(), &raw const options) };
    let link = NonNull::new(link).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: libbpf has just made this link, and nothing else owns it.
    Ok(unsafe { Link::from_ptr(link) })
}
