//! The files of one log: rotation splits it into several files, and their names do not show their order.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::gc_log::event::{Event, Stamp};
use crate::gc_log::legacy::Sink;
use crate::gc_log::parse::Parser;
use crate::gc_log::runs::Runs;
use crate::gc_log::wrapping::Wrapping;
use crate::{input, lines};

/// How much of a file is read to learn when it begins.
const BEGINNING_BYTES: usize = 64 * 1024;

/// Puts files together that are rotations of one log: same folder, same name but for number and date, and one after the
/// other. Logs that overlap in time are of several JVMs, whatever the numbers in their names count.
pub(super) fn group(files: Vec<PathBuf>) -> Vec<Vec<PathBuf>> {
    let mut sets: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for file in files {
        sets.entry(base_name(&file)).or_default().push(file);
    }
    let each = |set: Vec<PathBuf>| match set.len() > 1 && overlap(&set) {
        true => set.into_iter().map(|file| vec![file]).collect(),
        false => vec![set],
    };
    sets.into_values().flat_map(each).collect()
}

/// A part of a rotation may seem to end this much after the next one begins: the wall clock was put right meanwhile.
const OVERLAP_NS: i64 = 10_000_000_000;

/// Whether one of the files goes on when another has begun, by the wall clock.
fn overlap(files: &[PathBuf]) -> bool {
    let mut ranges: Vec<(i64, i64)> = files.iter().filter_map(|file| range_ns(file)).collect();
    ranges.sort_unstable();
    ranges.windows(2).any(|pair| pair[0].1 > pair[1].0.saturating_add(OVERLAP_NS))
}

/// The first and the last time that is written in a file. The end of one that is packed is not known without unpacking it,
/// and then taken to be its beginning: what is packed is mostly a rotation's.
fn range_ns(path: &Path) -> Option<(i64, i64)> {
    let from_ns = runs_in(&input::head(path, BEGINNING_BYTES).ok()?).first.wall_ns?;
    let to_ns = input::tail(path, BEGINNING_BYTES).ok().and_then(|tail| runs_in(&tail).last.wall_ns);
    Some((from_ns, to_ns.unwrap_or(from_ns)))
}

/// What the stamps of the lines in a part of a file tell.
fn runs_in(text: &[u8]) -> Runs {
    parsed(text, &mut |_| ()).runs()
}

/// A parser that has read the lines of a part of a file, which may be cut at its end.
fn parsed(text: &[u8], sink: &mut Sink<'_>) -> Parser {
    let (mut parser, mut wrapping) = (Parser::default(), Wrapping::default());
    lines::of_head(text).for_each(|line| parser.line(wrapping.off(line), sink));
    parser
}

/// `gc.log` for `gc.log.3`, `gc.log.3.current`, `gc.log.00.gz`, `gc.log-20261120` and `gc.log.2026-11-20.1`.
fn base_name(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut base: &str = name.strip_suffix(".gz").unwrap_or(&name);
    base = without_date(base);
    base = base.strip_suffix(".current").unwrap_or(base);
    base = without_number(base);
    path.with_file_name(without_date(base))
}

/// Without the number of a rotation. Four to seven digits are a process id (`file=gc.log.%p`; Linux has none of more); more
/// are a date, or seconds.
fn without_number(name: &str) -> &str {
    let Some((front, digits)) = name.rsplit_once(['.', '-']) else { return name };
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && matches!(digits.len(), 1..=3 | 8..);
    if is_number && !front.is_empty() { front } else { name }
}

/// Without `-2026-11-20` or `.2026-11-20` at the end.
fn without_date(name: &str) -> &str {
    const SHAPE: &[u8] = b"-dddd-dd-dd";
    let Some((front, date)) = name.len().checked_sub(SHAPE.len()).and_then(|at| name.split_at_checked(at)) else {
        return name;
    };
    let fits = |(at, byte): (usize, u8)| match SHAPE[at] {
        b'd' => byte.is_ascii_digit(),
        _ => byte == b'-' || (at == 0 && byte == b'.'),
    };
    if date.bytes().enumerate().all(fits) && !front.is_empty() { front } else { name }
}

