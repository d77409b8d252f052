//! What threads wait for: derives what a wait is from what it looks like.
//!
//! A wait for something that has a name is known by the frames below which a thread waits, else by the class that it parked
//! on. Both are in the row of the state (`states/rows.rs`). That a thread has nothing to do is derived (`idle`). Any other
//! wait is [`Wait::Unnamed`]: it stays in the total, and is never a lock.

use std::collections::HashMap;

use fathom_evidence::detail::{Wait as Detail, from_text};
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_evidence::{Frame, Recording, StackId, StrId};

use crate::frames::{self, begins_with, is_below};
use crate::idle::{Place, Places};
use crate::sources::Sources;
use crate::states::{ThreadState, Wait};

const IDLE: ThreadState = ThreadState::Idle;
const LOCK: ThreadState = ThreadState::Blocked(Wait::Lock);
const PERMIT: ThreadState = ThreadState::Blocked(Wait::Permit);
const POOL: ThreadState = ThreadState::Blocked(Wait::Pool);
const PROCESS: ThreadState = ThreadState::Blocked(Wait::Process);
const CONNECT: ThreadState = ThreadState::Blocked(Wait::Connect);
const UNNAMED: ThreadState = ThreadState::Blocked(Wait::Unnamed);

/// Pools in which a thread waits at a latch of the JDK until another thread hands an object over: it is no task that it waits for.
const HANDED_OVER: &[&str] = &["org.apache.tomcat.jdbc.pool.FairBlockingQueue."];

/// Beginnings of frames in which a thread waits for a lock, for a permit, or for another thread at all, where only its
/// stack shows what it parked on.
const LOCKING: &[&str] = &[
    "ObjectMonitor::enter",
    "ObjectMonitor::EnterI",
    "InstanceKlass::initialize_impl",
    // The same by the JVM's own names of the code through which compiled methods ask for a monitor: libraries may have no names.
    "_complete_monitor_locking_Java",
    "C2 Runtime complete_monitor_locking",
    "monitorenter",
    "C1 Runtime monitorenter",
    "java.util.concurrent.locks.ReentrantLock.",
    "java.util.concurrent.locks.ReentrantLock$",
    "java.util.concurrent.locks.ReentrantReadWriteLock$",
    "java.util.concurrent.locks.StampedLock.",
];
const PERMITTING: &[&str] = &["java.util.concurrent.Semaphore."];
const STANDING: &[&str] = &[
    "java.util.concurrent.locks.LockSupport.park",
    "jdk.internal.misc.Unsafe.park",
    "sun.misc.Unsafe.park",
    "java.lang.Object.wait",
    "java.lang.Thread.sleep",
];

/// Beginnings of frames in which a thread writes to a file, a pipe or a terminal, or reads from a file by its position.
const FILES: &[&str] = &[
    "java.io.FileOutputStream.write",
    "java.io.FileDescriptor.sync",
    "java.io.RandomAccessFile.",
    "sun.nio.ch.FileChannelImpl.",
];

/// The same of blocking reads from sockets.
const SOCKET_READS: &[&str] = &["sun.nio.ch.NioSocketImpl.implRead", "java.net.SocketInputStream.socketRead"];

/// What the recording's waits are. Each stack is looked at once.
pub(crate) struct Waits<'v, 'a> {
    sources: &'v Sources<'a>,
    places: Places,
    by_stack: HashMap<StackId, Option<ThreadState>>,
    /// The same for threads that have only a stack.
    standing: HashMap<StackId, Option<ThreadState>>,
    /// What the details of looks tell: of millions few differ.
    looks: HashMap<StrId, Look>,
}

/// What is known of a wait in which only looks found a thread.
#[derive(Debug, Clone, Copy)]
enum Look {
    /// A thread dump says that it was about to enter a monitor.
    Enters,
    /// A thread dump says on what it waited.
    Parks,
    /// Its stack, beside others that measure waits.
    Stack,
    /// Its stack, which stands for waits that nothing measures.
    Only,
}

impl Look {
    fn of(detail: &str) -> Look {
        let detail: Detail = from_text(detail);
        match detail.how.as_deref() {
            None if detail.looks.is_some() => Look::Only,
            None => Look::Stack,
            Some(span::MONITOR_ENTER) => Look::Enters,
            Some(_) => Look::Parks,
        }
    }
}

impl<'v, 'a> Waits<'v, 'a> {
    pub(crate) fn new(sources: &'v Sources<'a>) -> Waits<'v, 'a> {
        let places = Places::of(sources, is_for_a_mutex);
        Waits { sources, places, by_stack: HashMap::new(), standing: HashMap::new(), looks: HashMap::new() }
    }

