//! Requests of real services and calls of real clients, measured at their sockets, compared with the other side's times.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fathom_collectors::Target;
use fathom_evidence::Recording;
use fathom_evidence::detail::{Call, Request, from_text};
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use rustix::time::{ClockId, clock_gettime};

use crate::hsperfdata::collector;
use crate::jvm::{Jvm, javas};
use crate::recorded::record;

/// The JDK's server; answers of `/slow` take 50 ms.
const SERVICE: &str = r#"
import com.sun.net.httpserver.HttpServer;
public class Service {
    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new java.net.InetSocketAddress("127.0.0.1", 0), 0);
        server.setExecutor(java.util.concurrent.Executors.newFixedThreadPool(4));
        server.createContext("/", exchange -> {
            if (exchange.getRequestURI().getPath().equals("/slow")) sleep();
            byte[] body = new byte[200];
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
        System.out.println(server.getAddress().getPort());
    }
    static void sleep() {
        try { Thread.sleep(50); } catch (InterruptedException e) { throw new RuntimeException(e); }
    }
}
"#;

/// Asks a server for ever, one request after the other.
const CALLER: &str = r#"
public class Caller {
    public static void main(String[] arguments) throws Exception {
        java.net.URL url = new java.net.URL("http://127.0.0.1:" + arguments[0] + "/");
        System.out.println("ready");
        while (true) {
            try (java.io.InputStream in = url.openStream()) { in.readAllBytes(); }
        }
    }
}
"#;

const SLOW: Duration = Duration::from_millis(50);
const RECORDED: Duration = Duration::from_secs(3);

/// What one side knows of one exchange: from, to, on the monotonic clock, and whether it was made slow.
type Known = (i64, i64, bool);

/// Tells the other side to stop, also when the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn now_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Whether this machine's kernel can tell; says so if not.
fn can_see(target: &Target) -> bool {
    let refusal = collector("requests").check(target).err();
    if let Some(refusal) = &refusal {
        println!("SKIPPED: requests: {}", refusal.why);
    }
    refusal.is_none()
}

/// Rows of a kind and name with their times on the monotonic clock, in order.
fn rows(seen: &Recording, kind: &str, name: &str) -> Vec<(Span, i64, i64)> {
    let clock = seen.clocks.rows().find(|pair| seen.text(pair.clock) == "monotonic").unwrap();
    let offset_ns = clock.time_ns - clock.reading;
    let is_wanted = |row: &Span| seen.text(row.kind) == kind && seen.text(row.name) == name;
    let rows = seen.spans.rows().filter(is_wanted);
    let mut rows: Vec<_> = rows.map(|row| (row, row.time_ns - offset_ns, row.end_ns() - offset_ns)).collect();
    rows.sort_by_key(|(_, from_ns, _)| *from_ns);
    rows
}

fn percentile(mut of: Vec<i64>, part: f64) -> i64 {
    of.sort_unstable();
    of[((of.len() - 1) as f64 * part) as usize]
}

/// Asks for one path after the other until told to stop, every third a slow one.
fn ask(stream: TcpStream, stop: &AtomicBool) -> Vec<Known> {
    let mut known = Vec::new();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    while !stop.load(Ordering::Relaxed) {
        let is_slow = known.len() % 3 == 2;
        let path = if is_slow { "/slow" } else { "/" };
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let from_ns = now_ns();
        stream.write_all(request.as_bytes()).unwrap();
        read_answer(&mut answers);
        known.push((from_ns, now_ns(), is_slow));
    }
    known
}

fn read_answer(answers: &mut impl BufRead) {
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        assert!(answers.read_line(&mut line).unwrap() > 0);
    }
    answers.read_exact(&mut [0; 200]).unwrap();
}

#[test]
fn requests_of_a_service_are_as_long_as_its_client_says() {
    for java in javas() {
        let (jvm, port) = Jvm::run(&java, "Service", SERVICE, &[]);
        if !can_see(&jvm.target()) {
            return;
        }
        // One connection is older than the recording, the other one comes into it.
        let address = format!("127.0.0.1:{port}");
        let idle = TcpStream::connect(&address).unwrap();
        let stream = TcpStream::connect(&address).unwrap();
        let stop = AtomicBool::new(false);
        let (seen, known) = thread::scope(|scope| {
            let asking = scope.spawn(|| ask(stream, &stop));
            let until = Stop(&stop);
            let seen = record("requests", &jvm.target(), RECORDED);
            drop(until);
            (seen, asking.join().unwrap())
        });
        drop(idle);
        check_requests(&seen, &format!(":{port}"), &known);
    }
}

