//! The system calls of the architecture that this program is built for.

use std::collections::HashMap;

use syscalls::Sysno;

/// Numbers that programs have room for.
pub(crate) const CALLS: usize = 512;

/// Names of calls by number.
pub(crate) struct Calls(HashMap<u32, &'static str>);

impl Calls {
    /// All of them.
    pub(crate) fn new() -> Calls {
        Calls(Sysno::iter().map(|call| (call.id() as u32, call.name())).collect())
    }

    /// The name of a call; its number in words when it is newer than this program.
    pub(crate) fn name(&self, number: u32) -> String {
        // A signal handler's return has overwritten the number.
        if number == u32::MAX {
            return "rt_sigreturn".to_owned();
        }
        self.get(number).map_or_else(|| format!("system_call_{number}"), str::to_owned)
    }

    /// Whether a call is one of `names`.
    pub(crate) fn is_one_of(&self, number: u32, names: &[&str]) -> bool {
        self.get(number).is_some_and(|name| names.contains(&name))
    }

    /// A table for programs: for each number the kinds, added up, that list its name. Names that this
    /// architecture does not have are left out.
    pub(crate) fn table(&self, kinds: &[(u8, &[&str])]) -> [u8; CALLS] {
        let mut table = [0; CALLS];
        for (number, name) in &self.0 {
            let of_call = kinds.iter().filter(|(_, names)| names.contains(name)).map(|(kind, _)| kind);
            if let Some(slot) = table.get_mut(*number as usize) {
                *slot = of_call.sum();
            }
        }
        table
    }

    fn get(&self, number: u32) -> Option<&'static str> {
        self.0.get(&number).copied()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Not on arm64, which began without them.
    const X86_ONLY: &[&str] = &["epoll_wait", "poll", "select", "pause"];

    /// Fails when a name is no call: it would never match.
    pub(crate) fn check_names<'a>(names: impl IntoIterator<Item = &'a &'a str>) {
        let calls = Calls::new();
        for name in names {
            assert!(calls.0.values().any(|known| known == name) || X86_ONLY.contains(name), "{name}");
        }
    }

    #[test]
    fn names_and_tables() {
        let calls = Calls::new();
        let table = calls.table(&[(1, &["read", "futex"]), (4, &["read", "no such call"])]);
        for (number, name, kinds) in [
            (libc::SYS_read, "read", 5),
            (libc::SYS_futex, "futex", 1),
            (libc::SYS_mmap, "mmap", 0),
            (511, "system_call_511", 0),
        ] {
            assert_eq!((calls.name(number as u32).as_str(), table[number as usize]), (name, kinds));
        }
        assert_eq!(calls.name(100_000), "system_call_100000");
        assert_eq!(calls.name(u32::MAX), "rt_sigreturn");
        assert!(calls.is_one_of(libc::SYS_read as u32, &["write", "read"]));
    }
}