    /// What a thread of the application that parked, slept or waited for a monitor's signal waited for.
    pub(crate) fn of_park(&mut self, park: &Span) -> ThreadState {
        let recording = self.sources.recording;
        let class = recording.text(park.name);
        if is_class_initialization(recording, park) {
            return LOCK;
        }
        if self.sources.traffic.call_of_a_client(park).is_some() {
            return ThreadState::Blocked(Wait::Socket);
        }
        let of_frames = self.of_frames(park.stack_id);
        let state = match of_class(class) {
            // A lock is a lock whichever thread wants it, but a pool or a queue has locks of its own.
            Some(state @ ThreadState::Blocked(Wait::Lock)) if of_frames != Some(POOL) => state,
            of_class => of_frames.or(of_class).unwrap_or(UNNAMED),
        };
        self.in_place(park, state)
    }

    /// What a read reported by the JVM waited for. A thread that does nothing but read from a pipe waits for instructions.
    pub(crate) fn of_file(&mut self, read: &Span, state: ThreadState) -> ThreadState {
        let recording = self.sources.recording;
        // A pipe has no name.
        let is_of_a_pipe = recording.text(read.kind) == span::FILE_READ && recording.text(read.name).is_empty();
        if is_of_a_pipe { self.in_place(read, PROCESS) } else { state }
    }

    /// What a wait was that only looks found the thread in. A thread dump says how it waited and on what; of a profiler's samples only
    /// the stack tells. Where nothing else measures waits, these stand for those for files and services as well.
    pub(crate) fn of_look(&mut self, wait: &Span) -> Option<ThreadState> {
        let recording = self.sources.recording;
        match *self.looks.entry(wait.detail).or_insert_with(|| Look::of(recording.text(wait.detail))) {
            Look::Only => self.of_standing(wait).or_else(|| self.of_data(wait)),
            Look::Stack => self.of_standing(wait),
            Look::Enters => Some(LOCK),
            Look::Parks => Some(self.of_park(wait)),
        }
    }

    /// A look at a thread that reads or writes. It waits for another service if it reads from a socket in the midst of its work. Others
    /// may wait for the next request, or do nothing else than to ask a service.
    fn of_data(&self, wait: &Span) -> Option<ThreadState> {
        let (recording, stack) = (self.sources.recording, wait.stack_id);
        if is_at_a_file(recording, stack) {
            return Some(ThreadState::Blocked(Wait::File));
        }
        let is_work = || self.places.place(wait.tid, stack) == Some(Place::Work);
        (is_below(recording, stack, SOCKET_READS) && is_work()).then_some(ThreadState::Blocked(Wait::Socket))
    }

    /// What a wait is, given where the thread waits. A thread lacks no permit in the idle branch of its loop. If the place
    /// is unknown, so is the wait. A lock that the JDK's own pools take for their queue counts for no thread.
    fn in_place(&self, wait: &Span, state: ThreadState) -> ThreadState {
        match (self.places.place(wait.tid, wait.stack_id), state) {
            (Some(Place::Jdk), PERMIT | UNNAMED) => IDLE,
            (Some(Place::Idle), PERMIT) => IDLE,
            (Some(Place::Only | Place::Unknown), PERMIT) => UNNAMED,
            (Some(Place::Jdk | Place::Only | Place::Idle), PROCESS) => UNNAMED,
            (_, LOCK) if is_of_the_jdk(self.sources.recording, wait.stack_id) => UNNAMED,
            _ => state,
        }
    }

    /// What the frames say.
    pub(crate) fn of_frames(&mut self, stack: StackId) -> Option<ThreadState> {
        let recording = self.sources.recording;
        *self.by_stack.entry(stack).or_insert_with(|| of_frames(recording, stack))
    }

    /// What the stack of a thread says that stood still, where the JVM says nothing of it.
    pub(crate) fn of_standing(&mut self, wait: &Span) -> Option<ThreadState> {
        let recording = self.sources.recording;
        let state = *self.standing.entry(wait.stack_id).or_insert_with(|| of_standing(recording, wait.stack_id));
        state.map(|state| self.in_place(wait, state))
    }
}

/// Whether a wait for a monitor's signal is for another thread to initialize a class: HotSpot has them wait on an array (up to JDK 20;
/// later ones tell nothing of it), and not because they called `wait` on one, as a thread of JMX does.
pub fn is_class_initialization(recording: &Recording, wait: &Span) -> bool {
    recording.text(wait.kind) == span::MONITOR_WAIT
        && recording.text(wait.name) == "int[]"
        && !is_below(recording, wait.stack_id, &["java.lang.Object.wait"])
}

