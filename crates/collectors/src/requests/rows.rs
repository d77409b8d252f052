//! Requests and calls as rows.

use fathom_evidence::detail::{self, Call, Request};
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_evidence::{Recording, StackId};

use super::NAME;
use super::parse::{Endpoint, Exchange};
use crate::Clock;

/// The row of what has ended.
pub(super) fn span(exchange: &Exchange, endpoint: &Endpoint, clock: &Clock, found: &mut Recording) -> Span {
    let (kind, detail) = match exchange.is_call() {
        true => (span::CALL, detail::to_text(&call(exchange, endpoint))),
        false => (span::REQUEST, detail::to_text(&request(exchange, endpoint))),
    };
    // Who sent is not known where its thread had not come back from sending when the next request had arrived.
    let tid = if exchange.sender_tid != 0 { exchange.sender_tid } else { exchange.reader_tid };
    Span {
        time_ns: clock.wall_ns(exchange.began_ns),
        duration_ns: exchange.end_ns.saturating_sub(exchange.began_ns),
        tid: i64::from(tid),
        kind: found.strings.intern(kind),
        name: found.strings.intern(&endpoint.name()),
        stack_id: StackId(0),
        kernel_stack_id: StackId(0),
        detail: found.strings.intern(&detail),
        source: found.strings.intern(NAME),
    }
}

fn request(exchange: &Exchange, endpoint: &Endpoint) -> Request {
    Request {
        port: endpoint.port(),
        unread_ns: since(exchange.began_ns, exchange.read_ns),
        first_byte_ns: since(exchange.began_ns, exchange.answered_ns),
        reader_tid: other_reader(exchange),
        worker_tid: (exchange.worker_tid != 0).then_some(i64::from(exchange.worker_tid)),
        returned_ns: since(exchange.began_ns, exchange.returned_ns),
        bytes_in: bytes(exchange, exchange.bytes_in),
        bytes_out: bytes(exchange, exchange.bytes_out),
        stands_for: (exchange.stands_for > 1).then_some(exchange.stands_for),
        overlapping: exchange.overlaps().then_some(true),
        stream: exchange.is_stream().then_some(true),
        unanswered: exchange.is_unanswered().then_some(true),
        given_up: exchange.is_given_up().then_some(true),
        unsent_ns: (exchange.unsent_ns > 0).then_some(exchange.unsent_ns),
        unsent_for: exchange.unsent_for().map(str::to_owned),
        window_full_ns: (exchange.window_full_ns > 0).then_some(exchange.window_full_ns),
        uncertain_ns: None,
        ticks_ns: None,
    }
}

fn call(exchange: &Exchange, endpoint: &Endpoint) -> Call {
    Call {
        host: endpoint.host(),
        port: endpoint.port(),
        peer_ns: since(exchange.began_ns, exchange.answered_ns),
        own_delay_ns: since(exchange.answered_ns, exchange.read_ns),
        reader_tid: other_reader(exchange),
        bytes_in: bytes(exchange, exchange.bytes_in),
        bytes_out: bytes(exchange, exchange.bytes_out),
        stands_for: (exchange.stands_for > 1).then_some(exchange.stands_for),
        overlapping: exchange.overlaps().then_some(true),
        unanswered: exchange.is_unanswered().then_some(true),
        unsent_ns: (exchange.unsent_ns > 0).then_some(exchange.unsent_ns),
        unsent_for: exchange.unsent_for().map(str::to_owned),
        uncertain_ns: None,
        ticks_ns: None,
    }
}

/// From one instant to the other; `None` when either was not.
fn since(from_ns: i64, to_ns: i64) -> Option<i64> {
    (from_ns != 0 && to_ns != 0).then(|| to_ns.saturating_sub(from_ns).max(0))
}

fn other_reader(exchange: &Exchange) -> Option<i64> {
    let is_other = exchange.sender_tid != 0 && exchange.reader_tid != 0 && exchange.reader_tid != exchange.sender_tid;
    is_other.then_some(i64::from(exchange.reader_tid))
}

fn bytes(exchange: &Exchange, bytes: u32) -> Option<u64> {
    exchange.is_tcp().then_some(u64::from(bytes))
}
