//! Software events of the kernel: opened on a CPU so that a program runs at each of them, or on a thread so that each is
//! a record in a ring, which needs neither BPF nor, for a process of the same user, any right.

mod attributes;
mod clock;
pub(crate) mod records;
mod ring;

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libbpf_rs::libbpf_sys::perf_event_attr;

pub(crate) use attributes::{FaultEvent, Occasion, attributes};
pub(crate) use clock::PerfClock;
pub(crate) use ring::Ring;

/// Of `perf_event_open`: programs that this one starts do not inherit the descriptor.
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 8;

/// Of `ioctl`: lets an event begin, and says whose ring its records go to.
const PERF_EVENT_IOC_ENABLE: libc::Ioctl = 0x2400;
const PERF_EVENT_IOC_SET_OUTPUT: libc::Ioctl = 0x2405;

/// What an event observes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Whom {
    /// All threads on this CPU.
    Cpu(u32),
    /// This thread, wherever it runs; 0 for the one that calls.
    Thread(u32),
}

/// Opens an event.
pub(crate) fn open(attributes: &perf_event_attr, whom: Whom) -> io::Result<OwnedFd> {
    let (thread, cpu): (libc::pid_t, libc::c_int) = match whom {
        Whom::Cpu(cpu) => (-1, cpu as libc::c_int),
        Whom::Thread(tid) => (tid as libc::pid_t, -1),
    };
    // SAFETY: the attributes are valid for the call and their size is stated in them.
    let opened = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const *attributes, thread, cpu, -1, PERF_FLAG_FD_CLOEXEC)
    };
    if opened < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made the descriptor, and no other code has it.
    Ok(unsafe { OwnedFd::from_raw_fd(opened as i32) })
}

/// Lets the records of `event` go to the ring of `other`, an event of the same thread.
pub(crate) fn share_ring(event: BorrowedFd<'_>, other: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: both descriptors are open; the call takes no pointer.
    let answer = unsafe { libc::ioctl(event.as_raw_fd(), PERF_EVENT_IOC_SET_OUTPUT, other.as_raw_fd()) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Begins with an event that was opened disabled.
pub(crate) fn enable(event: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the descriptor is open; the call takes no pointer.
    let answer = unsafe { libc::ioctl(event.as_raw_fd(), PERF_EVENT_IOC_ENABLE, 0) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// How often an event has come, whether or not there was room for its record.
pub(crate) fn count_of(event: BorrowedFd<'_>) -> u64 {
    let mut bytes = [0; 8];
    match rustix::io::read(event, &mut bytes) {
        Ok(8) => u64::from_ne_bytes(bytes),
        _ => 0,
    }
}