/// Whether a wait is for a lock with one owner at a time, by what it parked on or where it is. Conditions do not count.
fn is_for_a_mutex(recording: &Recording, wait: &Span) -> bool {
    of_class(recording.text(wait.name)) == Some(LOCK) || is_below(recording, wait.stack_id, LOCKING)
}

/// Whether a whole stack has frames of Java, and none but the JDK's.
fn is_of_the_jdk(recording: &Recording, stack: StackId) -> bool {
    let mut frames = recording.stacks.leaf_to_root(stack).filter(|frame| recording.text(frame.symbol).contains('.'));
    let root = recording.stacks.leaf_to_root(stack).last().map_or("", |frame| recording.text(frame.symbol));
    root.starts_with("java.lang.Thread.run") && !frames.any(|frame| is_own(recording, &frame))
}

fn of_frames(recording: &Recording, stack: StackId) -> Option<ThreadState> {
    if handed_over(recording, stack).is_some() {
        return Some(POOL);
    }
    let mut passed: Option<&str> = None;
    for frame in recording.stacks.leaf_to_root(stack) {
        let symbol = recording.text(frame.symbol);
        if let Some((begins, wait)) = of_frame(symbol) {
            // A task is waited for by who asks for its result: what they run waits for something else.
            let is_run_there = wait == Wait::Task && passed.is_some_and(|own| !is_of_library(own, begins));
            return Some(ThreadState::Blocked(wait)).filter(|_| !is_run_there);
        }
        passed = passed.or(Some(symbol).filter(|_| is_own(recording, &frame)));
    }
    None
}

/// What a thread waits for below a frame, if a row knows it, and what that one's name begins with.
fn of_frame(symbol: &str) -> Option<(&'static str, Wait)> {
    let mut known = Wait::ALL.iter().flat_map(|wait| wait.row().frames.iter().map(move |begins| (*begins, *wait)));
    known.find(|(begins, _)| symbol.starts_with(begins))
}

/// The frame of a pool in which a thread waits for an object to be handed over: there is nothing but the JDK below it.
fn handed_over(recording: &Recording, stack: StackId) -> Option<&str> {
    let own = recording.stacks.leaf_to_root(stack).find(|frame| is_own(recording, frame))?;
    Some(recording.text(own.symbol)).filter(|symbol| begins_with(symbol, HANDED_OVER))
}

/// Whether a frame is of the library that a row is about: the first three parts of their names are the same.
fn is_of_library(symbol: &str, begins: &str) -> bool {
    symbol.split('.').take(3).eq(begins.split('.').take(3))
}

/// What a thread that stands in the JVM waits for by its stack alone; none where it does not wait for another thread.
pub fn of_standing(recording: &Recording, stack: StackId) -> Option<ThreadState> {
    let is_in = |names: &[&str]| is_below(recording, stack, names);
    let of_frames = of_frames(recording, stack);
    match of_frames {
        // A pool has locks of its own.
        Some(POOL) => of_frames,
        _ if is_in(LOCKING) => Some(LOCK),
        _ if is_in(PERMITTING) => Some(PERMIT),
        None if is_in(STANDING) => Some(UNNAMED),
        _ => of_frames,
    }
}

/// Whether a thread writes to a file, a pipe or a terminal, or reads from a file by its position.
pub fn is_at_a_file(recording: &Recording, stack: StackId) -> bool {
    is_below(recording, stack, FILES)
}

/// The frame that tells what a thread waits for: the innermost that a row knows, or that is the application's.
pub fn telling_frame(recording: &Recording, stack: StackId) -> Option<&str> {
    let tells = |frame: &Frame| of_frame(recording.text(frame.symbol)).is_some() || is_own(recording, frame);
    let innermost = || recording.stacks.leaf_to_root(stack).find(tells).map(|frame| recording.text(frame.symbol));
    handed_over(recording, stack).or_else(innermost)
}

/// Whether a frame is of Java, and not of the JDK.
pub fn is_own(recording: &Recording, frame: &Frame) -> bool {
    let symbol = recording.text(frame.symbol);
    // Compilers of C put points into names as well: `f.part.0`, `f.cold`.
    let is_c = |last: &str| last == "cold" || last.bytes().all(|byte| byte.is_ascii_digit());
    let is_java = symbol.rsplit_once('.').is_some_and(|(_, last)| !is_c(last)) && !symbol.starts_with('/');
    is_java && !frames::is_of_the_jdk(symbol)
}

