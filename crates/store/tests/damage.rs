//! Missing parts of a recording are reported: cut off, damaged, of another recording.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use fathom_evidence::kinds::{loss, recorded, subject};
use fathom_evidence::{Recording, Table as _};
use fathom_store::{Finishing, FolderWriter, State};

const TABLES: [&str; 10] =
    ["facts", "samples", "spans", "counters", "logs", "losses", "clocks", "threads", "frames", "stacks"];

fn recording() -> Recording {
    let mut recording = Recording::default();
    recording.add_fact(subject::JVM, "version", "25.0.3", "test");
    recording.add_thread(41, "main");
    let frame = fathom_evidence::Frame { symbol: recording.strings.intern("work"), ..Default::default() };
    let frame = recording.stacks.intern_frame(frame);
    let stack_id = recording.stacks.intern_from_root([frame]);
    for time_ns in 0..40 {
        recording.add_counter(time_ns, "heap_used_bytes", "after_gc", time_ns as f64, "test");
        recording.add_span(time_ns, 5, 41, "compilation", &format!("a.B.c{time_ns}"), "", "test");
        recording.samples.push(fathom_evidence::tables::Sample { time_ns, stack_id, ..Default::default() });
    }
    recording.add_log(7, "gc.log", "info", "not_understood", "a line");
    recording.add_loss("test", loss::REFUSED, 0, "no rights");
    recording
}

/// Enough for the metadata of a stream; what is behind is numbers and texts.
const FLIPPED_BYTES: usize = 1_500;

/// What is said of the folder itself.
fn told(folder: &Path) -> Vec<(String, String)> {
    let recording = fathom_store::open(folder).unwrap();
    let own = recording.losses.rows().filter(|row| recording.text(row.source) == "recording");
    own.map(|row| (recording.text(row.kind).to_owned(), recording.text(row.says).to_owned())).collect()
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("a.fathom")
    }

    fn finished(&self) -> PathBuf {
        fathom_store::write(&self.path(), &recording()).unwrap();
        self.path()
    }

    /// Of a recorder that was killed after two writes.
    fn cut_off(&self) -> PathBuf {
        let mut writer = FolderWriter::create(&self.path()).unwrap();
        let mut growing = recording();
        writer.flush(&mut growing).unwrap();
        growing.absorb(recording());
        writer.flush(&mut growing).unwrap();
        self.path()
    }
}

/// Asks about the folder with one file changed, and puts it back.
fn with(file: &Path, changed: &[u8], ask: impl FnOnce()) {
    let before = fs::read(file).unwrap();
    fs::write(file, changed).unwrap();
    ask();
    fs::write(file, before).unwrap();
}

#[test]
fn a_recording_has_a_state_from_its_first_instant() {
    let place = Place::new();
    let path = place.path();
    let mut writer = FolderWriter::create(&path).unwrap();
    assert_eq!(fathom_store::state(&path), State::Running);
    assert_eq!(told(&path)[0].0, loss::CUT_OFF, "readable, and nobody takes it for all");
    let mut growing = recording();
    let outstanding = format!("{}recording.jfr", recorded::OUTSTANDING);
    growing.add_fact(subject::RECORDING, &outstanding, "events are missing", "jfr");
    writer.flush(&mut growing).unwrap();
    drop(writer);
    assert_eq!(fathom_store::state(&path), State::CutOff);
    let kinds_and_words = told(&path);
    assert_eq!(kinds_and_words.len(), 2, "{kinds_and_words:?}");
    assert!(kinds_and_words[0].1.contains("fathom import a.fathom"), "{kinds_and_words:?}");
    assert_eq!(kinds_and_words[1], (loss::CUT_OFF.to_owned(), "events are missing".to_owned()));
    fs::create_dir(path.join("raw")).unwrap();
    fs::write(path.join("raw/recording.jfr"), "FLR").unwrap();
    assert_eq!(told(&path).len(), 1, "it was fetched");
    Finishing::begin(&path).unwrap().end().unwrap();
    assert_eq!(fathom_store::state(&path), State::Finished);
    let still = told(&path);
    assert!(still.len() == 1 && still[0].0 == loss::CUT_OFF && !still[0].1.contains("import"), "{still:?}");
    assert!(!path.join("journal").exists());
}

