//! Java code of a running JVM, read from its memory: which method's code is at an address, how large its frames are,
//! and which method an interpreted frame belongs to.
//!
//! HotSpot exports the positions of its data for debuggers: a table of types, fields and offsets (`gHotSpotVMStructs`),
//! the same since JDK 6. With it the code cache is read from outside, without a question to the JVM, which need not be
//! able to answer. Each lookup is for one address. The JVM runs on meanwhile, so inconsistent data are not trusted, and
//! callers that keep an answer check from time to time whether it is still valid.
//!
//! The memory belongs to the process: it is as hostile as a file.

mod code;
mod layout;
mod memory;
mod names;
mod scopes;
mod structs;

use std::sync::Arc;

use crate::elf::{ElfError, ReadAt, exported};
use code::{CodeBlob, Heap};
use layout::Layout;
use names::Names;
use structs::Structs;

pub use crate::jit::Found;

/// Why a JVM cannot be looked into.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HotSpotError {
    /// Its library cannot be read.
    #[error("libjvm.so: {0}")]
    Library(#[from] ElfError),
    /// Another virtual machine, or one that was stripped of it.
    #[error("libjvm.so does not export where HotSpot keeps its code (gHotSpotVMStructs)")]
    NoStructs,
    /// Fields that a later HotSpot has no more.
    #[error("HotSpot does not say where {0} is")]
    NoField(String),
    /// The memory of the process cannot be read.
    #[error("the memory of the JVM cannot be read")]
    NoMemory,
}

/// A JVM that is looked into. A copy knows what the first one has found out.
#[derive(Debug, Clone)]
pub struct HotSpot {
    layout: Arc<Layout>,
    heaps: Vec<Heap>,
    names: Names,
}

impl HotSpot {
    /// Finds out where HotSpot keeps its code. `library` is the file of its `libjvm.so`, of which the byte at `file_offset`
    /// is mapped at `address`; `memory` is that of the process, by address.
    pub fn of(
        library: &dyn ReadAt,
        (address, file_offset): (u64, u64),
        memory: &dyn ReadAt,
    ) -> Result<HotSpot, HotSpotError> {
        let symbols = exported(library, structs::SYMBOLS, (address, file_offset))?;
        let structs = Structs::read(&symbols, memory)?;
        Ok(HotSpot { layout: Arc::new(Layout::of(&structs, memory)?), heaps: Vec::new(), names: Names::default() })
    }

    /// Whether `address` lies where the JVM keeps its code.
    pub fn may_be_code(&self, address: u64) -> bool {
        self.heaps.iter().any(|heap| heap.holds(address))
    }

    /// Looks where the JVM keeps its code, which it knows from early in its start on.
    pub fn find_heaps(&mut self, memory: &dyn ReadAt) {
        if self.heaps.is_empty() {
            self.heaps = code::heaps(&self.layout, memory).unwrap_or_default();
        }
    }

    /// What lies at `address`; `None` where no code is.
    pub fn code_at(&mut self, address: u64, memory: &dyn ReadAt) -> Option<Found> {
        let heap = self.heaps.iter().find(|heap| heap.holds(address))?;
        let piece = heap.blob_at(address, &self.layout, memory)?;
        let name = self.name_of(&piece, memory)?;
        Some(piece.found(name))
    }

    /// The method at this address of the JVM's description of it, as `class.method`.
    pub fn method(&mut self, method: u64, memory: &dyn ReadAt) -> Option<String> {
        self.names.of(method, &self.layout, memory)
    }

    /// The methods that were compiled into the one at `address`, and are at work there, the innermost first; none where the JVM
    /// did not need to know.
    pub fn inlined(&mut self, address: u64, memory: &dyn ReadAt) -> Vec<String> {
        let methods = self.methods_at(address, memory).unwrap_or_default();
        // The last is the method whose code it is.
        let inlined = methods.len().saturating_sub(1);
        methods[..inlined].iter().map_while(|method| self.method(*method, memory)).collect()
    }

    fn methods_at(&self, address: u64, memory: &dyn ReadAt) -> Option<Vec<u64>> {
        let heap = self.heaps.iter().find(|heap| heap.holds(address))?;
        let piece = heap.blob_at(address, &self.layout, memory)?;
        let layout = self.layout.scopes.as_ref()?;
        piece.scopes?.methods_at(address.checked_sub(piece.start)?, layout, memory)
    }

