//! The folder of `minutes`: a journal to which each row is added at once, and Parquet files of whole hours.
//!
//! ```text
//! minutes/journal.jsonl                          rows of this hour and the one before, a JSON object in a line
//! minutes/date=2026-11-23/10-1f3a….parquet       the hours before (UTC)
//! ```
//!
//! * A row that was added survives a kill. What was known of a JVM's minute only later (its verdict) is a line of its own; lines of
//!   the same JVM and minute are one row.
//! * A file has all rows of its hour that were in the journal and is named after them, so that one which was written just before a
//!   crash is written again and not twice.
//! * Rows that the disk does not take are dropped and counted. Only a crash leaves half a line in the journal, which is then cut off.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

use fathom_collectors::recorder::size_bytes;
use fathom_store::write_rows;
use jiff::Timestamp;

use super::facts::{self, Sheet};
use super::row::{Row, columns};
use crate::log;
use crate::metrics::Metrics;

const HOUR_NS: i64 = 3600 * 1_000_000_000;

/// The journal takes no more: two hours of 200 JVMs are 15 MB.
const JOURNAL_MAX_BYTES: u64 = 64 << 20;

/// What is sent to the keeper of the rows.
#[derive(Debug)]
pub(crate) enum Message {
    /// A row, or more about one.
    Row(Box<Row>),
    /// Facts of a JVM.
    Facts(Box<Sheet>),
    /// The folder may have this many bytes from now on.
    Limit(u64),
    /// The service ends.
    End,
}

/// Keeps rows until the service ends.
pub(crate) fn work(folder: &Path, messages: &Receiver<Message>, mut max_bytes: u64, metrics: &Metrics) {
    let mut spool = Spool::new(folder);
    while let Ok(message) = messages.recv() {
        match message {
            Message::Limit(bytes) => max_bytes = bytes,
            Message::End => return,
            Message::Facts(sheet) => spool.tell(facts::write(folder, &sheet)),
            Message::Row(row) => {
                let added = spool.add(&row);
                metrics.minute(added.is_ok());
                let kept = added.and_then(|()| spool.turn(Timestamp::now(), max_bytes));
                spool.tell(kept);
            }
        }
    }
}

/// Rows of the last one to two hours, in order of time.
pub fn recent(folder: &Path) -> Vec<Row> {
    let text = fs::read(journal(folder)).unwrap_or_default();
    rows(&text).into_values().collect()
}

fn journal(folder: &Path) -> PathBuf {
    folder.join("journal.jsonl")
}

/// What is about the same JVM and minute is one row.
fn rows(text: &[u8]) -> BTreeMap<Key, Row> {
    let mut rows: BTreeMap<Key, Row> = BTreeMap::new();
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let Ok(row) = serde_json::from_slice::<Row>(line) else { continue };
        let key = (row.time_ns, row.pid, row.start_ticks);
        rows.entry(key).or_default().take(row);
    }
    rows
}

/// Minute and process.
type Key = (Option<i64>, Option<i64>, Option<i64>);

fn hour_of(row: &Row) -> i64 {
    row.time_ns.unwrap_or(0).div_euclid(HOUR_NS)
}

struct Spool {
    folder: PathBuf,
    journal: Option<File>,
    /// The hour for which the journal was last cleared, and the minute in which that was last tried.
    turned_hour: i64,
    tried_minute: i64,
    is_failing: bool,
}

impl Spool {
    fn new(folder: &Path) -> Spool {
        Spool { folder: folder.to_owned(), journal: None, turned_hour: 0, tried_minute: 0, is_failing: false }
    }

    /// Adds a row, whole or not at all.
    fn add(&mut self, row: &Row) -> io::Result<()> {
        let mut line = serde_json::to_vec(row)?;
        line.push(b'\n');
        let mut file = self.open()?;
        let length = file.metadata()?.len();
        if length + line.len() as u64 > JOURNAL_MAX_BYTES {
            return Err(io::Error::other("the journal is full"));
        }
        file.write_all(&line).inspect_err(|_| {
            // Half a line would spoil the next one. Where this fails, too, both are left out when they are read.
            let _ = file.set_len(length);
        })
    }

