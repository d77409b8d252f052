//! The pool of stacks, which is most of a recording with deep ones.
//!
//! A stack is a list of frames, the leaf first, and most stacks share most of their frames from the root on with other
//! stacks. So stacks are not decoded here. They are cut, from the root on, into groups of [`GROUP`] frames. A reader
//! recognises a group that it has seen before by its bytes, and has to decode only new ones.

use super::parse_bits::{Bits, Work, on_this_processor};
use super::parse_bytes::{skip_varints, varint};
use super::parse_metadata::Types;
use super::parse_plan::{ArrayPlan, Plan};
use super::parse_stops::{BLOCK_BYTES, Stops};

/// Name of the type.
pub(super) const STACK_TYPE: &str = "jdk.types.StackTrace";

/// Frames of a group. Smaller groups are shared more often, larger ones are fewer to look up.
pub(super) const GROUP: u64 = 8;

/// The stacks of a chunk in the order of their pool.
#[derive(Debug, Default)]
pub(super) struct RawStacks {
    /// Of each stack where its groups begin and where the last one ends. The first group has the leaf; it
    /// has the frames that are too few for a whole group.
    cuts: Vec<usize>,
    /// End of each stack in `cuts`.
    ends: Vec<usize>,
    /// Stacks whose callers are missing, because they were deeper than the recorder goes.
    pub(super) truncated: usize,
}

impl RawStacks {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// At least how many groups there are.
    pub(super) fn groups(&self) -> usize {
        self.cuts.len() - self.ends.len().min(self.cuts.len())
    }

    /// Where the groups of each stack begin, and where the last one ends; nothing for an empty stack.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[usize]> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.cuts[start..*end])
    }
}

/// Reads stacks.
pub(super) struct StackReader {
    plan: ArrayPlan,
    /// Slot of the mark that callers are missing, and room for what stands before the frames.
    truncated: Option<usize>,
    slots: Vec<u64>,
    pub(super) raw: RawStacks,
}

impl StackReader {
    /// A reader for the stacks of a chunk that has these types.
    pub(super) fn new(types: &Types) -> Option<Self> {
        let plan = Plan::around_array(types, types.id_of(STACK_TYPE)?, "frames")?;
        let (truncated, slots) = (plan.before.slot("truncated"), vec![0; plan.before.slots()]);
        Some(StackReader { plan, truncated, slots, raw: RawStacks::default() })
    }

    /// Reads `count` stacks, each behind its key, from `at` on; `note` gets the key of each and where it starts.
    /// Returns their end.
    pub(super) fn stacks(&mut self, data: &[u8], at: usize, count: u64, note: impl FnMut(u64, usize)) -> Option<usize> {
        on_this_processor(ReadStacks { reader: self, data, at, count, note })
    }

    #[inline(always)]
    fn stack<B: Bits>(&mut self, data: &[u8], at: usize) -> Option<usize> {
        let before = self.raw.cuts.len();
        let end = self.cut::<B>(data, at);
        if end.is_none() {
            self.raw.cuts.truncate(before);
            return None;
        }
        self.raw.truncated += usize::from(self.truncated.is_some_and(|slot| self.slots[slot] != 0));
        self.raw.ends.push(self.raw.cuts.len());
        end
    }

    #[inline(always)]
    fn cut<B: Bits>(&mut self, data: &[u8], at: usize) -> Option<usize> {
        let at = self.plan.before.run(data, at, &mut self.slots)?;
        let (count, at) = varint(data, at)?;
        let end = if count == 0 { at } else { self.groups::<B>(data, at, count)? };
        self.plan.after.skip(data, end)
    }

    /// Cuts `count` frames at `at` into groups; returns their end.
    #[inline(always)]
    fn groups<B: Bits>(&mut self, data: &[u8], at: usize, count: u64) -> Option<usize> {
        let first = (count - 1) % GROUP + 1;
        let before = self.raw.cuts.len();
        self.raw.cuts.push(at);
        if let Some(varints) = self.plan.item_varints
            && let Some(end) = self.quick_groups::<B>(data, at, first, count.div_ceil(GROUP), u64::from(varints))
        {
            return Some(end);
        }
        self.raw.cuts.truncate(before + 1);
        self.any_groups(data, at, first, count)
    }

    /// Groups of frames that are `varints` integers each and nothing else; `None` where that is not enough
    /// to find their ends.
    #[inline(always)]
    fn quick_groups<B: Bits>(
        &mut self,
        data: &[u8],
        mut at: usize,
        first: u64,
        groups: u64,
        varints: u64,
    ) -> Option<usize> {
        let mut frames = first;
        for _ in 0..groups {
            at = end_of_varints::<B>(data, at, frames.checked_mul(varints)?)?;
            self.raw.cuts.push(at);
            frames = GROUP;
        }
        Some(at)
    }

