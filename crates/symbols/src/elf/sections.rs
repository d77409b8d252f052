//! Which part of an image an address lies in.

use object::elf::{
    DT_GNU_HASH, DT_HASH, DT_JMPREL, DT_PLTRELSZ, DT_RELA, DT_RELASZ, DT_STRSZ, DT_STRTAB, DT_SYMTAB, DT_VERDEF,
    DT_VERNEED, DT_VERSYM, DynamicTag,
};

use super::dynamic::Dynamic;
use super::headers::{Headers, Section, Segment, SegmentKind};

/// The loaded sections in the order of their addresses.
#[derive(Debug)]
pub(crate) struct Sections(Vec<Part>);

#[derive(Debug)]
struct Part {
    start: u64,
    end: u64,
    name: String,
}

/// What the dynamic table points to, under the name that the section has where there are headers.
const TABLES: [(DynamicTag, Option<DynamicTag>, &str); 9] = [
    (DT_STRTAB, Some(DT_STRSZ), ".dynstr"),
    (DT_SYMTAB, None, ".dynsym"),
    (DT_HASH, None, ".hash"),
    (DT_GNU_HASH, None, ".gnu.hash"),
    (DT_VERSYM, None, ".gnu.version"),
    (DT_VERNEED, None, ".gnu.version_r"),
    (DT_VERDEF, None, ".gnu.version_d"),
    (DT_RELA, Some(DT_RELASZ), ".rela.dyn"),
    (DT_JMPREL, Some(DT_PLTRELSZ), ".rela.plt"),
];

impl Sections {
    pub(crate) fn new(headers: &Headers, dynamic: &Dynamic) -> Sections {
        let loaded = headers.sections.iter().filter(|section| section.is_loaded && section.size_bytes > 0);
        let mut parts: Vec<Part> = loaded.map(part_of).collect();
        if parts.is_empty() {
            parts = estimate(headers, dynamic);
        }
        parts.sort_by_key(|part| part.start);
        Sections(parts)
    }

    #[cfg(test)]
    pub(crate) fn of_one(end: u64) -> Sections {
        Sections(vec![Part { start: 0, end, name: ".text".to_owned() }])
    }

    pub(crate) fn at(&self, address: u64) -> Option<&str> {
        let after = self.0.partition_point(|part| part.start <= address);
        let part = self.0.get(after.checked_sub(1)?)?;
        (address < part.end).then_some(&part.name)
    }

    /// The end of the section that holds `address`.
    pub(crate) fn end_of(&self, address: u64) -> Option<u64> {
        let after = self.0.partition_point(|part| part.start <= address);
        self.0.get(after.checked_sub(1)?).map(|part| part.end).filter(|end| address < *end)
    }
}

fn part_of(section: &Section) -> Part {
    Part { start: section.address, end: section.end(), name: section.name.clone() }
}

/// Without section headers: each table ends where it says, or where the next thing begins.
fn estimate(headers: &Headers, dynamic: &Dynamic) -> Vec<Part> {
    let mut starts: Vec<(u64, Option<u64>, &str)> = headers.segments.iter().filter_map(named_segment).collect();
    for (tag, size_tag, name) in TABLES {
        if let Some(start) = dynamic.value(tag) {
            starts.push((start, size_tag.and_then(|tag| dynamic.value(tag)), name));
        }
    }
    starts.sort_by_key(|(start, ..)| *start);
    let ends = starts.iter().skip(1).map(|(start, ..)| *start).chain([u64::MAX]).collect::<Vec<_>>();
    let parts = starts.iter().zip(ends).filter_map(|((start, size_bytes, name), next)| {
        let wanted = size_bytes.unwrap_or(u64::MAX).min(headers.bytes_from(*start));
        let end = start.saturating_add(wanted).min(next);
        (end > *start).then(|| Part { start: *start, end, name: (*name).to_owned() })
    });
    parts.collect()
}

fn named_segment(segment: &Segment) -> Option<(u64, Option<u64>, &'static str)> {
    let name = match segment.kind {
        SegmentKind::Dynamic => ".dynamic",
        SegmentKind::EhFrameHdr => ".eh_frame_hdr",
        SegmentKind::Note => ".note",
        SegmentKind::Interpreter => ".interp",
        // One that begins with the file's header holds everything; where its code begins is not known.
        SegmentKind::Load if segment.is_executable && segment.file_offset > 0 => ".text",
        SegmentKind::Load | SegmentKind::Other => return None,
    };
    Some((segment.address, Some(segment.file_bytes), name))
}
