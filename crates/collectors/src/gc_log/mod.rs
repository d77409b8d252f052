//! Follows the GC log that the JVM writes anyway: the part that belongs to the recording is taken over at the end.
//!
//! It is found among the open files of the process, so that its name means the right file in any container. It is held
//! open, so that a log that is rotated or removed meanwhile is still readable. The JVM is not asked for anything.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::kinds::loss;

use crate::facts::gc_log_of;
use crate::raw::Raw;
use crate::{Collector, Observer, Order, Refusal, Target, Tier, hostile_files, procfs, raw};

pub(crate) static COLLECTOR: GcLog = GcLog;

const SOURCE: &str = "gc_log";

/// A log up to this size is taken from its beginning, which says what collector it is of.
const WHOLE_BYTES: u64 = 8 << 20;
/// Of a longer one so much from before the recording: what belongs to collections that were under way.
const BEFORE_BYTES: u64 = 256 << 10;
/// The most that is taken of one file.
const MOST_BYTES: u64 = 64 << 20;
/// What of a log tells whether its lines have a time.
const HEAD_BYTES: usize = 32;
/// Descriptors that are looked through.
const DESCRIPTORS_MAX: usize = 4_096;

pub(crate) struct GcLog;

impl Collector for GcLog {
    fn name(&self) -> &'static str {
        SOURCE
    }

    fn sees(&self) -> &'static str {
        "the GC log that the JVM writes, for the time of the recording"
    }

    fn tier(&self) -> Tier {
        Tier::Process
    }

    fn check(&self, target: &Target) -> Result<(), Refusal> {
        Log::open(target).map(|_| ())
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        // To write no log is no loss.
        let logs = gc_log_of(target).map(|_| Log::open(target)).transpose()?;
        Ok(Box::new(Along { target: target.clone(), raw: order.raw(), logs: logs.into_iter().collect() }))
    }
}

/// A log, held open.
struct Log {
    file: File,
    /// Where the part begins that is wanted.
    from: u64,
    inode: (u64, u64),
}

impl Log {
    fn open(target: &Target) -> Result<Log, Refusal> {
        let wanted = gc_log_of(target).ok_or_else(|| {
            Refusal::new("the JVM writes no GC log", "-Xlog:gc*,safepoint*:file=gc.log:time,uptime,level,tags")
        })?;
        let number = descriptor(target, &wanted)
            .ok_or_else(|| Refusal::new(format!("the JVM does not have its log {wanted} open for writing"), ""))?;
        let opened =
            hostile_files::written(target, &number).and_then(|(file, is)| Log::of(file, (is.st_dev, is.st_ino)));
        opened.map_err(|error| Refusal::new(format!("{wanted}: {error}"), "run as the JVM's user, or as root"))
    }

    fn of(file: File, inode: (u64, u64)) -> io::Result<Log> {
        let mut head = [0; HEAD_BYTES];
        let known = file.read_at(&mut head, 0)?;
        if known > 0 && !has_date(&head[..known]) && !has_uptime(&head[..known]) {
            return Err(io::Error::other("its lines have no time: add the decorator time to -Xlog"));
        }
        let size = file.metadata()?.len();
        let from = if size <= WHOLE_BYTES { 0 } else { size - BEFORE_BYTES };
        Ok(Log { file, from, inode })
    }

    /// What is wanted of it, whole lines only, and how much of it there is no room for.
    fn wanted(&self) -> io::Result<(impl Read + '_, u64)> {
        let size = self.file.metadata()?.len();
        let left_out = size.saturating_sub(self.from).saturating_sub(MOST_BYTES);
        let from = self.from + left_out;
        let mut reader = BufReader::new(At { file: &self.file, at: from }.take(MOST_BYTES));
        if from > 0 {
            reader.skip_until(b'\n')?;
        }
        Ok((reader, left_out))
    }
}

/// A date before anything else, as the JVM writes it: `[2026-11-22T...` or `2026-...`.
fn has_date(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"[").unwrap_or(head);
    head.len() >= 3 && head.starts_with(b"20") && head[2].is_ascii_digit()
}

/// An uptime before anything else: `[12.345s]`, `[12345ms]` or `[12345678ns]`. The JVM's start places it.
fn has_uptime(head: &[u8]) -> bool {
    let Some(text) = head.strip_prefix(b"[") else { return false };
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',')).count();
    digits > 0 && [&b"s]"[..], b"ms]", b"ns]"].iter().any(|unit| text[digits..].starts_with(unit))
}

/// A file from a place on.
struct At<'a> {
    file: &'a File,
    at: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// The descriptor of the file that the JVM was told to log into; its name may hold the process's number or the time.
