//! Sockets of this process, which sends to itself and knows when.

use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::thread;

use fathom_evidence::detail::{DatagramsLate, from_text};
use fathom_evidence::kinds::{counter, span};
use fathom_evidence::tables::Span;

use super::*;
use crate::bpf::tests::can_load;
use crate::recorder::Plan;

const STALL: Duration = Duration::from_millis(60);

/// What is found about one socket while `work` runs.
struct Found {
    found: Recording,
    port: u16,
}

fn observe(socket: &UdpSocket, work: impl FnOnce(&mut dyn FnMut())) -> Found {
    let target = Target::of(std::process::id()).unwrap();
    let order = Plan::new("/nowhere".into()).order;
    let mut observer = COLLECTOR.start(&target, &order).unwrap_or_else(|refusal| panic!("{}", refusal.why));
    let mut found = Recording::default();
    work(&mut || observer.look(&mut found));
    observer.look(&mut found);
    observer.finish(&mut found);
    Found { found, port: socket.local_addr().unwrap().port() }
}

impl Found {
    /// The largest value of a counter of the socket; of all threads where `tid` is 0.
    fn most(&self, name: &str, tid: i64) -> f64 {
        let socket = format!("udp {} #", self.port);
        let is_of = |row: &fathom_evidence::tables::Counter| {
            let is_named = self.found.text(row.instance).starts_with(&socket);
            self.found.text(row.name) == name && is_named && (tid == 0 || row.tid == tid)
        };
        self.found.counters.rows().filter(is_of).map(|row| row.value).fold(0.0, f64::max)
    }

    fn came_to_port(&self) -> f64 {
        let is_of = |row: &fathom_evidence::tables::Counter| {
            let is_port = self.found.text(row.instance) == format!("udp {}", self.port);
            self.found.text(row.name) == counter::DATA_ARRIVALS_COUNT && is_port
        };
        self.found.counters.rows().filter(is_of).map(|row| row.value).fold(0.0, f64::max)
    }

    fn late(&self) -> Vec<(Span, DatagramsLate)> {
        let name = format!("udp {}", self.port);
        let is_of = |row: &Span| self.found.text(row.kind) == span::DATAGRAMS_LATE && self.found.text(row.name) == name;
        let rows = self.found.spans.rows().filter(is_of);
        rows.map(|row| (row, from_text(self.found.text(row.detail)))).collect()
    }
}

fn socket() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").unwrap()
}

fn send(from: &UdpSocket, to: &UdpSocket, count: usize) -> Vec<i64> {
    let one = |_| {
        from.send_to(&[7; 200], to.local_addr().unwrap()).unwrap();
        monotonic_ns()
    };
    (0..count).map(one).collect()
}

/// When each was read.
fn read(socket: &UdpSocket, count: usize) -> Vec<i64> {
    let one = |_| {
        socket.recv_from(&mut [0; 256]).unwrap();
        monotonic_ns()
    };
    (0..count).map(one).collect()
}

fn own_tid() -> i64 {
    i64::from(rustix::thread::gettid().as_raw_nonzero().get())
}

/// How long each stood in the queue, as this thread knows.
fn waits(sent: &[i64], read: &[i64]) -> Vec<i64> {
    sent.iter().zip(read).map(|(sent, read)| (read - sent).max(0)).collect()
}

/// One that is read at once; how long it stood there.
fn read_at_once(sender: &UdpSocket, receiver: &UdpSocket) -> i64 {
    waits(&send(sender, receiver, 1), &read(receiver, 1))[0]
}

/// A try in which nothing that was to be read at once was read late by this thread's own measure: the machine may be busy.
fn in_a_calm_try<T>(mut one_try: impl FnMut() -> (T, i64)) -> T {
    for _ in 0..20 {
        let (found, longest_ns) = one_try();
        if longest_ns < LATE_NS as i64 * 4 / 5 {
            return found;
        }
    }
    panic!("in twenty tries something was read late that was to be read at once");
}

/// What one stall is found to be, and what this thread knows of it.
struct Stalled {
    found: Found,
    /// How long all stood in the queue together.
    waits_ns: i64,
    /// From the first of those that waited until the last was read.
    length_ns: i64,
}

/// Deeper than what is known of each single arrival.
const MANY: usize = 150;
const SINGLE: usize = 20;

fn stall_once() -> (Stalled, i64) {
    let (receiver, sender) = (socket(), socket());
    let (mut at_once, mut late, mut length_ns) = (Vec::new(), Vec::new(), 0);
    let found = observe(&receiver, |_| {
        at_once.extend((0..SINGLE).map(|_| read_at_once(&sender, &receiver)));
        let sent = send(&sender, &receiver, MANY);
        thread::sleep(STALL);
        let taken = read(&receiver, MANY);
        length_ns = taken[MANY - 1] - sent[0];
        late = waits(&sent, &taken);
        // One that is read in time ends it.
        at_once.push(read_at_once(&sender, &receiver));
    });
    let waits_ns = at_once.iter().chain(&late).sum();
    (Stalled { found, waits_ns, length_ns }, at_once.into_iter().max().unwrap())
}

