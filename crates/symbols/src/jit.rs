//! Code that the JVM compiled at run time, from the text of a perf map, or from its memory.
//!
//! `jcmd PID Compiler.perfmap` (JDK 17 and later) writes `START SIZE NAME` per piece of code, numbers
//! in hexadecimal with or without `0x`; methods as `RETURN_TYPE CLASS.METHOD(PARAMETERS)`, the rest of
//! the code cache under HotSpot's names for it. The file lies in a folder that everybody can write to,
//! and code is thrown away and replaced while it is written: entries may overlap, the later one holds.
//! Or piece by piece as it was found in the JVM's memory ([`crate::hotspot`]).

mod frames;

use std::ops::Range;

use crate::maps::hex;
pub(crate) use frames::JitFrame;
pub use frames::SEARCHED_BYTES;

/// What a piece of code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum JitKind {
    /// A compiled method; the map does not say by which compiler.
    Method,
    /// The bytecode interpreter.
    Interpreter,
    /// Glue: stubs, adapters, blobs of the runtime.
    Stub,
}

/// A piece of code as it was found in the JVM's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where its code begins.
    pub start: u64,
    /// How long it is.
    pub size_bytes: u32,
    /// `class.method`, or HotSpot's name of it.
    pub name: String,
    /// What it is.
    pub kind: JitKind,
    /// How large its frames are, the return address included; 0 where they have no fixed size.
    pub frame_bytes: u32,
    /// Tells it from others that lie there before and after it.
    pub stamp: (u64, u64),
}

/// In the names of pieces that hold many routines, each with a frame of its own or none.
const OF_MANY_ROUTINES: [&str; 5] = ["Interpreter", "StubRoutines", "adapters", "vtable chunks", "handlers"];

/// Code compiled at run time, by address.
#[derive(Debug, Default, Clone)]
pub struct JitMap {
    entries: Vec<Entry>,
    names: String,
    /// Lines that were no piece of code.
    pub bad_lines: usize,
}

#[derive(Debug, Clone)]
struct Entry {
    start: u64,
    size_bytes: u32,
    name: Range<u32>,
    kind: JitKind,
    frame: Option<JitFrame>,
}

/// A piece of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JitSymbol<'a> {
    /// `class.method`, or HotSpot's name.
    pub name: &'a str,
    /// What it is.
    pub kind: JitKind,
    /// Distance of the address from its start.
    pub offset: u64,
}

