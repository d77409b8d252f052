//! A jitdump (`jit-PID.dump`, as perf's agent for JVMs, V8 and others write it): names of code that was generated at
//! run time, each with the time from which on it existed. Knows no evidence.
//!
//! Records: kind, size, time. Loaded code has process, thread, two addresses, size and number, its name, and the code
//! itself, which is skipped; moved code has its old and its new address.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use linux_perf_event_reader::Endianness;

use crate::bytes::Bytes;
use crate::input::Input;

/// `JiTD`.
const MAGIC: u32 = 0x4a69_5444;
const HEADER_BYTES: usize = 40;
const RECORD_BYTES: usize = 16;

/// Times are those of a counter of the CPU, which nothing relates to another clock.
const OF_THE_CPU: u64 = 1;

const LOAD: u32 = 0;
const MOVE: u32 = 1;

/// A large application compiles some ten thousand methods; more pieces of code are not kept.
const CODES_MAX: usize = 4_000_000;

/// No piece of code is as large, in bytes: what would reach farther is damage.
const CODE_MAX_BYTES: u64 = 1 << 30;

/// Places that are looked at for one address, from the nearest before it on, and pieces of code at each of them, from the last on.
const LOOKED_AT: usize = 64;

/// A piece of code from some time on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Code {
    /// Its place in the order of the file.
    number: usize,
    loaded_ns: u64,
    size: u64,
    /// Code that was moved has the name of the code that it was.
    name: Arc<str>,
}

/// The code of one process.
#[derive(Debug, Default)]
pub(super) struct JitDump {
    /// By address, and of each address in the order of time.
    codes: BTreeMap<u64, Vec<Code>>,
    count: usize,
    has_times: bool,
}

impl JitDump {
    /// The dump of a process beside the recording.
    pub(super) fn beside(folder: &Path, pid: i32) -> Option<JitDump> {
        let file = Input::open(&folder.join(format!("jit-{pid}.dump"))).ok()?;
        JitDump::parse(&file).filter(|dump| dump.count > 0)
    }

    /// Reads up to the end, or to where it is damaged.
    fn parse(file: &[u8]) -> Option<JitDump> {
        let endian = match file.first_chunk::<4>().map(|magic| u32::from_le_bytes(*magic)) {
            Some(MAGIC) => Endianness::LittleEndian,
            Some(other) if other.swap_bytes() == MAGIC => Endianness::BigEndian,
            _ => return None,
        };
        let mut header = Bytes::new(file.get(4..HEADER_BYTES)?, endian);
        let (_version, size) = (header.u32()?, header.u32()? as usize);
        header.take(HEADER_BYTES - 4 - 8 - 8)?;
        let flags = header.u64()?;
        let mut dump = JitDump { has_times: flags & OF_THE_CPU == 0, ..JitDump::default() };
        let mut rest = Bytes::new(file.get(size.max(HEADER_BYTES)..)?, endian);
        while dump.count < CODES_MAX && dump.record(&mut rest, endian).is_some() {}
        Some(dump)
    }

    fn record(&mut self, rest: &mut Bytes<'_>, endian: Endianness) -> Option<()> {
        let (kind, size, time_ns) = (rest.u32()?, rest.u32()? as usize, rest.u64()?);
        let mut body = Bytes::new(rest.take(size.checked_sub(RECORD_BYTES)?)?, endian);
        let read = match kind {
            LOAD => self.load(&mut body, time_ns),
            MOVE => self.moved(&mut body, time_ns),
            _ => None,
        };
        // What makes no sense is passed over.
        read.or(Some(()))
    }

    fn load(&mut self, body: &mut Bytes<'_>, time_ns: u64) -> Option<()> {
        body.take(16)?;
        let (address, size, _number) = (body.u64()?, body.u64()?, body.u64()?);
        let name = name(&String::from_utf8_lossy(body.text()?));
        self.put(address, time_ns, size, name.into());
        Some(())
    }

    fn moved(&mut self, body: &mut Bytes<'_>, time_ns: u64) -> Option<()> {
        body.take(16)?;
        let (from, to, size) = (body.u64()?, body.u64()?, body.u64()?);
        let name = Arc::clone(&self.codes.get(&from)?.last()?.name);
        self.put(to, time_ns, size, name);
        Some(())
    }

