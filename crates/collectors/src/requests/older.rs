//! Calls that were under way before the recording began and still are when it ends, as of a service that hangs because another one
//! does. No byte of them is sent or read meanwhile, so that the programs see nothing: what is seen is a thread that reads
//! from the same connection at the beginning and at the end, on which nothing came since the target sent something before.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;

use fathom_evidence::detail::{self, Call};
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_evidence::{Recording, StackId};

use super::{NAME, listening};
use crate::bpf::Calls;
use crate::sock_diag::SockDiag;
use crate::{Clock, Target, procfs};

/// System calls that wait for bytes of the socket that is their first argument.
const READS: [&str; 4] = ["read", "recvfrom", "recvmsg", "readv"];

/// Of a process with more threads none is looked at: each costs some reads.
const MOST_THREADS: usize = 4096;

/// A thread in a read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Read {
    /// The socket's.
    inode: String,
    peer: SocketAddr,
}

/// Threads that waited for an answer when the recording began.
pub(super) struct Older {
    target: Target,
    began_ns: i64,
    reads: HashMap<u32, Read>,
}

impl Older {
    pub(super) fn of(target: &Target, clock: &Clock) -> Older {
        Older { target: target.clone(), began_ns: clock.now_ns(), reads: waiting(target, 0) }
    }

    /// Adds those that still wait.
    pub(super) fn tell(&self, clock: &Clock, found: &mut Recording) {
        if self.reads.is_empty() {
            return;
        }
        let now_ns = clock.now_ns();
        let now = waiting(&self.target, now_ns.saturating_sub(self.began_ns));
        for (tid, read) in &self.reads {
            if now.get(tid) == Some(read) {
                let span = row(*tid, read, (self.began_ns, now_ns), found);
                found.spans.push(span);
            }
        }
    }
}

fn row(tid: u32, read: &Read, (from_ns, to_ns): (i64, i64), found: &mut Recording) -> Span {
    let (host, port) = (read.peer.ip().to_string(), u32::from(read.peer.port()));
    let detail = Call { host: Some(host), port: Some(port), unanswered: Some(true), ..Call::default() };
    Span {
        time_ns: from_ns,
        duration_ns: to_ns.saturating_sub(from_ns),
        tid: i64::from(tid),
        kind: found.strings.intern(span::CALL),
        name: found.strings.intern(&read.peer.to_string()),
        stack_id: StackId(0),
        kernel_stack_id: StackId(0),
        detail: found.strings.intern(&detail::to_text(&detail)),
        source: found.strings.intern(NAME),
    }
}

/// Threads that read from a connection which the target made, and on which it asked something so long ago.
fn waiting(target: &Target, at_least_ns: i64) -> HashMap<u32, Read> {
    let tids = target.thread_ids();
    if tids.len() > MOST_THREADS {
        return HashMap::new();
    }
    let calls = Calls::new();
    let descriptors = tids.into_iter().filter_map(|tid| Some((tid, descriptor_read(target, tid, &calls)?)));
    let reading: Vec<(u32, u64)> = descriptors.collect();
    if reading.is_empty() {
        return HashMap::new();
    }
    let connections = listening::connections(target);
    let own = listening::ports(target);
    let asked = ports_that_asked(target, at_least_ns);
    let read = |(tid, descriptor): (u32, u64)| {
        let link = procfs::link(target.proc(&format!("fd/{descriptor}"))).ok()?;
        let inode = listening::inode(&link)?;
        let (port, peer) = connections.get(inode)?;
        let is_call = asked.contains(port) && !own.contains(port);
        is_call.then(|| (tid, Read { inode: inode.to_owned(), peer: *peer }))
    };
    reading.into_iter().filter_map(read).collect()
}

/// The descriptor that a thread reads from, if it does.
fn descriptor_read(target: &Target, tid: u32, calls: &Calls) -> Option<u64> {
    let text = procfs::text_of(target.proc(&format!("task/{tid}/syscall")))?;
    let mut words = text.split_whitespace();
    let name = calls.name(words.next()?.parse().ok()?);
    let descriptor = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    READS.contains(&&*name).then_some(descriptor)
}

/// Ports on this side of connections on which it was the last to send, so long ago.
fn ports_that_asked(target: &Target, at_least_ns: i64) -> HashSet<u16> {
    let at_least_ms = at_least_ns / 1_000_000;
    let mut ports = HashSet::new();
    let asked = SockDiag::of(target).and_then(|mut kernel| {
        kernel.connections(|connection| {
            let is_last = connection.segments_in == 0 || connection.sent_ago_ms < connection.received_ago_ms;
            if connection.segments_out > 0 && is_last && i64::from(connection.sent_ago_ms) >= at_least_ms {
                ports.insert(connection.port);
            }
        })
    });
    // Who may not ask knows of no older call.
    asked.map_or(HashSet::new(), |()| ports)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::requests::tests::tells_of_connections;

    #[test]
    fn who_waits_for_an_answer_all_the_time_is_told_and_who_waits_for_news_is_not() {
        if !tells_of_connections("who_waits_for_an_answer_all_the_time_is_told") {
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = listener.local_addr().unwrap();
        let (tid_of, tids) = mpsc::channel();
        let reader = |asks: bool| {
            let (tid_of, peer) = (tid_of.clone(), peer);
            thread::spawn(move || {
                let mut stream = TcpStream::connect(peer).unwrap();
                if asks {
                    stream.write_all(&[1]).unwrap();
                }
                tid_of.send((rustix::thread::gettid().as_raw_nonzero().get() as u32, asks)).unwrap();
                let _ = stream.read(&mut [0; 1]);
            })
        };
        let threads = [reader(true), reader(false)];
        let ends = [(); 2].map(|()| listener.accept().unwrap().0);
        let expected: HashMap<u32, bool> = (0..2).map(|_| tids.recv().unwrap()).collect();
        thread::sleep(Duration::from_millis(60));
        // Who listens in this process has been called by it: for the test somebody else does.
        let target = Target::of(std::process::id()).unwrap();
        drop(listener);
        let (clock, mut found) = (Clock::read(), Recording::default());
        Older::of(&target, &clock).tell(&clock, &mut found);
        // Other tests of this process may call somebody, too.
        let told = |tid: u32| -> Vec<&str> {
            let own = found.spans.rows().filter(|span| span.tid == i64::from(tid));
            own.map(|span| found.text(span.name)).collect()
        };
        let peer = peer.to_string();
        for (tid, asks) in expected {
            assert_eq!(told(tid), if asks { vec![peer.as_str()] } else { Vec::new() });
        }
        drop(ends);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}
