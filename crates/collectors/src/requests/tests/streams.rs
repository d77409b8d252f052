//! Streams of HTTP/2 in the clear that are answered one by one, beside each other on one connection.

use super::frames::{DATA, HEADERS, SETTINGS, frame, frame_with, opening};
use super::*;

const LAST: u8 = 1;
const RESET: u8 = 3;

/// A request that says that nothing follows.
fn asked(stream: u32) -> Vec<u8> {
    [frame(HEADERS, stream, 40), frame_with(DATA, LAST, stream, 17)].concat()
}

/// The end of an answer as gRPC sends it: headers once more.
fn answered(stream: u32) -> Vec<u8> {
    [frame(HEADERS, stream, 10), frame(DATA, stream, 30), frame_with(HEADERS, LAST, stream, 12)].concat()
}

/// Both ends of a connection that have made their settings, and had one request.
fn settled(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let (mut client, mut server) = connection(listener);
    say(&mut client, &mut server, &opening());
    let settings = [frame(SETTINGS, 0, 18), frame(SETTINGS, 0, 0)].concat();
    say(&mut server, &mut client, &[settings, answered(1)].concat());
    (client, server)
}

/// What is found while `talk` lets both ends of such a connection speak.
fn talked(sees_begin: bool, talk: impl FnOnce(&mut TcpStream, &mut TcpStream)) -> Found {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    watch(sees_begin, listener.local_addr().unwrap().port(), || {
        let (mut client, mut server) = settled(&listener);
        talk(&mut client, &mut server);
        // What is under way on the connection as a whole ends here.
        drop(client);
        thread::sleep(Duration::from_millis(5));
    })
}

/// One end sends it, the other reads it.
fn say(from: &mut TcpStream, to: &mut TcpStream, bytes: &[u8]) {
    from.write_all(bytes).unwrap();
    to.read_exact(&mut vec![0; bytes.len()]).unwrap();
}

/// How many ms each stream took, but for the first, which was there before it was known what the connection carries.
fn lengths_ms(found: &Found) -> Vec<i64> {
    let streams = found.requests().into_iter().filter(|(_, request)| request.stream == Some(true));
    let all: Vec<i64> = streams.map(|(span, _)| span.duration_ns / 1_000_000).collect();
    all.into_iter().skip(1).collect()
}

fn wait_ms(ms: u64) {
    thread::sleep(Duration::from_millis(ms));
}

#[test]
fn each_stream_has_its_own_length() {
    let Some(_alone) = can_see("each_stream_has_its_own_length") else { return };
    for sees_begin in ways() {
        let found = talked(sees_begin, |client, server| {
            say(client, server, &asked(3));
            wait_ms(20);
            say(client, server, &asked(5));
            wait_ms(20);
            say(server, client, &answered(5));
            wait_ms(20);
            say(server, client, &answered(3));
        });
        let lengths = lengths_ms(&found);
        assert!(lengths.len() == 2 && (60..80).contains(&lengths[0]) && (20..40).contains(&lengths[1]), "{lengths:?}");
        assert!(found.requests().iter().all(|(_, request)| request.overlapping.is_none()));
    }
}

#[test]
fn a_stream_takes_from_its_arrival_on() {
    let Some(_alone) = can_see("a_stream_takes_from_its_arrival_on") else { return };
    let found = talked(true, |client, server| {
        client.write_all(&asked(3)).unwrap();
        wait_ms(30);
        server.read_exact(&mut vec![0; asked(3).len()]).unwrap();
        wait_ms(10);
        say(server, client, &answered(3));
    });
    let (span, request) = found.requests().pop().unwrap();
    assert!((40..60).contains(&(span.duration_ns / 1_000_000)), "{span:?}");
    assert!(request.unread_ns.is_some_and(|ns| (30_000_000..50_000_000).contains(&ns)), "{request:?}");
    assert_eq!((request.bytes_in, request.bytes_out), (Some(57), Some(30)));
}