fn of_class(class: &str) -> Option<ThreadState> {
    let simple = class.rsplit(['.', '/']).next().unwrap_or(class);
    let is_condition = simple.contains("Condition");
    let is_of = |wait: &&Wait| begins_with(simple, wait.row().classes) && !is_condition;
    Wait::ALL.iter().find(is_of).map(|wait| ThreadState::Blocked(*wait))
}

/// Functions of the kernel in which a thread makes room in memory itself, or is held up because its container uses too much.
pub const RECLAIM: &[&str] = &[
    "__mem_cgroup_handle_over_high",
    "mem_cgroup_handle_over_high",
    "reclaim_high",
    "try_to_free_mem_cgroup_pages",
    "try_to_free_pages",
    "do_try_to_free_pages",
    "throttle_direct_reclaim",
    "reclaim_throttle",
    "__alloc_pages_direct_compact",
    "try_to_compact_pages",
];

/// Whether a stack of the kernel is below one of those.
pub fn waits_for_memory(recording: &Recording, stack: StackId) -> bool {
    let mut symbols = recording.stacks.leaf_to_root(stack).map(|frame| recording.text(frame.symbol));
    symbols.any(|symbol| RECLAIM.contains(&symbol))
}

/// What a wait in the kernel is by its kind or its frames, where the JVM says nothing of it: a page fault, a DNS lookup, or
/// a service whose answer the thread is about to read. Other waits may end with work that comes, or not: that is unknown.
pub(crate) fn of_kernel_wait(sources: &Sources<'_>, blocked: &Span, of_frames: Option<ThreadState>) -> ThreadState {
    let is_for_memory = || waits_for_memory(sources.recording, blocked.kernel_stack_id);
    match (sources.recording.text(blocked.name), of_frames) {
        ("page_fault", _) => ThreadState::Blocked(Wait::PageFault),
        _ if is_for_memory() => ThreadState::Blocked(Wait::PageFault),
        (_, Some(state)) if state.row().is_told_by_frames_alone => state,
        _ if reads_a_pipe(sources.recording, blocked.kernel_stack_id) => PROCESS,
        _ if sources.traffic.waits_for_a_call(blocked) => ThreadState::Blocked(Wait::Socket),
        _ => ThreadState::Unknown,
    }
}

/// Whether a thread waits in the kernel for data in a pipe. After a child has ended, its descriptor is unknown.
fn reads_a_pipe(recording: &Recording, kernel_stack: StackId) -> bool {
    const READING: &[&str] = &["anon_pipe_read", "pipe_read", "pipe_wait_readable", "pipe_wait"];
    let frames = recording.stacks.leaf_to_root(kernel_stack).take(READING.len());
    frames.map(|frame| recording.text(frame.symbol)).any(|symbol| READING.contains(&symbol))
}

/// What a long system call waited for. A call on a socket, a pipe or without a file may wait for work.
pub(crate) fn of_call(sources: &Sources<'_>, call: &Span, of_frames: Option<ThreadState>) -> ThreadState {
    let name = sources.recording.text(call.name);
    match of_frames {
        Some(state) if state.row().is_told_by_frames_alone => state,
        _ if name == "connect" => CONNECT,
        _ if matches!(name, "flock" | "fcntl") && sources.is_of_a_file(call) => ThreadState::Blocked(Wait::FileLock),
        _ if sources.is_of_a_file(call) => ThreadState::Blocked(Wait::File),
        Some(PROCESS) => PROCESS,
        _ if matches!(name, "read" | "readv") && sources.is_of_a_pipe(call) => PROCESS,
        _ if sources.traffic.waits_for_a_call(call) || sources.traffic.called(call).is_some() => {
            ThreadState::Blocked(Wait::Socket)
        }
        _ => ThreadState::Unknown,
    }
}

