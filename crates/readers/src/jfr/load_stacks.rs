//! Stacks of a chunk's pool, each interned once and shared by its frames from the root.

use rustc_hash::FxHashMap;

use fathom_evidence::kinds::frame;
use fathom_evidence::{Frame, FrameId, Recording, StackId, StrId, Strings};

use super::load_handlers::Bound;
use super::load_methods::Methods;
use super::load_resolve::Resolver;
use super::load_stack_builder::Builder;
use super::load_stack_cache::StackCache;
use super::parse_map::KeyMap;
use super::parse_plan::{ArrayPlan, Kind, Leaf, Plan};
use super::parse_stacks::STACK_TYPE;

/// The stack of each entry of the pool of stacks.
pub(super) struct StackTable {
    entries: Vec<Entry>,
    class_frames: ClassFrames,
}

/// What is known of a chunk before its stacks are interned.
pub(super) struct Parts {
    /// Whether nothing of it is missing.
    pub(super) is_whole: bool,
    /// Parts of about its size that are to come, itself included.
    pub(super) left: usize,
    /// Of each stack whether it is wanted; all are where nobody says.
    pub(super) wanted: Option<Vec<bool>>,
}

impl Parts {
    /// About how many of `all` belong to what is wanted.
    fn of_wanted(&self, all: usize) -> usize {
        let Some(wanted) = &self.wanted else { return all };
        let count = wanted.iter().filter(|wanted| **wanted).count();
        (all.saturating_mul(count) / wanted.len().max(1)).max(count)
    }
}

/// An entry. What is asked for together stands together.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    /// The class that was last allocated there, and the stack that this gave; 0 until one is.
    class: u64,
    with_class: StackId,
    stack: StackId,
}

impl StackTable {
    /// The stack of the entry `number`.
    #[inline]
    pub(super) fn get(&self, number: usize) -> StackId {
        self.entries[number].stack
    }

    /// The stack of the entry `number` with the class of an allocated object on top, if it was asked for last.
    #[inline(always)]
    pub(super) fn last_with_class(&self, number: usize, class: u64) -> Option<StackId> {
        let entry = self.entries.get(number)?;
        (entry.class == class && entry.with_class != StackId(0)).then_some(entry.with_class)
    }

    /// The stack of the entry `number`, or of none, with the class of an allocated object on top.
    pub(super) fn with_class(
        &mut self,
        number: Option<usize>,
        class: u64,
        leaf: &Leaf,
        resolver: &mut Resolver<'_, '_>,
        recording: &mut Recording,
    ) -> StackId {
        let frame = self.class_frames.get(class, leaf, resolver, recording);
        let Some(number) = number else { return recording.stacks.intern(StackId(0), frame) };
        let entry = &mut self.entries[number];
        entry.class = class;
        entry.with_class = recording.stacks.intern(entry.stack, frame);
        entry.with_class
    }

    /// Interns the stacks of a chunk that are wanted. What earlier chunks had is found in `known` as far as this one, being
    /// whole, means the same by its keys.
    pub(super) fn load<'a>(
        resolver: &mut Resolver<'_, 'a>,
        recording: &mut Recording,
        known: &mut KnownStacks<'a>,
        parts: &Parts,
    ) -> StackTable {
        let pools = resolver.pools;
        let entries = vec![Entry::default(); resolver.pool(STACK_TYPE).len()];
        let mut table = StackTable { entries, class_frames: ClassFrames::new(resolver) };
        let Some(shape) = Shape::of(resolver) else { return table };
        if !parts.is_whole || !known.agree(&shape, resolver) {
            *known = KnownStacks::default();
            known.agree(&shape, resolver);
        }
        let unresolved = resolver.unresolved;
        if recording.stacks.stack_count() <= 1 {
            // There are about as many stacks as groups, and most groups of later chunks are those of the first. Room
            // that is not used takes no memory, but growing takes time.
            let groups = parts.of_wanted(pools.stacks.groups());
            known.cache.groups.reserve(groups);
            recording.stacks.reserve(0, groups.saturating_mul(parts.left));
        }
        Builder::new(shape, known, resolver, recording).stacks(
            &pools.stacks,
            parts.wanted.as_deref(),
            |number, stack| {
                if let Some(entry) = table.entries.get_mut(number) {
                    entry.stack = stack;
                }
            },
        );
        // What has no name here may have one in the next chunk.
        if !parts.is_whole || resolver.unresolved != unresolved {
            *known = KnownStacks::default();
        }
        table
    }
}

