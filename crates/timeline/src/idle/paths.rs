//! Stacks as paths from the root on, with Java frames only. The same place looks the same in each path.

use std::collections::HashMap;

use fathom_evidence::kinds::{frame, span};
use fathom_evidence::tables::Span;
use fathom_evidence::{Recording, StackId};

use crate::frames::{begins_with, is_of_the_jdk};

/// Symbols from the root to the leaf.
pub(super) type Path = Vec<u32>;

/// Beginnings of the innermost Java frames in which a thread waits until it is woken or time has passed.
const PRIMITIVES: &[&str] = &[
    "jdk.internal.misc.Unsafe.park",
    "sun.misc.Unsafe.park",
    "java.util.concurrent.locks.LockSupport.park",
    "java.lang.Object.wait",
    "java.lang.Thread.sleep",
    "java.util.concurrent.TimeUnit.sleep",
    "sun.nio.ch.EPoll",
    "sun.nio.ch.Net.accept",
    "java.net.PlainSocketImpl.socketAccept",
    "java.io.FileInputStream.readBytes",
];

/// The same of blocking reads from sockets.
const SOCKET_READS: &[&str] =
    &["sun.nio.ch.Net.poll", "sun.nio.ch.SocketDispatcher.read", "java.net.SocketInputStream.socketRead"];

/// Functions, native or of the kernel, in which a thread waits for whatever comes: events, or connections.
const OPEN_ENDED: &[&str] = &["epoll_wait", "epoll_pwait", "ep_poll", "accept", "accept4", "inet_csk_accept"];

/// Ends of the names of methods with which a thread begins: where a stack does not end with one it was cut.
const ROOTS: &[&str] = &[".run", ".runWith", ".main"];

/// Frames below which hidden classes are numbered, anew in each JVM.
const NUMBERED: &[&str] = &["$$Lambda", "/0x", "+0x"];

#[derive(Debug, Default)]
pub(super) struct Paths {
    ids: HashMap<String, u32>,
    names: Vec<String>,
    known: HashMap<StackId, Option<Path>>,
}

impl Paths {
    /// The path of a whole stack; none of one that was cut.
    pub(super) fn whole(&mut self, recording: &Recording, stack: StackId) -> Option<Path> {
        if let Some(known) = self.known.get(&stack) {
            return known.clone();
        }
        let mut path: Path = Vec::new();
        for frame in recording.stacks.leaf_to_root(stack) {
            let symbol = recording.text(frame.symbol);
            if is_java(recording.text(frame.kind), symbol) {
                let id = self.id(symbol);
                path.extend(Some(id).filter(|id| path.last() != Some(id)));
            }
        }
        path.reverse();
        let is_whole =
            path.first().is_some_and(|root| ROOTS.iter().any(|end| self.names[*root as usize].ends_with(end)));
        let found = Some(path).filter(|_| is_whole);
        self.known.insert(stack, found.clone());
        found
    }

    /// The same of a wait, if it is one that the thread entered by itself.
    pub(super) fn of_wait(&mut self, recording: &Recording, wait: &Span) -> Option<Path> {
        let path = self.whole(recording, wait.stack_id)?;
        let leaf = path.last().map(|leaf| self.names[*leaf as usize].as_str())?;
        // What other sources measure of reads has rows of its own.
        let is_look = recording.text(wait.kind) == span::SAMPLED_WAIT;
        let is_primitive = begins_with(leaf, PRIMITIVES) || is_look && begins_with(leaf, SOCKET_READS);
        let mut frames = recording.stacks.leaf_to_root(wait.stack_id).map(|frame| recording.text(frame.symbol));
        (is_primitive || frames.any(|symbol| OPEN_ENDED.contains(&symbol))).then_some(path)
    }

    fn id(&mut self, symbol: &str) -> u32 {
        let cut = NUMBERED.iter().filter_map(|mark| symbol.find(mark)).min().unwrap_or(symbol.len());
        let name = &symbol[..cut];
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.ids.insert(name.to_owned(), id);
        id
    }

    /// The parts of a path that are the application's, or its libraries', and not the JDK's: the first two parts of their names.
    pub(super) fn libraries<'p>(&'p self, path: &'p [u32]) -> impl Iterator<Item = &'p str> + 'p {
        let names = path.iter().map(|id| self.names[*id as usize].as_str());
        names.filter(|name| !is_of_the_jdk(name)).map(library)
    }

    /// Whether a wait ends when time has passed, and not by another thread.
    pub(super) fn sleeps(&self, path: &[u32]) -> bool {
        let leaf = path.last().map_or("", |leaf| self.names[*leaf as usize].as_str());
        begins_with(leaf, &["java.lang.Thread.sleep", "java.util.concurrent.TimeUnit.sleep"])
    }

    /// Whether a path is no more than a thread's beginning.
    pub(super) fn is_bare(&self, path: &[u32]) -> bool {
        self.libraries(path).next().is_none() && path.len() <= 2
    }
}

/// `org.eclipse` of `org.eclipse.jetty.server.Server.handle`.
fn library(name: &str) -> &str {
    let end = name.match_indices('.').nth(1).map_or(name.len(), |(at, _)| at);
    &name[..end]
}

fn is_java(kind: &str, symbol: &str) -> bool {
    // Natives of the JDK are Java's methods as well: those have packages.
    let is_native = matches!(kind, frame::NATIVE | frame::KERNEL | frame::VM);
    symbol.contains('.')
        && (!is_native || symbol.starts_with("java.") || symbol.starts_with("jdk.") || symbol.starts_with("sun."))
}