#[test]
fn each_datagram_waits_from_its_arrival_until_it_is_read() {
    if !can_load("each_datagram_waits_from_its_arrival_until_it_is_read") {
        return;
    }
    let Stalled { found, waits_ns, length_ns } = in_a_calm_try(stall_once);
    let all = (MANY + SINGLE + 1) as f64;
    assert_eq!(found.most(counter::DATAGRAMS_QUEUED_COUNT, 0), all);
    assert_eq!(found.most(counter::DATAGRAMS_READ_COUNT, own_tid()), all);
    assert_eq!(found.most(counter::DATAGRAMS_TIMED_COUNT, own_tid()), all);
    assert_eq!(found.came_to_port(), all);
    assert_eq!(found.most(counter::DATAGRAM_QUEUE_MOST_COUNT, 0), MANY as f64);
    let unread_ns = found.most(counter::DATAGRAM_UNREAD_NS, own_tid());
    assert!((unread_ns / waits_ns as f64 - 1.0).abs() < 0.02, "{unread_ns} of {waits_ns}");
    let [(span, late)] = &found.late()[..] else { panic!("{:?}", found.late()) };
    assert_eq!((span.tid, late.count, late.queue_most), (own_tid(), Some(MANY as u64), Some(MANY as u64)));
    assert_eq!((late.dropped, late.unread, late.port), (Some(0), None, Some(u32::from(found.port))));
    assert!((span.duration_ns as f64 / length_ns as f64 - 1.0).abs() < 0.02, "{span:?}: {length_ns}");
    let [longest_ns, pause_ns] = [late.longest_ns, late.pause_ns].map(Option::unwrap);
    assert!(
        pause_ns >= STALL.as_nanos() as i64 && pause_ns <= longest_ns && longest_ns <= span.duration_ns,
        "{late:?}"
    );
}

fn overflow_once() -> (Found, i64) {
    let (receiver, sender) = (socket(), socket());
    let mut at_once = 0;
    let found = observe(&receiver, |_| {
        send(&sender, &receiver, 2_000);
        thread::sleep(STALL);
        receiver.set_nonblocking(true).unwrap();
        while receiver.recv_from(&mut [0; 256]).is_ok() {}
        receiver.set_nonblocking(false).unwrap();
        at_once = read_at_once(&sender, &receiver);
    });
    (found, at_once)
}

#[test]
fn what_came_is_what_was_queued_and_what_was_dropped() {
    if !can_load("what_came_is_what_was_queued_and_what_was_dropped") {
        return;
    }
    let found = in_a_calm_try(overflow_once);
    let [queued, taken] =
        [counter::DATAGRAMS_QUEUED_COUNT, counter::DATAGRAMS_READ_COUNT].map(|name| found.most(name, 0));
    assert_eq!((found.came_to_port(), queued), (2_001.0, taken));
    let [(_, late)] = &found.late()[..] else { panic!("{:?}", found.late()) };
    assert_eq!(late.dropped, Some(2_001 - queued as u64));
    assert!(queued < 2_000.0 && late.count == Some(queued as u64 - 1), "{late:?}");
}

fn wait_for_three() -> (Found, i64) {
    let (receiver, sender) = (socket(), socket());
    let mut waited = Vec::new();
    let found = observe(&receiver, |look| {
        thread::scope(|scope| {
            let reading = scope.spawn(|| read(&receiver, 3));
            let mut sent = Vec::new();
            for _ in 0..3 {
                thread::sleep(Duration::from_millis(150));
                look();
                sent.extend(send(&sender, &receiver, 1));
            }
            waited = waits(&sent, &reading.join().unwrap());
        });
    });
    (found, waited.into_iter().max().unwrap())
}

#[test]
fn who_waits_long_for_a_datagram_and_reads_it_at_once_is_not_late() {
    if !can_load("who_waits_long_for_a_datagram_and_reads_it_at_once_is_not_late") {
        return;
    }
    let found = in_a_calm_try(wait_for_three);
    assert_eq!(found.late(), []);
    assert_eq!(found.most(counter::DATAGRAMS_READ_COUNT, 0), 3.0);
    assert!(found.most(counter::DATAGRAM_UNREAD_NS, 0) < 3.0 * LATE_NS as f64);
    assert!(found.most(counter::DATAGRAM_GAP_MOST_NS, 0) >= 150e6);
}