fn check_requests(seen: &Recording, name: &str, known: &[Known]) {
    let rows = rows(seen, span::REQUEST, name);
    let (first_ns, last_ns) = (rows[0].1, rows[rows.len() - 1].2);
    let within: Vec<&Known> = known.iter().filter(|(from, to, _)| *to > first_ns && *from < last_ns).collect();
    assert_eq!(rows.len(), within.len(), "{name}: {first_ns} to {last_ns}, {within:?}");
    for ((row, from_ns, to_ns), (asked_ns, answered_ns, is_slow)) in rows.iter().zip(&within) {
        assert!(asked_ns <= from_ns && to_ns <= answered_ns, "{row:?} is not within {asked_ns} to {answered_ns}");
        assert!(!is_slow || row.duration_ns >= SLOW.as_nanos() as i64, "{row:?}");
        let detail: Request = from_text(seen.text(row.detail));
        assert!(detail.unread_ns.unwrap() <= detail.first_byte_ns.unwrap(), "{detail:?}");
        assert!(detail.bytes_out.unwrap() > 200 && detail.stands_for.is_none(), "{detail:?}");
        assert_eq!((detail.overlapping, detail.unanswered), (None, None));
        assert!(row.tid > 0);
    }
    let ours: Vec<i64> = rows.iter().map(|(row, _, _)| row.duration_ns).collect();
    let theirs: Vec<i64> = within.iter().map(|(from, to, _)| to - from).collect();
    for part in [0.5, 0.99] {
        let (ours, theirs) = (percentile(ours.clone(), part), percentile(theirs.clone(), part));
        println!("{name}: percentile {part}: {ours} ns at the socket, {theirs} ns for the client");
        assert!(ours <= theirs);
    }
    assert!(percentile(ours, 0.99) >= SLOW.as_nanos() as i64);
}

/// Answers until told to stop, every third time slowly; gives what each answer was.
fn answer(listener: &TcpListener, stop: &AtomicBool) -> Vec<Known> {
    let mut known = Vec::new();
    let (stream, _) = listener.accept().unwrap();
    let mut requests = BufReader::new(stream.try_clone().unwrap());
    let (mut stream, mut line) = (stream, String::new());
    while !stop.load(Ordering::Relaxed) {
        line.clear();
        while line != "\r\n" {
            line.clear();
            assert!(requests.read_line(&mut line).unwrap() > 0);
        }
        let (from_ns, is_slow) = (now_ns(), known.len() % 3 == 2);
        if is_slow {
            thread::sleep(SLOW);
        }
        known.push((from_ns, now_ns(), is_slow));
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody").unwrap();
    }
    known
}

#[test]
fn calls_of_a_client_are_as_long_as_its_server_takes() {
    for java in javas() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let (jvm, _) = Jvm::run(&java, "Caller", CALLER, &[&port]);
        if !can_see(&jvm.target()) {
            return;
        }
        let stop = AtomicBool::new(false);
        let (seen, known) = thread::scope(|scope| {
            let answering = scope.spawn(|| answer(&listener, &stop));
            let until = Stop(&stop);
            let seen = record("requests", &jvm.target(), RECORDED);
            drop(until);
            (seen, answering.join().unwrap())
        });
        let rows = rows(&seen, span::CALL, &format!("127.0.0.1:{port}"));
        // What had begun before the recording, or goes on after it, is not whole.
        let whole = &rows[1..rows.len() - 1];
        for (row, from_ns, to_ns) in whole {
            let served: Vec<&Known> = known.iter().filter(|(read, sent, _)| from_ns <= read && sent <= to_ns).collect();
            let [(_, _, is_slow)] = served[..] else { panic!("{row:?} holds {served:?}") };
            let detail: Call = from_text(seen.text(row.detail));
            assert!(!is_slow || detail.peer_ns.unwrap() >= SLOW.as_nanos() as i64, "{detail:?}");
            assert!(detail.peer_ns.unwrap() + detail.own_delay_ns.unwrap() <= row.duration_ns, "{detail:?}");
            assert_eq!((detail.overlapping, detail.unanswered), (None, None));
        }
        assert!(whole.iter().any(|(row, _, _)| row.duration_ns >= SLOW.as_nanos() as i64));
        let java_threads: Vec<i64> = whole.iter().map(|(row, _, _)| row.tid).collect();
        assert!(java_threads.windows(2).all(|pair| pair[0] == pair[1]), "{java_threads:?}");
    }
}
