//! Stacks of a chunk's pool, each interned once and shared by its frames from the root.

use rustc_hash::FxHashMap;

use fathom_evidence::kinds::frame;
use fathom_evidence::{Frame, FrameId, Recording, StackId, StrId};

use super::load_handlers::Bound;
use super::load_methods::Methods;
use super::load_resolve::Resolver;
use super::load_stack_cache::{Groups, Hash, StackCache};
use super::parse_map::KeyMap;
use super::parse_plan::{ArrayPlan, Kind, Leaf, Plan};
use super::parse_stacks::{GROUP, RawStacks, STACK_TYPE};
use super::parse_stops::Stops;

/// The stack of each entry of the pool of stacks.
pub(super) struct StackTable {
    ids: Vec<StackId>,
    /// Of each entry the class that was last allocated there and the stack that this gave; empty until one is.
    classes: Vec<(u64, StackId)>,
    class_frames: ClassFrames,
}

impl StackTable {
    /// The stack of the entry `number`.
    #[inline]
    pub(super) fn get(&self, number: usize) -> StackId {
        self.ids[number]
    }

    /// The stack of the entry `number` with the class of an allocated object on top, if it was asked for last.
    #[inline(always)]
    pub(super) fn last_with_class(&self, number: usize, class: u64) -> Option<StackId> {
        let (last, stack) = *self.classes.get(number)?;
        (last == class && stack != StackId(0)).then_some(stack)
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
        if self.classes.is_empty() {
            self.classes.resize(self.ids.len(), Default::default());
        }
        let stack = recording.stacks.intern(self.ids[number], frame);
        self.classes[number] = (class, stack);
        stack
    }

    /// Interns every stack of the chunk. What earlier chunks had is found in `known` as far as this one, being
    /// whole, means the same by its keys.
    pub(super) fn load<'a>(
        resolver: &mut Resolver<'_, 'a>,
        recording: &mut Recording,
        known: &mut KnownStacks<'a>,
        is_whole: bool,
    ) -> StackTable {
        let pools = resolver.pools;
        let ids = vec![StackId(0); resolver.pool(STACK_TYPE).len()];
        let mut table = StackTable { ids, classes: Vec::new(), class_frames: ClassFrames::new(resolver) };
        let Some(shape) = Shape::of(resolver) else { return table };
        if !is_whole || !known.agree(&shape, resolver) {
            *known = KnownStacks::default();
            known.agree(&shape, resolver);
        }
        let unresolved = resolver.unresolved;
        known.cache.groups.reserve(pools.stacks.groups());
        recording.stacks.reserve(0, pools.stacks.groups());
        Builder { shape, known, resolver, recording }.stacks(&pools.stacks, &mut table.ids);
        // What has no name here may have one in the next chunk.
        if !is_whole || resolver.unresolved != unresolved {
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
    kinds: FxHashMap<u64, FrameKind>,
    methods: Methods<'a>,
    cache: StackCache<'a>,
}

/// A frame type.
struct FrameKind {
    /// As the recorder calls it.
    name: String,
    kind: StrId,
    /// Whether async-profiler gives it to native functions.
    is_function: bool,
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
struct Shape {
    plan: ArrayPlan,
    method: Bound,
    line: Option<usize>,
    kind: Option<Bound>,
}

impl Shape {
    fn of(resolver: &Resolver<'_, '_>) -> Option<Shape> {
        let plan = Plan::around_array(resolver.types, resolver.types.id_of(STACK_TYPE)?, "frames")?;
        let [method, kind] = ["method", "type"].map(|field| Bound::of(&plan.item, field));
        Some(Shape { method: method?, line: plan.item.slot("lineNumber"), kind, plan })
    }
}

/// Interns the stacks of a chunk.
struct Builder<'b, 'p, 'a> {
    shape: Shape,
    known: &'b mut KnownStacks<'a>,
    resolver: &'b mut Resolver<'p, 'a>,
    recording: &'b mut Recording,
}

/// Some stacks that are looked up together.
#[derive(Default)]
struct Batch<'c> {
    /// Where the groups of each stack begin, and the end of its hashes.
    stacks: Vec<(&'c [usize], usize)>,
    /// From the root up to the end of each group, for each stack.
    hashes: Vec<Hash>,
    /// Of each stack the number of groups that are known, and the stack that they are.
    found: Vec<(usize, StackId)>,
}

impl Batch<'_> {
    /// Lookups in a large table wait for memory. Those of a batch do not depend on each other, so that the
    /// processor waits for many of them at once.
    const STACKS: usize = 32;

    /// Groups from the leaf on that are looked up in most stacks.
    const WARM_GROUPS: usize = 3;

    fn clear(&mut self) {
        self.stacks.clear();
        self.hashes.clear();
        self.found.clear();
    }
}

