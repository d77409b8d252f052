//! One ELF file: names and sections of its addresses, what the dynamic linker will do with it, and its unwind tables.
//!
//! The needed parts are copied out of the file once, so that an image outlives the file and the process and nothing
//! faults if the file is truncated meanwhile (as with a mapped file). Files are hostile: no offset, size or count in
//! them is trusted, and no part larger than [`LARGEST_PART_BYTES`] is read. Only 64-bit little-endian files are read;
//! the supported machines have no other JVMs.

mod call;
pub(crate) mod cfi;
mod dynamic;
mod exports;
pub(crate) mod headers;
mod plt;
mod probes;
pub(crate) mod sections;
mod symbols;

use std::borrow::Cow;

pub use call::{ImportCall, LONGEST_CALL_BYTES};
use cfi::CfiTable;
pub use dynamic::Binding;
use dynamic::Dynamic;
pub use exports::exported;
use headers::Headers;
use plt::Plt;
pub use probes::{Argument, Operand, Probe, functions_at, parameter, probes_of};
use sections::Sections;
use symbols::SymbolTable;

/// The largest table that is read: ten times that of a JVM, and more than libraries have that were
/// stripped of their debug information.
pub const LARGEST_PART_BYTES: u64 = 64 << 20;
/// Longer names are not read.
const LONGEST_NAME_BYTES: usize = 4096;

/// Bytes that can be read at any place: a file, or memory that holds one.
pub trait ReadAt {
    /// The bytes from `offset` on, exactly as many; `None` where there are not so many.
    fn read_at(&self, offset: u64, size_bytes: usize) -> Option<Cow<'_, [u8]>>;
}

impl<T: AsRef<[u8]>> ReadAt for T {
    fn read_at(&self, offset: u64, size_bytes: usize) -> Option<Cow<'_, [u8]>> {
        let start = usize::try_from(offset).ok()?;
        Some(self.as_ref().get(start..start.checked_add(size_bytes)?)?.into())
    }
}

/// Why a file cannot be used as an ELF image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ElfError {
    /// Something else than a program or a library.
    #[error("it is no ELF file")]
    NotElf,
    /// Of another machine.
    #[error("it is no ELF file of 64 bits, little-endian, for x86-64 or arm64")]
    OtherMachine,
    /// Not a byte of it is loaded.
    #[error("it has no program headers that can be read")]
    NoSegments,
    /// The debug file belongs to another build.
    #[error("its build id is not that of the file it should describe")]
    OtherBuild,
}

/// The processor that an image is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Machine {
    /// x86-64.
    X86_64,
    /// arm64.
    Aarch64,
}

/// A function of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElfSymbol<'a> {
    /// As it stands in the file: not demangled.
    pub name: &'a str,
    /// Distance of the address from its start.
    pub offset: u64,
    /// Whether the address lies in the stub that jumps to the function in another library.
    pub is_plt: bool,
}

/// One ELF file.
#[derive(Debug)]
pub struct Image {
    headers: Headers,
    sections: Sections,
    dynamic: Dynamic,
    symbols: SymbolTable,
    plt: Plt,
    cfi: CfiTable,
    has_full_symbols: bool,
}

/// What the headers of a program or library say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// When the dynamic linker binds its calls.
    pub binding: Binding,
    /// Names the build; empty when the linker left none.
    pub build_id: Vec<u8>,
}

/// Reads the headers of a program or library, and none of its names.
pub fn summary_of(file: &dyn ReadAt) -> Result<Summary, ElfError> {
    let headers = Headers::read(file)?;
    Ok(Summary { binding: Dynamic::read(file, &headers).binding, build_id: headers.build_id })
}

impl Image {
    /// Reads a program or library.
    pub fn read(file: &dyn ReadAt) -> Result<Image, ElfError> {
        let headers = Headers::read(file)?;
        let dynamic = Dynamic::read(file, &headers);
        let sections = Sections::new(&headers, &dynamic);
        let mut symbols = SymbolTable::default();
        let has_full_symbols = symbols.add_section(file, &headers, ".symtab");
        let dynamic_names = symbols.add_dynamic(file, &headers, &dynamic);
        symbols.index(&sections);
        let plt = Plt::read(file, &headers, &dynamic, dynamic_names);
        let cfi = CfiTable::read(file, &headers, &sections);
        Ok(Image { headers, sections, dynamic, symbols, plt, cfi, has_full_symbols })
    }

