//! The packets of a trace. Knows no evidence. Numbers of fields are those of the schema.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::profiles::{ENTRIES_MAX, FRAMES_MAX};
use crate::wire::{Fields, Value};

/// A trace is one field, repeated.
const PACKET: u32 = 1;

/// Fields of `TracePacket`.
pub(super) mod packet {
    pub(in crate::perfetto) const PROCESS_TREE: u32 = 2;
    pub(in crate::perfetto) const CLOCK_SNAPSHOT: u32 = 6;
    pub(in crate::perfetto) const TIMESTAMP: u32 = 8;
    pub(in crate::perfetto) const SEQUENCE: u32 = 10;
    pub(in crate::perfetto) const INTERNED: u32 = 12;
    pub(in crate::perfetto) const SEQUENCE_FLAGS: u32 = 13;
    pub(in crate::perfetto) const STATE_CLEARED: u32 = 41;
    pub(in crate::perfetto) const COMPRESSED: u32 = 50;
    pub(in crate::perfetto) const CLOCK: u32 = 58;
    pub(in crate::perfetto) const DEFAULTS: u32 = 59;
    pub(in crate::perfetto) const TRACK: u32 = 60;
    pub(in crate::perfetto) const SAMPLE: u32 = 66;
}

/// Packets that are looked at to recognise a trace.
const PACKETS_TO_RECOGNISE: usize = 16;

/// Whether a file that begins with `head` is a trace: packets, one of which at least names the sequence that it is of.
pub(super) fn is_trace(head: &[u8]) -> bool {
    let mut has_sequence = false;
    let mut packets = Fields::of(head);
    for (number, value) in packets.by_ref().take(PACKETS_TO_RECOGNISE) {
        let mut fields = value.fields();
        for (inner, value) in fields.by_ref() {
            has_sequence |= inner == packet::SEQUENCE && matches!(value, Value::Varint(_));
        }
        if number != PACKET || !matches!(value, Value::Bytes(_)) || fields.is_damaged() {
            return false;
        }
    }
    has_sequence && (!packets.is_damaged() || packets.cut().is_some_and(|(number, _)| number == PACKET))
}

/// The packets of a file, each with where it ends.
pub(super) fn packets(file: &[u8]) -> Packets<'_> {
    Packets(Fields::of(file))
}

pub(super) struct Packets<'a>(Fields<'a>);

impl<'a> Packets<'a> {
    pub(super) fn read_bytes(&self) -> usize {
        self.0.read_bytes()
    }

    pub(super) fn is_damaged(&self) -> bool {
        self.0.is_damaged()
    }
}

impl<'a> Iterator for Packets<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        self.0.by_ref().find(|(number, _)| *number == PACKET).map(|(_, value)| value)
    }
}

/// The last value of a field of a message.
pub(super) fn of(message: Value<'_>, number: u32) -> Option<Value<'_>> {
    message.fields().filter(|(known, _)| *known == number).last().map(|(_, value)| value)
}

pub(super) fn number(message: Value<'_>, field: u32) -> Option<u64> {
    of(message, field).map(|value| value.int().cast_unsigned())
}

/// Numbers of clocks with their times in ns.
pub(super) fn clocks(snapshot: Value<'_>) -> Vec<(u64, i64)> {
    const CLOCKS_MAX: usize = 256;
    let clock = |clock: Value<'_>| {
        let unit_ns = number(clock, 4).filter(|unit| *unit > 0).and_then(|unit| i64::try_from(unit).ok()).unwrap_or(1);
        Some((number(clock, 1)?, of(clock, 2)?.int().saturating_mul(unit_ns)))
    };
    let clocks = snapshot.fields().filter(|(number, _)| *number == 1).take(CLOCKS_MAX);
    clocks.filter_map(|(_, value)| clock(value)).collect()
}

