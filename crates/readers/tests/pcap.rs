//! Captures of packets: the counts are those of tshark, whatever the file and the link are like.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use fathom_evidence::Recording;
use fathom_evidence::detail::{Request, from_text};
use fathom_evidence::kinds::{counter, loss, span, unsent};
use fathom_readers::{LoadError, LoadOptions, load_file};

fn testdata(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/pcap").join(name);
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&fs::read(path).unwrap()[..]).read_to_end(&mut bytes).unwrap();
    bytes
}

fn load(bytes: &[u8]) -> Result<Recording, LoadError> {
    let folder = tempfile::tempdir().unwrap();
    let file: PathBuf = folder.path().join("capture");
    fs::write(&file, bytes).unwrap();
    load_file(&file, &LoadOptions::default())
}

/// What the counters came to, by counter and endpoint.
fn counts(recording: &Recording) -> BTreeMap<(String, String), f64> {
    let rows = recording.counters.rows();
    rows.map(|row| ((recording.text(row.name).to_owned(), recording.text(row.instance).to_owned()), row.value))
        .collect()
}

fn count(recording: &Recording, name: &str, endpoint: &str) -> f64 {
    counts(recording).get(&(name.to_owned(), endpoint.to_owned())).copied().unwrap_or(-1.0)
}

fn requests(recording: &Recording) -> Vec<(i64, Request)> {
    let rows = recording.spans.rows().filter(|row| recording.text(row.kind) == span::REQUEST);
    rows.map(|row| (row.duration_ns, from_text(recording.text(row.detail)))).collect()
}

fn losses(recording: &Recording) -> Vec<&str> {
    recording.losses.rows().map(|row| recording.text(row.kind)).collect()
}

/// Beginning in µs, kind and name of spans; what the counters came to.
type Said = (Vec<(i64, String, String)>, BTreeMap<(String, String), f64>);

/// All that a recording says, but for times below a µs.
fn said(recording: &Recording) -> Said {
    let text = |id| recording.text(id).to_owned();
    let spans = recording.spans.rows().map(|row| (row.time_ns / 1_000, text(row.kind), text(row.name))).collect();
    let is_time = |name: &str| name.ends_with("_ns");
    (spans, counts(recording).into_iter().filter(|((name, _), _)| !is_time(name)).collect())
}

#[test]
fn counts_are_those_of_tshark() {
    for (name, resent, answered, arrivals) in [
        ("lossy.pcap.gz", 243.0, 62, 62.0),
        ("any.pcap.gz", 29.0, 61, 61.0),
        ("cooked.pcap.gz", 0.0, 50, 50.0),
        ("loopback.pcap.gz", 0.0, 50, 50.0),
        ("loopback.pcapng.gz", 0.0, 50, 50.0),
    ] {
        let recording = load(&testdata(name)).unwrap();
        let port = if resent > 0.0 { ":8080" } else { ":8081" };
        assert_eq!(count(&recording, counter::SEGMENTS_RESENT_COUNT, port), resent, "{name}");
        assert_eq!(count(&recording, counter::DATA_ARRIVALS_COUNT, port), arrivals, "{name}");
        assert_eq!(count(&recording, counter::REQUESTS_COUNT, port), f64::from(answered), "{name}");
        assert_eq!(requests(&recording).len(), answered as usize, "{name}");
        let lost: &[&str] = if name.starts_with("lossy") { &[loss::REFUSED] } else { &[] };
        assert_eq!(losses(&recording), lost, "{name}: two hosts, and no word of which it is");
    }
}

