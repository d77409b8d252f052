//! What holds for every reader, checked with all real files of `testdata`: an empty file, a cut anywhere, noise, another name,
//! a line of any length, line ends of several systems, numbers and dates of other countries. A reader without a sample fails.

#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use fathom_evidence::Recording;
use fathom_evidence::kinds::loss;
use fathom_readers::{LoadError, LoadOptions, Reader, reader, readers, sniff};
use regex::bytes::Regex;

/// Samples of a reader that are looked at: of some there are many that are alike.
const SAMPLES: usize = 5;
/// The beginning of a sample that is looked at, in bytes.
const BEGINNING_BYTES: usize = 40_000;

/// Counts what is allocated: memory must not grow with a line.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is done by the system's allocator; what is added only counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        MOST.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller keeps what the trait asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, bytes: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(bytes, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test at a time, or the others' memory would count.
static ALONE: Mutex<()> = Mutex::new(());

/// A real file.
struct Sample {
    reader: &'static dyn Reader,
    name: String,
    bytes: Vec<u8>,
}

impl Sample {
    fn is_text(&self) -> bool {
        !self.bytes.contains(&0)
    }

    /// The sample with other bytes, in a file with a name.
    fn with<T>(&self, bytes: &[u8], name: &str, look: impl FnOnce(&Path) -> T) -> T {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        fs::write(&file, bytes).unwrap();
        look(&file)
    }

    fn load(&self, bytes: &[u8]) -> Result<Recording, LoadError> {
        self.with(bytes, "file", |file| load(self.reader, file))
    }
}

fn load(reader: &dyn Reader, file: &Path) -> Result<Recording, LoadError> {
    // Times that nothing else places.
    let clock_offsets = vec![(file.to_owned(), 1)];
    reader.load(
        &[file.to_owned()],
        &LoadOptions { started_at_ns: Some(1), clock_offsets, takes_untimed: true, ..LoadOptions::default() },
    )
}

fn testdata(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(path)
}

fn unpacked(file: &Path) -> Vec<u8> {
    let mut bytes = fs::read(file).unwrap();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let packed = std::mem::take(&mut bytes);
        flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
    }
    bytes
}

/// Where the samples of a reader are: a folder of its name, but for latencies.
fn folder(name: &str) -> &str {
    if name == "latency" { "by_hand/lock" } else { name }
}

/// Some files of a reader, as far as they are recognised by their content.
fn samples_of(reader: &'static dyn Reader) -> Vec<Sample> {
    let entries = fs::read_dir(testdata(folder(reader.name()))).unwrap().map(|entry| entry.unwrap().path());
    let is_own = |file: &PathBuf| file.is_file() && sniff(file).is_ok_and(|found| found.name() == reader.name());
    let mut files: Vec<PathBuf> = entries.filter(is_own).collect();
    files.sort();
    let step = files.len().div_ceil(SAMPLES).max(1);
    let sample = |file: &PathBuf| {
        let mut bytes = unpacked(file);
        bytes.truncate(BEGINNING_BYTES);
        Sample { reader, name: format!("{} {}", reader.name(), file.file_name().unwrap().display()), bytes }
    };
    files.iter().step_by(step).map(sample).collect()
}

