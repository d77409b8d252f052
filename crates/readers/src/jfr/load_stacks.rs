//! Stacks of a chunk's pool, each interned once and shared by its frames from the root.

use rustc_hash::FxHashMap;

use fathom_evidence::kinds::frame;
use fathom_evidence::{Frame, FrameId, Recording, StackId, StrId};

use super::load_handlers::Bound;
use super::load_resolve::Resolver;
use super::parse_plan::{Leaf, Plan};
use super::parse_stacks::STACK_TYPE;

/// The stack of each entry of the pool of stacks.
pub(super) struct StackTable {
    entries: Vec<Entry>,
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

    /// Interns every stack of the chunk.
    pub(super) fn load(resolver: &mut Resolver<'_>, recording: &mut Recording) -> StackTable {
        let stacks = &resolver.pools.stacks;
        let pool = resolver.pool(STACK_TYPE);
        let mut table = StackTable { entries: vec![Entry::default(); pool.len()] };
        let frames = frames(resolver, recording);
        for (entry, numbers) in table.entries.iter_mut().zip(stacks.iter()) {
            let from_root = numbers.iter().rev().map(|number| frames[*number as usize]);
            entry.id = recording.stacks.intern_from_root(from_root);
        }
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

/// Decodes every different frame of the chunk.
fn frames(resolver: &mut Resolver<'_>, recording: &mut Recording) -> Vec<FrameId> {
    let offsets = &resolver.pools.stacks.frames;
    let Some(mut shape) = Shape::of(resolver) else { return vec![FrameId(0); offsets.len()] };
    let mut slots = vec![0; shape.plan.slots()];
    let frame = |offset: &usize| {
        let decoded = shape.plan.run(resolver.data, *offset, &mut slots);
        decoded.map_or(FrameId(0), |_| shape.frame(&slots, resolver, recording))
    };
    offsets.iter().map(frame).collect()
}

/// Where the parts of a frame are.
struct Shape {
    plan: Plan,
    method: Bound,
    line: Option<usize>,
    kind: Option<Bound>,
    /// Layers by the key of the frame type, and whether it is of a native function.
    kinds: FxHashMap<u64, (StrId, bool)>,
}

impl Shape {
    fn of(resolver: &Resolver<'_>) -> Option<Shape> {
        let plan = Plan::around_array(resolver.types, resolver.types.id_of(STACK_TYPE)?, "frames")?.item;
        let [method, kind] = ["method", "type"].map(|field| Bound::of(&plan, field));
        Some(Shape { method: method?, line: plan.slot("lineNumber"), kind, kinds: FxHashMap::default(), plan })
    }

    fn frame(&mut self, slots: &[u64], resolver: &mut Resolver<'_>, recording: &mut Recording) -> FrameId {
        let (kind, is_function) = self.kind(slots, resolver, recording);
        let strings = &mut recording.strings;
        let (method, key) = (&self.method.leaf, slots[self.method.slot]);
        let (module, symbol) = match is_function.then(|| resolver.function(method, key)).flatten() {
            Some((module, symbol)) => (strings.intern(&module), strings.intern(&symbol)),
            None => (StrId(0), resolver.text_id(strings, method, key)),
        };
        let symbol = if symbol == StrId(0) { strings.intern("[unknown]") } else { symbol };
        // Lines are positive; recorders write other numbers for code without lines.
        let line = self.line.map_or(0, |slot| slots[slot] as u32 as i32).max(0) as u32;
        recording.stacks.intern_frame(Frame { symbol, module, kind, line })
    }

    /// The layer of a frame, and whether async-profiler wrote it as a native function, the class of which
    /// is its library.
    fn kind(&mut self, slots: &[u64], resolver: &mut Resolver<'_>, recording: &mut Recording) -> (StrId, bool) {
        let Some(Bound { slot, leaf }) = &self.kind else { return (StrId(0), false) };
        *self.kinds.entry(slots[*slot]).or_insert_with(|| {
            let name = resolver.text(leaf, slots[*slot]);
            let kind = frame_kind(&name);
            let is_native = [frame::NATIVE, frame::VM, frame::KERNEL].contains(&kind);
            (recording.strings.intern(kind), is_native && resolver.is_profiler)
        })
    }
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
