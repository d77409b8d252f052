//! When each dump was taken. Knows no evidence.
//!
//! A printed dump has local time in whole seconds and no zone; from JDK 11 on it also has the age of each thread. If the start of
//! the JVM is known from elsewhere, this gives the exact time. Otherwise the start is where all dumps of the JVM agree, read as UTC.

use crate::thread_dump::dump::Dump;

const SECOND_NS: i64 = 1_000_000_000;

/// Zones differ from UTC by a multiple of this.
const ZONE_STEP_NS: i64 = 900 * SECOND_NS;

/// The start of the JVM by another source and by a dump differ by less: the stamp is in whole seconds, and the first thread begins
/// after the JVM, in ns.
const START_TOLERANCE_NS: i64 = 5 * SECOND_NS;

/// What was found out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Placed {
    /// When each dump was taken; none where it does not say.
    pub(super) times_ns: Vec<Option<i64>>,
    /// Whether the zone had to be assumed.
    pub(super) is_estimated: bool,
}

/// Places dumps of one JVM, of which another source may tell when it started.
pub(super) fn place(dumps: &[Dump], started_at_ns: Option<i64>) -> Placed {
    let local = || dumps.iter().filter(|dump| dump.is_local);
    let known = started_at_ns.filter(|start| local().all(|dump| fits(dump, *start)));
    let start = known.or_else(|| agreed_start(local()));
    let time = |dump: &Dump| match (dump.is_local, dump.uptime_ns(), start) {
        (true, Some(uptime_ns), Some(start)) => Some(start.saturating_add(uptime_ns)),
        // In the middle of the second that it names.
        (true, ..) => dump.time_ns.map(|time_ns| time_ns.saturating_add(SECOND_NS / 2)),
        (false, ..) => dump.time_ns,
    };
    Placed { times_ns: dumps.iter().map(time).collect(), is_estimated: known.is_none() && local().next().is_some() }
}

/// Whether a dump may be of a JVM with this start: its stamp is off by a zone.
fn fits(dump: &Dump, started_at_ns: i64) -> bool {
    let Some(uptime_ns) = dump.uptime_ns() else { return false };
    let off = dump.time_ns.map(|time_ns| time_ns.saturating_sub(started_at_ns.saturating_add(uptime_ns)));
    off.is_none_or(|off| off.saturating_add(START_TOLERANCE_NS).rem_euclid(ZONE_STEP_NS) <= 2 * START_TOLERANCE_NS)
}

/// The start of the JVM that the stamps of all dumps allow, in the middle of what they leave open.
fn agreed_start<'a>(dumps: impl Iterator<Item = &'a Dump>) -> Option<i64> {
    let starts = dumps.filter_map(|dump| Some(dump.time_ns?.saturating_sub(dump.uptime_ns()?)));
    let (earliest, latest) = starts.fold(None, |range: Option<(i64, i64)>, start| {
        let (from, to) = range.unwrap_or((i64::MIN, i64::MAX));
        Some((from.max(start), to.min(start.saturating_add(SECOND_NS))))
    })?;
    // A clock that was put right meanwhile: the last dump counts.
    Some(if earliest <= latest { earliest.midpoint(latest) } else { earliest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread_dump::dump::Thread;

    fn printed(second: i64, uptime_ms: Option<i64>) -> Dump {
        let elapsed_ns = uptime_ms.map(|ms| ms * 1_000_000);
        let threads = vec![Thread { elapsed_ns, ..Thread::default() }];
        Dump { time_ns: Some(second * SECOND_NS), is_local: true, threads, ..Dump::default() }
    }

    #[test]
    fn dumps_are_placed_by_what_is_known() {
        let zone_s = 2 * 3_600;
        let of = |dumps: &[Dump], start: Option<f64>| {
            let placed = place(dumps, start.map(|s| (s * 1e9) as i64));
            let ms = placed.times_ns.iter().map(|time| time.map(|ns| ns / 1_000_000)).collect::<Vec<_>>();
            (ms, placed.is_estimated)
        };
        // The stamps leave the start open between 1000.2 and 1000.8.
        let both = [printed(1_010, Some(9_800)), printed(1_020, Some(20_200))];
        assert_eq!(of(&both, None), (vec![Some(1_010_300), Some(1_020_700)], true));
        assert_eq!(of(&both, Some(1_000.6)), (vec![Some(1_010_400), Some(1_020_800)], false));
        // The stamps are of a zone.
        let away = [printed(1_010 + zone_s, Some(9_800))];
        assert_eq!(of(&away, Some(1_000.6)), (vec![Some(1_010_400)], false));
        // Another JVM's start is none.
        assert!(of(&both, Some(700.0)).1);
        // JDK 8 says nothing of the uptime.
        assert_eq!(of(&[printed(1_010, None)], None), (vec![Some(1_010_500)], true));
        let json = Dump { time_ns: Some(5), ..Dump::default() };
        assert_eq!(place(&[json, Dump { is_local: true, ..Dump::default() }], None).times_ns, [Some(5), None]);
    }
}
