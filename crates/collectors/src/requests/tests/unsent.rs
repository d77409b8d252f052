//! What stands in the kernel after the program has given it away.

use std::os::fd::AsRawFd;

use super::*;

/// Linux waits at least so long before it acknowledges what nothing is sent back for, and before it sends again what is lost.
const DELAYED_ACKNOWLEDGEMENT: Duration = Duration::from_millis(35);
const RETRANSMISSION: Duration = Duration::from_millis(190);

/// Asks twice; the first exchange is over by then, and acknowledged.
fn ask_twice(client: &mut TcpStream, pieces: &[&[u8]], answer: usize) -> Duration {
    call(client, &[0], answer);
    let began = Instant::now();
    pieces.iter().for_each(|piece| client.write_all(piece).unwrap());
    client.read_exact(&mut vec![0; answer]).unwrap();
    began.elapsed()
}

/// Answers questions of four bytes, each answer in pieces of these lengths.
fn serve_in_pieces(mut server: TcpStream, pieces: &[usize]) {
    let mut question = [0; 4];
    while server.read_exact(&mut question).is_ok() {
        pieces.iter().for_each(|length| server.write_all(&vec![7; *length]).unwrap());
    }
}

#[test]
fn an_answer_whose_end_waits_for_an_acknowledgement_is_as_long_as_its_client_says() {
    let Some(_alone) = can_see("an_answer_whose_end_waits_for_an_acknowledgement_is_as_long_as_its_client_says") else {
        return;
    };
    for (sees_begin, no_delay) in ways().flat_map(|sees| [(sees, false), (sees, true)]) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut measured = Duration::ZERO;
        let found = watch(sees_begin, listener.local_addr().unwrap().port(), || {
            let (mut client, server) = connection(&listener);
            server.set_nodelay(no_delay).unwrap();
            let serving = thread::spawn(move || serve_in_pieces(server, &[100, 400]));
            // The kernel acknowledges at once at first.
            (0..20).for_each(|_| drop(call(&mut client, &[0], 500)));
            measured = ask_twice(&mut client, &[&[0; 4]], 500);
            drop(client);
            serving.join().unwrap();
        });
        let requests = found.requests();
        let (span, request) = requests.last().unwrap();
        assert_eq!((requests.len(), request.bytes_out), (22, Some(500)), "{requests:?}");
        assert!(took(span) <= measured, "{span:?} of {measured:?}");
        if no_delay {
            assert_eq!((request.unsent_ns, request.unsent_for.as_deref()), (None, None), "{requests:?}");
        } else {
            assert_eq!(request.unsent_for.as_deref(), Some("acknowledgement"), "{requests:?}");
            assert!(ns(request.unsent_ns) >= DELAYED_ACKNOWLEDGEMENT && took(span) >= ns(request.unsent_ns));
        }
    }
}

#[test]
fn a_question_whose_end_waits_for_an_acknowledgement_is_not_with_the_peer_yet() {
    let Some(_alone) = can_see("a_question_whose_end_waits_for_an_acknowledgement_is_not_with_the_peer_yet") else {
        return;
    };
    for sees_begin in ways() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let found = watch(sees_begin, listener.local_addr().unwrap().port(), || {
            let (mut client, server) = connection(&listener);
            client.set_nodelay(false).unwrap();
            let serving = thread::spawn(move || serve_in_pieces(server, &[10]));
            (0..20).for_each(|_| drop(call(&mut client, &[0], 10)));
            ask_twice(&mut client, &[&[0; 1], &[0; 3]], 10);
            drop(client);
            serving.join().unwrap();
        });
        let calls = found.calls();
        let (_, call) = calls.last().unwrap();
        assert_eq!(call.unsent_for.as_deref(), Some("acknowledgement"), "{calls:?}");
        let at_the_peer = ns(call.peer_ns) - ns(call.unsent_ns);
        assert!(ns(call.unsent_ns) >= DELAYED_ACKNOWLEDGEMENT && at_the_peer < DELAYED_ACKNOWLEDGEMENT, "{call:?}");
    }
}

