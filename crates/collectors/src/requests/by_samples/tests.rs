//! Connections of this process, which serves and asks itself.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use super::*;
use crate::recorder::Plan;
use crate::requests::tests::tells_of_connections;

/// Answers each byte after as many ms as it says.
fn serve(listener: &TcpListener) {
    let (mut stream, _) = listener.accept().unwrap();
    let mut byte = [0];
    while stream.read_exact(&mut byte).is_ok() {
        thread::sleep(Duration::from_millis(byte[0].into()));
        stream.write_all(&byte).unwrap();
    }
}

/// Each comes so long after the answer before it: whoever looks more often than that sees every one.
const APART: Duration = Duration::from_millis(230);

const WANTED_MS: [u8; 5] = [20, 250, 60, 120, 5];

#[test]
fn requests_take_as_long_as_they_do() {
    if !tells_of_connections("requests_take_as_long_as_they_do") {
        return;
    }
    // A busy machine may stand still for longer than that: what was not looked at then is not what is tried here.
    let told = (0..5).find_map(|_| told_ms()).expect("this machine looks more than four times a second");
    for told_ms in told {
        assert_eq!(told_ms.len(), WANTED_MS.len(), "{told_ms:?}");
        for (told, wanted) in told_ms.iter().zip(WANTED_MS) {
            // Two ticks of the kernel's clock, and a machine that does other things.
            let range = i64::from(wanted) - 9..=i64::from(wanted) + 60;
            assert!(range.contains(told), "{told_ms:?}");
        }
    }
}

/// Their rows as requests, and those of the same as calls, in ms; none if two looks were too far from each other.
fn told_ms() -> Option<[Vec<i64>; 2]> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let stream = TcpStream::connect(at).unwrap();
    let (target, order) = (Target::of(std::process::id()).unwrap(), Plan::new("/nowhere".into()).order);
    let mut observer = Box::new(BySamples::of(&target, &order, &Refusal::new("not wanted", "")).unwrap());
    let mut found = Recording::default();
    let mut looked = BTreeSet::new();
    observer.look(&mut found);
    looked.extend(observer.looked_ns);
    thread::scope(|scope| {
        scope.spawn(|| serve(&listener));
        let client = scope.spawn(move || ask(stream));
        while !client.is_finished() {
            thread::sleep(PERIOD);
            observer.look(&mut found);
            looked.extend(observer.looked_ns);
        }
    });
    observer.finish(&mut found);
    let says: Vec<&str> = found.losses.rows().map(|row| found.text(row.says)).collect();
    assert!(says[0].contains("not wanted"), "{says:?}");
    let looked: Vec<i64> = looked.into_iter().collect();
    let are_close = looked.windows(2).all(|pair| pair[1] - pair[0] < APART.as_nanos() as i64);
    let of = |kind: &str, name: String| {
        let rows = found.spans.rows().filter(|row| found.text(row.kind) == kind && found.text(row.name) == name);
        rows.map(|row| row.duration_ns / 1_000_000).collect()
    };
    are_close.then(|| [of(span::REQUEST, format!(":{}", at.port())), of(span::CALL, at.to_string())])
}

fn ask(mut stream: TcpStream) {
    for ms in WANTED_MS {
        stream.write_all(&[ms]).unwrap();
        stream.read_exact(&mut [0]).unwrap();
        thread::sleep(APART);
    }
}

/// Answers each byte 5 ms after it came, whatever else has come.
fn serve_several(listener: &TcpListener) {
    let (stream, _) = listener.accept().unwrap();
    stream.set_nodelay(true).unwrap();
    let mut byte = [0];
    thread::scope(|scope| {
        while (&stream).read_exact(&mut byte).is_ok() {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(5));
                let _ = (&stream).write_all(b"!");
            });
        }
    });
}

/// Asks for some seconds without waiting for answers, or one after the other.
fn ask_several(stream: &TcpStream, is_waiting: bool) {
    stream.set_nodelay(true).unwrap();
    let mut random = 1_u64;
    for _ in 0..1_500 {
        (&*stream).write_all(b"?").unwrap();
        if is_waiting {
            (&*stream).read_exact(&mut [0]).unwrap();
        }
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        thread::sleep(Duration::from_micros(random >> 52));
    }
}

/// How many rows of requests, and how many of the same as calls, say that several were at once, and how many do not.
fn at_once(is_waiting: bool) -> [[usize; 2]; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let stream = TcpStream::connect(at).unwrap();
    let (target, order) = (Target::of(std::process::id()).unwrap(), Plan::new("/nowhere".into()).order);
    let mut observer = Box::new(BySamples::of(&target, &order, &Refusal::new("not wanted", "")).unwrap());
    let mut found = Recording::default();
    observer.look(&mut found);
    thread::scope(|scope| {
        scope.spawn(|| serve_several(&listener));
        let client = scope.spawn(move || ask_several(&stream, is_waiting));
        while !client.is_finished() {
            thread::sleep(PERIOD);
            observer.look(&mut found);
        }
    });
    observer.finish(&mut found);
    [format!(":{}", at.port()), at.to_string()].map(|name| {
        let rows = || found.spans.rows().filter(|row| found.text(row.name) == name);
        let several = rows().filter(|row| found.text(row.detail).contains("\"overlapping\":true")).count();
        [several, rows().count() - several]
    })
}

#[test]
fn several_at_once_on_one_connection_are_known_as_such() {
    if !tells_of_connections("several_at_once_on_one_connection_are_known_as_such") {
        return;
    }
    for [several, _] in at_once(false) {
        assert!(several > 5, "{several}");
    }
    for [several, single] in at_once(true) {
        assert!(several == 0 && single > 5, "{several} {single}");
    }
}

#[test]
fn connections_that_no_look_met_are_counted() {
    if !tells_of_connections("connections_that_no_look_met_are_counted") {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (target, order) = (Target::of(std::process::id()).unwrap(), Plan::new("/nowhere".into()).order);
    let mut observer = Box::new(BySamples::of(&target, &order, &Refusal::new("not wanted", "")).unwrap());
    let mut found = Recording::default();
    observer.look(&mut found);
    for _ in 0..20 {
        drop((TcpStream::connect(listener.local_addr().unwrap()).unwrap(), listener.accept().unwrap()));
    }
    observer.finish(&mut found);
    let counted = found.counters.rows().filter(|row| found.text(row.name) == counter::CONNECTIONS_NOT_MET_COUNT);
    assert!(counted.map(|row| row.value).fold(0.0, f64::max) >= 20.0);
    let is_said = |says: &str| says.contains("lived from one look to the next") && says.contains(" of ");
    assert!(found.losses.rows().any(|row| is_said(found.text(row.says))));
}
