//! What the kernel refused, so that a program that observes many processes does not try again for each of them: loading
//! and verifying takes tens of milliseconds of a core.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{LeftOut, Recipe};
use crate::Refusal;

/// After this time, what the kernel allows may have changed.
const AGAIN: Duration = Duration::from_secs(600);

/// An object and what of it is not wanted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Object(usize, Vec<String>);

impl Object {
    pub(super) fn of(recipe: &Recipe<'_>) -> Object {
        Object(recipe.object.as_ptr() as usize, recipe.without.iter().map(|name| (*name).to_owned()).collect())
    }
}

/// Programs that were left out, or that nothing could be loaded.
type Outcome = Result<LeftOut, Refusal>;

#[derive(Debug, Default)]
struct Memory(HashMap<Object, (Instant, Outcome)>);

impl Memory {
    fn of(&mut self, object: &Object, now: Instant) -> Outcome {
        self.0.retain(|_, (at, _)| now.duration_since(*at) < AGAIN);
        self.0.get(object).map_or_else(|| Ok(LeftOut::default()), |(_, outcome)| outcome.clone())
    }
}

static MEMORY: LazyLock<Mutex<Memory>> = LazyLock::new(Mutex::default);

/// What the kernel refused of this object a while ago. Tests refuse one program after the other, so nothing is remembered there.
pub(super) fn left_out(object: &Object) -> Outcome {
    match cfg!(test) {
        true => Ok(LeftOut::default()),
        false => MEMORY.lock().unwrap_or_else(PoisonError::into_inner).of(object, Instant::now()),
    }
}

/// Remembers it.
pub(super) fn refused(object: Object, outcome: Outcome) {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner).0.insert(object, (Instant::now(), outcome));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::Spare;

    #[test]
    fn a_refusal_holds_for_ten_minutes_and_for_its_object() {
        let (mut memory, now) = (Memory::default(), Instant::now());
        let object = |number: usize| Object(number, Vec::new());
        memory.0.insert(object(1), (now, Err(Refusal::new("EPERM", ""))));
        let mut left_out = LeftOut::default();
        assert!(left_out.add(&[Spare { program: "walk", sees: "x" }], Some("walk"), &Refusal::new("EPERM", "")));
        memory.0.insert(object(2), (now, Ok(left_out)));
        assert_eq!(memory.of(&object(1), now).err().map(|refusal| refusal.why), Some("EPERM".to_owned()));
        assert!(memory.of(&object(2), now).unwrap().has("walk") && !memory.of(&object(3), now).unwrap().has("walk"));
        assert!(memory.of(&object(1), now + AGAIN).is_ok());
    }
}
