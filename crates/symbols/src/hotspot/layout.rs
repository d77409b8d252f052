//! The positions of HotSpot's data in each release: JDK 8 has one heap of code, 9 and later several; code begins at a
//! pointer from 9 to 22, before and after at an offset.

use super::memory::{Field, Place, believed};
use super::structs::Structs;
use super::{HotSpotError, scopes};
use crate::elf::ReadAt;

/// Places of fields.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) heaps: Heaps,
    /// From a heap to its memory, and to the map of its segments.
    pub(super) memory: u64,
    pub(super) segments: u64,
    pub(super) log2_segment_bytes: Field,
    pub(super) space_low: Field,
    pub(super) space_high: Field,
    /// What is set aside for it, and may be used later.
    pub(super) space_end: Field,
    /// What lies before each piece of code.
    pub(super) block_bytes: u64,
    pub(super) block_is_used: Field,
    pub(super) blob: Blob,
    pub(super) method: Method,
    /// A release may have them elsewhere: methods that were compiled into others have no frames then.
    pub(super) scopes: Option<scopes::Layout>,
}

/// Where the heaps of code are.
#[derive(Debug)]
pub(super) enum Heaps {
    /// A pointer to an array of them.
    Many { pointer: u64, length: Field, data: Field },
    /// A pointer to the only one.
    One { pointer: u64 },
}

/// A piece of code.
#[derive(Debug)]
pub(super) struct Blob {
    pub(super) name: Field,
    pub(super) frame_words: Field,
    /// From where to where its code reaches.
    pub(super) begin: Place,
    pub(super) end: Place,
    /// Of compiled methods.
    pub(super) method: Field,
    pub(super) compile_id: Field,
    /// So many bytes hold all of these.
    pub(super) bytes: u64,
}

/// From the description of a method to its names.
#[derive(Debug)]
pub(super) struct Method {
    pub(super) constant: Field,
    pub(super) pool: Field,
    pub(super) name_index: Field,
    pub(super) pool_bytes: u64,
    pub(super) pool_holder: Field,
    pub(super) class_name: Field,
    pub(super) symbol_length: Field,
    pub(super) symbol_body: Field,
}

impl Layout {
    pub(super) fn of(structs: &Structs, memory: &dyn ReadAt) -> Result<Layout, HotSpotError> {
        let scopes = scopes::Layout::of(structs, memory).ok();
        Ok(Layout {
            heaps: heaps(structs)?,
            memory: structs.field(&[("CodeHeap", "_memory")])?.place,
            segments: structs.field(&[("CodeHeap", "_segmap")])?.place,
            log2_segment_bytes: structs.field(&[("CodeHeap", "_log2_segment_size")])?,
            space_low: structs.field(&[("VirtualSpace", "_low")])?,
            space_high: structs.field(&[("VirtualSpace", "_high")])?,
            space_end: structs.field(&[("VirtualSpace", "_high_boundary")])?,
            block_bytes: believed(structs.size_of("HeapBlock")?, "HeapBlock")?,
            block_is_used: structs.field(&[("HeapBlock::Header", "_used")])?,
            blob: blob(structs, scopes.as_ref().map_or(0, scopes::Layout::bytes))?,
            method: method(structs)?,
            scopes,
        })
    }
}

fn heaps(structs: &Structs) -> Result<Heaps, HotSpotError> {
    match structs.field(&[("CodeCache", "_heaps")]) {
        Ok(pointer) => Ok(Heaps::Many {
            pointer: pointer.place,
            length: structs.field(&[("GrowableArrayBase", "_len"), ("GenericGrowableArray", "_len")])?,
            data: structs.field(&[("GrowableArray<int>", "_data")])?,
        }),
        Err(_) => Ok(Heaps::One { pointer: structs.field(&[("CodeCache", "_heap")])?.place }),
    }
}

fn blob(structs: &Structs, scope_bytes: u64) -> Result<Blob, HotSpotError> {
    let of = |name| structs.field(&[("CodeBlob", name)]);
    let (begin, end) = match (of("_code_begin"), of("_code_end")) {
        (Ok(begin), Ok(end)) => (Place::Pointer(begin), Place::Pointer(end)),
        _ => (Place::Offset(of("_code_offset")?), Place::Offset(of("_data_offset")?)),
    };
    let name = of("_name")?;
    let frame_words = of("_frame_size")?;
    let method = structs.field(&[("nmethod", "_method"), ("CompiledMethod", "_method")])?;
    let compile_id = structs.field(&[("nmethod", "_compile_id")])?;
    let ends =
        [name, frame_words, method, compile_id, begin.field(), end.field()].map(|field| field.place.saturating_add(8));
    let bytes = believed(ends.into_iter().chain([scope_bytes]).max().unwrap_or_default(), "nmethod")?;
    Ok(Blob { name, frame_words, begin, end, method, compile_id, bytes })
}

fn method(structs: &Structs) -> Result<Method, HotSpotError> {
    Ok(Method {
        constant: structs.field(&[("Method", "_constMethod")])?,
        pool: structs.field(&[("ConstMethod", "_constants")])?,
        name_index: structs.field(&[("ConstMethod", "_name_index")])?,
        pool_bytes: believed(structs.size_of("ConstantPool")?, "ConstantPool")?,
        pool_holder: structs.field(&[("ConstantPool", "_pool_holder")])?,
        class_name: structs.field(&[("Klass", "_name")])?,
        symbol_length: structs.field(&[("Symbol", "_length")])?,
        symbol_body: structs.field(&[("Symbol", "_body[0]"), ("Symbol", "_body")])?,
    })
}
