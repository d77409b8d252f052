//! The encodings of a JFR file: compressed integers and strings, read without ever trusting a length.
//!
//! Integers are little-endian base 128 of at most nine bytes, where the ninth byte is eight raw
//! bits. Almost every byte of a recording is part of one, so [`varint`] decodes without a loop, and
//! [`varints_by`] several at once.

use std::borrow::Cow;

use super::parse_bits::{Bits, Portable};
use super::parse_stops::high_bits;

/// High bit of every byte: set where a compressed integer goes on.
const MORE: u64 = 0x8080_8080_8080_8080;

/// Decodes the compressed integer at `at`; returns it and the offset behind it.
#[inline(always)]
pub(super) fn varint(data: &[u8], at: usize) -> Option<(u64, usize)> {
    varint_by::<Portable>(data, at)
}

/// [`varint`] on a processor of a kind.
#[inline(always)]
pub(super) fn varint_by<B: Bits>(data: &[u8], at: usize) -> Option<(u64, usize)> {
    let first = *data.get(at)?;
    if first < 0x80 {
        return Some((u64::from(first), at + 1));
    }
    match window(data, at) {
        Some(word) => long_varint::<B>(data, at, word),
        None => varint_bytewise(data, at),
    }
}

/// The eight bytes at `at`.
#[inline(always)]
fn window(data: &[u8], at: usize) -> Option<u64> {
    let bytes = data.get(at..at + 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

#[inline(always)]
fn long_varint<B: Bits>(data: &[u8], at: usize, word: u64) -> Option<(u64, usize)> {
    let stop = !word & MORE;
    if stop == 0 {
        let ninth = *data.get(at + 8)?;
        return Some((B::pack(word, !MORE) | u64::from(ninth) << 56, at + 9));
    }
    let length = stop.trailing_zeros() as usize / 8 + 1;
    Some((B::pack(word, VALUE_BITS[(length - 1) & 7]), at + length))
}

/// Decodes as many compressed integers as `slots` has room for; returns the offset behind them.
///
/// The ends of all integers within a block are known at once, so that none has to wait for the one before,
/// and their lengths, which change from event to event, are no branches that the processor could mispredict.
#[inline(always)]
pub(super) fn varints_by<B: Bits>(data: &[u8], mut at: usize, slots: &mut [u64]) -> Option<usize> {
    let mut done = 0;
    loop {
        if let Some(block) = data.get(at..).and_then(<[u8]>::first_chunk) {
            at += varints_in::<B>(block, slots, &mut done);
        }
        // What is left is longer than eight bytes, reaches over the end of the block, or stands at that of the data.
        let Some(slot) = slots.get_mut(done) else { return Some(at) };
        (*slot, at) = varint_by::<B>(data, at)?;
        done += 1;
    }
}

/// Bytes in which integers may end, and those that have to be there for a window at each of them.
const ENDS_BYTES: usize = 32;
const BLOCK_BYTES: usize = ENDS_BYTES + 8;

/// Fills `slots` from `done` on with the integers that end within the block and are not longer than eight bytes.
/// Returns how many bytes they take.
#[inline(always)]
fn varints_in<B: Bits>(block: &[u8; BLOCK_BYTES], slots: &mut [u64], done: &mut usize) -> usize {
    let mut stops = ends(block);
    let mut from = 0;
    for slot in &mut slots[*done..] {
        let last = stops.trailing_zeros() as usize;
        let Some(mask) = VALUE_BITS.get(last.wrapping_sub(from)).filter(|_| stops != 0) else { break };
        // `from` is less than the number of ends, which the compiler sees by the remainder.
        let from_within = from % ENDS_BYTES;
        let word = u64::from_le_bytes(std::array::from_fn(|at| block[from_within + at]));
        *slot = B::pack(word, *mask);
        *done += 1;
        stops &= stops.wrapping_sub(1);
        from = last + 1;
    }
    from
}

/// The bits of a value in an integer of 1 to 8 bytes.
const VALUE_BITS: [u64; 8] = {
    let mut masks = [!MORE; 8];
    let mut bytes = 1;
    while bytes < 8 {
        masks[bytes - 1] = !MORE >> (64 - 8 * bytes);
        bytes += 1;
    }
    masks
};

/// Which of the first bytes of the block end an integer, if none has nine bytes.
#[inline(always)]
fn ends(block: &[u8; BLOCK_BYTES]) -> u32 {
    let (parts, _) = block.as_chunks::<16>();
    !(u32::from(high_bits(&parts[0])) | u32::from(high_bits(&parts[1])) << 16)
}

/// The last bytes of a file are too few for a whole window.
#[cold]
fn varint_bytewise(data: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut value = 0;
    for index in 0..8 {
        let byte = u64::from(*data.get(at + index)?);
        value |= (byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return Some((value, at + index + 1));
        }
    }
    Some((value | u64::from(*data.get(at + 8)?) << 56, at + 9))
}

/// The offset behind `count` compressed integers that start at `at`.
///
/// Counts final bytes eight at a time. Only a nine-byte integer can have a final byte that does not
/// look like one; those are stepped over one by one.
pub(super) fn skip_varints(data: &[u8], mut at: usize, mut count: u64) -> Option<usize> {
    while count >= 8 {
        let stop = !window(data, at)? & MORE;
        let Some(last) = 63_u32.checked_sub(stop.leading_zeros()) else {
            at = varint(data, at)?.1;
            count -= 1;
            continue;
        };
        at += last as usize / 8 + 1;
        count -= u64::from(stop.count_ones());
    }
    for _ in 0..count {
        at = varint(data, at)?.1;
    }
    Some(at)
}

/// Texts are cut to this many bytes (or UTF-16 units). Class paths can be this long, names cannot; and
/// one long text that a hostile file refers to from everywhere must not be copied everywhere.
const MAX_TEXT: usize = 16 << 10;

/// A text as it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Text<'a> {
    /// No text was recorded.
    Null,
    /// The text itself.
    Inline(Cow<'a, str>),
    /// A key of the pool of strings.
    Pooled(u64),
}

/// Decodes the string at `at`; returns it and the offset behind it.
pub(super) fn text(data: &[u8], at: usize) -> Option<(Text<'_>, usize)> {
    let encoding = *data.get(at)?;
    let at = at + 1;
    match encoding {
        0 => Some((Text::Null, at)),
        1 => Some((Text::Inline(Cow::Borrowed("")), at)),
        2 => varint(data, at).map(|(key, end)| (Text::Pooled(key), end)),
        3 => sized(data, at).map(|(bytes, end)| (Text::Inline(String::from_utf8_lossy(cut(bytes))), end)),
        4 => chars(data, at),
        5 => sized(data, at).map(|(bytes, end)| (Text::Inline(latin1(cut(bytes))), end)),
        _ => None,
    }
}

/// The offset behind the string at `at`.
pub(super) fn skip_text(data: &[u8], at: usize) -> Option<usize> {
    let encoding = *data.get(at)?;
    let at = at + 1;
    match encoding {
        0 | 1 => Some(at),
        2 => varint(data, at).map(|(_, end)| end),
        3 | 5 => sized(data, at).map(|(_, end)| end),
        4 => varint(data, at).and_then(|(count, at)| skip_varints(data, at, count)),
        _ => None,
    }
}

fn sized(data: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let (length, at) = varint(data, at)?;
    let end = at.checked_add(usize::try_from(length).ok()?)?;
    Some((data.get(at..end)?, end))
}

fn cut(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(MAX_TEXT)]
}

fn latin1(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(ascii) if bytes.is_ascii() => Cow::Borrowed(ascii),
        _ => Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
    }
}

