//! Reasons that become no recording because of a budget, a cool-down, or another JVM that is recorded for the same
//! event. The rows in the ring are kept as a small recording. That costs the JVM nothing, so it is always done.

use std::path::Path;

use fathom_collectors::Clock;
use fathom_evidence::Recording;
use fathom_evidence::kinds::{loss, recorded, subject};
use fathom_store::{FolderError, FolderWriter};

use crate::admission::{Answer, JvmKey, Skip};
use crate::triggers::Trigger;

/// The rows are taken when as much has passed after the reason as this, or half of the ring where that is less: what it was is seen best
/// with a time before and a time after it.
const AFTER_S: i64 = 30;

/// The same reason of a JVM that comes again within this time belongs to what is kept already.
const AGAIN_S: i64 = 600;

/// A reason of which the rows will be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pending {
    /// The reason.
    pub(crate) trigger: Trigger,
    /// How often it was there within a day.
    pub(crate) times_today: usize,
    /// Why it is not recorded.
    pub(crate) skip: Skip,
    /// The recording of the event that it belongs to, if that is known.
    pub(crate) event: Option<String>,
    /// Whether a message said that it is not recorded, so that a verdict is awaited.
    pub(crate) is_awaited: bool,
    due_s: i64,
}

/// The reasons of one JVM.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pending: Option<Pending>,
    written: Vec<(i64, Trigger)>,
}

impl Kept {
    /// A reason was refused at `now_s`, in a service that keeps the time before for `before_s`. The rows hold all reasons of their time; the
    /// first of the worst ones names them.
    pub(crate) fn refused(&mut self, trigger: &Trigger, answer: &Answer, (now_s, before_s): (i64, i64)) {
        let Some(skip) = answer.skip.filter(|skip| skip.keeps_the_ring()) else { return };
        self.written.retain(|(at_s, _)| now_s - at_s < AGAIN_S);
        let is_same = |other: &Trigger| (other.kind, &other.which) == (trigger.kind, &trigger.which);
        let is_less = |pending: &Pending| pending.trigger.kind.severity() >= trigger.kind.severity();
        if self.written.iter().any(|(_, known)| is_same(known)) || self.pending.as_ref().is_some_and(is_less) {
            return;
        }
        // No row is kept twice.
        let next_s = self.written.last().map_or(i64::MIN, |(at_s, _)| at_s + before_s);
        let due_s = (now_s + AFTER_S.min(before_s / 2)).max(next_s);
        let (trigger, times_today, event) = (trigger.clone(), answer.times_today, answer.event.clone());
        self.pending = Some(Pending { trigger, times_today, skip, event, is_awaited: false, due_s });
    }

    /// It is part of an event of the host.
    pub(crate) fn is_part_of(&mut self, event: String) {
        if let Some(pending) = &mut self.pending {
            pending.event.get_or_insert(event);
        }
    }

    /// A message said that it is not recorded.
    pub(crate) fn is_awaited(&mut self) {
        if let Some(pending) = &mut self.pending {
            pending.is_awaited = true;
        }
    }

    /// The one of which the rows are to be taken now.
    pub(crate) fn due(&mut self, now_s: i64) -> Option<Pending> {
        let pending = self.pending.take_if(|pending| now_s >= pending.due_s)?;
        self.written.push((now_s, pending.trigger.clone()));
        Some(pending)
    }

    /// The one that waits, whenever it is due: the JVM has ended.
    pub(crate) fn last(&mut self) -> Option<Pending> {
        self.pending.take()
    }

    /// A recording begins, with the rows of the time before.
    pub(crate) fn clear(&mut self) {
        self.pending = None;
    }
}

/// Writes rows of a ring as a recording that ended because of this. Only the given part of it was observed closely.
pub(crate) fn write(
    path: &Path,
    (pid, start_ticks): JvmKey,
    (looked_from_ns, looked_to_ns): (i64, i64),
    mut rows: Recording,
    because: &str,
) -> Result<(), FolderError> {
    for (about, key, value) in [
        (subject::JVM, "pid", pid.to_string()),
        (subject::PROCESS, "start_ticks", start_ticks.to_string()),
        (subject::RECORDING, "observed_from_ns", looked_from_ns.to_string()),
        (subject::RECORDING, "observed_to_ns", looked_to_ns.to_string()),
        (subject::RECORDING, recorded::ENDED_BECAUSE, because.to_owned()),
    ] {
        rows.add_fact(about, key, &value, "watch");
    }
    rows.add_loss("watch", loss::REFUSED, 0, "only what is watched all the time was recorded");
    Clock::read().note(&mut rows);
    FolderWriter::create(path)?.flush(&mut rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::triggers::Kind;

    fn trigger(kind: Kind) -> Trigger {
        Trigger { kind, ..Trigger::by_hand(0) }
    }

    fn refused(kept: &mut Kept, kind: Kind, skip: Skip, now_s: i64) {
        let answer = Answer { skip: Some(skip), times_today: 1, event: None };
        kept.refused(&trigger(kind), &answer, (now_s, 60));
    }

    /// At which seconds until 2000 rows are taken of what comes each second.
    fn taken(kinds: &[Kind]) -> Vec<i64> {
        let mut kept = Kept::default();
        let mut taken = Vec::new();
        for now_s in 0..2000 {
            kinds.iter().for_each(|kind| refused(&mut kept, *kind, Skip::Hour, now_s));
            taken.extend(kept.due(now_s).map(|_| now_s));
        }
        taken
    }

    #[test]
    fn rows_are_kept_once_and_the_same_reason_once_in_ten_minutes() {
        assert_eq!(taken(&[Kind::RequestsStall]), [30, 660, 1290, 1920]);
        assert_eq!(taken(&[Kind::RequestsStall, Kind::Stop])[..4], [30, 90, 660, 720]);
    }

    #[test]
    fn the_worst_reason_names_them() {
        let mut kept = Kept::default();
        for kind in [Kind::RequestsRare, Kind::RequestsHung, Kind::Stop] {
            refused(&mut kept, kind, Skip::Together, 0);
        }
        assert_eq!(kept.due(29), None);
        assert_eq!(kept.due(30).map(|pending| pending.trigger.kind), Some(Kind::RequestsHung));
    }

    #[test]
    fn what_is_in_a_recording_or_not_wanted_is_not_kept() {
        let mut kept = Kept::default();
        for skip in [Skip::Running, Skip::Learning, Skip::Quiet, Skip::NoRoom] {
            refused(&mut kept, Kind::Stop, skip, 0);
        }
        assert_eq!(kept.last(), None);
        refused(&mut kept, Kind::Stop, Skip::Hour, 0);
        kept.clear();
        assert_eq!(kept.due(1000), None);
    }
}
