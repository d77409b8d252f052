//! Names and stacks for what collectors see of the target: the I/O around `fathom-symbols`.
//!
//! Files are read while the process lives, and kept ([`Images`], shared by all collectors of a recording), so that a
//! process that has ended still has names. The address space is read again only when an unknown address appears, and at
//! most twice a second: reading it takes a lock that the target needs for its page faults.
//!
//! Java code is read from the target's memory as stacks show it, where that is allowed, without a question to the JVM
//! (`java`). Otherwise the collector `compiled_code` asks it for a list.
//!
//! What cannot be found is shown as unknown and counted ([`Symbols::tell_losses`]).

mod code;
mod counts;
mod images;
mod java;
mod memory;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use fathom_evidence::kinds::frame;
use fathom_evidence::{Frame, FrameId, Recording, StackId};
use fathom_symbols::elf::Machine;
use fathom_symbols::jit::JitKind;
use fathom_symbols::maps::{FileId, Mapping, MappingKind, Mappings};
use fathom_symbols::process::{Layer, Process};
use fathom_symbols::unwind::{Registers, StackCopy, Unwinder, Walk, WalkEnd};
use rustc_hash::FxHashMap;

pub(crate) use crate::hostile_files::open_mapped;
use crate::{Target, procfs};
pub(crate) use code::Code;
use counts::Counts;
pub(crate) use images::Bytes;
pub use images::Images;
use java::Java;

/// The address space is read again at most this often.
const REFRESH_PERIOD: Duration = Duration::from_millis(500);
/// Addresses whose names are kept. A JVM shows some ten thousand.
const MOST_NAMES: usize = 1 << 18;
/// As much is read of the stack of a thread that stands still.
const STACK_BYTES: usize = 64 << 10;
/// A frame without a name.
const UNKNOWN: &str = "[unknown]";

/// A thread as it was when it left user mode.
#[derive(Debug, Clone)]
pub struct UserStack<'a> {
    /// Its registers.
    pub registers: Registers,
    /// A copy of the stack, from the stack pointer on.
    pub stack: &'a [u8],
    /// The stack as the kernel follows it by frame pointers, leaf first; may be empty.
    pub frames: &'a [u64],
}

/// What lies at an address of the target.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Place {
    /// For people: file and section, or the kind of memory.
    pub name: String,
    /// The file that is mapped there.
    pub path: Option<String>,
    /// Section of the file.
    pub section: Option<String>,
    /// Where in the file, in bytes.
    pub file_offset: Option<u64>,
}

/// A call of another file's function that is bound when it is made for the first time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundCall {
    /// The function that is called.
    pub function: String,
    /// Where the call stands: symbol, offset and file.
    pub call_site: String,
    /// The call, as assemblers write it.
    pub instruction: String,
}

/// A stack as it was walked.
#[derive(Debug, Default, Clone)]
pub struct Walked {
    /// Leaf first.
    places: Vec<u64>,
    /// Of those at these indexes the JVM describes the method.
    interpreted: Vec<(usize, u64)>,
}

/// The name of an address.
#[derive(Debug, Clone)]
struct Named {
    symbol: Box<str>,
    module: Box<str>,
    kind: &'static str,
    /// The frame that it was last.
    last: FrameId,
}

impl Named {
    /// Its frame. Mostly it is the one that it was last: to compare the texts costs less than to look for them.
    fn frame(&mut self, found: &mut Recording) -> FrameId {
        if !self.is(found, self.last) {
            self.last = intern_frame(found, &self.symbol, &self.module, self.kind);
        }
        self.last
    }

    fn is(&self, found: &Recording, frame: FrameId) -> bool {
        let frame = found.stacks.frame(frame);
        let text = |id| found.text(id);
        frame.line == 0
            && *text(frame.symbol) == *self.symbol
            && *text(frame.module) == *self.module
            && text(frame.kind) == self.kind
    }
}

/// Names and stacks of one process, and of the kernel.
#[derive(Debug)]
pub struct Symbols {
    target: Target,
    images: Images,
    process: Process,
    refreshed: Option<Instant>,
    /// Java code as it is met, where the JVM's memory can be read.
    java: Option<Java>,
    /// Else which of the lists that the JVM writes of its code is in use.
    code_version: u32,
    /// At an address of compiled Java code, first the methods that were compiled into the one whose code it is.
    names: FxHashMap<u64, Vec<Named>>,
    /// Interpreted methods by where the JVM describes them, and when that was read.
    methods: FxHashMap<u64, (Named, Instant)>,
    unwinder: Unwinder,
    walked: Walked,
    counts: Counts,
}

