//! Zip archives: the files in them, by the directory at the end, and by their own headers where the directory has not all of them.

use std::collections::HashSet;
use std::io::{self, BufRead, Read, Seek, SeekFrom};

use flate2::bufread::DeflateDecoder;

use super::{Content, Lost, Member, Take};

/// The directory is looked for in so many bytes at the end: it ends with a comment of at most 64 KB.
const END_MAX_BYTES: u64 = 66 * 1024;

/// A directory that is larger is not read, in bytes.
const DIRECTORY_MAX_BYTES: u64 = 16 << 20;

const LOCAL: &[u8; 4] = b"PK\x03\x04";
const CENTRAL: &[u8; 4] = b"PK\x01\x02";
const END: &[u8; 4] = b"PK\x05\x06";
/// May stand before the lengths and the checksum behind a file's content.
const BEHIND: &[u8; 4] = b"PK\x07\x08";

const LOCAL_BYTES: usize = 30;
const CENTRAL_BYTES: usize = 46;

/// Flags: the content is encrypted; lengths and checksum stand behind the content.
const ENCRYPTED: u16 = 1;
const LENGTHS_BEHIND: u16 = 1 << 3;

/// Whether a file that begins with `head` is a zip archive.
pub(super) fn is_zip(head: &[u8]) -> bool {
    head.starts_with(LOCAL)
}

/// Gives each file to `take`.
pub(super) fn each_member(mut archive: impl BufRead + Seek, take: &mut Take<'_>) -> io::Result<Lost> {
    let mut lost = Lost::default();
    let mut listed = HashSet::new();
    let is_whole = match directory(&mut archive) {
        Ok(directory) => read_listed(&mut archive, &directory, &mut listed, &mut lost, take)?,
        Err(error) => {
            lost.of_archive(error.to_string());
            false
        }
    };
    if !is_whole {
        read_unlisted(&mut archive, &listed, &mut lost, take)?;
    }
    Ok(lost)
}

/// Reads what the directory has; whether it has all that it states.
fn read_listed(
    archive: &mut (impl BufRead + Seek),
    directory: &Directory,
    listed: &mut HashSet<u64>,
    lost: &mut Lost,
    take: &mut Take<'_>,
) -> io::Result<bool> {
    let (mut rest, mut files) = (&directory.bytes[..], 0_u16);
    while let Some((file, next)) = central(rest) {
        rest = next;
        files = files.wrapping_add(1);
        listed.insert(file.at);
        read_file(archive, &file, lost, take)?;
    }
    let is_whole = rest.is_empty() && files == directory.files;
    if !is_whole {
        let (stated, bytes) = (directory.files, rest.len());
        lost.of_archive(format!(
            "its directory states {stated} entries and has {files}, {bytes} bytes of it are damaged: the others are looked for"
        ));
    }
    Ok(is_whole)
}

/// Reads files one behind the other by their own headers, but for those that the directory had.
fn read_unlisted(
    archive: &mut (impl BufRead + Seek),
    listed: &HashSet<u64>,
    lost: &mut Lost,
    take: &mut Take<'_>,
) -> io::Result<()> {
    let mut at = 0;
    while let Some(file) = local(archive, at)? {
        let end = match listed.contains(&at) {
            true => end_of(archive, &file)?,
            false => read_file(archive, &file, lost, take)?,
        };
        match end {
            Some(end) if end > at => at = end,
            _ => {
                lost.of_archive(format!("what follows {} is not found", file.name));
                break;
            }
        }
    }
    Ok(())
}

/// A file as the directory or its own header describes it.
struct Described {
    name: String,
    flags: u16,
    method: u16,
    changed_s: u64,
    crc: u32,
    packed_bytes: u64,
    bytes: u64,
    /// Whether checksum and lengths are stated, and do not stand behind the content.
    has_lengths: bool,
    /// Where its own header is.
    at: u64,
}

/// Where its content begins; none if its header is not there.
fn content_of(archive: &mut (impl BufRead + Seek), at: u64) -> io::Result<Option<u64>> {
    let header = header_at(archive, at)?;
    let lengths = header.map(|header| u64::from(u16_at(&header, 26)) + u64::from(u16_at(&header, 28)));
    Ok(lengths.map(|lengths| at + LOCAL_BYTES as u64 + lengths))
}

