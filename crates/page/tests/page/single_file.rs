//! The page as one file holds what the server would answer, and no name in it is markup.

use std::collections::HashMap;
use std::io::Read;

use arrow_array::types::{Float32Type, Int32Type, Int64Type, UInt8Type, UInt32Type};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fathom_evidence::Recording;
use fathom_evidence::kinds::span;
use fathom_page::{About, Loaded, single_file};
use flate2::read::GzDecoder;

use crate::hostile;
use crate::world::{Table, json, load, near, recordings, table};

const OPEN: &str = r#"<script type="application/octet-stream" id="fathom-data">"#;

/// What is in the data element.
struct Pack {
    header: serde_json::Value,
    parts: HashMap<String, Table>,
}

fn data(html: &str) -> &str {
    let begin = html.find(OPEN).unwrap() + OPEN.len();
    &html[begin..begin + html[begin..].find("</script>").unwrap()]
}

fn unpack(html: &[u8]) -> Pack {
    let packed = STANDARD.decode(data(std::str::from_utf8(html).unwrap())).unwrap();
    let mut bytes = Vec::new();
    GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).unwrap();
    let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
    let body = &bytes[4 + length..];
    let part = |part: &serde_json::Value| {
        let number = |name: &str| part[name].as_u64().unwrap() as usize;
        let range = number("offset")..number("offset") + number("length");
        (part["name"].as_str().unwrap().to_owned(), Table::of(&body[range]))
    };
    let parts = header["parts"].as_array().unwrap().iter().map(part).collect();
    Pack { header, parts }
}

#[test]
fn the_file_holds_what_the_server_answers() {
    for (name, recording) in recordings() {
        let page = load(&recording);
        let pack = unpack(&single_file::html(&page).unwrap());
        assert_eq!(pack.header["overview"], json(&page, "overview"), "{name}: small recordings are not thinned");
        let (samples, stacks) = (&pack.parts["samples"], &pack.parts["stacks"]);
        assert_eq!(samples.len(), recording.samples.time_ns.len() + beside_samples(&pack), "{name}");
        let parents = stacks.numbers::<Int32Type>("parent");
        assert!(parents.iter().enumerate().all(|(row, parent)| (*parent as i64) < row as i64), "{name}");
        assert_eq!(parents[0], -1, "{name}");
        let frames = pack.parts["frames"].len() as u32;
        assert!(stacks.numbers::<UInt32Type>("frame").iter().all(|frame| *frame < frames), "{name}");
        check_flame(&pack, &page, &name);
        let spans = &pack.parts["spans"];
        assert_eq!(spans.len(), spans.note("total") as usize, "{name}");
        for lane in pack.header["overview"]["lanes"].as_array().unwrap() {
            for instance in lane["instances"].as_array().unwrap() {
                let (id, instance) = (lane["id"].as_str().unwrap(), instance.as_str().unwrap());
                let of_numbers = format!("counter/{id}/{instance}");
                let part = if lane["kind"] == "latency" { format!("latency/{instance}") } else { of_numbers };
                assert!(pack.parts[&part].len() > 0, "{name} {part}");
            }
        }
    }
}

/// Rows of what has stacks and is no sample: spans and waits.
fn beside_samples(pack: &Pack) -> usize {
    let events = pack.header["overview"]["events"].as_array().unwrap();
    let others = events.iter().filter(|event| event["id"].as_str().unwrap().contains('/'));
    others.map(|event| event["samples"].as_u64().unwrap() as usize).sum()
}

/// Samples of the file under each name, against the frames that the server tells.
fn check_flame(pack: &Pack, page: &Loaded, name: &str) {
    let (samples, stacks) = (&pack.parts["samples"], &pack.parts["stacks"]);
    let names = pack.parts["frames"].texts("name");
    let (frames, rows) = (stacks.numbers::<UInt32Type>("frame"), samples.numbers::<UInt32Type>("stack"));
    let (events, weights) = (samples.numbers::<UInt8Type>("event"), samples.numbers::<Float32Type>("weight"));
    let extent = &pack.header["overview"]["extent"];
    let range = format!("from={}&to={}", extent["from"], extent["to"].as_i64().unwrap() + 1);
    for (number, event) in pack.header["overview"]["events"].as_array().unwrap().iter().enumerate() {
        let mut own: HashMap<&str, f64> = HashMap::new();
        for (row, _) in events.iter().enumerate().filter(|(_, event)| usize::from(**event) == number) {
            let stack = rows[row] as usize;
            if stack > 0 {
                *own.entry(&names[frames[stack] as usize]).or_default() += f64::from(weights[row]);
            }
        }
        let served = table(page, &format!("frames?event={}&limit=10000&{range}", event["id"].as_str().unwrap()));
        let mut expected: HashMap<String, f64> = HashMap::new();
        for (frame, own) in served.texts("name").into_iter().zip(served.floats("self")) {
            *expected.entry(frame).or_default() += own;
        }
        expected.retain(|_, own| *own > 0.0);
        assert_eq!(own.len(), expected.len(), "{name} {event}");
        assert!(expected.iter().all(|(frame, sum)| near(own[frame.as_str()], *sum, 1e-5)), "{name} {event}");
    }
}

#[test]
fn no_name_ends_the_data_or_becomes_markup() {
    let html = single_file::html(&load(&hostile::recording())).unwrap();
    let text = std::str::from_utf8(&html).unwrap();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    assert!(data(text).bytes().all(allowed));
    let plain =
        std::str::from_utf8(&single_file::html(&load(&Default::default())).unwrap()).unwrap().replace(' ', "").len();
    assert!(plain > 0 && !text.contains("onerror=alert") && text.matches(OPEN).count() == 1);
    let pack = unpack(&html);
    let frames = pack.parts["frames"].texts("name");
    assert!(hostile::names().iter().all(|name| frames.contains(name)));
}