    /// Adds the names of a separate debug file, which must have the same build id.
    pub fn add_debug_file(&mut self, file: &dyn ReadAt) -> Result<(), ElfError> {
        let headers = Headers::read(file)?;
        if headers.build_id.is_empty() || headers.build_id != self.headers.build_id {
            return Err(ElfError::OtherBuild);
        }
        self.has_full_symbols |= self.symbols.add_section(file, &headers, ".symtab");
        self.symbols.index(&self.sections);
        Ok(())
    }

    /// The processor it is for.
    pub fn machine(&self) -> Machine {
        self.headers.machine
    }

    /// Names the build; empty when the linker left none.
    pub fn build_id(&self) -> &[u8] {
        &self.headers.build_id
    }

    /// The name of the file that holds the names stripped from this one, if it says so.
    pub fn debug_link(&self) -> Option<&str> {
        self.headers.debug_link.as_deref()
    }

    /// Whether functions that are not exported have names too.
    pub fn has_full_symbols(&self) -> bool {
        self.has_full_symbols
    }

    /// When the dynamic linker binds its calls.
    pub fn binding(&self) -> Binding {
        self.dynamic.binding
    }

    /// The name that other files ask for.
    pub fn soname(&self) -> Option<&str> {
        self.dynamic.soname.as_deref()
    }

    /// The libraries that it asks for.
    pub fn needed(&self) -> &[String] {
        &self.dynamic.needed
    }

    /// The address, before relocation, of what lies at `file_offset`.
    pub fn address_of(&self, file_offset: u64) -> Option<u64> {
        self.headers.address_of(file_offset)
    }

    /// The place in the file of `address` (before relocation).
    pub fn file_offset_of(&self, address: u64) -> Option<u64> {
        self.headers.file_offset_of(address)
    }

    /// The name of the section at `address` (before relocation), or the nearest thing where the
    /// section headers are stripped: what the dynamic table says lies there.
    pub fn section_at(&self, address: u64) -> Option<&str> {
        self.sections.at(address)
    }

    /// The function at `address` (before relocation).
    pub fn resolve(&self, address: u64) -> Option<ElfSymbol<'_>> {
        if let Some((name, offset)) = self.symbols.resolve(address) {
            return Some(ElfSymbol { name, offset, is_plt: false });
        }
        let (name, offset) = self.plt.stub_at(address)?;
        Some(ElfSymbol { name: self.symbols.name(name), offset, is_plt: true })
    }

    /// The call of another library's function that ends `code_before`, the code up to its return address (before
    /// relocation). `None` for a call within the image, and for one through a register.
    pub fn import_call(&self, code_before: &[u8], return_address: u64) -> Option<ImportCall<'_>> {
        let machine = self.headers.machine;
        let (name, call) = self.plt.called(machine, code_before, return_address)?;
        Some(ImportCall::new(self.symbols.name(name), machine, call))
    }

    /// What unwinds through it.
    pub(crate) fn cfi(&self) -> &CfiTable {
        &self.cfi
    }

    /// Roughly the memory that it takes, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.symbols.memory_bytes() + self.cfi.memory_bytes() + self.plt.memory_bytes()
    }
}

/// Reads a part of a file, if its size can be believed.
pub(crate) fn read_part(file: &dyn ReadAt, offset: u64, size_bytes: u64) -> Option<Cow<'_, [u8]>> {
    let size_bytes = Some(size_bytes).filter(|size| *size <= LARGEST_PART_BYTES)?;
    file.read_at(offset, size_bytes as usize)
}

/// The text that begins at `offset` and ends at the next zero; empty when it is none, or too long.
fn text_at(texts: &[u8], offset: usize) -> &str {
    let rest = texts.get(offset..).unwrap_or_default();
    let rest = &rest[..rest.len().min(LONGEST_NAME_BYTES)];
    let end = memchr::memchr(0, rest).unwrap_or(0);
    std::str::from_utf8(&rest[..end]).unwrap_or_default()
}
