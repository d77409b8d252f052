//! What is known of single system calls, by name: one row per call, for all sources. Some do not exist on every architecture.

/// The result is a number of bytes.
pub const TRANSFERS: u16 = 1;
/// It does nothing but wait for an event or for time to pass. A long one says nothing: idle threads spend their life in them.
pub const WAITS: u16 = 1 << 1;
/// On a socket it waits until the other side does something, which is long for every idle connection.
pub const WAITS_FOR_PEER: u16 = 1 << 2;
/// On a file, a socket or a pipe alike: calls on sockets are counted apart.
pub const ON_ANYTHING: u16 = 1 << 3;
/// The thread ends in it.
pub const NEVER_RETURNS: u16 = 1 << 4;
/// The first argument is a descriptor, of which it is worth knowing what it is.
pub const ON_DESCRIPTOR: u16 = 1 << 5;
/// The first argument is a descriptor that only sockets have.
pub const ON_SOCKETS: u16 = 1 << 6;
/// The result is a socket.
pub const GIVES_SOCKET: u16 = 1 << 7;
/// The result is a file whose path is an argument.
pub const OPENS: u16 = 1 << 8;
/// It returns when data is on the disk, so that it is on a file whatever is known of its descriptor.
pub const SYNCS: u16 = 1 << 9;
/// It returns when a child process has ended.
pub const WAITS_FOR_CHILD: u16 = 1 << 10;
/// A child process or a thread begins. Who shares its memory with the child waits until that runs its program.
pub const STARTS: u16 = 1 << 11;

const FUTEX: &str = "futex";
const POLL: &str = "poll";
const SLEEP: &str = "sleep";
const READ_WRITE: &str = "read_write";

