//! A process, as far as its addresses are concerned: its mappings, the images of its files, and the code of its JIT.
//!
//! It is a snapshot that callers keep up to date: they read `maps`, see which files are missing, read those and put
//! them in. Once in, everything stays, even after the process has ended.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::demangle::demangle;
use crate::elf::Image;
use crate::jit::{Found, JitKind, JitMap};
use crate::maps::{FileId, Mapping, MappingKind, Mappings};

/// The layer of software that an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// A program or library.
    Native,
    /// The JVM's own library.
    Vm,
    /// Code compiled at run time; what it is, if the JIT's map tells.
    Jit(Option<JitKind>),
    /// No code that is known.
    Unknown,
}

/// What is known of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// The function as the source code names it; empty when it has no name.
    pub name: Cow<'a, str>,
    /// The file name of the program or library; empty for code of the JIT and for unknown addresses.
    pub module: &'a str,
    /// Distance from the start of the function; without a name, from the start of the module's file.
    pub offset: u64,
    /// The layer.
    pub layer: Layer,
}

/// A place in a file that an address stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilePlace<'a> {
    /// The mapping.
    pub mapping: &'a Mapping,
    /// The section; `None` when the file is no ELF file or was not read.
    pub section: Option<&'a str>,
    /// Offset in the file.
    pub file_offset: u64,
}

/// The addresses of a process.
#[derive(Debug, Default)]
pub struct Process {
    mappings: Mappings,
    /// `None` for a file that cannot be read.
    images: FxHashMap<FileId, Option<Arc<Image>>>,
    jit: Arc<JitMap>,
}

/// What executes at an address.
pub(crate) enum Code<'a> {
    /// An image, with the address before relocation.
    Image(&'a Image, u64),
    /// Code of the JIT, with the address.
    Jit(u64),
    /// A file that was not put in yet.
    NotLoaded,
    /// A file that cannot be read.
    Unreadable,
    /// Nothing known.
    Unknown,
}

impl Process {
    /// A process of which only the mappings are known.
    pub fn new(mappings: Mappings) -> Process {
        Process { mappings, ..Process::default() }
    }

    /// Replaces the mappings; images stay.
    pub fn set_mappings(&mut self, mappings: Mappings) {
        self.mappings = mappings;
    }

    /// The mappings.
    pub fn mappings(&self) -> &Mappings {
        &self.mappings
    }

    /// Replaces what is known of the JIT's code.
    pub fn set_jit(&mut self, jit: Arc<JitMap>) {
        self.jit = jit;
    }

    /// Puts in a piece of the JIT's code ([`JitMap::put`]).
    pub fn put_code(&mut self, found: &Found, code: &[u8]) {
        Arc::make_mut(&mut self.jit).put(found, code);
    }

    /// Puts in the image of a file, or that it cannot be read. The kernel's library has the file id
    /// without an inode.
    pub fn set_image(&mut self, file: FileId, image: Option<Arc<Image>>) {
        self.images.insert(file, image);
    }

    /// The image of a file, if it is there.
    pub fn image(&self, file: FileId) -> Option<&Arc<Image>> {
        self.images.get(&file)?.as_ref()
    }

    /// The mapping around `address`, if it shows a file that was not put in yet.
    pub fn missing_at(&self, address: u64) -> Option<(FileId, &Mapping)> {
        let mapping = self.mappings.find(address)?;
        let file = image_id(mapping).filter(|file| !self.images.contains_key(file))?;
        Some((file, mapping))
    }

    /// Whether `address` is in a mapping that is known.
    pub fn is_mapped(&self, address: u64) -> bool {
        self.mappings.find(address).is_some()
    }

    /// Whether what lies at `address` can be executed.
    pub fn is_code(&self, address: u64) -> bool {
        self.compiled_at(address).is_some() || self.mappings.find(address).is_some_and(|mapping| mapping.is_executable)
    }

