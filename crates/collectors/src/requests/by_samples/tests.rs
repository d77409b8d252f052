//! Connections of this process, which serves and asks itself.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use super::*;
use crate::recorder::Plan;

/// Answers each byte after as many ms as it says.
fn serve(listener: &TcpListener) {
    let (mut stream, _) = listener.accept().unwrap();
    let mut byte = [0];
    while stream.read_exact(&mut byte).is_ok() {
        thread::sleep(Duration::from_millis(byte[0].into()));
        stream.write_all(&byte).unwrap();
    }
}

#[test]
fn requests_take_as_long_as_they_do() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let (target, order) = (Target::of(std::process::id()).unwrap(), Plan::new("/nowhere".into()).order);
    let mut observer = start(&target, &order, &Refusal::new("not wanted", "")).unwrap();
    let mut found = Recording::default();
    observer.look(&mut found);
    let wanted_ms = [20, 250, 60, 120, 5];
    thread::scope(|scope| {
        scope.spawn(|| serve(&listener));
        let client = scope.spawn(|| {
            let mut stream = TcpStream::connect(at).unwrap();
            for ms in wanted_ms {
                stream.write_all(&[ms]).unwrap();
                stream.read_exact(&mut [0]).unwrap();
                thread::sleep(Duration::from_millis(230));
            }
        });
        while !client.is_finished() {
            thread::sleep(PERIOD);
            observer.look(&mut found);
        }
    });
    observer.finish(&mut found);
    let of_port = |row: &Span| found.text(row.name) == format!(":{}", at.port());
    let told_ms: Vec<i64> = found.spans.rows().filter(of_port).map(|row| row.duration_ns / 1_000_000).collect();
    assert_eq!(told_ms.len(), wanted_ms.len(), "{told_ms:?}");
    for (told, wanted) in told_ms.iter().zip(wanted_ms) {
        // Two ticks of the kernel's clock, and a machine that does other things.
        let range = i64::from(wanted) - 9..=i64::from(wanted) + 60;
        assert!(range.contains(told), "{told_ms:?}");
    }
    let says: Vec<&str> = found.losses.rows().map(|row| found.text(row.says)).collect();
    assert!(says[0].contains("not wanted"), "{says:?}");
}
