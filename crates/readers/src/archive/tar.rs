//! Tar archives, as `tar` and `kubectl cp` write them: the files in them, in order.
//!
//! After a damaged header, the next one is searched block by block: a block with a name and the right checksum is a header.

use std::collections::HashSet;
use std::io::{self, Read};

use super::{Content, Lost, Member, Take};

/// A header, and the step in which content is padded.
const BLOCK_BYTES: usize = 512;

/// Longest name in a header of its own that is read.
const NAME_MAX_BYTES: u64 = 64 * 1024;

/// Links that are remembered to see whether they lead to a member.
const LINKS_MAX: usize = 10_000;

type Block = [u8; BLOCK_BYTES];

/// Whether a file that begins with `head` is a tar archive, also one whose first headers are damaged.
pub(super) fn is_tar(head: &[u8]) -> bool {
    let blocks = || head.chunks_exact(BLOCK_BYTES).filter_map(|block| <&Block>::try_from(block).ok());
    blocks().next().is_some_and(|first| has_magic(first) || has_checksum(first))
        || blocks().any(|block| has_magic(block) && has_checksum(block))
}

fn has_magic(block: &Block) -> bool {
    &block[257..262] == b"ustar"
}

/// Whether the sum of its bytes is the one that a header states, as every tar since the first has it.
fn has_checksum(block: &Block) -> bool {
    // The field itself counts as blanks.
    let Some(of_others) = number(&block[148..156]).and_then(|sum| sum.checked_sub(8 * u64::from(b' '))) else {
        return false;
    };
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    sum(&block[..148]) + sum(&block[156..]) == of_others
}

/// Gives each file to `take`.
pub(super) fn each_member(archive: impl Read, take: &mut Take<'_>) -> io::Result<Lost> {
    let mut reading =
        Reading { archive, lost: Lost::default(), names: HashSet::new(), links: Vec::new(), next: Next::default() };
    let mut last = String::new();
    while let Step::Header(block) = reading.header(&last) {
        let Some(name) = reading.member(&block, take)? else { break };
        last = name;
    }
    Ok(reading.end())
}

/// What the headers of their own said of the member that follows.
#[derive(Default)]
struct Next {
    name: Option<String>,
    link: Option<String>,
    size: Option<u64>,
    is_sparse: bool,
}

enum Step {
    Header(Box<Block>),
    End,
}

struct Reading<R> {
    archive: R,
    lost: Lost,
    /// Files that were read.
    names: HashSet<String>,
    /// Links and where they lead.
    links: Vec<(String, String)>,
    next: Next,
}

impl<R: Read> Reading<R> {
    /// The next header, behind `last`.
    fn header(&mut self, last: &str) -> Step {
        match self.block() {
            Ok(Some(block)) if has_checksum(&block) => Step::Header(block),
            Ok(Some(block)) if is_zero(&block) => self.behind_end(last),
            Ok(Some(_)) => self.look_for_header(last, "a damaged header"),
            Ok(None) => {
                self.lost.of_archive(format!("{}: the archive is cut there", behind(last)));
                Step::End
            }
            Err(error) => {
                self.lost.of_archive(format!("{}: the archive is damaged or cut there: {error}", behind(last)));
                Step::End
            }
        }
    }

    /// Behind the mark of the end nothing follows but zeros; or else that was a header, and others follow.
    fn behind_end(&mut self, last: &str) -> Step {
        loop {
            match self.block() {
                Ok(Some(block)) if is_zero(&block) => {}
                Ok(Some(block)) if has_checksum(&block) => {
                    self.lost.of_archive(format!("{}: zeros, in place of a file or as a first end", behind(last)));
                    return Step::Header(block);
                }
                Ok(Some(_)) => return self.look_for_header(last, "zeros, and then what is no header"),
                Ok(None) => return Step::End,
                Err(error) => {
                    self.lost
                        .of_archive(format!("the checksum of the archive is wrong, any file may be damaged: {error}"));
                    return Step::End;
                }
            }
        }
    }

