//! One set of programs in the kernel for all processes that are observed at once, so that what an event at a socket costs does not
//! grow with their number. Each has a [`Share`]: its place in the table `targets`, its endpoints, and what the ring brought of it.
//!
//! What a connection is at stands in its socket for as long as that lives, so each target has an id that no other ever had: what
//! is left of a target that is no longer observed belongs to none.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Typedef;
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use super::listening;
use super::parse::{Endpoint, Exchange, SUMS_WORDS, UNDER_WAY, is_peer};
use super::{NEEDED, OBJECT, PERIOD, tick_ns};
use crate::bpf::{Calls, LeftOut, MappedArray, Programs, Recipe, Ring, Spare, Walker, may_load};
use crate::clock::monotonic_ns;
use crate::{Refusal, Target, procfs};

/// Processes that are observed at once; the lower bits of an id are a place in their table.
const TARGETS: u32 = 256;

/// The first two endpoints of each target are for all those for which there is no room.
const FIRST_NUMBER: u32 = 2 * TARGETS;

/// Words of a row of the table `targets`, and which are what.
const TARGET_WORDS: usize = 10;
const ID: usize = 0;
const ENDING: usize = 1;
const ENDPOINTS: usize = 2;
const WALK: usize = 3;
const LOSSES: usize = 4;

/// Kinds of losses that the programs count.
pub(super) const LOST: usize = 4;

/// What is kept for an observer that does not look.
const INBOX_MAX: usize = 1 << 14;

/// The tracepoint of newer kernels where a thread begins to send, and the program at it.
pub(super) const BEGIN_OF_SEND: (&str, &str) = ("tcp_sendmsg_locked", "begins_to_send");

/// The program that looks at all connections of a target.
const WALKER: &str = "walk";

/// Programs without which the others still see their part.
const SPARE: &[Spare] = &[
    Spare { program: "is_woken", sees: "which thread worked on a request that an event loop answered" },
    Spare { program: "has_sent_frames", sees: "how long each of the requests took that share a connection of HTTP/2" },
    Spare { program: WALKER, sees: "requests under way, and what came last over a connection that stays open" },
];

/// What the programs know of system calls.
const WAITS: u8 = 1;
const READS: u8 = 2;
const WRITES: u8 = 3;
const WRITES_PIECES: u8 = 4;
const SENDS_MESSAGE: u8 = 5;

fn kind_of_call(name: &str) -> u8 {
    match name {
        _ if CALLS_OF_LOOPS.contains(&name) => WAITS,
        "read" | "recvfrom" => READS,
        "write" | "sendto" => WRITES,
        "writev" => WRITES_PIECES,
        "sendmsg" => SENDS_MESSAGE,
        _ => 0,
    }
}

/// System calls in which an event loop waits for its sockets.
const CALLS_OF_LOOPS: &[&str] = &["epoll_wait", "epoll_pwait", "epoll_pwait2"];

/// The programs at work.
pub(super) struct Shared {
    sums: MappedArray<SUMS_WORDS>,
    targets: MappedArray<TARGET_WORDS>,
    /// Which process has a place among the lower bits of their numbers: the number above the id.
    process_places: MappedArray<1>,
    inner: Mutex<Inner>,
}

struct Inner {
    programs: Programs,
    ring: Ring,
    /// When whose endpoints there are was found out last.
    found_ns: i64,
    /// Targets until now.
    count: u32,
    of_targets: BTreeMap<u32, OfTarget>,
    processes: MapHandle,
    listened: MapHandle,
    listeners: MapHandle,
    endpoints: MapHandle,
    named: MapHandle,
    unused: MapHandle,
}

/// What there is for one target.
#[derive(Default)]
struct OfTarget {
    process: u32,
    /// Looks at its connections; none until it is known to the programs.
    walker: Option<Walker>,
    /// Numbers of its endpoints.
    endpoints: Vec<usize>,
    inbox: Vec<Exchange>,
    /// Of which there was no room in the inbox.
    dropped: u64,
}