impl Builder<'_, '_, '_> {
    /// Enters the stacks of a pool; `ids` is in the same order.
    fn stacks(mut self, stacks: &RawStacks, ids: &mut [StackId]) {
        let mut batch = Batch::default();
        let mut stacks = stacks.iter();
        for ids in ids.chunks_mut(Batch::STACKS) {
            batch.clear();
            stacks.by_ref().take(ids.len()).for_each(|cuts| self.hash(cuts, &mut batch));
            self.warm(&batch);
            self.find(&mut batch);
            self.recording.stacks.warm(batch.found.iter().map(|found| found.1));
            let mut start = 0;
            for (id, ((cuts, end), found)) in ids.iter_mut().zip(batch.stacks.iter().zip(&batch.found)) {
                *id = self.stack(cuts, &batch.hashes[start..*end], *found);
                start = *end;
            }
        }
    }

    fn hash<'c>(&self, cuts: &'c [usize], batch: &mut Batch<'c>) {
        let (data, secrets) = (self.resolver.data, &self.known.cache.secrets);
        let mut hash = Hash::new(secrets);
        for group in cuts.windows(2).rev() {
            hash = hash.with(&data[group[0]..group[1]], secrets);
            batch.hashes.push(hash);
        }
        batch.stacks.push((cuts, batch.hashes.len()));
    }

    /// Brings into the caches what is looked up for most stacks. No branch depends on it, so that the processor
    /// does not stop at the first one that it expected to be otherwise.
    fn warm(&self, batch: &Batch<'_>) {
        let (groups, mut start, mut all) = (&self.known.cache.groups, 0, 0);
        for (_, end) in &batch.stacks {
            let last = &batch.hashes[start.max(end.saturating_sub(Batch::WARM_GROUPS))..*end];
            all = last.iter().fold(all, |all, hash| all ^ groups.warm(*hash));
            start = *end;
        }
        std::hint::black_box(all);
    }

    /// Looks for the groups of all stacks: first for whole stacks, and for those without the group of their leaf;
    /// then, down to the root, for those of stacks that are new.
    fn find(&self, batch: &mut Batch<'_>) {
        let groups = &self.known.cache.groups;
        let known = |groups: &Groups, (number, hash): (usize, &Hash)| Some((number + 1, groups.get(*hash)?));
        let mut start = 0;
        for (_, end) in &batch.stacks {
            let last = batch.hashes[start..*end].iter().enumerate().rev().take(2);
            batch.found.push(last.filter_map(|hash| known(groups, hash)).next().unwrap_or_default());
            start = *end;
        }
        let mut start = 0;
        for ((_, end), found) in batch.stacks.iter().zip(&mut batch.found) {
            if found.0 == 0 {
                let others = batch.hashes[start..*end].iter().enumerate().rev().skip(2);
                *found = others.filter_map(|hash| known(groups, hash)).next().unwrap_or_default();
            }
            start = *end;
        }
    }

    /// The stack whose groups begin at `cuts`, leaf first, of which `known` groups from the root on are known.
    fn stack(&mut self, cuts: &[usize], hashes: &[Hash], known: (usize, StackId)) -> StackId {
        let (groups, mut stack) = known;
        for (group, hash) in hashes.iter().enumerate().skip(groups) {
            // Others of the batch may have entered it meanwhile.
            if let Some(entered) = self.known.cache.groups.get(*hash) {
                stack = entered;
                continue;
            }
            let from = cuts.len() - 2 - group;
            stack = self.group(cuts[from], cuts[from + 1], stack);
            self.known.cache.groups.insert(*hash, stack);
        }
        stack
    }

    /// The stack that has the frames between `from` and `to` on top of `stack`.
    fn group(&mut self, from: usize, to: usize, stack: StackId) -> StackId {
        let mut cuts = [from; GROUP as usize + 1];
        let frames = self.frame_cuts(from, to, &mut cuts);
        let mut ids = [FrameId(0); GROUP as usize];
        for (id, frame) in ids.iter_mut().zip(cuts[..=frames].windows(2).rev()) {
            *id = self.frame(frame[0], frame[1]);
        }
        ids[..frames].iter().fold(stack, |stack, id| self.recording.stacks.intern(stack, *id))
    }

    /// Where the frames of a group begin, and where the last one ends; returns how many there are.
    fn frame_cuts(&self, from: usize, to: usize, cuts: &mut [usize; GROUP as usize + 1]) -> usize {
        let data = self.resolver.data;
        let stops = self.shape.plan.item_varints.and(Stops::at(data, from)).filter(|stops| !stops.may_be_nine(0));
        let mut stops = stops.map_or(0, |stops| stops.0);
        let varints = self.shape.plan.item_varints.unwrap_or(0);
        let mut frames = 0;
        let mut at = from;
        while at < to && frames < GROUP as usize {
            for _ in 1..varints {
                stops &= stops.wrapping_sub(1);
            }
            at = match stops {
                0 => self.shape.plan.skip_item(data, at).filter(|end| *end > at).unwrap_or(to),
                stops => from + stops.trailing_zeros() as usize + 1,
            };
            stops &= stops.wrapping_sub(1);
            frames += 1;
            cuts[frames] = at;
        }
        frames
    }

    #[inline]
    fn frame(&mut self, from: usize, to: usize) -> FrameId {
        match self.known.cache.frames.get(self.resolver.data, from, to) {
            Some(frame) => frame,
            None => self.new_frame(from, to),
        }
    }

    #[cold]
    fn new_frame(&mut self, from: usize, to: usize) -> FrameId {
        let data = self.resolver.data;
        let mut slots = vec![0; self.shape.plan.item.slots()];
        let decoded = self.shape.plan.item.run(data, from, &mut slots);
        let frame = decoded.map_or(FrameId(0), |_| self.decoded_frame(&slots));
        self.known.cache.frames.insert(data, from, to, frame);
        frame
    }

    fn decoded_frame(&mut self, slots: &[u64]) -> FrameId {
        let (kind, is_function) = self.kind(slots);
        let (resolver, strings) = (&mut *self.resolver, &mut self.recording.strings);
        let Bound { slot, leaf } = &self.shape.method;
        let key = slots[*slot];
        let build = || match is_function.then(|| resolver.function(leaf, key)).flatten() {
            Some((module, symbol)) => (strings.intern(&module), strings.intern(&symbol)),
            None => (StrId(0), resolver.text_id(strings, leaf, key)),
        };
        let (module, symbol) = self.known.methods.text(key, is_function, build);
        let strings = &mut self.recording.strings;
        let symbol = if symbol == StrId(0) { strings.intern("[unknown]") } else { symbol };
        // Lines are positive; recorders write other numbers for code without lines.
        let line = self.shape.line.map_or(0, |slot| slots[slot] as u32 as i32).max(0) as u32;
        self.recording.stacks.intern_frame(Frame { symbol, module, kind, line })
    }

    /// The layer of a frame, and whether async-profiler wrote it as a native function, the class of which
    /// is its library.
    fn kind(&mut self, slots: &[u64]) -> (StrId, bool) {
        let Some(Bound { slot, leaf }) = &self.shape.kind else { return (StrId(0), false) };
        let (resolver, recording) = (&mut *self.resolver, &mut *self.recording);
        let known = self.known.kinds.entry(slots[*slot]).or_insert_with(|| {
            let name = resolver.text(leaf, slots[*slot]);
            let kind = frame_kind(&name);
            let is_native = [frame::NATIVE, frame::VM, frame::KERNEL].contains(&kind);
            let kind = recording.strings.intern(kind);
            FrameKind { kind, is_function: is_native && resolver.is_profiler, name }
        });
        (known.kind, known.is_function)
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