/// Frames that stand for the classes of allocated objects.
struct ClassFrames {
    /// Frame by the class's key in the pool of this type.
    frames: KeyMap,
    pool: Kind,
}

impl ClassFrames {
    fn new(resolver: &Resolver<'_, '_>) -> ClassFrames {
        let pool = Kind::Key(resolver.types.id_of("java.lang.Class").unwrap_or(u64::MAX));
        ClassFrames { frames: KeyMap::with_room(0), pool }
    }

    fn get(&mut self, class: u64, leaf: &Leaf, resolver: &mut Resolver<'_, '_>, recording: &mut Recording) -> FrameId {
        let known = if leaf.kind == self.pool { self.frames.get(class) } else { 0 };
        if known != 0 {
            return FrameId(known);
        }
        let symbol = resolver.text_id(&mut recording.strings, leaf, class);
        let kind = recording.strings.intern(frame::CLASS);
        let frame = recording.stacks.intern_frame(Frame { symbol, module: StrId(0), kind, line: 0 });
        if leaf.kind == self.pool {
            self.frames.insert(class, frame.0);
        }
        frame
    }
}

/// Frames and stacks of earlier chunks, by their bytes, and what the bytes mean.
#[derive(Default)]
pub(super) struct KnownStacks<'a> {
    /// How the chunks lay out a frame, and whether async-profiler wrote them.
    layout: Option<(Plan, bool)>,
    /// Frame types by their key.
    pub(super) kinds: FxHashMap<u64, FrameKind>,
    pub(super) methods: Methods<'a>,
    pub(super) cache: StackCache<'a>,
}

/// A frame type.
pub(super) struct FrameKind {
    /// As the recorder calls it.
    name: String,
    pub(super) kind: StrId,
    /// Whether async-profiler gives it to native functions.
    pub(super) is_function: bool,
}

impl FrameKind {
    /// What the recorder calls `name`.
    pub(super) fn new(name: String, is_profiler: bool, strings: &mut Strings) -> FrameKind {
        let kind = frame_kind(&name);
        let is_native = [frame::NATIVE, frame::VM, frame::KERNEL].contains(&kind);
        FrameKind { kind: strings.intern(kind), is_function: is_native && is_profiler, name }
    }
}

impl<'a> KnownStacks<'a> {
    /// Whether frames with the same bytes mean the same in the chunk as in those before.
    fn agree(&mut self, shape: &Shape, resolver: &mut Resolver<'_, 'a>) -> bool {
        let (layout, is_profiler) = self.layout.get_or_insert_with(|| (shape.plan.item.clone(), resolver.is_profiler));
        *layout == shape.plan.item
            && *is_profiler == resolver.is_profiler
            && shape.kind.as_ref().is_none_or(|kind| agree_on_kinds(&self.kinds, &kind.leaf, resolver))
            && self.methods.agree(&shape.method.leaf, resolver)
    }
}

fn agree_on_kinds(kinds: &FxHashMap<u64, FrameKind>, leaf: &Leaf, resolver: &mut Resolver<'_, '_>) -> bool {
    let Kind::Key(type_id) = leaf.kind else { return true };
    let is_there = |key: &u64| resolver.pools.get(type_id).number(*key).is_some();
    let keys: Vec<u64> = kinds.keys().copied().filter(is_there).collect();
    keys.into_iter().all(|key| resolver.text(leaf, key) == kinds[&key].name)
}

/// Where the parts of a frame are.
pub(super) struct Shape {
    pub(super) plan: ArrayPlan,
    pub(super) method: Bound,
    pub(super) line: Option<usize>,
    pub(super) kind: Option<Bound>,
}

impl Shape {
    fn of(resolver: &Resolver<'_, '_>) -> Option<Shape> {
        let plan = Plan::around_array(resolver.types, resolver.types.id_of(STACK_TYPE)?, "frames")?;
        let [method, kind] = ["method", "type"].map(|field| Bound::of(&plan.item, field));
        Some(Shape { method: method?, line: plan.item.slot("lineNumber"), kind, plan })
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