    fn put(&mut self, address: u64, loaded_ns: u64, size: u64, name: Arc<str>) {
        if size > 0 && size <= CODE_MAX_BYTES {
            self.count += 1;
            let number = self.count;
            let codes = self.codes.entry(address).or_default();
            let loaded_ns = codes.last().map_or(loaded_ns, |before| loaded_ns.max(before.loaded_ns));
            codes.push(Code { number, loaded_ns, size, name });
        }
    }

    /// The code that was at an address at a time, and its number: of what was put there one after the other the last that was there
    /// already, or the last of all where times do not compare.
    pub(super) fn resolve(&self, address: u64, time_ns: Option<u64>) -> Option<(usize, &str)> {
        let time_ns = time_ns.filter(|_| self.has_times).unwrap_or(u64::MAX);
        let before = self.codes.range(..=address).rev().take(LOOKED_AT);
        let holding = before.filter_map(|(start, codes)| {
            let there = codes.partition_point(|code| code.loaded_ns <= time_ns);
            codes[..there].iter().rev().take(LOOKED_AT).find(|code| address - *start < code.size)
        });
        holding.max_by_key(|code| code.number).map(|code| (code.number, &*code.name))
    }
}

/// `class.method` for what perf's agent writes as `Lcom/shop/Cart;add(I)V`; other names as they are.
fn name(text: &str) -> String {
    let of_java = || {
        let (class, method) = text.strip_prefix('L')?.split_once(';')?;
        let (method, _) = method.split_once('(')?;
        Some(format!("{}.{method}", class.replace('/', ".")))
    };
    of_java().unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump(flags: u64, records: &[(u32, u64, u64, u64, u64, &str)]) -> Vec<u8> {
        let mut file = [MAGIC, 1, 40, 62, 0, 7].map(u32::to_le_bytes).concat();
        file.extend([0, flags].map(u64::to_le_bytes).concat());
        for (kind, time_ns, address, other, size, name) in records {
            let mut body = [[7_u32, 7].map(u32::to_le_bytes).concat(), 0_u64.to_le_bytes().to_vec()].concat();
            let numbers = if *kind == MOVE { [*address, *other, *size] } else { [*address, *size, 0] };
            body.extend(numbers.map(u64::to_le_bytes).concat());
            body.extend(name.as_bytes());
            body.extend([0, 0x90]);
            file.extend([*kind, body.len() as u32 + 16].map(u32::to_le_bytes).concat());
            file.extend(time_ns.to_le_bytes());
            file.extend(body);
        }
        file
    }

    #[test]
    fn code_is_what_was_there_at_the_time() {
        let records = [
            (LOAD, 100, 0x1000, 0, 0x100, "Lcom/shop/Cart;add(I)V"),
            (LOAD, 200, 0x1000, 0, 0x80, "Interpreter"),
            (2, 250, 0, 0, 0, ""),
            (MOVE, 300, 0x1000, 0x3000, 0x80, ""),
        ];
        let file = dump(0, &records);
        let read = JitDump::parse(&file).unwrap();
        for (address, time_ns, expected) in [
            (0x1010, Some(99), None),
            (0x1010, Some(150), Some("com.shop.Cart.add")),
            (0x1010, Some(200), Some("Interpreter")),
            (0x1090, Some(200), Some("com.shop.Cart.add")),
            (0x1010, None, Some("Interpreter")),
            (0x1100, None, None),
            (0x3000, Some(400), Some("Interpreter")),
            (0x0fff, None, None),
        ] {
            assert_eq!(read.resolve(address, time_ns).map(|(_, name)| name), expected, "{address:x} {time_ns:?}");
        }
        let of_cpu = JitDump::parse(&dump(OF_THE_CPU, &records)).unwrap();
        assert_eq!(of_cpu.resolve(0x1010, Some(99)).map(|(_, name)| name), Some("Interpreter"));
        for end in 0..file.len() {
            assert!(JitDump::parse(&file[..end]).is_none_or(|dump| dump.count <= 3), "{end}");
        }
    }
}
