//! What the programs must know about single calls.

use fathom_evidence::system_calls::{NEVER_RETURNS, ON_ANYTHING, TRANSFERS, WAITS, WAITS_FOR_PEER, is};

use crate::bpf::{CALLS, Calls};

/// What the programs must know of a call, and their bit for it. They count calls that only wait, and send a sample for their stacks;
/// calls that wait for a peer they send without a stack.
const BITS: &[(u8, u16)] = &[(1, TRANSFERS), (2, WAITS), (4, WAITS_FOR_PEER), (8, ON_ANYTHING), (16, NEVER_RETURNS)];

/// Added to the number of such a call when it was on a socket, and when on a pipe.
const ON_SOCKET: u32 = 1 << 16;
const ON_PIPE: u32 = 1 << 17;

/// What the programs look up by number.
pub(super) fn kinds(calls: &Calls) -> [u8; CALLS] {
    calls.table(|name| BITS.iter().filter(|(_, of_call)| is(name, *of_call)).map(|(bit, _)| bit).sum())
}

/// The name under which calls of a number of the map `sums` are counted: `read`, `read socket`, `read pipe`.
pub(super) fn counted_name(calls: &Calls, number: u32) -> String {
    match number {
        u32::MAX => calls.name(number),
        number if number & ON_SOCKET != 0 => format!("{} socket", calls.name(number & !ON_SOCKET)),
        number if number & ON_PIPE != 0 => format!("{} pipe", calls.name(number & !ON_PIPE)),
        number => calls.name(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_what_calls_do() {
        let kinds = kinds(&Calls::new());
        assert_eq!(kinds[libc::SYS_read as usize], 1 | 4 | 8);
        assert_eq!((kinds[libc::SYS_futex as usize], kinds[libc::SYS_exit as usize]), (2, 16));
        assert_eq!((kinds[libc::SYS_fsync as usize], kinds[libc::SYS_mmap as usize]), (0, 0));
    }

    #[test]
    fn calls_on_sockets_and_pipes_have_names_of_their_own() {
        let calls = Calls::new();
        let read = libc::SYS_read as u32;
        let (socket, pipe) = (read | ON_SOCKET, read | ON_PIPE);
        for (number, name) in [(read, "read"), (socket, "read socket"), (pipe, "read pipe"), (u32::MAX, "rt_sigreturn")]
        {
            assert_eq!(counted_name(&calls, number), name);
        }
    }
}
