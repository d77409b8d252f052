//! Turns looks at threads into waits. Pure: times and looks in, waits out.
//!
//! A thread that has not left a CPU between two looks is in one wait. A look represents half of the time to the one before and half of the
//! time to the one after it: a wait that was seen at three looks of a tenth of a second took between 0.2 and 0.4 s; more is not known. Its
//! beginning is known better if the thread waited at the look before as well: from when it last got a CPU, and its run time since.

use rustc_hash::FxHashMap;

use super::parse::{Look, Place};

/// Time from one look to the next where threads are at work, in ns.
pub(super) const PERIOD_NS: i64 = 100_000_000;

/// Where looks are further apart than this, none stands for time before or after it: a machine that stood still looks like that.
const FAR_APART_NS: i64 = 5 * PERIOD_NS / 2;

/// A wait that has gone on for so long counts at its first look; others at their second.
const LONG_NS: i64 = PERIOD_NS / 2;

/// What goes on is reported piece by piece, each as long as all before it: between these two, in ns. So who takes the rows of the last
/// minute at any time has nearly all of each wait, and threads that stand for days make few rows.
const SHORTEST_PIECE_NS: i64 = 1_000_000_000;
const LONGEST_PIECE_NS: i64 = 8_000_000_000;

/// A JVM to which nothing is asked switches threads for its own timers, some thirty times a second.
const HOUSEKEEPING_PER_S: f64 = 100.0;

/// In a stall no thread runs either. After so many looks without more than housekeeping there is no work, or what stands will stand on.
const QUIET_LOOKS: u32 = 20;

/// A wait, or a piece of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Waited {
    pub(super) place: Place,
    pub(super) from_ns: i64,
    pub(super) to_ns: i64,
}

/// The wait in which a thread was at the last look.
#[derive(Debug, Clone, Copy)]
struct Wait {
    switches: u64,
    ran_ns: i64,
    place: Place,
    from_ns: i64,
    seen_ns: i64,
    told_to_ns: i64,
    is_long: bool,
}

impl Wait {
    /// One that is seen for the first time, of which not more than this is known to be over.
    fn begun(look: &Look, now_ns: i64, stood_ns: i64, is_long: bool) -> Wait {
        let from_ns = now_ns - stood_ns;
        let Look { switches, ran_ns, .. } = *look;
        Wait { switches, ran_ns, place: look.place(), from_ns, seen_ns: now_ns, told_to_ns: from_ns, is_long }
    }

    fn is_of(&self, look: &Look) -> bool {
        (self.switches, self.place) == (look.switches, look.place())
    }

    /// It has lasted until now.
    fn go_on(&mut self, now_ns: i64) -> Option<Waited> {
        (self.seen_ns, self.is_long) = (now_ns, true);
        if self.is_piece_due(now_ns) { self.piece(now_ns) } else { None }
    }

    /// The thread is in another wait now.
    fn turn_into(&mut self, look: &Look, now_ns: i64, half_ns: i64) -> Option<Waited> {
        let stood_ns = self.next_ns(look).map(|stood_ns| stood_ns.min(now_ns - self.seen_ns));
        let is_long = stood_ns.is_some_and(|stood_ns| stood_ns >= LONG_NS);
        let next = Wait::begun(look, now_ns, stood_ns.unwrap_or(half_ns), is_long);
        // It may have ended at any time until then, but for the next one.
        let ended_ns = (self.seen_ns + half_ns).min(next.from_ns).max(self.seen_ns);
        let ended = self.piece(ended_ns);
        *self = next;
        ended
    }

    /// For how long a thread has at least been in the wait after this one. What it ran since this one is more than what it ran before that.
    fn next_ns(&self, look: &Look) -> Option<i64> {
        let ran_ns = look.ran_ns.saturating_sub(self.ran_ns).max(0);
        look.arrived_ago_ns.map(|ago_ns| ago_ns.saturating_sub(ran_ns).max(0))
    }

    fn piece(&mut self, to_ns: i64) -> Option<Waited> {
        let from_ns = std::mem::replace(&mut self.told_to_ns, to_ns);
        (self.is_long && to_ns > from_ns).then_some(Waited { place: self.place, from_ns, to_ns })
    }

