//! The file that sar's daemon writes (`/var/log/sysstat/saDD`, `sar -o`): raw numbers of the kernel, activity by activity. Knows no evidence.
//!
//! The file states for each structure how many numbers of 8 bytes, of a `long` and of 4 bytes it begins with, in this
//! order; releases add numbers at the end of each kind. An activity has a number for its format: other formats are
//! skipped. Facts are from sysstat's `sa.h` and `rd_stats.h`; they were checked with a file of 12.6.1.

/// How a file begins, and in the other byte order.
const MAGIC: [u8; 2] = [0x96, 0xd5];
const MAGIC_SWAPPED: [u8; 2] = [0xd5, 0x96];

/// The form that sysstat 11.7.1 and later write.
const FORM: u16 = 0x2175;

/// Where the header begins, and what is in it.
const HEADER_AT: usize = 76;
const HEADER_TYPES: [usize; 3] = [1, 1, 12];
const ACTIVITY_TYPES: [usize; 3] = [0, 0, 9];
const RECORD_TYPES: [usize; 3] = [2, 0, 1];

/// As many activities and structures a file has at most, and bytes that one of them takes.
const ACTIVITIES_MAX: usize = 256;
const ITEMS_MAX: usize = 1 << 16;
const ITEM_MAX_BYTES: usize = 4_096;

/// A record of statistics, and others that stand between them.
const STATISTICS: u8 = 1;
const RESTART: u8 = 2;
const LAST_STATISTICS: u8 = 3;
const COMMENT: u8 = 4;
const COMMENT_BYTES: usize = 64;
const EXTRA_BYTES: usize = 24;

const SECOND_NS: i64 = 1_000_000_000;

/// Whether a file that begins with `head` is one of these, in whatever form.
pub(super) fn is_binary(head: &[u8]) -> bool {
    head.starts_with(&MAGIC) || head.starts_with(&MAGIC_SWAPPED)
}

/// What numbers are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Activity {
    Cpu,
    Switches,
    Swap,
    Paging,
    Memory,
    Queue,
    Disk,
    TcpErrors,
    PressureCpu,
    PressureIo,
    PressureMemory,
}

/// Number of an activity, number of its form.
const KNOWN: &[(u32, u32, Activity)] = &[
    (1, 0x8b, Activity::Cpu),
    (2, 0x8b, Activity::Switches),
    (4, 0x8a, Activity::Swap),
    (5, 0x8a, Activity::Paging),
    (7, 0x8b, Activity::Memory),
    (9, 0x8c, Activity::Queue),
    (11, 0x8c, Activity::Disk),
    (22, 0x8a, Activity::TcpErrors),
    (40, 0x8a, Activity::PressureCpu),
    (41, 0x8a, Activity::PressureIo),
    (42, 0x8a, Activity::PressureMemory),
];

/// Numbers of one CPU, one disk or the machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item<'a> {
    bytes: &'a [u8],
    types: [usize; 3],
}

impl Item<'_> {
    /// A number of 8 bytes, by its place among these.
    pub(super) fn wide(&self, nth: usize) -> Option<u64> {
        (nth < self.types[0]).then(|| u64_at(self.bytes, nth * 8)).flatten()
    }

    /// A `long`.
    pub(super) fn long(&self, nth: usize) -> Option<u64> {
        (nth < self.types[1]).then(|| u64_at(self.bytes, (self.types[0] + nth) * 8)).flatten()
    }

    /// A number of 4 bytes.
    pub(super) fn int(&self, nth: usize) -> Option<u64> {
        let at = (self.types[0] + self.types[1]) * 8 + nth * 4;
        (nth < self.types[2]).then(|| u32_at(self.bytes, at).map(u64::from)).flatten()
    }
}

/// What stands in a file.
#[derive(Debug)]
pub(super) enum Entry<'a> {
    /// At a time, of what, the how manieth.
    Numbers(i64, Activity, usize, Item<'a>),
    /// The machine started: numbers begin anew.
    Restart,
}

/// What is known of a file as a whole.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Read {
    pub(super) records: usize,
    /// Ticks of the kernel per second, which CPU times count.
    pub(super) ticks_per_second: u64,
    /// Activities whose form another release has changed.
    pub(super) of_other_form: usize,
    /// Why it ended before its end.
    pub(super) cut: Option<String>,
}

/// Gives what stands in a file to `see`; the error says why it cannot be read.
pub(super) fn each<'a>(bytes: &'a [u8], see: &mut dyn FnMut(u64, Entry<'a>)) -> Result<Read, String> {
    let header = Header::of(bytes)?;
    let mut file = File { rest: bytes.get(header.records_at..).unwrap_or_default(), header: &header };
    let mut read = Read { ticks_per_second: header.ticks_per_second, ..Read::default() };
    read.of_other_form = header.activities.iter().filter(|known| known.is_of_other_form).count();
    while !file.rest.is_empty() {
        if file.record(see).is_none() {
            read.cut = Some(format!("it ends or is damaged after {} records", read.records));
            break;
        }
        read.records += 1;
    }
    Ok(read)
}

/// An activity that each record has.
#[derive(Debug)]
struct OfFile {
    is: Option<Activity>,
    is_of_other_form: bool,
    count: usize,
    parts: usize,
    has_count: bool,
    item_bytes: usize,
    types: [usize; 3],
}

#[derive(Debug)]
struct Header {
    ticks_per_second: u64,
    record_bytes: usize,
    activities: Vec<OfFile>,
    records_at: usize,
}

