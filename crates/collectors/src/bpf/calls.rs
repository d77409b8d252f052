//! The system calls of the architecture that this program is built for.

use std::collections::HashMap;

use fathom_evidence::system_calls;
use syscall_numbers::native::sys_call_name;

/// Numbers that programs have room for.
pub(crate) const CALLS: usize = 512;

/// Names of calls by number.
pub(crate) struct Calls(HashMap<u32, &'static str>);

impl Calls {
    /// All of them.
    pub(crate) fn new() -> Calls {
        let known = |number: usize| Some((number as u32, sys_call_name(number as _)?));
        Calls((0..CALLS).filter_map(known).collect())
    }

    /// The name of a call; its number in words when it is newer than this program.
    pub(crate) fn name(&self, number: u32) -> String {
        // A signal handler's return has overwritten the number.
        if number == u32::MAX {
            return "rt_sigreturn".to_owned();
        }
        self.get(number).map_or_else(|| format!("system_call_{number}"), str::to_owned)
    }

    /// Whether one of some things is true of a call.
    pub(crate) fn is(&self, number: u32, any_of: u16) -> bool {
        self.get(number).is_some_and(|name| system_calls::is(name, any_of))
    }

    /// A table for programs: what they know of each number, by its name (`""` where it has none).
    pub(crate) fn table(&self, of: impl Fn(&str) -> u8) -> [u8; CALLS] {
        let mut table = [of(""); CALLS];
        for (number, name) in &self.0 {
            if let Some(slot) = table.get_mut(*number as usize) {
                *slot = of(name);
            }
        }
        table
    }

    fn get(&self, number: u32) -> Option<&'static str> {
        self.0.get(&number).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Not on arm64, which began without them.
    const X86_ONLY: &[&str] = &["creat", "epoll_wait", "open", "pause", "poll", "select"];

    /// A name that is no call would never match.
    #[test]
    fn every_listed_name_is_a_call() {
        let calls = Calls::new();
        for name in system_calls::names() {
            assert!(calls.0.values().any(|known| *known == name) || X86_ONLY.contains(&name), "{name}");
        }
    }

    #[test]
    fn names_and_tables() {
        let calls = Calls::new();
        let table = calls.table(|name| u8::from(name.starts_with('f')) + 4 * u8::from(name == "futex"));
        for (number, name, kinds) in [
            (libc::SYS_fsync, "fsync", 1),
            (libc::SYS_futex, "futex", 5),
            (libc::SYS_mmap, "mmap", 0),
            (511, "system_call_511", 0),
        ] {
            assert_eq!((calls.name(number as u32).as_str(), table[number as usize]), (name, kinds));
        }
        assert_eq!(calls.name(100_000), "system_call_100000");
        assert_eq!(calls.name(u32::MAX), "rt_sigreturn");
        assert!(calls.is(libc::SYS_read as u32, system_calls::TRANSFERS));
    }
}