/// Name, what is true of it, and what a thread waits for that sleeps in it (`""`: of no kind). Ascending by name.
const CALLS: &[(&str, u16, &str)] = &[
    ("accept", WAITS_FOR_PEER | ON_DESCRIPTOR | ON_SOCKETS | GIVES_SOCKET, POLL),
    ("accept4", WAITS_FOR_PEER | ON_DESCRIPTOR | ON_SOCKETS | GIVES_SOCKET, POLL),
    ("bind", ON_SOCKETS, ""),
    ("clock_nanosleep", WAITS, SLEEP),
    ("clone", STARTS, ""),
    ("clone3", STARTS, ""),
    ("close", ON_DESCRIPTOR, ""),
    ("connect", WAITS_FOR_PEER | ON_DESCRIPTOR | ON_SOCKETS, READ_WRITE),
    ("copy_file_range", TRANSFERS | ON_DESCRIPTOR, READ_WRITE),
    ("creat", OPENS, ""),
    ("epoll_pwait", WAITS, POLL),
    ("epoll_pwait2", WAITS, POLL),
    ("epoll_wait", WAITS, POLL),
    ("exit", NEVER_RETURNS, ""),
    ("exit_group", NEVER_RETURNS, ""),
    ("fadvise64", ON_DESCRIPTOR, ""),
    ("fallocate", ON_DESCRIPTOR, READ_WRITE),
    ("fcntl", ON_DESCRIPTOR, ""),
    ("fdatasync", ON_DESCRIPTOR | SYNCS, READ_WRITE),
    ("flock", ON_DESCRIPTOR, ""),
    ("fork", STARTS, ""),
    ("fstat", ON_DESCRIPTOR, ""),
    ("fsync", ON_DESCRIPTOR | SYNCS, READ_WRITE),
    ("ftruncate", ON_DESCRIPTOR, ""),
    ("futex", WAITS, FUTEX),
    ("futex_wait", WAITS, FUTEX),
    ("futex_waitv", WAITS, FUTEX),
    ("getdents64", ON_DESCRIPTOR, ""),
    ("getpeername", ON_SOCKETS, ""),
    ("getsockname", ON_SOCKETS, ""),
    ("getsockopt", ON_SOCKETS, ""),
    ("io_getevents", WAITS, POLL),
    ("io_pgetevents", WAITS, POLL),
    ("io_uring_enter", WAITS, POLL),
    ("ioctl", ON_DESCRIPTOR, ""),
    ("listen", ON_SOCKETS, ""),
    ("lseek", ON_DESCRIPTOR, ""),
    ("msync", SYNCS, READ_WRITE),
    ("nanosleep", WAITS, SLEEP),
    ("open", OPENS, ""),
    ("openat", OPENS, ""),
    ("openat2", OPENS, ""),
    ("pause", WAITS, POLL),
    ("poll", WAITS, POLL),
    ("ppoll", WAITS, POLL),
    ("pread64", TRANSFERS | ON_DESCRIPTOR, READ_WRITE),
    ("preadv", TRANSFERS | ON_DESCRIPTOR, READ_WRITE),
    ("preadv2", TRANSFERS | ON_DESCRIPTOR, READ_WRITE),
    ("pselect6", WAITS, POLL),
    ("pwrite64", TRANSFERS | ON_DESCRIPTOR, READ_WRITE),
    ("pwritev", TRANSFERS | ON_DESCRIPTOR, READ_WRITE),
    ("pwritev2", TRANSFERS | ON_DESCRIPTOR, READ_WRITE),
    ("read", TRANSFERS | ON_ANYTHING | WAITS_FOR_PEER | ON_DESCRIPTOR, READ_WRITE),
    ("readv", TRANSFERS | ON_ANYTHING | WAITS_FOR_PEER | ON_DESCRIPTOR, READ_WRITE),
    ("recvfrom", TRANSFERS | WAITS_FOR_PEER | ON_DESCRIPTOR | ON_SOCKETS, READ_WRITE),
    ("recvmmsg", WAITS_FOR_PEER | ON_DESCRIPTOR | ON_SOCKETS, READ_WRITE),
    ("recvmsg", TRANSFERS | WAITS_FOR_PEER | ON_DESCRIPTOR | ON_SOCKETS, READ_WRITE),
    ("restart_syscall", WAITS, ""),
    ("rt_sigsuspend", WAITS, POLL),
    ("rt_sigtimedwait", WAITS, POLL),
    ("select", WAITS, POLL),
    ("sendfile", TRANSFERS | ON_DESCRIPTOR, READ_WRITE),
    ("sendmmsg", WAITS_FOR_PEER | ON_DESCRIPTOR | ON_SOCKETS, READ_WRITE),
    ("sendmsg", TRANSFERS | WAITS_FOR_PEER | ON_DESCRIPTOR | ON_SOCKETS, READ_WRITE),
    ("sendto", TRANSFERS | WAITS_FOR_PEER | ON_DESCRIPTOR | ON_SOCKETS, READ_WRITE),
    ("setsockopt", ON_SOCKETS, ""),
    ("shutdown", ON_DESCRIPTOR | ON_SOCKETS, ""),
    ("socket", GIVES_SOCKET, ""),
    ("splice", TRANSFERS | ON_DESCRIPTOR, READ_WRITE),
    ("sync", SYNCS, READ_WRITE),
    ("sync_file_range", ON_DESCRIPTOR | SYNCS, READ_WRITE),
    ("syncfs", ON_DESCRIPTOR | SYNCS, READ_WRITE),
    ("tee", TRANSFERS, ""),
    ("vfork", STARTS, ""),
    ("vmsplice", TRANSFERS, ""),
    ("wait4", WAITS | WAITS_FOR_CHILD, POLL),
    ("waitid", WAITS | WAITS_FOR_CHILD, POLL),
    ("write", TRANSFERS | ON_ANYTHING | WAITS_FOR_PEER | ON_DESCRIPTOR, READ_WRITE),
    ("writev", TRANSFERS | ON_ANYTHING | WAITS_FOR_PEER | ON_DESCRIPTOR, READ_WRITE),
];

/// Whether one of some things is true of a call.
pub fn is(name: &str, any_of: u16) -> bool {
    traits(name) & any_of != 0
}

/// All that is true of a call, for those who ask for more than one of it.
pub fn traits(name: &str) -> u16 {
    row(name).map_or(0, |(_, traits, _)| *traits)
}

/// What a thread waits for that sleeps in a call, where that is of one kind.
pub fn wait(name: &str) -> Option<&'static str> {
    row(name).map(|(_, _, wait)| *wait).filter(|wait| !wait.is_empty())
}

/// All that something is known of.
pub fn names() -> impl Iterator<Item = &'static str> {
    CALLS.iter().map(|(name, ..)| *name)
}

fn row(name: &str) -> Option<&'static (&'static str, u16, &'static str)> {
    CALLS.binary_search_by(|(known, ..)| (*known).cmp(name)).ok().map(|at| &CALLS[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_known_for_what_they_do() {
        assert!(CALLS.is_sorted_by(|a, b| a.0 < b.0), "a call is looked up by its name");
        for (name, on_descriptor, transfers, waits_for) in [
            ("read", true, true, Some("read_write")),
            ("futex", false, false, Some("futex")),
            ("recvmmsg", true, false, Some("read_write")),
            ("flock", true, false, None),
            ("mmap", false, false, None),
        ] {
            assert_eq!(
                (is(name, ON_DESCRIPTOR), is(name, TRANSFERS), wait(name)),
                (on_descriptor, transfers, waits_for)
            );
        }
        assert!(is("read", WAITS | ON_ANYTHING) && !is("read", WAITS | OPENS) && !is("", u16::MAX));
    }
}