/// Checks all samples and says of which ones something does not hold.
fn check(holds: impl Fn(&Sample) -> Result<(), String>) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut wrong = Vec::new();
    for reader in readers() {
        let samples = samples_of(*reader);
        assert!(!samples.is_empty(), "no sample of {} in testdata", reader.name());
        for sample in samples {
            wrong.extend(holds(&sample).err().map(|says| format!("{}: {says}", sample.name)));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A result is clear if it is a recording with sound numbers, or a line that says what to do.
fn is_clear(result: &Result<Recording, LoadError>) -> Result<(), String> {
    match result {
        Err(error) if error.to_string().contains('\n') => Err(format!("an error of several lines: {error}")),
        Err(_) => Ok(()),
        Ok(recording) if recording.counters.rows().any(|row| !row.value.is_finite()) => Err("no number".to_owned()),
        Ok(recording) if recording.losses.rows().any(|row| recording.text(row.says).is_empty()) => {
            Err("a loss that says nothing".to_owned())
        }
        Ok(_) => Ok(()),
    }
}

/// Random bytes that are the same each time.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn nothing_is_empty() {
    check(|sample| {
        let found = sample.with(b"", "file", |file| sniff(file).map(Reader::name));
        if !matches!(found, Err(LoadError::Empty(_))) {
            return Err(format!("an empty file is {found:?}"));
        }
        is_clear(&sample.load(b""))
    });
}

#[test]
fn another_name_is_the_same_file() {
    check(|sample| {
        let whole = sample.with(&sample.bytes, "file", |file| sniff(file).map(Reader::name).ok());
        for name in ["a.jfr", "a.log", "a.csv", "a.pcap", "gc.log.1", "perf.data", "a.txt"] {
            let found = sample.with(&sample.bytes, name, |file| sniff(file).map(Reader::name).ok());
            if found != whole {
                return Err(format!("as {name} it is {found:?} and not {whole:?}"));
            }
        }
        Ok(())
    });
}

#[test]
fn cut_anywhere() {
    const CUTS: usize = 12;
    check(|sample| {
        let length = sample.bytes.len();
        let places = (0..CUTS).map(|nth| nth * length / CUTS).chain([1, 7, length - 1]);
        places.into_iter().try_for_each(|at| is_clear(&sample.load(&sample.bytes[..at.min(length)])))
    });
}

#[test]
fn noise_is_nothing() {
    check(|sample| {
        let noise = noise(sample.bytes.len());
        if let Ok(found) = sample.with(&noise, "file", |file| sniff(file).map(Reader::name)) {
            return Err(format!("noise is {found}"));
        }
        is_clear(&sample.load(&noise))?;
        // Behind a beginning that is recognised.
        let kept = sample.bytes.len().min(64);
        is_clear(&sample.load(&[&sample.bytes[..kept], &noise[kept..]].concat()))
    });
}

/// A line that is nothing but one byte, of any length: zeros are a hole in a file, and others are packed.
#[derive(Debug, Clone, Copy)]
struct LongLine {
    byte: u8,
    length: u64,
}

impl LongLine {
    /// A file of `before` and the line.
    fn write(self, before: &[u8], file: &Path) {
        let mut out = File::create(file).unwrap();
        if self.byte == 0 {
            out.write_all(before).unwrap();
            return out.set_len(before.len() as u64 + self.length).unwrap();
        }
        let pack = |bytes: &[u8]| {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            packer.write_all(bytes).unwrap();
            packer.finish().unwrap()
        };
        let piece = pack(&vec![self.byte; MIB as usize]);
        out.write_all(&pack(before)).unwrap();
        (0..self.length / MIB).for_each(|_| out.write_all(&piece).unwrap());
    }
}

const MIB: u64 = 1 << 20;

/// The most that is allocated while a file with such a line is read.
fn memory(before: &[u8], line: LongLine, read: &dyn Fn(&Path)) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    line.write(before, &file);
    let already = NOW.load(Relaxed);
    MOST.store(already, Relaxed);
    read(&file);
    MOST.load(Relaxed).saturating_sub(already)
}

/// What is kept of a file must not depend on how long a line of a byte is that stands behind `before`.
fn takes_no_memory(before: &[u8], byte: u8, [short, long]: [u64; 2], read: &dyn Fn(&Path)) -> Result<(), String> {
    const MAY_GROW: usize = 4 << 20;
    let [of_short, of_long] = [short, long].map(|length| memory(before, LongLine { byte, length }, read));
    let says = format!(
        "{} MiB for {} MiB of {byte}, {} MiB for {}",
        of_short / MIB as usize,
        short / MIB,
        of_long / MIB as usize,
        long / MIB
    );
    if of_long > of_short + MAY_GROW { Err(says) } else { Ok(()) }
}

