//! Splitting a file into chunks and a chunk into records.
//!
//! A finished chunk states its size. A chunk that is still being written, was cut off, or has a damaged header states
//! no size or a wrong one. It then extends to the next thing that looks like a chunk, or to the end of the file, and is
//! read record by record as far as possible.

use std::ops::Range;

use super::parse_bytes::varint;

/// Size of the header of a chunk.
pub(super) const HEADER_BYTES: usize = 68;
const MAGIC: &[u8; 4] = b"FLR\0";
/// Bit of the last header byte: integers are compressed. No JVM has written a chunk without it.
const COMPRESSED_INTEGERS: u8 = 1;

/// The clock of a chunk: where its ticks are on the wall clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Clock {
    pub(super) start_ns: i64,
    pub(super) start_ticks: i64,
    pub(super) ticks_per_second: i64,
    ticks_per_ns: f64,
}

impl Clock {
    /// Nanoseconds since the Unix epoch at `ticks`.
    #[inline]
    pub(super) fn time_ns(&self, ticks: u64) -> i64 {
        self.start_ns.wrapping_add(self.duration_ns((ticks as i64).wrapping_sub(self.start_ticks)))
    }

    /// Length in nanoseconds of `ticks`.
    #[inline]
    pub(super) fn duration_ns(&self, ticks: i64) -> i64 {
        (ticks as f64 / self.ticks_per_ns) as i64
    }
}

/// A chunk of the file, not yet looked into.
#[derive(Debug, Clone)]
pub(super) struct Chunk<'a> {
    /// Where it starts in the file.
    pub(super) offset: usize,
    /// Header and records.
    pub(super) data: &'a [u8],
    /// Whether the header states the true size and tables: neither being written nor cut.
    pub(super) complete: bool,
    /// Of an incomplete chunk: whether the file ends before the chunk does.
    pub(super) cut: bool,
    pub(super) clock: Clock,
    /// How long it was written to, if it is complete, in ns.
    pub(super) duration_ns: Option<i64>,
    /// Last checkpoint, from the start of the chunk.
    pub(super) checkpoint: usize,
    /// Metadata, from the start of the chunk.
    pub(super) metadata: usize,
}

impl Chunk<'_> {
    /// Where it lies in the file.
    pub(super) fn bytes(&self) -> Range<usize> {
        self.offset..self.offset + self.data.len()
    }
}

/// A part of the file that is not a chunk.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Gap {
    pub(super) bytes: Range<usize>,
    pub(super) why: &'static str,
}

/// Whether `data` starts like a JFR file.
pub(super) fn looks_like_jfr(data: &[u8]) -> bool {
    data.starts_with(MAGIC)
}

/// Splits `file` into chunks, and what is no chunk into gaps.
pub(super) fn split(file: &[u8]) -> (Vec<Chunk<'_>>, Vec<Gap>) {
    let mut chunks = Vec::new();
    let mut gaps: Vec<Gap> = Vec::new();
    let mut at = 0;
    while at < file.len() {
        match read_header(file, at) {
            Ok(chunk) => {
                at += chunk.data.len();
                chunks.push(chunk);
            }
            Err(why) => {
                let end = next_chunk(file, at + 1);
                match gaps.last_mut() {
                    Some(gap) if gap.bytes.end == at => gap.bytes.end = end,
                    _ => gaps.push(Gap { bytes: at..end, why }),
                }
                at = end;
            }
        }
    }
    (chunks, gaps)
}

/// Where the next chunk may start, at or behind `from`; the end of the file if nowhere.
fn next_chunk(file: &[u8], from: usize) -> usize {
    let from = from.min(file.len());
    let mut starts = memchr::memmem::find_iter(&file[from..], MAGIC).map(|found| from + found);
    starts.find(|start| file.get(start + MAGIC.len()..).is_some_and(is_of_known_version)).unwrap_or(file.len())
}

/// Version 1 is that of JDK 9 and 10; the JVMs since, and OpenJDK 8, write version 2. They differ in names only.
fn is_of_known_version(version: &[u8]) -> bool {
    matches!(version, [0, 1 | 2, ..])
}

/// Length of a chunk that does not state it: to the next chunk, or the end of the file.
///
/// The JVM keeps copies of chunk headers in its checkpoints; those are no chunks. Whatever else
/// contains a header is a record that was cut off, and then the header is that of the next chunk.
fn reach(rest: &[u8]) -> usize {
    let mut at = HEADER_BYTES;
    let mut next = next_chunk(rest, at);
    while at < next
        && let Some(record) = record(rest, at)
    {
        at = record.end;
        if at > next && record.type_id != CHECKPOINT {
            break;
        }
        if at > next {
            next = next_chunk(rest, at);
        }
    }
    next
}

fn read_header(file: &[u8], offset: usize) -> Result<Chunk<'_>, &'static str> {
    let rest = &file[offset..];
    if !looks_like_jfr(rest) {
        return Err("not the start of a chunk");
    }
    let header = rest.get(..HEADER_BYTES).ok_or("the header of the chunk is cut off")?;
    let long = |at: usize| i64::from_be_bytes(std::array::from_fn(|i| header[at + i]));
    if !is_of_known_version(&header[MAGIC.len()..]) {
        return Err("a chunk in the format of Oracle's JDK 7 and 8, which JDK Mission Control reads");
    }
    if header[67] & COMPRESSED_INTEGERS == 0 {
        return Err("a chunk whose integers are not compressed");
    }
    let stated = usize::try_from(long(8)).unwrap_or(0);
    let checkpoint = usize::try_from(long(16)).unwrap_or(0);
    let finished = header[64] == 0 && checkpoint != 0 && stated > HEADER_BYTES;
    let complete = finished && stated <= rest.len();
    let length = if complete { stated } else { reach(rest) };
    Ok(Chunk {
        offset,
        data: &rest[..length],
        complete,
        cut: finished && !complete,
        clock: clock(long(32), long(48), long(56))?,
        duration_ns: complete.then(|| long(40)).filter(|ns| *ns >= 0),
        checkpoint,
        metadata: usize::try_from(long(24)).unwrap_or(0),
    })
}

