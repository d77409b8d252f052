//! Whether a reason becomes a recording: cool-down, budgets, and never two of one JVM at once. Pure but for the clock that it is
//! given. What is not recorded is counted, with why.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::Duration;

use jiff::Timestamp;

use crate::config::Config;
use crate::quiet::Window;
use crate::triggers::{Kind, Trigger};

const HOUR_S: i64 = 3600;
const DAY_S: i64 = 24 * HOUR_S;

/// Why there is no recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Skip {
    /// One of this JVM runs.
    Running,
    /// The last one of this JVM was a short while ago.
    CoolDown,
    /// There were as many for the same reason today as there may be.
    SameToday,
    /// There were as many in this hour as there may be.
    Hour,
    /// As many run as may at once.
    AtOnce,
    /// The time after the first start in which it only learns.
    Learning,
    /// Maintenance.
    Quiet,
    /// The disk is full.
    NoRoom,
}

impl Skip {
    /// As logs and metrics name it.
    pub fn name(self) -> &'static str {
        match self {
            Skip::Running => "recording_runs",
            Skip::CoolDown => "cool_down",
            Skip::SameToday => "same_reason_today",
            Skip::Hour => "budget_of_the_hour",
            Skip::AtOnce => "too_many_at_once",
            Skip::Learning => "learning",
            Skip::Quiet => "quiet",
            Skip::NoRoom => "no_room",
        }
    }
}

/// A JVM: process and start, so that a later one with its number is another.
pub type JvmKey = (u32, u64);

/// What is the same again: main class, kind and which one. A restarted JVM has the same diseases.
pub type Reason = (String, Kind, String);

/// Decides.
#[derive(Debug)]
pub struct Desk {
    cool_down: Duration,
    per_hour: usize,
    same_per_day: usize,
    at_once: usize,
    quiet: Vec<Window>,
    first_start_s: i64,
    learn_s: i64,
    /// What would have been recorded while it only learned, and how often; nothing once that was told.
    learned: Option<BTreeMap<Reason, usize>>,
    running: HashSet<JvmKey>,
    ended_s: HashMap<JvmKey, i64>,
    begun_s: VecDeque<i64>,
    told_s: HashMap<Reason, VecDeque<i64>>,
    recorded_s: HashMap<Reason, VecDeque<i64>>,
}

/// The answer to a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Why it is not recorded; `None` when it is.
    pub skip: Option<Skip>,
    /// How often this reason was there within a day, this time included.
    pub times_today: usize,
}

impl Desk {
    /// With the limits of a configuration, of a service that was started for the first time at `first_start_s`.
    pub fn new(config: &Config, first_start_s: i64) -> Desk {
        let Config { capture, quiet, .. } = config;
        Desk {
            cool_down: capture.cool_down,
            per_hour: capture.per_hour as usize,
            same_per_day: capture.same_per_day as usize,
            at_once: capture.at_once as usize,
            quiet: quiet.clone(),
            first_start_s,
            learn_s: capture.learn.map_or(0, |learn| i64::try_from(learn.as_secs()).unwrap_or(i64::MAX)),
            learned: capture.learn.map(|_| BTreeMap::new()),
            running: HashSet::new(),
            ended_s: HashMap::new(),
            begun_s: VecDeque::new(),
            told_s: HashMap::new(),
            recorded_s: HashMap::new(),
        }
    }

    /// Takes other limits; what happened until now counts.
    pub fn set(&mut self, config: &Config) {
        let new = Desk::new(config, self.first_start_s);
        (self.cool_down, self.per_hour) = (new.cool_down, new.per_hour);
        (self.same_per_day, self.at_once) = (new.same_per_day, new.at_once);
        (self.quiet, self.learn_s) = (new.quiet, new.learn_s);
    }

    fn is_learning(&self, wall_s: i64) -> bool {
        wall_s - self.first_start_s < self.learn_s
    }

    /// What would have been recorded while it only learned, with how often, most often first; once, when that is over.
    pub fn learned(&mut self, wall_s: i64) -> Option<Vec<(Reason, usize)>> {
        if self.is_learning(wall_s) {
            return None;
        }
        let mut learned: Vec<(Reason, usize)> = self.learned.take()?.into_iter().collect();
        learned.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        Some(learned)
    }

    /// Asks for a recording, at `now_s` of a clock that nobody sets; what the calendar says is asked of the trigger's time. Where it is
    /// granted, [`Desk::ended`] has to follow.
    pub fn ask(&mut self, jvm: JvmKey, main: &str, trigger: &Trigger, now_s: i64) -> Answer {
        let reason = (main.to_owned(), trigger.kind, trigger.which.clone());
        forget(&mut self.begun_s, now_s - HOUR_S);
        for times in [&mut self.told_s, &mut self.recorded_s] {
            times.values_mut().for_each(|times| forget(times, now_s - DAY_S));
            times.retain(|_, times| !times.is_empty());
        }
        let told = self.told_s.entry(reason.clone()).or_default();
        told.push_back(now_s);
        let times_today = told.len();
        let skip = self.decide(jvm, reason.clone(), trigger, now_s);
        if let Some(learned) = self.learned.as_mut().filter(|_| skip == Some(Skip::Learning)) {
            *learned.entry(reason).or_default() += 1;
        }
        Answer { skip, times_today }
    }