fn header_at(archive: &mut (impl BufRead + Seek), at: u64) -> io::Result<Option<[u8; LOCAL_BYTES]>> {
    archive.seek(SeekFrom::Start(at))?;
    let mut header = [0_u8; LOCAL_BYTES];
    Ok((archive.read_exact(&mut header).is_ok() && header.starts_with(LOCAL)).then_some(header))
}

/// Reads one file and says what is wrong with it. Where the next one begins, if that is known.
fn read_file(
    archive: &mut (impl BufRead + Seek),
    file: &Described,
    lost: &mut Lost,
    take: &mut Take<'_>,
) -> io::Result<Option<u64>> {
    let Some(from) = content_of(archive, file.at)? else {
        lost.of_member(&file.name, "its header is damaged or cut");
        return Ok(None);
    };
    archive.seek(SeekFrom::Start(from))?;
    if file.name.ends_with('/') {
        return Ok(Some(from + file.packed_bytes));
    }
    if file.flags & ENCRYPTED != 0 {
        lost.of_member(&file.name, "encrypted");
        return Ok(Some(from + file.packed_bytes));
    }
    let member = Member::new(file.name.clone(), file.changed_s);
    let packed_bytes = if file.has_lengths { file.packed_bytes } else { u64::MAX };
    let (end, used_bytes) = match file.method {
        0 if file.has_lengths => {
            let mut content = Content::of(archive.by_ref().take(packed_bytes));
            take(&member, &mut content)?;
            content.rest();
            (content.end(), packed_bytes)
        }
        8 => {
            let mut unpacker = DeflateDecoder::new(archive.by_ref().take(packed_bytes));
            let mut content = Content::of(&mut unpacker);
            take(&member, &mut content)?;
            content.rest();
            (content.end(), unpacker.total_in())
        }
        other => {
            lost.of_member(&file.name, format!("packed by method {other}, which is not read: unpack it with unzip"));
            return Ok(file.has_lengths.then_some(from + file.packed_bytes));
        }
    };
    check(archive, file, end, from + used_bytes, lost)
}

/// Compares what was read with what is stated. Where the next file begins.
fn check(
    archive: &mut (impl BufRead + Seek),
    file: &Described,
    (bytes, crc, error): (u64, u32, Option<io::Error>),
    end: u64,
    lost: &mut Lost,
) -> io::Result<Option<u64>> {
    let (stated, next) = match file.has_lengths {
        true => ((file.crc, file.bytes), Some(end)),
        false => behind(archive, end)?.map_or(((crc, bytes), None), |(crc, bytes, next)| ((crc, bytes), Some(next))),
    };
    match error {
        Some(error) => lost.of_member(&file.name, format!("damaged after {bytes} bytes ({error})")),
        None if bytes < stated.1 => lost.of_member(&file.name, format!("cut after {bytes} of {} bytes", stated.1)),
        None if (crc, bytes) != stated => lost.of_member(&file.name, "its checksum is wrong: it is damaged"),
        None if next.is_none() => lost.of_member(&file.name, "its end is cut"),
        None => {}
    }
    Ok(next)
}

/// Checksum, length and end of what stands behind a content whose header states neither.
fn behind(archive: &mut (impl BufRead + Seek), at: u64) -> io::Result<Option<(u32, u64, u64)>> {
    archive.seek(SeekFrom::Start(at))?;
    let mut bytes = [0_u8; 16];
    if archive.read_exact(&mut bytes).is_err() {
        return Ok(None);
    }
    let skip = if bytes.starts_with(BEHIND) { 4 } else { 0 };
    Ok(Some((u32_at(&bytes, skip), u64::from(u32_at(&bytes, skip + 8)), at + skip as u64 + 12)))
}

/// Where a file that was read already ends.
fn end_of(archive: &mut (impl BufRead + Seek), file: &Described) -> io::Result<Option<u64>> {
    if file.has_lengths {
        return Ok(content_of(archive, file.at)?.map(|from| from + file.packed_bytes));
    }
    read_file(archive, file, &mut Lost::default(), &mut |_, _| Ok(()))
}

