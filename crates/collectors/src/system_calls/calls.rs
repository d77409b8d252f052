//! What the programs must know of single calls.

use fathom_evidence::system_calls::{NEVER_RETURNS, ON_ANYTHING, TRANSFERS, WAITS, WAITS_FOR_PEER, is};

use crate::bpf::{CALLS, Calls};

/// What the programs must know of a call, and their bit for it. They count calls that only wait, and send a sample for their stacks;
/// calls that wait for a peer they send without a stack.
const BITS: &[(u8, u16)] = &[(1, TRANSFERS), (2, WAITS), (4, WAITS_FOR_PEER), (8, ON_ANYTHING), (16, NEVER_RETURNS)];

/// Added to the number of such a call when it was on a socket.
const ON_SOCKET: u32 = 1 << 16;

/// What the programs look up by number.
pub(super) fn kinds(calls: &Calls) -> [u8; CALLS] {
    calls.table(|name| BITS.iter().filter(|(_, of_call)| is(name, *of_call)).map(|(bit, _)| bit).sum())
}

/// The name under which calls of a number of the map `sums` are counted: `read`, `read socket`.
pub(super) fn counted_name(calls: &Calls, number: u32) -> String {
    match number {
        u32::MAX => calls.name(number),
        number if number & ON_SOCKET != 0 => format!("{} socket", calls.name(number & !ON_SOCKET)),
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
    fn calls_on_sockets_have_names_of_their_own() {
        let calls = Calls::new();
        let read = libc::SYS_read as u32;
        for (number, name) in [(read, "read"), (read | ON_SOCKET, "read socket"), (u32::MAX, "rt_sigreturn")] {
            assert_eq!(counted_name(&calls, number), name);
        }
    }
}