impl JitMap {
    /// Reads the text of a perf map.
    pub fn parse(text: &[u8]) -> JitMap {
        let mut read = JitMap::default();
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match parse_line(line) {
                Some((start, size_bytes, name)) => read.push(start, size_bytes, &name),
                None => read.bad_lines += 1,
            }
        }
        read.entries.sort_by_key(|entry| entry.start);
        read.entries.dedup_by(|later, earlier| {
            let is_same_start = later.start == earlier.start;
            if is_same_start {
                std::mem::swap(later, earlier);
            }
            is_same_start
        });
        read
    }

    /// The piece of code that holds `address`.
    pub fn resolve(&self, address: u64) -> Option<JitSymbol<'_>> {
        let entry = self.entry_at(address)?;
        let name = self.names.get(entry.name.start as usize..entry.name.end as usize)?;
        Some(JitSymbol { name, kind: entry.kind, offset: address - entry.start })
    }

    /// Reads from the code how large its frames are, so that stacks can be walked through it. `read`
    /// copies memory of the process; whether it could.
    pub fn learn_frames(&mut self, mut read: impl FnMut(u64, &mut [u8]) -> bool) {
        let mut code = [0; SEARCHED_BYTES];
        let names = &self.names;
        let is_one_routine = |entry: &&mut Entry| {
            let name = names.get(entry.name.start as usize..entry.name.end as usize).unwrap_or_default();
            is_one_routine(entry.kind, name)
        };
        for entry in self.entries.iter_mut().filter(is_one_routine) {
            let code = &mut code[..SEARCHED_BYTES.min(entry.size_bytes as usize)];
            if read(entry.start, code) {
                entry.frame = frames::frame_of(code);
            }
        }
    }

    /// Puts in a piece of code that was found in the JVM's memory, in place of whatever was there. `code` is where it
    /// begins, up to [`SEARCHED_BYTES`] of it.
    pub fn put(&mut self, found: &Found, code: &[u8]) {
        let end = found.start.saturating_add(found.size_bytes.into());
        self.entries.retain(|entry| entry.end() <= found.start || entry.start >= end);
        let at = self.names.len();
        if found.size_bytes == 0 || at + found.name.len() >= u32::MAX as usize {
            return;
        }
        self.names.push_str(&found.name);
        let name = at as u32..self.names.len() as u32;
        let frame = if is_one_routine(found.kind, &found.name) { frames::frame_of(code) } else { None };
        let (start, size_bytes, kind) = (found.start, found.size_bytes, found.kind);
        let frame = frame.or_else(|| JitFrame::of_method(found));
        let index = self.entries.partition_point(|entry| entry.start < start);
        self.entries.insert(index, Entry { start, size_bytes, name, kind, frame });
    }

    /// Of the piece of code at `address`: its kind, the distance from its start, and how it makes its frame.
    pub(crate) fn frame_at(&self, address: u64) -> Option<(JitKind, u64, Option<JitFrame>)> {
        self.entry_at(address).map(|entry| (entry.kind, address - entry.start, entry.frame))
    }

    fn entry_at(&self, address: u64) -> Option<&Entry> {
        let after = self.entries.partition_point(|entry| entry.start <= address);
        let entry = self.entries.get(after.checked_sub(1)?)?;
        (address - entry.start < u64::from(entry.size_bytes)).then_some(entry)
    }

    /// How many pieces of code there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn push(&mut self, start: u64, size_bytes: u32, text: &str) {
        let (name, kind) = understand(text);
        let at = self.names.len();
        // Text beyond 4 GB is not of any code cache.
        if at + name.len() < u32::MAX as usize {
            self.names.push_str(name);
            let name = at as u32..self.names.len() as u32;
            self.entries.push(Entry { start, size_bytes, name, kind, frame: None });
        }
    }
}

/// Whether all of a piece's code has one frame.
fn is_one_routine(kind: JitKind, name: &str) -> bool {
    kind == JitKind::Method || !OF_MANY_ROUTINES.iter().any(|part| name.contains(part))
}

impl Entry {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.size_bytes.into())
    }
}

fn parse_line(line: &[u8]) -> Option<(u64, u32, std::borrow::Cow<'_, str>)> {
    let mut fields = line.splitn(3, |byte| *byte == b' ');
    let mut number = || fields.next().and_then(|text| hex(text.strip_prefix(b"0x").unwrap_or(text)));
    let (start, size_bytes) = (number()?, u32::try_from(number()?).ok()?);
    let name = String::from_utf8_lossy(fields.next()?.trim_ascii());
    (size_bytes > 0 && !name.is_empty()).then_some((start, size_bytes, name))
}

/// A method's `class.method` out of its declaration; anything else keeps its name.
fn understand(text: &str) -> (&str, JitKind) {
    if let Some(name) = declared_method(text) {
        return (name, JitKind::Method);
    }
    let kind = if text == "Interpreter" { JitKind::Interpreter } else { JitKind::Stub };
    (text, kind)
}

