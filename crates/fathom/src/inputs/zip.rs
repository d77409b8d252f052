//! Zip archives: the files in them, by the directory at the end.

use std::io::{self, Read, Seek, SeekFrom};

use flate2::read::DeflateDecoder;

use super::entry::{Entry, Take};

/// The directory is looked for in so many bytes at the end: it ends with a comment of at most 64 KB.
const END_MAX_BYTES: u64 = 66 * 1024;

/// A directory that is larger is not read, in bytes.
const DIRECTORY_MAX_BYTES: u64 = 16 << 20;

const LOCAL: &[u8; 4] = b"PK\x03\x04";
const CENTRAL: &[u8; 4] = b"PK\x01\x02";
const END: &[u8; 4] = b"PK\x05\x06";

/// Whether a file that begins with `head` is a zip archive.
pub(super) fn is_zip(head: &[u8]) -> bool {
    head.starts_with(LOCAL)
}

/// Gives each file to `take`.
pub(super) fn each_file(mut archive: impl Read + Seek, take: &mut Take<'_>) -> io::Result<()> {
    let directory = directory(&mut archive)?;
    let mut rest = &directory[..];
    while let Some((file, next)) = central(rest) {
        rest = next;
        if file.name.ends_with('/') {
            continue;
        }
        archive.seek(SeekFrom::Start(file.at))?;
        let mut local = [0_u8; 30];
        archive.read_exact(&mut local)?;
        let skip = u64::from(u16_at(&local, 26)) + u64::from(u16_at(&local, 28));
        archive.seek(SeekFrom::Current(skip as i64))?;
        let mut packed = archive.by_ref().take(file.packed_bytes);
        let entry = Entry::new(file.name, file.changed_s);
        match file.method {
            0 => take(&entry, &mut packed)?,
            8 => take(&entry, &mut DeflateDecoder::new(packed))?,
            other => return Err(io::Error::other(format!("{}: packed by method {other}, not deflate", entry.name))),
        }
    }
    Ok(())
}

/// A file as the directory describes it.
struct Described {
    name: String,
    method: u16,
    changed_s: u64,
    packed_bytes: u64,
    at: u64,
}

fn directory(archive: &mut (impl Read + Seek)) -> io::Result<Vec<u8>> {
    let damaged = || io::Error::other("the zip archive has no directory: it is cut or damaged");
    let length = archive.seek(SeekFrom::End(0))?;
    let from = length.saturating_sub(END_MAX_BYTES);
    archive.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    archive.by_ref().take(END_MAX_BYTES).read_to_end(&mut tail)?;
    let end = (0..tail.len().saturating_sub(21)).rev().find(|at| tail[*at..].starts_with(END)).ok_or_else(damaged)?;
    let (size, at) = (u64::from(u32_at(&tail, end + 12)), u64::from(u32_at(&tail, end + 16)));
    if size > DIRECTORY_MAX_BYTES || at.saturating_add(size) > length {
        return Err(io::Error::other("the zip archive is larger than this reads: unpack it first"));
    }
    archive.seek(SeekFrom::Start(at))?;
    let mut directory = Vec::new();
    archive.by_ref().take(size).read_to_end(&mut directory)?;
    Ok(directory)
}

/// The first file of a directory, and the rest of it.
fn central(directory: &[u8]) -> Option<(Described, &[u8])> {
    if !directory.starts_with(CENTRAL) || directory.len() < 46 {
        return None;
    }
    let length = |at: usize| usize::from(u16_at(directory, at));
    let name = directory.get(46..46 + length(28))?;
    let file = Described {
        name: String::from_utf8_lossy(name).into_owned(),
        method: u16_at(directory, 10),
        changed_s: seconds(u16_at(directory, 14), u16_at(directory, 12)),
        packed_bytes: u64::from(u32_at(directory, 20)),
        at: u64::from(u32_at(directory, 42)),
    };
    Some((file, directory.get(46 + length(28) + length(30) + length(32)..)?))
}

/// A date and time of MS-DOS, which has no zone and is taken as UTC, in seconds since the epoch.
fn seconds(date: u16, time: u16) -> u64 {
    let part = |value: u16, from: u16, bits: u16| i8::try_from((value >> from) & ((1 << bits) - 1)).unwrap_or(0);
    let year = 1980 + i16::try_from(date >> 9).unwrap_or(0);
    let date = jiff::civil::Date::new(year, part(date, 5, 4), part(date, 0, 5)).ok();
    let clock = jiff::civil::Time::new(part(time, 11, 5), part(time, 5, 6), part(time, 0, 5).saturating_mul(2), 0).ok();
    let zoned =
        date.zip(clock).and_then(|(date, clock)| date.to_datetime(clock).to_zoned(jiff::tz::TimeZone::UTC).ok());
    zoned.and_then(|zoned| u64::try_from(zoned.timestamp().as_second()).ok()).unwrap_or(0)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// An archive of one packed and one plain file, as `zip` writes it.
    fn archive() -> Vec<u8> {
        let mut packer = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&[b'y'; 5_000]).unwrap();
        let packed = packer.finish().unwrap();
        let (mut bytes, mut directory) = (Vec::new(), Vec::new());
        for (name, method, content) in [("logs/gc.log", 8_u16, &packed[..]), ("a.txt", 0, b"plain")] {
            let at = bytes.len() as u32;
            let mut fields = Vec::new();
            for part in [20, 0, method, 0x6000, 0x5d76] {
                fields.extend_from_slice(&part.to_le_bytes());
            }
            for part in [0, content.len() as u32, 0] {
                fields.extend_from_slice(&part.to_le_bytes());
            }
            fields.extend_from_slice(&(name.len() as u16).to_le_bytes());
            bytes.extend_from_slice(LOCAL);
            bytes.extend_from_slice(&fields);
            bytes.extend_from_slice(&[0; 2]);
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(content);
            directory.extend_from_slice(CENTRAL);
            directory.extend_from_slice(&[20, 3]);
            directory.extend_from_slice(&fields);
            directory.extend_from_slice(&[0; 12]);
            directory.extend_from_slice(&at.to_le_bytes());
            directory.extend_from_slice(name.as_bytes());
        }
        let at = bytes.len() as u32;
        bytes.extend_from_slice(&directory);
        bytes.extend_from_slice(END);
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(&(directory.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&at.to_le_bytes());
        bytes.extend_from_slice(&[0; 2]);
        bytes
    }

    fn read(archive: &[u8]) -> Vec<(String, usize)> {
        let mut found = Vec::new();
        let _ = each_file(io::Cursor::new(archive), &mut |entry, content| {
            let mut bytes = Vec::new();
            content.take(1 << 20).read_to_end(&mut bytes)?;
            found.push((entry.name.clone(), bytes.len()));
            Ok(())
        });
        found
    }

    #[test]
    fn packed_and_plain_files() {
        let archive = archive();
        assert!(is_zip(&archive));
        assert_eq!(read(&archive), [("logs/gc.log".to_owned(), 5_000), ("a.txt".to_owned(), 5)]);
        assert_eq!(seconds(0x5d76, 0x6000), 1_795_348_800);
        for at in 0..archive.len() {
            read(&archive[..at]);
            let mut damaged = archive.clone();
            damaged[at] ^= 0xff;
            read(&damaged);
        }
    }
}
