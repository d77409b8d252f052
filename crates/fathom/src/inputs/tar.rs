//! Tar archives, as `tar` and `kubectl cp` write them: the files in them, in order.

use std::io::{self, Read};

use super::entry::{Entry, Take};

/// A header, and the step in which content is padded.
pub(super) const BLOCK_BYTES: usize = 512;

/// Longest name in a header of its own that is read.
const NAME_MAX_BYTES: u64 = 64 * 1024;

/// Whether a file that begins with `head` is a tar archive.
pub(super) fn is_tar(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar")
}

/// Gives each file to `take`. An archive that is cut ends where it is cut.
pub(super) fn each_file(mut archive: impl Read, take: &mut Take<'_>) -> io::Result<()> {
    let mut long_name = None;
    let mut block = [0_u8; BLOCK_BYTES];
    while archive.read_exact(&mut block).is_ok() && block[0] != 0 {
        let Some(size) = number(&block[124..136]) else {
            return Err(io::Error::other("a header of the tar archive is damaged"));
        };
        let mut content = archive.by_ref().take(size);
        match block[156] {
            b'L' => long_name = Some(gnu_name(&mut content)?),
            b'x' => long_name = pax_path(&mut content)?.or(long_name),
            b'0' | 0 => {
                let name = long_name.take().unwrap_or_else(|| name(&block));
                take(&Entry::new(name, number(&block[136..148]).unwrap_or(0)), &mut content)?;
            }
            _ => long_name = None,
        }
        io::copy(&mut content, &mut io::sink())?;
        let padding = size.next_multiple_of(BLOCK_BYTES as u64).saturating_sub(size);
        io::copy(&mut archive.by_ref().take(padding), &mut io::sink())?;
    }
    Ok(())
}

/// A number in octal digits, or in bytes where the first bit is set. Sizes that no archive has are damage.
fn number(field: &[u8]) -> Option<u64> {
    let value = match field.first()? {
        first if first & 0x80 != 0 => {
            let bytes = field[field.len().saturating_sub(8)..].try_into().ok()?;
            u64::from_be_bytes(bytes)
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

fn name(block: &[u8; BLOCK_BYTES]) -> String {
    match text(&block[345..500]) {
        prefix if prefix.is_empty() => text(&block[..100]),
        prefix => format!("{prefix}/{}", text(&block[..100])),
    }
}

fn gnu_name(content: &mut impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    content.take(NAME_MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(text(&bytes))
}

/// The value of `path` among lines of `LENGTH KEY=VALUE`.
fn pax_path(content: &mut impl Read) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    content.take(NAME_MAX_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let path = text.lines().find_map(|line| line.split_once(' ')?.1.strip_prefix("path="));
    Ok(path.map(str::to_owned))
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
        block[156] = kind;
        block[257..262].copy_from_slice(b"ustar");
        block
    }

    fn file(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = header(name, kind, content.len());
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES), 0);
        bytes
    }

    fn read(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
        let mut found = Vec::new();
        let _ = each_file(archive, &mut |entry, content| {
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes)?;
            found.push((entry.name.clone(), bytes));
            Ok(())
        });
        found
    }

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
            vec![0; 1_024],
        ]
        .concat();
        assert!(is_tar(&archive));
        let expected =
            [("logs/a.log".to_owned(), b"first".to_vec()), (long.clone(), vec![b'y'; 700]), (long, b"third".to_vec())];
        assert_eq!(read(&archive), expected);
        // Whatever is cut or changed, reading ends.
        for at in 0..archive.len() {
            read(&archive[..at]);
            if at % 7 == 0 {
                let mut damaged = archive.clone();
                damaged[at] ^= 0xff;
                read(&damaged);
            }
        }
    }
}
