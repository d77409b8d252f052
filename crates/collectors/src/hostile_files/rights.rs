//! The rights of a process, taken on by the calling thread for a moment.
//!
//! A process may name any file, also one that it could never open: it passes a descriptor without rights of its own, a
//! link, a hard link. A program that opens such a file with more rights than the process has reads that file for it. So
//! files that a process named are opened with its user, its group, its other groups, and without the right to override
//! permissions that it lacks. The kernel then refuses what it would refuse the process.
//!
//! Threads of one process may have different users in Linux; the C library hides that by changing all of them, so this
//! module makes the system calls directly.

use std::io;
use std::marker::PhantomData;

use rustix::process::{Gid, Uid, getegid, geteuid, getgroups};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid,
};

use crate::{Target, procfs};

/// What lets a thread read files in spite of their permissions.
const PASSES_OVER: CapabilitySet = CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::DAC_READ_SEARCH);

/// Proof that the calling thread has the rights of a process and no others. It stays on its thread.
pub(crate) struct Acting(PhantomData<*const ()>);

/// Runs `work` with the rights of `target`.
///
/// Only root can become another user. Anybody else stays who they are, which is enough when the process is theirs; when it is
/// not, what `work` touches says so.
pub(crate) fn acting_as<T>(target: &Target, work: impl FnOnce(&Acting) -> T) -> io::Result<T> {
    let _back = Back::from(&Rights::of(target)?)?;
    Ok(work(&Acting(PhantomData)))
}

/// What the kernel looks at when a process opens a file.
#[derive(Debug, PartialEq, Eq)]
struct Rights {
    uid: u32,
    gid: u32,
    groups: Vec<u32>,
    /// Those of [`PASSES_OVER`] that count on this machine.
    passes_over: CapabilitySet,
}

impl Rights {
    /// Those that the process has now. One that has ended has none but its user's.
    fn of(target: &Target) -> io::Result<Rights> {
        let alone =
            Rights { uid: target.uid, gid: target.gid, groups: Vec::new(), passes_over: CapabilitySet::empty() };
        let Ok(status) = procfs::read_text(target.proc("status")) else { return Ok(alone) };
        match Rights::parse(&status, target) {
            Some(rights) if in_own_user_namespace(target) => Ok(rights),
            Some(rights) => Ok(Rights { passes_over: CapabilitySet::empty(), ..rights }),
            None if target.is_alive() => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the process has changed its user or runs for two of them",
            )),
            None => Ok(alone),
        }
    }

    /// Changes the thread's user and groups.
    fn take_on(&self) -> rustix::io::Result<()> {
        let groups: Vec<Gid> = self.groups.iter().map(|group| Gid::from_raw(*group)).collect();
        // The groups first: afterwards there is no right left to change them.
        set_thread_groups(&groups)?;
        set_thread_res_gid(None, Gid::from_raw(self.gid), None)?;
        set_thread_res_uid(None, Uid::from_raw(self.uid), None)
    }

    fn refused(&self, error: io::Error) -> io::Error {
        let says = format!(
            "the rights of user {} cannot be taken on, which takes CAP_SETUID and CAP_SETGID: {error}",
            self.uid
        );
        io::Error::new(error.kind(), says)
    }

    /// `None` when the process runs as anybody but the one user and group as which it was found: a program that is given its
    /// owner's rights (`su`) still does what its caller says.
    fn parse(status: &str, target: &Target) -> Option<Rights> {
        let line = |key: &str| status.lines().find_map(|line| line.strip_prefix(key));
        let numbers = |key| line(key).into_iter().flat_map(str::split_whitespace).map(str::parse::<u32>);
        let all_are = |key, id: u32| numbers(key).count() == 4 && numbers(key).all(|number| number == Ok(id));
        if !all_are("Uid:", target.uid) || !all_are("Gid:", target.gid) {
            return None;
        }
        let effective = line("CapEff:").and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())?;
        Some(Rights {
            uid: target.uid,
            gid: target.gid,
            groups: numbers("Groups:").collect::<Result<_, _>>().ok()?,
            passes_over: CapabilitySet::from_bits_truncate(effective) & PASSES_OVER,
        })
    }
}

/// Elsewhere what is called a right holds for that namespace only.
fn in_own_user_namespace(target: &Target) -> bool {
    let namespaces = [target.proc("ns/user"), "/proc/self/ns/user".into()].map(|path| procfs::link(path).ok());
    namespaces[0].is_some() && namespaces[0] == namespaces[1]
}

/// Switches back when dropped.
struct Back {
    /// User, group and other groups, when they were changed.
    identity: Option<(Uid, Gid, Vec<Gid>)>,
    capabilities: CapabilitySets,
}

