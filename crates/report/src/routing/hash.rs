//! Hash functions that services route by, with the result that the original gives.

use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A hash function of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hash {
    /// `String.hashCode` of Java: a polynomial with base 31 over UTF-16 units, in 32 bits with sign.
    Java,
    /// `new HashCodeBuilder().append(string)` of Apache Commons Lang: 17 · 37 + `String.hashCode`.
    Builder,
    /// `new HashCodeBuilder().append(string.toCharArray())`: a polynomial with base 37.
    BuilderChars,
    /// MurmurHash3 for x86, 32 bits, of the text in UTF-8.
    Murmur3,
    /// XXH3, 64 bits, of the text in UTF-8.
    Xxh3,
    /// FNV-1a, 64 bits, of the text in UTF-8; a seed replaces the offset basis.
    Fnv1a,
    /// The first 64 bits of SHA-256 of the text in UTF-8, after the seed if there is one.
    Sha256,
}

/// All of them by the name that a user writes.
pub(crate) const NAMES: &[(&str, Hash)] = &[
    ("java-hash", Hash::Java),
    ("hash-code-builder", Hash::Builder),
    ("hash-code-builder-chars", Hash::BuilderChars),
    ("murmur3", Hash::Murmur3),
    ("xxh3", Hash::Xxh3),
    ("fnv1a", Hash::Fnv1a),
    ("sha256", Hash::Sha256),
];

impl Hash {
    /// Whether it can be given a seed.
    pub(crate) fn takes_seed(self) -> bool {
        !matches!(self, Hash::Java | Hash::Builder | Hash::BuilderChars)
    }

    /// Whether it has 32 bits.
    pub(crate) fn is_32_bits(self) -> bool {
        !self.takes_seed() || self == Hash::Murmur3
    }

    /// The hash of a text. Java's are numbers with a sign, as routing by them sees them.
    pub(crate) fn of(self, key: &[u16], seed: Option<u64>) -> i128 {
        let bytes = || to_utf8(key);
        match self {
            Hash::Java => i128::from(polynomial(key, 31, 0)),
            Hash::Builder => i128::from((17 * 37_i32).wrapping_add(polynomial(key, 31, 0))),
            Hash::BuilderChars => i128::from(polynomial(key, 37, 17)),
            Hash::Murmur3 => i128::from(murmur3(&bytes(), seed.unwrap_or(0) as u32)),
            Hash::Xxh3 => i128::from(xxh3_64_with_seed(&bytes(), seed.unwrap_or(0))),
            Hash::Fnv1a => i128::from(fnv1a(&bytes(), seed.unwrap_or(FNV_BASIS))),
            Hash::Sha256 => i128::from(sha256(&bytes(), seed)),
        }
    }
}

/// As Java encodes it: half of a surrogate pair becomes a question mark.
fn to_utf8(key: &[u16]) -> Vec<u8> {
    let chars = char::decode_utf16(key.iter().copied()).map(|unit| unit.unwrap_or('?'));
    chars.collect::<String>().into_bytes()
}

fn polynomial(key: &[u16], base: i32, start: i32) -> i32 {
    key.iter().fold(start, |hash, unit| hash.wrapping_mul(base).wrapping_add(i32::from(*unit)))
}

const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

fn fnv1a(bytes: &[u8], basis: u64) -> u64 {
    bytes.iter().fold(basis, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}

fn sha256(bytes: &[u8], seed: Option<u64>) -> u64 {
    let mut digest = Sha256::new();
    if let Some(seed) = seed {
        digest.update(seed.to_be_bytes());
    }
    digest.update(bytes);
    digest.finalize().iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}

/// The published algorithm; no library of it is kept up that has this one variant only.
fn murmur3(bytes: &[u8], seed: u32) -> u32 {
    let scramble = |block: u32| block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let (blocks, tail) = bytes.as_chunks::<4>();
    let mut hash = seed;
    for block in blocks {
        hash ^= scramble(u32::from_le_bytes(*block));
        hash = hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    hash ^= scramble(tail.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)));
    finish_32(hash ^ bytes.len() as u32)
}

/// Spreads each bit over all of them: the last step of MurmurHash3, 32 bits.
pub(crate) fn finish_32(mut hash: u32) -> u32 {
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

/// The same for 64 bits.
pub(crate) fn finish_64(mut hash: u64) -> u64 {
    hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the originals: OpenJDK 17, commons-lang3 3.17.0, and the published test vectors.
    #[test]
    fn hashes_are_those_of_the_originals() {
        for (hash, key, seed, expected) in [
            (Hash::Java, "", None, 0),
            (Hash::Java, "hello", None, 99_162_322),
            (Hash::Java, "The quick brown fox jumps over the lazy dog", None, -609_428_141),
            (Hash::Java, "\u{1f600}x", None, 54_959_989),
            (Hash::Builder, "hello", None, 99_162_322 + 629),
            (Hash::BuilderChars, "", None, 17),
            (Hash::BuilderChars, "ab", None, (17 * 37 + 97) * 37 + 98),
            (Hash::Murmur3, "", None, 0),
            (Hash::Murmur3, "", Some(1), 0x514e_28b7),
            (Hash::Murmur3, "hello", None, 0x248b_fa47),
            (Hash::Murmur3, "hello, world", None, 0x149b_bb7f),
            (Hash::Murmur3, "The quick brown fox jumps over the lazy dog", None, 0x2e4f_f723),
            (Hash::Fnv1a, "", None, 0xcbf2_9ce4_8422_2325),
            (Hash::Fnv1a, "a", None, 0xaf63_dc4c_8601_ec8c),
            (Hash::Fnv1a, "foobar", None, 0x8594_4171_f739_67e8),
            (Hash::Xxh3, "", None, 0x2d06_8005_38d3_94c2),
            (Hash::Sha256, "abc", None, 0xba78_16bf_8f01_cfea),
        ] {
            let units: Vec<u16> = key.encode_utf16().collect();
            assert_eq!(hash.of(&units, seed), expected, "{hash:?} of {key:?} with {seed:?}");
        }
    }

    #[test]
    fn half_a_pair_is_a_question_mark() {
        assert_eq!(to_utf8(&[0xd83d, 0x78]), b"?x");
    }
}
