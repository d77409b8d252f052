//! ELF header, program headers, section headers, notes.

use object::LittleEndian as LE;
use object::elf::{
    DataEncoding, EM_AARCH64, EM_X86_64, FileClass, FileHeader64, PF_X, PT_DYNAMIC, PT_GNU_EH_FRAME, PT_INTERP,
    PT_LOAD, PT_NOTE, ProgramHeader64, SHF_ALLOC, SHF_EXECINSTR, SHT_NOBITS, SectionHeader64,
};
use object::pod;

use super::{ElfError, Machine, ReadAt, read_part, text_at};

/// A note is a few dozen bytes; what is larger is none.
const LARGEST_NOTES_BYTES: u64 = 64 << 10;
/// A name that is longer is not one that anybody asks for.
const LONGEST_SECTION_NAME_BYTES: usize = 64;
/// Linkers make about a dozen.
const MOST_SEGMENTS: usize = 1024;
/// Build ids are hashes.
const LARGEST_BUILD_ID_BYTES: usize = 64;

/// What the program header says a part of the file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SegmentKind {
    Load,
    Dynamic,
    EhFrameHdr,
    Note,
    Interpreter,
    Other,
}

/// A program header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) kind: SegmentKind,
    pub(crate) address: u64,
    pub(crate) file_offset: u64,
    pub(crate) file_bytes: u64,
    pub(crate) is_executable: bool,
}

/// A section header.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) address: u64,
    pub(crate) file_offset: u64,
    pub(crate) size_bytes: u64,
    /// The section it refers to: of a symbol table, its texts.
    pub(crate) link: usize,
    pub(crate) is_loaded: bool,
    pub(crate) is_executable: bool,
    pub(crate) is_in_file: bool,
}

impl Section {
    pub(crate) fn end(&self) -> u64 {
        self.address.saturating_add(self.size_bytes)
    }
}

/// The skeleton of an ELF file.
#[derive(Debug)]
pub(crate) struct Headers {
    pub(crate) machine: Machine,
    pub(crate) segments: Vec<Segment>,
    /// In the order of the file, as they refer to each other by number; empty when stripped.
    pub(crate) sections: Vec<Section>,
    pub(crate) build_id: Vec<u8>,
    pub(crate) debug_link: Option<String>,
}

impl Headers {
    pub(crate) fn read(file: &dyn ReadAt) -> Result<Headers, ElfError> {
        let bytes = file.read_at(0, size_of::<FileHeader64<LE>>()).ok_or(ElfError::NotElf)?;
        let (header, _) = pod::from_bytes::<FileHeader64<LE>>(&bytes).map_err(|()| ElfError::NotElf)?;
        let machine = machine_of(header)?;
        let segments = read_segments(file, header);
        if segments.is_empty() {
            return Err(ElfError::NoSegments);
        }
        let sections = read_sections(file, header).unwrap_or_default();
        let mut headers = Headers { machine, segments, sections, build_id: Vec::new(), debug_link: None };
        headers.build_id = headers.find_build_id(file).unwrap_or_default();
        headers.debug_link = headers.find_debug_link(file);
        Ok(headers)
    }

    pub(crate) fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    pub(crate) fn segments_of(&self, kind: SegmentKind) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(move |segment| segment.kind == kind)
    }

    pub(crate) fn address_of(&self, file_offset: u64) -> Option<u64> {
        let distance = |segment: &Segment| file_offset.checked_sub(segment.file_offset);
        let is_in = |segment: &&Segment| distance(segment).is_some_and(|distance| distance < segment.file_bytes);
        // Segments share the page between them; the code has the better claim to it.
        let segments = || self.segments_of(SegmentKind::Load).filter(is_in);
        let segment = segments().find(|segment| segment.is_executable).or_else(|| segments().next())?;
        segment.address.checked_add(distance(segment)?)
    }

    pub(crate) fn file_offset_of(&self, address: u64) -> Option<u64> {
        self.segments_of(SegmentKind::Load).find_map(|segment| {
            let distance = address.checked_sub(segment.address).filter(|distance| *distance < segment.file_bytes)?;
            segment.file_offset.checked_add(distance)
        })
    }

    /// How many bytes the file has from `address` to the end of its segment.
    pub(crate) fn bytes_from(&self, address: u64) -> u64 {
        let rest = |segment: &Segment| {
            let distance = address.checked_sub(segment.address)?;
            segment.file_bytes.checked_sub(distance)
        };
        self.segments_of(SegmentKind::Load).filter_map(rest).find(|rest| *rest > 0).unwrap_or(0)
    }

    fn find_build_id(&self, file: &dyn ReadAt) -> Option<Vec<u8>> {
        self.segments_of(SegmentKind::Note).find_map(|segment| {
            let size = segment.file_bytes.min(LARGEST_NOTES_BYTES);
            build_id_in(&read_part(file, segment.file_offset, size)?)
        })
    }

    fn find_debug_link(&self, file: &dyn ReadAt) -> Option<String> {
        let section = self.section(".gnu_debuglink")?;
        let bytes = read_part(file, section.file_offset, section.size_bytes.min(LARGEST_NOTES_BYTES))?;
        // A path would lead anywhere: it is a file name or nothing.
        Some(text_at(&bytes, 0).to_owned()).filter(|name| !name.is_empty() && !name.contains('/'))
    }
}

