//! What this process sends to itself and does not read.

use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream, UdpSocket};

use fathom_evidence::detail::from_text;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Struct;

use super::*;
use crate::bpf::tests::{can_load, observed};

#[test]
fn keys_and_values_are_read() {
    let mut key = 53_u32.to_ne_bytes().to_vec();
    key.extend(17_u16.to_ne_bytes());
    key.extend((-12_i16).to_ne_bytes());
    assert_eq!(At::parse(&key), At { port: 53, protocol: 17, reason: -12 });
    assert_eq!(At::parse(&key[1..]), At { port: 0, protocol: 0, reason: 0 });
    let value: Vec<u8> = [3_u64, 4, 5].into_iter().flat_map(u64::to_ne_bytes).collect();
    assert_eq!(Burst::parse(&value), Burst { count: 3, first_ns: 4, last_ns: 5 });
    for (link, expected) in
        [("net:[4026531840]", Some(4_026_531_840)), ("net:[x]", None), ("pid:[1]", None), ("", None)]
    {
        assert_eq!(namespace(link), expected, "{link}");
    }
}

/// The column `drops` of a socket in `/proc/net/udp`.
fn drops_of(port: u16) -> u64 {
    let text = fs::read_to_string("/proc/self/net/udp").unwrap();
    let wanted = format!(":{port:04X}");
    let line = text.lines().find(|line| line.split_whitespace().nth(1).is_some_and(|local| local.ends_with(&wanted)));
    line.unwrap().split_whitespace().last().unwrap().parse().unwrap()
}

/// `RcvbufErrors` of `/proc/net/snmp`: all sockets of the namespace.
fn receive_buffer_errors() -> u64 {
    let text = fs::read_to_string("/proc/self/net/snmp").unwrap();
    let mut lines = text.lines().filter(|line| line.starts_with("Udp: "));
    let (names, numbers) = (lines.next().unwrap(), lines.next().unwrap());
    let at = names.split_whitespace().position(|name| name == "RcvbufErrors").unwrap();
    numbers.split_whitespace().nth(at).unwrap().parse().unwrap()
}

#[test]
fn every_drop_is_counted() {
    if !can_load("every_drop_is_counted") {
        return;
    }
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = receiver.local_addr().unwrap().port();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    sender.connect(receiver.local_addr().unwrap()).unwrap();
    let mut errors = 0;
    let seen = observed(&COLLECTOR, || {
        let before = receive_buffer_errors();
        (0..3000).for_each(|_| assert_eq!(sender.send(&[7; 200]).unwrap(), 200));
        errors = receive_buffer_errors() - before;
    });
    let found = &seen.found;
    let dropped = drops_of(port);
    assert!(dropped > 1000, "3000 datagrams of 200 bytes fit into no default buffer: {dropped} dropped");
    let rows = found.counters.rows().filter(|row| found.text(row.instance) == format!("udp {port} SOCKET_RCVBUFF"));
    let counted = rows.map(|row| row.value).fold(0.0, f64::max);
    assert_eq!(counted, dropped as f64);
    // Others on this machine may drop as well.
    assert!(errors >= dropped, "{errors} in snmp");
    let spans = found.spans.rows().filter(|span| found.text(span.kind) == span::PACKET_DROP);
    let details: Vec<PacketDrop> = spans.map(|span| from_text(found.text(span.detail))).collect();
    let ours = details.iter().filter(|detail| detail.port == Some(u32::from(port)));
    assert_eq!(ours.filter_map(|detail| detail.count).sum::<u64>(), dropped, "{details:?}");
}

/// Whether this kernel's tracepoint has the socket that a packet was for.
fn has_socket() -> bool {
    let types = Btf::from_vmlinux().unwrap();
    let format = types.type_by_name::<Struct<'_>>("trace_event_raw_kfree_skb").unwrap();
    format.iter().any(|member| member.name.is_some_and(|name| name == "rx_sk"))
}

#[test]
fn what_tcp_drops_is_counted_at_its_socket() {
    if !can_load("what_tcp_drops_is_counted_at_its_socket") {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (receiver, _) = listener.accept().unwrap();
    sender.set_nodelay(true).unwrap();
    sender.set_nonblocking(true).unwrap();
    let seen = observed(&COLLECTOR, || {
        // The sender still has the window that it was given before.
        rustix::net::sockopt::set_socket_recv_buffer_size(&receiver, 1).unwrap();
        let sent = (0..50).take_while(|_| sender.write_all(&[7; 1000]).is_ok()).count();
        assert!(sent > 5, "{sent}");
    });
    let found = &seen.found;
    let prefix = format!("tcp {port} ");
    let counted = found.counters.rows().any(|row| found.text(row.instance).starts_with(&prefix) && row.value > 0.0);
    let says: Vec<&str> = found.losses.rows().map(|row| found.text(row.says)).collect();
    match has_socket() {
        true => assert!(counted, "{says:?}"),
        false => assert!(says.iter().any(|says| says.contains("did not say in which")), "{says:?}"),
    }
}
