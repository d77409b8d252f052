//! The loop over the stacks of a chunk: first the groups that are known already, then the new groups, which are decoded
//! frame by frame.

use fathom_evidence::{Frame, FrameId, Recording, StackId, StrId};

use super::load_handlers::Bound;
use super::load_resolve::Resolver;
use super::load_stack_cache::{Groups, Hash};
use super::load_stack_shape::{FrameKind, KnownStacks, Shape};
use super::parse_bits::{Bits, Work, on_this_processor};
use super::parse_stacks::{GROUP, RawStacks};
use super::parse_stops::Stops;

/// Interns the stacks of a chunk.
pub(super) struct Builder<'b, 'p, 'a> {
    shape: Shape,
    known: &'b mut KnownStacks<'a>,
    resolver: &'b mut Resolver<'p, 'a>,
    recording: &'b mut Recording,
    path: Path,
}

/// The frames of a stack that are on top of what is known of it, and the stacks that they give.
#[derive(Default)]
struct Path {
    frames: Vec<FrameId>,
    stacks: Vec<StackId>,
    /// Of each group of frames where it ends.
    ends: Vec<usize>,
}

/// Some stacks that are looked up together.
#[derive(Default)]
struct Batch<'c> {
    /// The number of each stack, where its groups begin, and the end of its hashes.
    stacks: Vec<(usize, &'c [usize], usize)>,
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

/// All stacks of a pool, see [`Builder::stacks`].
struct BuildStacks<'s, 'b, 'p, 'a, N> {
    builder: Builder<'b, 'p, 'a>,
    stacks: &'s RawStacks,
    wanted: Option<&'s [bool]>,
    note: N,
}

impl<N: FnMut(usize, StackId)> Work for BuildStacks<'_, '_, '_, '_, N> {
    type Result = ();

    #[inline(always)]
    fn run<B: Bits>(mut self) {
        let (mut batch, builder) = (Batch::default(), &mut self.builder);
        let is_wanted = |number: usize| self.wanted.is_none_or(|wanted| wanted.get(number) == Some(&true));
        let mut stacks = self.stacks.iter().enumerate().filter(|(number, _)| is_wanted(*number));
        loop {
            batch.clear();
            stacks.by_ref().take(Batch::STACKS).for_each(|stack| builder.hash(stack, &mut batch));
            if batch.stacks.is_empty() {
                return;
            }
            builder.warm(&batch);
            builder.find(&mut batch);
            builder.recording.stacks.warm(batch.found.iter().map(|found| found.1));
            let mut start = 0;
            for ((number, cuts, end), found) in batch.stacks.iter().zip(&batch.found) {
                (self.note)(*number, builder.stack::<B>(cuts, &batch.hashes[start..*end], *found));
                start = *end;
            }
        }
    }
}

impl<'b, 'p, 'a> Builder<'b, 'p, 'a> {
    pub(super) fn new(
        shape: Shape,
        known: &'b mut KnownStacks<'a>,
        resolver: &'b mut Resolver<'p, 'a>,
        recording: &'b mut Recording,
    ) -> Self {
        Builder { shape, known, resolver, recording, path: Path::default() }
    }

    /// Enters the wanted stacks of a pool; `note` gets the number and the id of each.
    pub(super) fn stacks(self, stacks: &RawStacks, wanted: Option<&[bool]>, note: impl FnMut(usize, StackId)) {
        on_this_processor(BuildStacks { builder: self, stacks, wanted, note });
    }

    #[inline(always)]
    fn hash<'c>(&self, (number, cuts): (usize, &'c [usize]), batch: &mut Batch<'c>) {
        let (data, secrets) = (self.resolver.data, &self.known.cache.secrets);
        let mut hash = Hash::new(secrets);
        for group in cuts.windows(2).rev() {
            hash = hash.with(&data[group[0]..group[1]], secrets);
            batch.hashes.push(hash);
        }
        batch.stacks.push((number, cuts, batch.hashes.len()));
    }

    /// Brings into the caches what is looked up for most stacks. No branch depends on it, so that the processor
    /// does not stop at the first one that it expected to be otherwise.
    fn warm(&self, batch: &Batch<'_>) {
        let (groups, mut start, mut all) = (&self.known.cache.groups, 0, 0);
        for (_, _, end) in &batch.stacks {
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
        for (_, _, end) in &batch.stacks {
            let last = batch.hashes[start..*end].iter().enumerate().rev().take(2);
            batch.found.push(last.filter_map(|hash| known(groups, hash)).next().unwrap_or_default());
            start = *end;
        }
        let mut start = 0;
        for ((_, _, end), found) in batch.stacks.iter().zip(&mut batch.found) {
            if found.0 == 0 {
                let others = batch.hashes[start..*end].iter().enumerate().rev().skip(2);
                *found = others.filter_map(|hash| known(groups, hash)).next().unwrap_or_default();
            }
            start = *end;
        }
    }

    /// The stack whose groups begin at `cuts`, leaf first, of which `known` groups from the root on are known.
    #[inline(always)]
    fn stack<B: Bits>(&mut self, cuts: &[usize], hashes: &[Hash], known: (usize, StackId)) -> StackId {
        let (groups, stack) = known;
        let new = &hashes[groups..];
        if new.is_empty() {
            return stack;
        }
        self.path.frames.clear();
        self.path.ends.clear();
        // Groups have their leaf in front, and these come from the root on.
        for group in cuts[..=new.len()].windows(2).rev() {
            self.group::<B>(group[0], group[1]);
            self.path.ends.push(self.path.frames.len());
        }
        let Path { frames, stacks, ends } = &mut self.path;
        self.recording.stacks.intern_path(stack, frames, stacks);
        let at = |end: usize| end.checked_sub(1).map_or(stack, |last| stacks[last]);
        for (hash, end) in new.iter().zip(ends) {
            self.known.cache.groups.insert(*hash, at(*end));
        }
        at(stacks.len())
    }

    /// Puts the frames between `from` and `to` on the path, the one nearest to the root first.
    #[inline(always)]
    fn group<B: Bits>(&mut self, from: usize, to: usize) {
        let mut cuts = [from; GROUP as usize + 1];
        let frames = self.frame_cuts::<B>(to, &mut cuts);
        for frame in cuts[..=frames].windows(2).rev() {
            let id = match self.known.cache.frames.get(self.resolver.data, frame[0], frame[1]) {
                Some(id) => id,
                None => self.new_frame(frame[0], frame[1]),
            };
            self.path.frames.push(id);
        }
    }

    /// Writes behind the first of `cuts`, where a group begins that ends at `to`, where each of its frames ends.
    /// Returns how many there are.
    #[inline(always)]
    fn frame_cuts<B: Bits>(&self, to: usize, cuts: &mut [usize; GROUP as usize + 1]) -> usize {
        let mut frames = 0;
        while cuts[frames] < to && frames < GROUP as usize {
            let from = cuts[frames];
            let mut ends = self.frame_ends::<B>(from);
            if ends == 0 {
                frames += 1;
                let end = self.shape.plan.skip_item(self.resolver.data, from);
                cuts[frames] = end.filter(|end| *end > from).unwrap_or(to);
            }
            while ends != 0 && cuts[frames] < to && frames < GROUP as usize {
                frames += 1;
                cuts[frames] = from + ends.trailing_zeros() as usize + 1;
                ends &= ends - 1;
            }
        }
        frames
    }

    /// Which of the bytes behind `from` end a frame; none of them where that is not to be told so.
    #[inline(always)]
    fn frame_ends<B: Bits>(&self, from: usize) -> u64 {
        let stops = Stops::at(self.resolver.data, from).filter(|stops| !stops.may_be_nine(0));
        match (self.shape.plan.item_varints, stops) {
            (Some(varints), Some(stops)) => B::every(stops.0, varints.max(1)),
            _ => 0,
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
            FrameKind::new(resolver.text(leaf, slots[*slot]), resolver.is_profiler, &mut recording.strings)
        });
        (known.kind, known.is_function)
    }
}