    /// Groups of frames of any kind.
    #[cold]
    fn any_groups(&mut self, data: &[u8], mut at: usize, first: u64, count: u64) -> Option<usize> {
        for number in 0..count {
            if number >= first && (number - first).is_multiple_of(GROUP) {
                self.raw.cuts.push(at);
            }
            // A frame that takes no bytes is damage, and must not become a long loop.
            at = self.plan.skip_item(data, at).filter(|end| *end > at)?;
        }
        self.raw.cuts.push(at);
        Some(at)
    }
}

impl ArrayPlan {
    /// The end of the item at `at`.
    #[inline]
    pub(super) fn skip_item(&self, data: &[u8], at: usize) -> Option<usize> {
        match self.item_varints {
            Some(count) => skip_varints(data, at, u64::from(count)),
            None => self.item.skip(data, at),
        }
    }
}

/// The end of the last of `wanted` integers that begin at `at`; `None` if it cannot be told from their ends, or
/// stands in the last bytes of the data.
#[inline(always)]
fn end_of_varints<B: Bits>(data: &[u8], mut at: usize, mut wanted: u64) -> Option<usize> {
    let mut open = 0;
    loop {
        let stops = Stops::at(data, at)?;
        if stops.may_be_nine(open) {
            return None;
        }
        let count = u64::from(stops.count());
        if wanted <= count {
            return Some(at + B::position(stops.0, wanted.saturating_sub(1) as u32) as usize + 1);
        }
        wanted -= count;
        open = stops.open();
        at += BLOCK_BYTES;
    }
}

/// Stacks to be read, see [`StackReader::stacks`].
struct ReadStacks<'r, 'a, N> {
    reader: &'r mut StackReader,
    data: &'a [u8],
    at: usize,
    count: u64,
    note: N,
}

impl<N: FnMut(u64, usize)> Work for ReadStacks<'_, '_, N> {
    type Result = Option<usize>;

    #[inline(always)]
    fn run<B: Bits>(self) -> Option<usize> {
        let ReadStacks { reader, data, mut at, count, mut note } = self;
        for _ in 0..count {
            let (key, value) = varint(data, at)?;
            at = reader.stack::<B>(data, value)?;
            note(key, value);
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_metadata::{Field, Type};
    use super::*;

    /// Types of stacks whose frames are four integers.
    fn types() -> Types {
        let field = |name: &str, type_id, pooled, array| Field {
            name: name.into(),
            type_id,
            pooled,
            array,
            ..Field::default()
        };
        let frame = ["method", "lineNumber", "bytecodeIndex", "type"].map(|name| field(name, 1, false, false));
        let stack = vec![field("truncated", 2, false, false), field("frames", 3, false, true)];
        let named = |name: &str, fields| Type { name: name.into(), fields };
        [
            (1, named("long", Vec::new())),
            (2, named("boolean", Vec::new())),
            (3, named("Frame", frame.into())),
            (4, named(STACK_TYPE, stack)),
        ]
        .into_iter()
        .collect()
    }

    /// A stack with the key 7, of `frames` frames, whose integers have 1 to `longest` bytes, and where its frames begin and end.
    fn stack(frames: usize, longest: usize) -> (Vec<u8>, Vec<usize>) {
        let mut bytes = vec![7, u8::from(frames.is_multiple_of(2)), frames as u8 & 0x7f | 0x80, (frames >> 7) as u8];
        let mut bounds = vec![bytes.len()];
        for number in 0..frames * 4 {
            let length = 1 + number * number % longest;
            bytes.extend(std::iter::repeat_n(0x80 | number as u8, length - 1));
            // The ninth byte of an integer is raw.
            bytes.push(if length == 9 { 0xff } else { number as u8 & 0x7f });
            if number % 4 == 3 {
                bounds.push(bytes.len());
            }
        }
        (bytes, bounds)
    }

    #[test]
    fn stacks_are_cut_from_the_root_on() {
        for (frames, longest, behind) in
            (0..200).flat_map(|frames| [(frames, 1, 0), (frames, 3, 100), (frames, 8, 100), (frames, 9, 100)])
        {
            let (mut data, bounds) = stack(frames, longest);
            let end = data.len();
            data.resize(end + behind, 0x80);
            let mut reader = StackReader::new(&types()).expect("a plan");
            let mut noted = Vec::new();
            let note = |key, at| noted.push((key, at));
            assert_eq!(reader.stacks(&data, 0, 1, note), Some(end), "{frames} {longest}");
            assert_eq!(noted, [(7, 1)]);
            let wanted: Vec<usize> = bounds
                .iter()
                .enumerate()
                .filter(|(number, _)| frames > 0 && (*number == 0 || (frames - number).is_multiple_of(GROUP as usize)))
                .map(|(_, at)| *at)
                .collect();
            assert_eq!(reader.raw.iter().collect::<Vec<_>>(), [&wanted[..]], "{frames} {longest}");
            assert_eq!(reader.raw.truncated, usize::from(frames.is_multiple_of(2)));
            assert_eq!(reader.raw.groups(), frames.div_ceil(GROUP as usize));
            assert_eq!(reader.stacks(&data[..end - 1], 0, 1, |_, _| ()), None, "{frames} {longest}");
        }
    }
}