#[test]
fn what_nobody_reads_is_told_at_the_end_and_what_was_there_before_has_no_time() {
    if !can_load("what_nobody_reads_is_told_at_the_end") {
        return;
    }
    let (receiver, sender) = (socket(), socket());
    send(&sender, &receiver, 3);
    let found = observe(&receiver, |_| {
        send(&sender, &receiver, 2);
        thread::sleep(STALL);
        read(&receiver, 3);
        thread::sleep(STALL);
    });
    let counted = [counter::DATAGRAMS_READ_COUNT, counter::DATAGRAMS_TIMED_COUNT].map(|name| found.most(name, 0));
    assert_eq!(counted, [3.0, 0.0]);
    let [(span, late)] = &found.late()[..] else { panic!("{:?}", found.late()) };
    assert_eq!((span.tid, late.unread, late.queue_most), (0, Some(true), Some(2)));
    assert!(span.duration_ns >= 2 * STALL.as_nanos() as i64, "{span:?}");
}

#[test]
fn several_threads_read_what_came_and_no_more() {
    if !can_load("several_threads_read_what_came_and_no_more") {
        return;
    }
    let (receiver, sender) = (socket(), socket());
    receiver.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let found = observe(&receiver, |_| {
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| while receiver.recv_from(&mut [0; 256]).is_ok() {});
            }
            for _ in 0..200 {
                send(&sender, &receiver, 5);
                thread::sleep(Duration::from_millis(1));
            }
        });
    });
    let socket = format!("udp {} #", found.port);
    let mut by_thread: HashMap<i64, f64> = HashMap::new();
    for row in found.found.counters.rows() {
        let is_of = found.found.text(row.name) == counter::DATAGRAMS_READ_COUNT;
        if is_of && found.found.text(row.instance).starts_with(&socket) {
            by_thread.insert(row.tid, row.value);
        }
    }
    assert_eq!(by_thread.values().sum::<f64>(), found.most(counter::DATAGRAMS_QUEUED_COUNT, 0));
    assert_eq!(found.came_to_port(), 1_000.0);
}

#[test]
fn sockets_that_are_closed_make_room() {
    if !can_load("sockets_that_are_closed_make_room") {
        return;
    }
    let sender = socket();
    let last = socket();
    let found = observe(&last, |look| {
        for _ in 0..2 {
            let many: Vec<UdpSocket> = (0..200).map(|_| socket()).collect();
            thread::sleep(WALK_PERIOD);
            look();
            drop(many);
            // Until they were not met, and a second is over.
            for _ in 0..4 * LOOKS_PER_SECOND {
                thread::sleep(PERIOD);
                look();
            }
        }
        send(&sender, &last, 1);
        read(&last, 1);
    });
    assert_eq!(found.most(counter::DATAGRAMS_READ_COUNT, 0), 1.0);
    let losses: Vec<&str> = found.found.losses.rows().map(|row| found.found.text(row.says)).collect();
    assert!(losses.iter().all(|says| !says.contains("told apart")), "{losses:?}");
}

#[test]
fn a_process_without_such_sockets_is_left_alone() {
    if !can_load("a_process_without_such_sockets_is_left_alone") {
        return;
    }
    let mut child = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
    let target = Target::of(child.id()).unwrap();
    let mut observer = begun(&target, &Plan::new("/nowhere".into()).order).unwrap();
    observer.look(&mut Recording::default());
    let is_attached = observer.is_attached;
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!is_attached);
    // This process has one.
    let own = socket();
    let observer = begun(&Target::of(std::process::id()).unwrap(), &Plan::new("/nowhere".into()).order).unwrap();
    assert!(observer.is_attached);
    drop(own);
}

/// A socket at a port of its owner's choice, as servers have.
fn server() -> UdpSocket {
    let freed = |_| {
        let at = socket().local_addr().unwrap();
        UdpSocket::bind(at).ok()
    };
    (0..50).find_map(freed).expect("a free port")
}

/// What is recorded of requests at a port: how long each took, and whether there were several at once.
fn requests(found: &Found) -> Vec<(i64, bool)> {
    let name = format!("udp :{}", found.port);
    let is_of = |row: &Span| {
        found.found.text(row.kind) == span::REQUEST
            && found.found.text(row.name) == name
            && found.found.text(row.source) == "requests"
    };
    let is_several = |row: &Span| found.found.text(row.detail).contains("\"overlapping\":true");
    found.found.spans.rows().filter(is_of).map(|row| (row.duration_ns, is_several(&row))).collect()
}

/// One is answered after so long.
fn answer(server: &UdpSocket, after: Duration) {
    let (_, peer) = server.recv_from(&mut [0; 256]).unwrap();
    thread::sleep(after);
    server.send_to(&[1], peer).unwrap();
}