#[test]
fn answers_are_followed_however_they_are_cut() {
    use std::io::IoSlice;
    let Some(_alone) = can_see("answers_are_followed_however_they_are_cut") else { return };
    let found = talked(true, |client, server| {
        for stream in [3, 5, 7, 9] {
            say(client, server, &asked(stream));
        }
        let all: Vec<u8> = [5, 3, 9, 7].into_iter().flat_map(answered).collect();
        let length = all.len();
        let (first, rest) = all.split_at(50);
        server.write_all(first).unwrap();
        let pieces: Vec<IoSlice<'_>> = rest.chunks(7).map(IoSlice::new).collect();
        assert_eq!(server.write_vectored(&pieces).unwrap(), rest.len());
        client.read_exact(&mut vec![0; length]).unwrap();
    });
    assert_eq!(lengths_ms(&found).len(), 4);
}

#[test]
fn what_is_no_single_request_has_no_length_of_one() {
    let Some(_alone) = can_see("what_is_no_single_request_has_no_length_of_one") else { return };
    let found = talked(true, |client, server| {
        say(client, server, &frame(HEADERS, 3, 40));
        for _ in 0..3 {
            say(client, server, &frame(DATA, 3, 17));
            say(server, client, &frame(DATA, 3, 17));
        }
        say(server, client, &frame_with(HEADERS, LAST, 3, 12));
        // Its client does not want it any more.
        say(client, server, &asked(5));
        say(client, server, &frame(RESET, 5, 4));
        say(server, client, &answered(7));
    });
    let streams: Vec<Option<bool>> = found.requests().iter().skip(1).map(|(_, request)| request.overlapping).collect();
    assert_eq!(streams, [Some(true)]);
}

#[test]
fn an_answer_that_is_none_of_http2_is_told_as_before() {
    let Some(_alone) = can_see("an_answer_that_is_none_of_http2_is_told_as_before") else { return };
    let found = talked(true, |client, server| {
        for stream in [3, 5, 7] {
            say(client, server, &asked(stream));
            wait_ms(5);
            say(server, client, &[0xab; 60]);
        }
    });
    let requests = found.requests();
    assert!(
        requests.len() >= 3 && requests.iter().skip(1).all(|(_, request)| request.stream.is_none()),
        "{requests:?}"
    );
}

#[test]
fn calls_beside_each_other_have_their_own_lengths() {
    let Some(_alone) = can_see("calls_beside_each_other_have_their_own_lengths") else { return };
    for sees_begin in ways() {
        let found = talked(sees_begin, |client, server| {
            say(client, server, &asked(3));
            say(client, server, &asked(5));
            wait_ms(20);
            say(server, client, &answered(5));
            wait_ms(20);
            server.write_all(&answered(3)).unwrap();
            // It has arrived and is not read yet.
            wait_ms(20);
            client.read_exact(&mut vec![0; answered(3).len()]).unwrap();
        });
        let mut calls: Vec<_> = found.calls().into_iter().filter(|(_, call)| call.overlapping.is_none()).collect();
        calls.sort_by_key(|(span, _)| span.duration_ns);
        let ms: Vec<i64> = calls.iter().map(|(span, _)| span.duration_ns / 1_000_000).collect();
        let [.., shorter, longer] = ms[..] else { panic!("{ms:?}") };
        assert!((20..40).contains(&shorter) && (60..80).contains(&longer), "{ms:?}");
        let (_, last) = calls.pop().unwrap();
        let [peer_ms, own_ms] = [last.peer_ns, last.own_delay_ns].map(|ns| ns.unwrap() / 1_000_000);
        assert!((40..60).contains(&peer_ms) && (20..40).contains(&own_ms), "{last:?}");
    }
}

#[test]
fn streams_that_nothing_answers_are_told_at_the_end() {
    let Some(_alone) = can_see("streams_that_nothing_answers_are_told_at_the_end") else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut ends = None;
    let found = watch(true, listener.local_addr().unwrap().port(), || {
        let (mut client, mut server) = settled(&listener);
        say(&mut client, &mut server, &[asked(3), asked(5)].concat());
        wait_ms(1_100);
        ends = Some((client, server));
    });
    let (span, request) = found.requests().pop().unwrap();
    assert_eq!((request.unanswered, request.stream), (Some(true), None));
    assert!(span.duration_ns >= 1_000_000_000, "{span:?}");
}