impl Back {
    /// What was done is undone also when a later step is refused.
    fn from(rights: &Rights) -> io::Result<Back> {
        let mut back = Back { identity: None, capabilities: capabilities(None)? };
        let own = (geteuid(), getegid(), getgroups()?);
        if own.0.is_root() && (own.0.as_raw(), own.1.as_raw()) != (rights.uid, rights.gid) {
            back.identity = Some(own);
            rights.take_on().map_err(|error| rights.refused(error.into()))?;
        }
        let now = capabilities(None)?;
        let kept = now.effective - (PASSES_OVER - rights.passes_over);
        if kept != now.effective {
            set_capabilities(None, CapabilitySets { effective: kept, ..now })?;
        }
        Ok(back)
    }
}

impl Drop for Back {
    fn drop(&mut self) {
        // Real and saved user are still root and what is permitted is as before, so none of this can be refused; and if it
        // were, the thread would go on with fewer rights, not with more.
        if let Some((uid, gid, groups)) = &self.identity {
            let _ = set_thread_res_uid(None, *uid, None);
            let _ = set_thread_res_gid(None, *gid, None);
            let _ = set_thread_groups(groups);
        }
        let _ = set_capabilities(None, self.capabilities);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    fn target(uid: u32, gid: u32) -> Target {
        Target { pid: u32::MAX, inner_pid: 0, uid, gid, start_ticks: 0 }
    }

    #[test]
    fn only_this_thread_and_only_for_a_while() {
        if !geteuid().is_root() {
            println!("SKIPPED: only root can act as another user");
            return;
        }
        fn ids() -> (u32, u32, usize, CapabilitySet) {
            let effective = capabilities(None).unwrap().effective;
            (geteuid().as_raw(), getegid().as_raw(), getgroups().unwrap().len(), effective)
        }
        let own = ids();
        let (asks, asked) = mpsc::channel::<()>();
        let (answers, answered) = mpsc::channel();
        let other = thread::spawn(move || asked.iter().for_each(|()| answers.send(ids()).unwrap()));
        let inside = acting_as(&target(65_534, 65_533), |_| {
            asks.send(()).unwrap();
            (ids(), answered.recv().unwrap())
        });
        let nobody = (65_534, 65_533, 0, CapabilitySet::empty());
        assert_eq!(inside.unwrap(), (nobody, own), "this thread, and one beside it");
        assert_eq!(ids(), own);
        // Root that may not pass over permissions, as in most containers; one that has ended has no more than its user.
        let inside = acting_as(&target(0, 0), |_| ids().3);
        assert_eq!(inside.unwrap(), own.3 - PASSES_OVER);
        assert_eq!(ids(), own);
        drop(asks);
        other.join().unwrap();
    }

    #[test]
    fn rights_are_those_of_one_user() {
        let nobody = target(65_534, 7);
        let status = |uids: &str, gids: &str, rest: &str| format!("Name:\tx\nUid:\t{uids}\nGid:\t{gids}\n{rest}");
        let one = ("65534\t65534\t65534\t65534", "7\t7\t7\t7");
        for (uids, gids, rest, expected) in [
            (one.0, one.1, "Groups:\t4 27 \nCapEff:\t0000000000000000\n", Some((&[4, 27][..], CapabilitySet::empty()))),
            (one.0, one.1, "Groups:\t\nCapEff:\t000001ffffffffff\n", Some((&[], PASSES_OVER))),
            (one.0, one.1, "Groups:\t\nCapEff:\t0000000000000004\n", Some((&[], CapabilitySet::DAC_READ_SEARCH))),
            (one.0, one.1, "Groups:\tx\nCapEff:\t0\n", None),
            (one.0, one.1, "Groups:\t\n", None),
            ("65534 0 0 0", one.1, "Groups:\t\nCapEff:\t0\n", None),
            ("0 65534 0 65534", one.1, "Groups:\t\nCapEff:\t0\n", None),
            (one.0, "7 7 42 7", "Groups:\t\nCapEff:\t0\n", None),
            ("65534", one.1, "Groups:\t\nCapEff:\t0\n", None),
            ("", "", "", None),
        ] {
            let rights = Rights::parse(&status(uids, gids, rest), &nobody);
            let found = rights.as_ref().map(|rights| (&rights.groups[..], rights.passes_over));
            assert_eq!(found, expected, "{uids} {gids} {rest}");
        }
    }

    #[test]
    fn a_process_that_changed_its_user_is_refused() {
        let own = Target::of(std::process::id()).unwrap();
        assert!(acting_as(&own, |_| ()).is_ok());
        let before = Target { uid: own.uid + 1, ..own };
        assert_eq!(acting_as(&before, |_| ()).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }
}