impl Symbols {
    /// Of `target`, with images that other collectors may use too.
    pub fn of(target: &Target, images: &Images) -> Symbols {
        let mut symbols = Symbols {
            target: target.clone(),
            images: images.clone(),
            process: Process::default(),
            refreshed: None,
            java: images.hotspot(target).and_then(|hotspot| Java::of(target, hotspot)),
            code_version: 0,
            names: FxHashMap::default(),
            methods: FxHashMap::default(),
            unwinder: Unwinder::new(),
            walked: Walked::default(),
            counts: Counts::default(),
        };
        symbols.want_code();
        symbols.refresh();
        symbols
    }

    /// The stack of a thread in user mode.
    pub fn user_stack(&mut self, found: &mut Recording, user: &UserStack<'_>) -> StackId {
        let words = user.stack.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
        let frames = user.frames.iter().copied();
        self.learn_code(user.registers.instruction_pointer().into_iter().chain(words).chain(frames));
        let walk = self.walk(&user.registers, user.stack);
        let module = self.walked.places.last().map(|last| self.process.resolve(*last).module);
        self.counts.add_walk(walk.end, walk.guessed_from.is_some(), module);
        if walk.end != WalkEnd::Complete {
            self.follow_frame_pointers(user.frames);
        }
        let walked = std::mem::take(&mut self.walked);
        let stack = self.stack_of(found, &walked);
        self.walked = walked;
        stack
    }

    /// The stack of a thread that stands still, from the target's memory; `registers` as the kernel keeps them for a debugger.
    pub fn user_stack_in_memory(&mut self, found: &mut Recording, registers: &[u64]) -> StackId {
        let registers = Registers::from_pt_regs(this_machine(), registers);
        let stack = copy_of_stack(&self.target, &registers);
        self.user_stack(found, &UserStack { registers, stack: &stack, frames: &[] })
    }

    /// The stack that was walked last.
    pub fn walked(&self) -> &Walked {
        &self.walked
    }

    /// A stack that was walked before.
    pub fn stack_of(&mut self, found: &mut Recording, walked: &Walked) -> StackId {
        self.intern(found, &walked.places, &walked.interpreted)
    }

    /// A stack in user mode that other code has walked, leaf first; all but the first are return addresses.
    pub fn user_frames(&mut self, found: &mut Recording, frames: &[u64]) -> StackId {
        self.learn_code(frames.iter().copied());
        let callers = frames.iter().skip(1).map(|address| address.saturating_sub(1));
        let places: Vec<u64> = frames.iter().take(1).copied().chain(callers).collect();
        self.intern(found, &places, &[])
    }

    /// A stack in the kernel, leaf first; all but the first are return addresses.
    pub fn kernel_stack(&mut self, found: &mut Recording, frames: &[u64]) -> StackId {
        self.kernel_stack_upon(found, StackId(0), frames)
    }

    /// The same upon that of the program which called the kernel, or was interrupted.
    pub fn kernel_stack_upon(&mut self, found: &mut Recording, user: StackId, frames: &[u64]) -> StackId {
        let kernel = self.images.kernel();
        let ids: Vec<FrameId> = frames
            .iter()
            .enumerate()
            .map(|(index, address)| {
                let place = address.saturating_sub(u64::from(index > 0));
                let symbol = kernel.as_ref().as_ref().ok().and_then(|kernel| kernel.resolve(place));
                self.counts.kernel.add(symbol.is_some());
                let (name, module) = symbol.map_or((UNKNOWN, ""), |symbol| (symbol.name, symbol.module));
                intern_frame(found, name, module, frame::KERNEL)
            })
            .collect();
        ids.into_iter().rev().fold(user, |caller, frame| found.stacks.intern(caller, frame))
    }

    /// The call that the dynamic linker was binding in the stack walked last: that which its innermost caller made
    /// through the linkage table. `None` when it was not in the dynamic linker, or there because one of its own
    /// functions was called.
    pub fn call_being_bound(&self) -> Option<BoundCall> {
        let is_linker =
            |place: &u64| self.process.mappings().find(*place).is_some_and(|m| m.file_name().starts_with("ld-"));
        let entered = self.walked.places.windows(2).find(|pair| is_linker(&pair[0]) && !is_linker(&pair[1]))?;
        // Walked callers are one byte before their return address.
        let (entry, returns_to) = (entered[0], entered[1] + 1);
        let (image, address) = self.process.image_at(entered[1])?;
        let code = memory::code_before(&self.target, self.process.mappings(), returns_to)?;
        let call = image.import_call(&code, address + 1)?;
        let is_own = self.process.resolve(entry).name == call.name;
        (!is_own).then(|| BoundCall {
            function: call.name.to_owned(),
            call_site: self.site(returns_to.saturating_sub(call.size_bytes)),
            instruction: call.to_string(),
        })
    }