    fn is_piece_due(&self, now_ns: i64) -> bool {
        let told_ns = self.told_to_ns - self.from_ns;
        now_ns - self.told_to_ns >= told_ns.clamp(SHORTEST_PIECE_NS, LONGEST_PIECE_NS)
    }
}

/// The waits of one process.
#[derive(Debug, Default)]
pub(super) struct Looks {
    waits: FxHashMap<u32, Wait>,
    looked_ns: Option<i64>,
    /// Looks at which hardly any thread had run since the one before, the last ones in a row.
    quiet_looks: u32,
}

impl Looks {
    /// Takes in one look at all threads that wait. What has ended since the last one, and what has gone on for long.
    pub(super) fn see(&mut self, now_ns: i64, looks: &[Look]) -> Vec<Waited> {
        let gap_ns = self.looked_ns.replace(now_ns).map_or(i64::MAX, |before_ns| now_ns - before_ns);
        let half_ns = if gap_ns <= FAR_APART_NS { gap_ns / 2 } else { 0 };
        // Between looks that are far apart each timer has waited for long, and in a JVM without work only timers wait: they would cost a stack.
        let is_one_enough = half_ns > 0 && self.quiet_looks == 0;
        let mut waited = Vec::new();
        let mut switches = 0_u64;
        for look in looks {
            let Some(wait) = self.waits.get_mut(&look.tid) else {
                self.waits.insert(look.tid, Wait::begun(look, now_ns, half_ns, false));
                continue;
            };
            switches = switches.saturating_add(look.switches.saturating_sub(wait.switches));
            let is_new = !wait.is_of(look);
            waited.extend(if is_new { wait.turn_into(look, now_ns, half_ns) } else { wait.go_on(now_ns) });
            wait.is_long &= !is_new || is_one_enough;
        }
        self.waits.retain(|_, wait| {
            let goes_on = wait.seen_ns == now_ns;
            waited.extend(if goes_on { None } else { wait.piece(wait.seen_ns + half_ns) });
            goes_on
        });
        let is_quiet = (switches as f64) < HOUSEKEEPING_PER_S * gap_ns as f64 / 1e9;
        self.quiet_looks = if is_quiet { self.quiet_looks.saturating_add(1) } else { 0 };
        waited
    }

    /// Whether hardly any thread has run for longer than a stall takes.
    pub(super) fn is_quiet(&self) -> bool {
        self.quiet_looks >= QUIET_LOOKS
    }

    /// Where threads wait whose wait counts, those that began last first.
    pub(super) fn places(&self) -> Vec<Place> {
        let mut waits: Vec<&Wait> = self.waits.values().filter(|wait| wait.is_long).collect();
        waits.sort_unstable_by_key(|wait| (-wait.from_ns, wait.place.tid));
        waits.iter().map(|wait| wait.place).collect()
    }

    /// Whether a thread is still in the wait of the last look.
    pub(super) fn still(&self, look: &Look) -> bool {
        self.waits.get(&look.tid).is_some_and(|wait| wait.is_of(look))
    }

