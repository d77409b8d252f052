//! Stacks of a chunk's pool, each decoded once and shared by its frames from the root.
//!
//! A recording with deep stacks consists mostly of them, so this is where loading spends its time. A
//! frame is looked up by its method, which nearly always comes with the line and kind it had before.
//! The nodes of a stack can only be found one after the other, each lookup waiting for memory; so a
//! batch of stacks is walked side by side, and their lookups overlap.

use rustc_hash::FxHashMap;

use fathom_evidence::kinds::frame;
use fathom_evidence::{Frame, FrameId, Recording, StackId, StrId};

use super::load_resolve::Resolver;
use super::parse_bytes::varint;
use super::parse_plan::{Leaf, Plan};
use super::parse_pools::Pool;

/// Stacks walked side by side: enough to hide the latency of memory, few enough for the first-level cache.
const BATCH: usize = 32;

/// Most fields of a stack and of a frame. Real ones have 2 and 4.
const MAX_FIELDS: usize = 16;

/// The stack of each entry of the pool of stacks.
pub(super) struct StackTable {
    entries: Vec<Entry>,
    /// Stacks whose bytes make no sense.
    pub(super) damaged: u64,
}

/// A stack, and the last class that was allocated there with the stack it gave.
#[derive(Debug, Default, Clone, Copy)]
struct Entry {
    id: StackId,
    with_class: StackId,
    class: u64,
}

impl StackTable {
    /// The stack of the entry `number`.
    #[inline]
    pub(super) fn get(&self, number: usize) -> StackId {
        self.entries[number].id
    }

    /// The stack of the entry `number` with the class of an allocated object on top.
    #[inline]
    pub(super) fn with_class(
        &mut self,
        number: usize,
        class: u64,
        leaf: &Leaf,
        resolver: &mut Resolver<'_>,
        recording: &mut Recording,
    ) -> StackId {
        let entry = self.entries[number];
        if entry.class == class && entry.with_class != StackId(0) {
            return entry.with_class;
        }
        let with_class = push_class(entry.id, class, leaf, resolver, recording);
        self.entries[number] = Entry { with_class, class, ..entry };
        with_class
    }

    /// Decodes and interns every stack of the chunk.
    pub(super) fn load(resolver: &mut Resolver<'_>, recording: &mut Recording) -> StackTable {
        let pool = resolver.pool("jdk.types.StackTrace");
        let mut table = StackTable { entries: vec![Entry::default(); pool.len()], damaged: 0 };
        let Some(shape) = Shape::of(resolver) else { return table };
        let mut frames = Frames::new(resolver);
        let mut batch = Batch::default();
        for (number, (_, offset)) in pool.entries().iter().enumerate() {
            let start = batch.frames.len();
            if shape.frames(resolver, recording, &mut frames, *offset, &mut batch.frames).is_none() {
                table.damaged += 1;
            }
            if start < batch.frames.len() {
                batch.walks.push(Walk { number, bottom: start, top: batch.frames.len(), node: StackId(0) });
            }
            if batch.walks.len() == BATCH {
                batch.intern(recording, &mut table.entries);
            }
        }
        batch.intern(recording, &mut table.entries);
        table
    }
}

/// The stack `parent` with the class of an object on top.
pub(super) fn push_class(
    parent: StackId,
    class: u64,
    leaf: &Leaf,
    resolver: &mut Resolver<'_>,
    recording: &mut Recording,
) -> StackId {
    let symbol = resolver.text_id(&mut recording.strings, leaf, class);
    let kind = recording.strings.intern(frame::CLASS);
    let frame = recording.stacks.intern_frame(Frame { symbol, module: StrId(0), kind, line: 0 });
    recording.stacks.intern(parent, frame)
}

/// Decoded stacks that are not interned yet.
#[derive(Default)]
struct Batch {
    /// Frames of all of them, each stack with its leaf first.
    frames: Vec<FrameId>,
    walks: Vec<Walk>,
}

/// How far a stack is interned: the frames from `top` on are, `node` is the stack they make.
struct Walk {
    number: usize,
    bottom: usize,
    top: usize,
    node: StackId,
}

impl Batch {
    fn intern(&mut self, recording: &mut Recording, entries: &mut [Entry]) {
        let Batch { frames, walks } = self;
        while !walks.is_empty() {
            walks.retain_mut(|walk| {
                walk.top -= 1;
                walk.node = recording.stacks.intern(walk.node, frames[walk.top]);
                let goes_on = walk.top > walk.bottom;
                if !goes_on {
                    entries[walk.number].id = walk.node;
                }
                goes_on
            });
        }
        frames.clear();
    }
}