#[test]
fn an_answer_that_its_client_does_not_read_waits_for_its_window() {
    let Some(_alone) = can_see("an_answer_that_its_client_does_not_read_waits_for_its_window") else { return };
    const ANSWER: usize = 12_000_000;
    for sees_begin in ways() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let found = watch(sees_begin, listener.local_addr().unwrap().port(), || {
            let (mut client, server) = connection(&listener);
            let serving = thread::spawn(move || serve(server, ANSWER));
            client.write_all(&[0; 4]).unwrap();
            thread::sleep(10 * SLEEP);
            client.read_exact(&mut vec![0; ANSWER]).unwrap();
            drop(client);
            serving.join().unwrap();
        });
        let requests = found.requests();
        let [(span, request)] = &requests[..] else { panic!("{requests:?}") };
        let full = ns(request.window_full_ns);
        assert!(full >= 8 * SLEEP && full <= took(span), "{sees_begin}: {span:?} {request:?}");
    }
}

#[test]
fn what_a_connection_has_been_through_before_is_no_exchange_s() {
    let Some(_alone) = can_see("what_a_connection_has_been_through_before_is_no_exchange_s") else { return };
    const ANSWER: usize = 12_000_000;
    for sees_begin in ways() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (mut client, server) = connection(&listener);
        let serving = thread::spawn(move || serve(server, ANSWER));
        client.write_all(&[0; 4]).unwrap();
        thread::sleep(10 * SLEEP);
        client.read_exact(&mut vec![0; ANSWER]).unwrap();
        let found = watch(sees_begin, listener.local_addr().unwrap().port(), || {
            // Of the first nobody saw how it arrived.
            call(&mut client, &[0, 0], ANSWER);
            drop(client);
            serving.join().unwrap();
        });
        let requests = found.requests();
        let [(_, request)] = &requests[..] else { panic!("{requests:?}") };
        let full = request.window_full_ns.map_or(Duration::ZERO, |ns| Duration::from_nanos(ns as u64));
        assert!(full < 5 * SLEEP, "{sees_begin}: {request:?}");
    }
}

/// Lets no data through to a socket, or all of it.
fn let_through(stream: &TcpStream, all: bool) {
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    // Segments of no more than 60 bytes are headers only.
    let code = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_LEN, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K, 0, 1, 60),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, u32::MAX),
    ];
    let filter = libc::sock_fprog { len: code.len() as u16, filter: code.as_ptr().cast_mut() };
    let option = if all { libc::SO_DETACH_FILTER } else { libc::SO_ATTACH_FILTER };
    let length = size_of_val(&filter) as libc::socklen_t;
    // SAFETY: the kernel copies the filter, which lives longer than the call.
    let done =
        unsafe { libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const filter).cast(), length) };
    assert_eq!(done, 0);
}

#[test]
fn an_answer_that_is_lost_ends_when_it_was_sent_again() {
    let Some(_alone) = can_see("an_answer_that_is_lost_ends_when_it_was_sent_again") else { return };
    for sees_begin in ways() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut measured = Duration::ZERO;
        let found = watch(sees_begin, listener.local_addr().unwrap().port(), || {
            let (mut client, server) = connection(&listener);
            let serving = thread::spawn(move || serve(server, 100));
            call(&mut client, &[0; 5], 100);
            let_through(&client, false);
            let other_side = client.try_clone().unwrap();
            let opening = thread::spawn(move || {
                thread::sleep(SLEEP);
                let_through(&other_side, true);
            });
            measured = call(&mut client, &[0], 100)[0];
            opening.join().unwrap();
            drop(client);
            serving.join().unwrap();
        });
        let requests = found.requests();
        let (span, request) = requests.last().unwrap();
        assert_eq!(request.unsent_for.as_deref(), Some("retransmission"), "{requests:?}");
        assert!(ns(request.unsent_ns) >= RETRANSMISSION && took(span) <= measured, "{span:?} of {measured:?}");
        assert!(requests[..5].iter().all(|(_, request)| request.unsent_ns.is_none()), "{requests:?}");
        assert!(found.counted(counter::SEGMENTS_RESENT_COUNT, &format!(":{}", found.port)) >= 1.0);
    }
}