impl Shared {
    fn observes(&self, process: u32) -> bool {
        self.inner().of_targets.values().any(|of| of.process == process)
    }

    /// Loads the programs into the kernel; `sees_begin` where it has the tracepoint at which a thread begins to send.
    pub(super) fn load(sees_begin: bool) -> Result<Arc<Shared>, Refusal> {
        let mut config: Vec<u8> = [u32::from(sees_begin), tick_ns()].into_iter().flat_map(u32::to_ne_bytes).collect();
        config.extend(Calls::new().table(kind_of_call));
        let without: &[&str] = if sees_begin { &[] } else { &[BEGIN_OF_SEND.1] };
        let mut programs = Programs::load(&Recipe { object: OBJECT, config, sizes: &[], without, spare: SPARE })?;
        let (sums, targets) =
            (MappedArray::new(&programs.map("sums_of")?)?, MappedArray::new(&programs.map("targets")?)?);
        let process_places = MappedArray::new(&programs.map("process_places")?)?;
        let [processes, listened, listeners, endpoints, named, unused] =
            ["processes", "listened", "listeners", "endpoints", "named", "unused"].map(|name| programs.map(name));
        let unused = unused?;
        // The lowest is taken first.
        for number in (FIRST_NUMBER..sums.len() as u32).rev() {
            put_back(&unused, number);
        }
        let ring = Ring::new(&programs.map("exchanges")?)?;
        programs.attach_tracepoints()?;
        let inner = Inner {
            programs,
            ring,
            found_ns: 0,
            count: 0,
            of_targets: BTreeMap::new(),
            processes: processes?,
            listened: listened?,
            listeners: listeners?,
            endpoints: endpoints?,
            named: named?,
            unused,
        };
        Ok(Arc::new(Shared { sums, targets, process_places, inner: Mutex::new(inner) }))
    }