/// Where the parts of a stack and of a frame are.
struct Shape {
    stack: Plan,
    list: usize,
    frame: Plan,
    method: usize,
    line: Option<usize>,
    kind: Option<usize>,
}

impl Shape {
    fn of(resolver: &Resolver<'_>) -> Option<Shape> {
        let type_id = resolver.types.id_of("jdk.types.StackTrace")?;
        let stack = Plan::compile(resolver.types, type_id)?;
        let frame = Plan::item(resolver.types, type_id, "frames")?;
        Some(Shape {
            list: stack.slot("frames")?,
            method: frame.slot("method")?,
            line: frame.slot("lineNumber"),
            kind: frame.slot("type"),
            stack,
            frame,
        })
    }

    /// Appends the frames of the stack at `offset`, leaf first. What was appended before `None` is good.
    fn frames(
        &self,
        resolver: &mut Resolver<'_>,
        recording: &mut Recording,
        frames: &mut Frames<'_>,
        offset: usize,
        into: &mut Vec<FrameId>,
    ) -> Option<()> {
        let data = resolver.data;
        let mut slots = [0; MAX_FIELDS];
        self.stack.run(data, offset, &mut slots)?;
        let (count, mut at) = varint(data, slots[self.list] as usize)?;
        for _ in 0..count {
            at = self.frame.run(data, at, &mut slots)?;
            let line = self.line.map_or(0, |slot| slots[slot] as u32);
            let kind = self.kind.map_or(0, |slot| slots[slot] as u32);
            let key = FrameKey { method: slots[self.method], line, kind };
            into.push(frames.find(key).unwrap_or_else(|| frames.intern(key, self, resolver, recording)));
        }
        Some(())
    }
}

/// What tells frames of a chunk apart.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
struct FrameKey {
    method: u64,
    line: u32,
    kind: u32,
}

/// Frames of a chunk that are interned already.
struct Frames<'a> {
    methods: &'a Pool,
    /// The frame in which each method was seen last.
    recent: Vec<(FrameKey, FrameId)>,
    known: FxHashMap<FrameKey, FrameId>,
}

impl<'a> Frames<'a> {
    fn new(resolver: &Resolver<'a>) -> Self {
        let methods = resolver.pool("jdk.types.Method");
        Frames { methods, recent: vec![Default::default(); methods.len()], known: FxHashMap::default() }
    }

    #[inline]
    fn find(&self, key: FrameKey) -> Option<FrameId> {
        let (recent, id) = self.recent[self.methods.number(key.method)?];
        (recent == key && id != FrameId(0)).then_some(id)
    }

    fn intern(
        &mut self,
        key: FrameKey,
        shape: &Shape,
        resolver: &mut Resolver<'_>,
        recording: &mut Recording,
    ) -> FrameId {
        let id = *self.known.entry(key).or_insert_with(|| make_frame(key, shape, resolver, recording));
        if let Some(number) = self.methods.number(key.method) {
            self.recent[number] = (key, id);
        }
        id
    }
}

fn make_frame(key: FrameKey, shape: &Shape, resolver: &mut Resolver<'_>, recording: &mut Recording) -> FrameId {
    let kind = shape.kind.map_or(String::new(), |slot| resolver.text(shape.frame.leaf(slot), u64::from(key.kind)));
    let kind = frame_kind(&kind);
    let strings = &mut recording.strings;
    let method = shape.frame.leaf(shape.method);
    // async-profiler gives the library of a native function as its class.
    let is_function = resolver.is_profiler && [frame::NATIVE, frame::VM, frame::KERNEL].contains(&kind);
    let (module, symbol) = match resolver.function(method, key.method).filter(|_| is_function) {
        Some((module, symbol)) => (strings.intern(&module), strings.intern(&symbol)),
        None => (StrId(0), resolver.text_id(strings, method, key.method)),
    };
    let symbol = if symbol == StrId(0) { strings.intern("[unknown]") } else { symbol };
    let kind = strings.intern(kind);
    // Lines are positive; recorders write other numbers for code without lines.
    let line = if key.line as i32 > 0 { key.line } else { 0 };
    recording.stacks.intern_frame(Frame { symbol, module, kind, line })
}

/// The layer that a frame type of the JVM or of async-profiler stands for.
fn frame_kind(name: &str) -> &str {
    match name {
        "Interpreted" => frame::INTERPRETED,
        "JIT compiled" => frame::COMPILED,
        "Inlined" => frame::INLINED,
        "C1 compiled" => frame::C1,
        "Native" => frame::NATIVE,
        "C++" => frame::VM,
        "Kernel" => frame::KERNEL,
        other => other,
    }
}