/// What a file's own header says; none if none is there.
fn local(archive: &mut (impl BufRead + Seek), at: u64) -> io::Result<Option<Described>> {
    let Some(header) = header_at(archive, at)? else { return Ok(None) };
    let mut name = Vec::new();
    archive.by_ref().take(u64::from(u16_at(&header, 26))).read_to_end(&mut name)?;
    // The directory has the same fields two bytes further on.
    let file = described(&header[4..], &name);
    Ok(Some(Described { at, has_lengths: file.flags & LENGTHS_BEHIND == 0, ..file }))
}

/// The directory, and how many entries it should have.
struct Directory {
    bytes: Vec<u8>,
    files: u16,
}

fn directory(archive: &mut (impl BufRead + Seek)) -> io::Result<Directory> {
    let damaged = || io::Error::other("it has no directory: it is cut or damaged, and files are looked for without");
    let length = archive.seek(SeekFrom::End(0))?;
    let from = length.saturating_sub(END_MAX_BYTES);
    archive.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    archive.by_ref().take(END_MAX_BYTES).read_to_end(&mut tail)?;
    let end = (0..tail.len().saturating_sub(21)).rev().find(|at| tail[*at..].starts_with(END)).ok_or_else(damaged)?;
    let (size, at) = (u64::from(u32_at(&tail, end + 12)), u64::from(u32_at(&tail, end + 16)));
    if size > DIRECTORY_MAX_BYTES || at.saturating_add(size) > length {
        return Err(io::Error::other("its directory is damaged or larger than this reads: unpack it with unzip"));
    }
    archive.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    archive.by_ref().take(size).read_to_end(&mut bytes)?;
    Ok(Directory { bytes, files: u16_at(&tail, end + 10) })
}

/// The first file of a directory, and the rest of it.
fn central(directory: &[u8]) -> Option<(Described, &[u8])> {
    if !directory.starts_with(CENTRAL) || directory.len() < CENTRAL_BYTES {
        return None;
    }
    let length = |at: usize| usize::from(u16_at(directory, at));
    let name = directory.get(CENTRAL_BYTES..CENTRAL_BYTES + length(28))?;
    let file = Described { at: u64::from(u32_at(directory, 42)), ..described(&directory[6..], name) };
    Some((file, directory.get(CENTRAL_BYTES + length(28) + length(30) + length(32)..)?))
}

