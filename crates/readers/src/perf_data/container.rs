//! The file around records: header, sections, packed records. Knows no evidence.

use std::collections::HashMap;
use std::ops::Range;

use linux_perf_event_reader::Endianness;
use rustc_hash::FxHashMap;

use crate::bytes::{Bytes, until_zero};
use crate::perf_data::attributes::{self, Attribute};
use crate::perf_data::formats::{self, Format};

const MAGIC_LITTLE: &[u8] = b"PERFILE2";
const MAGIC_BIG: &[u8] = b"2ELIFREP";

/// The header of a pipe is its magic and its size.
const PIPE_HEADER_BYTES: usize = 16;

/// Numbers of the features that are read.
pub(super) const TRACING_DATA: u32 = 1;
const BUILD_ID: u32 = 2;
const OS_RELEASE: u32 = 4;
const ARCHITECTURE: u32 = 6;
const EVENT_DESC: u32 = 12;
const CLOCK_DATA: u32 = 29;
const FEATURES: u32 = 256;

/// Whether a file that begins with `head` is one.
pub(super) fn is_perf_data(head: &[u8]) -> bool {
    head.starts_with(MAGIC_LITTLE) || head.starts_with(MAGIC_BIG)
}

/// One reading of the clock of the records and of the wall clock, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClockPair {
    pub(super) wall_ns: u64,
    pub(super) clock_ns: u64,
}

/// What is known of a file beside its records. Of a pipe these come as records.
#[derive(Debug, Default)]
pub(super) struct About {
    pub(super) attributes: Vec<Attribute>,
    by_id: FxHashMap<u64, usize>,
    pub(super) clock: Option<ClockPair>,
    /// Of tracepoints, by their number.
    pub(super) formats: HashMap<u64, Format>,
    pub(super) build_ids: HashMap<Vec<u8>, Vec<u8>>,
    /// Release of the kernel.
    pub(super) os_release: Option<String>,
    /// Architecture of the machine, as `uname -m` has it.
    pub(super) architecture: Option<String>,
}

impl About {
    pub(super) fn add(&mut self, attribute: Attribute) {
        let index = self.attributes.len();
        self.by_id.extend(attribute.ids.iter().map(|id| (*id, index)));
        self.attributes.push(attribute);
    }

    /// The event of a record, whose id is only asked for where there are several events.
    pub(super) fn of_id(&self, id: impl FnOnce() -> Option<u64>) -> Option<&Attribute> {
        match &self.attributes[..] {
            [only] => Some(only),
            _ => self.attributes.get(*self.by_id.get(&id()?)?),
        }
    }

    /// Takes a record that tells the build id of a file.
    pub(super) fn build_id(&mut self, misc: u16, body: &[u8]) {
        self.build_ids.extend(build_id(misc, body));
    }

    /// Takes a feature, from its section or from a record.
    pub(super) fn feature(&mut self, number: u32, section: &[u8], endian: Endianness) {
        match number {
            TRACING_DATA => self.formats = formats::parse(section),
            BUILD_ID => self.build_ids.extend(build_ids(section, endian)),
            OS_RELEASE => self.os_release = text(section),
            ARCHITECTURE => self.architecture = text(section),
            CLOCK_DATA => self.clock = clock(section, endian).or(self.clock),
            EVENT_DESC => {
                let described = attributes::of_descriptions(section, endian);
                if described.len() >= self.attributes.len() {
                    (self.attributes, self.by_id) = Default::default();
                    described.into_iter().for_each(|attribute| self.add(attribute));
                }
            }
            _ => {}
        }
    }
}

/// A text behind its length.
fn text(section: &[u8]) -> Option<String> {
    let text = until_zero(section.get(4..)?);
    Some(String::from_utf8_lossy(text).into_owned())
}

fn clock(section: &[u8], endian: Endianness) -> Option<ClockPair> {
    let mut bytes = Bytes::new(section, endian);
    let (_version, _clock) = (bytes.u32()?, bytes.u32()?);
    Some(ClockPair { wall_ns: bytes.u64()?, clock_ns: bytes.u64()? })
}

/// Records of build ids, with their heads.
fn build_ids(section: &[u8], endian: Endianness) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    const HEADER_BYTES: usize = 8;
    let mut bytes = Bytes::new(section, endian);
    let next = move || {
        let (_kind, misc, size) = (bytes.u32()?, bytes.u16()?, bytes.u16()?);
        build_id(misc, bytes.take(usize::from(size).checked_sub(HEADER_BYTES)?)?)
    };
    std::iter::from_fn(next)
}

/// Process, 24 bytes of which the 21st may be the length, path.
fn build_id(misc: u16, body: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    /// Of the id, where an older perf did not write how long it is.
    const ID_BYTES: usize = 20;
    const HAS_SIZE: u16 = 1 << 15;
    let length = if misc & HAS_SIZE == 0 { ID_BYTES } else { usize::from(*body.get(4 + ID_BYTES)?).min(ID_BYTES) };
    Some((until_zero(body.get(28..)?).to_vec(), body.get(4..4 + length)?.to_vec()))
}

/// A file.
pub(super) struct Container {
    pub(super) endian: Endianness,
    pub(super) is_pipe: bool,
    /// Where its records are.
    pub(super) records: Range<usize>,
    /// Whether perf did not finish it.
    pub(super) is_unfinished: bool,
    pub(super) about: About,
}

impl Container {
    pub(super) fn parse(file: &[u8]) -> Option<Container> {
        let endian = if file.starts_with(MAGIC_BIG) { Endianness::BigEndian } else { Endianness::LittleEndian };
        let mut header = Bytes::new(file.get(MAGIC_LITTLE.len()..)?, endian);
        let size = header.size()?;
        if size == PIPE_HEADER_BYTES {
            let records = PIPE_HEADER_BYTES..file.len();
            return Some(Container { endian, is_pipe: true, records, is_unfinished: false, about: About::default() });
        }
        let attr_size = header.size()?;
        let (attrs, data) = (section(&mut header)?, section(&mut header)?);
        let _event_types = section(&mut header)?;
        let features = [header.u64()?, header.u64()?, header.u64()?, header.u64()?];
        let mut about = About::default();
        let attrs = file.get(attrs.start..attrs.end.min(file.len())).unwrap_or_default();
        if attr_size > 0 {
            attributes::of_section(attrs, attr_size, file, endian).into_iter().for_each(|one| about.add(one));
        }
        // perf writes the length when it ends.
        let is_unfinished = data.is_empty();
        let end = if is_unfinished { file.len() } else { data.end };
        if !is_unfinished {
            read_features(file, end, features, endian, &mut about);
        }
        let records = data.start.min(file.len())..end.min(file.len());
        Some(Container { endian, is_pipe: false, records, is_unfinished, about })
    }
}

fn section(bytes: &mut Bytes<'_>) -> Option<Range<usize>> {
    let (offset, size) = (bytes.size()?, bytes.size()?);
    Some(offset..offset.checked_add(size)?)
}

/// After the records: where each feature is, in the order of their numbers.
fn read_features(file: &[u8], from: usize, features: [u64; 4], endian: Endianness, about: &mut About) {
    let mut places = Bytes::new(file.get(from..).unwrap_or_default(), endian);
    let is_set = |number: &u32| features[(number / 64) as usize] >> (number % 64) & 1 == 1;
    for number in (0..FEATURES).filter(is_set) {
        let Some(place) = section(&mut places) else { return };
        if let Some(section) = file.get(place) {
            about.feature(number, section, endian);
        }
    }
}
