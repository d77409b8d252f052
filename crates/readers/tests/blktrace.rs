//! Traces of the block layer: the numbers are those of btt, and damage never causes a panic.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use fathom_evidence::Table as _;
use fathom_evidence::detail::{BlockRequest, from_text};
use fathom_evidence::kinds::counter;
use fathom_readers::LoadOptions;
use fathom_readers::blktrace::{Stage, Table, table};
use proptest::prelude::*;

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/blktrace")
}

/// Stage, min, mean and max in ns, and how many, as btt printed them.
fn btt(name: &str) -> Vec<(String, [f64; 3], u64)> {
    let text = fs::read_to_string(testdata().join(name)).unwrap();
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [stage, min, mean, max, count] = words[..] else { return None };
        let ns = |text: &str| text.parse::<f64>().ok().map(|s| s * 1e9);
        Some((stage.to_owned(), [ns(min)?, ns(mean)?, ns(max)?], count.parse().ok()?))
    };
    text.lines().filter_map(row).collect()
}

fn stage<'a>(stages: &'a [Stage], name: &str) -> &'a Stage {
    stages.iter().find(|stage| stage.name == name).unwrap_or_else(|| panic!("no {name}"))
}

/// The stages of a group are those that btt printed, to a nanosecond.
fn is_as_btt(table: &Table, group: &str, told: &str) {
    let expected = btt(told);
    assert!(expected.len() >= 6, "{told}");
    let stages = &table.groups.iter().find(|known| known.name == group).unwrap().stages;
    for (name, [min, mean, max], count) in &expected {
        let found = stage(stages, name);
        let is_near = |ns: f64, wanted: &f64| (ns - wanted).abs() <= 1.0;
        assert_eq!(found.count, *count, "{told}: {name}");
        assert!(
            is_near(found.min_ns as f64, min) && is_near(found.mean_ns, mean) && is_near(found.max_ns as f64, max),
            "{told}: {name} {found:?}"
        );
        assert!((found.min_ns..=found.max_ns).contains(&found.p50_ns) && found.p50_ns <= found.p99_ns, "{found:?}");
    }
}

#[test]
fn stages_are_those_of_btt() {
    for (trace, told) in
        [("mq-deadline", "mq-deadline.btt.txt"), ("none", "none.btt.txt"), ("none.blktrace.0.gz", "none.btt.txt")]
    {
        let table = table(&testdata().join(trace)).unwrap();
        assert_eq!((table.version, table.files, table.missing.len()), (7, 2, 0), "{trace}: {:?}", table.missing);
        ["all", "device 7:0"].iter().for_each(|group| is_as_btt(&table, group, told));
    }
}

/// Beside a JVM the bios are the same, at the time of day that the trace has.
#[test]
fn a_trace_has_a_place_in_time() {
    let trace = ["placed.blktrace.0.gz", "placed.blktrace.1.gz"].map(|name| testdata().join(name));
    let text = [testdata().join("placed.txt.gz")];
    let reader = fathom_readers::reader("blktrace").unwrap();
    let whole = reader.load(&trace, &LoadOptions::default()).unwrap();
    assert!(whole.losses.is_empty());
    let refused = reader.load(&text, &LoadOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("--clock-offset FILE=") && !refused.contains('\n'), "{refused}");
    let clock_offsets = vec![(text[0].clone(), 0)];
    let of_text = reader.load(&text, &LoadOptions { clock_offsets, ..LoadOptions::default() }).unwrap();
    let began_ns = whole.spans.time_ns.iter().min().unwrap();
    assert!((1_795_944_303_849_698_426..1_795_944_304_005_854_000).contains(began_ns), "{began_ns}");
    let expected = table(&testdata().join("placed")).unwrap();
    for recording in [&whole, &of_text] {
        assert_eq!(recording.spans.len(), 640);
        for (stage, value) in [("Q2C", None), ("D2C", Some("d2c")), ("Q2G", Some("q2g")), ("I2D", Some("i2d"))] {
            let of_all = expected.groups[0].stages.iter().find(|known| known.name == stage).unwrap();
            let ns = |row: fathom_evidence::tables::Span| {
                let detail: BlockRequest = from_text(recording.text(row.detail));
                let stages = [("d2c", detail.d2c_ns), ("q2g", detail.q2g_ns), ("i2d", detail.i2d_ns)];
                value.map_or(Some(row.duration_ns), |value| stages.iter().find(|known| known.0 == value)?.1)
            };
            let all: Vec<i64> = recording.spans.rows().filter_map(ns).collect();
            let mean = all.iter().sum::<i64>() as f64 / all.len() as f64;
            assert_eq!(all.len() as u64, of_all.count, "{stage}");
            assert!((mean - of_all.mean_ns).abs() < 1.0, "{stage}: {mean} and not {}", of_all.mean_ns);
        }
        let count = |row: &fathom_evidence::tables::Counter| recording.text(row.name) == counter::BLOCK_REQUESTS_COUNT;
        let all: f64 = recording.counters.rows().filter(count).map(|row| row.value).fold(0.0, f64::max);
        assert!((300.0..=640.0).contains(&all), "{all}");
    }
}

