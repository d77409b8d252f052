//! Waits for other services in which a library waits on the caller's behalf.
//!
//! The calling thread parks on a future, and another thread reads the socket, mostly so quickly that no read is recorded.
//! The library's entry point on the stack shows what the future is for.

use std::collections::HashMap;

use fathom_evidence::tables::Span;
use fathom_evidence::{Recording, StackId, StrId};

use crate::frames::begins_with;

/// What a thread parks on that waits for a result; a queue, on which an idle thread parks, is not here.
const RESULTS: &[&str] = &["CompletableFuture$Signaller", "FutureTask", "CountDownLatch$Sync"];

/// Packages of clients of the network that are called and give a result back.
const CLIENTS: &[&str] = &[
    "java.net.http.",
    "jdk.internal.net.http.",
    "com.datastax.",
    "com.mongodb.",
    "io.grpc.",
    "io.lettuce.",
    "okhttp3.",
    "org.apache.hc.client5.",
    "org.apache.http.",
    "org.asynchttpclient.",
    "org.redisson.",
    "org.springframework.web.reactive.function.client.",
    "reactor.netty.http.client.",
    "software.amazon.awssdk.",
];

/// The calls of clients in which threads parked.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    /// Entry point of the client, by stack.
    calls: HashMap<StackId, StrId>,
}

impl Clients {
    pub(crate) fn of(recording: &Recording, parks: impl Iterator<Item = Span>) -> Clients {
        let mut calls: HashMap<StackId, Option<StrId>> = HashMap::new();
        for park in parks.filter(|park| is_result(recording.text(park.name))) {
            calls.entry(park.stack_id).or_insert_with(|| entry_point(recording, park.stack_id));
        }
        Clients { calls: calls.into_iter().filter_map(|(stack, call)| Some((stack, call?))).collect() }
    }

    /// The call of a client whose result is waited for.
    pub(crate) fn call(&self, recording: &Recording, park: &Span) -> Option<StrId> {
        let call = self.calls.get(&park.stack_id)?;
        is_result(recording.text(park.name)).then_some(*call)
    }
}

fn is_result(class: &str) -> bool {
    let simple = class.rsplit(['.', '/']).next().unwrap_or(class);
    RESULTS.contains(&simple) || begins_with(class, CLIENTS)
}

/// The outermost frame of a client: what the application called.
fn entry_point(recording: &Recording, stack: StackId) -> Option<StrId> {
    let frames = recording.stacks.leaf_to_root(stack).map(|frame| frame.symbol);
    frames.filter(|symbol| begins_with(recording.text(*symbol), CLIENTS)).last()
}
