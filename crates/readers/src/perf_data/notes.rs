//! What the kernel notes beside samples: mappings, names of threads, losses. Knows no evidence.

use linux_perf_event_reader::{Endianness, RecordType};

use crate::bytes::{Bytes, until_zero};
use crate::perf_data::records::Record;
use crate::perf_data::sample::two_ids;

/// A piece of a file in the memory of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapped {
    pub(super) end: u64,
    pub(super) file_offset: u64,
    pub(super) path: Vec<u8>,
    pub(super) file: Known,
    /// Whether code may run in it; perf also notes other memory where it copies stacks.
    pub(super) is_code: bool,
}

/// What perf noted of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Known {
    BuildId(Vec<u8>),
    Inode { major: u32, minor: u32, inode: u64 },
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Note {
    /// A process got a mapping; the kernel's own have the pid -1.
    Map { pid: i32, start: u64, mapped: Mapped },
    /// A thread got a name.
    Name { pid: i32, tid: i32, name: Vec<u8> },
    /// So many samples could not be written.
    Lost(u64),
}

/// What is noted of a file, in bytes.
const FILE_BYTES: usize = 24;

impl Note {
    /// Reads the body of a record, if it is of these kinds and whole.
    pub(super) fn parse(record: &Record<'_>, endian: Endianness) -> Option<Note> {
        /// A BPF program did not want the samples: nothing was lost.
        const BY_BPF: u16 = 1 << 15;
        let mut fields = Bytes::new(record.body, endian);
        match RecordType(record.kind) {
            RecordType::MMAP => mapping(fields, record.misc, |_| Some(Known::Nothing)),
            RecordType::MMAP2 => mapping(fields, record.misc, |fields| {
                let file = file(fields.take(FILE_BYTES)?, record.misc, endian);
                let _protection_and_flags = fields.u64()?;
                file
            }),
            RecordType::COMM => {
                let (pid, tid) = two_ids(&mut fields)?;
                Some(Note::Name { pid, tid, name: until_zero(fields.rest()).to_vec() })
            }
            RecordType::LOST => {
                let _event = fields.u64()?;
                fields.u64().map(Note::Lost)
            }
            RecordType::LOST_SAMPLES if record.misc & BY_BPF == 0 => fields.u64().map(Note::Lost),
            _ => None,
        }
    }
}

/// Where it is, how long, and where in the file it begins; what `file` reads of the file; its path.
fn mapping<'a>(mut fields: Bytes<'a>, misc: u16, file: impl FnOnce(&mut Bytes<'a>) -> Option<Known>) -> Option<Note> {
    const OF_DATA: u16 = 1 << 13;
    let (pid, _) = two_ids(&mut fields)?;
    let (start, length, file_offset) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let end = start.checked_add(length).filter(|_| length > 0)?;
    let file = file(&mut fields)?;
    let path = until_zero(fields.rest()).to_vec();
    let mapped = Mapped { end, file_offset, path, file, is_code: misc & OF_DATA == 0 };
    Some(Note::Map { pid, start, mapped })
}

/// The build id, or else the inode.
fn file(bytes: &[u8], misc: u16, endian: Endianness) -> Option<Known> {
    const HAS_BUILD_ID: u16 = 1 << 14;
    const BUILD_ID_AT: usize = 4;
    if misc & HAS_BUILD_ID != 0 {
        let (length, id) = (usize::from(*bytes.first()?), bytes.get(BUILD_ID_AT..)?);
        // No id is longer than its place.
        return Some(id.get(..length).map_or(Known::Nothing, |id| Known::BuildId(id.to_vec())));
    }
    let mut numbers = Bytes::new(bytes, endian);
    Some(Known::Inode { major: numbers.u32()?, minor: numbers.u32()?, inode: numbers.u64()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILD_ID: u16 = 1 << 14;

    /// A mapping with a build id of `length` bytes.
    fn with_build_id(length: u8) -> Vec<u8> {
        let ids = [7_u32, 8].map(u32::to_le_bytes).concat();
        let place = [0x1000_u64, 0x2000, 0x3000].map(u64::to_le_bytes).concat();
        let id: Vec<u8> = (1..=20).collect();
        [&ids[..], &place, &[length, 0, 0, 0], &id, &[0; 8], b"/lib/libc.so\0rest"].concat()
    }

    fn parse(kind: RecordType, misc: u16, body: &[u8]) -> Option<Note> {
        Note::parse(&Record { kind: kind.0, misc, body }, Endianness::LittleEndian)
    }

    fn known(body: &[u8], misc: u16) -> Known {
        let Some(Note::Map { pid: 7, start: 0x1000, mapped }) = parse(RecordType::MMAP2, misc, body) else {
            panic!("a mapping")
        };
        assert_eq!((mapped.end, mapped.file_offset, &mapped.path[..]), (0x3000, 0x3000, &b"/lib/libc.so"[..]));
        mapped.file
    }

    #[test]
    fn a_build_id_is_as_long_as_it_says_but_not_longer_than_its_place() {
        assert_eq!(known(&with_build_id(20), BUILD_ID), Known::BuildId((1..=20).collect()));
        assert_eq!(known(&with_build_id(3), BUILD_ID), Known::BuildId(vec![1, 2, 3]));
        assert_eq!(known(&with_build_id(21), BUILD_ID), Known::Nothing);
        assert_eq!(known(&with_build_id(255), BUILD_ID), Known::Nothing);
    }

    #[test]
    fn without_a_build_id_it_is_the_inode() {
        let inode = u64::from_le_bytes([5, 6, 7, 8, 9, 10, 11, 12]);
        let (major, minor) = (u32::from_le_bytes([20, 0, 0, 0]), u32::from_le_bytes([1, 2, 3, 4]));
        assert_eq!(known(&with_build_id(20), 0), Known::Inode { major, minor, inode });
    }

    #[test]
    fn what_is_cut_is_no_note() {
        let path_at = with_build_id(20).len() - b"/lib/libc.so\0rest".len();
        for end in 0..path_at {
            assert_eq!(parse(RecordType::MMAP2, BUILD_ID, &with_build_id(20)[..end]), None, "{end}");
        }
        assert_eq!(parse(RecordType::COMM, 0, &[0; 7]), None);
        assert_eq!(parse(RecordType::LOST, 0, &[0; 15]), None);
    }

    #[test]
    fn names_and_losses() {
        let name = [&[7_u32, 8].map(u32::to_le_bytes).concat()[..], b"main\0\0\0\0"].concat();
        assert_eq!(parse(RecordType::COMM, 0, &name), Some(Note::Name { pid: 7, tid: 8, name: b"main".to_vec() }));
        let two = [1_u64, 9].map(u64::to_le_bytes).concat();
        assert_eq!(parse(RecordType::LOST, 0, &two), Some(Note::Lost(9)));
        assert_eq!(parse(RecordType::LOST_SAMPLES, 0, &two), Some(Note::Lost(1)));
        assert_eq!(parse(RecordType::LOST_SAMPLES, 1 << 15, &two), None);
    }
}
