//! What is known of single system calls. Knows no evidence.

/// Their result is a number of bytes.
const TRANSFERS: &[&str] = &[
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
];

/// They do nothing but wait for an event or for time to pass: a long one says nothing.
const WAITS: &[&str] = &[
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
];

/// Calls on a file, a socket or a pipe alike, of which those on sockets are counted apart.
const ON_ANYTHING: &[&str] = &["read", "readv", "write", "writev"];

/// Calls on a descriptor that only sockets have.
const ON_SOCKETS: &[&str] = &[
    "recvfrom",
    "recvmsg",
    "recvmmsg",
    "sendto",
    "sendmsg",
    "sendmmsg",
    "connect",
    "bind",
    "listen",
    "accept",
    "accept4",
    "shutdown",
    "getsockopt",
    "setsockopt",
    "getsockname",
    "getpeername",
];

/// Calls whose result is a socket.
const GIVE_SOCKETS: &[&str] = &["socket", "accept", "accept4"];

/// Whether the result counts bytes.
pub(super) fn transfers(name: &str) -> bool {
    TRANSFERS.contains(&name)
}

/// Whether a call does nothing but wait.
pub(super) fn waits(name: &str) -> bool {
    WAITS.contains(&name)
}

/// Whether calls on sockets are counted apart.
pub(super) fn is_on_anything(name: &str) -> bool {
    ON_ANYTHING.contains(&name)
}

/// Whether the descriptor of a call must be a socket.
pub(super) fn is_on_a_socket(name: &str) -> bool {
    ON_SOCKETS.contains(&name)
}

/// Whether the result of a call is a socket.
pub(super) fn gives_a_socket(name: &str) -> bool {
    GIVE_SOCKETS.contains(&name)
}

/// Whether the result of a call is a file whose path is an argument.
pub(super) fn opens(name: &str) -> bool {
    matches!(name, "open" | "openat" | "openat2" | "creat")
}