/// Kinds of spans in which a thread waits as the JVM tells it, for what does not depend on more.
pub(crate) const PLAIN: &[(&str, ThreadState)] = &[
    (span::MONITOR_ENTER, LOCK),
    (span::NATIVE_LOCK, LOCK),
    (span::FILE_READ, ThreadState::Blocked(Wait::File)),
    (span::FILE_WRITE, ThreadState::Blocked(Wait::File)),
    (span::FILE_FORCE, ThreadState::Blocked(Wait::File)),
    (span::ALLOCATION_STALL, ThreadState::Blocked(Wait::AllocationStall)),
    (span::PAGE_FAULT, ThreadState::Blocked(Wait::PageFault)),
    (span::RUN_QUEUE_WAIT, ThreadState::Runnable),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scaffold::stack;

    const TASK: ThreadState = ThreadState::Blocked(Wait::Task);

    #[test]
    fn locks_are_told_from_queues() {
        for (class, expected) in [
            ("java.util.concurrent.locks.ReentrantLock$NonfairSync", Some(LOCK)),
            ("java.util.concurrent.locks.ReentrantReadWriteLock$FairSync", Some(LOCK)),
            ("java.util.concurrent.Semaphore$NonfairSync", Some(PERMIT)),
            ("java/util/concurrent/locks/ReentrantLock$FairSync", Some(LOCK)),
            ("java.util.concurrent.CompletableFuture$Signaller", Some(TASK)),
            ("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject", None),
            ("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionNode", None),
            ("java.util.concurrent.SynchronousQueue$TransferStack", None),
            ("java.util.concurrent.ForkJoinPool", None),
            ("", None),
        ] {
            assert_eq!(of_class(class), expected, "{class}");
        }
    }

    #[test]
    fn a_stack_alone_tells_locks_and_pools_and_that_somebody_waits() {
        let mut recording = Recording::default();
        for (frames, expected) in [
            (
                &[
                    "Parker::park",
                    "java.util.concurrent.locks.LockSupport.park",
                    "java.util.concurrent.locks.ReentrantLock.lock",
                    "shop.Cart.add",
                ][..],
                Some(LOCK),
            ),
            (&["ObjectMonitor::enter", "shop.Cart.add"], Some(LOCK)),
            // A libjvm without names of functions.
            (&["__lll_lock_wait", "[unknown]", "monitorenter_nofpu Runtime1 stub", "shop.Cart.add"], Some(LOCK)),
            (&["pthread_cond_wait", "[unknown]", "_complete_monitor_locking_Java", "shop.Cart.add"], Some(LOCK)),
            (&["pthread_cond_wait", "[unknown]", "_new_instance_Java", "shop.Cart.add"], None),
            (
                &["java.util.concurrent.locks.ReentrantLock.lock", "org.apache.http.pool.AbstractConnPool.lease"],
                Some(POOL),
            ),
            (
                &[
                    "java.util.concurrent.locks.LockSupport.park",
                    "java.util.concurrent.Semaphore.acquire",
                    "shop.Cart.add",
                ],
                Some(PERMIT),
            ),
            (&["java.util.concurrent.locks.LockSupport.parkNanos", "shop.Cart.add"], Some(UNNAMED)),
            (
                &["java.util.concurrent.locks.LockSupport.park", "java.util.concurrent.ThreadPoolExecutor.getTask"],
                Some(UNNAMED),
            ),
            (&["recvfrom", "shop.Cart.add"], None),
        ] {
            let stack = stack(&mut recording, frames);
            assert_eq!(of_standing(&recording, stack), expected, "{frames:?}");
        }
    }

    #[test]
    fn the_innermost_frame_that_is_known_decides() {
        let mut recording = Recording::default();
        for (frames, expected) in [
            (
                &["java.util.concurrent.SynchronousQueue.poll", "com.zaxxer.hikari.util.ConcurrentBag.borrow"][..],
                Some(POOL),
            ),
            (
                &[
                    "java.util.concurrent.FutureTask.awaitDone",
                    "shop.Cart.total",
                    "java.util.concurrent.ForkJoinPool.runWorker",
                ],
                Some(TASK),
            ),
            (
                &[
                    "java.util.concurrent.CountDownLatch.await",
                    "org.apache.tomcat.jdbc.pool.FairBlockingQueue.poll",
                    "org.apache.tomcat.jdbc.pool.ConnectionPool.borrowConnection",
                ],
                Some(POOL),
            ),
            // A task that the pool has others do.
            (
                &[
                    "java.util.concurrent.FutureTask.get",
                    "shop.Connections.make",
                    "org.apache.tomcat.jdbc.pool.FairBlockingQueue.poll",
                ],
                Some(TASK),
            ),
            (
                &[
                    "java.lang.Object.wait",
                    "org.apache.hc.core5.concurrent.BasicFuture.get",
                    "org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManager$3.get",
                ],
                Some(POOL),
            ),
            (&["java.util.concurrent.LinkedBlockingQueue.take", "shop.Cart.total"], None),
            (&["java.lang.Object.wait", "shop.Cart.total", "java.util.concurrent.FutureTask.run"], None),
            (&[], None),
        ] {
            let stack = stack(&mut recording, frames);
            assert_eq!(of_frames(&recording, stack), expected, "{frames:?}");
        }
    }
}
