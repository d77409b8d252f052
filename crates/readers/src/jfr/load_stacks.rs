//! Stacks of a chunk's pool, each interned once and shared by its frames from the root.

use fathom_evidence::kinds::frame;
use fathom_evidence::{Frame, FrameId, Recording, StackId, StrId};

use super::load_resolve::Resolver;
use super::load_stack_builder::Builder;
use super::load_stack_shape::{KnownStacks, Shape};
use super::parse_map::KeyMap;
use super::parse_plan::{Kind, Leaf};
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
    /// For each stack whether it is wanted; without it, all are wanted.
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
