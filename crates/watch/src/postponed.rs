//! Reasons that were refused because of a temporary condition, and are asked for again.
//!
//! A reason that only had to wait until other JVMs were recorded is retried each second while the ring still holds the time before. A slow
//! port or a rule that holds is reported once, at its onset. It is retried now and then while it lasts, and then counts from that moment.

use crate::admission::{Answer, Skip};
use crate::triggers::{Kind, Trigger};

/// So much of what came before its turn is still worth a recording.
const PATIENCE_S: i64 = 40;

/// Time from one question to the next for what lasts.
const EACH_S: i64 = 30;

/// Reasons to ask for again.
#[derive(Debug, Default)]
pub(crate) struct Postponed {
    reasons: Vec<Reason>,
}

/// One of them.
#[derive(Debug)]
struct Reason {
    trigger: Trigger,
    times_today: usize,
    /// Until then it is recorded as what it was.
    fresh_until_s: i64,
    next_s: i64,
}

impl Reason {
    fn may_last(&self) -> bool {
        matches!(self.trigger.kind, Kind::RequestsSlow | Kind::RequestsRare | Kind::Rule)
    }

    fn is_fresh(&self, now_s: i64) -> bool {
        now_s < self.fresh_until_s
    }
}

/// A reason whose turn has come.
#[derive(Debug)]
pub(crate) struct Granted {
    pub(crate) trigger: Trigger,
    pub(crate) times_today: usize,
    /// Why only now: `after_others` or `lasts`.
    pub(crate) why: &'static str,
}

impl Postponed {
    /// Keeps what was refused at `now_s`, if it may be granted later.
    pub(crate) fn keep(&mut self, trigger: &Trigger, answer: &Answer, now_s: i64) {
        let waits = answer.skip == Some(Skip::AtOnce);
        let passes = matches!(
            answer.skip,
            Some(
                Skip::Together
                    | Skip::CoolDown
                    | Skip::Quiet
                    | Skip::Hour
                    | Skip::Reserve
                    | Skip::HourOfJvm
                    | Skip::HourOfUser
                    | Skip::NoRoom
            )
        );
        let (fresh_s, next_s) = if waits { (PATIENCE_S, 0) } else { (0, EACH_S) };
        let reason = Reason {
            trigger: trigger.clone(),
            times_today: answer.times_today,
            fresh_until_s: now_s + fresh_s,
            next_s: now_s + next_s,
        };
        if waits || passes && reason.may_last() {
            self.reasons.retain(|other| (other.trigger.kind, &other.trigger.which) != (trigger.kind, &trigger.which));
            self.reasons.push(reason);
        }
    }

    /// Asks for those that are due, mostly none; the first that is granted. What is over is forgotten.
    pub(crate) fn ask(
        &mut self,
        (now_s, now_ns): (i64, i64),
        lasts: impl Fn(&Trigger) -> bool,
        refusal: impl Fn(&Trigger) -> Option<Skip>,
    ) -> Option<Granted> {
        self.reasons.retain(|reason| reason.is_fresh(now_s) || reason.may_last() && lasts(&reason.trigger));
        for reason in self.reasons.iter_mut().filter(|reason| now_s >= reason.next_s) {
            let is_fresh = reason.is_fresh(now_s);
            let trigger = if is_fresh { reason.trigger.clone() } else { of_now(&reason.trigger, now_ns) };
            match refusal(&trigger) {
                None => {
                    let why = if is_fresh { "after_others" } else { "lasts" };
                    return Some(Granted { trigger, times_today: reason.times_today, why });
                }
                Some(Skip::AtOnce) if is_fresh => reason.next_s = now_s + 1,
                Some(_) => (reason.fresh_until_s, reason.next_s) = (now_s, now_s + EACH_S),
            }
        }
        None
    }

    /// A recording is made, and whatever lasts is in it.
    pub(crate) fn clear(&mut self) {
        self.reasons.clear();
    }
}