    fn name_of(&mut self, piece: &CodeBlob, memory: &dyn ReadAt) -> Option<String> {
        match piece.method {
            Some(method) => self.method(method, memory),
            None => memory::text(piece.name, memory),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::any;
    use proptest::strategy::Strategy;

    use super::*;
    use crate::hotspot::memory::Field;

    /// Fields of the layouts that there were, each a type and a name; `true` for static ones.
    const FIELDS: [(&str, &str, bool); 31] = [
        ("CodeCache", "_heaps", true),
        ("GrowableArrayBase", "_len", false),
        ("GrowableArray<int>", "_data", false),
        ("CodeHeap", "_memory", false),
        ("CodeHeap", "_segmap", false),
        ("CodeHeap", "_log2_segment_size", false),
        ("VirtualSpace", "_low", false),
        ("VirtualSpace", "_high", false),
        ("VirtualSpace", "_high_boundary", false),
        ("HeapBlock::Header", "_used", false),
        ("CodeBlob", "_name", false),
        ("CodeBlob", "_frame_size", false),
        ("CodeBlob", "_code_offset", false),
        ("CodeBlob", "_data_offset", false),
        ("nmethod", "_method", false),
        ("nmethod", "_compile_id", false),
        ("Method", "_constMethod", false),
        ("ConstMethod", "_constants", false),
        ("ConstMethod", "_name_index", false),
        ("ConstantPool", "_pool_holder", false),
        ("Klass", "_name", false),
        ("Symbol", "_length", false),
        ("Symbol", "_body", false),
        ("CodeCache", "_heap", true),
        ("nmethod", "_scopes_data_begin", false),
        ("nmethod", "_scopes_pcs_offset", false),
        ("nmethod", "_dependencies_offset", false),
        ("nmethod", "_metadata_offset", false),
        ("PcDesc", "_pc_offset", false),
        ("PcDesc", "_scope_decode_offset", false),
        ("Abstract_VM_Version", "_vm_major_version", true),
    ];

    fn hotspot(places: &[(u64, u8)]) -> Result<HotSpot, HotSpotError> {
        let mut structs = Structs::default();
        for ((of, name, is_static), (place, log2_bytes)) in FIELDS.into_iter().zip(places) {
            let place = if is_static { *place } else { *place % 64 };
            structs.put(of, name, Field { place, size_bytes: 1 << log2_bytes });
        }
        ["HeapBlock", "ConstantPool", "PcDesc"].into_iter().for_each(|name| structs.put_size(name, 16));
        let layout = Layout::of(&structs, &Vec::<u8>::new())?;
        Ok(HotSpot { layout: Arc::new(layout), heaps: Vec::new(), names: Names::default() })
    }

    /// Memory whose words mostly point into it.
    fn memory() -> impl Strategy<Value = Vec<u8>> {
        let word = (any::<u64>(), 0..8_u8).prop_map(|(word, kind)| match kind {
            0 => word,
            1 => word % 16,
            2 => 0,
            _ => word % 2048,
        });
        vec(word, 256).prop_map(|words| words.into_iter().flat_map(u64::to_le_bytes).collect())
    }

    proptest::proptest! {
        #[test]
        fn any_memory_is_looked_into(memory in memory(), places in vec((0..2048_u64, 0..4_u8), FIELDS.len()), address in 0..4096_u64) {
            let mut hotspot = hotspot(&places).unwrap();
            hotspot.find_heaps(&memory);
            hotspot.code_at(address, &memory);
            hotspot.inlined(address, &memory);
            hotspot.method(address, &memory);
        }

        #[test]
        fn any_tables_are_read(memory in memory(), symbols: [u16; structs::SYMBOLS.len()]) {
            let _ = Structs::read(&symbols.map(|symbol| Some(u64::from(symbol) % 2048)), &memory);
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        let error = Structs::read(&[None; structs::SYMBOLS.len()], &Vec::<u8>::new()).unwrap_err();
        assert!(error.to_string().contains("gHotSpotVMStructs"), "{error}");
        let error = Layout::of(&Structs::default(), &Vec::<u8>::new()).unwrap_err();
        assert_eq!(error.to_string(), "HotSpot does not say where CodeCache::_heap is");
    }
}
