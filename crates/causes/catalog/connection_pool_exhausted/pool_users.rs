//! The threads that use objects of a pool: those seen below the proxies that the pool gives out.

use std::collections::BTreeMap;

use fathom_evidence::kinds::span;
use fathom_evidence::{Recording, StackId};
use fathom_timeline::begins_with;

use crate::Comparison;
use crate::format;

/// Classes that pools put around what they give out. Who is below one of their methods has an object of the pool.
const PROXIES: &[&str] = &[
    "com.zaxxer.hikari.pool.Proxy",
    "com.zaxxer.hikari.pool.HikariProxy",
    "org.apache.commons.dbcp2.Delegating",
    "org.apache.commons.dbcp2.PoolGuardConnectionWrapper",
    "org.apache.tomcat.jdbc.pool.ProxyConnection",
    "org.apache.tomcat.jdbc.pool.DisposableConnectionFacade",
    "org.apache.tomcat.jdbc.pool.StatementFacade",
    "com.mchange.v2.c3p0.impl.NewProxy",
];

/// Pools, by their frames in which threads wait, whose proxies are known.
const KNOWN: &[&str] = &["com.zaxxer.hikari.", "org.apache.tomcat.jdbc.pool.", "com.mchange.v2."];

/// Whether users of a pool would be seen: its frame is that of a pool whose proxies are known.
pub(super) fn knows(pool: &str) -> bool {
    begins_with(pool, KNOWN)
}

/// Threads that had an object in hand in the slow time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Users {
    threads: usize,
    /// The one that was seen most.
    name: String,
    /// The code that called the pool's proxy, as it was seen most.
    place: String,
}

impl Users {
    /// Those of the slow time; none if no thread was seen.
    pub(super) fn of(comparison: &Comparison<'_>) -> Option<Users> {
        let recording = comparison.recording();
        let rows = recording.samples.rows();
        let rows = rows.map(|row| (row.time_ns, row.time_ns.saturating_add(1), row.tid, row.stack_id));
        let waits = [span::SOCKET_READ, span::PARK, span::MONITOR_ENTER, span::SAMPLED_WAIT, span::BLOCKED];
        let waits = waits.into_iter().flat_map(|kind| comparison.sources().spans(kind));
        // Who began to wait before the slow time and still waits in it has the object then too.
        let waits = waits.map(|wait| (wait.time_ns, wait.end_ns(), wait.tid, wait.stack_id));
        let seen = rows.chain(waits).filter(|(from_ns, to_ns, ..)| comparison.slow.time.touches(*from_ns, *to_ns));
        let mut callers: BTreeMap<StackId, Option<&str>> = BTreeMap::new();
        let (mut threads, mut places) = (BTreeMap::<i64, usize>::new(), BTreeMap::<&str, usize>::new());
        for (_, _, tid, stack) in seen {
            let Some(caller) = *callers.entry(stack).or_insert_with(|| caller(recording, stack)) else { continue };
            *threads.entry(tid).or_default() += 1;
            *places.entry(caller).or_default() += 1;
        }
        let (tid, _) = threads.iter().max_by_key(|(_, count)| **count)?;
        let (place, _) = places.iter().max_by_key(|(_, count)| **count)?;
        let (name, place) = (comparison.thread_name(*tid).to_owned(), (*place).to_owned());
        Some(Users { threads: threads.len(), name, place })
    }

    /// For example `handler-1 and 9 other threads had one in hand in the slow time, mostly in shop.Orders.load`.
    pub(super) fn says(&self) -> String {
        let others = match self.threads - 1 {
            0 => String::new(),
            more => format!(" and {}", format::count(more, "other thread")),
        };
        format!("{}{others} had one in hand in the slow time, mostly in {}", self.name, self.place)
    }
}

/// The code that called a proxy of a pool, if any did in this stack.
fn caller(recording: &Recording, stack: StackId) -> Option<&str> {
    let mut frames = recording.stacks.leaf_to_root(stack).map(|frame| recording.text(frame.symbol));
    let is_proxy = |symbol: &&str| begins_with(symbol, PROXIES);
    frames.find(is_proxy)?;
    frames.find(|symbol| !is_proxy(symbol))
}
