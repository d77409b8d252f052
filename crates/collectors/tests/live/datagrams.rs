//! Receivers of datagrams in real JVMs compared with what was sent to them: a socket whose thread comes late once, a
//! channel that has joined a group, a server that answers, and a thread that only waits.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fathom_collectors::Target;
use fathom_evidence::Recording;
use fathom_evidence::detail::{DatagramsLate, Request, from_text};
use fathom_evidence::kinds::{counter, span};
use fathom_evidence::tables::{Counter, Span};

use crate::hsperfdata::collector;
use crate::jvm::{Jvm, javas};
use crate::recorded::outcome_until;

const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 77, 1);

/// A datagram that begins with 1 has its reader sleep for 80 ms before it reads the next one. The server answers after 2 ms, and from the
/// question with number 50 on after 30 ms.
const RECEIVERS: &str = r#"
import java.net.*;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
public class Receivers {
    interface Body { void run() throws Exception; }
    static void start(String name, Body body) {
        Thread thread = new Thread(() -> {
            try { body.run(); } catch (Exception e) { throw new RuntimeException(e); }
        }, name);
        thread.start();
    }
    public static void main(String[] arguments) throws Exception {
        InetAddress local = InetAddress.getByName("127.0.0.1");
        DatagramSocket feed = new DatagramSocket(0, local);
        DatagramSocket idle = new DatagramSocket(0, local);
        DatagramChannel group = DatagramChannel.open(StandardProtocolFamily.INET)
            .setOption(StandardSocketOptions.SO_REUSEADDR, true).bind(new InetSocketAddress("0.0.0.0", 0));
        group.join(InetAddress.getByName(arguments[0]), NetworkInterface.getByInetAddress(local));
        DatagramSocket server = new DatagramSocket(Integer.parseInt(arguments[1]), local);
        start("feed", () -> receive(feed));
        start("idle", () -> receive(idle));
        start("group", () -> receive(group));
        start("server", () -> answer(server));
        System.out.println(feed.getLocalPort() + " " + idle.getLocalPort() + " "
            + ((InetSocketAddress) group.getLocalAddress()).getPort() + " "
            + server.getLocalPort());
    }
    static void receive(DatagramSocket socket) throws Exception {
        DatagramPacket packet = new DatagramPacket(new byte[512], 512);
        while (true) {
            packet.setLength(512);
            socket.receive(packet);
            if (packet.getData()[0] == 1) Thread.sleep(80);
        }
    }
    static void receive(DatagramChannel channel) throws Exception {
        ByteBuffer buffer = ByteBuffer.allocateDirect(512);
        while (true) {
            buffer.clear();
            channel.receive(buffer);
            if (buffer.get(0) == 1) Thread.sleep(80);
        }
    }
    static void answer(DatagramSocket socket) throws Exception {
        DatagramPacket packet = new DatagramPacket(new byte[512], 512);
        while (true) {
            packet.setLength(512);
            socket.receive(packet);
            Thread.sleep((packet.getData()[0] & 0xff) < 50 ? 2 : 30);
            socket.send(packet);
        }
    }
}
"#;

const QUICK: Duration = Duration::from_millis(2);
const SLOW: Duration = Duration::from_millis(30);

/// Datagrams of each kind.
const SENT: usize = 500;
/// The one that has its reader sleep.
const LATE: usize = 250;
const QUESTIONS: usize = 100;
/// Questions whose peer is not seen, as a thread reads them at the instant at which they come: at most so many.
const MISSED: usize = 5;
/// From this one on answers are slow.
const SLOW_FROM: usize = 50;
const STALL: Duration = Duration::from_millis(80);