    fn look_for_header(&mut self, last: &str, what: &str) -> Step {
        let mut skipped = 1_u64;
        let found = loop {
            match self.block() {
                Ok(Some(block)) if has_checksum(&block) => break Step::Header(block),
                Ok(Some(_)) => skipped += 1,
                _ => break Step::End,
            }
        };
        let bytes = skipped * BLOCK_BYTES as u64;
        self.lost.of_archive(format!("{}: {what}: {bytes} bytes could not be read", behind(last)));
        self.next = Next::default();
        found
    }

    /// `None` at the end; a part of a block counts as damage.
    fn block(&mut self) -> io::Result<Option<Box<Block>>> {
        let mut block = Box::new([0_u8; BLOCK_BYTES]);
        let mut filled = 0;
        while filled < BLOCK_BYTES {
            match self.archive.read(&mut block[filled..]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(block))
    }

    /// Reads what a header describes; its name, or `None` when nothing can follow.
    fn member(&mut self, block: &Block, take: &mut Take<'_>) -> io::Result<Option<String>> {
        let kind = block[156];
        let header = number(&block[124..136]);
        let is_of_next = matches!(kind, b'L' | b'K' | b'x' | b'g');
        let next = if is_of_next { Next::default() } else { std::mem::take(&mut self.next) };
        let name = next.name.clone().unwrap_or_else(|| name(block));
        let Some(size) = next.size.or(header) else {
            self.lost.of_member(&name, "its header states no size: it is damaged");
            return Ok(Some(name));
        };
        // Links and devices state sizes at times, and have no content.
        let size = if matches!(kind, b'1'..=b'4' | b'6') { 0 } else { size };
        let mut content = Content::of(self.archive.by_ref().take(size));
        match kind {
            b'L' => self.next.name = Some(text(&beginning(&mut content)?)),
            b'K' => self.next.link = Some(text(&beginning(&mut content)?)),
            b'x' => read_pax(&String::from_utf8_lossy(&beginning(&mut content)?), &mut self.next),
            b'0' | b'7' | 0 if !next.is_sparse && !name.ends_with('/') => {
                take(&Member::new(name.clone(), number(&block[136..148]).unwrap_or(0)), &mut content)?;
                self.names.insert(plain(&name));
            }
            b'1' | b'2' => self.links.extend(
                Some((name.clone(), leads_to(&name, kind, &next, block))).filter(|_| self.links.len() < LINKS_MAX),
            ),
            b'5' | b'g' => {}
            b'0' | b'7' | 0 if name.ends_with('/') => {}
            other => self.lost.of_member(&name, described(other)),
        }
        content.rest();
        let (read, _, error) = content.end();
        if read < size {
            let why = error.map_or_else(String::new, |error| format!(" ({error})"));
            let of = if is_of_next { "what is said of the next file" } else { &name };
            self.lost.of_member(of, format!("cut after {read} of {size} bytes{why}, and what follows is lost"));
            return Ok(None);
        }
        let padding = size.next_multiple_of(BLOCK_BYTES as u64) - size;
        // If the padding is cut, the next header reports it.
        let _ = io::copy(&mut self.archive.by_ref().take(padding), &mut io::sink());
        Ok(Some(name))
    }

    /// Links to what was read have lost nothing.
    fn end(mut self) -> Lost {
        for (name, to) in self.links {
            if !self.names.contains(&to) {
                self.lost.of_member(&name, format!("a link to {to}, which was not read from this archive"));
            }
        }
        self.lost
    }
}

fn is_zero(block: &Block) -> bool {
    *block == [0; BLOCK_BYTES]
}

fn behind(last: &str) -> String {
    if last.is_empty() { "at its beginning".to_owned() } else { format!("behind {last}") }
}

fn described(kind: u8) -> String {
    match kind {
        b'3' | b'4' => "a device, not a file".to_owned(),
        b'6' => "a pipe, not a file".to_owned(),
        b'S' | b'0' | b'7' | 0 => "stored with holes, which is not read: unpack it with tar".to_owned(),
        other => format!("of a kind that is not read ({:?})", char::from(other)),
    }
}

/// The name of what a link leads to, as if it were a member.
fn leads_to(name: &str, kind: u8, next: &Next, block: &Block) -> String {
    let to = next.link.clone().unwrap_or_else(|| text(&block[157..257]));
    match name.rsplit_once('/') {
        Some((folder, _)) if kind == b'2' && !to.starts_with('/') => plain(&format!("{folder}/{to}")),
        _ => plain(&to),
    }
}

/// A name without what does not matter in it.
fn plain(name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// A number in octal digits, or in bytes where the first bit is set. Sizes that no archive has are damage.
fn number(field: &[u8]) -> Option<u64> {
    let value = match field.first()? {
        first if first & 0x80 != 0 => {
            let bytes = field[field.len().saturating_sub(8)..].try_into().ok()?;
            u64::from_be_bytes(bytes) & if field.len() > 8 { u64::MAX } else { u64::MAX >> 1 }
        }
        _ => u64::from_str_radix(text(field).trim(), 8).ok()?,
    };
    (value < 1 << 48).then_some(value)
}

/// Text up to the first zero byte.
fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

fn name(block: &Block) -> String {
    // Only POSIX has it; GNU keeps times there.
    match text(&block[345..500]) {
        prefix if prefix.is_empty() || &block[257..263] != b"ustar\0" => text(&block[..100]),
        prefix => format!("{prefix}/{}", text(&block[..100])),
    }
}

fn beginning(content: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    content.take(NAME_MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Lines of `LENGTH KEY=VALUE`.
fn read_pax(text: &str, next: &mut Next) {
    for (key, value) in text.lines().filter_map(|line| line.split_once(' ')?.1.split_once('=')) {
        match key {
            "path" => next.name = Some(value.to_owned()),
            "linkpath" => next.link = Some(value.to_owned()),
            "size" => next.size = value.parse().ok().filter(|size| *size < 1 << 48),
            _ if key.starts_with("GNU.sparse.") => next.is_sparse = true,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header as `tar` writes it.
    fn header(name: &str, kind: u8, size: usize) -> Vec<u8> {
        let mut block = vec![0_u8; BLOCK_BYTES];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
        block[136..148].copy_from_slice(b"14000000000\0");
        block[148..156].fill(b' ');
        block[156] = kind;
        block[257..263].copy_from_slice(b"ustar\0");
        with_checksum(block)
    }

    fn with_checksum(mut block: Vec<u8>) -> Vec<u8> {
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        block
    }

    fn link(name: &str, kind: u8, to: &str) -> Vec<u8> {
        let mut block = header(name, kind, 0);
        block[157..157 + to.len()].copy_from_slice(to.as_bytes());
        with_checksum(block)
    }

    fn file(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = header(name, kind, content.len());
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES), 0);
        bytes
    }

    fn read(archive: &[u8]) -> (Vec<(String, Vec<u8>)>, Vec<String>) {
        let mut found = Vec::new();
        let lost = each_member(archive, &mut |member, content| {
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes)?;
            found.push((member.name.clone(), bytes));
            Ok(())
        });
        (found, lost.unwrap().lines())
    }

    const END: [u8; 1_024] = [0; 1_024];

    #[test]
    fn files_with_short_and_long_names() {
        let long = format!("logs/{}/gc.log", "x".repeat(150));
        let pax = format!("{} path={long}\n", long.len() + 10);
        let archive = [
            file("logs/", b'5', b""),
            file("logs/a.log", b'0', b"first"),
            file("././@LongLink", b'L', format!("{long}\0").as_bytes()),
            file("logs/xxx", b'0', &[b'y'; 700]),
            file("PaxHeader", b'x', pax.as_bytes()),
            file("logs/xxx", b'0', b"third"),
            link("logs/current.log", b'2', "a.log"),
            link("./logs/hard.log", b'1', "logs/a.log"),
            END.to_vec(),
        ]
        .concat();
        assert!(is_tar(&archive));
        let expected =
            [("logs/a.log".to_owned(), b"first".to_vec()), (long.clone(), vec![b'y'; 700]), (long, b"third".to_vec())];
        assert_eq!(read(&archive), (expected.to_vec(), vec![]));
        // Whatever is cut or changed, reading ends, and every difference is reported.
        let files = expected.map(|(name, bytes)| (name, bytes.len()));
        for at in 0..archive.len() {
            let (found, lost) = read(&archive[..at]);
            let found: Vec<_> = found.into_iter().map(|(name, bytes)| (name, bytes.len())).collect();
            // Of the mark of the end one block is enough.
            assert!(!lost.is_empty() || (found == files && at >= archive.len() - BLOCK_BYTES), "cut at {at}");
            if at % 7 == 0 {
                let mut damaged = archive.clone();
                damaged[at] ^= 0xff;
                read(&damaged);
            }
        }
    }

    /// Three files, of which the second is hurt.
    #[test]
    fn each_loss_is_told_and_the_rest_is_read() {
        let around =
            |middle: Vec<u8>| [file("a", b'0', b"first"), middle, file("c", b'0', b"third"), END.to_vec()].concat();
        let of = |name: &str, hurt: fn(&mut Vec<u8>)| {
            let mut bytes = file(name, b'0', b"second");
            hurt(&mut bytes);
            around(bytes)
        };
        for (what, archive, files, says) in [
            ("nothing", of("b", |_| ()), 3, ""),
            ("a name changed", of("b", |bytes| bytes[0] = b'z'), 2, "behind a: a damaged header: 1024 bytes"),
            ("a checksum changed", of("b", |bytes| bytes[150] ^= 1), 2, "behind a: a damaged header"),
            ("a header zeroed", of("b", |bytes| bytes[..512].fill(0)), 2, "behind a: zeros"),
            ("two headers zeroed", of("b", |bytes| bytes.fill(0)), 2, "behind a: zeros"),
            ("no name", of("", |_| ()), 3, ""),
            ("a device", around(header("b", b'3', 0)), 2, "b: a device"),
            ("a pipe", around(header("b", b'6', 0)), 2, "b: a pipe"),
            ("an unknown kind", around(file("b", b'Z', b"x")), 2, "b: of a kind that is not read"),
            ("holes", around(file("b", b'S', b"x")), 2, "b: stored with holes"),
            ("contiguous", around(file("b", b'7', b"x")), 3, ""),
            ("a link to elsewhere", around(link("b", b'2', "/var/log/x")), 2, "b: a link to var/log/x"),
            ("a link to a member", around(link("b", b'1', "./a")), 2, ""),
            ("no end", file("a", b'0', b"first"), 1, "behind a: the archive is cut there"),
            ("content cut", file("a", b'0', &[b'x'; 2_000])[..900].to_vec(), 1, "a: cut after 388 of 2000 bytes"),
        ] {
            let (found, lost) = read(&archive);
            assert_eq!(found.len(), files, "{what}: {found:?}");
            assert!(is_tar(&archive), "{what}");
            match says {
                "" => assert!(lost.is_empty(), "{what}: {lost:?}"),
                says => assert!(lost.len() == 1 && lost[0].starts_with(says), "{what}: {lost:?}"),
            }
        }
        let first_damaged =
            of("b", |_| ())[..].iter().enumerate().map(|(at, byte)| byte ^ u8::from(at < 300)).collect::<Vec<_>>();
        assert!(is_tar(&first_damaged) && read(&first_damaged).0.len() == 2);
    }

    #[test]
    fn a_damaged_compression_is_told() {
        use std::io::Write;
        let archive = [file("a", b'0', b"first"), file("b", b'0', &[b'x'; 5_000]), END.to_vec()].concat();
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&archive).unwrap();
        let packed = packer.finish().unwrap();
        let lost = |bytes: &[u8]| {
            let lost =
                super::super::each_member_of(bytes, &mut |_, content| io::copy(content, &mut io::sink()).map(drop));
            lost.unwrap().lines()
        };
        assert!(lost(&packed).is_empty());
        for at in 0..packed.len() {
            assert!(!lost(&packed[..at]).is_empty(), "cut at {at}");
        }
        let mut wrong = packed.clone();
        let at = wrong.len() - 8;
        wrong[at] ^= 1;
        assert!(lost(&wrong)[0].contains("checksum"), "{:?}", lost(&wrong));
    }
}
