//! HTTP/2 in the clear, as bytes: what is sent is what a client of it sends, the answers are any bytes.

use super::*;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub(super) const SETTINGS: u8 = 4;
pub(super) const HEADERS: u8 = 1;
pub(super) const DATA: u8 = 0;

pub(super) fn frame(kind: u8, stream: u32, length: usize) -> Vec<u8> {
    frame_with(kind, 0, stream, length)
}

/// With flags beside the one that says that its headers are whole.
pub(super) fn frame_with(kind: u8, flags: u8, stream: u32, length: usize) -> Vec<u8> {
    let mut bytes = (length as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags | 4]);
    bytes.extend(stream.to_be_bytes());
    bytes.resize(bytes.len() + length, 0xab);
    bytes
}

/// What a client says first, with its first request.
pub(super) fn opening() -> Vec<u8> {
    [PREFACE.to_vec(), frame(SETTINGS, 0, 18), request(1)].concat()
}

/// A request with a body.
fn request(stream: u32) -> Vec<u8> {
    [frame(HEADERS, stream, 40), frame(DATA, stream, 17)].concat()
}

/// What is found while these are sent, each by itself, and answered only then.
fn answered_at_last(turns: &[Vec<Vec<u8>>]) -> Found {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    watch(true, listener.local_addr().unwrap().port(), || {
        let (mut client, mut server) = connection(&listener);
        for turn in turns {
            for piece in turn {
                client.write_all(piece).unwrap();
                thread::sleep(Duration::from_millis(2));
                server.read_exact(&mut vec![0; piece.len()]).unwrap();
            }
            server.write_all(&[1; 20]).unwrap();
            client.read_exact(&mut [0; 20]).unwrap();
        }
    })
}

pub(super) fn arrivals(found: &Found) -> f64 {
    found.counted(counter::DATA_ARRIVALS_COUNT, &format!(":{}", found.port))
}

#[test]
fn streams_are_requests_however_they_are_cut() {
    let Some(_alone) = can_see("streams_are_requests_however_they_are_cut") else { return };
    let first = opening();
    let many: Vec<u8> = (1..20).flat_map(|nth| request(2 * nth + 1)).collect();
    // Heads and bodies are cut anywhere.
    let pieces: Vec<Vec<u8>> = many.chunks(61).map(<[u8]>::to_vec).collect();
    let found = answered_at_last(&[vec![first], pieces, vec![request(41)]]);
    assert_eq!(arrivals(&found), 21.0);
    let several: Vec<Option<bool>> = found.requests().iter().map(|(_, request)| request.overlapping).collect();
    assert_eq!(several, [None, Some(true), Some(true)]);
}

#[test]
fn streams_one_after_the_other_are_single_requests() {
    let Some(_alone) = can_see("streams_one_after_the_other_are_single_requests") else { return };
    let first = vec![opening()];
    let others = (1..10).map(|nth| vec![frame(HEADERS, 2 * nth + 1, 40), frame(DATA, 2 * nth + 1, 17)]);
    let found = answered_at_last(&std::iter::once(first).chain(others).collect::<Vec<_>>());
    assert_eq!(arrivals(&found), 10.0);
    assert!(found.requests().iter().all(|(_, request)| request.overlapping.is_none()));
}

#[test]
fn other_bytes_are_no_frames() {
    let Some(_alone) = can_see("other_bytes_are_no_frames") else { return };
    let length_first = |bytes: u8| [vec![0, 0, 0, bytes], vec![1; usize::from(bytes)]].concat();
    for piece in
        [b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(), vec![0x17; 40], length_first(8), length_first(120)]
    {
        let turns: Vec<Vec<Vec<u8>>> = (0..10).map(|_| vec![piece.clone()]).collect();
        let found = answered_at_last(&turns);
        assert_eq!(arrivals(&found), 10.0, "a segment each: {piece:?}");
        assert!(found.requests().iter().all(|(_, request)| request.overlapping.is_none()));
    }
}
