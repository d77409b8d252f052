//! Functions by address.

use object::LittleEndian as LE;
use object::elf::{SHN_UNDEF, STB_GLOBAL, STB_WEAK, STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE, Sym64};
use object::pod;

use super::dynamic::Dynamic;
use super::headers::Headers;
use super::sections::Sections;
use super::{ReadAt, read_part, text_at};

/// Functions that enclose each other are followed this far outwards; compilers nest none.
const DEEPEST_NESTING: usize = 16;
const NO_PARENT: u32 = u32::MAX;

/// The functions of an image, sorted by their start.
#[derive(Debug, Default)]
pub(crate) struct SymbolTable {
    entries: Vec<Entry>,
    /// The texts of all symbol tables, one behind the other.
    texts: Vec<u8>,
}

#[derive(Debug, Clone)]
struct Entry {
    start: u64,
    /// 0 before indexing: not known, it reaches to the next one.
    size_bytes: u32,
    /// Where its name begins in `texts`.
    name: u32,
    /// The entry that encloses this one.
    parent: u32,
    /// Of several names of one start, the lowest is shown.
    rank: u32,
}

impl Entry {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.size_bytes.into())
    }
}

impl SymbolTable {
    /// Adds a symbol table that the section headers name; whether there is one.
    pub(crate) fn add_section(&mut self, file: &dyn ReadAt, headers: &Headers, name: &str) -> bool {
        self.try_add_section(file, headers, name).is_some()
    }

    fn try_add_section(&mut self, file: &dyn ReadAt, headers: &Headers, name: &str) -> Option<()> {
        let section = headers.section(name).filter(|section| section.is_in_file)?;
        let texts = headers.sections.get(section.link)?;
        let symbols = read_part(file, section.file_offset, section.size_bytes)?;
        let texts = read_part(file, texts.file_offset, texts.size_bytes)?;
        self.add(headers, &symbols, &texts).map(|_| ())
    }

    /// Adds the symbols that the dynamic linker sees; where their texts begin in those of the table.
    pub(crate) fn add_dynamic(&mut self, file: &dyn ReadAt, headers: &Headers, dynamic: &Dynamic) -> Option<u32> {
        let (at, count) = match headers.section(".dynsym") {
            Some(section) => (section.file_offset, section.size_bytes / size_of::<Sym64<LE>>() as u64),
            None => dynamic.symbols(file, headers)?,
        };
        let symbols = read_part(file, at, count.checked_mul(size_of::<Sym64<LE>>() as u64)?)?;
        self.add(headers, &symbols, &dynamic.texts(file, headers)?)
    }

    /// Adds functions and their texts; where the texts begin.
    fn add(&mut self, headers: &Headers, symbols: &[u8], texts: &[u8]) -> Option<u32> {
        let base = u32::try_from(self.texts.len()).ok()?;
        base.checked_add(u32::try_from(texts.len()).ok()?)?;
        self.texts.extend_from_slice(texts);
        let whole = symbols.len() / size_of::<Sym64<LE>>() * size_of::<Sym64<LE>>();
        let symbols = pod::slice_from_all_bytes::<Sym64<LE>>(&symbols[..whole]).ok()?;
        self.entries.extend(symbols.iter().filter_map(|symbol| entry_of(symbol, headers, texts, base)));
        Some(base)
    }

    /// Makes the table ready to be asked: sorted, one name per start, sizes and parents known.
    pub(crate) fn index(&mut self, sections: &Sections) {
        self.entries.sort_by_key(|entry| (entry.start, entry.rank));
        self.entries.dedup_by(|other, kept| {
            let is_same = other.start == kept.start;
            if is_same {
                kept.size_bytes = kept.size_bytes.max(other.size_bytes);
            }
            is_same
        });
        self.entries.truncate(NO_PARENT as usize);
        self.nest(sections);
        self.entries.shrink_to_fit();
    }

    /// Gives each entry its parent. Labels within a function are dropped; other entries without a
    /// size get what lies up to the next one or the end of the section.
    fn nest(&mut self, sections: &Sections) {
        let mut nested: Vec<Entry> = Vec::with_capacity(self.entries.len());
        let mut open: Vec<u32> = Vec::new();
        for index in 0..self.entries.len() {
            let mut entry = self.entries[index].clone();
            while open.last().is_some_and(|outer| nested[*outer as usize].end() <= entry.start) {
                open.pop();
            }
            entry.parent = open.last().copied().unwrap_or(NO_PARENT);
            if entry.size_bytes == 0 {
                if entry.parent != NO_PARENT {
                    continue;
                }
                let end = sections.end_of(entry.start).unwrap_or(entry.start);
                let end = self.entries.get(index + 1).map_or(end, |next| next.start.min(end));
                entry.size_bytes = u32::try_from(end - entry.start).unwrap_or(u32::MAX);
            }
            open.push(nested.len() as u32);
            nested.push(entry);
        }
        self.entries = nested;
    }

