//! Sockets of this process, which serves and calls itself.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use fathom_evidence::detail::{Call, Request, from_text};
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Typedef;
use libbpf_rs::query::{ProgInfoIter, ProgramInfo};

mod datagrams;
mod failures;
mod frames;
mod hand_over;
mod messages;
mod several;
mod streams;
mod unpaired;
mod unsent;

use super::shared::{BEGIN_OF_SEND, Shared};
use super::*;
use crate::bpf::tests::can_load;
use crate::recorder::Plan;

const SLEEP: Duration = Duration::from_millis(30);

/// All tests are one process, so each observer sees the sockets of all of them.
static ALONE: Mutex<()> = Mutex::new(());

/// The right to be the only one who uses sockets, if this kernel has the tracepoints; says so loudly if not.
fn can_see(test: &str) -> Option<MutexGuard<'static, ()>> {
    if !can_load(test) {
        return None;
    }
    let refusal = Share::of(&Target::of(std::process::id()).unwrap()).err();
    if let Some(refusal) = &refusal {
        assert!(refusal.why.contains("tracepoint") && refusal.grant.contains("6.3"), "{refusal:?}");
        eprintln!("SKIPPED: {test}: {}", refusal.why);
    }
    refusal.is_none().then(|| ALONE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Whether the kernel tells of TCP connections, for which it may need a module; says so loudly if not.
pub(super) fn tells_of_connections(test: &str) -> bool {
    let target = Target::of(std::process::id()).unwrap();
    let asked = crate::sock_diag::SockDiag::of(&target).and_then(|mut kernel| kernel.connections(|_| ()));
    if let Err(error) = &asked {
        eprintln!("SKIPPED: {test}: {error}");
    }
    asked.is_ok()
}

/// Both ways in which a send is seen: as on this kernel, and as on those that tell of it afterwards only.
fn ways() -> impl Iterator<Item = bool> {
    let types = Btf::from_vmlinux().unwrap();
    let has_begin = types.type_by_name::<Typedef<'_>>(&format!("btf_trace_{}", BEGIN_OF_SEND.0)).is_some();
    [true, false].into_iter().filter(move |sees_begin| has_begin || !sees_begin)
}

/// What is found about one port while `work` runs.
struct Found {
    found: Recording,
    port: u16,
}

fn watch(sees_begin: bool, port: u16, work: impl FnOnce()) -> Found {
    observed(sees_begin, port, |_| work())
}

/// The same with a way to look meanwhile.
fn watch_and_look(port: u16, work: impl FnOnce(&mut dyn FnMut())) -> Found {
    observed(true, port, work)
}

fn observed(sees_begin: bool, port: u16, work: impl FnOnce(&mut dyn FnMut())) -> Found {
    let target = Target::of(std::process::id()).unwrap();
    let order = Plan::new("/nowhere".into()).order;
    let shared = Shared::load(sees_begin).unwrap_or_else(|refusal| panic!("{}", refusal.why));
    let mut observer = Box::new(observer(Share::in_these(&shared, &target).unwrap(), &target, &order));
    let mut found = Recording::default();
    work(&mut || observer.look(&mut found));
    observer.look(&mut found);
    observer.finish(&mut found);
    Found { found, port }
}

impl Found {
    fn spans(&self, kind: &str, name: &str) -> Vec<Span> {
        let is_wanted = |span: &Span| self.found.text(span.kind) == kind && self.found.text(span.name) == name;
        let mut spans: Vec<Span> = self.found.spans.rows().filter(is_wanted).collect();
        spans.sort_by_key(|span| span.time_ns);
        spans
    }

    fn requests(&self) -> Vec<(Span, Request)> {
        let spans = self.spans(span::REQUEST, &format!(":{}", self.port));
        spans.into_iter().map(|span| (span, from_text(self.found.text(span.detail)))).collect()
    }

    fn calls(&self) -> Vec<(Span, Call)> {
        let spans = self.spans(span::CALL, &format!("127.0.0.1:{}", self.port));
        spans.into_iter().map(|span| (span, from_text(self.found.text(span.detail)))).collect()
    }

    /// The last value of a counter.
    fn counted(&self, name: &str, instance: &str) -> f64 {
        let is_wanted = |row: &&fathom_evidence::tables::Counter| {
            self.found.text(row.name) == name && self.found.text(row.instance) == instance
        };
        let rows: Vec<_> = self.found.counters.rows().collect();
        rows.iter().rev().find(is_wanted).map_or(0.0, |row| row.value)
    }
}

fn own_tid() -> i64 {
    i64::from(rustix::thread::gettid().as_raw_nonzero().get())
}

/// Both ends of a connection to a port of this process.
fn connection(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    (client, server)
}

/// Answers each request of four bytes with so many, after as many ms as its first byte says; gives its thread's number.
fn serve(mut stream: impl Read + Write, answer: usize) -> i64 {
    let mut request = [0; 4];
    while stream.read_exact(&mut request).is_ok() {
        thread::sleep(Duration::from_millis(u64::from(request[0])));
        stream.write_all(&vec![7; answer]).unwrap();
    }
    own_tid()
}

/// How long each call took that asks for an answer after so many ms.
fn call(stream: &mut (impl Read + Write), delays_ms: &[u8], answer: usize) -> Vec<Duration> {
    let mut bytes = vec![0; answer];
    let one = |delay: &u8| {
        let began = Instant::now();
        stream.write_all(&[*delay, 1, 2, 3]).unwrap();
        stream.read_exact(&mut bytes).unwrap();
        began.elapsed()
    };
    delays_ms.iter().map(one).collect()
}

fn took(span: &Span) -> Duration {
    Duration::from_nanos(span.duration_ns as u64)
}

fn ns(ns: Option<i64>) -> Duration {
    Duration::from_nanos(ns.unwrap() as u64)
}

const DELAYS_MS: [u8; 20] = [0, 0, 0, 30, 0, 0, 0, 0, 0, 0, 30, 0, 0, 0, 0, 0, 0, 0, 0, 30];

#[test]
fn each_request_is_as_long_as_its_client_says() {
    let Some(_alone) = can_see("each_request_is_as_long_as_its_client_says") else { return };
    for sees_begin in ways() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (mut times, mut server_tid) = (Vec::new(), 0);
        let found = watch(sees_begin, listener.local_addr().unwrap().port(), || {
            let (mut client, server) = connection(&listener);
            let serving = thread::spawn(move || serve(server, 100_000));
            times = call(&mut client, &DELAYS_MS, 100_000);
            drop(client);
            server_tid = serving.join().unwrap();
        });
        let (requests, calls) = (found.requests(), found.calls());
        assert_eq!((requests.len(), calls.len()), (20, 20), "{sees_begin}: {requests:?} {calls:?}");
        for (((span, request), (call_span, call)), (measured, delay_ms)) in
            requests.iter().zip(&calls).zip(times.iter().zip(DELAYS_MS))
        {
            let delay = Duration::from_millis(u64::from(delay_ms));
            assert!(took(span) >= delay && took(call_span) >= delay || !sees_begin, "{span:?} {call_span:?}");
            assert!(ns(request.first_byte_ns) >= delay && ns(request.unread_ns) <= ns(request.first_byte_ns));
            assert!(took(call_span) <= *measured, "{call_span:?} of {measured:?}");
            assert!(!sees_begin || took(span) <= *measured, "{span:?} of {measured:?}");
            assert_eq!((span.tid, request.reader_tid, request.port), (server_tid, None, Some(u32::from(found.port))));
            assert_eq!((request.bytes_in, request.bytes_out), (Some(4), Some(100_000)));
            assert_eq!(
                (call.bytes_out, call.bytes_in, call.host.as_deref()),
                (Some(4), Some(100_000), Some("127.0.0.1"))
            );
            assert_eq!((call_span.tid, request.stands_for, request.unanswered), (own_tid(), None, None));
            let parts = ns(call.peer_ns) + ns(call.own_delay_ns);
            assert!(parts <= took(call_span), "{call:?}");
        }
        let port = format!(":{}", found.port);
        assert_eq!(found.counted(counter::REQUESTS_COUNT, &port), 20.0);
        let sum: i64 = requests.iter().map(|(span, _)| span.duration_ns).sum();
        assert_eq!(found.counted(counter::REQUEST_TIME_NS, &port), sum as f64);
        assert_eq!(found.counted(counter::CALLS_COUNT, &format!("127.0.0.1{port}")), 20.0);
        assert_eq!(found.counted(counter::REQUESTS_UNDER_WAY_COUNT, &port), 0.0);
    }
}