/// The client reads after 300 ms and has room for a few KB; answers are lost on their way.
#[test]
fn what_held_answers_up() {
    let requests = requests(&load(&testdata("lossy.pcap.gz")).unwrap());
    let large: Vec<i64> = requests.iter().filter_map(|(_, detail)| detail.window_full_ns).collect();
    assert!(large.len() == 2 && large.iter().all(|ns| (200_000_000..320_000_000).contains(ns)), "{large:?}");
    let lost = |detail: &Request| detail.unsent_for.as_deref() == Some(unsent::RETRANSMISSION);
    let held: Vec<i64> =
        requests.iter().filter(|(_, detail)| lost(detail)).filter_map(|(_, detail)| detail.unsent_ns).collect();
    assert!(held.len() > 3 && held.iter().all(|ns| (1_000_000..300_000_000).contains(ns)), "{held:?}");
    assert!(requests.iter().all(|(_, detail)| detail.overlapping.is_none() && detail.unanswered.is_none()));
}

/// 200 datagrams a second, and 2,000 for 0.4 s.
#[test]
fn a_burst_of_datagrams_is_seen() {
    for name in ["cooked.pcap.gz", "loopback.pcap.gz"] {
        let recording = load(&testdata(name)).unwrap();
        assert_eq!(count(&recording, counter::DATA_ARRIVALS_COUNT, "udp 8125"), 1_520.0, "{name}");
        let of_port = |row: &fathom_evidence::tables::Counter| {
            recording.text(row.name) == counter::DATA_ARRIVALS_COUNT && recording.text(row.instance) == "udp 8125"
        };
        let rows: Vec<(i64, f64)> =
            recording.counters.rows().filter(of_port).map(|row| (row.time_ns, row.value)).collect();
        let rises = rows.windows(2).filter(|two| two[1].0 - two[0].0 == 100_000_000).map(|two| two[1].1 - two[0].1);
        let in_burst = rises.filter(|rise| *rise > 100.0).count();
        assert!((3..=6).contains(&in_burst), "{name}: {in_burst}");
    }
}

/// A new file, as `tcpdump -C` and `-G` begin them, may begin within a step.
#[test]
fn files_one_after_the_other_count_each_packet_once() {
    let frames = frames(&testdata("loopback.pcap.gz"));
    let is_later = |at: &usize| (frames[*at].0, frames[*at].1) > (frames[*at - 1].0, frames[*at - 1].1);
    for part in 1..8 {
        let at = (frames.len() * part / 8..frames.len()).find(is_later).unwrap();
        let mut recording = load(&classic(&frames[..at], 1, false, false)).unwrap();
        recording.absorb(load(&classic(&frames[at..], 1, false, false)).unwrap());
        let of_port = |row: &fathom_evidence::tables::Counter| {
            recording.text(row.name) == counter::DATA_ARRIVALS_COUNT && recording.text(row.instance) == "udp 8125"
        };
        let mut rows: Vec<(i64, f64)> =
            recording.counters.rows().filter(of_port).map(|row| (row.time_ns, row.value)).collect();
        rows.sort_by_key(|row| row.0);
        let came: f64 = rows.windows(2).map(|two| (two[1].1 - two[0].1).max(0.0)).sum();
        assert_eq!(came, 1_520.0, "{part}");
    }
}

/// Seconds, the rest in ns, and the bytes.
type Frame = (u32, u32, Vec<u8>);

fn frames(classic: &[u8]) -> Vec<Frame> {
    let four = |at: usize| u32::from_le_bytes(classic[at..at + 4].try_into().unwrap());
    let (mut at, mut frames) = (24, Vec::new());
    while at < classic.len() {
        let kept = four(at + 8) as usize;
        frames.push((four(at), four(at + 4) * 1_000, classic[at + 16..at + 16 + kept].to_vec()));
        at += 16 + kept;
    }
    frames
}

fn classic(frames: &[Frame], link: u32, is_big: bool, is_fine: bool) -> Vec<u8> {
    let four = |value: u32| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
    let two = |value: u16| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
    let magic = four(if is_fine { 0xa1b2_3c4d } else { 0xa1b2_c3d4 });
    let mut file = [&magic[..], &two(2), &two(4), &[0; 8], &four(65_535), &four(link)].concat();
    for (seconds, ns, bytes) in frames {
        let fraction = if is_fine { *ns } else { ns / 1_000 };
        for word in [*seconds, fraction, bytes.len() as u32, bytes.len() as u32] {
            file.extend(four(word));
        }
        file.extend(bytes);
    }
    file
}