#[test]
fn a_recording_that_ended_is_not_cut_off_while_it_is_finished() {
    let place = Place::new();
    let mut writer = FolderWriter::create(&place.path()).unwrap();
    let mut growing = recording();
    growing.add_fact(subject::RECORDING, recorded::ENDED_BECAUSE, "interrupted", "fathom");
    writer.flush(&mut growing).unwrap();
    drop(writer);
    assert_eq!(told(&place.path()), []);
    let finishing = Finishing::begin(&place.path()).unwrap();
    assert_eq!(fathom_store::state(&place.path()), State::Running);
    finishing.end().unwrap();
    assert_eq!(told(&place.path()), []);
}

/// Two that finish one recording would take each other's tables for their own, and remove the streams.
#[test]
fn a_recording_is_finished_by_one_at_a_time() {
    for has_journal in [true, false] {
        let place = Place::new();
        let path = place.cut_off();
        if !has_journal {
            fs::remove_file(path.join("journal")).unwrap();
        }
        let files = || -> Vec<(PathBuf, Vec<u8>)> {
            let paths = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
            let mut files: Vec<_> = paths.map(|file| (file.clone(), fs::read(&file).unwrap())).collect();
            files.sort();
            files
        };
        let first = Finishing::begin(&path).unwrap();
        let before = files();
        assert!(Finishing::begin(&path).err().unwrap().to_string().contains("in use"));
        assert!(files() == before, "nothing was touched");
        first.end().unwrap();
        let before = files();
        assert!(Finishing::begin(&path).err().unwrap().to_string().contains("finished already"));
        assert!(files() == before, "nothing was touched");
        assert_eq!(fathom_store::open(&path).unwrap().counters.len(), 80);
    }
}

/// A pipe in place of a file would let its reader wait for good.
#[test]
fn pipes_in_a_folder_are_not_waited_for() {
    let names = ["manifest.json", "journal", "spans.parquet", "spans.arrows", "facts.parquet", "facts.arrows"];
    for name in names {
        for is_finished in [true, false] {
            let place = Place::new();
            let path = if is_finished { place.finished() } else { place.cut_off() };
            let _ = fs::remove_file(path.join(name));
            rustix::fs::mkfifoat(rustix::fs::CWD, path.join(name), rustix::fs::Mode::RWXU).unwrap();
            fathom_store::state(&path);
            fathom_store::open(&path).unwrap();
            // What becomes of it makes no difference, but that something does.
            let _ = Finishing::begin(&path).and_then(Finishing::end);
        }
    }
}

/// A process that asks for the state of a recording has its lock for an instant.
#[test]
fn a_look_at_a_recording_keeps_nobody_from_finishing_it() {
    let place = Place::new();
    let path = place.cut_off();
    let looks = fs::File::open(path.join("journal")).unwrap();
    looks.lock_shared().unwrap();
    let finishes = std::thread::spawn({
        let path = path.clone();
        move || Finishing::begin(&path).map(drop)
    });
    drop(looks);
    finishes.join().unwrap().unwrap();
}

/// The tables of an interrupted finishing do not count, however far it came: the streams are whole until the last moment.
#[test]
fn finishing_that_was_interrupted_begins_again() {
    let place = Place::new();
    let path = place.cut_off();
    for table in TABLES {
        fs::write(path.join(format!("{table}.parquet")), "half of it").unwrap();
    }
    assert_eq!(fathom_store::open(&path).unwrap().counters.len(), 80);
    let finished = Finishing::begin(&path).unwrap().end().unwrap();
    assert_eq!((finished.rows.counters, finished.rows.samples, finished.rows.spans), (80, 80, 80));
    assert_eq!(fathom_store::open(&path).unwrap().spans.len(), 80);
}

#[test]
fn tables_of_a_finished_recording_that_are_gone_or_of_another_are_told() {
    let (place, other) = (Place::new(), Place::new());
    let path = place.finished();
    assert_eq!(told(&path), []);
    let mut strange = recording();
    strange.add_counter(1, "cpu", "", 1.0, "test");
    strange.absorb(recording());
    fathom_store::write(&other.path(), &strange).unwrap();
    for table in TABLES {
        let file = path.join(format!("{table}.parquet"));
        let aside = path.join("aside");
        fs::rename(&file, &aside).unwrap();
        assert!(is_missing(&path, table), "{table} gone");
        fs::rename(&aside, &file).unwrap();
        let foreign = fs::read(other.path().join(format!("{table}.parquet"))).unwrap();
        if foreign != fs::read(&file).unwrap() {
            with(&file, &foreign, || assert!(is_missing(&path, table), "{table} of another"));
        }
    }
    fs::remove_file(path.join("manifest.json")).unwrap();
    fs::remove_file(path.join("spans.parquet")).unwrap();
    assert!(is_missing(&path, "spans"), "without a manifest");
    let says_of_manifest =
        |path: &Path| told(path).iter().any(|(kind, says)| kind == loss::MISSING && says.starts_with("manifest.json"));
    assert!(says_of_manifest(&path), "an edited table is not found without it");
    fs::write(path.join("manifest.json"), "{").unwrap();
    assert!(says_of_manifest(&path), "one that is damaged");
}