fn descriptor(target: &Target, wanted: &str) -> Option<String> {
    let wanted = wanted.replace("%p", &target.inner_pid.to_string());
    let (start, rest) = wanted.split_once("%t").unwrap_or((&wanted, ""));
    let is_wanted = |path: &str| match wanted.contains("%t") {
        true => path.len() >= start.len() + rest.len() && path.starts_with(start) && path.ends_with(rest),
        false => path == wanted,
    };
    let mut all = procfs::names(target.proc("fd")).take(DESCRIPTORS_MAX);
    let root = hostile_files::Root::of(target);
    all.find(|number| {
        procfs::link(target.proc("fd").join(number)).is_ok_and(|link| is_wanted(root.inside(&link)))
            && procfs::is_open_for_writing(target.proc("fdinfo").join(number))
    })
}

struct Along {
    target: Target,
    raw: Raw,
    /// In the order in which they were begun.
    logs: Vec<Log>,
}

/// Rotated logs that are held open.
const LOGS_MAX: usize = 16;

impl Observer for Along {
    fn period(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// A log that is rotated goes on in another file.
    fn look(&mut self, _found: &mut Recording) {
        let Ok(mut now) = Log::open(&self.target) else { return };
        if self.logs.len() < LOGS_MAX && self.logs.iter().all(|log| log.inode != now.inode) {
            now.from = 0;
            self.logs.push(now);
        }
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.look(found);
        let mut files = Vec::new();
        for (number, log) in self.logs.iter().enumerate() {
            let name = format!("gc-{number:02}.log");
            let path = self.raw.file(&name);
            let copied =
                log.wanted().and_then(|(mut part, left_out)| self.raw.keep(&mut part, &name).map(|()| left_out));
            match copied {
                // A log that has just been rotated has nothing in it yet.
                Ok(_) if raw::remove_if_empty(&path) => {}
                Ok(0) => files.push(path),
                Ok(left_out) => {
                    let says = format!("{left_out} bytes of the GC log are left out: the last {MOST_BYTES} are taken");
                    found.add_loss(SOURCE, loss::LIMIT, 0, &says);
                    files.push(path);
                }
                Err(error) => {
                    found.add_loss(SOURCE, loss::REFUSED, 0, &format!("the GC log could not be taken over: {error}"));
                }
            }
        }
        files
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::{Mode, OFlags};

    use super::*;
    use crate::hostile_files::tests::Nobody;

    #[test]
    fn a_file_that_the_process_cannot_read_is_not_copied_for_it() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().canonicalize().unwrap();
        fs::write(&path, "2026 root's secret\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        // Both are inherited: a place only, and one that was opened for writing before rights were given up.
        for flags in [OFlags::PATH, OFlags::WRONLY] {
            let held = rustix::fs::openat(rustix::fs::CWD, &path, flags, Mode::empty()).unwrap();
            let Some(nobody) = Nobody::new(&[&format!("-Xlog:gc*:file={}:time", path.display())]) else { return };
            let refused = Log::open(&nobody.target()).map(|_| ()).unwrap_err();
            assert!(refused.why.contains("open for writing") || refused.why.contains("denied"), "{refused:?}");
            drop(held);
        }
    }

    #[test]
    fn dates() {
        for (head, expected) in
            [(&b"[202"[..], true), (b"2026", true), (b"[0.0", false), (b"1.23", false), (b"", false), (b"[20", false)]
        {
            assert_eq!(has_date(head), expected, "{head:?}");
        }
        for (head, expected) in [
            (&b"[0.003s][info"[..], true),
            (b"[1357910ms] GC", true),
            (b"[77ns][gc]", true),
            (b"[0,123s]", true),
            (b"[12][13] x", false),
            (b"[s]", false),
            (b"root:x:0:0", false),
            (b"[202", false),
        ] {
            assert_eq!(has_uptime(head), expected, "{head:?}");
        }
    }

    #[test]
    fn the_part_that_is_wanted_begins_with_a_whole_line() {
        let place = tempfile::tempdir().unwrap();
        let from = place.path().join("gc.log");
        fs::write(&from, "2026 one\n2026 two\n2026 three\n").unwrap();
        for (start, expected) in [(0, "2026 one\n2026 two\n2026 three\n"), (3, "2026 two\n2026 three\n"), (500, "")] {
            let log = Log { from: start, ..Log::of(File::open(&from).unwrap(), (0, 0)).unwrap() };
            let (mut part, left_out) = log.wanted().unwrap();
            let mut text = String::new();
            part.read_to_string(&mut text).unwrap();
            assert_eq!((text.as_str(), left_out), (expected, 0), "{start}");
        }
        fs::write(&from, "[0.003s][info][gc] Using G1\n").unwrap();
        assert!(Log::of(File::open(&from).unwrap(), (0, 0)).is_ok());
        fs::write(&from, "[info][gc] Using G1\n").unwrap();
        let opened = Log::of(File::open(&from).unwrap(), (0, 0));
        assert!(opened.is_err_and(|error| error.to_string().contains("decorator")));
    }
}
