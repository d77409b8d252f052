//! The probes that are followed, and what each of them reports.

use fathom_symbols::elf::{Argument, Operand, Probe as Found};

/// The probes, by their numbers in the kernel's programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Probe {
    SafepointBegin,
    /// The last thread has stopped. No probe but a function of the JVM.
    SafepointReached,
    SafepointEnd,
    OperationBegin,
    OperationEnd,
    CollectionBegin,
    CollectionEnd,
    PoolBefore,
    PoolAfter,
    CompilationBegin,
    CompilationEnd,
    CodeLoaded,
    CodeUnloaded,
    ClassLoaded,
    ClassUnloaded,
    ThreadStart,
}

/// How many there are.
pub(super) const PROBES: usize = 16;

/// Texts and numbers that one probe may tell.
pub(super) const TEXTS: usize = 2;
pub(super) const NUMBERS: usize = 9;

/// What a number is made of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    /// The argument itself.
    Argument(usize),
    /// The first eight bytes of the text that the argument points to.
    Beginning(usize),
    /// A counter of the JVM: for how long the collector with this number has run so far.
    Ran(usize),
    /// A counter of the JVM: a size of the heap, one of [`SIZES`].
    Size(usize),
}

/// One probe and what is read there.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) probe: Probe,
    provider: &'static str,
    name: &'static str,
    /// Arguments that point to texts, each with the one that is its length.
    pub(super) texts: &'static [(usize, usize)],
    pub(super) numbers: &'static [Number],
    /// It is only counted.
    pub(super) is_silent: bool,
    /// What it is part of: what is switched off together, in a person's words.
    pub(super) part: &'static str,
}

const SAFEPOINTS: &str = "safepoints";
const OPERATIONS: &str = "operations of the VM thread";
const COLLECTIONS: &str = "collections";
const POOLS: &str = "memory before and after collections";
const COMPILATIONS: &str = "compilations";

const fn kind(probe: Probe, name: &'static str, part: &'static str) -> Kind {
    Kind { probe, provider: "hotspot", name, texts: &[], numbers: &[], is_silent: false, part }
}

const fn silent(probe: Probe, name: &'static str, part: &'static str) -> Kind {
    Kind { is_silent: true, ..kind(probe, name, part) }
}

/// All of them, in the order of their numbers.
pub(super) const KINDS: [Kind; PROBES] = [
    Kind { provider: "hs_private", ..kind(Probe::SafepointBegin, "safepoint__begin", SAFEPOINTS) },
    Kind { provider: "", ..kind(Probe::SafepointReached, "", SAFEPOINTS) },
    Kind { provider: "hs_private", ..kind(Probe::SafepointEnd, "safepoint__end", SAFEPOINTS) },
    Kind {
        texts: &[(0, 1)],
        numbers: &[Number::Argument(2)],
        ..kind(Probe::OperationBegin, "vmops__begin", OPERATIONS)
    },
    kind(Probe::OperationEnd, "vmops__end", OPERATIONS),
    Kind { numbers: AT_BEGIN, ..kind(Probe::CollectionBegin, "gc__begin", COLLECTIONS) },
    Kind { numbers: AT_END, ..kind(Probe::CollectionEnd, "gc__end", COLLECTIONS) },
    pool(Probe::PoolBefore, "mem__pool__gc__begin"),
    pool(Probe::PoolAfter, "mem__pool__gc__end"),
    kind(Probe::CompilationBegin, "method__compile__begin", COMPILATIONS),
    Kind {
        texts: &[(2, 3), (4, 5)],
        numbers: &[Number::Beginning(0), Number::Argument(8)],
        ..kind(Probe::CompilationEnd, "method__compile__end", COMPILATIONS)
    },
    silent(Probe::CodeLoaded, "compiled__method__load", "loading of compiled code"),
    silent(Probe::CodeUnloaded, "compiled__method__unload", "unloading of compiled code"),
    silent(Probe::ClassLoaded, "class__loaded", "loading of classes"),
    silent(Probe::ClassUnloaded, "class__unloaded", "unloading of classes"),
    Kind { texts: &[(0, 1)], ..kind(Probe::ThreadStart, "thread__start", "beginnings of threads") },
];

/// Manager and pool with their lengths; then what was there first, is used, is committed, and may be.
const fn pool(probe: Probe, name: &'static str) -> Kind {
    let numbers = &[Number::Argument(5), Number::Argument(6), Number::Argument(7)];
    Kind { texts: &[(0, 1), (2, 3)], numbers, ..kind(probe, name, POOLS) }
}