fn machine_of(header: &FileHeader64<LE>) -> Result<Machine, ElfError> {
    if header.e_ident.magic != object::elf::ELFMAG {
        return Err(ElfError::NotElf);
    }
    let is_64_little = header.e_ident.class == FileClass(2) && header.e_ident.data == DataEncoding(1);
    match header.e_machine.get(LE) {
        EM_X86_64 if is_64_little => Ok(Machine::X86_64),
        EM_AARCH64 if is_64_little => Ok(Machine::Aarch64),
        _ => Err(ElfError::OtherMachine),
    }
}

fn read_segments(file: &dyn ReadAt, header: &FileHeader64<LE>) -> Vec<Segment> {
    let count = usize::from(header.e_phnum.get(LE)).min(MOST_SEGMENTS);
    let bytes = file.read_at(header.e_phoff.get(LE), count * size_of::<ProgramHeader64<LE>>());
    let bytes = bytes.unwrap_or_default();
    let segments = pod::slice_from_all_bytes::<ProgramHeader64<LE>>(&bytes).unwrap_or_default();
    segments.iter().map(segment_of).collect()
}

fn segment_of(header: &ProgramHeader64<LE>) -> Segment {
    let kind = match header.p_type.get(LE) {
        PT_LOAD => SegmentKind::Load,
        PT_DYNAMIC => SegmentKind::Dynamic,
        PT_GNU_EH_FRAME => SegmentKind::EhFrameHdr,
        PT_NOTE => SegmentKind::Note,
        PT_INTERP => SegmentKind::Interpreter,
        _ => SegmentKind::Other,
    };
    Segment {
        kind,
        address: header.p_vaddr.get(LE),
        file_offset: header.p_offset.get(LE),
        file_bytes: header.p_filesz.get(LE),
        is_executable: header.p_flags.get(LE).0 & PF_X.0 != 0,
    }
}

fn read_sections(file: &dyn ReadAt, header: &FileHeader64<LE>) -> Option<Vec<Section>> {
    let count = usize::from(header.e_shnum.get(LE));
    let bytes = file.read_at(header.e_shoff.get(LE), count * size_of::<SectionHeader64<LE>>())?;
    let raw = pod::slice_from_all_bytes::<SectionHeader64<LE>>(&bytes).ok()?;
    let names = raw.get(usize::from(header.e_shstrndx.get(LE).0))?;
    let names = read_part(file, names.sh_offset.get(LE), names.sh_size.get(LE))?;
    Some(raw.iter().map(|section| section_of(section, &names)).collect())
}

fn section_of(header: &SectionHeader64<LE>, names: &[u8]) -> Section {
    let flags = header.sh_flags.get(LE).0;
    let name = text_at(names, header.sh_name.get(LE) as usize);
    Section {
        name: if name.len() <= LONGEST_SECTION_NAME_BYTES { name.to_owned() } else { String::new() },
        address: header.sh_addr.get(LE),
        file_offset: header.sh_offset.get(LE),
        size_bytes: header.sh_size.get(LE),
        link: header.sh_link.get(LE) as usize,
        is_loaded: flags & SHF_ALLOC.0 != 0,
        is_executable: flags & SHF_EXECINSTR.0 != 0,
        is_in_file: header.sh_type.get(LE) != SHT_NOBITS,
    }
}

/// A note: the sizes of its name and content, its type, and both, each padded to 4 bytes.
pub(crate) struct Note<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) kind: usize,
    pub(crate) content: &'a [u8],
}

/// The note that `notes` begin with, and those after it.
pub(crate) fn note_at(notes: &[u8]) -> Option<(Note<'_>, &[u8])> {
    let number = |at: usize| Some(u32::from_le_bytes(notes.get(at..at + 4)?.try_into().ok()?) as usize);
    let (name_bytes, content_bytes, kind) = (number(0)?, number(4)?, number(8)?);
    let content_at = 12_usize.checked_add(name_bytes.checked_next_multiple_of(4)?)?;
    let content_end = content_at.checked_add(content_bytes)?;
    let note = Note { name: notes.get(12..12 + name_bytes)?, kind, content: notes.get(content_at..content_end)? };
    // The last one may lack its padding.
    let after = content_end.checked_next_multiple_of(4)?;
    Some((note, notes.get(after..).unwrap_or_default()))
}

/// Finds the note `GNU`, type 3.
fn build_id_in(notes: &[u8]) -> Option<Vec<u8>> {
    let mut rest = notes;
    while let Some((note, after)) = note_at(rest) {
        let is_build_id = note.kind == 3 && note.name == b"GNU\0";
        if is_build_id && (1..=LARGEST_BUILD_ID_BYTES).contains(&note.content.len()) {
            return Some(note.content.to_vec());
        }
        rest = after;
    }
    None
}