fn blocks(frames: &[Frame], link: u32, is_big: bool) -> Vec<u8> {
    let four = |value: u32| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
    let two = |value: u16| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
    let block = |kind: u32, body: &[u8]| {
        let size = four(body.len() as u32 + 12);
        [&four(kind)[..], &size, body, &size].concat()
    };
    let section = [&four(0x1a2b_3c4d)[..], &two(1), &two(0), &[0xff; 8]].concat();
    // Times in units of 2^-20 s, an hour before.
    let options = [&two(9)[..], &two(1), &[0x80 | 20, 0, 0, 0], &two(14), &two(8)].concat();
    let hour = if is_big { 3_600_i64.to_be_bytes() } else { 3_600_i64.to_le_bytes() };
    let interface = [&two(link as u16)[..], &two(0), &four(0), &options, &hour, &four(0)].concat();
    let mut file = [block(0x0a0d_0d0a, &section), block(1, &interface)].concat();
    for (seconds, ns, bytes) in frames {
        let units = (u64::from(seconds - 3_600) << 20) + (u64::from(*ns) << 20) / 1_000_000_000;
        let length = four(bytes.len() as u32);
        let head = [four(0), four((units >> 32) as u32), four(units as u32), length, length].concat();
        let padded = vec![0; bytes.len().next_multiple_of(4) - bytes.len()];
        file.extend(block(6, &[&head[..], bytes, &padded].concat()));
    }
    let drops =
        [&four(0)[..], &[0; 8], &two(5), &two(8), &if is_big { 7_u64.to_be_bytes() } else { 7_u64.to_le_bytes() }];
    file.extend(block(5, &drops.concat()));
    file
}

#[test]
fn files_of_all_kinds_say_the_same() {
    let frames = frames(&testdata("loopback.pcap.gz"));
    let expected = said(&load(&classic(&frames, 1, false, false)).unwrap());
    assert_eq!(expected.0.len(), 50);
    for (is_big, is_fine) in [(false, true), (true, false), (true, true)] {
        assert_eq!(said(&load(&classic(&frames, 1, is_big, is_fine)).unwrap()), expected, "{is_big} {is_fine}");
    }
    for is_big in [false, true] {
        let recording = load(&blocks(&frames, 1, is_big)).unwrap();
        let found = said(&recording);
        assert_eq!((found.0.len(), &found.1), (50, &expected.1), "{is_big}");
        let apart = found.0.iter().zip(&expected.0).map(|(one, other)| (one.0 - other.0).abs()).max();
        assert!(apart <= Some(2), "{apart:?} µs");
        assert_eq!((losses(&recording), recording.losses.count[0]), (vec![loss::EVENTS_LOST], 7));
    }
}

#[test]
fn links_of_all_kinds_say_the_same() {
    let frames = frames(&testdata("loopback.pcap.gz"));
    let expected = said(&load(&classic(&frames, 1, false, false)).unwrap());
    let network = |frame: &Frame| frame.2[12..14].to_vec();
    let is_6 = |frame: &Frame| network(frame) == [0x86, 0xdd];
    let behind = |head: &dyn Fn(&Frame) -> Vec<u8>| -> Vec<Frame> {
        frames.iter().map(|frame| (frame.0, frame.1, [head(frame), frame.2[14..].to_vec()].concat())).collect()
    };
    let vlan = |frame: &Frame| [&[0; 12][..], &[0x81, 0, 0, 7], &network(frame)].concat();
    let family = |frame: &Frame| vec![if is_6(frame) { 10 } else { 2 }, 0, 0, 0];
    let of_network = |frame: &Frame| vec![0, 0, 0, if is_6(frame) { 24 } else { 2 }];
    let cooked = |frame: &Frame| [&[0, 3, 3, 4, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0][..], &network(frame)].concat();
    let cooked_2 = |frame: &Frame| [&network(frame)[..], &[0, 0, 0, 0, 0, 1, 3, 4, 3, 6], &[0; 8]].concat();
    for (link, frames) in [
        (1, behind(&vlan)),
        (0, behind(&family)),
        (108, behind(&of_network)),
        (101, behind(&|_| Vec::new())),
        (113, behind(&cooked)),
        (276, behind(&cooked_2)),
    ] {
        assert_eq!(said(&load(&classic(&frames, link, false, false)).unwrap()), expected, "{link}");
    }
}