/// The functions that serve where there is no probe, as they stand in the table of symbols.
pub(super) const REACHED: &str = "_ZN16SafepointTracing12synchronizedEiii";
pub(super) const FUNCTIONS: [(Probe, &str); 3] = [
    (Probe::SafepointBegin, "_ZN20SafepointSynchronize5beginEv"),
    (Probe::SafepointReached, REACHED),
    (Probe::SafepointEnd, "_ZN20SafepointSynchronize3endEv"),
];

/// The kind that a probe of the file is.
pub(super) fn kind_of(found: &Found) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == found.name && kind.provider == found.provider)
}

/// The kind of a probe.
pub(super) fn kind_by(probe: Probe) -> &'static Kind {
    &KINDS[probe as usize]
}

/// One place in the file to attach to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) probe: Probe,
    pub(super) file_offset: u64,
    pub(super) semaphore_offset: Option<u64>,
    pub(super) arguments: Vec<Option<Argument>>,
}

/// A text at an address of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) address: u64,
    pub(super) size_bytes: u64,
}

/// Collectors whose counters are read: a JVM has up to three.
pub(super) const COLLECTORS: usize = 3;

/// Sizes of the heap that are read.
pub(super) const SIZES: usize = 6;

/// What is sent when collections begin, and when they end: whether a full one was requested, then the counters.
const AT_BEGIN: &[Number] = &[Number::Argument(0), Number::Ran(0), Number::Ran(1), Number::Ran(2)];
const AT_END: &[Number] = &[
    Number::Ran(0),
    Number::Ran(1),
    Number::Ran(2),
    Number::Size(0),
    Number::Size(1),
    Number::Size(2),
    Number::Size(3),
    Number::Size(4),
    Number::Size(5),
];

/// Where the JVM's counters are in its memory that are read when collections begin and end.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct CountersAt {
    /// Why it collects, and why it last did. Some collectors say the first only after `gc__begin`, and all of them the
    /// second before `gc__end`.
    pub(super) cause: Option<Text>,
    pub(super) last_cause: Option<Text>,
    pub(super) ran: [Option<u64>; COLLECTORS],
    pub(super) sizes: [Option<u64>; SIZES],
}

impl CountersAt {
    fn text(&self, probe: Probe) -> Option<Text> {
        match probe {
            Probe::CollectionBegin => self.cause,
            Probe::CollectionEnd => self.last_cause,
            _ => None,
        }
    }
}

const PLACE_ARGUMENTS: usize = 16;
/// Places that the programs have room for.
pub(super) const PLACES: usize = 32;

const CONSTANT: u8 = 1;
const REGISTER: u8 = 2;
const MEMORY: u8 = 3;
const BEGINNING: u8 = 4;
const NO_REGISTER: u8 = 255;

/// An argument as the programs read it: `struct argument`.
type Bytes = [u8; 16];

/// The programs' `struct place`.
pub(super) fn bytes_of(place: &Place, counters: &CountersAt) -> Vec<u8> {
    let kind = kind_by(place.probe);
    let argument = |index: usize| place.arguments.get(index).copied().flatten();
    let mut arguments = [Bytes::default(); PLACE_ARGUMENTS];
    let mut texts = kind.texts.len();
    for (at, (text, length)) in kind.texts.iter().enumerate() {
        // A text of unknown length is none.
        if let (Some(text), Some(length)) = (argument(*text), argument(*length)) {
            (arguments[at], arguments[TEXTS + at]) = (plain(text), plain(length));
        }
    }
    for (at, number) in kind.numbers.iter().enumerate() {
        arguments[2 * TEXTS + at] = match number {
            Number::Argument(index) => argument(*index).map(plain),
            Number::Beginning(index) => argument(*index).and_then(beginning),
            Number::Ran(collector) => counters.ran[*collector].map(at_address),
            Number::Size(size) => counters.sizes[*size].map(at_address),
        }
        .unwrap_or_default();
    }
    if let Some(cause) = counters.text(place.probe) {
        (arguments[0], arguments[TEXTS]) = (constant(cause.address as i64), constant(cause.size_bytes as i64));
        texts = 1;
    }
    let mut bytes = (place.probe as u32).to_ne_bytes().to_vec();
    bytes.extend((texts as u16).to_ne_bytes());
    bytes.extend(u16::from(kind.is_silent).to_ne_bytes());
    bytes.extend(arguments.into_iter().flatten());
    bytes
}

/// The programs' `places`.
pub(super) fn all_bytes(places: &[Place], counters: &CountersAt) -> Vec<u8> {
    let mut bytes: Vec<u8> = places.iter().take(PLACES).flat_map(|place| bytes_of(place, counters)).collect();
    bytes.resize(PLACES * (8 + PLACE_ARGUMENTS * size_of::<Bytes>()), 0);
    bytes
}

fn constant(value: i64) -> Bytes {
    raw(CONSTANT, 8, true, (NO_REGISTER, NO_REGISTER, 0), value)
}

