//! Layouts of tracepoints, as perf copies them from the kernel. Knows no evidence.

use std::collections::HashMap;
use std::ops::Range;

use linux_perf_event_reader::Endianness;

use crate::bytes::{Bytes, until_zero};

/// What the section begins with.
const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Systems and tracepoints that are read; a kernel has some hundred and some thousand.
const SYSTEMS_MAX: u32 = 10_000;
const EVENTS_MAX: u32 = 100_000;

/// A tracepoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Format {
    /// `sched:sched_switch`.
    pub(super) name: String,
    fields: Vec<Field>,
    endian: Endianness,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Field {
    name: String,
    place: Range<usize>,
    is_signed: bool,
    /// Whether its value is the place and length of text behind the fields.
    is_elsewhere: bool,
}

impl Format {
    fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// A number of a field of at most eight bytes.
    pub(super) fn number(&self, raw: &[u8], name: &str) -> Option<i64> {
        let field = self.field(name)?;
        let mut bytes = Bytes::new(raw.get(field.place.clone())?, self.endian);
        Some(match (field.place.len(), field.is_signed) {
            (1, true) => i64::from(bytes.take(1)?[0] as i8),
            (1, false) => i64::from(bytes.take(1)?[0]),
            (2, true) => i64::from(bytes.u16()? as i16),
            (2, false) => i64::from(bytes.u16()?),
            (4, true) => i64::from(bytes.u32()? as i32),
            (4, false) => i64::from(bytes.u32()?),
            (8, _) => bytes.u64()? as i64,
            _ => return None,
        })
    }

    /// The first of several numbers of eight bytes.
    pub(super) fn first_number(&self, raw: &[u8], name: &str) -> Option<i64> {
        let mut bytes = Bytes::new(raw.get(self.field(name)?.place.clone())?, self.endian);
        bytes.u64().map(|number| number as i64)
    }

    /// A text, up to its first zero.
    pub(super) fn text<'a>(&self, raw: &'a [u8], name: &str) -> Option<&'a [u8]> {
        let field = self.field(name)?;
        let place = match field.is_elsewhere {
            false => field.place.clone(),
            true => {
                let both = Bytes::new(raw.get(field.place.clone())?, self.endian).u32()?;
                let start = (both & 0xffff) as usize;
                start..start + (both >> 16) as usize
            }
        };
        raw.get(place).map(until_zero)
    }
}

/// All layouts of a section, by the number of the tracepoint; what is damaged and after it is left out.
pub(super) fn parse(section: &[u8]) -> HashMap<u64, Format> {
    let mut found = HashMap::new();
    read(section, &mut found);
    found
}

fn read(section: &[u8], found: &mut HashMap<u64, Format>) -> Option<()> {
    let rest = section.strip_prefix(MAGIC)?;
    let mut head = Bytes::new(rest, Endianness::LittleEndian);
    head.text()?;
    let endian = if head.take(1)? == [1] { Endianness::BigEndian } else { Endianness::LittleEndian };
    let mut bytes = Bytes::new(head.rest(), endian);
    // Size of a long, and of a page.
    bytes.take(5)?;
    for _ in ["header_page", "header_event"] {
        bytes.text()?;
        skip_sized(&mut bytes)?;
    }
    for _ in 0..bytes.u32()?.min(EVENTS_MAX) {
        skip_sized(&mut bytes)?;
    }
    for _ in 0..bytes.u32()?.min(SYSTEMS_MAX) {
        let system = String::from_utf8_lossy(bytes.text()?);
        for _ in 0..bytes.u32()?.min(EVENTS_MAX) {
            let size = bytes.size()?;
            let text = bytes.take(size)?;
            found.extend(format(&system, &String::from_utf8_lossy(text), endian));
        }
    }
    Some(())
}

fn skip_sized(bytes: &mut Bytes<'_>) -> Option<()> {
    let size = bytes.size()?;
    bytes.take(size).map(|_| ())
}

fn format(system: &str, text: &str, endian: Endianness) -> Option<(u64, Format)> {
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let id = value("ID:")?.parse().ok()?;
    let name = format!("{system}:{}", value("name:")?);
    let fields = text.lines().filter_map(field).collect();
    Some((id, Format { name, fields, endian }))
}

/// ` field:char prev_comm[16]; offset:8; size:16; signed:0;`
fn field(line: &str) -> Option<Field> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
    let declared = parts.next()?;
    let number = |part: Option<&str>, key: &str| part?.strip_prefix(key)?.parse::<usize>().ok();
    let offset = number(parts.next(), "offset:")?;
    let size = number(parts.next(), "size:")?;
    let is_signed = number(parts.next(), "signed:") == Some(1);
    let name = declared.rsplit([' ', '*']).next()?.split('[').next()?.to_owned();
    let is_elsewhere = declared.contains("__data_loc");
    Some(Field { name, place: offset..offset.checked_add(size)?, is_signed, is_elsewhere })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: &str = "name: sched_switch\nID: 314\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\tfield:char prev_comm[4];\toffset:8;\tsize:4;\tsigned:0;\n\tfield:pid_t prev_pid;\toffset:12;\tsize:4;\tsigned:1;\n\tfield:__data_loc char[] name;\toffset:16;\tsize:4;\tsigned:0;\n\nprint fmt: \"x\"\n";

    #[test]
    fn fields_are_found_by_their_layout() {
        let (id, format) = format("sched", SWITCH, Endianness::LittleEndian).unwrap();
        assert_eq!((id, format.name.as_str()), (314, "sched:sched_switch"));
        let mut raw = vec![1, 0, 0, 0, 0, 0, 0, 0];
        raw.extend(b"ab\0c");
        raw.extend((-2_i32).to_le_bytes());
        raw.extend((20_u32 | 3 << 16).to_le_bytes());
        raw.extend(b"vd\0");
        assert_eq!(format.number(&raw, "prev_pid"), Some(-2));
        assert_eq!(format.number(&raw, "common_type"), Some(1));
        assert_eq!(format.text(&raw, "prev_comm"), Some(&b"ab"[..]));
        assert_eq!(format.text(&raw, "name"), Some(&b"vd"[..]));
        assert_eq!((format.number(&raw[..13], "prev_pid"), format.number(&raw, "other")), (None, None));
    }
}
