//! In which code threads wait. A thread that waits for the same at the same depth does so in the same place, so an
//! occasional stack describes all its waits.

use std::time::{Duration, Instant};

use fathom_evidence::{Recording, StackId};
use rustc_hash::FxHashMap;

use super::parse::SlowCall;
use crate::symbols::{Symbols, Walked};

/// For so long a stack is believed: code is compiled again, and goes other ways.
const BELIEVED: Duration = Duration::from_secs(10);
/// Places that are remembered: each thread has some.
const MOST_PLACES: usize = 1 << 14;

/// Stacks by thread, stack pointer, and what was waited for: the first argument of the call.
#[derive(Debug, Default)]
pub(super) struct Waits(FxHashMap<(u32, u64, u64), (Walked, Instant)>);

impl Waits {
    /// The stack of a wait; none where it is not known.
    pub(super) fn stack_of(&mut self, call: &SlowCall<'_>, symbols: &mut Symbols, found: &mut Recording) -> StackId {
        let place = (call.tid, call.stack_pointer, call.arguments[0]);
        let now = Instant::now();
        if let Some(user) = &call.user {
            if self.0.len() >= MOST_PLACES {
                self.0.clear();
            }
            let stack = symbols.user_stack(found, &user.stack());
            self.0.insert(place, (symbols.walked().clone(), now));
            return stack;
        }
        let known = self.0.get(&place).filter(|(_, looked)| now.duration_since(*looked) < BELIEVED);
        known.map_or(StackId(0), |(walked, _)| symbols.stack_of(found, walked))
    }
}