#[test]
fn a_connection_that_was_there_before_is_seen_from_its_next_request_on() {
    let Some(_alone) = can_see("a_connection_that_was_there_before_is_seen_from_its_next_request_on") else { return };
    for sees_begin in ways() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (mut client, server) = connection(&listener);
        let serving = thread::spawn(move || serve(server, 10));
        call(&mut client, &[0, 0], 10);
        let found = watch(sees_begin, listener.local_addr().unwrap().port(), || {
            call(&mut client, &[0, 30, 0], 10);
        });
        drop(client);
        serving.join().unwrap();
        // Of the first request the arrival was not seen; of the first call everything was.
        let slow: Vec<bool> = found.requests().iter().map(|(span, _)| took(span) >= SLEEP).collect();
        assert_eq!(slow, [true, false], "{sees_begin}");
        assert_eq!(found.calls().len(), 3, "{sees_begin}");
    }
}

#[test]
fn an_answer_ends_with_its_last_byte_and_an_unread_request_is_told_apart() {
    let Some(_alone) = can_see("an_answer_ends_with_its_last_byte_and_an_unread_request_is_told_apart") else { return };
    for sees_begin in ways() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let found = watch(sees_begin, listener.local_addr().unwrap().port(), || {
            let (mut client, mut server) = connection(&listener);
            let mut bytes = [0; 4];
            client.write_all(&[1; 4]).unwrap();
            thread::sleep(SLEEP);
            server.read_exact(&mut bytes).unwrap();
            server.write_all(&[1; 2]).unwrap();
            thread::sleep(SLEEP);
            server.write_all(&[1; 2]).unwrap();
            client.read_exact(&mut bytes).unwrap();
        });
        let [(span, request)] = &found.requests()[..] else { panic!("{:?}", found.requests()) };
        assert!(took(span) >= 2 * SLEEP && took(span) - ns(request.first_byte_ns) >= SLEEP, "{request:?}");
        assert!(ns(request.unread_ns) >= SLEEP && ns(request.first_byte_ns) < took(span), "{request:?}");
        let [(span, call)] = &found.calls()[..] else { panic!("{:?}", found.calls()) };
        assert!(ns(call.own_delay_ns) >= SLEEP && ns(call.peer_ns) >= SLEEP && took(span) >= 2 * SLEEP, "{call:?}");
        let unread_ns = found.counted(counter::REQUEST_UNREAD_NS, &format!(":{}", found.port));
        assert_eq!(unread_ns, request.unread_ns.unwrap() as f64);
    }
}