/// What a sequence of packets has told and its later packets refer to.
#[derive(Debug, Default)]
pub(super) struct State<'a> {
    /// Clock of its packets where they do not say.
    pub(super) clock: Option<u64>,
    /// How often perf was asked for, and by which counter.
    pub(super) frequency: Option<u64>,
    pub(super) counter: u64,
    names: FxHashMap<u64, &'a [u8]>,
    paths: FxHashMap<u64, &'a [u8]>,
    mappings: FxHashMap<u64, Value<'a>>,
    pub(super) frames: FxHashMap<u64, Value<'a>>,
    callstacks: FxHashMap<u64, Value<'a>>,
    pub(super) too_many: i64,
}

impl<'a> State<'a> {
    /// Forgets what was said so far.
    pub(super) fn clear(&mut self) {
        let too_many = self.too_many;
        *self = State { too_many, ..State::default() };
    }

    pub(super) fn defaults(&mut self, defaults: Value<'a>) {
        self.clock = number(defaults, packet::CLOCK);
        let timebase = of(defaults, 12).and_then(|perf| of(perf, 1));
        self.frequency = timebase.and_then(|timebase| number(timebase, 2)).filter(|frequency| *frequency > 0);
        self.counter = timebase.and_then(|timebase| number(timebase, 4)).unwrap_or(0);
    }

    /// Takes entries of `InternedData`.
    pub(super) fn intern(&mut self, data: Value<'a>) {
        for (field, value) in data.fields() {
            let Some(id) = number(value, 1) else { continue };
            let text = || of(value, 2).map_or(&[][..], Value::bytes);
            let entries =
                [self.names.len(), self.paths.len(), self.mappings.len(), self.frames.len(), self.callstacks.len()];
            if entries.iter().sum::<usize>() >= ENTRIES_MAX {
                self.too_many += 1;
                continue;
            }
            match field {
                5 => drop(self.names.insert(id, text())),
                6 => drop(self.frames.insert(id, value)),
                7 => drop(self.callstacks.insert(id, value)),
                17 => drop(self.paths.insert(id, text())),
                19 => drop(self.mappings.insert(id, value)),
                _ => {}
            }
        }
    }

    /// The numbers of a stack's frames, callers first.
    pub(super) fn callstack(&self, id: u64) -> Vec<u64> {
        self.callstacks.get(&id).map_or_else(Vec::new, |stack| numbers(*stack, 2).take(FRAMES_MAX).collect())
    }

    /// Name and library of a frame; its place in the library where it has no name.
    pub(super) fn frame(&self, id: u64) -> (Cow<'a, str>, String) {
        let frame = self.frames.get(&id).copied().unwrap_or(Value::Varint(0));
        let name = number(frame, 2).and_then(|name| self.names.get(&name)).copied().unwrap_or_default();
        let parts = number(frame, 3).and_then(|mapping| self.mappings.get(&mapping));
        let parts = parts.into_iter().flat_map(|mapping| numbers(*mapping, 7)).take(PARTS_MAX);
        let path = parts.filter_map(|part| self.paths.get(&part));
        let path: String = path.map(|part| format!("/{}", String::from_utf8_lossy(part))).collect();
        let name = match name {
            [] => format!("{:#x}", number(frame, 4).unwrap_or(0)).into(),
            name => String::from_utf8_lossy(name),
        };
        (name, path)
    }
}

/// Parts of the path of a library.
const PARTS_MAX: usize = 64;

fn numbers(message: Value<'_>, number: u32) -> impl Iterator<Item = u64> {
    let lists = message.fields().filter(move |(known, _)| *known == number);
    lists.flat_map(|(_, value)| value.numbers()).map(i64::cast_unsigned)
}

/// Threads with their names and processes, as a packet tells them.
pub(super) fn threads(packet: Value<'_>) -> Vec<(i64, Cow<'_, str>)> {
    let mut found = Vec::new();
    if let Some(tree) = of(packet, packet::PROCESS_TREE) {
        let threads = tree.fields().filter(|(number, _)| *number == 2);
        found.extend(threads.filter_map(|(_, thread)| Some((of(thread, 1)?.int(), of(thread, 2)?.text()))));
    }
    if let Some(thread) = of(packet, packet::TRACK).and_then(|track| of(track, 4)) {
        found.extend(of(thread, 2).zip(of(thread, 5)).map(|(tid, name)| (tid.int(), name.text())));
    }
    found
}