    /// An address for people, as symbol and offset.
    fn site(&self, address: u64) -> String {
        let symbol = self.process.resolve(address);
        match &*symbol.name {
            "" => format!("{}+{:#x}", symbol.module, symbol.offset),
            name => format!("{name}+{:#x} ({})", symbol.offset, symbol.module),
        }
    }

    /// What lies at `address`.
    pub fn place(&mut self, address: u64) -> Place {
        if !self.process.is_mapped(address) {
            self.refresh_if_due();
        }
        self.load_at(address);
        let Some(mapping) = self.process.mappings().find(address) else {
            return Place { name: UNKNOWN.to_owned(), ..Place::default() };
        };
        match self.process.file_place(address) {
            Some(place) => {
                let section = place.section.map(str::to_owned);
                let name = format!("{} {}", mapping.file_name(), section.as_deref().unwrap_or_default());
                let path = Some(mapping.path.to_string());
                Place { name: name.trim_end().to_owned(), path, section, file_offset: Some(place.file_offset) }
            }
            None => Place { name: kind_of_memory(mapping), ..Place::default() },
        }
    }

    /// Adds what could not be walked or named since the start.
    pub fn tell_losses(&self, found: &mut Recording, source: &str) {
        let kernel = self.images.kernel_if_read();
        let hidden = kernel.as_ref().and_then(|kernel| kernel.as_ref().as_ref().err().map(ToString::to_string));
        self.counts.tell(found, source, hidden.as_deref());
    }

    /// Walks until the stack is walked or a file that it needs cannot be read.
    fn walk(&mut self, registers: &Registers, stack: &[u8]) -> Walk {
        let copy = StackCopy { address: registers.stack_pointer().unwrap_or_default(), bytes: stack };
        loop {
            let walk = self.unwinder.walk(&self.process, registers, copy, &mut self.walked.places);
            self.walked.interpreted.clear();
            self.walked.interpreted.extend_from_slice(self.unwinder.interpreted());
            match (walk.end, self.walked.places.last().copied()) {
                (WalkEnd::NotLoaded, Some(place)) => self.load_at(place),
                (WalkEnd::UnknownCode, Some(_)) if self.refresh_if_due() => {}
                _ => return walk,
            }
        }
    }

    /// Goes on by the kernel's walk, if it has the caller at which ours ended: in code that keeps frame
    /// pointers it reaches beyond the copy. The stack still counts as cut, as callers may be missing.
    fn follow_frame_pointers(&mut self, frames: &[u64]) {
        let last = self.walked.places.last().copied();
        let is_last = |frame: &u64| last.is_some() && frame.checked_sub(1) == last;
        if let Some(at) = frames.iter().skip(1).position(is_last) {
            self.walked.places.extend(frames[at + 2..].iter().map(|frame| frame.saturating_sub(1)));
        }
    }

    /// The stack of these places; of those at the indexes in `interpreted` the JVM describes the method.
    fn intern(&mut self, found: &mut Recording, places: &[u64], interpreted: &[(usize, u64)]) -> StackId {
        if self.names.len().max(self.methods.len()) > MOST_NAMES {
            self.names.clear();
            self.methods.clear();
        }
        let mut ids: Vec<FrameId> = Vec::with_capacity(places.len());
        for (index, place) in places.iter().enumerate() {
            let method = interpreted.iter().find(|(at, _)| *at == index);
            match method.and_then(|(_, method)| self.method_frame(found, *method)) {
                Some(frame) => ids.push(frame),
                None => self.add_frames(found, *place, &mut ids),
            }
        }
        found.stacks.intern_from_root(ids.into_iter().rev())
    }

    /// The frame of an interpreted method.
    fn method_frame(&mut self, found: &mut Recording, method: u64) -> Option<FrameId> {
        let now = Instant::now();
        let is_known = self.methods.get(&method).is_some_and(|(_, read)| now.duration_since(*read) < java::BELIEVED);
        if !is_known {
            let name = self.java.as_mut()?.method(method)?;
            self.methods.insert(method, (named_as(&name, "", frame::INTERPRETED), now));
        }
        self.counts.add_name("", true);
        self.methods.get_mut(&method).map(|(named, _)| named.frame(found))
    }

    /// Adds the frames at a place, the innermost first.
    fn add_frames(&mut self, found: &mut Recording, place: u64, ids: &mut Vec<FrameId>) {
        if !self.names.contains_key(&place) {
            let names = self.names_at(place);
            self.names.insert(place, names);
        }
        let names = self.names.get_mut(&place).into_iter().flatten();
        ids.extend(names.map(|named| named.frame(found)));
    }

