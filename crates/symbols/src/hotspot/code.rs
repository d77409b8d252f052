//! The heaps of code, and the piece at an address.

use super::layout::{Heaps, Layout};
use super::memory::{number, text, value, word};
use super::scopes::Scopes;
use crate::elf::ReadAt;
use crate::jit::{Found, JitKind};

/// HotSpot has three.
const MOST_HEAPS: u64 = 16;
/// A map of segments that leads back further is not followed: the largest piece of code has some thousand segments.
const MOST_STEPS: usize = 4096;
/// Of a segment in the map, that nothing is there.
const FREE: u8 = 0xff;
/// What HotSpot calls a compiled method.
const METHODS: [&str; 2] = ["nmethod", "native nmethod"];
const LARGEST_FRAME_WORDS: u64 = 1 << 17;

/// A heap of code, in segments of which a map says how far back their piece begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heap {
    low: u64,
    end: u64,
    /// Where it says up to where it is used now.
    used_place: u64,
    segments: u64,
    log2_segment_bytes: u32,
}

/// A piece of code as it was found.
pub(super) struct CodeBlob {
    pub(super) start: u64,
    size_bytes: u32,
    /// Where its name is.
    pub(super) name: u64,
    /// Where its method is, of compiled ones.
    pub(super) method: Option<u64>,
    kind: JitKind,
    frame_bytes: u32,
    compile_id: u64,
    /// Of compiled methods, what the compiler left of those that it compiled into them.
    pub(super) scopes: Option<Scopes>,
}

/// Where the heaps are; `None` as long as the JVM has none.
pub(super) fn heaps(layout: &Layout, memory: &dyn ReadAt) -> Option<Vec<Heap>> {
    let addresses: Vec<u64> = match &layout.heaps {
        Heaps::One { pointer } => vec![word(memory, *pointer)?],
        Heaps::Many { pointer, length, data } => {
            let array = word(memory, *pointer).filter(|array| *array != 0)?;
            let count = number(memory, array, *length)?.min(MOST_HEAPS);
            let data = number(memory, array, *data)?;
            (0..count).map_while(|index| word(memory, data.checked_add(index * 8)?)).collect()
        }
    };
    Some(addresses.into_iter().filter_map(|address| heap(address, layout, memory)).collect())
}

fn heap(address: u64, layout: &Layout, memory: &dyn ReadAt) -> Option<Heap> {
    let space = address.checked_add(layout.memory)?;
    let low = number(memory, space, layout.space_low)?;
    let end = number(memory, space, layout.space_end)?;
    let used_place = space.checked_add(layout.space_high.place)?;
    let segments = number(memory, address.checked_add(layout.segments)?, layout.space_low)?;
    let log2_segment_bytes = number(memory, address, layout.log2_segment_bytes)?;
    let log2_segment_bytes = u32::try_from(log2_segment_bytes).ok().filter(|log2| (4..=16).contains(log2))?;
    Some(Heap { low, end, used_place, segments, log2_segment_bytes })
}

impl Heap {
    pub(super) fn holds(&self, address: u64) -> bool {
        (self.low..self.end).contains(&address)
    }

    /// The piece of code at an address.
    pub(super) fn blob_at(&self, address: u64, layout: &Layout, memory: &dyn ReadAt) -> Option<CodeBlob> {
        word(memory, self.used_place).filter(|used| address < *used)?;
        let block = self.block_at(address, memory)?;
        let size_bytes = usize::try_from(layout.block_bytes + layout.blob.bytes).ok()?;
        let bytes = memory.read_at(block, size_bytes)?;
        let (header, blob) = bytes.split_at_checked(usize::try_from(layout.block_bytes).ok()?)?;
        let is_used = value(header, layout.block_is_used)? != 0;
        let at = block.checked_add(layout.block_bytes)?;
        let piece = piece(at, blob, layout, memory).filter(|_| is_used)?;
        piece.has(address).then_some(piece)
    }

    /// Where the block around an address begins.
    fn block_at(&self, address: u64, memory: &dyn ReadAt) -> Option<u64> {
        let mut segment = address.checked_sub(self.low)? >> self.log2_segment_bytes;
        for _ in 0..MOST_STEPS {
            let back = memory.read_at(self.segments.checked_add(segment)?, 1)?[0];
            match back {
                0 => return self.low.checked_add(segment << self.log2_segment_bytes),
                FREE => return None,
                back => segment = segment.checked_sub(back.into())?,
            }
        }
        None
    }
}

fn piece(at: u64, bytes: &[u8], layout: &Layout, memory: &dyn ReadAt) -> Option<CodeBlob> {
    let blob = &layout.blob;
    let (start, end) = (blob.begin.address(at, bytes)?, blob.end.address(at, bytes)?);
    let size_bytes = u32::try_from(end.checked_sub(start)?).ok()?;
    let name = value(bytes, blob.name)?;
    let says = text(name, memory)?;
    let is_method = METHODS.contains(&says.as_str());
    let kind = match says.as_str() {
        _ if is_method => JitKind::Method,
        "Interpreter" => JitKind::Interpreter,
        _ => JitKind::Stub,
    };
    let frame_words = value(bytes, blob.frame_words)?;
    let frame_bytes = if frame_words <= LARGEST_FRAME_WORDS { frame_words as u32 * 8 } else { 0 };
    let method = if is_method { Some(value(bytes, blob.method)?) } else { None };
    let compile_id = if is_method { value(bytes, blob.compile_id)? } else { 0 };
    let scopes = layout.scopes.as_ref().filter(|_| is_method).and_then(|layout| Scopes::of(at, bytes, layout));
    Some(CodeBlob { start, size_bytes, name, method, kind, frame_bytes, compile_id, scopes })
}

impl CodeBlob {
    fn has(&self, address: u64) -> bool {
        address.checked_sub(self.start).is_some_and(|distance| distance < self.size_bytes.into())
    }

    pub(super) fn found(self, name: String) -> Found {
        Found {
            start: self.start,
            size_bytes: self.size_bytes,
            name,
            kind: self.kind,
            frame_bytes: self.frame_bytes,
            stamp: (self.compile_id, self.method.unwrap_or(self.name)),
        }
    }
}
