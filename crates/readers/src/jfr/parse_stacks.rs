//! The pool of stacks, which is most of a recording with deep ones.
//!
//! A stack is a list of frames, and the same few thousand frames come again and again, byte for byte. So
//! a frame is not decoded when it is met: its bytes, nearly always eight or fewer, are looked up as one
//! number. What remains of a stack is a list of small numbers; each different frame is decoded once.

use rustc_hash::FxHashMap;

use super::parse_bytes::{short_varints, varint};
use super::parse_map::KeyMap;
use super::parse_metadata::Types;
use super::parse_plan::{ArrayPlan, Plan};

/// Name of the type.
pub(super) const STACK_TYPE: &str = "jdk.types.StackTrace";

/// The stacks of a chunk in the order of their pool.
#[derive(Debug, Default)]
pub(super) struct RawStacks {
    /// Where each different frame stands for the first time.
    pub(super) frames: Vec<usize>,
    /// Frames of all stacks, by their position in `frames`, leaf first.
    numbers: Vec<u32>,
    /// End of each stack in `numbers`.
    ends: Vec<usize>,
}

impl RawStacks {
    /// The frames of each stack, by their position in [`RawStacks::frames`], leaf first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.numbers[start..*end])
    }
}

/// Reads stacks.
pub(super) struct StackReader<'a> {
    data: &'a [u8],
    plan: ArrayPlan,
    short: KeyMap,
    long: FxHashMap<&'a [u8], u32>,
    pub(super) raw: RawStacks,
}

impl<'a> StackReader<'a> {
    /// A reader for the stacks of a chunk that has these types.
    pub(super) fn new(data: &'a [u8], types: &Types) -> Option<Self> {
        let plan = Plan::around_array(types, types.id_of(STACK_TYPE)?, "frames")?;
        let (short, long) = (KeyMap::with_room(1 << 10), FxHashMap::default());
        Some(StackReader { data, plan, short, long, raw: RawStacks::default() })
    }

    /// Reads the stack at `at`, which ends before `limit`; returns its end.
    pub(super) fn stack(&mut self, at: usize, limit: usize) -> Option<usize> {
        let end = self.frames(at, limit);
        let complete = self.raw.ends.last().copied().unwrap_or(0);
        match end {
            Some(_) => self.raw.ends.push(self.raw.numbers.len()),
            None => self.raw.numbers.truncate(complete),
        }
        end
    }

    fn frames(&mut self, at: usize, limit: usize) -> Option<usize> {
        let at = self.plan.before.skip(self.data, at)?;
        let (count, mut at) = varint(self.data, at)?;
        for _ in 0..count {
            at = self.frame(at).filter(|end| *end > at && *end <= limit)?;
        }
        self.plan.after.skip(self.data, at).filter(|end| *end <= limit)
    }

    #[inline(always)]
    fn frame(&mut self, at: usize) -> Option<usize> {
        let short = self.plan.item_varints.and_then(|count| short_varints(self.data, at, count));
        let Some((key, end)) = short else { return self.long_frame(at) };
        match self.short.get(key) {
            0 => {
                let number = self.new_frame(at)?;
                self.short.insert(key, number + 1);
                self.raw.numbers.push(number);
            }
            number => self.raw.numbers.push(number - 1),
        }
        Some(end)
    }

    #[cold]
    fn long_frame(&mut self, at: usize) -> Option<usize> {
        let end = self.plan.item.skip(self.data, at)?;
        let bytes = self.data.get(at..end)?;
        let number = match self.long.get(bytes) {
            Some(number) => *number,
            None => {
                let number = self.new_frame(at)?;
                self.long.insert(bytes, number);
                number
            }
        };
        self.raw.numbers.push(number);
        Some(end)
    }

    fn new_frame(&mut self, at: usize) -> Option<u32> {
        let number = u32::try_from(self.raw.frames.len()).ok().filter(|number| *number < u32::MAX)?;
        self.raw.frames.push(at);
        Some(number)
    }
}