    fn names_at(&mut self, place: u64) -> Vec<Named> {
        self.load_at(place);
        let named = name(&self.process, place);
        let is_named = &*named.symbol != UNKNOWN;
        self.counts.add_name(&named.module, is_named);
        if !is_named && named.kind == frame::COMPILED {
            self.want_code();
        }
        let inlined = self.java.as_mut().filter(|_| named.kind == frame::COMPILED).map(|java| java.inlined(place));
        let of_method = |symbol: String| named_as(&symbol, "", frame::INLINED);
        inlined.into_iter().flatten().map(of_method).chain([named]).collect()
    }

    /// Reads the file at `address`, unless that was tried already.
    fn load_at(&mut self, address: u64) {
        if let Some((file, mapping)) = self.process.missing_at(address) {
            let image = self.images.load(&self.target, mapping);
            self.process.set_image(file, image);
        }
    }

    /// Asks for a newer list of compiled code, where there is no other way to it.
    fn want_code(&self) {
        if self.java.is_none() {
            self.images.code().want();
        }
    }

    /// Learns what Java code lies at these addresses.
    fn learn_code(&mut self, addresses: impl Iterator<Item = u64>) {
        match &mut self.java {
            Some(java) => {
                let changed = java.learn(&mut self.process, addresses);
                if !changed.is_empty() {
                    self.names.retain(|place, _| !changed.iter().any(|(start, end)| (*start..*end).contains(place)));
                }
            }
            None => self.take_new_code(),
        }
    }

    /// Goes over to a newer list of compiled code, if there is one.
    fn take_new_code(&mut self) {
        if let Some((version, code)) = self.images.code().newer_than(self.code_version) {
            self.code_version = version;
            self.process.set_jit(code);
            self.names.clear();
        }
    }

    fn refresh_if_due(&mut self) -> bool {
        let is_due = self.refreshed.is_none_or(|refreshed| refreshed.elapsed() >= REFRESH_PERIOD);
        if is_due {
            self.refresh();
        }
        is_due
    }

    /// Reads the address space, unless the process has ended.
    fn refresh(&mut self) {
        self.refreshed = Some(Instant::now());
        let text = procfs::read_long(self.target.proc("maps")).unwrap_or_default();
        let mappings = Mappings::parse(&text);
        if !mappings.is_empty() && self.target.is_alive() {
            self.forget_moved(&mappings);
            self.process.set_mappings(mappings);
        }
    }

    /// Names stay true as long as the same files are mapped at the same places.
    fn forget_moved(&mut self, mappings: &Mappings) {
        let file_at = |mappings: &Mappings, place: u64| -> Option<(FileId, u64)> {
            mappings.find(place).map(|mapping| (mapping.file, mapping.offset_of(place)))
        };
        let before = self.process.mappings();
        self.names.retain(|place, _| file_at(before, *place) == file_at(mappings, *place));
    }
}

fn name(process: &Process, place: u64) -> Named {
    let symbol = process.resolve(place);
    let kind = match symbol.layer {
        Layer::Native | Layer::Unknown => frame::NATIVE,
        Layer::Vm | Layer::Jit(Some(JitKind::Stub)) => frame::VM,
        Layer::Jit(Some(JitKind::Interpreter)) => frame::INTERPRETED,
        Layer::Jit(Some(JitKind::Method) | None) => frame::COMPILED,
    };
    let text = if symbol.name.is_empty() { UNKNOWN } else { &symbol.name };
    named_as(text, symbol.module, kind)
}

fn named_as(symbol: &str, module: &str, kind: &'static str) -> Named {
    Named { symbol: symbol.into(), module: module.into(), kind, last: FrameId(0) }
}

fn intern_frame(found: &mut Recording, symbol: &str, module: &str, kind: &str) -> FrameId {
    let strings = &mut found.strings;
    let frame =
        Frame { symbol: strings.intern(symbol), module: strings.intern(module), kind: strings.intern(kind), line: 0 };
    found.stacks.intern_frame(frame)
}

fn kind_of_memory(mapping: &Mapping) -> String {
    match mapping.kind {
        MappingKind::Anonymous if mapping.is_executable => "[code cache]".to_owned(),
        MappingKind::Anonymous => "[anon]".to_owned(),
        _ => mapping.path.to_string(),
    }
}

/// The stack of a thread of the target that stands still, from its stack pointer on; empty where it cannot be read.
pub(crate) fn copy_of_stack(target: &Target, registers: &Registers) -> Vec<u8> {
    let top = registers.stack_pointer().unwrap_or_default();
    let stack = memory::of(target).map(|file| memory::as_far_as_there_is(&file, top, STACK_BYTES));
    stack.unwrap_or_default()
}

/// The machine that this program was built for.
pub(crate) fn this_machine() -> Machine {
    if cfg!(target_arch = "aarch64") { Machine::Aarch64 } else { Machine::X86_64 }
}