/// Bytes of a line. What is packed is unpacked into memory for those formats that are not lines, up to a bound.
fn bytes_of_lines(sample: &Sample) -> &'static [u8] {
    if sample.is_text() && !sample.bytes.starts_with(b"{") { &[0, b'x'] } else { &[0] }
}

/// A line behind the sample, and nothing else than a line.
fn any_line_takes_no_memory(sample: &Sample, lengths: [u64; 2]) -> Result<(), String> {
    let read = |file: &Path| is_clear(&load(sample.reader, file)).unwrap();
    let mut lines = bytes_of_lines(sample).iter().flat_map(|byte| [(*byte, &sample.bytes[..]), (*byte, &[])]);
    lines.try_for_each(|(byte, before)| takes_no_memory(before, byte, lengths, &read))
}

#[test]
fn a_line_of_any_length_takes_no_memory() {
    check(|sample| any_line_takes_no_memory(sample, [4 * MIB, 16 * MIB]));
}

/// The table of a trace of blktrace is no reader's.
fn blktrace_takes_no_memory(lengths: [u64; 2]) {
    let trace = unpacked(&testdata("blktrace/none.blktrace.0.gz"));
    let read = |file: &Path| drop(fathom_readers::blktrace::table(file));
    for before in [&trace[..], &[]] {
        assert_eq!(takes_no_memory(before, 0, lengths, &read), Ok(()));
    }
}

#[test]
fn a_long_line_in_a_trace_of_blktrace() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    blktrace_takes_no_memory([4 * MIB, 16 * MIB]);
}

/// `cargo test --release -p fathom-readers --test every_sample -- --ignored --nocapture`.
#[test]
#[ignore = "reads 10 GB for each reader, several times"]
fn a_line_of_ten_gigabytes_takes_no_memory() {
    const LENGTHS: [u64; 2] = [8 * MIB, 10 << 30];
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for reader in readers() {
        let sample = samples_of(*reader).swap_remove(0);
        let begun = Instant::now();
        assert_eq!(any_line_takes_no_memory(&sample, LENGTHS), Ok(()), "{}", sample.name);
        println!("{}: {:.1} s", sample.name, begun.elapsed().as_secs_f64());
    }
    blktrace_takes_no_memory(LENGTHS);
}

/// What a recording has of each table.
fn said(recording: &Recording) -> [usize; 4] {
    let recording = recording.row_counts();
    [recording.samples, recording.spans, recording.counters, recording.logs]
}

/// Both bytes become the same recording, if the first ones become any.
fn is_same(sample: &Sample, bytes: &[u8], other: &[u8]) -> Result<(), String> {
    let Ok(expected) = sample.load(bytes) else { return Ok(()) };
    let found = sample.load(other).map_err(|error| error.to_string())?;
    match said(&found) == said(&expected) {
        true => Ok(()),
        false => Err(format!("{:?} and not {:?}", said(&found), said(&expected))),
    }
}

#[test]
fn line_ends_of_several_systems() {
    check(|sample| {
        // Of a file in the middle the last line is cut.
        let end = sample.bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let text = &sample.bytes[..end];
        if !sample.is_text() || text.contains(&b'\r') {
            return Ok(());
        }
        let with = |ends: [&[u8]; 2]| {
            let lines = text.split_inclusive(|byte| *byte == b'\n').enumerate();
            let of = |(nth, line): (usize, &[u8])| [line.strip_suffix(b"\n").unwrap_or(line), ends[nth % 2]].concat();
            lines.flat_map(of).collect::<Vec<u8>>()
        };
        is_same(sample, text, &with([b"\r\n"; 2])).map_err(|says| format!("carriage returns: {says}"))?;
        is_same(sample, text, &with([b"\r\n", b"\n"])).map_err(|says| format!("mixed ends: {says}"))
    });
}

