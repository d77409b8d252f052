//! The table that HotSpot exports for debuggers: the size of each type and the position of each field.

use rustc_hash::FxHashMap;

use super::HotSpotError;
use super::memory::{Field, text, word};
use crate::elf::ReadAt;

/// What `libjvm.so` exports: pointers to tables, and what lies where in an entry of them.
pub(super) const SYMBOLS: [&str; 12] = [
    "gHotSpotVMStructs",
    "gHotSpotVMStructEntryArrayStride",
    "gHotSpotVMStructEntryTypeNameOffset",
    "gHotSpotVMStructEntryFieldNameOffset",
    "gHotSpotVMStructEntryTypeStringOffset",
    "gHotSpotVMStructEntryIsStaticOffset",
    "gHotSpotVMStructEntryOffsetOffset",
    "gHotSpotVMStructEntryAddressOffset",
    "gHotSpotVMTypes",
    "gHotSpotVMTypeEntryArrayStride",
    "gHotSpotVMTypeEntryTypeNameOffset",
    "gHotSpotVMTypeEntrySizeOffset",
];

/// Ten times what HotSpot has.
const MOST_ENTRIES: u64 = 10_000;
const LARGEST_STRIDE: u64 = 256;

/// What the tables say.
#[derive(Debug, Default)]
pub(super) struct Structs {
    fields: FxHashMap<(String, String), Field>,
    sizes: FxHashMap<String, u64>,
}

impl Structs {
    /// Reads them; `symbols` are the addresses of [`SYMBOLS`].
    pub(super) fn read(symbols: &[Option<u64>; SYMBOLS.len()], memory: &dyn ReadAt) -> Result<Structs, HotSpotError> {
        if symbols.contains(&None) {
            return Err(HotSpotError::NoStructs);
        }
        let words: Option<Vec<u64>> = symbols.iter().map(|symbol| word(memory, (*symbol)?)).collect();
        let words = words.ok_or(HotSpotError::NoMemory)?;
        let (fields, types) = words.split_at(8);
        let mut structs = Structs::default();
        structs.read_fields(fields, memory).ok_or(HotSpotError::NoMemory)?;
        structs.read_types(types, memory).ok_or(HotSpotError::NoMemory)?;
        Ok(structs)
    }

    fn read_fields(&mut self, words: &[u64], memory: &dyn ReadAt) -> Option<()> {
        let &[table, stride, type_name, field_name, type_text, is_static, offset, address] = words else { return None };
        for entry in entries(table, stride) {
            let at = |place: u64| entry.checked_add(place).and_then(|at| word(memory, at));
            let Some(of_type) = text(at(type_name)?, memory) else { break };
            let name = text(at(field_name)?, memory).unwrap_or_default();
            let is_static = at(is_static)? as u32 != 0;
            let size_bytes = size_of_type(&text(at(type_text)?, memory).unwrap_or_default());
            let place = at(if is_static { address } else { offset })?;
            self.fields.insert((of_type, name), Field { place, size_bytes });
        }
        Some(())
    }

    fn read_types(&mut self, words: &[u64], memory: &dyn ReadAt) -> Option<()> {
        let &[table, stride, type_name, size] = words else { return None };
        for entry in entries(table, stride) {
            let at = |place: u64| entry.checked_add(place).and_then(|at| word(memory, at));
            let Some(name) = text(at(type_name)?, memory) else { break };
            self.sizes.insert(name, at(size)?);
        }
        Some(())
    }

    #[cfg(test)]
    pub(super) fn put(&mut self, of_type: &str, name: &str, field: Field) {
        self.fields.insert((of_type.to_owned(), name.to_owned()), field);
    }

    #[cfg(test)]
    pub(super) fn put_size(&mut self, name: &str, size_bytes: u64) {
        self.sizes.insert(name.to_owned(), size_bytes);
    }

    /// The first of these fields that there is; each is a type and a name.
    pub(super) fn field(&self, any: &[(&str, &str)]) -> Result<Field, HotSpotError> {
        let of =
            |(of_type, name): &(&str, &str)| self.fields.get(&((*of_type).to_owned(), (*name).to_owned())).copied();
        let missing = || HotSpotError::NoField(any.first().map_or(String::new(), |(of, name)| format!("{of}::{name}")));
        any.iter().find_map(of).ok_or_else(missing)
    }

    /// How many bytes a type has.
    pub(super) fn size_of(&self, name: &str) -> Result<u64, HotSpotError> {
        self.sizes.get(name).copied().ok_or_else(|| HotSpotError::NoField(name.to_owned()))
    }
}

fn entries(table: u64, stride: u64) -> impl Iterator<Item = u64> {
    let count = if (1..=LARGEST_STRIDE).contains(&stride) { MOST_ENTRIES } else { 0 };
    (0..count).map_while(move |index| table.checked_add(index * stride))
}

/// How many bytes a value has, by the name of its type.
fn size_of_type(name: &str) -> u8 {
    match name {
        "u1" | "bool" | "jbyte" | "CodeBlobKind" => 1,
        "u2" | "int16_t" | "unsigned short" | "short" => 2,
        "address" | "size_t" | "uint64_t" | "intptr_t" | "uintptr_t" | "long" => 8,
        _ if name.ends_with('*') => 8,
        _ => 4,
    }
}
