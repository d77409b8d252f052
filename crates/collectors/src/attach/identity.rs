//! Acts as the target's user for a moment, on the calling thread only.
//!
//! The JVM believes the effective user and group that the kernel tells it about a connection, and
//! what it must read or write has to belong to its user. Threads of one process may have different
//! users in Linux; the C library hides that by changing all of them, so these are the bare calls.

use std::io;

use rustix::process::{Gid, Uid, getegid, geteuid};
use rustix::thread::{set_thread_res_gid, set_thread_res_uid};

use crate::Target;

/// Runs `work` as the effective user and group of `target`.
///
/// Only root can become somebody else. Anybody else stays who they are, which is enough when the
/// process is theirs; when it is not, what `work` touches says so.
pub(crate) fn as_user_of<T>(target: &Target, work: impl FnOnce() -> T) -> io::Result<T> {
    let _back = Back::switch(Uid::from_raw(target.uid), Gid::from_raw(target.gid))?;
    Ok(work())
}

/// Switches back when dropped.
struct Back(Option<(Uid, Gid)>);

impl Back {
    fn switch(uid: Uid, gid: Gid) -> io::Result<Back> {
        let own = (geteuid(), getegid());
        if own == (uid, gid) || !own.0.is_root() {
            return Ok(Back(None));
        }
        // The group first: afterwards there is no right left to change it.
        set_thread_res_gid(None, gid, None)?;
        let back = Back(Some(own));
        set_thread_res_uid(None, uid, None)?;
        Ok(back)
    }
}

impl Drop for Back {
    fn drop(&mut self) {
        if let Some((uid, gid)) = self.0 {
            // Real and saved user are still root, so neither can be refused; and if it were, the
            // thread would go on with fewer rights, not with more.
            let _ = set_thread_res_uid(None, uid, None);
            let _ = set_thread_res_gid(None, gid, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn only_this_thread_and_only_for_a_while() {
        if !geteuid().is_root() {
            println!("SKIPPED: only root can act as another user");
            return;
        }
        let target = Target { pid: 0, inner_pid: 0, uid: 65_534, gid: 65_533, start_ticks: 0 };
        fn ids() -> (u32, u32) {
            (geteuid().as_raw(), getegid().as_raw())
        }
        let own = ids();
        let (asks, asked) = mpsc::channel::<()>();
        let (answers, answered) = mpsc::channel();
        let other = thread::spawn(move || asked.iter().for_each(|()| answers.send(ids()).unwrap()));
        let inside = as_user_of(&target, || {
            asks.send(()).unwrap();
            (ids(), answered.recv().unwrap())
        });
        assert_eq!(inside.unwrap(), ((65_534, 65_533), own), "this thread, and one beside it");
        assert_eq!(ids(), own);
        drop(asks);
        other.join().unwrap();
    }
}