#[test]
fn what_nobody_asked_for_is_no_request() {
    let Some(_alone) = can_see("what_nobody_asked_for_is_no_request") else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let found = watch(true, listener.local_addr().unwrap().port(), || {
        let (mut client, mut server) = connection(&listener);
        let mut bytes = [0; 4];
        for _ in 0..3 {
            server.write_all(&[1; 4]).unwrap();
            client.read_exact(&mut bytes).unwrap();
        }
    });
    assert_eq!((found.requests().len(), found.calls().len()), (0, 0));
}

/// Answers one request of four bytes in so many pieces; the client has all of them then.
fn answer_in_pieces(client: &mut TcpStream, server: &mut TcpStream, pieces: usize) {
    client.write_all(&[1; 4]).unwrap();
    server.read_exact(&mut [0; 4]).unwrap();
    push(client, server, pieces);
}

fn push(client: &mut TcpStream, server: &mut TcpStream, pieces: usize) {
    for _ in 0..pieces {
        server.write_all(&[1; 4]).unwrap();
        client.read_exact(&mut [0; 4]).unwrap();
    }
}

#[test]
fn where_much_is_sent_that_nobody_asked_for_nothing_is_the_answer_to_one_request() {
    let test = "where_much_is_sent_that_nobody_asked_for_nothing_is_the_answer_to_one_request";
    let Some(_alone) = can_see(test) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let found = watch_and_look(listener.local_addr().unwrap().port(), |look| {
        let (mut client, mut server) = connection(&listener);
        for _ in 0..4 {
            answer_in_pieces(&mut client, &mut server, 1);
            // It is the end of an answer unless that is long ago.
            thread::sleep(Duration::from_millis(700));
            look();
            push(&mut client, &mut server, 1);
        }
    });
    let several: Vec<Option<bool>> = found.requests().iter().map(|(_, request)| request.overlapping).collect();
    assert_eq!(several, [None, None, None, Some(true)]);
}