    /// The name of the innermost function around `address`, and the distance from its start.
    pub(crate) fn resolve(&self, address: u64) -> Option<(&str, u64)> {
        let after = self.entries.partition_point(|entry| entry.start <= address);
        let mut entry = self.entries.get(after.checked_sub(1)?)?;
        for _ in 0..DEEPEST_NESTING {
            if address < entry.end() {
                return Some((self.name(entry.name), address - entry.start));
            }
            entry = self.entries.get(entry.parent as usize)?;
        }
        None
    }

    /// The name at `offset` of the texts, without the version that some linkers append.
    pub(crate) fn name(&self, offset: u32) -> &str {
        let name = text_at(&self.texts, offset as usize);
        name.find('@').filter(|at| *at > 0).map_or(name, |at| &name[..at])
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.texts.capacity() + self.entries.capacity() * size_of::<Entry>()
    }
}

/// Tells every function of the file's symbol table, by name and address before relocation.
pub(crate) fn each(file: &dyn ReadAt, headers: &Headers, mut tell: impl FnMut(&str, u64)) {
    let mut table = SymbolTable::default();
    table.add_section(file, headers, ".symtab");
    table.entries.iter().for_each(|entry| tell(table.name(entry.name), entry.start));
}

fn entry_of(symbol: &Sym64<LE>, headers: &Headers, texts: &[u8], base: u32) -> Option<Entry> {
    let (start, section) = (symbol.st_value.get(LE), symbol.st_shndx.get(LE));
    let offset = symbol.st_name.get(LE);
    let name = text_at(texts, offset as usize);
    if start == 0 || section == SHN_UNDEF || name.is_empty() {
        return None;
    }
    let is_code = match symbol.st_type() {
        STT_FUNC | STT_GNU_IFUNC => true,
        // Written in assembler. `$x` and `$d` of arm64 and local labels name no function.
        STT_NOTYPE => {
            let section = headers.sections.get(usize::from(section.0));
            section.is_some_and(|section| section.is_executable) && !name.starts_with(['$', '.'])
        }
        _ => false,
    };
    let size_bytes = u32::try_from(symbol.st_size.get(LE)).unwrap_or(u32::MAX);
    let rank = rank(symbol, name);
    is_code.then_some(Entry { start, size_bytes, name: base + offset, parent: NO_PARENT, rank })
}

/// Of the names of one function: one with a type and a size, the fewest underscores in front, a name
/// that others see, the shortest.
fn rank(symbol: &Sym64<LE>, name: &str) -> u32 {
    let is_bare = symbol.st_type() == STT_NOTYPE || symbol.st_size.get(LE) == 0;
    let underscores = name.bytes().take_while(|byte| *byte == b'_').count().min(15) as u32;
    // The mangling of C++ and Rust begins with underscores that mean nothing.
    let underscores = if name.starts_with("_Z") || name.starts_with("_R") { 0 } else { underscores };
    let binding = match symbol.st_bind() {
        STB_GLOBAL => 0,
        STB_WEAK => 1,
        _ => 2,
    };
    u32::from(is_bare) << 24 | underscores << 20 | binding << 16 | name.len().min(0xffff) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(functions: &[(u64, u32, &str)]) -> SymbolTable {
        let mut table = SymbolTable::default();
        for (start, size_bytes, name) in functions {
            let entry = Entry {
                start: *start,
                size_bytes: *size_bytes,
                name: table.texts.len() as u32,
                parent: NO_PARENT,
                rank: 0,
            };
            table.texts.extend_from_slice(name.as_bytes());
            table.texts.push(0);
            table.entries.push(entry);
        }
        table.index(&Sections::of_one(600));
        table
    }

    #[test]
    fn the_innermost_function_is_found() {
        let table = table(&[
            (100, 100, "outer"),
            (120, 10, "inner"),
            (125, 0, "label"),
            (140, 10, "other@@V_2"),
            (300, 0, "bare"),
            (400, 8, "end"),
            (500, 0, "last"),
        ]);
        let cases = [
            (99, None),
            (100, Some(("outer", 0))),
            (125, Some(("inner", 5))),
            (130, Some(("outer", 30))),
            (145, Some(("other", 5))),
            (199, Some(("outer", 99))),
            (200, None),
            (399, Some(("bare", 99))),
            (407, Some(("end", 7))),
            (408, None),
            (599, Some(("last", 99))),
            (600, None),
        ];
        for (address, expected) in cases {
            assert_eq!(table.resolve(address), expected, "{address}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_found_encloses_the_address(
            functions in proptest::collection::vec((0_u64..60, 0_u32..20), 0..40), address in 0_u64..100
        ) {
            let named: Vec<_> = functions.iter().map(|(start, size)| (*start, *size, "f")).collect();
            let is_covered = functions.iter().any(|(start, size)| (*start..start + u64::from(*size)).contains(&address));
            if let Some((_, offset)) = table(&named).resolve(address) {
                assert!(functions.iter().any(|(start, _)| start + offset == address));
            } else {
                assert!(!is_covered || functions.len() > DEEPEST_NESTING, "covered by a function, but not found");
            }
        }
    }
}
