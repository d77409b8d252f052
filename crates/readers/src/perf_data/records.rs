//! The records one after the other, unpacked where they are packed. Knows no evidence.

use linux_perf_event_reader::Endianness;
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use crate::bytes::Bytes;
use crate::input::{Input, Passed};
use crate::perf_data::attributes;
use crate::perf_data::container::{self, About, Container};

const HEADER_BYTES: usize = 8;

/// Records that perf itself writes begin here; below are the kernel's.
const USER_FROM: u32 = 64;
const HEADER_ATTR: u32 = 64;
const HEADER_TRACING_DATA: u32 = 66;
const HEADER_BUILD_ID: u32 = 67;
/// perf has emptied the buffers of all CPUs once.
pub(super) const FINISHED_ROUND: u32 = 68;
const AUXTRACE: u32 = 71;
const EVENT_UPDATE: u32 = 78;
const HEADER_FEATURE: u32 = 80;
const COMPRESSED: u32 = 81;
const COMPRESSED_SIZED: u32 = 83;

/// What is unpacked at once, in bytes.
const UNPACKED_BYTES: usize = 1 << 20;

/// Packed records unpack to at most this many bytes, so that reading a hostile file ends.
const UNPACKED_MAX_BYTES: u64 = 32 << 30;

/// A record of the kernel, or the mark of a [round](FINISHED_ROUND).
pub(super) struct Record<'a> {
    pub(super) kind: u32,
    pub(super) misc: u16,
    pub(super) body: &'a [u8],
}

/// Gives each record of the kernel and each mark to `take`, and why reading ended early, in one sentence. What perf writes ahead in a pipe goes into
/// `about`.
pub(super) fn read(
    file: &Input,
    container: &Container,
    about: &mut About,
    take: &mut dyn FnMut(&About, Record<'_>),
) -> Option<String> {
    let mut reading = Reading { endian: container.endian, about, take, unpacker: None, damage: None };
    let bytes = file.get(container.records.clone()).unwrap_or_default();
    let mut passed = Passed::of(file);
    let used = reading.records(bytes, true, &mut |used| passed.up_to(container.records.start + used));
    let is_cut = used < bytes.len() || reading.unpacker.as_ref().is_some_and(|unpacker| !unpacker.rest.is_empty());
    let cut = || is_cut.then(|| format!("reading ended after {used} of {} bytes of records", bytes.len()));
    reading.damage.take().or_else(cut)
}

struct Reading<'a> {
    endian: Endianness,
    about: &'a mut About,
    take: &'a mut dyn FnMut(&About, Record<'_>),
    unpacker: Option<Unpacker>,
    damage: Option<String>,
}

/// Packed records are pieces of one stream.
struct Unpacker {
    decoder: Decoder<'static>,
    /// The beginning of a record whose end is not there yet.
    rest: Vec<u8>,
    total_bytes: u64,
}

impl Reading<'_> {
    /// Reads records and returns how many bytes were whole ones.
    fn records(&mut self, bytes: &[u8], is_outside: bool, passed: &mut dyn FnMut(usize)) -> usize {
        let mut used = 0;
        while self.damage.is_none() {
            let Some(size) = self.record(&bytes[used..], is_outside) else { break };
            used += size;
            passed(used);
        }
        used
    }

    fn record(&mut self, bytes: &[u8], is_outside: bool) -> Option<usize> {
        let mut header = Bytes::new(bytes, self.endian);
        let (kind, misc, size) = (header.u32()?, header.u16()?, usize::from(header.u16()?));
        if size < HEADER_BYTES {
            self.damage = Some("a record is shorter than its own head".to_owned());
            return None;
        }
        let body = bytes.get(HEADER_BYTES..size)?;
        if kind < USER_FROM {
            (self.take)(self.about, Record { kind, misc, body });
            return Some(size);
        }
        let after = &bytes[size..];
        let more = self.of_perf((kind, misc), body, after, is_outside)?;
        size.checked_add(more)
    }

    /// Takes a record of perf; some have bytes after them that their size does not count.
    fn of_perf(&mut self, (kind, misc): (u32, u16), body: &[u8], after: &[u8], is_outside: bool) -> Option<usize> {
        let mut fields = Bytes::new(body, self.endian);
        match kind {
            HEADER_ATTR => {
                attributes::of_record(body, self.endian).into_iter().for_each(|attribute| self.about.add(attribute));
            }
            HEADER_TRACING_DATA => {
                let size = (fields.u32()? as usize).next_multiple_of(8);
                self.about.feature(container::TRACING_DATA, after.get(..size)?, self.endian);
                return Some(size);
            }
            AUXTRACE => return fields.size().filter(|size| *size <= after.len()),
            FINISHED_ROUND => (self.take)(self.about, Record { kind, misc, body }),
            HEADER_BUILD_ID => self.about.build_id(misc, body),
            HEADER_FEATURE => {
                let number = u32::try_from(fields.u64()?).ok()?;
                self.about.feature(number, fields.rest(), self.endian);
            }
            EVENT_UPDATE => self.update(fields),
            COMPRESSED if is_outside => self.unpack(body),
            COMPRESSED_SIZED if is_outside => {
                let size = fields.size()?;
                self.unpack(fields.rest().get(..size)?);
            }
            _ => {}
        }
        Some(0)
    }

    /// The name of an event.
    fn update(&mut self, mut fields: Bytes<'_>) {
        const NAME: u64 = 2;
        let (Some(what), Some(id)) = (fields.u64(), fields.u64()) else { return };
        let attributes = &mut self.about.attributes;
        if let Some(attribute) =
            attributes.iter_mut().find(|attribute| attribute.ids.contains(&id)).filter(|_| what == NAME)
        {
            attribute.set_name(fields.rest());
        }
    }

    fn unpack(&mut self, packed: &[u8]) {
        let unpacker = match self.unpacker.take() {
            Some(unpacker) => Ok(unpacker),
            None => Decoder::new().map(|decoder| Unpacker { decoder, rest: Vec::new(), total_bytes: 0 }),
        };
        let mut unpacker = match unpacker {
            Ok(unpacker) => unpacker,
            Err(error) => {
                self.damage = Some(format!("packed records cannot be unpacked: {error}"));
                return;
            }
        };
        self.unpack_by(&mut unpacker, packed);
        self.unpacker = Some(unpacker);
    }

    fn unpack_by(&mut self, unpacker: &mut Unpacker, packed: &[u8]) {
        let mut input = InBuffer::around(packed);
        let mut room = vec![0_u8; UNPACKED_BYTES];
        while self.damage.is_none() {
            let mut output = OutBuffer::around(&mut room[..]);
            if let Err(error) = unpacker.decoder.run(&mut input, &mut output) {
                self.damage = Some(format!("packed records are damaged: {error}"));
                return;
            }
            let got = output.pos();
            unpacker.total_bytes += got as u64;
            unpacker.rest.extend(&room[..got]);
            let bytes = std::mem::take(&mut unpacker.rest);
            let used = self.records(&bytes, false, &mut |_| ());
            unpacker.rest = bytes[used..].to_vec();
            if unpacker.total_bytes > UNPACKED_MAX_BYTES {
                self.damage = Some(format!("only the first {UNPACKED_MAX_BYTES} unpacked bytes were read"));
            }
            if got < UNPACKED_BYTES && input.pos() == packed.len() || got == 0 {
                return;
            }
        }
    }
}
