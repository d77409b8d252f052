//! Reasons that last: a port that is slow, a rule that holds. They are told once, at their onset; one that is refused then for
//! something that passes is asked for again as long as it lasts.

use crate::desk::{Answer, Skip};
use crate::triggers::{Kind, Trigger};

/// Time from one question to the next.
const EACH_S: i64 = 30;

/// Reasons that were refused and may last, with how often they were there.
#[derive(Debug, Default)]
pub(crate) struct Lasting {
    reasons: Vec<(Trigger, usize)>,
    next_s: i64,
}

impl Lasting {
    /// Keeps what was refused at `now_s`, if it may last longer than the refusal.
    pub(crate) fn keep(&mut self, trigger: &Trigger, answer: &Answer, now_s: i64) {
        let may_last = matches!(trigger.kind, Kind::RequestsSlow | Kind::RequestsRare | Kind::Rule);
        let passes =
            matches!(answer.skip, Some(Skip::CoolDown | Skip::Quiet | Skip::Hour | Skip::AtOnce | Skip::NoRoom));
        if !may_last || !passes {
            return;
        }
        if self.reasons.is_empty() {
            self.next_s = now_s + EACH_S;
        }
        self.reasons.retain(|(other, _)| (other.kind, &other.which) != (trigger.kind, &trigger.which));
        self.reasons.push((trigger.clone(), answer.times_today));
    }

    /// Those to ask for again at `now_s`, mostly none. What does not last any more is forgotten.
    pub(crate) fn due(&mut self, now_s: i64, lasts: impl Fn(&Trigger) -> bool) -> Vec<(Trigger, usize)> {
        self.reasons.retain(|(trigger, _)| lasts(trigger));
        if now_s < self.next_s {
            return Vec::new();
        }
        self.next_s = now_s + EACH_S;
        self.reasons.clone()
    }

    /// A recording is made, and whatever lasts is in it.
    pub(crate) fn clear(&mut self) {
        self.reasons.clear();
    }
}

/// A reason as it is at `at_ns`.
pub(crate) fn again(trigger: Trigger, at_ns: i64) -> Trigger {
    let since_s = (at_ns - trigger.at_ns).max(0) / 1_000_000_000;
    Trigger { says: format!("{} (for {since_s} s by now)", trigger.says), at_ns, ..trigger }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(lasting: &mut Lasting, kind: Kind, skip: Skip) {
        let trigger = Trigger { kind, says: "it is slow".to_owned(), ..Trigger::by_hand(5_000_000_000) };
        lasting.keep(&trigger, &Answer { skip: Some(skip), times_today: 1 }, 100);
    }

    #[test]
    fn what_lasts_is_asked_for_again_until_it_is_over() {
        let mut lasting = Lasting::default();
        refused(&mut lasting, Kind::RequestsSlow, Skip::CoolDown);
        refused(&mut lasting, Kind::RequestsSlow, Skip::CoolDown);
        let asked: Vec<i64> = (101..200).filter(|now_s| !lasting.due(*now_s, |_| true).is_empty()).collect();
        assert_eq!(asked, [130, 160, 190]);
        let due = lasting.due(220, |_| true);
        assert_eq!(due.len(), 1);
        let now = again(due[0].0.clone(), 125_000_000_000);
        assert_eq!((now.says.as_str(), now.at_ns), ("it is slow (for 120 s by now)", 125_000_000_000));
        assert!(lasting.due(221, |_| false).is_empty() && lasting.due(300, |_| true).is_empty(), "it is over");
    }

    #[test]
    fn what_is_over_at_once_or_refused_for_good_is_not_kept() {
        let mut lasting = Lasting::default();
        refused(&mut lasting, Kind::RequestsStall, Skip::CoolDown);
        refused(&mut lasting, Kind::RequestsSlow, Skip::SameToday);
        refused(&mut lasting, Kind::Rule, Skip::Learning);
        assert!(lasting.due(1000, |_| true).is_empty());
        refused(&mut lasting, Kind::Rule, Skip::Hour);
        lasting.clear();
        assert!(lasting.due(2000, |_| true).is_empty());
    }
}