#[test]
fn what_does_not_fit_is_thinned_and_said() {
    let mut recording = crate::world::recording("jfr/ap_everything.jfr");
    let rows = recording.samples.clone();
    let mut noise = 1_u64;
    for round in 0..400_i64 {
        for mut sample in rows.rows() {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            sample.time_ns += round * 1_000_000 + (noise >> 44) as i64;
            recording.samples.push(sample);
        }
    }
    let samples = recording.samples.time_ns.len();
    let page = Loaded::new(recording, About::default());
    let html = single_file::html_within(&page, 1 << 20).unwrap();
    let pack = unpack(&html);
    let every = pack.header["overview"]["thinned"].as_u64().unwrap() as usize;
    assert!(every > 1 && data(std::str::from_utf8(&html).unwrap()).len() <= 1 << 20, "{every}");
    // Of each event one more may be kept.
    let (kept, all) = (pack.parts["samples"].len(), samples + beside_samples(&pack));
    assert!(kept >= all / every && kept < all / every + 30, "{kept} of {all}");
    let weight: f64 = pack.parts["samples"].numbers::<Float32Type>("weight").into_iter().map(f64::from).sum();
    assert!(weight > 0.0 && pack.parts["samples"].note("thinned") as usize == every);
}

#[test]
fn spans_that_do_not_fit_are_counted() {
    let mut recording = crate::world::recording("labs/code_cache_churn-sick-jdk17/recording.jfr.gz");
    let rows = recording.spans.clone();
    for round in 1..60_i64 {
        for mut span in rows.rows() {
            span.time_ns += round * 7_000_001;
            recording.spans.push(span);
        }
    }
    let page = Loaded::new(recording, About::default());
    let served = table(&page, "table?limit=20000");
    let pack = unpack(&single_file::html_within(&page, 1).unwrap());
    let (spans, density) = (&pack.parts["spans"], &pack.parts["span_density"]);
    let count = |table: &Table| table.numbers::<UInt32Type>("count").iter().map(|count| *count as usize).sum::<usize>();
    assert!(spans.len() <= 12_500 && count(density) > 1_000, "{} and {}", spans.len(), count(density));
    let in_file: i64 = spans.numbers::<Int64Type>("duration").iter().sum();
    let left: i64 = density.numbers::<Int64Type>("total_ns").iter().sum();
    assert!(near((in_file + left) as f64, spans.note("total_ns"), 1e-9));
    assert!(near(spans.note("total_ns"), served.note("total_ns"), 1e-9));
    let mut totals = (0, 0);
    for lane in pack.header["overview"]["lanes"].as_array().unwrap() {
        let number = |name: &str| lane[name].as_u64().unwrap() as usize;
        totals = (totals.0 + number("total"), totals.1 + number("held"));
        check_longest(&pack, lane);
    }
    assert_eq!(totals, (served.note("total") as usize, spans.len()));
    assert_eq!(totals.0, spans.len() + count(density));
}

/// Five requests of 2 ms on each of some ports.
fn with_ports(count: i64) -> Recording {
    let mut recording = Recording::default();
    for port in 0..count {
        for request in 0..5 {
            let begin = 1_700_000_000_000_000_000 + request * 700_000_000;
            let name = format!(":{}", 8_000 + port);
            recording.add_span(begin, 2_000_000, 100 + port, span::REQUEST, &name, "", "requests");
        }
    }
    recording
}

#[test]
fn a_port_that_is_listed_has_its_picture() {
    let recording = with_ports(12);
    let page = load(&recording);
    let pack = unpack(&single_file::html(&page).unwrap());
    let latency = |overview: &serde_json::Value| {
        overview["lanes"].as_array().unwrap().iter().find(|lane| lane["kind"] == "latency").unwrap().clone()
    };
    let (served, held) = (latency(&json(&page, "overview")), latency(&pack.header["overview"]));
    assert_eq!((served["instances"].as_array().unwrap().len(), held["instances"].as_array().unwrap().len()), (12, 8));
    assert_eq!((&served["instances_count"], &held["instances_count"]), (&12.into(), &12.into()));
    for port in held["instances"].as_array().unwrap() {
        let port = port.as_str().unwrap();
        let count = |table: &Table| table.numbers::<Float32Type>("count").iter().sum::<f32>();
        assert_eq!(count(&pack.parts[&format!("latency/{port}")]), 5.0);
    }
}

/// What is left out of a kind is no longer than anything of it that is there.
fn check_longest(pack: &Pack, lane: &serde_json::Value) {
    let [(spans, lengths), (density, longest)] = [("spans", "duration"), ("span_density", "longest_ns")]
        .map(|(part, column)| (pack.parts[part].texts("kind"), pack.parts[part].numbers::<Int64Type>(column)));
    let of = |kinds: &[String], values: &[i64]| -> Vec<i64> {
        kinds
            .iter()
            .zip(values)
            .filter(|(kind, _)| lane["kinds"][0] == kind.as_str())
            .map(|(_, value)| *value)
            .collect()
    };
    let shortest = of(&spans, &lengths).into_iter().min().unwrap_or(i64::MAX);
    assert!(of(&density, &longest).into_iter().all(|length| length <= shortest), "{lane}");
}