fn plain(argument: Argument) -> Bytes {
    let raw = |kind, registers, offset| raw(kind, argument.size_bytes, argument.is_signed, registers, offset);
    match argument.operand {
        Operand::Constant(value) => raw(CONSTANT, (NO_REGISTER, NO_REGISTER, 0), value),
        Operand::Register(register) => raw(REGISTER, (register, NO_REGISTER, 0), 0),
        Operand::Memory { base, index, offset } => {
            let (index, shift) = index.unwrap_or((NO_REGISTER, 0));
            raw(MEMORY, (base, index, shift), offset)
        }
    }
}

/// Only what a register points to: the programs follow one pointer.
fn beginning(argument: Argument) -> Option<Bytes> {
    match argument.operand {
        Operand::Register(register) => Some(raw(BEGINNING, 8, false, (register, NO_REGISTER, 0), 0)),
        _ => None,
    }
}

fn at_address(address: u64) -> Bytes {
    raw(BEGINNING, 8, false, (NO_REGISTER, NO_REGISTER, 0), address as i64)
}

fn raw(kind: u8, size_bytes: u8, is_signed: bool, (base, index, shift): (u8, u8, u8), offset: i64) -> Bytes {
    let mut bytes = Bytes::default();
    bytes[..6].copy_from_slice(&[kind, size_bytes, u8::from(is_signed), base, index, shift]);
    bytes[8..].copy_from_slice(&offset.to_ne_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_stand_at_their_numbers_and_fit() {
        for (number, kind) in KINDS.iter().enumerate() {
            assert_eq!(kind.probe as usize, number, "{}", kind.name);
            assert!(kind.texts.len() <= TEXTS && kind.numbers.len() <= NUMBERS, "{}", kind.name);
        }
    }

    #[test]
    fn a_place_says_where_its_values_are() {
        let register = |word| Some(Argument { size_bytes: 8, is_signed: false, operand: Operand::Register(word) });
        let memory = Operand::Memory { base: 4, index: Some((12, 3)), offset: -144 };
        let length = Some(Argument { size_bytes: 4, is_signed: true, operand: memory });
        let arguments = vec![register(3), length, None];
        let place = Place { probe: Probe::OperationBegin, file_offset: 1, semaphore_offset: None, arguments };
        let bytes = all_bytes(std::slice::from_ref(&place), &CountersAt::default());
        assert_eq!(bytes.len(), PLACES * 264);
        let argument = |at: usize| &bytes[8 + at * 16..8 + (at + 1) * 16];
        assert_eq!(bytes[..8], [3, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(argument(0)[..6], [REGISTER, 8, 0, 3, NO_REGISTER, 0]);
        assert_eq!(argument(2)[..6], [MEMORY, 4, 1, 4, 12, 3]);
        assert_eq!(argument(2)[8..], (-144_i64).to_ne_bytes());
        assert_eq!(argument(4), [0; 16], "an argument that is not understood");
    }

    #[test]
    fn the_cause_of_a_collection_is_where_the_counters_are() {
        let text = Some(Text { address: 0x7f00, size_bytes: 64 });
        let of = |cause, last_cause| CountersAt { cause, last_cause, ..CountersAt::default() };
        for (probe, counters, texts) in [
            (Probe::CollectionBegin, of(None, None), 0),
            (Probe::CollectionBegin, of(text, None), 1),
            (Probe::CollectionEnd, of(text, None), 0),
            (Probe::CollectionEnd, of(None, text), 1),
            (Probe::SafepointEnd, of(text, text), 0),
        ] {
            assert_eq!(bytes_of(&place_of(probe), &counters)[4], texts, "{probe:?}");
        }
    }

    fn place_of(probe: Probe) -> Place {
        Place { probe, file_offset: 1, semaphore_offset: None, arguments: vec![] }
    }

    #[test]
    fn counters_are_read_at_their_addresses() {
        let mut counters = CountersAt::default();
        (counters.ran[1], counters.sizes[0]) = (Some(0x7f10), Some(0x7f20));
        let number =
            |probe, at: usize| bytes_of(&place_of(probe), &counters)[8 + (2 * TEXTS + at) * 16..][..16].to_vec();
        for (probe, at, address) in [
            (Probe::CollectionBegin, 2, 0x7f10_i64),
            (Probe::CollectionEnd, 1, 0x7f10),
            (Probe::CollectionEnd, 3, 0x7f20),
        ] {
            let bytes = number(probe, at);
            assert_eq!((bytes[0], &bytes[8..]), (BEGINNING, &address.to_ne_bytes()[..]), "{probe:?}");
        }
        assert_eq!(number(Probe::CollectionEnd, 0), [0; 16], "a counter that this JVM does not have");
    }
}