/// The fields that both kinds of headers have in one order.
fn described(fields: &[u8], name: &[u8]) -> Described {
    Described {
        name: String::from_utf8_lossy(name).into_owned(),
        flags: u16_at(fields, 2),
        method: u16_at(fields, 4),
        changed_s: seconds(u16_at(fields, 8), u16_at(fields, 6)),
        crc: u32_at(fields, 10),
        packed_bytes: u64::from(u32_at(fields, 14)),
        bytes: u64::from(u32_at(fields, 18)),
        has_lengths: true,
        at: 0,
    }
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
    use std::io::Write;

    use flate2::{Compression, Crc, write::DeflateEncoder};

    use super::*;

    fn packed(content: &[u8]) -> Vec<u8> {
        let mut packer = DeflateEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(content).unwrap();
        packer.finish().unwrap()
    }

    fn crc(content: &[u8]) -> u32 {
        let mut crc = Crc::new();
        crc.update(content);
        crc.sum()
    }

    /// What the two headers of a file have in common.
    fn fields(name: &str, flags: u16, method: u16, (crc, packed_bytes, bytes): (u32, u32, u32)) -> Vec<u8> {
        let parts = [20, flags, method, 0x6000, 0x5d76].map(u16::to_le_bytes).concat();
        let lengths = [crc, packed_bytes, bytes].map(u32::to_le_bytes).concat();
        [parts, lengths, (name.len() as u16).to_le_bytes().to_vec(), vec![0; 2]].concat()
    }

    /// An archive of two packed files and a plain one, as `zip` writes it; the second with its lengths behind it.
    fn archive() -> Vec<u8> {
        let (mut bytes, mut directory) = (Vec::new(), Vec::new());
        for (name, flags, method, content) in [
            ("logs/gc.log", 0, 8_u16, &[b'y'; 5_000][..]),
            ("b.txt", LENGTHS_BEHIND, 8, b"streamed"),
            ("a.txt", 0, 0, b"plain"),
        ] {
            let stored = if method == 8 { packed(content) } else { content.to_vec() };
            let stated = (crc(content), stored.len() as u32, content.len() as u32);
            let is_behind = flags & LENGTHS_BEHIND != 0;
            directory.extend([&CENTRAL[..], &[20, 3], &fields(name, flags, method, stated), &[0; 10]].concat());
            directory.extend((bytes.len() as u32).to_le_bytes());
            directory.extend(name.as_bytes());
            bytes.extend(
                [&LOCAL[..], &fields(name, flags, method, if is_behind { (0, 0, 0) } else { stated })].concat(),
            );
            bytes.extend([name.as_bytes(), &stored].concat());
            if is_behind {
                bytes.extend([&BEHIND[..], &[stated.0, stated.1, stated.2].map(u32::to_le_bytes).concat()].concat());
            }
        }
        let at = bytes.len() as u32;
        bytes.extend_from_slice(&directory);
        bytes.extend([&END[..], &[0; 4], &3_u16.to_le_bytes(), &3_u16.to_le_bytes()].concat());
        bytes.extend([directory.len() as u32, at].map(u32::to_le_bytes).concat());
        bytes.extend_from_slice(&[0; 2]);
        bytes
    }

    fn read(archive: &[u8]) -> (Vec<(String, usize)>, Vec<String>) {
        let mut found = Vec::new();
        let lost = each_member(io::Cursor::new(archive), &mut |member, content| {
            let mut bytes = Vec::new();
            content.take(1 << 20).read_to_end(&mut bytes)?;
            found.push((member.name.clone(), bytes.len()));
            Ok(())
        });
        (found, lost.map_or_else(|error| vec![error.to_string()], |lost| lost.lines()))
    }

    fn whole() -> Vec<(String, usize)> {
        [("logs/gc.log", 5_000), ("b.txt", 8), ("a.txt", 5)].map(|(name, bytes)| (name.to_owned(), bytes)).to_vec()
    }

    #[test]
    fn packed_and_plain_files() {
        let archive = archive();
        assert!(is_zip(&archive));
        assert_eq!(read(&archive), (whole(), vec![]));
        assert_eq!(seconds(0x5d76, 0x6000), 1_795_348_800);
        for at in 0..archive.len() {
            let (found, lost) = read(&archive[..at]);
            // Of the comment's length nothing depends.
            assert!(at >= archive.len() - 2 || !lost.is_empty(), "cut at {at}: {found:?}");
            let mut damaged = archive.clone();
            damaged[at] ^= 0xff;
            read(&damaged);
        }
    }

    #[test]
    fn each_loss_is_told_and_the_rest_is_read() {
        let archive = archive();
        let hurt = |at: usize, with: u8| {
            let mut bytes = archive.clone();
            bytes[at] ^= with;
            read(&bytes)
        };
        let find = |what: &[u8], nth: usize| {
            let mut places = (0..archive.len()).filter(|at| archive[*at..].starts_with(what));
            places.nth(nth).unwrap()
        };
        let plain = find(b"plain", 0);
        let (found, lost) = hurt(plain, 1);
        assert_eq!((found, &lost[..]), (whole(), &["a.txt: its checksum is wrong: it is damaged".to_owned()][..]));
        // Of a directory that breaks off, and of none at all.
        for (at, with) in [(find(CENTRAL, 1), 1), (archive.len() - 12, 1), (find(END, 0), 1)] {
            let (mut found, lost) = hurt(at, with);
            found.sort_by_key(|(name, _)| whole().iter().position(|(other, _)| other == name));
            assert!(found == whole() && lost.len() == 1, "{at}: {found:?} {lost:?}");
        }
        let (found, lost) = hurt(find(CENTRAL, 0) + 8, 1);
        assert_eq!((found.len(), &lost[..]), (2, &["logs/gc.log: encrypted".to_owned()][..]));
        let (found, lost) = hurt(find(CENTRAL, 2) + 10, 9);
        assert!(found.len() == 2 && lost[0].starts_with("a.txt: packed by method 9"), "{lost:?}");
        let (found, lost) = hurt(0, 1);
        assert!(found.len() == 2 && lost[0].starts_with("logs/gc.log: its header is damaged"), "{lost:?}");
    }
}
