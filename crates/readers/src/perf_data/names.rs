//! Addresses of a process to frames.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use fathom_evidence::kinds::frame;
use fathom_evidence::{Frame, FrameId, Recording};
use fathom_symbols::jit::JitKind;
use fathom_symbols::kernel::KernelSymbols;
use fathom_symbols::maps::Mappings;
use fathom_symbols::process::{Layer, Process, image_id};
use fathom_symbols::unwind::{Registers, StackCopy, Unwinder, Walk};
use rustc_hash::FxHashMap;

use crate::perf_data::images;
use crate::perf_data::jitdump::JitDump;
use crate::perf_data::notes::Mapped;
use crate::perf_data::scan::Scan;

/// What a frame is called whose name is not known.
const UNKNOWN: &str = "[unknown]";

/// Addresses from here on are the kernel's.
pub(super) const KERNEL_FROM: u64 = 1 << 63;

/// The names of one process and the kernel.
pub(super) struct Names {
    process: Process,
    unwinder: Unwinder,
    kernel: Option<KernelSymbols>,
    /// Code that was made at run time, with times.
    dump: Option<JitDump>,
    frames: FxHashMap<u64, FrameId>,
    /// Those of code in the dump, by its number there.
    of_dump: FxHashMap<usize, FrameId>,
    /// Addresses that got no name: of the kernel, of libraries, of code made at run time.
    pub(super) missing: [usize; 3],
}

impl Names {
    pub(super) fn of(scan: &Scan, pid: i32, folder: &Path) -> Names {
        let mut files: Vec<&Mapped> = Vec::new();
        let mut process = Process::default();
        if let Some(known) = scan.processes.get(&pid) {
            process.set_mappings(mappings(known.mappings.iter(), &mut files));
        }
        process.set_jit(Arc::new(images::jit(folder, pid).unwrap_or_default()));
        let ids: Vec<_> =
            process.mappings().iter().filter_map(|mapping| Some((image_id(mapping)?, mapping.file.inode))).collect();
        for (id, number) in ids {
            let Some(mapped) = (number as usize).checked_sub(1).and_then(|index| files.get(index)) else { continue };
            let build_id = scan.about.build_ids.get(&mapped.path).map(Vec::as_slice);
            // A file that is not there stays unknown, so that stacks end in it: who called it cannot be guessed.
            let image = images::image(folder, mapped, build_id);
            image.into_iter().for_each(|image| process.set_image(id, Some(Arc::new(image))));
        }
        let text_start = scan.kernel.iter().find(|(_, mapped)| mapped.path.starts_with(b"[kernel.kallsyms]"));
        let kernel = images::kernel(folder, text_start.map(|(start, _)| *start));
        let (unwinder, frames, of_dump) = Default::default();
        Names { process, unwinder, kernel, dump: JitDump::beside(folder, pid), frames, of_dump, missing: [0; 3] }
    }

    /// Whether an address always has the same frame.
    pub(super) fn are_fixed(&self) -> bool {
        self.dump.is_none()
    }

    /// The addresses of the callers in a copied piece of a stack.
    pub(super) fn walk(&mut self, registers: &Registers, bytes: &[u8], frames: &mut Vec<u64>) -> Walk {
        let stack = StackCopy { address: registers.stack_pointer().unwrap_or(0), bytes };
        self.unwinder.walk(&self.process, registers, stack, frames)
    }

    /// The frame of an address at a time of the monotonic clock, if that is known: code that is made at run time is replaced.
    pub(super) fn frame(&mut self, address: u64, time_ns: Option<u64>, recording: &mut Recording) -> FrameId {
        if let Some(made) = self.made_at_run_time(address, time_ns, recording) {
            return made;
        }
        if let Some(known) = self.frames.get(&address) {
            return *known;
        }
        let frame = self.named(address, recording);
        self.frames.insert(address, frame);
        frame
    }

    fn made_at_run_time(&mut self, address: u64, time_ns: Option<u64>, recording: &mut Recording) -> Option<FrameId> {
        let (number, name) = self.dump.as_ref()?.resolve(address, time_ns)?;
        let frame = self.of_dump.entry(number).or_insert_with(|| {
            let [symbol, kind] = [name, frame::COMPILED].map(|text| recording.strings.intern(text));
            recording.stacks.intern_frame(Frame { symbol, kind, ..Frame::default() })
        });
        Some(*frame)
    }

    fn named(&mut self, address: u64, recording: &mut Recording) -> FrameId {
        let (name, module, layer) = match address >= KERNEL_FROM {
            true => {
                let known = self.kernel.as_ref().and_then(|kernel| kernel.resolve(address));
                known.map_or((String::new(), "", frame::KERNEL), |known| {
                    (known.name.to_owned(), known.module, frame::KERNEL)
                })
            }
            false => {
                let symbol = self.process.resolve(address);
                (symbol.name.into_owned(), symbol.module, layer(symbol.layer))
            }
        };
        if name.is_empty() {
            let whose = if layer == frame::KERNEL { 0 } else { 1 + usize::from(layer == frame::COMPILED) };
            self.missing[whose] += 1;
        }
        let name = if name.is_empty() { UNKNOWN } else { &name };
        let [symbol, module, kind] = [name, module, layer].map(|text| recording.strings.intern(text));
        recording.stacks.intern_frame(Frame { symbol, module, kind, line: 0 })
    }
}

fn layer(layer: Layer) -> &'static str {
    match layer {
        Layer::Native | Layer::Unknown => frame::NATIVE,
        Layer::Vm | Layer::Jit(Some(JitKind::Stub)) => frame::VM,
        Layer::Jit(Some(JitKind::Interpreter)) => frame::INTERPRETED,
        Layer::Jit(Some(JitKind::Method) | None) => frame::COMPILED,
    }
}

/// As `/proc/PID/maps` has them. Files are numbered instead of by inode, which perf need not tell.
fn mappings<'a>(all: impl Iterator<Item = (&'a u64, &'a Mapped)>, files: &mut Vec<&'a Mapped>) -> Mappings {
    let mut numbers: HashMap<&[u8], usize> = HashMap::new();
    let mut text = String::new();
    for (start, mapped) in all {
        let path = String::from_utf8_lossy(&mapped.path).replace('\n', "?");
        let number = match is_file(&mapped.path) {
            false => 0,
            true => *numbers.entry(&mapped.path).or_insert_with(|| {
                files.push(mapped);
                files.len()
            }),
        };
        let path = if path == "//anon" { "" } else { &path };
        let may = if mapped.is_code { "r-xp" } else { "rw-p" };
        let line = format!("{start:x}-{:x} {may} {:08x} 00:00 {number} {path}\n", mapped.end, mapped.file_offset);
        text.push_str(&line);
    }
    Mappings::parse(text.as_bytes())
}

fn is_file(path: &[u8]) -> bool {
    path.starts_with(b"/")
        && !path.starts_with(b"//anon")
        && !path.starts_with(b"/memfd:")
        && !path.starts_with(b"/dev/zero")
}