/// When a file begins and was last changed.
#[derive(Debug)]
struct Age {
    begins: Stamp,
    changed_ns: i64,
}

/// The files in the order in which they were written.
///
/// By the wall clock if all have it. Else by their last change, unless copying has made that
/// meaningless: then the files' changes lie closer together than the uptimes they begin with.
pub(super) fn in_order(files: &[PathBuf]) -> Vec<PathBuf> {
    let mut aged: Vec<(Age, PathBuf)> = files.iter().map(|file| (age(file), file.clone())).collect();
    if aged.iter().all(|(age, _)| age.begins.wall_ns.is_some()) {
        aged.sort_by_key(|(age, _)| age.begins.wall_ns);
    } else if spread(aged.iter().map(|(age, _)| age.changed_ns)) < spread(uptimes(&aged)) / 2 {
        aged.sort_by_key(|(age, _)| age.begins.uptime_ns);
    } else {
        aged.sort_by_key(|(age, _)| age.changed_ns);
    }
    aged.into_iter().map(|(_, file)| file).collect()
}

fn uptimes(aged: &[(Age, PathBuf)]) -> impl Iterator<Item = i64> + Clone + '_ {
    aged.iter().filter_map(|(age, _)| age.begins.uptime_ns)
}

fn spread(values: impl Iterator<Item = i64> + Clone) -> i64 {
    let (least, most) = (values.clone().min(), values.max());
    most.zip(least).map_or(0, |(most, least)| most.saturating_sub(least))
}

fn age(path: &Path) -> Age {
    Age { begins: beginning(path), changed_ns: changed_ns(path).unwrap_or_default() }
}

/// When the file was last changed, in ns since the epoch.
pub(super) fn changed_ns(path: &Path) -> Option<i64> {
    let changed: SystemTime = fs::metadata(path).ok()?.modified().ok()?;
    i64::try_from(changed.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok()
}

/// The time of the first line that has one.
fn beginning(path: &Path) -> Stamp {
    let head = input::head(path, BEGINNING_BYTES).unwrap_or_default();
    let mut first = Stamp::default();
    let mut sink = |event: &Event<'_>| {
        if first.is_none() {
            first = stamp_of(event).unwrap_or_default();
        }
    };
    let parser = parsed(&head, &mut sink);
    let by_line = parser.runs().first;
    parser.finish(&mut sink);
    if first.is_none() { by_line } else { first }
}

/// Uptime at which a log may begin and still be taken as whole: the first collection is seldom later.
const BEGINNING_NS: i64 = 60_000_000_000;

/// A sentence about parts of a rotated log that were not given, if the log does not begin with the JVM.
///
/// They are not read unasked: beside the log of one JVM often lie those of the runs before it.
pub(super) fn missing_parts(files: &[PathBuf]) -> Option<String> {
    let first = files.first()?;
    let begins_ns = beginning(first).uptime_ns.filter(|ns| *ns > BEGINNING_NS)?;
    let base = base_name(first);
    let siblings = fs::read_dir(first.parent()?).ok()?.flatten().map(|entry| entry.path());
    let mut unread: Vec<String> = siblings
        .filter(|path| base_name(path) == base && !files.contains(path))
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    unread.sort();
    let names = (!unread.is_empty()).then(|| unread.join(", "))?;
    let seconds = begins_ns / 1_000_000_000;
    Some(format!(
        "the log begins {seconds} s after the JVM's start; what came before may be in {names}: name it as well"
    ))
}

/// Whether the first line with a time has the wall clock, in each file.
pub(super) fn have_wall_clock(files: &[PathBuf]) -> bool {
    files.iter().all(|file| beginning(file).wall_ns.is_some())
}