/// A segment of TCP in IPv4 without a link, from one host and port to others.
fn segment(from: (u8, u16), to: (u8, u16), (seq, ack, flags): (u32, u32, u8), length: u16) -> Vec<u8> {
    let ip = [&[0x45, 0][..], &(40 + length).to_be_bytes(), &[0, 0, 0x40, 0, 64, 6, 0, 0]].concat();
    let hosts = [10, 0, 0, from.0, 10, 0, 0, to.0];
    let ports = [from.1.to_be_bytes(), to.1.to_be_bytes()].concat();
    let numbers = [seq.to_be_bytes(), ack.to_be_bytes()].concat();
    [&ip[..], &hosts, &ports, &numbers, &[0x50, flags, 1, 0, 0, 0, 0, 0]].concat()
}

#[test]
fn what_is_missing_is_a_loss() {
    const SYN: u8 = 2;
    const ACK: u8 = 16;
    let at = |number: u32, bytes: Vec<u8>| -> Frame { (1_795_000_000, number * 1_000, bytes) };
    // Two clients, so that it is clear who serves; the answer to the first question is not there.
    let missed = [
        at(0, segment((2, 40_000), (1, 80), (0, 0, SYN), 0)),
        at(1, segment((3, 40_000), (1, 80), (0, 0, SYN), 0)),
        at(2, segment((2, 40_000), (1, 80), (1, 1, ACK), 10)),
        at(3, segment((1, 80), (2, 40_000), (1, 11, ACK), 0)),
        at(4, segment((2, 40_000), (1, 80), (11, 501, ACK), 10)),
        at(5, segment((1, 80), (2, 40_000), (501, 21, ACK), 10)),
    ];
    let recording = load(&classic(&missed, 101, false, false)).unwrap();
    assert_eq!((losses(&recording), requests(&recording).len()), (vec![loss::EVENTS_LOST], 1));
    // More connections than are followed.
    let client = |number: u32| ((number % 9) as u8 + 2, (number / 9) as u16 + 1_024);
    let many: Vec<Frame> =
        (0..66_000).map(|number| at(number, segment(client(number), (1, 80), (0, 0, SYN), 0))).collect();
    assert_eq!(losses(&load(&classic(&many, 101, false, false)).unwrap()), [loss::LIMIT]);
    // A file that was cut.
    let cut = classic(&missed, 101, false, false);
    assert!(losses(&load(&cut[..cut.len() - 1]).unwrap()).contains(&loss::TRUNCATED));
}

#[test]
fn what_cannot_be_used_is_refused_in_one_line() {
    let strangers: Vec<Frame> = (0..9)
        .map(|host| (1_795_000_000, host, segment((host as u8 * 2, 1), (host as u8 * 2 + 1, 2), (0, 0, 16), 0)))
        .collect();
    let at_1970: Vec<Frame> = strangers.iter().map(|frame| (9, 0, frame.2.clone())).collect();
    let cut: Vec<Frame> = strangers.iter().map(|frame| (frame.0, 0, frame.2[..30].to_vec())).collect();
    for (file, says) in [
        (classic(&[], 1, false, false), "without packets of TCP or UDP"),
        (classic(&strangers, 147, false, false), "headers are not known"),
        (classic(&strangers, 101, false, false), "of which none is in all"),
        (classic(&at_1970, 101, false, false), "without possible times"),
        (classic(&cut, 101, false, false), "cut within their headers"),
    ] {
        let error = load(&file).unwrap_err().to_string();
        assert!(error.contains(says) && error.contains("tcpdump -i any") && !error.contains('\n'), "{error}");
    }
}
