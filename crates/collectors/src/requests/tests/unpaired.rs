//! What needs no pairing of requests and answers.

use super::*;

const COUNTERS: [&str; 4] =
    [counter::DATA_ARRIVALS_COUNT, counter::DATA_SENDS_COUNT, counter::RECEIVED_BYTES, counter::SENT_BYTES];

#[test]
fn of_requests_that_are_under_way_at_once_each_is_an_arrival() {
    let Some(_alone) = can_see("of_requests_that_are_under_way_at_once_each_is_an_arrival") else { return };
    for sees_begin in ways() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        // What was before is not counted.
        let (mut client, mut server) = connection(&listener);
        client.write_all(&[1; 4]).unwrap();
        server.read_exact(&mut [0; 4]).unwrap();
        let found = watch(sees_begin, port, || {
            for _ in 0..5 {
                (0..4).for_each(|_| client.write_all(&[1; 4]).unwrap());
                server.read_exact(&mut [0; 16]).unwrap();
                (0..4).for_each(|_| server.write_all(&[1; 10]).unwrap());
                client.read_exact(&mut [0; 40]).unwrap();
            }
        });
        let of = |name: &str| COUNTERS.map(|counter| found.counted(counter, name));
        // The first that is read of a connection which is older than the recording makes it known.
        let [arrivals, sends, received, sent] = of(&format!(":{port}"));
        assert_eq!((sends, sent), (20.0, 200.0));
        assert!((16.0..=20.0).contains(&arrivals) && (64.0..=80.0).contains(&received), "{arrivals} {received}");
        let [arrivals, sends, received, sent] = of(&format!("127.0.0.1:{port}"));
        assert_eq!((arrivals, received), (20.0, 200.0));
        assert!((19.0..=20.0).contains(&sends) && (76.0..=80.0).contains(&sent), "{sends} {sent}");
    }
}

#[test]
fn a_connection_that_ends_leaves_what_it_had() {
    let Some(_alone) = can_see("a_connection_that_ends_leaves_what_it_had") else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let found = watch(true, port, || {
        for _ in 0..7 {
            let (mut client, mut server) = connection(&listener);
            client.write_all(&[1; 4]).unwrap();
            server.read_exact(&mut [0; 4]).unwrap();
            server.write_all(&[1; 10]).unwrap();
            client.read_exact(&mut [0; 10]).unwrap();
        }
    });
    let [arrivals, sends, received, sent] = COUNTERS.map(|counter| found.counted(counter, &format!(":{port}")));
    assert_eq!((arrivals, sends), (7.0, 7.0));
    // The end of the data takes a number as well, on each side.
    assert!((28.0..=35.0).contains(&received) && (70.0..=77.0).contains(&sent), "{received} {sent}");
}