/// Sends one each 2 ms to the feed and to the group, some to the idle one, and asks the server; how long its answers took.
fn send(ports: &[u16]) -> Duration {
    let own = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to_group = UdpSocket::bind("127.0.0.1:0").unwrap();
    rustix::net::sockopt::set_ip_multicast_if(&to_group, &Ipv4Addr::LOCALHOST).unwrap();
    thread::scope(|scope| {
        let asking = scope.spawn(|| ask(ports[3]));
        let began = Instant::now();
        for number in 0..SENT {
            let bytes = [u8::from(number == LATE); 200];
            own.send_to(&bytes, ("127.0.0.1", ports[0])).unwrap();
            to_group.send_to(&bytes, (GROUP, ports[2])).unwrap();
            if number % 200 == 100 {
                own.send_to(&[0; 200], ("127.0.0.1", ports[1])).unwrap();
            }
            let due = began + Duration::from_millis(2 * (number as u64 + 1));
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        asking.join().unwrap()
    })
}

/// How long the answers took in all.
fn ask(port: u16) -> Duration {
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    let began = Instant::now();
    for number in 0..QUESTIONS {
        client.send_to(&[number as u8; 40], ("127.0.0.1", port)).unwrap();
        client.recv_from(&mut [0; 64]).unwrap();
    }
    began.elapsed()
}

/// The largest value of a counter of a socket.
fn most(seen: &Recording, name: &str, port: u16) -> f64 {
    counted(seen, name, port).map(|row| row.value).fold(0.0, f64::max)
}

fn counted<'s>(seen: &'s Recording, name: &'s str, port: u16) -> impl Iterator<Item = Counter> + 's {
    let begins = format!("udp {port} #");
    seen.counters.rows().filter(move |row| seen.text(row.name) == name && seen.text(row.instance).starts_with(&begins))
}

fn late(seen: &Recording, port: u16) -> Vec<(Span, DatagramsLate)> {
    let name = format!("udp {port}");
    let is_of = |row: &Span| seen.text(row.kind) == span::DATAGRAMS_LATE && seen.text(row.name) == name;
    seen.spans.rows().filter(is_of).map(|row| (row, from_text(seen.text(row.detail)))).collect()
}

fn check_receiver(seen: &Recording, (jvm, thread): (&Jvm, &str), port: u16, sent: usize) {
    let [queued, read, timed, unread_ns, depth] = [
        counter::DATAGRAMS_QUEUED_COUNT,
        counter::DATAGRAMS_READ_COUNT,
        counter::DATAGRAMS_TIMED_COUNT,
        counter::DATAGRAM_UNREAD_NS,
        counter::DATAGRAM_QUEUE_MOST_COUNT,
    ]
    .map(|name| most(seen, name, port));
    println!(
        "{thread}: {queued} queued, {read} read, {:.1} us until read, at most {depth} there",
        unread_ns / timed / 1e3
    );
    for (span, late) in late(seen, port) {
        println!("  late for {:.1} ms: {late:?}", span.duration_ns as f64 / 1e6);
    }
    assert_eq!((queued, read, timed), (sent as f64, sent as f64, sent as f64), "{thread}");
    for row in counted(seen, counter::DATAGRAMS_READ_COUNT, port) {
        let name = std::fs::read_to_string(format!("/proc/{}/task/{}/comm", jvm.pid(), row.tid)).unwrap();
        assert_eq!(name.trim_end(), thread);
    }
}

/// The server's part of what its client measured, which has the way to it and back as well.
fn check_answers(seen: &Recording, port: u16, measured: Duration) {
    assert_eq!(most(seen, counter::DATAGRAMS_ANSWERED_COUNT, port), QUESTIONS as f64);
    let ns = most(seen, counter::DATAGRAM_ANSWER_NS, port);
    let least = QUICK * SLOW_FROM as u32 + SLOW * (QUESTIONS - SLOW_FROM) as u32;
    println!("server: answers of {:.2} ms, its client has {measured:?} for {QUESTIONS}", ns / 1e6 / QUESTIONS as f64);
    assert!(ns <= measured.as_nanos() as f64 && ns >= least.as_nanos() as f64);
    check_requests(seen, port, measured);
}

/// Each question with its answer is a request; of the quick ones, which are many, a part are rows that stand for the others.
fn check_requests(seen: &Recording, port: u16, measured: Duration) {
    let name = format!("udp :{port}");
    let is_of = |row: &Span| seen.text(row.kind) == span::REQUEST && seen.text(row.name) == name;
    let rows: Vec<Span> = seen.spans.rows().filter(is_of).collect();
    let stands_for = |row: &Span| from_text::<Request>(seen.text(row.detail)).stands_for.unwrap_or(1);
    let count: u64 = rows.iter().map(stands_for).sum();
    println!("server: {} rows stand for {count} requests", rows.len());
    assert!((QUESTIONS as u64 * 2 / 3..=QUESTIONS as u64 * 4 / 3).contains(&count), "{count}");
    assert!(rows.iter().all(|row| row.duration_ns >= QUICK.as_nanos() as i64));
    let slow = &rows[rows.len() - (QUESTIONS - SLOW_FROM - MISSED)..];
    assert!(slow.iter().all(|row| row.duration_ns >= SLOW.as_nanos() as i64), "{slow:?}");
    assert!(rows.iter().map(|row| row.duration_ns).sum::<i64>() <= measured.as_nanos() as i64);
}

/// A free port.
fn free_port() -> u16 {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The stall that was planted: what came meanwhile stood in the queue, unread.
fn check_stall(seen: &Recording, port: u16) {
    let rows = late(seen, port);
    let found = rows.iter().max_by_key(|(_, late)| late.pause_ns).expect("a stall");
    let [longest_ns, pause_ns] = [found.1.longest_ns, found.1.pause_ns].map(Option::unwrap);
    // The first that came after it began to sleep came up to 2 ms later.
    let at_least = STALL.as_nanos() as i64 - 4_000_000;
    assert!(longest_ns >= at_least && pause_ns >= at_least && pause_ns <= longest_ns, "{found:?}");
    // One came each 2 ms.
    assert!(found.1.queue_most.is_some_and(|most| most >= 30) && found.1.dropped == Some(0), "{found:?}");
}

/// Says that everything was sent, also when the test fails.
struct Sent<'a>(&'a AtomicBool);

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What was recorded from before the first datagram until after the last, and how long the server's answers took.
fn recorded_while_sending(target: &Target, ports: &[u16]) -> (Recording, Duration) {
    let (begun, sent) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let _sent = Sent(&sent);
            while !begun.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(5));
            }
            let answers = send(ports);
            // The last ones are read, and looked at once more.
            thread::sleep(Duration::from_millis(300));
            answers
        });
        let is_enough = || {
            begun.store(true, Ordering::Relaxed);
            sent.load(Ordering::Relaxed)
        };
        let outcome = outcome_until("datagrams", target, |_| {}, is_enough);
        (outcome.seen, sending.join().unwrap())
    })
}

