//! A parser of DEFLATE (RFC 1951) that says where each block's table and body are, and which tokens it holds.

use std::ops::Range;

use crate::bits::{code_window, number};

/// Symbols of literals and lengths, the end of a block among them.
pub const LITERALS: usize = 286;
pub const DISTANCES: usize = 30;
pub const END_OF_BLOCK: u16 = 256;
const FIRST_LENGTH: u16 = 257;
const LONGEST_CODE: usize = 15;
/// The order in which lengths of the codes for code lengths are stored (RFC 1951, 3.2.7).
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Stored,
    Fixed,
    Dynamic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    Literal(u8),
    Match { length: u16, distance: u16 },
    End,
}

/// One block; places are numbers of bits from the stream's beginning.
#[derive(Debug)]
pub struct Block {
    pub kind: Kind,
    /// Everything by which the Huffman codes are given; empty but for `Kind::Dynamic`.
    pub table: Range<usize>,
    pub body: Range<usize>,
    pub tokens: Vec<Token>,
    /// Length of the code of each symbol; 0 where it has none.
    pub literal_lengths: Vec<u8>,
}

/// The blocks of a stream, or `None` if it is none.
pub fn blocks(bytes: &[u8]) -> Option<Vec<Block>> {
    let mut blocks = Vec::new();
    let mut at = 0;
    loop {
        let is_last = number(bytes, at, 1) == 1;
        let block = match number(bytes, at + 1, 2) {
            0 => stored(bytes, at + 3)?,
            1 => compressed(bytes, Kind::Fixed, at + 3..at + 3, &fixed())?,
            2 => dynamic(bytes, at + 3)?,
            _ => return None,
        };
        at = block.body.end;
        blocks.push(block);
        if is_last {
            return Some(blocks);
        }
    }
}

fn stored(bytes: &[u8], at: usize) -> Option<Block> {
    let header = at.div_ceil(8);
    let length = number(bytes, 8 * header, 16) as usize;
    let content = bytes.get(header + 4..header + 4 + length)?;
    Some(Block {
        kind: Kind::Stored,
        table: at..at,
        body: 8 * (header + 4)..8 * (header + 4 + length),
        tokens: content.iter().copied().map(Token::Literal).collect(),
        literal_lengths: Vec::new(),
    })
}

fn dynamic(bytes: &[u8], start: usize) -> Option<Block> {
    let literals = 257 + number(bytes, start, 5) as usize;
    let distances = 1 + number(bytes, start + 5, 5) as usize;
    let mut at = start + 14;
    let mut of_lengths = [0; 19];
    for symbol in ORDER.iter().take(4 + number(bytes, start + 10, 4) as usize) {
        of_lengths[*symbol] = number(bytes, at, 3) as u8;
        at += 3;
    }
    let code = Huffman::new(&of_lengths);
    let mut lengths = Vec::new();
    while lengths.len() < literals + distances {
        let (symbol, after) = code.read(bytes, at)?;
        let (length, times, extra) = match symbol {
            16 => (*lengths.last()?, 3 + number(bytes, after, 2), 2),
            17 => (0, 3 + number(bytes, after, 3), 3),
            18 => (0, 11 + number(bytes, after, 7), 7),
            length => (length as u8, 1, 0),
        };
        lengths.extend((0..times).map(|_| length));
        at = after + extra;
    }
    let (literal, distance) = lengths.split_at(literals);
    compressed(bytes, Kind::Dynamic, start..at, &(literal.to_vec(), distance.to_vec()))
}

fn fixed() -> (Vec<u8>, Vec<u8>) {
    let literal = (0..288).map(|symbol| match symbol {
        0..144 | 280.. => 8,
        144..256 => 9,
        _ => 7,
    });
    (literal.collect(), vec![5; DISTANCES])
}