    /// What goes on, as far as it was seen and not told.
    pub(super) fn go_on(&self) -> Vec<Waited> {
        self.waits.values().copied().filter_map(|mut wait| wait.piece(wait.seen_ns)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Thread 7 at each look: how often it had left a CPU; none where it ran.
    fn waits(looks: &[(i64, Option<u64>)]) -> Vec<(i64, i64)> {
        let mut all = Looks::default();
        let mut waited = Vec::new();
        for (at_ms, switches) in looks {
            let look = switches.map(|switches| Look::of(7, switches, 0x1000));
            waited.extend(all.see(at_ms * MS, look.as_slice()));
        }
        waited.extend(all.go_on());
        waited.iter().map(|one| (one.from_ns / MS, one.to_ns / MS)).collect()
    }

    #[test]
    fn who_asks_for_what_goes_on_takes_nothing_away() {
        let mut all = Looks::default();
        for at in 0..5 {
            all.see(at * PERIOD_NS, &[Look::of(7, 1, 0x1000)]);
        }
        let until_now: Vec<(i64, i64)> = all.go_on().iter().map(|one| (one.from_ns / MS, one.to_ns / MS)).collect();
        assert_eq!((until_now, all.go_on().len()), (vec![(0, 400)], 1));
        assert_eq!(all.see(5 * PERIOD_NS, &[]).len(), 1);
    }

    #[test]
    fn a_stall_is_as_long_as_its_looks_stand_for() {
        let looks = [(0, Some(1)), (100, Some(2)), (200, Some(3)), (300, Some(3)), (400, Some(3)), (500, Some(4))];
        assert_eq!(waits(&looks), [(150, 450)]);
        assert_eq!(waits(&looks[..5]), [(150, 400)], "that it goes on is all that is known");
    }

    #[test]
    fn when_a_wait_began_is_known_by_when_its_thread_last_ran() {
        // When it last got a CPU before the second look, and what it ran between the looks.
        let waits_at = |switches: u64, second_ms: i64, arrived_ago_ms: i64, ran_ms: i64| {
            let mut all = Looks::default();
            all.see(-100 * MS, &[Look::of(8, 1, 0x1000)]);
            all.see(0, &[Look::of(7, 1, 0x1000), Look::of(8, 1 + switches, 0x1000)]);
            let arrived_ago_ns = Some(arrived_ago_ms * MS);
            all.see(second_ms * MS, &[Look { arrived_ago_ns, ran_ns: ran_ms * MS, ..Look::of(7, 3, 0x2000) }]);
            let mut waited = all.see((second_ms + 100) * MS, &[Look { ran_ns: ran_ms * MS, ..Look::of(7, 4, 0x1000) }]);
            waited.extend(all.go_on());
            waited.iter().map(|one| (one.from_ns / MS, one.to_ns / MS)).collect::<Vec<_>>()
        };
        let waits = |arrived_ago_ms: i64, ran_ms: i64| waits_at(100, 100, arrived_ago_ms, ran_ms);
        assert_eq!(waits(72, 2), [(30, 150)], "one look");
        assert_eq!(waits_at(100, 1000, 72, 2), [], "looks that are far apart");
        assert_eq!(waits_at(2, 100, 72, 2), [], "a timer of a JVM without work");
        assert_eq!(waits(72, 40), [], "perhaps it ran for most of that");
        assert_eq!(waits(40, 1), [], "a short wait");
        assert_eq!(waits(900, 0), [(0, 150)], "no longer than since the look before, at which it was in another one");
    }

    #[test]
    fn a_thread_that_runs_between_waits_for_long_nowhere() {
        assert_eq!(waits(&[(0, Some(1)), (100, None), (200, Some(2)), (300, None)]), []);
    }

    #[test]
    fn looks_that_are_far_apart_stand_for_themselves() {
        assert_eq!(waits(&[(0, Some(1)), (1000, Some(2)), (2000, Some(2)), (3000, None)]), [(1000, 2000)]);
    }

    #[test]
    fn what_goes_on_is_told_in_pieces_that_grow() {
        let looks: Vec<_> = (0..300).map(|nth| (nth * 100, Some(1))).collect();
        let pieces: Vec<(i64, i64)> = waits(&looks);
        assert_eq!(pieces[..4], [(0, 1000), (1000, 2000), (2000, 4000), (4000, 8000)]);
        assert_eq!((pieces.last().unwrap().1, pieces.len()), (29_900, 7));
        assert!(pieces.windows(2).all(|pair| pair[0].1 == pair[1].0), "{pieces:?}");
    }

    #[test]
    fn timers_of_an_idle_jvm_are_quiet_and_requests_are_not() {
        for (switches_per_look, is_quiet) in [(3, true), (30, false)] {
            let mut all = Looks::default();
            for nth in 0..i64::from(QUIET_LOOKS) {
                assert!(!all.is_quiet(), "{nth}");
                all.see(nth * 100 * MS, &[Look::of(7, nth as u64 * switches_per_look, 0x1000)]);
            }
            assert_eq!(all.is_quiet(), is_quiet, "{switches_per_look}");
        }
    }

    #[test]
    fn the_newest_waits_come_first() {
        let mut all = Looks::default();
        let stands = |tid| Look::of(tid, 1, 0x1000);
        all.see(0, &[stands(1)]);
        all.see(100 * MS, &[stands(1), stands(2)]);
        all.see(200 * MS, &[stands(1), stands(2), stands(3)]);
        let tids: Vec<u32> = all.places().iter().map(|place| place.tid).collect();
        assert_eq!(tids, [2, 1], "the third was seen once");
    }
}