    /// With the tracepoint at which a thread begins to send, where the kernel has it and lets a program run there.
    fn load_as_well_as_can_be() -> Result<Arc<Shared>, Refusal> {
        match sees_begin_of_send()? {
            true => Shared::load(true).or_else(|_| Shared::load(false)),
            false => Shared::load(false),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(id: u32) -> usize {
        (id % TARGETS) as usize
    }

    /// Takes a free place; its id.
    fn take_place(&self, inner: &mut Inner, process: u32) -> Result<u32, Refusal> {
        let is_free = |place: &u32| inner.of_targets.keys().all(|id| id % TARGETS != *place);
        let place = (0..TARGETS).find(is_free).ok_or_else(|| {
            Refusal::new(format!("{TARGETS} processes are observed already"), "observe fewer processes at once")
        })?;
        inner.count += 1;
        let id = inner.count * TARGETS + place;
        inner.of_targets.insert(id, OfTarget { process, ..OfTarget::default() });
        (1..TARGET_WORDS).for_each(|word| self.targets.set(place as usize, word, 0));
        Ok(id)
    }

    /// Lets the programs find a target by its process.
    fn find_process(&self, process: u32, id: u32) -> Result<(), Refusal> {
        let known = self.inner().processes.update(&process.to_ne_bytes(), &id.to_ne_bytes(), MapFlags::ANY);
        known.map_err(|error| Refusal::new(format!("the kernel took no more processes: {error}"), ""))?;
        let place = self.process_place(process);
        if self.process_places.get(place, 0) == 0 {
            self.process_places.set(place, 0, in_place(process, id));
        }
        Ok(())
    }

    /// Gives the place of a process to another one that would have it too.
    fn free_process_place(&self, inner: &Inner, process: u32) {
        let place = self.process_place(process);
        let mut others = inner.of_targets.iter().map(|(id, of)| (of.process, *id));
        let next = others.find(|(other, _)| self.process_place(*other) == place);
        self.process_places.set(place, 0, next.map_or(0, |(process, id)| in_place(process, id)));
    }

    #[cfg(test)]
    pub(super) fn processes_with_a_place(&self) -> usize {
        self.process_places.keys().filter(|key| *key != 0).count()
    }

    fn process_place(&self, process: u32) -> usize {
        process as usize % self.process_places.len()
    }

    /// Lets the programs walk over a target's connections.
    fn follow(&self, id: u32) -> Result<(), Refusal> {
        let mut inner = self.inner();
        let Inner { programs, of_targets, .. } = &mut *inner;
        if let Some(of) = of_targets.get_mut(&id) {
            of.walker = programs.process_walker(WALKER, of.process)?;
        }
        Ok(())
    }

    /// Adds the ports that the target listens on now to those that the programs know.
    fn mark(&self, target: &Target, id: u32, network_namespace: u32) {
        // Reading them may take its time, in which others are not to wait.
        let ports = listening::ports(target);
        let inner = self.inner();
        for port in ports {
            for (map, of) in [(&inner.listened, id), (&inner.listeners, network_namespace)] {
                let key: Vec<u8> = [of, u32::from(port)].into_iter().flat_map(u32::to_ne_bytes).collect();
                // Where a table is full, connections that are accepted would be taken for calls; there is room for forty ports of each target.
                let _ = map.update(&key, &id.to_ne_bytes(), MapFlags::ANY);
            }
        }
    }

    /// Looks at all connections of a target.
    fn walk(&self, inner: &mut Inner, id: u32) {
        if monotonic_ns() - inner.found_ns >= PERIOD.as_nanos() as i64 * 3 / 4 {
            self.find_endpoints(inner);
        }
        let Some(of) = inner.of_targets.get(&id) else { return };
        of.endpoints.iter().for_each(|number| self.sums.set(*number, UNDER_WAY, 0));
        let place = Shared::place(id);
        self.targets.set(place, WALK, self.targets.get(place, WALK) + 1);
        if let Some(walker) = &of.walker {
            walker.walk();
        }
    }

    /// Finds out whose endpoints there are.
    fn find_endpoints(&self, inner: &mut Inner) {
        inner.found_ns = monotonic_ns();
        let mut left = 0;
        for (id, of) in &mut inner.of_targets {
            let place = Shared::place(*id);
            of.endpoints.clear();
            of.endpoints
                .extend([2 * place, 2 * place + 1].iter().filter(|at| self.sums.get(**at, ID) == u64::from(*id)));
            left += self.targets.get(place, ENDPOINTS);
        }
        // Unused pages of the table are not touched.
        for number in FIRST_NUMBER as usize..self.sums.len() {
            if left == 0 {
                return;
            }
            let id = self.sums.get(number, ID);
            left -= u64::from(id != 0);
            if let Some(of) = u32::try_from(id).ok().and_then(|id| inner.of_targets.get_mut(&id)) {
                of.endpoints.push(number);
            }
        }
    }

    /// Hands out what the ring has; whether there was anything.
    fn hand_out(&self, inner: &mut Inner) -> bool {
        let events = inner.ring.take();
        for exchange in events.iter().filter_map(|event| Exchange::parse(event)) {
            let number = exchange.endpoint as usize;
            let id = if number < self.sums.len() { self.sums.get(number, ID) } else { 0 };
            let Some(of) = u32::try_from(id).ok().and_then(|id| inner.of_targets.get_mut(&id)) else { continue };
            match of.inbox.len() < INBOX_MAX {
                true => of.inbox.push(exchange),
                false => of.dropped += 1,
            }
        }
        !events.is_empty()
    }

    /// Gives back what a target had.
    fn leave(&self, id: u32) {
        let mut inner = self.inner();
        // From here on its connections belong to no target.
        self.targets.set(Shared::place(id), ID, 0);
        self.find_endpoints(&mut inner);
        let own = inner.of_targets.remove(&id).unwrap_or_default();
        let _ = inner.processes.delete(&own.process.to_ne_bytes());
        self.free_process_place(&inner, own.process);
        own.endpoints.iter().for_each(|number| self.give_back(&inner, *number));
        [&inner.listened, &inner.listeners].into_iter().for_each(|map| forget(map, id));
    }

    /// Forgets an endpoint.
    fn give_back(&self, inner: &Inner, number: usize) {
        self.sums.clear(number);
        if number < FIRST_NUMBER as usize {
            return;
        }
        let number = number as u32;
        let name = inner.named.lookup(&number.to_ne_bytes(), MapFlags::ANY).ok().flatten();
        name.map(|name| inner.endpoints.delete(&name));
        put_back(&inner.unused, number);
    }
}

/// What stands in the place of a process.
fn in_place(process: u32, id: u32) -> u64 {
    u64::from(process) << 32 | u64::from(id)
}

/// Takes out what stands for a target.
fn forget(map: &MapHandle, id: u32) {
    let is_own =
        |key: &Vec<u8>| map.lookup(key, MapFlags::ANY).ok().flatten().as_deref() == Some(&id.to_ne_bytes()[..]);
    let own: Vec<Vec<u8>> = map.keys().filter(is_own).collect();
    // Somebody else may listen there by now.
    own.iter().for_each(|key| drop(map.delete(key)));
}

/// An endpoint may have this number. Should the kernel refuse, there is one less.
fn put_back(unused: &MapHandle, number: u32) {
    let _ = unused.update(&[], &number.to_ne_bytes(), MapFlags::ANY);
}

/// What is one target's.
pub(super) struct Share {
    shared: Arc<Shared>,
    id: u32,
    /// What the programs had left out before, of all.
    skipped_before: u64,
}

impl Share {
    /// Begins to observe a process, with the programs that are at work in this one if they do not observe it yet.
    pub(super) fn of(target: &Target) -> Result<Share, Refusal> {
        static SHARED: Mutex<Weak<Shared>> = Mutex::new(Weak::new());
        let share = {
            let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
            let known = shared.upgrade();
            let these = match known.as_ref().filter(|known| !known.observes(target.pid)) {
                Some(known) => Arc::clone(known),
                None => Shared::load_as_well_as_can_be()?,
            };
            if known.is_none() {
                *shared = Arc::downgrade(&these);
            }
            Share::join(these, target.pid)?
        };
        share.begin(target)
    }

    /// Begins to observe a process that these programs do not observe yet.
    #[cfg(test)]
    pub(super) fn in_these(shared: &Arc<Shared>, target: &Target) -> Result<Share, Refusal> {
        Share::join(Arc::clone(shared), target.pid)?.begin(target)
    }

    /// Takes a process for observed that need not be there.
    #[cfg(test)]
    pub(super) fn of_nobody(shared: &Arc<Shared>, process: u32) -> Share {
        let share = Share::join(Arc::clone(shared), process).unwrap();
        shared.find_process(process, share.id).unwrap();
        share
    }

    /// A place among the targets.
    fn join(shared: Arc<Shared>, process: u32) -> Result<Share, Refusal> {
        let mut inner = shared.inner();
        let id = shared.take_place(&mut inner, process)?;
        let skipped_before = inner.programs.skipped();
        drop(inner);
        Ok(Share { shared, id, skipped_before })
    }

    fn begin(self, target: &Target) -> Result<Share, Refusal> {
        let space = procfs::link(target.proc("ns/net")).ok().and_then(|link| namespace(&link)).ok_or_else(|| {
            let grant = "run as the target's user, or with CAP_SYS_PTRACE";
            Refusal::new("the target's network namespace cannot be read", grant)
        })?;
        self.shared.mark(target, self.id, space);
        self.shared.targets.set(Shared::place(self.id), ID, u64::from(self.id));
        self.shared.find_process(target.pid, self.id)?;
        self.shared.follow(self.id)?;
        // What it began to listen on meanwhile.
        self.shared.mark(target, self.id, space);
        Ok(self)
    }

    /// Looks at all connections.
    pub(super) fn look(&self) {
        self.shared.walk(&mut self.shared.inner(), self.id);
    }

    /// Exchanges under way at this instant are reported as they are.
    pub(super) fn end(&self) {
        self.shared.targets.set(Shared::place(self.id), ENDING, 1);
        let mut inner = self.shared.inner();
        inner.found_ns = 0;
        self.shared.walk(&mut inner, self.id);
    }

    /// What the kernel refused of what these programs would see.
    pub(super) fn left_out(&self) -> LeftOut {
        self.shared.inner().programs.left_out().clone()
    }

    /// Whether what is under way is seen.
    pub(super) fn sees_under_way(&self) -> bool {
        !self.shared.inner().programs.left_out().has(WALKER)
    }

    /// Requests and calls that have ended; whether there may be more.
    pub(super) fn take(&self) -> (Vec<Exchange>, bool) {
        let mut inner = self.shared.inner();
        let may_be_more = self.shared.hand_out(&mut inner);
        let inbox = inner.of_targets.get_mut(&self.id).map(|of| std::mem::take(&mut of.inbox));
        (inbox.unwrap_or_default(), may_be_more)
    }

    /// Numbers of the endpoints that there were at the last look.
    pub(super) fn endpoints(&self) -> Vec<usize> {
        self.shared.inner().of_targets.get(&self.id).map(|of| of.endpoints.clone()).unwrap_or_default()
    }

    /// What an endpoint is, and whether it is a peer that is called.
    pub(super) fn endpoint(&self, number: usize) -> (Endpoint, bool) {
        let others = (Endpoint::Others, number % 2 == 1);
        if number < FIRST_NUMBER as usize {
            return others;
        }
        let key = self.shared.inner().named.lookup(&(number as u32).to_ne_bytes(), MapFlags::ANY).ok().flatten();
        key.and_then(|key| Some((Endpoint::parse(&key)?, is_peer(&key)))).unwrap_or(others)
    }

    /// The sums of an endpoint.
    pub(super) fn sums(&self, number: usize) -> [u64; SUMS_WORDS] {
        self.shared.sums.row(number)
    }

    /// Writes one word of the sums of an endpoint.
    pub(super) fn set(&self, number: usize, word: usize, value: u64) {
        self.shared.sums.set(number, word, value);
    }

    /// How often something was lost, in the order in which the programs count it; what nobody took out of the inbox counts as the
    /// first, and events for which a program was not run, of all targets, are the last.
    pub(super) fn lost(&self) -> [u64; LOST + 1] {
        let inner = self.shared.inner();
        let mut lost = [0; LOST + 1];
        (0..LOST).for_each(|kind| lost[kind] = self.shared.targets.get(Shared::place(self.id), LOSSES + kind));
        lost[0] += inner.of_targets.get(&self.id).map_or(0, |of| of.dropped);
        lost[LOST] = inner.programs.skipped().saturating_sub(self.skipped_before);
        lost
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.shared.leave(self.id);
    }
}

/// Whether this kernel has the tracepoint at which a thread begins to send; refused where it lacks others.
fn sees_begin_of_send() -> Result<bool, Refusal> {
    may_load()?;
    let types = Btf::from_vmlinux().map_err(|error| Refusal::new(format!("the kernel's BTF: {error}"), ""))?;
    let has = |name: &str| types.type_by_name::<Typedef<'_>>(&format!("btf_trace_{name}")).is_some();
    if let Some((name, since)) = NEEDED.into_iter().find(|(name, _)| !has(name)) {
        let why = format!("this kernel has no tracepoint {name}");
        return Err(Refusal::new(why, format!("Linux {since} or later (all that is needed is in 6.3)")));
    }
    Ok(has(BEGIN_OF_SEND.0))
}

/// The number in `net:[4026531840]`.
fn namespace(link: &str) -> Option<u32> {
    link.strip_prefix("net:[")?.strip_suffix(']')?.parse().ok()
}
