//! What the programs must know of single calls.

use crate::bpf::{CALLS, Calls};

/// Its result is a number of bytes.
const TRANSFERS: u8 = 1;
/// It does nothing but wait for an event or for time to pass. A long one says nothing: idle threads
/// spend their life in them. They are counted, and a sample is sent for their stacks.
const WAITS: u8 = 2;
/// On a socket it waits until the other side does something, which is long for every idle
/// connection. Sent, but without a stack.
const WAITS_FOR_PEER: u8 = 4;
/// On a file, a socket or a pipe alike: calls on sockets are counted apart.
const ON_ANYTHING: u8 = 8;
/// The thread ends in it.
const NEVER_RETURNS: u8 = 16;

/// Added to the number of such a call when it was on a socket.
const ON_SOCKET: u32 = 1 << 16;

/// By name, as some do not exist on every architecture.
const KINDS: &[(u8, &[&str])] = &[
    (
        TRANSFERS,
        &[
            "read",
            "readv",
            "pread64",
            "preadv",
            "preadv2",
            "recvfrom",
            "recvmsg",
            "write",
            "writev",
            "pwrite64",
            "pwritev",
            "pwritev2",
            "sendto",
            "sendmsg",
            "sendfile",
            "splice",
            "tee",
            "vmsplice",
            "copy_file_range",
        ],
    ),
    (
        WAITS,
        &[
            "futex",
            "futex_wait",
            "futex_waitv",
            "epoll_wait",
            "epoll_pwait",
            "epoll_pwait2",
            "poll",
            "ppoll",
            "select",
            "pselect6",
            "nanosleep",
            "clock_nanosleep",
            "pause",
            "rt_sigtimedwait",
            "rt_sigsuspend",
            "wait4",
            "waitid",
            "io_getevents",
            "io_pgetevents",
            "io_uring_enter",
            "restart_syscall",
        ],
    ),
    (NEVER_RETURNS, &["exit", "exit_group"]),
    (ON_ANYTHING, &["read", "readv", "write", "writev"]),
    (
        WAITS_FOR_PEER,
        &[
            "read", "readv", "recvfrom", "recvmsg", "recvmmsg", "write", "writev", "sendto", "sendmsg", "sendmmsg",
            "accept", "accept4", "connect",
        ],
    ),
];

/// Calls whose first argument is a file descriptor.
const ON_DESCRIPTOR: &[&str] = &[
    "read",
    "readv",
    "pread64",
    "preadv",
    "preadv2",
    "write",
    "writev",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "recvfrom",
    "recvmsg",
    "recvmmsg",
    "sendto",
    "sendmsg",
    "sendmmsg",
    "sendfile",
    "accept",
    "accept4",
    "connect",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "ftruncate",
    "fallocate",
    "close",
    "ioctl",
    "fcntl",
    "flock",
    "lseek",
    "fstat",
    "getdents64",
    "splice",
    "copy_file_range",
    "shutdown",
    "fadvise64",
];

/// What the programs look up by number.
pub(super) fn kinds(calls: &Calls) -> [u8; CALLS] {
    calls.table(KINDS)
}

/// The name under which calls of a number of the map `sums` are counted: `read`, `read socket`.
pub(super) fn counted_name(calls: &Calls, number: u32) -> String {
    match number {
        u32::MAX => calls.name(number),
        number if number & ON_SOCKET != 0 => format!("{} socket", calls.name(number & !ON_SOCKET)),
        number => calls.name(number),
    }
}

/// Whether the first argument is a descriptor.
pub(super) fn is_on_descriptor(calls: &Calls, number: u32) -> bool {
    calls.is_one_of(number, ON_DESCRIPTOR)
}

/// Whether it does nothing but wait.
pub(super) fn waits(calls: &Calls, number: u32) -> bool {
    is_of_kind(calls, number, WAITS)
}

/// Whether the result counts bytes.
pub(super) fn transfers(calls: &Calls, number: u32) -> bool {
    is_of_kind(calls, number, TRANSFERS)
}

fn is_of_kind(calls: &Calls, number: u32, wanted: u8) -> bool {
    KINDS.iter().any(|(kind, names)| kind & wanted != 0 && calls.is_one_of(number, names))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::calls::tests::check_names;

    #[test]
    fn calls_are_known_for_what_they_do() {
        let calls = Calls::new();
        for (number, on_descriptor, is_transfer) in [
            (libc::SYS_read, true, true),
            (libc::SYS_futex, false, false),
            (libc::SYS_recvmmsg, true, false),
            (libc::SYS_fsync, true, false),
            (libc::SYS_mmap, false, false),
        ] {
            let number = number as u32;
            assert_eq!(is_on_descriptor(&calls, number), on_descriptor, "{}", calls.name(number));
            assert_eq!(transfers(&calls, number), is_transfer, "{}", calls.name(number));
        }
        assert_eq!(kinds(&calls)[libc::SYS_read as usize], TRANSFERS | ON_ANYTHING | WAITS_FOR_PEER);
    }

    #[test]
    fn calls_on_sockets_have_names_of_their_own() {
        let calls = Calls::new();
        let read = libc::SYS_read as u32;
        for (number, name) in [(read, "read"), (read | ON_SOCKET, "read socket"), (u32::MAX, "rt_sigreturn")] {
            assert_eq!(counted_name(&calls, number), name);
        }
    }

    #[test]
    fn every_listed_name_is_a_call() {
        check_names(KINDS.iter().flat_map(|(_, names)| *names).chain(ON_DESCRIPTOR));
    }
}