fn is_missing(folder: &Path, table: &str) -> bool {
    let starts = format!("table {table} ");
    told(folder).iter().any(|(kind, says)| kind == loss::MISSING && says.starts_with(&starts))
}

#[test]
fn finished_tables_that_are_cut_zeroed_or_changed_anywhere_are_told() {
    let place = Place::new();
    let path = place.finished();
    for table in ["spans", "samples", "facts", "stacks"] {
        let file = path.join(format!("{table}.parquet"));
        let whole = fs::read(&file).unwrap();
        for at in (0..whole.len()).step_by(13) {
            let mut zeroed = whole.clone();
            zeroed[at..].fill(0);
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            for (how, changed) in [("cut", &whole[..at]), ("zeroed", &zeroed), ("flipped", &flipped)] {
                if changed != whole {
                    with(&file, changed, || assert!(is_missing(&path, table), "{table} {how} at {at}"));
                }
            }
        }
    }
}

#[test]
fn streams_that_are_zeroed_or_changed_anywhere_are_told() {
    let place = Place::new();
    let path = place.cut_off();
    for table in ["counters", "spans"] {
        let file = path.join(format!("{table}.arrows"));
        let whole = fs::read(&file).unwrap();
        for at in (0..whole.len()).step_by(23) {
            let mut zeroed = whole.clone();
            zeroed[at..].fill(0);
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            for (how, changed) in [("zeroed", &zeroed), ("flipped", &flipped)] {
                if *changed != whole {
                    with(&file, changed, || assert!(is_missing(&path, table), "{table} {how} at {at}"));
                }
            }
        }
        let journal = path.join("journal");
        let noted = fs::read(&journal).unwrap();
        with(&journal, &noted[..noted.len() / 2], || assert!(!told(&path).is_empty(), "half a journal"));
    }
}

/// Rows that are all alike take a few bytes in a file and all of them in memory.
#[test]
fn a_file_of_more_rows_than_it_can_hold_is_not_read() {
    let place = Place::new();
    let mut bomb = Recording::default();
    for _ in 0..3_000_000 {
        bomb.counters.push(fathom_evidence::tables::Counter::default());
    }
    fathom_store::write(&place.path(), &bomb).unwrap();
    assert!(fs::metadata(place.path().join("counters.parquet")).unwrap().len() < 100_000);
    assert_eq!(fathom_store::open(&place.path()).unwrap().counters.len(), 0);
    assert!(is_missing(&place.path(), "counters"));
}

/// Long texts that are nearly alike are packed to a thousandth.
#[test]
fn a_file_of_more_text_than_it_can_hold_is_not_read() {
    let place = Place::new();
    let mut bomb = Recording::default();
    for at in 0..8_000 {
        bomb.add_span(at, 1, 7, "park", &format!("{}{at}", "a".repeat(20_000)), "", "jfr");
    }
    fathom_store::write(&place.path(), &bomb).unwrap();
    assert!(fs::metadata(place.path().join("spans.parquet")).unwrap().len() < 1_000_000);
    assert_eq!(fathom_store::open(&place.path()).unwrap().spans.len(), 0);
    assert!(is_missing(&place.path(), "spans"));
}

/// Recordings of before there was a journal: their streams are only checked for sense, and nothing panics.
#[test]
fn streams_without_a_journal_may_be_any_bytes() {
    let place = Place::new();
    let path = place.cut_off();
    fs::remove_file(path.join("journal")).unwrap();
    assert_eq!(fathom_store::open(&path).unwrap().spans.len(), 80);
    assert_eq!(told(&path)[0].0, loss::CUT_OFF);
    for table in ["spans", "facts"] {
        let file = path.join(format!("{table}.arrows"));
        let whole = fs::read(&file).unwrap();
        for at in 0..whole.len().min(FLIPPED_BYTES) {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            with(&file, &flipped, || drop(fathom_store::open(&path).unwrap()));
        }
    }
}
