//! The unwind tables of one image (`.eh_frame`).
//!
//! The index of functions is built from the table itself and not taken from `.eh_frame_hdr`: one way for files with and
//! without it, and a wrong header has no effect.

use gimli::{
    BaseAddresses, CieOrFde, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, Pointer, UnwindContext, UnwindSection,
    UnwindTableRow, Vendor,
};

use super::headers::{Headers, SegmentKind};
use super::sections::Sections;
use super::{LARGEST_PART_BYTES, Machine, ReadAt, read_part};

/// The entry of one function. The largest of libjvm has some 2 KB; more only makes work.
const LARGEST_ENTRY_BYTES: usize = 16 << 10;

pub(crate) type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The unwind tables of an image.
#[derive(Debug)]
pub(crate) struct CfiTable {
    frames: Box<[u8]>,
    bases: BaseAddresses,
    machine: Machine,
    /// Functions by their start.
    functions: Vec<Function>,
}

#[derive(Debug)]
struct Function {
    start: u64,
    end: u64,
    /// Where its entry is in `frames`.
    offset: usize,
}

/// How to get from one frame to its caller.
pub(crate) struct Rules<'a, 'ctx> {
    pub(crate) row: &'ctx UnwindTableRow<usize>,
    pub(crate) section: EhFrame<Bytes<'a>>,
    pub(crate) encoding: gimli::Encoding,
    pub(crate) return_address: u16,
    /// The frame was made by the kernel to deliver a signal: its caller was interrupted, not calling.
    pub(crate) is_signal: bool,
}

impl CfiTable {
    pub(crate) fn read(file: &dyn ReadAt, headers: &Headers, sections: &Sections) -> CfiTable {
        let (address, frames) = find_frames(file, headers, sections).unwrap_or_default();
        let address_of = |name: &str| headers.section(name).map_or(0, |section| section.address);
        let bases =
            BaseAddresses::default().set_eh_frame(address).set_text(address_of(".text")).set_got(address_of(".got"));
        let mut table = CfiTable { frames, bases, machine: headers.machine, functions: Vec::new() };
        table.functions = table.list_functions();
        table
    }

    /// The rules at `address` (before relocation).
    pub(crate) fn rules<'ctx>(
        &self,
        address: u64,
        context: &'ctx mut UnwindContext<usize>,
    ) -> Option<Result<Rules<'_, 'ctx>, gimli::Error>> {
        let after = self.functions.partition_point(|function| function.start <= address);
        let function = self.functions.get(after.checked_sub(1)?).filter(|function| address < function.end)?;
        Some(self.rules_of(function, address, context))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.frames.len() + self.functions.capacity() * size_of::<Function>()
    }

    fn rules_of<'ctx>(
        &self,
        function: &Function,
        address: u64,
        context: &'ctx mut UnwindContext<usize>,
    ) -> Result<Rules<'_, 'ctx>, gimli::Error> {
        let section = self.section();
        let entry = section.fde_from_offset(&self.bases, function.offset.into(), EhFrame::cie_from_offset)?;
        let row = entry.unwind_info_for_address(&section, &self.bases, context, address)?;
        Ok(Rules {
            row,
            section,
            encoding: entry.cie().encoding(),
            return_address: entry.cie().return_address_register().0,
            is_signal: entry.is_signal_trampoline(),
        })
    }

    fn section(&self) -> EhFrame<Bytes<'_>> {
        let mut section = EhFrame::new(&self.frames, LittleEndian);
        section.set_address_size(8);
        if self.machine == Machine::Aarch64 {
            section.set_vendor(Vendor::AArch64);
        }
        section
    }

    /// The size that the entry at `offset` gives itself; as large as can be when there is none.
    fn entry_bytes(&self, offset: usize) -> usize {
        let bytes = self.frames.get(offset..).and_then(|rest| rest.first_chunk::<4>());
        bytes.map_or(usize::MAX, |bytes| u32::from_le_bytes(*bytes) as usize)
    }

    /// All functions up to the first entry that makes no sense.
    fn list_functions(&self) -> Vec<Function> {
        let section = self.section();
        let mut entries = section.entries(&self.bases);
        let mut functions = Vec::new();
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else { continue };
            let (offset, common) = (partial.offset(), partial.cie_offset().0);
            if partial.entry_len().max(self.entry_bytes(common)) > LARGEST_ENTRY_BYTES {
                continue;
            }
            let Ok(entry) = partial.parse(EhFrame::cie_from_offset) else { continue };
            if entry.initial_address() < entry.end_address() {
                functions.push(Function { start: entry.initial_address(), end: entry.end_address(), offset });
            }
        }
        functions.sort_by_key(|function| function.start);
        functions.shrink_to_fit();
        functions
    }
}

/// Address and bytes of `.eh_frame`: by its section header, or by the segment that points to it.
fn find_frames(file: &dyn ReadAt, headers: &Headers, sections: &Sections) -> Option<(u64, Box<[u8]>)> {
    if let Some(section) = headers.section(".eh_frame").filter(|section| section.is_in_file) {
        let bytes = read_part(file, section.file_offset, section.size_bytes)?;
        return Some((section.address, bytes.into()));
    }
    let segment = headers.segments_of(SegmentKind::EhFrameHdr).next()?;
    let bytes = read_part(file, segment.file_offset, segment.file_bytes)?;
    let bases = BaseAddresses::default().set_eh_frame_hdr(segment.address);
    let header = EhFrameHdr::new(&bytes, LittleEndian).parse(&bases, 8).ok()?;
    let Pointer::Direct(address) = header.eh_frame_ptr() else { return None };
    let end = sections.end_of(address).map_or(u64::MAX, |end| end - address);
    let size_bytes = headers.bytes_from(address).min(end).min(LARGEST_PART_BYTES);
    Some((address, read_part(file, headers.file_offset_of(address)?, size_bytes)?.into()))
}