/// Text has the same table, and names of processes.
#[test]
fn the_text_of_blkparse_has_the_same_stages() {
    let (whole, text) = (table(&testdata().join("placed")).unwrap(), table(&testdata().join("placed.txt.gz")).unwrap());
    assert_eq!(whole.groups[0].stages, text.groups[0].stages);
    assert_eq!((text.version, text.missing.len()), (0, 0), "{:?}", text.missing);
}

/// What btt prints of one device it printed for the events of that alone.
#[test]
fn stages_of_several_devices_are_those_of_btt() {
    let table = table(&testdata().join("devices")).unwrap();
    assert!(table.missing.is_empty(), "{:?}", table.missing);
    is_as_btt(&table, "all", "devices.btt.txt");
    is_as_btt(&table, "device 7:0", "devices-7-0.btt.txt");
    is_as_btt(&table, "device 7:1", "devices-7-1.btt.txt");
}

#[test]
fn stages_of_files_that_are_cut_off_are_those_of_btt() {
    let scratch = tempfile::tempdir().unwrap();
    for (cpu, length) in [(0, 200_001), (1, 120_005)] {
        let packed = fs::File::open(testdata().join(format!("devices.blktrace.{cpu}.gz"))).unwrap();
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(packed).take(length).read_to_end(&mut bytes).unwrap();
        fs::write(scratch.path().join(format!("x.blktrace.{cpu}")), bytes).unwrap();
    }
    let table = table(&scratch.path().join("x")).unwrap();
    assert!(table.missing.iter().any(|says| says.contains("bios have no completion")), "{:?}", table.missing);
    is_as_btt(&table, "all", "devices-cut.btt.txt");
}

/// btt prints no stages at all then.
#[test]
fn a_cpu_whose_file_is_missing_is_told() {
    let scratch = tempfile::tempdir().unwrap();
    fs::copy(testdata().join("none.blktrace.1.gz"), scratch.path().join("x.blktrace.1")).unwrap();
    fs::write(scratch.path().join("x.blktrace.0"), "").unwrap();
    let table = table(&scratch.path().join("x")).unwrap();
    assert!(table.missing.iter().any(|says| says.contains("x.blktrace.0 is empty")), "{:?}", table.missing);
    assert!(table.groups[0].stages.iter().any(|stage| stage.name == "D2C"));
}

fn bytes() -> Vec<u8> {
    let packed = fs::read(testdata().join("mq-deadline.blktrace.0.gz")).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).take(20_000).read_to_end(&mut bytes).unwrap();
    bytes
}

/// The same events as a machine with the other byte order writes them, and in version 8.
fn rewritten(bytes: &[u8], is_big: bool, version: u8) -> Vec<u8> {
    const FIELDS: &[(usize, usize)] =
        &[(0, 4), (4, 4), (8, 8), (16, 8), (24, 4), (28, 4), (32, 4), (36, 4), (40, 4), (44, 2), (46, 2)];
    let mut all = Vec::new();
    let mut rest = bytes;
    while rest.len() >= 48 {
        let length = usize::from(u16::from_le_bytes([rest[46], rest[47]]));
        let Some(more) = rest.get(48..48 + length) else { break };
        let mut fields: Vec<Vec<u8>> = FIELDS.iter().map(|(at, size)| rest[*at..at + size].to_vec()).collect();
        fields[0][0] = version;
        if version == 8 {
            // The process comes before the action, which has 64 bits, and blanks follow.
            let action = [fields[5].clone(), vec![0; 4]].concat();
            fields = [&fields[..5], &[fields[6].clone(), action], &fields[7..], &[vec![0; 12]]].concat();
        }
        if is_big {
            fields.iter_mut().for_each(|field| field.reverse());
        }
        all.extend(fields.concat());
        all.extend(more);
        rest = &rest[48 + length..];
    }
    all
}

#[test]
fn versions_and_byte_orders_give_the_same() {
    let scratch = tempfile::tempdir().unwrap();
    let of = |bytes: &[u8]| {
        let file = scratch.path().join("x");
        fs::write(&file, bytes).unwrap();
        let table = table(&file).unwrap();
        (table.events, table.groups)
    };
    let (whole, bytes) = (of(&bytes()), bytes());
    for (is_big, version) in [(false, 7), (true, 7), (false, 8), (true, 8)] {
        assert_eq!(of(&rewritten(&bytes, is_big, version)), whole, "{is_big} {version}");
    }
}

/// Reads the same trace as evidence.
fn beside_a_jvm(file: &Path) {
    let clock_offsets = vec![(file.to_owned(), 1)];
    let options = LoadOptions { clock_offsets, ..LoadOptions::default() };
    let _ = fathom_readers::reader("blktrace").unwrap().load(&[file.to_owned()], &options);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn cut_or_changed_anywhere(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("x");
        let mut bytes = bytes();
        let at = at.index(bytes.len());
        fs::write(&file, &bytes[..at]).unwrap();
        let _ = table(&file);
        beside_a_jvm(&file);
        bytes[at] = byte;
        fs::write(&file, &bytes).unwrap();
        prop_assert!(table(&file).is_ok());
        beside_a_jvm(&file);
    }
}
