//! Sockets of this very process on the loopback: a full UDP queue, a listener without a server.

use std::net::{TcpListener, TcpStream, UdpSocket};

use super::*;

/// Last value of a counter, of the instance with this beginning.
fn last(found: &Recording, name: &str, instance: &str) -> Option<f64> {
    let name = found.strings.find(name)?;
    let rows = found.counters.rows().filter(|row| row.name == name && found.text(row.instance).starts_with(instance));
    rows.max_by_key(|row| row.time_ns).map(|row| row.value)
}

fn observe() -> Recording {
    let target = Target::of(std::process::id()).unwrap();
    let mut found = Recording::default();
    let mut watch = Sockets.start(&target, &crate::recorder::Plan::new(PathBuf::from("none")).order).unwrap();
    watch.look(&mut found);
    watch.finish(&mut found);
    found
}

#[test]
fn a_full_udp_queue_and_its_drops_are_seen() {
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = receiver.local_addr().unwrap().port();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    sender.connect(("127.0.0.1", port)).unwrap();
    let udp = format!("udp {port} #");
    let before = observe();
    assert_eq!(last(&before, counter::SOCKET_RECEIVE_QUEUE_BYTES, &udp), Some(0.0));
    let sent = 20_000;
    for _ in 0..sent {
        sender.send(&[7; 200]).unwrap();
    }
    let after = observe();
    receiver.set_nonblocking(true).unwrap();
    let kept = std::iter::from_fn(|| receiver.recv(&mut [0; 300]).ok()).count();
    let dropped = last(&after, counter::SOCKET_DROPS_COUNT, &udp).unwrap();
    assert_eq!(dropped as usize, sent - kept, "the socket's own count is exact");
    assert!(last(&after, counter::SOCKET_RECEIVE_QUEUE_BYTES, &udp).unwrap() >= (kept * 200) as f64);
    let errors = |found: &Recording| last(found, counter::NETWORK_COUNT, "Udp RcvbufErrors").unwrap();
    assert!(errors(&after) - errors(&before) >= dropped, "others in this namespace may have dropped as well");
}

#[test]
fn connections_that_wait_to_be_accepted_are_seen() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let clients: Vec<TcpStream> = (0..5).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    let found = observe();
    assert_eq!(last(&found, counter::SOCKET_ACCEPT_QUEUE_COUNT, &format!("tcp {port} #")), Some(clients.len() as f64));
    assert!(last(&found, counter::SOCKETS_COUNT, "tcp established").unwrap() >= clients.len() as f64);
}

#[test]
fn strangers_sockets_are_not_the_targets() {
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let _ours = UdpSocket::bind("127.0.0.1:0").unwrap();
    let target = Target::of(child.id()).unwrap();
    let mut found = Recording::default();
    let started = Sockets.start(&target, &crate::recorder::Plan::new(PathBuf::from("none")).order);
    started.unwrap().look(&mut found);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(last(&found, counter::SOCKET_RECEIVE_QUEUE_BYTES, "udp"), None);
    assert!(last(&found, counter::NETWORK_COUNT, "Tcp RetransSegs").is_some());
}

#[test]
fn who_watches_all_the_time_looks_at_sockets_when_something_was_lost() {
    let target = Target::of(std::process::id()).unwrap();
    let mut order = crate::recorder::Plan::new(PathBuf::from("none")).order;
    order.is_sparing = true;
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = receiver.local_addr().unwrap().port();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (udp, tcp) = (format!("udp {port} #"), format!("tcp {} #", listener.local_addr().unwrap().port()));
    let mut observer = Sockets.start(&target, &order).unwrap();
    assert!(observer.is_sparing());

    let mut found = Recording::default();
    observer.look(&mut found);
    assert_eq!(last(&found, counter::SOCKET_DROPS_COUNT, &udp), Some(0.0), "what there was before counts from here");
    assert!(last(&found, counter::SOCKET_ACCEPT_QUEUE_COUNT, &tcp).is_some());
    assert_eq!(last(&found, counter::NETWORK_COUNT, "Udp RcvbufErrors"), None, "there are too many numbers for days");

    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    sender.connect(("127.0.0.1", port)).unwrap();
    (0..20_000).for_each(|_| drop(sender.send(&[7; 200])));
    // A look that comes soon after another one waits, and forgets nothing.
    let until = std::time::Instant::now() + Duration::from_secs(15);
    let mut found = Recording::default();
    while last(&found, counter::SOCKET_DROPS_COUNT, &udp).is_none() && std::time::Instant::now() < until {
        observer.look(&mut found);
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(last(&found, counter::SOCKET_DROPS_COUNT, &udp).is_some_and(|lost| lost > 1_000.0));
}