    fn open(&mut self) -> io::Result<&File> {
        if self.journal.is_none() {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
            let options = OpenOptions::new().read(true).append(true).create(true).mode(0o600).clone();
            let file = options.open(journal(&self.folder))?;
            cut_half_a_line(&file)?;
            self.journal = Some(file);
        }
        self.journal.as_ref().ok_or_else(|| io::Error::other("no journal"))
    }

    /// Hours that are over for an hour become files. What fails is tried again in another minute.
    fn turn(&mut self, now: Timestamp, max_bytes: u64) -> io::Result<()> {
        let (hour, minute) = (now.as_second().div_euclid(3600), now.as_second().div_euclid(60));
        if hour == self.turned_hour || minute == self.tried_minute {
            return Ok(());
        }
        self.tried_minute = minute;
        self.roll(hour)?;
        self.turned_hour = hour;
        make_room(&self.folder, max_bytes)?;
        facts::make_room(&self.folder)
    }

    fn roll(&mut self, hour: i64) -> io::Result<()> {
        let (mut over, mut rest): (BTreeMap<i64, Vec<Row>>, Vec<u8>) = Default::default();
        for row in recent(&self.folder) {
            match hour_of(&row) {
                of_row if of_row < hour - 1 => over.entry(of_row).or_default().push(row),
                _ => {
                    serde_json::to_writer(&mut rest, &row)?;
                    rest.push(b'\n');
                }
            }
        }
        if over.is_empty() {
            return Ok(());
        }
        for (hour, rows) in over {
            write_hour(&self.folder, hour, &rows)?;
        }
        self.journal = None;
        let (path, unfinished) = (journal(&self.folder), self.folder.join("journal.unfinished"));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        file.write_all(&rest)?;
        fs::rename(unfinished, path)
    }

    /// A failure is reported when it begins, and when it has ended.
    fn tell(&mut self, kept: io::Result<()>) {
        let was_failing = std::mem::replace(&mut self.is_failing, kept.is_err());
        match kept {
            Err(error) if !was_failing => log::says("minutes_not_kept", &format!("{}: {error}", self.folder.display())),
            Ok(()) if was_failing => log::says("minutes_kept", "again"),
            _ => {}
        }
    }
}

fn cut_half_a_line(mut file: &File) -> io::Result<()> {
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(2 * JOURNAL_MAX_BYTES).read_to_end(&mut text)?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    file.set_len(whole as u64)
}

fn write_hour(folder: &Path, hour: i64, rows: &[Row]) -> io::Result<()> {
    let began = Timestamp::from_second(hour * 3600).map_err(io::Error::other)?;
    let day = folder.join(format!("date={}", began.strftime("%Y-%m-%d")));
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(rows)?.hash(&mut hasher);
    write_file(&day, &format!("{}-{:016x}", began.strftime("%H"), hasher.finish()), rows)
}

/// Writes a file into the folder of a day.
pub(super) fn write_file(day: &Path, name: &str, rows: &[Row]) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(day)?;
    write_rows(&day.join(format!("{name}.parquet")), columns(rows)).map_err(io::Error::other)
}