fn compressed(bytes: &[u8], kind: Kind, table: Range<usize>, lengths: &(Vec<u8>, Vec<u8>)) -> Option<Block> {
    let (literal, distance) = (Huffman::new(&lengths.0), Huffman::new(&lengths.1));
    let mut tokens = Vec::new();
    let mut at = table.end;
    loop {
        let (symbol, after) = literal.read(bytes, at)?;
        at = after;
        match symbol {
            END_OF_BLOCK => break,
            FIRST_LENGTH.. => {
                let (least, bits) = length_of(symbol)?;
                let length = least + number(bytes, at, bits) as u16;
                let (symbol, after) = distance.read(bytes, at + bits as usize)?;
                let (least, bits) = distance_of(symbol)?;
                tokens.push(Token::Match { length, distance: least + number(bytes, after, bits) as u16 });
                at = after + bits as usize;
            }
            byte => tokens.push(Token::Literal(byte as u8)),
        }
    }
    tokens.push(Token::End);
    Some(Block { kind, body: table.end..at, table, tokens, literal_lengths: lengths.0.clone() })
}

/// The shortest match of a symbol, and how many bits are added.
pub fn length_of(symbol: u16) -> Option<(u16, u32)> {
    match symbol.checked_sub(FIRST_LENGTH)? {
        28 => Some((258, 0)),
        step @ 0..8 => Some((3 + step, 0)),
        step @ 8..28 => {
            let bits = u32::from(step / 4 - 1);
            Some((3 + ((4 + step % 4) << bits), bits))
        }
        _ => None,
    }
}

/// The shortest distance of a symbol, and how many bits are added.
pub fn distance_of(symbol: u16) -> Option<(u16, u32)> {
    match symbol {
        0..4 => Some((1 + symbol, 0)),
        4..30 => {
            let bits = u32::from(symbol / 2 - 1);
            Some((1 + ((2 + symbol % 2) << bits), bits))
        }
        _ => None,
    }
}

/// The symbol of a match's length, and that of its distance.
pub fn symbols_of(length: u16, distance: u16) -> (u16, u16) {
    let longest = |of: fn(u16) -> Option<(u16, u32)>, symbols: Range<u16>, wanted: u16| {
        symbols.rev().find(|symbol| of(*symbol).is_some_and(|(least, _)| least <= wanted)).unwrap_or_default()
    };
    (longest(length_of, FIRST_LENGTH..LITERALS as u16, length), longest(distance_of, 0..DISTANCES as u16, distance))
}

/// A canonical code, read bit by bit.
struct Huffman {
    count: [u16; LONGEST_CODE + 1],
    symbols: Vec<u16>,
}

impl Huffman {
    fn new(lengths: &[u8]) -> Self {
        let mut symbols: Vec<u16> =
            (0..lengths.len() as u16).filter(|symbol| lengths[usize::from(*symbol)] > 0).collect();
        symbols.sort_by_key(|symbol| (lengths[usize::from(*symbol)], *symbol));
        let mut count = [0; LONGEST_CODE + 1];
        lengths.iter().filter(|length| **length > 0).for_each(|length| count[usize::from(*length)] += 1);
        Self { count, symbols }
    }

    fn read(&self, bytes: &[u8], at: usize) -> Option<(u16, usize)> {
        if at >= 8 * bytes.len() {
            return None;
        }
        let window = u32::from(code_window(bytes, at));
        let (mut first, mut index) = (0, 0);
        for (length, count) in self.count.iter().enumerate().skip(1) {
            let code = window >> (LONGEST_CODE - length);
            let count = u32::from(*count);
            if code < first + count {
                return Some((self.symbols[(index + code - first) as usize], at + length));
            }
            index += count;
            first = (first + count) << 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_those_of_the_standard() {
        assert_eq!(
            [257, 264, 265, 284, 285].map(length_of),
            [Some((3, 0)), Some((10, 0)), Some((11, 1)), Some((227, 5)), Some((258, 0))]
        );
        assert_eq!([0, 3, 4, 29].map(distance_of), [Some((1, 0)), Some((4, 0)), Some((5, 1)), Some((24_577, 13))]);
        assert_eq!(symbols_of(257, 24_576), (284, 28));
    }
}