/// When an event was, for those that have a time.
pub(super) fn stamp_of(event: &Event<'_>) -> Option<Stamp> {
    match event {
        Event::Pause(pause) => Some(pause.start),
        Event::PausePhase(phase) | Event::Concurrent(phase) | Event::Stall(phase) => Some(phase.start),
        Event::Safepoint(safepoint) => Some(safepoint.start),
        Event::PauseBegins { at, .. }
        | Event::Collection { at, .. }
        | Event::CodeCache { at, .. }
        | Event::CodeCacheFull { at, .. }
        | Event::Note { at, .. } => Some(*at),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_log() {
        for (name, expected) in [
            ("gc.log", "gc.log"),
            ("gc.log.0", "gc.log"),
            ("gc.log.12.current", "gc.log"),
            ("gc.log.03.gz", "gc.log"),
            ("gc.log.gz", "gc.log"),
            ("gc.log-20261120", "gc.log"),
            ("gc.log-2026-11-20.gz", "gc.log"),
            ("gc.log.2026-11-20", "gc.log"),
            ("gc.log.2026-11-20.1.gz", "gc.log"),
            ("gc.log.0.2026-11-20", "gc.log"),
            ("gc.log-2026112006", "gc.log"),
            ("gc.log.4711", "gc.log.4711"),
            ("gc.log.4711.0.current", "gc.log.4711"),
            ("gc-1.log", "gc-1.log"),
            ("é-2026-11-20", "é"),
            ("-2026-11-20", "-2026-11"),
            ("é23456789", "é23456789"),
            ("7", "7"),
        ] {
            assert_eq!(base_name(&Path::new("/logs").join(name)), Path::new("/logs").join(expected), "{name}");
        }
    }

    #[test]
    fn logs_that_overlap_are_not_one() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, minutes: &[i64]| {
            let line = |minute: &i64| {
                format!(
                    "[2026-11-20T06:{minute:02}:00.000+0000][info][gc] GC(7) Pause Young (Normal) 3M->2M(4M) 1.0ms\n"
                )
            };
            let path = folder.path().join(name);
            fs::write(&path, minutes.iter().map(line).collect::<String>()).unwrap();
            path
        };
        let sizes = |files: &[&PathBuf]| {
            group(files.iter().map(|file| (*file).clone()).collect()).iter().map(Vec::len).collect::<Vec<_>>()
        };
        let [old, new, replica] = [
            write("gc.log.10.0.0.5", &[0, 10, 20]),
            write("gc.log.10.0.0.6", &[20, 30, 40]),
            write("gc.log.10.0.0.7", &[5, 15, 25]),
        ];
        assert_eq!(sizes(&[&old, &new]), [2]);
        assert_eq!(sizes(&[&old, &replica]), [1, 1]);
        assert_eq!(sizes(&[&old, &new, &replica]), [1, 1, 1]);
        assert_eq!(sizes(&[&old, &folder.path().join("gc.log.10.0.0.8")]), [2]);
        let pids = [write("gc.log.4711", &[0, 10]), write("gc.log.4899", &[20, 30])];
        assert_eq!(sizes(&[&pids[0], &pids[1]]), [1, 1]);
    }

    #[test]
    fn parts_that_were_not_given_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let late = folder.path().join("gc.log");
        fs::write(&late, "100.0: [GC (Allocation Failure)  9K->6K(12K), 0.1 secs]\n").unwrap();
        assert_eq!(missing_parts(std::slice::from_ref(&late)), None);
        let early = folder.path().join("gc.log.0");
        fs::write(&early, "2.0: [GC (Allocation Failure)  9K->6K(12K), 0.1 secs]\n").unwrap();
        assert!(missing_parts(std::slice::from_ref(&late)).unwrap().contains("gc.log.0"));
        assert_eq!(missing_parts(&[early, late]), None);
    }

    #[test]
    fn order_of_a_rotated_log() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        // Written now, one after the other, in the wrong order: as a copy of the folder would be.
        let files = [
            write("gc.log.0.current", "40.0: [GC (Allocation Failure)  9K->6K(12K), 0.1 secs]\n"),
            write("gc.log.1", "2.0: [GC (Allocation Failure)  9K->6K(12K), 0.1 secs]\n"),
            write("gc.log.2", "[20.000s][info][gc] GC(1) Pause Young (Allocation Failure) 3M->2M(4M) 1.000ms\n"),
        ];
        let [last, first, second] = files.clone();
        assert_eq!(in_order(&files), [first, second, last]);
    }
}