fn clock(start_ns: i64, start_ticks: i64, ticks_per_second: i64) -> Result<Clock, &'static str> {
    if ticks_per_second <= 0 {
        return Err("a chunk without a clock frequency");
    }
    Ok(Clock { start_ns, start_ticks, ticks_per_second, ticks_per_ns: ticks_per_second as f64 / 1e9 })
}

/// A record: an event, the metadata or a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Record {
    pub(super) type_id: u64,
    /// Where it starts, from the start of the chunk.
    pub(super) start: usize,
    /// Where its payload starts.
    pub(super) payload: usize,
    /// Where the next record starts.
    pub(super) end: usize,
}

/// Type id of metadata records.
pub(super) const METADATA: u64 = 0;
/// Type id of checkpoint records.
pub(super) const CHECKPOINT: u64 = 1;

/// The record at `at`, if it lies within the chunk.
#[inline(always)]
pub(super) fn record(data: &[u8], at: usize) -> Option<Record> {
    let (size, next) = varint(data, at)?;
    let (type_id, payload) = varint(data, next)?;
    let end = at.checked_add(usize::try_from(size).ok()?)?;
    (payload <= end && end <= data.len()).then_some(Record { type_id, start: at, payload, end })
}

/// [`record`], quick for small ones.
#[inline(always)]
pub(super) fn short_record(data: &[u8], at: usize) -> Option<Record> {
    let Some(&[size, low, high]) = data.get(at..).and_then(<[u8]>::first_chunk) else { return record(data, at) };
    let (type_id, payload) = match (low < 0x80, high < 0x80) {
        (true, _) => (u64::from(low), at + 2),
        (false, true) => (u64::from(low & 0x7f) | u64::from(high) << 7, at + 3),
        (false, false) => return record(data, at),
    };
    let end = at + usize::from(size);
    if size >= 0x80 || payload > end || end > data.len() {
        return record(data, at);
    }
    Some(Record { type_id, start: at, payload, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(size: i64, checkpoint: i64, state: u8) -> Vec<u8> {
        let mut bytes = b"FLR\0\0\x02\0\x01".to_vec();
        for long in [size, checkpoint, 68, 1_000, 50, 7, 2_000_000_000] {
            bytes.extend(long.to_be_bytes());
        }
        bytes.extend([state, 0, 0, 1]);
        bytes
    }

    /// What [`split`] makes of a file: `(offset, length, complete, cut)` of chunks, then gaps.
    fn check(file: &[u8], chunks: &[(usize, usize, bool, bool)], gaps: &[(usize, usize)]) {
        let (found, lost) = split(file);
        let found: Vec<_> = found.iter().map(|c| (c.offset, c.data.len(), c.complete, c.cut)).collect();
        assert_eq!(found, chunks);
        assert_eq!(lost.into_iter().map(|gap| (gap.bytes.start, gap.bytes.end)).collect::<Vec<_>>(), gaps);
    }

    #[test]
    fn chunks_are_found_whatever_their_headers_say() {
        let whole = [header(80, 70, 0), vec![0; 12]].concat();
        let open = [header(68, 70, 3), vec![9; 30]].concat();
        let never_finished = [header(1 << 30, 0, 0), vec![9; 30]].concat();
        check(&[], &[], &[]);
        check(&whole, &[(0, 80, true, false)], &[]);
        check(&[whole.clone(), whole.clone()].concat(), &[(0, 80, true, false), (80, 80, true, false)], &[]);
        check(&whole[..75], &[(0, 75, false, true)], &[]);
        check(&whole[..60], &[], &[(0, 60)]);
        check(&open, &[(0, 98, false, false)], &[]);
        check(&never_finished, &[(0, 98, false, false)], &[]);
        let copy = [header(68, 70, 3), vec![80, 1], header(80, 70, 0), vec![0; 10]].concat();
        check(&copy, &[(0, 148, false, false)], &[]);
        check(&[open, whole.clone()].concat(), &[(0, 98, false, false), (98, 80, true, false)], &[]);
        check(&[vec![1; 9], whole].concat(), &[(9, 80, true, false)], &[(0, 9)]);
        check(&header(i64::MIN, i64::MAX, 0), &[(0, 68, false, false)], &[]);
    }

    #[test]
    fn chunks_of_jdk_9_are_read_and_those_of_before_are_not() {
        let whole = |version: u8| {
            let mut chunk = [header(80, 70, 0), vec![0; 12]].concat();
            chunk[5] = version;
            chunk
        };
        check(&[whole(1), whole(2)].concat(), &[(0, 80, true, false), (80, 80, true, false)], &[]);
        check(&[whole(0), whole(1)].concat(), &[(80, 80, true, false)], &[(0, 80)]);
        assert!(split(&whole(0)).1[0].why.contains("Mission Control"));
    }

    #[test]
    fn ticks_become_time() {
        let file = [header(80, 70, 0), vec![0; 12]].concat();
        let clock = split(&file).0[0].clock;
        assert_eq!(clock.time_ns(7), 1_000);
        assert_eq!(clock.time_ns(2_007), 2_000);
        assert_eq!(clock.duration_ns(10), 5);
    }
}