    /// What is known of `address`.
    pub fn resolve(&self, address: u64) -> Symbol<'_> {
        if let Some(symbol) = self.jit.resolve(address) {
            let layer = Layer::Jit(Some(symbol.kind));
            return Symbol { name: symbol.name.into(), module: "", offset: symbol.offset, layer };
        }
        let Some(mapping) = self.mappings.find(address) else {
            return Symbol { name: "".into(), module: "", offset: address, layer: Layer::Unknown };
        };
        match image_id(mapping) {
            Some(file) => self.resolve_in_file(mapping, file, address),
            None if is_jit(mapping) => Symbol { name: "".into(), module: "", offset: address, layer: Layer::Jit(None) },
            None => Symbol { name: "".into(), module: &mapping.path, offset: address, layer: Layer::Unknown },
        }
    }

    /// The place in a file that `address` stands for; `None` for memory without a file.
    pub fn file_place(&self, address: u64) -> Option<FilePlace<'_>> {
        let mapping = self.mappings.find(address).filter(|mapping| mapping.has_file())?;
        let file_offset = mapping.offset_of(address);
        let section = self.image(mapping.file).and_then(|image| image.section_at(image.address_of(file_offset)?));
        Some(FilePlace { mapping, section, file_offset })
    }

    /// The image around `address`, and the address before relocation.
    pub fn image_at(&self, address: u64) -> Option<(&Image, u64)> {
        let mapping = self.mappings.find(address)?;
        let image = self.image(image_id(mapping)?)?;
        Some((image, image.address_of(mapping.offset_of(address))?))
    }

    /// Where the piece of the JIT's code at `address` begins, if one is known.
    pub fn compiled_at(&self, address: u64) -> Option<u64> {
        self.jit.frame_at(address).map(|(_, offset, _)| address - offset)
    }

    pub(crate) fn jit(&self) -> &JitMap {
        &self.jit
    }

    pub(crate) fn code_at(&self, address: u64) -> Code<'_> {
        // The JVM may have mapped more room for its code since the mappings were read.
        if self.compiled_at(address).is_some() {
            return Code::Jit(address);
        }
        let Some(mapping) = self.mappings.find(address).filter(|mapping| mapping.is_executable) else {
            return Code::Unknown;
        };
        if is_jit(mapping) {
            return Code::Jit(address);
        }
        let is_missing = || self.missing_at(address).is_some();
        match self.image_at(address) {
            Some((image, address)) => Code::Image(image, address),
            None if is_missing() => Code::NotLoaded,
            None => Code::Unreadable,
        }
    }

    fn resolve_in_file<'a>(&'a self, mapping: &'a Mapping, file: FileId, address: u64) -> Symbol<'a> {
        let module = mapping.file_name();
        let file_offset = mapping.offset_of(address);
        let image = self.image(file).map(|image| &**image);
        let layer = if is_jvm(module, image) { Layer::Vm } else { Layer::Native };
        let found = image.and_then(|image| image.resolve(image.address_of(file_offset)?));
        let Some(found) = found else {
            return Symbol { name: "".into(), module, offset: file_offset, layer };
        };
        let name = demangle(found.name);
        let name = if found.is_plt { format!("{name}@plt").into() } else { name };
        Symbol { name, module, offset: found.offset, layer }
    }
}

/// Under which id the image of a mapping is kept.
pub fn image_id(mapping: &Mapping) -> Option<FileId> {
    match mapping.kind {
        MappingKind::File | MappingKind::DeletedFile => Some(mapping.file),
        MappingKind::Vdso => Some(FileId::default()),
        _ => None,
    }
}

fn is_jit(mapping: &Mapping) -> bool {
    mapping.is_executable && matches!(mapping.kind, MappingKind::Anonymous | MappingKind::NamedAnonymous)
}

fn is_jvm(module: &str, image: Option<&Image>) -> bool {
    const JVM: &str = "libjvm.so";
    module == JVM || image.and_then(Image::soname) == Some(JVM)
}