#[test]
fn receivers_of_datagrams_have_what_was_sent_and_who_is_late_is_told() {
    for java in javas() {
        let (group, port) = (GROUP.to_string(), free_port().to_string());
        let (jvm, ports) = Jvm::run(&java, "Receivers", RECEIVERS, &[&group, &port]);
        let ports: Vec<u16> = ports.split(' ').map(|port| port.parse().unwrap()).collect();
        let target = jvm.target();
        if let Err(refusal) = collector("datagrams").check(&target) {
            println!("SKIPPED: datagrams: {}", refusal.why);
            return;
        }
        let (seen, answers) = recorded_while_sending(&target, &ports);
        for (port, sent, thread) in [
            (ports[0], SENT, "feed"),
            (ports[1], 2, "idle"),
            (ports[2], SENT, "group"),
            (ports[3], QUESTIONS, "server"),
        ] {
            check_receiver(&seen, (&jvm, thread), port, sent);
        }
        check_answers(&seen, ports[3], answers);
        check_stall(&seen, ports[0]);
        check_stall(&seen, ports[2]);
        // Who waited long for a datagram and read it at once was not late.
        assert!(late(&seen, ports[1]).iter().all(|(_, late)| late.longest_ns < Some(40_000_000)));
        assert!(most(&seen, counter::DATAGRAM_GAP_MOST_NS, ports[1]) >= 390e6);
    }
}
