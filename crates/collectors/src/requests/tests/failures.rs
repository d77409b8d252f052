//! Connections that fail.

use super::*;

const FAILURES: [&str; 3] =
    [counter::CONNECTIONS_RESET_COUNT, counter::CONNECTS_FAILED_COUNT, counter::CLOSED_UNANSWERED_COUNT];

/// How often connections to a port failed while `work` ran, as who listens sees it and as who calls does.
fn failed(work: impl FnOnce(&TcpListener)) -> [[f64; 3]; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let found = watch(true, port, || work(&listener));
    [format!(":{port}"), format!("127.0.0.1:{port}")].map(|name| FAILURES.map(|counter| found.counted(counter, &name)))
}

#[test]
fn a_connection_that_is_closed_with_what_was_not_read_is_reset() {
    let Some(_alone) = can_see("a_connection_that_is_closed_with_what_was_not_read_is_reset") else { return };
    let failed = failed(|listener| {
        let (mut client, mut server) = connection(listener);
        client.write_all(&[1; 4]).unwrap();
        server.read_exact(&mut [0; 4]).unwrap();
        server.write_all(&[1; 4]).unwrap();
        client.read_exact(&mut [0; 4]).unwrap();
        client.write_all(&[1; 4]).unwrap();
        thread::sleep(SLEEP);
        drop(server);
        thread::sleep(SLEEP);
    });
    assert_eq!(failed, [[1.0, 0.0, 0.0]; 2]);
}

#[test]
fn who_is_never_answered_before_the_end_is_counted_and_who_says_good_bye_is_not() {
    let test = "who_is_never_answered_before_the_end_is_counted_and_who_says_good_bye_is_not";
    let Some(_alone) = can_see(test) else { return };
    let failed = failed(|listener| {
        let mut bytes = [0; 4];
        let (mut client, mut server) = connection(listener);
        client.write_all(&[1; 4]).unwrap();
        server.read_exact(&mut bytes).unwrap();
        drop(server);
        drop(client);
        let (mut client, mut server) = connection(listener);
        client.write_all(&[1; 4]).unwrap();
        server.read_exact(&mut bytes).unwrap();
        server.write_all(&bytes).unwrap();
        client.read_exact(&mut bytes).unwrap();
        client.write_all(&[2; 4]).unwrap();
        server.read_exact(&mut bytes).unwrap();
        drop(server);
        drop(client);
        // Who only looks whether somebody listens has asked nothing.
        drop(connection(listener));
    });
    assert_eq!(failed, [[0.0, 0.0, 1.0]; 2]);
}

#[test]
fn who_listens_no_more_refuses() {
    let Some(_alone) = can_see("who_listens_no_more_refuses") else { return };
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let found = watch(true, gone.port(), || {
        for _ in 0..3 {
            assert!(TcpStream::connect(gone).is_err());
        }
    });
    assert_eq!(FAILURES.map(|counter| found.counted(counter, &gone.to_string())), [0.0, 3.0, 0.0]);
    assert_eq!(found.counted(counter::SENT_BYTES, &gone.to_string()), 0.0);
}
