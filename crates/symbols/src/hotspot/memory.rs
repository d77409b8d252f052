//! The memory of a JVM, read by the positions of fields.

use super::HotSpotError;
use crate::elf::ReadAt;

/// The most of a type that is read to get some of its fields, in bytes. The largest has 352.
const LARGEST_TYPE_BYTES: u64 = 4096;
/// Longer names are cut: generated classes have some.
pub(super) const LONGEST_NAME_BYTES: u64 = 1024;
/// What is read of a text at once: most are shorter.
const PIECE_BYTES: u64 = 64;
const PAGE_BYTES: u64 = 4096;

/// A field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    /// Where it is from the beginning of its type; of a static one, its address.
    pub(super) place: u64,
    /// How many bytes it has.
    pub(super) size_bytes: u8,
}

/// Where a part of a piece of code is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    /// A field has its address.
    Pointer(Field),
    /// A field has its distance from where the piece begins.
    Offset(Field),
}

impl Place {
    pub(super) fn field(self) -> Field {
        match self {
            Place::Pointer(field) | Place::Offset(field) => field,
        }
    }

    /// In the piece at `at`, whose description begins with `bytes`.
    pub(super) fn address(self, at: u64, bytes: &[u8]) -> Option<u64> {
        match self {
            Place::Pointer(field) => value(bytes, field),
            Place::Offset(field) => at.checked_add(value(bytes, field)?),
        }
    }
}

/// A size, if it can be that of a type.
pub(super) fn believed(size_bytes: u64, name: &str) -> Result<u64, HotSpotError> {
    let is_plausible = (1..=LARGEST_TYPE_BYTES).contains(&size_bytes);
    is_plausible.then_some(size_bytes).ok_or_else(|| HotSpotError::NoField(name.to_owned()))
}

/// The word at an address.
pub(super) fn word(memory: &dyn ReadAt, address: u64) -> Option<u64> {
    let bytes = memory.read_at(address, 8)?;
    Some(u64::from_le_bytes(bytes.as_ref().try_into().ok()?))
}

/// A field of a type of which the bytes were read.
pub(super) fn value(bytes: &[u8], field: Field) -> Option<u64> {
    let from = usize::try_from(field.place).ok()?;
    let field = bytes.get(from..from.checked_add(field.size_bytes.into())?)?;
    let mut word = [0; 8];
    word[..field.len()].copy_from_slice(field);
    Some(u64::from_le_bytes(word))
}

/// A field of the type at an address.
pub(super) fn number(memory: &dyn ReadAt, address: u64, field: Field) -> Option<u64> {
    let bytes = memory.read_at(address.checked_add(field.place)?, field.size_bytes.into())?;
    value(&bytes, Field { place: 0, ..field })
}

/// The text at an address, up to its zero; `None` without one, or when there is none.
pub(super) fn text(address: u64, memory: &dyn ReadAt) -> Option<String> {
    let mut text = Vec::new();
    let mut at = address;
    while address != 0 && text.len() < LONGEST_NAME_BYTES as usize {
        // Not beyond a page, behind which nothing may be.
        let size_bytes = PIECE_BYTES.min(PAGE_BYTES - at % PAGE_BYTES);
        let piece = memory.read_at(at, size_bytes as usize)?;
        let end = memchr::memchr(0, &piece);
        text.extend_from_slice(&piece[..end.unwrap_or(piece.len())]);
        if end.is_some() {
            return String::from_utf8(text).ok().filter(|text| !text.is_empty());
        }
        at = at.checked_add(size_bytes)?;
    }
    None
}