fn chars(data: &[u8], at: usize) -> Option<(Text<'_>, usize)> {
    let (count, mut at) = varint(data, at)?;
    // Each char takes a byte at least, so a count beyond the data is damage, not a reason to allocate.
    let count = usize::try_from(count).ok().filter(|count| *count <= data.len() - at)?;
    let kept = count.min(MAX_TEXT);
    let mut units = Vec::with_capacity(kept);
    for _ in 0..kept {
        let (unit, end) = varint(data, at)?;
        units.push(unit as u16);
        at = end;
    }
    let end = skip_varints(data, at, (count - kept) as u64)?;
    Some((Text::Inline(Cow::Owned(String::from_utf16_lossy(&units))), end))
}

#[cfg(test)]
mod tests {
    use super::super::parse_bits::{Work, on_this_processor};
    use super::*;

    struct ReadMany<'a>(&'a [u8], &'a mut [u64]);

    impl Work for ReadMany<'_> {
        type Result = Option<usize>;

        #[inline(always)]
        fn run<B: Bits>(self) -> Option<usize> {
            varints_by::<B>(self.0, 0, self.1)
        }
    }

    fn encode(value: u64) -> Vec<u8> {
        let mut rest = value;
        let mut bytes = Vec::new();
        while rest > 0x7f && bytes.len() < 8 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
        bytes
    }

    #[test]
    fn varints_survive_every_length_and_padding() {
        let values = (0..64).flat_map(|bit| [1_u64 << bit, (1 << bit) - 1, u64::MAX >> bit]);
        for value in values {
            let bytes = encode(value);
            for padding in [0, 20] {
                let mut data = bytes.clone();
                data.resize(bytes.len() + padding, 0xff);
                assert_eq!(varint(&data, 0), Some((value, bytes.len())), "{value:#x} +{padding}");
            }
            assert_eq!(varint(&bytes[..bytes.len() - 1], 0), None, "{value:#x} cut");
        }
    }

    #[test]
    fn skipping_agrees_with_decoding() {
        let values: Vec<u64> = (0..400_u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (i % 64)).collect();
        let data: Vec<u8> = values.iter().flat_map(|value| encode(*value)).collect();
        let mut at = 0;
        for count in 0..values.len() {
            assert_eq!(skip_varints(&data, 0, count as u64), Some(at), "{count}");
            at = varint(&data, at).expect("complete").1;
        }
        assert_eq!(skip_varints(&data, 0, u64::MAX), None);
    }

    #[test]
    fn many_at_once_agree_with_one_by_one() {
        // Under Miri, which interprets, each takes seconds.
        let (counts_apart, seeds_apart) = if cfg!(miri) { (7, 19) } else { (1, 1) };
        let counts = (0..60_usize).step_by(counts_apart);
        for (count, seed) in counts.flat_map(|count| (0..20).step_by(seeds_apart).map(move |seed| (count, seed))) {
            let number = |i: usize| (i as u64 + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let values: Vec<u64> = (0..count).map(|i| number(i) >> (number(i + 7) % (1 + seed * 63 / 19))).collect();
            let mut data: Vec<u8> = values.iter().flat_map(|value| encode(*value)).collect();
            let end = data.len();
            let mut slots = vec![0; count];
            let mut check = |data: &[u8], expected: Option<usize>| {
                assert_eq!(varints_by::<Portable>(data, 0, &mut slots), expected, "{count} {seed}");
                assert!(expected.is_none() || slots == values, "{count} {seed}");
                slots.fill(0);
                assert_eq!(on_this_processor(ReadMany(data, &mut slots)), expected, "{count} {seed}");
                assert!(expected.is_none() || slots == values, "{count} {seed}");
            };
            check(&data, Some(end));
            check(&data[..end.saturating_sub(1)], if count == 0 { Some(0) } else { None });
            data.resize(end + 50, 0xff);
            check(&data, Some(end));
        }
    }

    #[test]
    fn texts_of_every_encoding() {
        let cases: [(&[u8], Option<Text<'_>>); 10] = [
            (&[0], Some(Text::Null)),
            (&[1], Some(Text::Inline("".into()))),
            (&[2, 0x81, 1], Some(Text::Pooled(129))),
            (&[3, 3, b'a', 0xc3, 0xa9], Some(Text::Inline("aé".into()))),
            (&[4, 2, b'a', 0x96, 0x9c, 1], Some(Text::Inline("a世".into()))),
            (&[5, 2, b'a', 0xe9], Some(Text::Inline("aé".into()))),
            (&[3, 9, b'a'], None),
            (&[4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], None),
            (&[6], None),
            (&[], None),
        ];
        for (data, expected) in cases {
            let decoded = text(data, 0);
            assert_eq!(decoded.as_ref().map(|(text, _)| text), expected.as_ref(), "{data:?}");
            assert_eq!(decoded.map(|(_, end)| end), skip_text(data, 0).filter(|_| expected.is_some()), "{data:?}");
        }
    }
}