    /// The same for a reason that was told before and refused for something that passes: it counts no second time.
    pub fn ask_again(&mut self, jvm: JvmKey, main: &str, trigger: &Trigger, now_s: i64) -> Option<Skip> {
        self.decide(jvm, (main.to_owned(), trigger.kind, trigger.which.clone()), trigger, now_s)
    }

    fn decide(&mut self, jvm: JvmKey, reason: Reason, trigger: &Trigger, now_s: i64) -> Option<Skip> {
        let skip = self.skip(jvm, &reason, now_s, trigger.at_ns.div_euclid(1_000_000_000));
        if skip.is_none() {
            self.running.insert(jvm);
        }
        if skip.is_none() && trigger.kind != Kind::ByHand {
            self.begun_s.push_back(now_s);
            self.recorded_s.entry(reason).or_default().push_back(now_s);
        }
        skip
    }

    /// Whoever asks by hand waits for no cool-down and for no other JVM, and has no limit of reasons.
    fn skip(&self, jvm: JvmKey, reason: &Reason, now_s: i64, wall_s: i64) -> Option<Skip> {
        let by_hand = reason.1 == Kind::ByHand;
        let since_s = self.ended_s.get(&jvm).map(|ended_s| now_s - ended_s);
        let cool_down_s = self.cool_down.as_secs() as i64;
        let recorded = self.recorded_s.get(reason).map_or(0, VecDeque::len);
        match () {
            () if self.running.contains(&jvm) => Some(Skip::Running),
            () if by_hand => None,
            () if self.running.len() >= self.at_once => Some(Skip::AtOnce),
            () if self.is_learning(wall_s) => Some(Skip::Learning),
            () if self.is_quiet(wall_s) => Some(Skip::Quiet),
            () if since_s.is_some_and(|since_s| since_s < cool_down_s) => Some(Skip::CoolDown),
            () if recorded >= self.same_per_day => Some(Skip::SameToday),
            () if self.begun_s.len() >= self.per_hour => Some(Skip::Hour),
            () => None,
        }
    }

    fn is_quiet(&self, wall_s: i64) -> bool {
        Timestamp::from_second(wall_s).is_ok_and(|now| self.quiet.iter().any(|window| window.holds(now)))
    }

    /// What was granted could not begin: it counts for no budget, and no cool-down follows.
    pub fn withdraw(&mut self, jvm: JvmKey, main: &str, trigger: &Trigger) {
        self.running.remove(&jvm);
        if trigger.kind == Kind::ByHand {
            return;
        }
        self.begun_s.pop_back();
        let reason = (main.to_owned(), trigger.kind, trigger.which.clone());
        self.recorded_s.get_mut(&reason).and_then(VecDeque::pop_back);
    }

    /// A recording has ended.
    pub fn ended(&mut self, jvm: JvmKey, now_s: i64) {
        self.running.remove(&jvm);
        self.ended_s.retain(|_, ended_s| now_s - *ended_s < DAY_S);
        self.ended_s.insert(jvm, now_s);
    }
}

