//! Waits without a waiting thread: an event loop goes on with other requests until the answer is there.

use fathom_evidence::{FrameId, Recording};
use fathom_timeline::{ThreadState, begins_with};

use crate::cause::Finding;
use crate::comparison::Comparison;
use crate::format;
use crate::limits::MINOR_SHARE;

/// Beginnings of the frames of libraries that read sockets on event loops.
const LOOPS: &[&str] = &[
    "io.netty.channel.",
    "io.vertx.core.",
    "akka.io.",
    "org.apache.pekko.io.",
    "org.apache.hc.core5.reactor.",
    "org.apache.http.impl.nio.",
    "jdk.internal.net.http.",
];

/// The answer if no wait of a kind was seen, requests were late for an unknown reason, and event loops ran: they may have
/// waited for `what` in a way that the JVM does not record. A thread that waits itself would have been seen.
pub fn unseen(comparison: &Comparison<'_>, what: &str) -> Option<Finding> {
    let lost_ns = comparison.excess().lost_ns();
    let unknown_ns = comparison.excess().of(ThreadState::Unknown)?.lost_ns();
    (unknown_ns > 0.0 && unknown_ns >= MINOR_SHARE * lost_ns && has_loops(comparison.recording())).then(|| {
        let part = format::percent(unknown_ns / lost_ns);
        Finding::needs_kernel(&format!(
            "no thread is seen to wait for {part} of the lost time, and event loops wait for {what} without one"
        ))
    })
}

fn has_loops(recording: &Recording) -> bool {
    let symbols = (0..recording.stacks.frame_count()).map(|id| recording.stacks.frame(FrameId(id as u32)).symbol);
    symbols.map(|symbol| recording.text(symbol)).any(|symbol| begins_with(symbol, LOOPS))
}
