//! Text in UTF-16, as `>` of Windows PowerShell writes it: recognised by its byte order mark, and read as UTF-8.

use std::io::{self, Read};

/// UTF-16 in which the bytes of each unit are in the order of x86, and in the other.
const LITTLE_ENDIAN: [u8; 2] = [0xff, 0xfe];
const BIG_ENDIAN: [u8; 2] = [0xfe, 0xff];

/// How much is decoded at once.
const BLOCK_BYTES: u64 = 64 * 1024;

/// One unit of two bytes.
type Unit = fn([u8; 2]) -> u16;

/// Whether text begins with a mark of UTF-16.
pub(crate) fn is_marked(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|mark| unit_of(*mark).is_some())
}

fn unit_of(mark: [u8; 2]) -> Option<Unit> {
    match mark {
        LITTLE_ENDIAN => Some(u16::from_le_bytes),
        BIG_ENDIAN => Some(u16::from_be_bytes),
        _ => None,
    }
}

/// Gives text in UTF-16 as UTF-8, and everything else as it is.
pub(crate) struct Utf8<R> {
    source: R,
    /// None of what is given as it is, and before its beginning was read.
    unit: Option<Unit>,
    is_begun: bool,
    /// Bytes that were read and make no whole character yet.
    units: Vec<u8>,
    /// Bytes to give, and how many of them were given.
    ready: Vec<u8>,
    given: usize,
}

impl<R: Read> Utf8<R> {
    pub(crate) fn of(source: R) -> Utf8<R> {
        Utf8 { source, unit: None, is_begun: false, units: Vec::new(), ready: Vec::new(), given: 0 }
    }

    /// Looks for the mark.
    fn begin(&mut self) -> io::Result<()> {
        self.source.by_ref().take(2).read_to_end(&mut self.ready)?;
        self.is_begun = true;
        self.unit = self.ready.first_chunk().and_then(|mark| unit_of(*mark));
        if self.unit.is_some() {
            self.ready.clear();
        }
        Ok(())
    }

    /// Decodes the next block; false at the end.
    fn decode(&mut self, unit: Unit) -> io::Result<bool> {
        self.given = 0;
        self.ready.clear();
        let read = self.source.by_ref().take(BLOCK_BYTES).read_to_end(&mut self.units)?;
        let mut whole = self.units.len() / 2 * 2;
        let is_first_half = |pair: &[u8]| (0xd800..0xdc00).contains(&unit([pair[0], pair[1]]));
        if read > 0 && whole >= 2 && is_first_half(&self.units[whole - 2..whole]) {
            whole -= 2;
        }
        let units = self.units[..whole].chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        for character in char::decode_utf16(units) {
            let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
            self.ready.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        self.units.drain(..whole);
        Ok(read > 0 || !self.ready.is_empty())
    }
}

impl<R: Read> Read for Utf8<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if !self.is_begun {
            self.begin()?;
        }
        while self.given == self.ready.len() {
            let Some(unit) = self.unit else { return self.source.read(into) };
            if !self.decode(unit)? {
                return Ok(0);
            }
        }
        let count = (&self.ready[self.given..]).read(into)?;
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(bytes).collect()
    }

    fn read(bytes: &[u8]) -> String {
        let mut text = Vec::new();
        Utf8::of(bytes).read_to_end(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn both_orders_of_bytes_are_read() {
        for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            assert!(is_marked(&written("", bytes)));
            assert_eq!(read(&written("höher 🜚\n", bytes)), "höher 🜚\n");
        }
    }

    #[test]
    fn half_a_character_is_replaced_and_half_a_unit_left_out() {
        let mut cut = written("a🜚", u16::to_le_bytes);
        cut.truncate(cut.len() - 1);
        assert_eq!(read(&cut), "a\u{fffd}");
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for text in ["", "x", "2026-01-01 of more than one read", "\u{feff}2026"] {
            assert!(!is_marked(text.as_bytes()));
            assert_eq!(read(text.as_bytes()), text);
        }
    }

    #[test]
    fn characters_that_lie_in_two_blocks_are_whole() {
        for shift in ["", "a"] {
            let text = format!("{shift}{}", "🜚".repeat(BLOCK_BYTES as usize / 2));
            assert!(read(&written(&text, u16::to_le_bytes)) == text);
        }
    }
}