#[test]
fn answers_belong_to_the_peer_that_asked() {
    if !can_load("answers_belong_to_the_peer_that_asked") {
        return;
    }
    let (server, clients) = (server(), [socket(), socket()]);
    let found = observe(&server, |_| {
        let ask = |client: usize| drop(send(&clients[client], &server, 1));
        ask(0);
        answer(&server, Duration::ZERO);
        ask(0);
        answer(&server, Duration::from_millis(20));
        // The second one is answered first.
        let [first, second] = [0, 1].map(|client| {
            ask(client);
            server.recv_from(&mut [0; 256]).unwrap().1
        });
        thread::sleep(Duration::from_millis(5));
        server.send_to(&[1], second).unwrap();
        thread::sleep(Duration::from_millis(40));
        server.send_to(&[1], first).unwrap();
        server.send_to(b"more of it", first).unwrap();
    });
    let took_ms: Vec<i64> = requests(&found).iter().map(|(ns, _)| ns / 1_000_000).collect();
    let [0..=10, 20..=60, 5..=40, 45..=120] = took_ms[..] else { panic!("{took_ms:?}") };
    assert!(requests(&found).iter().all(|(_, is_several)| !is_several));
}

#[test]
fn several_of_one_peer_at_once_are_said_to_be_several() {
    if !can_load("several_of_one_peer_at_once_are_said_to_be_several") {
        return;
    }
    let (server, client) = (server(), socket());
    let found = observe(&server, |_| {
        drop(send(&client, &server, 1));
        answer(&server, Duration::ZERO);
        drop(send(&client, &server, 3));
        (0..3).for_each(|_| answer(&server, Duration::from_millis(5)));
    });
    let [(_, false), (15_000_000.., true)] = requests(&found)[..] else { panic!("{:?}", requests(&found)) };
}

#[test]
fn questions_without_an_answer_are_told_where_others_are_answered() {
    if !can_load("questions_without_an_answer_are_told_where_others_are_answered") {
        return;
    }
    for answered in [20, 1] {
        let (server, client) = (server(), socket());
        let found = observe(&server, |_| {
            for _ in 0..answered {
                drop(send(&client, &server, 1));
                answer(&server, Duration::ZERO);
            }
            drop(send(&client, &server, 1));
            thread::sleep(Duration::from_millis(1_200));
        });
        let name = format!("udp :{}", found.port);
        let is_own = |row: &Span| found.found.text(row.name) == name;
        let says = |text: &str| {
            let rows = found.found.spans.rows().filter(is_own);
            rows.filter(|row| found.found.text(row.detail).contains(text)).count()
        };
        // Where hardly any is answered it may be usual that none is.
        let expected = if answered == 20 { [1, 0] } else { [0, 1] };
        assert_eq!(["\"unanswered\":true", "\"overlapping\":true"].map(says), expected);
        assert_eq!(requests(&found).len(), answered + 1);
    }
}

#[test]
fn who_asks_is_no_server() {
    if !can_load("who_asks_is_no_server") {
        return;
    }
    let other = server();
    // With a port of the kernel's choice, and with one of its own.
    for client in [socket(), self::server()] {
        let found = observe(&client, |_| {
            for pause_ms in [10, 1_100, 10] {
                drop(send(&client, &other, 1));
                answer(&other, Duration::ZERO);
                client.recv_from(&mut [0; 256]).unwrap();
                thread::sleep(Duration::from_millis(pause_ms));
            }
        });
        assert_eq!(requests(&found), []);
    }
}

#[test]
fn each_answer_counts_of_clients_that_ask_again_at_once() {
    if !can_load("each_answer_counts_of_clients_that_ask_again_at_once") {
        return;
    }
    const CLIENTS: usize = 4;
    // Few enough that each becomes a row, here and in the tests beside this one, which see this socket as well.
    const EACH: usize = 50;
    // Some have asked before anybody looks.
    const EARLY: usize = 2;
    let (server, clients) = (server(), [(); CLIENTS].map(|()| socket()));
    clients.iter().take(EARLY).for_each(|client| drop(send(client, &server, 1)));
    let found = observe(&server, |_| {
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..CLIENTS * EACH / 2).for_each(|_| answer(&server, Duration::from_micros(200))));
            }
            for (nth, client) in clients.iter().enumerate() {
                let server = &server;
                scope.spawn(move || {
                    for question in 0..EACH {
                        if nth >= EARLY || question > 0 {
                            drop(send(client, server, 1));
                        }
                        client.recv_from(&mut [0; 16]).unwrap();
                    }
                });
            }
        });
    });
    let told = requests(&found);
    let several = told.iter().filter(|(_, is_several)| *is_several).count();
    assert!(several * 10 < told.len(), "{several} of {}", told.len());
    assert!(told.iter().all(|(took_ns, _)| *took_ns < 1_000_000_000), "{:?}", told.iter().max());
    assert!((CLIENTS * EACH * 9 / 10..=CLIENTS * EACH).contains(&told.len()), "{}", told.len());
}