/// `java.lang.String java.lang.Object.toString()` → `java.lang.Object.toString`.
fn declared_method(text: &str) -> Option<&str> {
    let (declared, _) = text.split_once('(')?;
    let (_, name) = declared.rsplit_once(' ')?;
    let (class, method) = name.rsplit_once('.')?;
    (!class.is_empty() && !method.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use JitKind::{Interpreter, Method, Stub};

    #[test]
    fn lines_of_hotspot_are_understood() {
        let cases = [
            (
                "0x00007fa130ec7180 0x0000000000000078 void java.lang.Object.<init>()",
                Some(("java.lang.Object.<init>", Method)),
            ),
            (
                "7fa130ec7180 200 void java.lang.System.arraycopy(java.lang.Object, int, java.lang.Object, int, int)",
                Some(("java.lang.System.arraycopy", Method)),
            ),
            (
                "7fa130ec7180 78 java.lang.Object java.lang.invoke.LambdaForm$MH/0x00007f10.invoke(java.lang.Object)",
                Some(("java.lang.invoke.LambdaForm$MH/0x00007f10.invoke", Method)),
            ),
            ("7fa130ec7180 78 Interpreter", Some(("Interpreter", Interpreter))),
            ("7fa130ec7180 78 StubRoutines (compiler stubs)", Some(("StubRoutines (compiler stubs)", Stub))),
            ("7fa130ec7180 78 I2C/C2I adapters", Some(("I2C/C2I adapters", Stub))),
            ("7fa130ec7180 0 void x.y()", None),
            ("7fa130ec7180 78 ", None),
            ("7fa130ec7180 78", None),
            ("zz 78 x", None),
            ("7fa130ec7180 100000000 x", None),
        ];
        for (line, expected) in cases {
            let map = JitMap::parse(line.as_bytes());
            let found = map.resolve(0x7fa1_30ec_7190).map(|symbol| (symbol.name, symbol.kind));
            assert_eq!(found, expected, "{line}");
            assert_eq!(map.bad_lines, usize::from(expected.is_none()), "{line}");
        }
    }

    #[test]
    fn the_later_of_two_entries_holds() {
        let map = JitMap::parse(b"100 10 old\n200 10 other\n100 20 new\n");
        assert_eq!(map.len(), 2);
        let cases = [
            (0xff, None),
            (0x100, Some("new")),
            (0x11f, Some("new")),
            (0x120, None),
            (0x20f, Some("other")),
            (0x210, None),
        ];
        for (address, name) in cases {
            assert_eq!(map.resolve(address).map(|symbol| symbol.name), name, "{address:x}");
        }
    }

    #[test]
    fn what_is_found_later_takes_the_place_of_what_it_overlaps() {
        let mut map = JitMap::parse(b"100 10 old\n110 10 other\n130 10 apart\n");
        let name = "shop.Cart.add".to_owned();
        let found = Found { start: 0x108, size_bytes: 0x10, name, kind: Method, frame_bytes: 0x40, stamp: (1, 1) };
        map.put(&found, &[0x55, 0x48, 0x83, 0xec, 0x30]);
        for (address, expected) in
            [(0x104, None), (0x108, Some("shop.Cart.add")), (0x118, None), (0x130, Some("apart"))]
        {
            assert_eq!(map.resolve(address).map(|symbol| symbol.name), expected, "{address:x}");
        }
        let from_code = Some(JitFrame::Fixed { size_bytes: 0x40, begins_at: 0, made_at: 5 });
        assert_eq!(map.frame_at(0x10a), Some((Method, 2, from_code)));
        // Code that makes its frame in an unknown way: HotSpot knows how large it is.
        map.put(&found, &[0x90]);
        assert_eq!(map.len(), 2);
        let from_size = Some(JitFrame::Fixed { size_bytes: 0x40, begins_at: 0, made_at: 0 });
        assert_eq!(map.frame_at(0x10a), Some((Method, 2, from_size)));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text: Vec<u8>, address: u64) {
            JitMap::parse(&text).resolve(address);
        }

        #[test]
        fn lines_of_any_numbers_are_read(start: u64, size: u64, name: String, address: u64) {
            let map = JitMap::parse(format!("{start:x} {size:x} {name}").as_bytes());
            map.resolve(address);
            assert!(map.len() <= 1 + name.lines().count());
        }
    }
}
