//! Refusals that must be reported. They are reported a moment later, because what begins together on a host is one
//! event: what was refused just before the event is part of it, and is reported with it. Pure.

use crate::admission::{Answer, Skip};
use crate::host_events::TOGETHER_S;
use crate::triggers::Trigger;

/// A refusal that was not reported yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The reason.
    pub(crate) trigger: Trigger,
    /// How often it was there within a day.
    pub(crate) times_today: usize,
    /// Why it is not recorded.
    pub(crate) skip: Skip,
    /// Since when.
    pub(crate) since_s: i64,
}

impl Refused {
    /// Whether others may turn out to be hit by the same. Where the budget of the host is used up, an event has begun with this JVM, and a
    /// full disk is no matter of an event.
    fn waits(&self) -> bool {
        !matches!(self.skip, Skip::Hour | Skip::NoRoom)
    }
}

/// Those of one JVM, each kind once.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Vec<Refused>);

impl Refusals {
    /// A reason was not granted.
    pub(crate) fn add(&mut self, trigger: &Trigger, answer: &Answer, now_s: i64) {
        let Some(skip) = answer.skip.filter(|skip| skip.is_to_be_reported()) else { return };
        if self.0.iter().all(|waiting| waiting.skip != skip) {
            let (trigger, times_today) = (trigger.clone(), answer.times_today);
            self.0.push(Refused { trigger, times_today, skip, since_s: now_s });
        }
    }

    /// Those that are to be reported now; all of them where the JVM `is_over`.
    pub(crate) fn due(&mut self, now_s: i64, is_over: bool) -> Vec<Refused> {
        let is_due = |one: &mut Refused| is_over || !one.waits() || now_s - one.since_s > TOGETHER_S;
        self.0.extract_if(.., is_due).collect()
    }

    /// A recording of the JVM begins, which is reported itself.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(refusals: &mut Refusals, skip: Skip, now_s: i64) {
        let answer = Answer { skip: Some(skip), times_today: 1, event: None };
        refusals.add(&Trigger::by_hand(0), &answer, now_s);
    }

    fn due(refusals: &mut Refusals, now_s: i64, is_over: bool) -> Vec<(Skip, i64)> {
        refusals.due(now_s, is_over).iter().map(|one| (one.skip, one.since_s)).collect()
    }

    #[test]
    fn what_may_be_part_of_an_event_waits_for_it() {
        let mut refusals = Refusals::default();
        refused(&mut refusals, Skip::CoolDown, 100);
        refused(&mut refusals, Skip::CoolDown, 105);
        refused(&mut refusals, Skip::Running, 105);
        assert_eq!(due(&mut refusals, 110, false), []);
        assert_eq!(due(&mut refusals, 111, false), [(Skip::CoolDown, 100)]);
        refused(&mut refusals, Skip::Hour, 112);
        assert_eq!(due(&mut refusals, 112, false), [(Skip::Hour, 112)], "it is the first of an event");
    }

    #[test]
    fn a_jvm_that_ends_waits_for_nothing() {
        let mut refusals = Refusals::default();
        refused(&mut refusals, Skip::SameToday, 100);
        assert_eq!(due(&mut refusals, 100, true), [(Skip::SameToday, 100)]);
        refused(&mut refusals, Skip::SameToday, 200);
        refusals.clear();
        assert_eq!(due(&mut refusals, 300, true), []);
    }
}
