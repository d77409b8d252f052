//! Messages that begin with their length, of which a client writes several at once.

use super::frames::arrivals;
use super::*;

/// What goes before: so many pairs of messages, of which the second comes before the first is answered.
const PAIRS: usize = 5;

/// How a client of a protocol writes a message with a body of so many bytes.
type Framing = fn(usize) -> Vec<u8>;

fn length_first(body: usize) -> Vec<u8> {
    [(body as u32).to_be_bytes().to_vec(), vec![0xab; body]].concat()
}

/// Three frames, as of Hazelcast.
fn in_frames(body: usize) -> Vec<u8> {
    let frame = |flags: u16, body: usize| {
        let length = (6 + body as u32).to_le_bytes();
        [&length[..], &flags.to_le_bytes()[..], &vec![0xab; body][..]].concat()
    };
    [frame(0xc000, 16), frame(0, body), frame(0x2000, 0)].concat()
}

/// Numbers of which none says where the next begins.
fn other_bytes(body: usize) -> Vec<u8> {
    [vec![0, 0, 0, 9], vec![0xab; body]].concat()
}

/// A head that leads to the next head, but not to the next message.
fn numbers(_: usize) -> Vec<u8> {
    [[0, 0, 0, 4].repeat(6), vec![0xab; 3]].concat()
}

/// What is found of a connection that has several requests at once, and then `bursts` of so many of them in one segment.
fn found_of(message: Framing, bursts: usize, of: usize) -> Found {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    watch(true, listener.local_addr().unwrap().port(), || {
        let (mut client, mut server) = connection(&listener);
        let read = |server: &mut TcpStream, bytes: &[u8]| server.read_exact(&mut vec![0; bytes.len()]).unwrap();
        let one = message(40);
        for _ in 0..PAIRS {
            client.write_all(&one).unwrap();
            read(&mut server, &one);
            client.write_all(&one).unwrap();
            thread::sleep(Duration::from_millis(2));
            server.write_all(&[1; 20]).unwrap();
            read(&mut server, &one);
            server.write_all(&[1; 20]).unwrap();
            client.read_exact(&mut [0; 40]).unwrap();
        }
        let burst: Vec<u8> = (0..of).flat_map(|nth| message(40 + nth)).collect();
        for _ in 0..bursts {
            client.write_all(&burst).unwrap();
            read(&mut server, &burst);
            server.write_all(&[1; 20]).unwrap();
            client.read_exact(&mut [0; 20]).unwrap();
        }
    })
}

#[test]
fn several_messages_in_a_segment_are_as_many_arrivals() {
    let Some(_alone) = can_see("several_messages_in_a_segment_are_as_many_arrivals") else { return };
    for message in [length_first as Framing, in_frames] {
        let counted = arrivals(&found_of(message, 40, 6));
        // Until it is known what they are, each segment is one.
        let all = (2 * PAIRS + 40 * 6) as f64;
        assert!((all - 40.0..=all).contains(&counted), "{counted} of {all}");
    }
}

#[test]
fn what_has_no_length_is_a_segment_each() {
    let Some(_alone) = can_see("what_has_no_length_is_a_segment_each") else { return };
    for message in [other_bytes as Framing, numbers] {
        assert_eq!(arrivals(&found_of(message, 40, 6)), (2 * PAIRS + 40) as f64);
    }
}