#[test]
fn the_rest_of_an_answer_that_is_older_than_the_recording_is_one_thing_that_nobody_asked_for() {
    let test = "the_rest_of_an_answer_that_is_older_than_the_recording_is_one_thing_that_nobody_asked_for";
    let Some(_alone) = can_see(test) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut client, mut server) = connection(&listener);
    client.write_all(&[1; 4]).unwrap();
    let found = watch(true, listener.local_addr().unwrap().port(), || {
        server.read_exact(&mut [0; 4]).unwrap();
        push(&mut client, &mut server, 5);
        for _ in 0..2 {
            answer_in_pieces(&mut client, &mut server, 5);
        }
    });
    let several: Vec<Option<bool>> = found.requests().iter().map(|(_, request)| request.overlapping).collect();
    assert_eq!(several, [None, None]);
}

#[test]
fn what_is_never_answered_is_told_and_what_needs_no_answer_is_not() {
    let Some(_alone) = can_see("what_is_never_answered_is_told_and_what_needs_no_answer_is_not") else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let pause = Duration::from_nanos(1_100_000_000);
    let (mut stalled, mut unaccepted) = (None, None);
    let found = watch(true, listener.local_addr().unwrap().port(), || {
        let (mut client, mut server) = connection(&listener);
        let mut bytes = [0; 4];
        // Messages that need no answer, each read at once.
        for _ in 0..3 {
            client.write_all(&[1; 4]).unwrap();
            server.read_exact(&mut bytes).unwrap();
            thread::sleep(Duration::from_millis(150));
        }
        let (mut other, unread) = connection(&listener);
        other.write_all(&[1; 4]).unwrap();
        stalled = Some((client, server, other, unread));
        let mut nobody = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        nobody.write_all(&[1; 4]).unwrap();
        unaccepted = Some(nobody);
        thread::sleep(pause);
    });
    let requests = found.requests();
    assert_eq!(requests.len(), 2, "{requests:?}");
    for (span, request) in requests {
        assert!(took(&span) >= pause && request.unanswered == Some(true) && request.unread_ns.is_none());
    }
    assert_eq!(found.counted(counter::REQUESTS_UNDER_WAY_COUNT, &format!(":{}", found.port)), 2.0);
    assert_eq!(found.counted(counter::REQUESTS_COUNT, &format!(":{}", found.port)), 0.0);
}

#[test]
fn requests_that_wait_behind_others_overlap() {
    let Some(_alone) = can_see("requests_that_wait_behind_others_overlap") else { return };
    for sees_begin in ways() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let found = watch(sees_begin, listener.local_addr().unwrap().port(), || {
            let (mut client, mut server) = connection(&listener);
            let mut bytes = [0; 4];
            client.write_all(&[1; 4]).unwrap();
            server.read_exact(&mut bytes).unwrap();
            client.write_all(&[2; 4]).unwrap();
            thread::sleep(SLEEP);
            server.write_all(&bytes).unwrap();
            server.read_exact(&mut bytes).unwrap();
            server.write_all(&bytes).unwrap();
            drop(client);
        });
        let requests = found.requests();
        assert_eq!(requests.len(), 2, "{requests:?}");
        for (span, request) in requests {
            assert!(took(&span) >= SLEEP && request.overlapping == Some(true), "{span:?} {request:?}");
        }
    }
}

#[test]
fn unix_sockets_have_requests_and_calls_too() {
    let Some(_alone) = can_see("unix_sockets_have_requests_and_calls_too") else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let mut kept = None;
    let found = watch(true, 0, || {
        let serving = thread::spawn(move || serve(listener.accept().unwrap().0, 10));
        let mut client = UnixStream::connect(&path).unwrap();
        call(&mut client, &[0, 30, 0], 10);
        kept = Some((client, serving));
        // Both ends of a pair are this process's own affair.
        let (mut one, mut other) = UnixStream::pair().unwrap();
        one.write_all(&[1; 4]).unwrap();
        other.read_exact(&mut [0; 4]).unwrap();
        other.write_all(&[1; 4]).unwrap();
        one.read_exact(&mut [0; 4]).unwrap();
    });
    let (client, serving) = kept.unwrap();
    drop(client);
    serving.join().unwrap();
    let name = format!("unix:{}", path.display());
    for kind in [span::REQUEST, span::CALL] {
        let slow: Vec<bool> = found.spans(kind, &name).iter().map(|span| took(span) >= SLEEP).collect();
        assert_eq!(slow, [false, true, false], "{kind}");
    }
}

