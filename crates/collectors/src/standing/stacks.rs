//! The stacks of places in which threads wait: taken once, within a budget, and kept as text, so that symbol data can be freed.

use std::time::{Duration, Instant};

use fathom_evidence::{Frame, Recording, StackId};
use fathom_symbols::unwind::Registers;
use rustc_hash::FxHashMap;

use super::parse::{Look, Place};
use crate::symbols::{Images, Symbols, UserStack, copy_of_stack, this_machine};
use crate::{Target, allocator};

/// Stacks that are taken at one look at most, and in a minute.
const PER_LOOK: usize = 5;
const PER_MINUTE: usize = 100;
const MINUTE: Duration = Duration::from_secs(60);

/// For so long a stack is believed: code is compiled again, and other threads get the number of one that has ended.
const BELIEVED: Duration = Duration::from_secs(600);

/// Names take megabytes of memory: who has not needed them for so long lets them go.
const NAMES_STAY: Duration = Duration::from_secs(10);

/// Places that are known; then all are learned anew.
const MOST_PLACES: usize = 4096;

/// What is known of the places of one process.
pub(super) struct Stacks {
    target: Target,
    symbols: Option<(Symbols, Instant)>,
    /// Its rows are none; it holds the texts and stacks.
    dictionary: Recording,
    places: FxHashMap<Place, (StackId, Instant)>,
    /// Of this minute.
    taken: usize,
    minute: Instant,
}

impl Stacks {
    pub(super) fn of(target: &Target) -> Stacks {
        Stacks {
            target: target.clone(),
            symbols: None,
            dictionary: Recording::default(),
            places: FxHashMap::default(),
            taken: 0,
            minute: Instant::now(),
        }
    }

    /// Of these places, the first that are not known and may be looked at.
    pub(super) fn wanted(&mut self, places: &[Place]) -> Vec<Place> {
        let now = Instant::now();
        if now.duration_since(self.minute) >= MINUTE {
            (self.minute, self.taken) = (now, 0);
        }
        if self.symbols.take_if(|(_, needed)| now.duration_since(*needed) >= NAMES_STAY).is_some() {
            allocator::give_back();
        }
        let is_known =
            |place: &&Place| self.places.get(place).is_some_and(|(_, taken)| now.duration_since(*taken) < BELIEVED);
        let unknown = places.iter().filter(|place| !is_known(place));
        unknown.take(PER_LOOK.min(PER_MINUTE - self.taken)).copied().collect()
    }

    /// The stack of a thread that waits, byte for byte.
    pub(super) fn copy(&mut self, look: &Look) -> Vec<u8> {
        self.taken += 1;
        copy_of_stack(&self.target, &Registers::from_pt_regs(this_machine(), &look.registers))
    }

    /// Notes what a copied stack says of a place.
    pub(super) fn learn(&mut self, look: &Look, stack: &[u8]) {
        if self.places.len() >= MOST_PLACES {
            self.places.clear();
            self.dictionary = Recording::default();
        }
        let now = Instant::now();
        // With images of its own, which go with it.
        let (symbols, needed) =
            self.symbols.get_or_insert_with(|| (Symbols::of(&self.target, &Images::default()), now));
        *needed = now;
        let registers = Registers::from_pt_regs(this_machine(), &look.registers);
        let stack = symbols.user_stack(&mut self.dictionary, &UserStack { registers, stack, frames: &[] });
        self.places.insert(look.place(), (stack, now));
    }

    /// Puts the stack of a place into `found`; none where it is not known.
    pub(super) fn put(&self, place: &Place, found: &mut Recording) -> StackId {
        let Some((stack, _)) = self.places.get(place) else { return StackId(0) };
        let known = &self.dictionary;
        let frames: Vec<_> = known.stacks.leaf_to_root(*stack).collect();
        let of_found = frames.into_iter().rev().map(|frame| {
            let strings = &mut found.strings;
            let frame = Frame {
                symbol: strings.intern(known.text(frame.symbol)),
                module: strings.intern(known.text(frame.module)),
                kind: strings.intern(known.text(frame.kind)),
                line: frame.line,
            };
            found.stacks.intern_frame(frame)
        });
        let of_found: Vec<_> = of_found.collect();
        found.stacks.intern_from_root(of_found)
    }
}
