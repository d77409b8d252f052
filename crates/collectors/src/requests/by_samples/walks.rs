//! Walks over all connections of a network namespace, shared by the processes that are observed in it: a walk over the kernel's table
//! takes as long for one of them as for all, and all together may cost what one may.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use fathom_evidence::Recording;

use super::super::NAME;
use super::{PERIOD, WORTH};
use crate::clock::monotonic_ns;
use crate::rate_limit::RateLimit;
use crate::sock_diag::{Connection, SockDiag};
use crate::{Target, procfs};

/// Connections that a process wants: those to ports that it listens on, and those of its sockets.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) ports: HashSet<u16>,
    pub(super) sockets: HashSet<u32>,
}

/// What a walk found of what anybody wants.
#[derive(Clone)]
pub(super) struct Walk {
    /// When it began, by the monotonic clock.
    pub(super) began_ns: i64,
    pub(super) connections: Arc<Vec<Connection>>,
}

struct Walks {
    kernel: SockDiag,
    limit: RateLimit,
    /// By the observer that wants them.
    ports: HashMap<u64, HashSet<u16>>,
    /// Sockets that anybody wants.
    sockets: HashSet<u32>,
    last: Option<Walk>,
    members: u64,
}

/// The walks of each namespace, by its name.
static ALL: LazyLock<Mutex<HashMap<String, Weak<Mutex<Walks>>>>> = LazyLock::new(Mutex::default);

/// One process's part in them.
pub(super) struct Member {
    walks: Arc<Mutex<Walks>>,
    number: u64,
    wanted: Wanted,
    /// Walks that began before this lack ports, or have been looked at.
    since_ns: i64,
    /// Whether it wants ports of which there was no walk yet.
    is_new: bool,
}

impl Member {
    pub(super) fn of(target: &Target) -> io::Result<Member> {
        let namespace = procfs::link(target.proc("ns/net"))?;
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, walks| walks.strong_count() > 0);
        let walks = match all.get(&namespace).and_then(Weak::upgrade) {
            Some(walks) => walks,
            None => Arc::new(Mutex::new(Walks::of(target)?)),
        };
        all.insert(namespace, Arc::downgrade(&walks));
        let mut inner = lock(&walks);
        inner.members += 1;
        let number = inner.members;
        drop(inner);
        Ok(Member { walks, number, wanted: Wanted::default(), since_ns: i64::MIN, is_new: true })
    }

    /// Wants these connections from now on.
    pub(super) fn want(&mut self, wanted: &Wanted) {
        let mut walks = lock(&self.walks);
        for gone in self.wanted.sockets.difference(&wanted.sockets) {
            walks.sockets.remove(gone);
        }
        walks.sockets.extend(&wanted.sockets);
        walks.ports.insert(self.number, wanted.ports.clone());
        // Sockets are new all the time: those that a walk lacks are in the next one.
        if self.wanted.ports != wanted.ports {
            self.since_ns = monotonic_ns();
            self.is_new = true;
        }
        self.wanted.clone_from(wanted);
    }

    /// The last walk if it is a new one, after another one if that is due.
    pub(super) fn next(&mut self) -> io::Result<Option<Walk>> {
        let mut walks = lock(&self.walks);
        if let Some(reading) = walks.limit.begin(monotonic_ns()) {
            let walked = walks.walk();
            walks.limit.end(reading);
            walked?;
        } else if self.is_new {
            walks.walk()?;
        }
        self.is_new = false;
        let new = walks.last.clone().filter(|walk| walk.began_ns >= self.since_ns);
        self.since_ns = new.as_ref().map_or(self.since_ns, |walk| walk.began_ns + 1);
        Ok(new)
    }

    /// A walk that no observer waits for.
    pub(super) fn at_once(&self) -> io::Result<Option<Walk>> {
        let mut walks = lock(&self.walks);
        walks.walk()?;
        Ok(walks.last.clone())
    }

    /// Tells how often there was one, if that was too rarely.
    pub(super) fn tell(&self, found: &mut Recording) {
        lock(&self.walks).limit.tell(found, NAME, "all connections");
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut walks = lock(&self.walks);
        walks.ports.remove(&self.number);
        for gone in &self.wanted.sockets {
            walks.sockets.remove(gone);
        }
    }
}

impl Walks {
    fn of(target: &Target) -> io::Result<Walks> {
        let kernel = SockDiag::of(target)?;
        let limit = RateLimit::every(PERIOD).worth(WORTH);
        Ok(Walks { kernel, limit, ports: HashMap::new(), sockets: HashSet::new(), last: None, members: 0 })
    }

    fn walk(&mut self) -> io::Result<()> {
        let began_ns = monotonic_ns();
        let ports: HashSet<u16> = self.ports.values().flatten().copied().collect();
        let is_wanted = |one: &Connection| ports.contains(&one.port) || self.sockets.contains(&one.inode);
        let mut found = Vec::new();
        self.kernel.connections(|one| found.extend(is_wanted(&one).then_some(one)))?;
        self.last = Some(Walk { began_ns, connections: Arc::new(found) });
        Ok(())
    }
}

fn lock(walks: &Mutex<Walks>) -> MutexGuard<'_, Walks> {
    walks.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::requests::tests::tells_of_connections;

    #[test]
    fn one_walk_is_for_all_who_wanted_its_ports_before() {
        if !tells_of_connections("one_walk_is_for_all_who_wanted_its_ports_before") {
            return;
        }
        let target = Target::of(std::process::id()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let ports = HashSet::from([listener.local_addr().unwrap().port()]);
        let wanted = Wanted { ports: ports.clone(), ..Wanted::default() };
        let [mut first, mut second, mut late] = [0; 3].map(|_| Member::of(&target).unwrap());
        first.want(&wanted);
        second.want(&wanted);
        let walk = first.at_once().unwrap().unwrap();
        late.want(&wanted);
        // Other tests want ports as well.
        assert_eq!(walk.connections.iter().filter(|one| ports.contains(&one.port)).count(), 1);
        let seen = second.next().unwrap().unwrap();
        assert!(seen.began_ns >= walk.began_ns);
        assert!(second.next().unwrap().is_none_or(|other| other.began_ns > seen.began_ns), "each walk once");
        assert!(late.next().unwrap().is_none_or(|other| other.began_ns > walk.began_ns), "it may lack a port");
    }
}