#[test]
fn of_very_many_requests_every_one_is_counted_and_few_are_rows() {
    let Some(_alone) = can_see("of_very_many_requests_every_one_is_counted_and_few_are_rows") else { return };
    const COUNT: usize = 30_000;
    let target = Target::of(std::process::id()).unwrap();
    let order = Plan::new("/nowhere".into()).order;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut observer = COLLECTOR.start(&target, &order).unwrap();
    let mut found = Recording::default();
    let calling = thread::spawn(move || {
        let (mut client, server) = connection(&listener);
        let serving = thread::spawn(move || serve(server, 10));
        call(&mut client, &[0; COUNT], 10);
        drop(client);
        serving.join().unwrap();
    });
    while !calling.is_finished() {
        observer.look(&mut found);
        thread::sleep(PERIOD);
    }
    calling.join().unwrap();
    observer.finish(&mut found);
    let found = Found { found, port };
    assert_eq!(found.counted(counter::REQUESTS_COUNT, &format!(":{port}")), COUNT as f64);
    assert_eq!(found.counted(counter::CALLS_COUNT, &format!("127.0.0.1:{port}")), COUNT as f64);
    let stood_for: u64 = found.requests().iter().map(|(_, request)| request.stands_for.unwrap_or(1)).sum();
    let lost: i64 = found.found.losses.rows().map(|row| row.count).sum();
    assert!(stood_for as f64 + lost as f64 * 100.0 > COUNT as f64 * 0.5, "{stood_for} and {lost} lost");
    let buckets: HashMap<String, f64> = found
        .found
        .counters
        .rows()
        .filter(|row| found.found.text(row.name) == counter::REQUESTS_BY_LATENCY_COUNT)
        .map(|row| (found.found.text(row.instance).to_owned(), row.value))
        .collect();
    let of_port = |name: &&String| name.starts_with(&format!(":{port} "));
    let counted: f64 = buckets.keys().filter(of_port).map(|name| buckets[name]).sum();
    assert_eq!(counted, COUNT as f64);
}

/// The kernel looks at every way through a program before it lets it in, on a CPU that the service may need, and at a million
/// instructions at most.
#[test]
fn the_kernel_has_little_to_verify() {
    let Some(_alone) = can_see("the_kernel_has_little_to_verify") else { return };
    let _share = Share::of(&Target::of(std::process::id()).unwrap()).unwrap();
    let is_own = |program: &ProgramInfo| ["arrives", "is_read", "has_sent"].iter().any(|name| program.name == *name);
    let verified: Vec<u32> = ProgInfoIter::default().filter(is_own).map(|program| program.verified_insns).collect();
    assert!(verified.len() >= 3 && verified.iter().all(|count| *count < 50_000), "{verified:?}");
}

#[test]
fn who_gives_up_waits_no_longer() {
    let Some(_alone) = can_see("who_gives_up_waits_no_longer") else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // So that nobody closes them before the end.
    let mut kept = Vec::new();
    let found = watch(true, listener.local_addr().unwrap().port(), || {
        let asked = || {
            let (mut client, mut server) = connection(&listener);
            client.write_all(&[0; 4]).unwrap();
            server.read_exact(&mut [0; 4]).unwrap();
            (client, server)
        };
        let [gone, patient, mut half] = [(); 3].map(|()| asked());
        half.0.shutdown(std::net::Shutdown::Write).unwrap();
        thread::sleep(Duration::from_millis(1_100));
        drop(gone.0);
        half.1.write_all(&[0; 4]).unwrap();
        thread::sleep(Duration::from_millis(300));
        kept.extend([gone.1, patient.0, patient.1, half.0, half.1]);
    });
    let told = |(span, request): &(Span, Request)| (took(span).as_millis() / 100, request.unanswered, request.given_up);
    let mut requests: Vec<_> = found.requests().iter().map(told).collect();
    requests.sort_unstable();
    assert_eq!(requests, [(11, None, None), (11, Some(true), Some(true)), (14, Some(true), None)]);
}