/// A reason that lasts, as it is at `now_ns`.
fn of_now(trigger: &Trigger, now_ns: i64) -> Trigger {
    let since_s = (now_ns - trigger.at_ns).max(0) / 1_000_000_000;
    Trigger { says: format!("{} (for {since_s} s by now)", trigger.says), at_ns: now_ns, ..trigger.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(postponed: &mut Postponed, kind: Kind, skip: Skip) {
        let trigger = Trigger { kind, says: "it is slow".to_owned(), ..Trigger::by_hand(5_000_000_000) };
        postponed.keep(&trigger, &Answer { skip: Some(skip), times_today: 1, event: None }, 100);
    }

    /// At which seconds until 200 it is asked for, where the answer is always the same.
    fn asked(postponed: &mut Postponed, lasts: bool, skip: Skip) -> Vec<i64> {
        let asked = std::cell::RefCell::default();
        for now_s in 101..200 {
            let refusal = |_: &Trigger| {
                Vec::push(&mut asked.borrow_mut(), now_s);
                Some(skip)
            };
            assert!(postponed.ask((now_s, now_s * 1_000_000_000), |_| lasts, refusal).is_none());
        }
        asked.into_inner()
    }

    #[test]
    fn what_lasts_is_asked_for_again_until_it_is_over() {
        let mut postponed = Postponed::default();
        refused(&mut postponed, Kind::RequestsSlow, Skip::CoolDown);
        refused(&mut postponed, Kind::RequestsSlow, Skip::CoolDown);
        assert_eq!(asked(&mut postponed, true, Skip::CoolDown), [130, 160, 190]);
        let granted = postponed.ask((220, 125_000_000_000), |_| true, |_| None).unwrap();
        let Granted { trigger, why, .. } = granted;
        assert_eq!(
            (trigger.says.as_str(), trigger.at_ns, why),
            ("it is slow (for 120 s by now)", 125_000_000_000, "lasts")
        );
        assert!(postponed.ask((260, 0), |_| false, |_| None).is_none(), "it is over");
        assert!(postponed.ask((300, 0), |_| true, |_| None).is_none(), "it is forgotten");
    }

    #[test]
    fn what_waits_for_others_is_asked_for_as_long_as_the_time_before_holds_it() {
        let mut postponed = Postponed::default();
        refused(&mut postponed, Kind::RequestsStall, Skip::AtOnce);
        assert_eq!(asked(&mut postponed, true, Skip::AtOnce), (101..140).collect::<Vec<i64>>());
        // What lasts is asked for further on, and goes on so where the answer is another one.
        refused(&mut postponed, Kind::RequestsSlow, Skip::AtOnce);
        assert_eq!(asked(&mut postponed, true, Skip::AtOnce)[38..], [139, 140, 170]);
        postponed.clear();
        refused(&mut postponed, Kind::RequestsSlow, Skip::AtOnce);
        assert_eq!(asked(&mut postponed, true, Skip::CoolDown), [101, 131, 161, 191]);
        // A stall is over.
        postponed.clear();
        refused(&mut postponed, Kind::RequestsStall, Skip::AtOnce);
        assert_eq!(asked(&mut postponed, true, Skip::CoolDown), [101]);
        refused(&mut postponed, Kind::RequestsStall, Skip::AtOnce);
        let granted = postponed.ask((120, 120_000_000_000), |_| true, |_| None).unwrap();
        assert_eq!((granted.trigger.at_ns, granted.why), (5_000_000_000, "after_others"));
    }

    #[test]
    fn what_is_over_at_once_or_refused_for_good_is_not_kept() {
        let mut postponed = Postponed::default();
        refused(&mut postponed, Kind::RequestsStall, Skip::CoolDown);
        refused(&mut postponed, Kind::RequestsSlow, Skip::SameToday);
        refused(&mut postponed, Kind::Rule, Skip::Learning);
        assert!(postponed.ask((1000, 0), |_| true, |_| None).is_none());
        refused(&mut postponed, Kind::Rule, Skip::Hour);
        postponed.clear();
        assert!(postponed.ask((2000, 0), |_| true, |_| None).is_none());
    }
}
