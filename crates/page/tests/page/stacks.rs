//! Which stacks are selected, and why threads waited.

use std::collections::HashSet;

use arrow_array::types::{Float32Type, UInt16Type, UInt32Type};
use fathom_evidence::kinds::span;
use fathom_evidence::{Frame, Recording};
use fathom_page::Loaded;

use crate::world::{ask, json, load, near, recording, recordings, table};

const SECOND: i64 = 1_000_000_000;

/// Everything that has a time.
fn extent(page: &Loaded) -> String {
    let extent = &json(page, "overview")["extent"];
    format!("from={}&to={}", extent["from"], extent["to"].as_i64().unwrap() + 1)
}

fn heat(page: &Loaded, question: &str) -> f64 {
    let cells = table(page, &format!("heat?columns=40&{question}"));
    cells.numbers::<Float32Type>("value").into_iter().map(f64::from).sum()
}

#[test]
fn stacks_that_are_meant_have_the_weight_of_their_frames() {
    let page = load(&recording("jfr/ap_wall.jfr"));
    let time = extent(&page);
    let flame = table(&page, &format!("flame?min_share=0&{time}"));
    let (names, totals) = (flame.texts("name"), flame.floats("total"));
    let nodes = flame.numbers::<UInt32Type>("node");
    for row in [1, names.len() / 3, names.len() / 2, names.len() - 1] {
        let below = heat(&page, &format!("below={}&{time}", nodes[row]));
        assert!(near(below, totals[row], 1e-4), "{} {below} {}", names[row], totals[row]);
        let frame: String = form_urlencoded::byte_serialize(names[row].as_bytes()).collect();
        let callees = table(&page, &format!("sandwich?side=callees&frame={frame}&{time}")).floats("total")[0];
        let named = heat(&page, &format!("frame={frame}&{time}"));
        assert!(near(named, callees, 1e-4), "{} {named} {callees}", names[row]);
        assert!(heat(&page, &format!("find={frame}&{time}")) >= named * 0.999_99);
    }
    assert!(near(heat(&page, &format!("find=/./&{time}")), totals[0], 1e-4));
    assert!(near(heat(&page, &format!("below=0&{time}")), totals[0], 1e-4));
    assert_eq!(heat(&page, &format!("find=nobody+is+called+so&{time}")), 0.0);
    assert!(ask(&page, "heat?find=/(/").is_err() && ask(&page, "heat?below=99999999").is_err());
}

#[test]
fn frames_of_the_quiet_time_alone_are_nodes_as_well() {
    let page = load(&recording("jfr/ap_wall.jfr"));
    let extent = &json(&page, "overview")["extent"];
    let (from, to) = (extent["from"].as_i64().unwrap(), extent["to"].as_i64().unwrap() + 1);
    let middle = from + (to - from) / 2;
    let question = format!("flame?min_share=0&from={from}&to={middle}&baseline={middle}..{to}");
    let flame = table(&page, &question);
    let nodes = flame.numbers::<UInt32Type>("node");
    let (names, totals, baseline) = (flame.texts("name"), flame.floats("total"), flame.floats("base_total"));
    assert_eq!(nodes.iter().collect::<HashSet<_>>().len(), nodes.len());
    let alone: Vec<usize> = (1..nodes.len()).filter(|row| totals[*row] == 0.0).collect();
    assert!(!alone.is_empty());
    for row in alone.into_iter().take(20) {
        let below = table(&page, &format!("{question}&root={}", nodes[row]));
        assert_eq!((&below.texts("name")[0], below.floats("total")[0]), (&names[row], 0.0));
        assert!(near(below.floats("base_total")[0], baseline[row], 1e-9), "{}", names[row]);
    }
}

#[test]
fn why_threads_waited_has_all_that_they_waited_for() {
    let mut seen = 0;
    for (name, recording) in recordings() {
        let page = load(&recording);
        let time = extent(&page);
        let overview = json(&page, "overview");
        let events: Vec<&str> =
            overview["events"].as_array().unwrap().iter().map(|event| event["id"].as_str().unwrap()).collect();
        let total = |event: &str| table(&page, &format!("flame?event={event}&{time}")).note("total");
        let named = |event: &&&str| event.starts_with("waits/") && !["waits/why", "waits/unnamed"].contains(*event);
        if events.contains(&"waits/why") {
            let expected: f64 = events.iter().filter(named).map(|event| total(event)).sum();
            assert!(near(total("waits/why"), expected, 1e-9), "{name} {} {expected}", total("waits/why"));
            seen += 1;
        }
    }
    assert!(seen > 0);
}

/// A minute in which `main` waits for other threads to end, and `batch` for 5 s for one that it had started.
fn joining() -> Recording {
    let mut recording = Recording::default();
    let base = 1_700_000_000_000_000_000;
    let frames = ["java.lang.Thread.run", "java.lang.Thread.join", "java.lang.Object.wait"].map(|name| {
        let symbol = recording.strings.intern(name);
        recording.stacks.intern_frame(Frame { symbol, ..Frame::default() })
    });
    let stack_id = recording.stacks.intern_from_root(frames);
    for (tid, name, from_s, seconds) in [(1, "main", 0, 60), (2, "batch", 20, 5)] {
        recording.add_thread(tid, name);
        recording.add_span(
            base + from_s * SECOND,
            seconds * SECOND,
            tid,
            span::MONITOR_WAIT,
            "java.lang.Thread",
            "",
            "jfr",
        );
        let row = recording.spans.stack_id.len() - 1;
        recording.spans.stack_id[row] = stack_id;
    }
    recording
}

#[test]
fn who_only_waits_for_the_end_of_threads_is_not_among_the_waits() {
    let page = load(&joining());
    let time = extent(&page);
    for event in ["waits/task", "spans/monitor_wait"] {
        let seconds = table(&page, &format!("flame?event={event}&{time}")).note("total") / SECOND as f64;
        assert!(near(seconds, if event == "waits/task" { 5.0 } else { 65.0 }, 1e-9), "{event}: {seconds}");
    }
}

#[test]
fn who_had_the_lock_stands_above_who_waited_for_it() {
    let page = load(&recordings().into_iter().find(|(name, _)| name.contains("lock_contention")).unwrap().1);
    let flame = table(&page, &format!("flame?event=waits/why&{}", extent(&page)));
    let (depths, totals) = (flame.numbers::<UInt16Type>("depth"), flame.floats("total"));
    let (names, kinds) = (flame.texts("name"), flame.texts("kind"));
    let lock = names.iter().position(|name| name == "waiting for a lock: java.lang.Object").unwrap();
    assert_eq!((depths[lock], kinds[lock].as_str()), (1, "wait"));
    let below: Vec<usize> = (lock + 1..depths.len()).take_while(|row| depths[*row] > 1).collect();
    let holders: Vec<usize> =
        below.iter().copied().filter(|row| depths[*row] == 2 && kinds[*row] == "thread").collect();
    assert!(holders.len() >= 3 && holders.iter().all(|row| names[*row].starts_with("handler")), "{names:?}");
    let held: f64 = holders.iter().map(|row| totals[*row]).sum();
    assert!(held > 0.9 * totals[lock], "{held} of {}", totals[lock]);
    assert!(below.iter().any(|row| names[*row] == "java.lang.Thread.sleep"), "{names:?}");
}