/// As `>` of Windows PowerShell writes it.
#[test]
fn text_in_utf16() {
    check(|sample| {
        let Some(text) = str::from_utf8(&sample.bytes).ok().filter(|_| sample.is_text()) else { return Ok(()) };
        let wide = "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes);
        is_same(sample, text.as_bytes(), &wide.collect::<Vec<u8>>())
    });
}

/// Formats whose tools print numbers as the country does; of the others the comma may be what separates columns.
const OF_COUNTRIES: [&str; 8] =
    ["sysstat", "jstat", "gc_log", "thread_dump", "jcmd", "hs_err", "app_log", "proc_files"];

#[test]
fn a_comma_is_a_point() {
    let point = Regex::new(r"([0-9])\.([0-9])").unwrap();
    check(|sample| {
        if !sample.is_text() {
            return Ok(());
        }
        let comma = point.replace_all(&sample.bytes, &b"$1,$2"[..]);
        is_clear(&sample.load(&comma))?;
        // Numbers of JSON have a point everywhere.
        let is_of_country = OF_COUNTRIES.contains(&sample.reader.name()) && !sample.bytes.starts_with(b"{");
        if is_of_country { is_same(sample, &sample.bytes, &comma) } else { Ok(()) }
    });
}

/// Dates as other countries write them are understood, or a loss says that they were not.
#[test]
fn dates_of_other_countries() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for (format, name, date, other, told) in [
        ("sysstat", "sar.txt", r"2026-11-27", "27.11.2026", loss::CLOCK_ESTIMATED),
        ("sysstat", "sar.txt", r"2026-11-27", "27/11/26", loss::CLOCK_ESTIMATED),
        ("sysstat", "mpstat.txt.gz", r"2026-11-27", "27. 11. 2026", ""),
        ("sysstat", "iostat.txt.gz", r"2026-11-27T", "27.11.2026 ", ""),
        ("jcmd", "in-a-loop.txt", r"2026-11-28T([0-9:]{8})Z", "Sa 28. Nov $1 CET 2026", loss::CLOCK_ESTIMATED),
        ("vmstat", "with-times.txt", r"2026-11-27", "27.11.2026", ""),
        ("app_log", "jul.txt.gz", r"Nov 28, 2026 ([0-9:]+) [AP]M", "28. Nov. 2026 $1", ""),
        ("app_log", "syslog-traditional.txt.gz", "Nov 28", "28. Nov", ""),
        ("app_log", "logback.txt.gz", r"2026-11-28T", "28.11.2026 ", ""),
        ("proc_files", "headings.txt.gz", r"Sun Nov 29 ([0-9:]+) UTC", "So 29. Nov $1 CET", loss::CLOCK_ESTIMATED),
        ("proc_files", "headings.txt.gz", r"Sun Nov 29 ([0-9:]+) UTC", "dim. 29 d\u{e9}c. $1 UTC", ""),
        ("proc_files", "named.txt.gz", r"2026-11-29T", "29.11.2026 ", ""),
        ("latency", "latency.csv.gz", r"(?m)^[0-9]{13},", "28.11.2026 10:00:00,", ""),
    ] {
        let bytes = unpacked(&testdata(folder(format)).join(name));
        let other = Regex::new(date).unwrap().replace_all(&bytes, other.as_bytes());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        File::create(&file).unwrap().write_all(&other).unwrap();
        let result = load(reader(format).unwrap(), &file);
        is_clear(&result).unwrap();
        match (&result, told) {
            (Err(error), "") => {
                let says = error.to_string();
                assert!(says.contains("record") || says.contains("such as 2026-"), "{says}");
            }
            (Ok(recording), told) => {
                let losses: Vec<&str> = recording.losses.rows().map(|row| recording.text(row.kind)).collect();
                assert!(losses.contains(&told), "{name}: {losses:?}");
            }
            (Err(error), _) => panic!("{name}: {error}"),
        }
    }
}