impl Header {
    fn of(bytes: &[u8]) -> Result<Header, String> {
        let form = u16::from_le_bytes([bytes.get(2).copied().unwrap_or(0), bytes.get(3).copied().unwrap_or(0)]);
        if !bytes.starts_with(&MAGIC) || form != FORM {
            return Err("a file of sar's daemon of another release or machine".to_owned());
        }
        Header::of_form(bytes).ok_or_else(|| "a file of sar's daemon whose beginning is cut off or damaged".to_owned())
    }

    fn of_form(bytes: &[u8]) -> Option<Header> {
        let header_bytes = usize_at(bytes, 8)?;
        let header = bytes.get(HEADER_AT..HEADER_AT.checked_add(header_bytes)?)?;
        let is_known = types_at(bytes, 16)? == HEADER_TYPES
            && types_at(header, 28)? == ACTIVITY_TYPES
            && types_at(header, 40)? == RECORD_TYPES;
        let long_bytes = *header.get(66)?;
        let (count, activity_bytes, record_bytes) =
            (usize_at(header, 20)?, usize_at(header, 52)?, usize_at(header, 56)?);
        let is_sound =
            count <= ACTIVITIES_MAX && (36..=1_024).contains(&activity_bytes) && (24..=512).contains(&record_bytes);
        // Extra structures behind the header no release writes yet.
        (is_known && is_sound && long_bytes == 8 && u32_at(header, 60)? == 0).then_some(())?;
        let activities_at = HEADER_AT + header_bytes;
        let activity =
            |nth: usize| OfFile::of(bytes.get(activities_at + nth * activity_bytes..)?.get(..activity_bytes)?);
        Some(Header {
            ticks_per_second: u64_at(header, 8)?.max(1),
            record_bytes,
            activities: (0..count).map(activity).collect::<Option<Vec<OfFile>>>()?,
            records_at: activities_at + count * activity_bytes,
        })
    }
}

impl OfFile {
    fn of(bytes: &[u8]) -> Option<OfFile> {
        let (id, form) = (u32_at(bytes, 0)?, u32_at(bytes, 4)?);
        let known = KNOWN.iter().find(|known| known.0 == id);
        let types = types_at(bytes, 24)?;
        let item_bytes = usize_at(bytes, 20)?;
        let is_sound = item_bytes <= ITEM_MAX_BYTES && types.iter().all(|count| *count <= ITEM_MAX_BYTES / 4);
        let numbers_bytes = (types[0] + types[1]) * 8 + types[2] * 4;
        (is_sound && numbers_bytes <= item_bytes).then_some(())?;
        Some(OfFile {
            is: known.filter(|known| known.1 == form).map(|known| known.2),
            is_of_other_form: known.is_some_and(|known| known.1 != form),
            count: usize_at(bytes, 8)?,
            parts: usize_at(bytes, 12)?,
            has_count: u32_at(bytes, 16)? != 0,
            item_bytes,
            types,
        })
    }
}

/// Records, one after the other.
struct File<'a, 'b> {
    rest: &'a [u8],
    header: &'b Header,
}

impl<'a> File<'a, '_> {
    /// Takes a record; `None` where it is not whole.
    fn record(&mut self, see: &mut dyn FnMut(u64, Entry<'a>)) -> Option<()> {
        let record = self.take(self.header.record_bytes)?;
        let time_ns = i64::try_from(u64_at(record, 8)?).ok()?.checked_mul(SECOND_NS)?;
        let has_extra = u32_at(record, 16)? != 0;
        match *record.get(20)? {
            STATISTICS | LAST_STATISTICS => self.statistics(time_ns, see)?,
            RESTART => {
                self.take(4)?;
                see(self.header.ticks_per_second, Entry::Restart);
            }
            COMMENT => drop(self.take(COMMENT_BYTES)?),
            5..=15 => {}
            _ => return None,
        }
        if has_extra { self.extra() } else { Some(()) }
    }

    fn statistics(&mut self, time_ns: i64, see: &mut dyn FnMut(u64, Entry<'a>)) -> Option<()> {
        for activity in &self.header.activities {
            let count = match activity.has_count {
                true => usize_at(self.take(4)?, 0)?,
                false => activity.count,
            };
            let items = count.checked_mul(activity.parts).filter(|items| *items <= ITEMS_MAX)?;
            let bytes = self.take(items * activity.item_bytes)?;
            let Some(is) = activity.is.filter(|_| activity.item_bytes > 0) else { continue };
            for (nth, bytes) in bytes.chunks_exact(activity.item_bytes).enumerate() {
                see(
                    self.header.ticks_per_second,
                    Entry::Numbers(time_ns, is, nth, Item { bytes, types: activity.types }),
                );
            }
        }
        Some(())
    }

    /// Passes over structures that nothing is known of.
    fn extra(&mut self) -> Option<()> {
        loop {
            let described = self.take(EXTRA_BYTES)?;
            let bytes = usize_at(described, 0)?.checked_mul(usize_at(described, 4)?)?;
            self.take(bytes)?;
            if u32_at(described, 8)? == 0 {
                return Some(());
            }
        }
    }

    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(taken)
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn usize_at(bytes: &[u8], at: usize) -> Option<usize> {
    u32_at(bytes, at).and_then(|value| usize::try_from(value).ok())
}

fn types_at(bytes: &[u8], at: usize) -> Option<[usize; 3]> {
    Some([usize_at(bytes, at)?, usize_at(bytes, at + 4)?, usize_at(bytes, at + 8)?])
}