fn forget(times_s: &mut VecDeque<i64>, before_s: i64) {
    while times_s.front().is_some_and(|time_s| *time_s <= before_s) {
        times_s.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Capture;

    fn trigger(kind: Kind, which: &str) -> Trigger {
        at(kind, which, 0)
    }

    fn at(kind: Kind, which: &str, at_s: i64) -> Trigger {
        Trigger { kind, which: which.to_owned(), says: String::new(), at_ns: at_s * 1_000_000_000 }
    }

    #[test]
    fn a_day_at_the_desk() {
        let mut desk = Desk::new(&Config::default(), 0);
        let slow = |which: &str| trigger(Kind::RequestsSlow, which);
        let hand = trigger(Kind::ByHand, "");
        let (a, b, c) = ((1, 10), (2, 20), (3, 30));
        let ask = |desk: &mut Desk, jvm: JvmKey, trigger: &Trigger, now_s| {
            let main = if jvm == a { "Cart" } else { "Shop" };
            let answer = desk.ask(jvm, main, trigger, now_s);
            (answer.skip, answer.times_today)
        };
        assert_eq!(ask(&mut desk, a, &slow(":80"), 0), (None, 1));
        assert_eq!(ask(&mut desk, a, &slow(":80"), 5), (Some(Skip::Running), 2));
        assert_eq!(ask(&mut desk, a, &hand, 5), (Some(Skip::Running), 1), "not even by hand");
        assert_eq!(ask(&mut desk, b, &slow(":80"), 6), (None, 1));
        assert_eq!(ask(&mut desk, c, &slow(":81"), 7), (Some(Skip::AtOnce), 1));
        assert_eq!(desk.ask_again(c, "Shop", &slow(":81"), 8), Some(Skip::AtOnce));
        desk.ended(a, 40);
        assert_eq!(desk.ask_again(c, "Shop", &slow(":81"), 40), None, "its turn");
        desk.ended(c, 40);
        desk.ended(b, 40);
        assert_eq!(ask(&mut desk, a, &slow(":80"), 100), (Some(Skip::CoolDown), 3));
        assert_eq!(ask(&mut desk, a, &hand, 100), (None, 2), "by hand there is no cool-down");
        desk.ended(a, 140);
        for (at_s, expected) in [(1000, (None, 4)), (2000, (None, 5)), (3000, (Some(Skip::SameToday), 6))] {
            assert_eq!(ask(&mut desk, a, &slow(":80"), at_s), expected, "{at_s}");
            desk.ended(a, at_s + 30);
        }
        assert_eq!(ask(&mut desk, a, &slow(":80"), 100_000), (None, 1), "another day");
    }

    #[test]
    fn an_hour_has_a_budget() {
        let capture = Capture { per_hour: 2, ..Capture::default() };
        let mut desk = Desk::new(&Config { capture, ..Config::default() }, 0);
        let skips: Vec<Option<Skip>> = (0..4)
            .map(|at| {
                let jvm = (at, 0);
                let answer = desk.ask(jvm, "Cart", &trigger(Kind::Rule, &at.to_string()), i64::from(at) * 1500);
                desk.ended(jvm, i64::from(at) * 1500 + 30);
                answer.skip
            })
            .collect();
        assert_eq!(skips, [None, None, Some(Skip::Hour), None]);
    }

    #[test]
    fn what_could_not_begin_counts_for_nothing() {
        let capture = Capture { per_hour: 1, same_per_day: 1, at_once: 1, ..Capture::default() };
        let mut desk = Desk::new(&Config { capture, ..Config::default() }, 0);
        let stop = trigger(Kind::Stop, "");
        for times_today in 1..4 {
            let answer = desk.ask((1, 0), "Cart", &stop, 7);
            assert_eq!(answer, Answer { skip: None, times_today });
            desk.withdraw((1, 0), "Cart", &stop);
        }
        assert_eq!(desk.ask((2, 0), "Shop", &stop, 7).skip, None);
        desk.withdraw((1, 0), "Cart", &trigger(Kind::ByHand, ""));
        assert_eq!(desk.ask((1, 0), "Cart", &stop, 7).skip, Some(Skip::AtOnce), "the other's stays");
    }

    #[test]
    fn what_is_asked_for_by_hand_takes_nothing_from_others() {
        let capture = Capture { per_hour: 1, at_once: 1, ..Capture::default() };
        let mut desk = Desk::new(&Config { capture, ..Config::default() }, 0);
        let mut skip = |jvm, kind, ended| {
            let skip = desk.ask((jvm, 0), "Cart", &trigger(kind, ""), 7).skip;
            (0..ended).for_each(|jvm| desk.ended((jvm, 0), 8));
            skip
        };
        assert_eq!([skip(1, Kind::ByHand, 0), skip(2, Kind::ByHand, 0)], [None, None], "at once");
        assert_eq!(skip(2, Kind::ByHand, 3), Some(Skip::Running));
        assert_eq!(skip(3, Kind::Stop, 4), None, "the first of the hour");
        assert_eq!((skip(4, Kind::Stop, 0), skip(4, Kind::ByHand, 0)), (Some(Skip::Hour), None));
    }

    #[test]
    fn a_first_day_only_learns_and_says_what_it_saw() {
        let capture = Capture { learn: Some(Duration::from_secs(1000)), ..Capture::default() };
        let mut desk = Desk::new(&Config { capture, ..Config::default() }, 5_000);
        let mut skips: Vec<Option<Skip>> = Vec::new();
        for (at_s, kind) in
            [(5_010, Kind::Stop), (5_020, Kind::Throttled), (5_030, Kind::Throttled), (5_999, Kind::ByHand)]
        {
            skips.push(desk.ask((at_s as u32, 0), "Cart", &at(kind, "", at_s), 7).skip);
            assert_eq!(desk.learned(at_s), None);
        }
        let learning = Some(Skip::Learning);
        assert_eq!(skips, [learning, learning, learning, None]);
        let reason = |kind| ("Cart".to_owned(), kind, String::new());
        assert_eq!(desk.learned(6_000), Some(vec![(reason(Kind::Throttled), 2), (reason(Kind::Stop), 1)]));
        assert_eq!(desk.learned(6_001), None, "told once");
        assert_eq!(desk.ask((1, 0), "Cart", &at(Kind::Stop, "", 6_002), 7).skip, None);
    }

    #[test]
    fn nothing_is_recorded_in_maintenance_but_by_hand() {
        let text = "[[quiet]]\nfrom = \"02:00\"\nto = \"04:00\"\nzone = \"UTC\"";
        let mut desk = Desk::new(&Config::parse(text, "test".as_ref()).unwrap(), 0);
        let mut skip = |jvm, kind, hour: i64| desk.ask((jvm, 0), "Cart", &at(kind, "", hour * 3600), 7).skip;
        assert_eq!(skip(1, Kind::Stop, 3), Some(Skip::Quiet));
        assert_eq!((skip(1, Kind::ByHand, 3), skip(2, Kind::Stop, 4)), (None, None));
    }
}
