//! Datagrams to a peer that the socket was connected to, as resolvers send them.

use std::net::UdpSocket;

use super::*;

const LOCAL: &str = "127.0.0.1:0";

/// A socket that is connected to another one, and that.
fn connected() -> (UdpSocket, UdpSocket) {
    let [client, server] = [(); 2].map(|()| UdpSocket::bind(LOCAL).unwrap());
    client.connect(server.local_addr().unwrap()).unwrap();
    (client, server)
}

fn port(socket: &UdpSocket) -> u16 {
    socket.local_addr().unwrap().port()
}

/// Answers so many questions, each after as many ms as its first byte says.
fn answer(server: &UdpSocket, count: usize) {
    let mut question = [0; 4];
    for _ in 0..count {
        let (_, client) = server.recv_from(&mut question).unwrap();
        thread::sleep(Duration::from_millis(u64::from(question[0])));
        server.send_to(&question, client).unwrap();
    }
}

#[test]
fn questions_in_datagrams_are_calls() {
    let Some(_alone) = can_see("questions_in_datagrams_are_calls") else { return };
    let (client, server) = connected();
    let found = watch(true, port(&server), || {
        let serving = thread::spawn(move || answer(&server, 3));
        for delay_ms in [5, 30, 5] {
            client.send(&[delay_ms; 4]).unwrap();
            client.recv(&mut [0; 4]).unwrap();
        }
        serving.join().unwrap();
        // Nobody tells that a socket of datagrams is closed.
        drop(client);
    });
    let slow: Vec<bool> = found.calls().iter().map(|(span, _)| took(span) >= SLEEP).collect();
    assert_eq!(slow, [false, true, false]);
    let (span, call) = &found.calls()[1];
    assert!(ns(call.peer_ns) >= SLEEP && call.overlapping.is_none(), "{call:?}");
    assert_eq!((span.tid, call.port, call.bytes_in), (own_tid(), Some(u32::from(found.port)), None));
    assert_eq!(found.counted(counter::CALLS_COUNT, &format!("127.0.0.1:{}", found.port)), 3.0);
}

#[test]
fn two_questions_at_once_are_one_call_and_a_question_that_is_lost_takes_until_it_is_asked_again() {
    let Some(_alone) = can_see("two_questions_at_once_are_one_call") else { return };
    let (client, server) = connected();
    let found = watch(true, port(&server), || {
        client.send(&[30; 4]).unwrap();
        client.send(&[0; 4]).unwrap();
        let serving = thread::spawn(move || {
            answer(&server, 2);
            server.recv(&mut [0; 4]).unwrap();
            answer(&server, 1);
        });
        client.recv(&mut [0; 4]).unwrap();
        client.recv(&mut [0; 4]).unwrap();
        client.send(&[0; 4]).unwrap();
        thread::sleep(SLEEP);
        client.send(&[0; 4]).unwrap();
        client.recv(&mut [0; 4]).unwrap();
        serving.join().unwrap();
    });
    let slow: Vec<bool> = found.calls().iter().map(|(span, _)| took(span) >= SLEEP).collect();
    assert_eq!(slow, [true, true]);
}

#[test]
fn datagrams_that_nobody_answers_are_no_calls() {
    let Some(_alone) = can_see("datagrams_that_nobody_answers_are_no_calls") else { return };
    let (client, server) = connected();
    let found = watch(true, port(&server), || {
        for _ in 0..10 {
            client.send(&[0; 4]).unwrap();
            server.recv(&mut [0; 4]).unwrap();
            thread::sleep(Duration::from_millis(120));
        }
    });
    assert_eq!(found.calls(), []);
    let peer = format!("127.0.0.1:{}", found.port);
    let counted = [counter::CALLS_COUNT, counter::CALLS_UNDER_WAY_COUNT].map(|name| found.counted(name, &peer));
    assert_eq!(counted, [0.0, 0.0]);
}