/// The oldest hours go.
fn make_room(folder: &Path, max_bytes: u64) -> io::Result<()> {
    let mut bytes = size_bytes(folder);
    let mut hours: Vec<PathBuf> = folders(folder).iter().flat_map(|day| entries(day)).collect();
    hours.retain(|path| path.extension().is_some_and(|ending| ending == "parquet"));
    hours.sort_unstable();
    for hour in hours {
        if bytes <= max_bytes {
            break;
        }
        bytes = bytes.saturating_sub(fs::metadata(&hour)?.len());
        fs::remove_file(&hour)?;
        // Its day may have others.
        let _ = hour.parent().map(fs::remove_dir);
    }
    Ok(())
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    entries(folder).filter(|path| path.is_dir()).collect()
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE_NS: i64 = 60_000_000_000;
    /// 2026-11-23 10:00 UTC.
    const HOUR: i64 = 498_730;

    fn row(minute: i64, pid: i64) -> Row {
        let time_ns = Some(HOUR * HOUR_NS + minute * MINUTE_NS);
        Row { time_ns, pid: Some(pid), seconds: Some(60), ..Row::default() }
    }

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second((HOUR * 60 + minute) * 60).unwrap()
    }

    fn files(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = folders(folder)
            .iter()
            .flat_map(|day| entries(day))
            .map(|path| path.strip_prefix(folder).unwrap().to_string_lossy()[..18].to_owned())
            .collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn hours_become_files_and_a_verdict_is_part_of_its_minute() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("minutes");
        let mut spool = Spool::new(&folder);
        for minute in 0..150 {
            spool.add(&row(minute, 7)).unwrap();
            spool.turn(at(minute), u64::MAX).unwrap();
            if minute == 12 {
                spool.add(&Row { cause: Some("gc".to_owned()), seconds: None, ..row(10, 7) }).unwrap();
            }
        }
        assert_eq!(files(&folder), ["date=2026-11-23/10"]);
        let recent = recent(&folder);
        assert_eq!((recent.len(), recent[0].time_ns), (90, row(60, 7).time_ns));
        // What a crash leaves behind is written again, under the same name.
        for minute in 0..60 {
            spool.add(&row(minute, 7)).unwrap();
        }
        spool.add(&Row { cause: Some("gc".to_owned()), seconds: None, ..row(10, 7) }).unwrap();
        spool.roll(HOUR + 2).unwrap();
        assert_eq!(files(&folder).len(), 1);
    }

    #[test]
    fn lines_of_one_jvm_and_minute_are_one_row() {
        let text = [row(1, 7), row(1, 8), Row { cause: Some("gc".to_owned()), ..row(1, 7) }]
            .map(|row| serde_json::to_string(&row).unwrap() + "\n");
        let rows: Vec<Row> = rows(text.concat().as_bytes()).into_values().collect();
        assert_eq!((rows.len(), rows[0].cause.as_deref(), rows[0].seconds), (2, Some("gc"), Some(60)));
    }

    #[test]
    fn half_a_line_of_a_crash_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(journal(folder.path()), "{\"time_ns\":60,\"pid\":1}\n{\"time_ns\":120,\"pi").unwrap();
        let mut spool = Spool::new(folder.path());
        spool.add(&row(3, 7)).unwrap();
        assert_eq!(recent(folder.path()).iter().map(|row| row.pid).collect::<Vec<_>>(), [Some(1), Some(7)]);
    }

    #[test]
    fn the_oldest_hours_make_room() {
        let folder = tempfile::tempdir().unwrap();
        (0..30).for_each(|hour| write_hour(folder.path(), HOUR + hour, &[row(hour * 60, 7)]).unwrap());
        let all = size_bytes(folder.path());
        make_room(folder.path(), all).unwrap();
        assert_eq!(files(folder.path()).len(), 30);
        make_room(folder.path(), all / 10).unwrap();
        assert_eq!(files(folder.path()), ["date=2026-11-24/13", "date=2026-11-24/14", "date=2026-11-24/15"]);
        assert_eq!(folders(folder.path()).len(), 1);
    }

    #[test]
    fn what_cannot_be_kept_is_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::new(&folder.path().join("a"));
        fs::write(folder.path().join("a"), "").unwrap();
        let added = spool.add(&row(1, 7));
        assert!(added.is_err());
        spool.tell(added);
        assert!(spool.is_failing);
        fs::remove_file(folder.path().join("a")).unwrap();
        let added = spool.add(&row(1, 7));
        spool.tell(added);
        assert!(!spool.is_failing);
    }
}
