//! Stacks of a chunk's pool, each decoded once and shared by its frames from the root.

use rustc_hash::FxHashMap;

use fathom_evidence::{Frame, FrameId, Recording, StackId, StrId, kinds};

use super::load_resolve::Resolver;
use super::parse_bytes::varint;
use super::parse_plan::{Kind, Leaf, Plan};

/// The stack of each entry of the pool of stacks.
pub(super) struct StackTable {
    ids: Vec<StackId>,
    /// Stacks that the recorder cut at its depth limit.
    pub(super) truncated: u64,
    /// Stacks whose bytes make no sense.
    pub(super) damaged: u64,
}

impl StackTable {
    /// The stack of the entry `number`.
    #[inline]
    pub(super) fn get(&self, number: usize) -> StackId {
        self.ids[number]
    }

    /// Decodes and interns every stack of the chunk.
    pub(super) fn load(resolver: &mut Resolver<'_>, recording: &mut Recording) -> StackTable {
        let pool = resolver.pool("jdk.types.StackTrace");
        let mut table = StackTable { ids: vec![StackId(0); pool.len()], truncated: 0, damaged: 0 };
        let Some(shape) = Shape::of(resolver) else { return table };
        let mut frames = Frames::default();
        let mut stack: Vec<FrameId> = Vec::new();
        for (number, (_, offset)) in pool.entries().iter().enumerate() {
            stack.clear();
            match shape.frames(resolver, recording, &mut frames, *offset, &mut stack) {
                Some(cut) => table.truncated += u64::from(cut),
                None => table.damaged += 1,
            }
            table.ids[number] = recording.stacks.intern_from_root(stack.iter().rev().copied());
        }
        table
    }
}

/// Where the parts of a stack and of a frame are.
struct Shape {
    stack: Plan,
    truncated: Option<usize>,
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
            truncated: stack.slot("truncated"),
            list: stack.slot("frames")?,
            method: frame.slot("method")?,
            line: frame.slot("lineNumber"),
            kind: frame.slot("type"),
            stack,
            frame,
        })
    }

    /// Appends the frames of the stack at `offset`, leaf first; says whether the recorder had cut it.
    fn frames(
        &self,
        resolver: &mut Resolver<'_>,
        recording: &mut Recording,
        frames: &mut Frames,
        offset: usize,
        into: &mut Vec<FrameId>,
    ) -> Option<bool> {
        let data = resolver.data;
        let mut head = [0; 8];
        self.stack.run(data, offset, &mut head)?;
        let (count, mut at) = varint(data, head[self.list] as usize)?;
        let mut slots = [0; 16];
        for _ in 0..count {
            at = self.frame.run(data, at, &mut slots)?;
            let line = self.line.map_or(0, |slot| slots[slot] as u32);
            let kind = self.kind.map_or(0, |slot| slots[slot]);
            into.push(frames.intern(self, resolver, recording, slots[self.method], line, kind));
        }
        Some(self.truncated.is_some_and(|slot| head[slot] != 0))
    }

    fn leaf(&self, slot: usize) -> &Leaf {
        self.frame.leaf(slot)
    }
}

/// Frames by method, line and kind.
#[derive(Default)]
struct Frames {
    known: FxHashMap<(u64, u32, u64), FrameId>,
}

impl Frames {
    fn intern(
        &mut self,
        shape: &Shape,
        resolver: &mut Resolver<'_>,
        recording: &mut Recording,
        method: u64,
        line: u32,
        kind: u64,
    ) -> FrameId {
        *self.known.entry((method, line, kind)).or_insert_with(|| {
            let symbol = resolver.text_id(&mut recording.strings, shape.leaf(shape.method), method);
            let kind = shape.kind.map_or(StrId(0), |slot| {
                let name = resolver.text(shape.leaf(slot), kind);
                recording.strings.intern(frame_kind(&name))
            });
            let symbol = if symbol == StrId(0) { recording.strings.intern("[unknown]") } else { symbol };
            // Lines are positive; the recorder writes others for code without lines.
            let line = if (line as i32) > 0 { line } else { 0 };
            recording.stacks.intern_frame(Frame { symbol, module: StrId(0), kind, line })
        })
    }
}

/// The layer that a frame type of the JVM or of async-profiler stands for.
fn frame_kind(name: &str) -> &str {
    match name {
        "Interpreted" => kinds::frame::INTERPRETED,
        "JIT compiled" => kinds::frame::COMPILED,
        "Inlined" => kinds::frame::INLINED,
        "C1 compiled" => kinds::frame::C1,
        "Native" => kinds::frame::NATIVE,
        "C++" => kinds::frame::VM,
        "Kernel" => kinds::frame::KERNEL,
        other => other,
    }
}

/// The stack `parent` with the class of an allocated object on top, made once for each pair.
#[derive(Default)]
pub(super) struct ClassLeaves {
    known: FxHashMap<(StackId, u64), StackId>,
}

impl ClassLeaves {
    pub(super) fn on_top(
        &mut self,
        resolver: &mut Resolver<'_>,
        recording: &mut Recording,
        parent: StackId,
        leaf: &Leaf,
        class: u64,
    ) -> StackId {
        debug_assert!(matches!(leaf.kind, Kind::Key(_)));
        *self.known.entry((parent, class)).or_insert_with(|| {
            let symbol = resolver.text_id(&mut recording.strings, leaf, class);
            let kind = recording.strings.intern(kinds::frame::CLASS);
            let frame = recording.stacks.intern_frame(Frame { symbol, module: StrId(0), kind, line: 0 });
            recording.stacks.intern(parent, frame)
        })
    }
}
