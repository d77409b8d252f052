//! Decides whether a reason becomes a recording. Limits: one recording per event of the host, a cool-down, budgets of each JVM and
//! of the host, never two recordings of one JVM at once. Pure except for the given clock. Refused reasons are counted by cause.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::Duration;

use jiff::Timestamp;

use crate::config::Config;
pub use crate::host_events::JvmKey;
use crate::host_events::{Hit, HostEvents};
use crate::quiet::Window;
pub use crate::skip::Skip;
use crate::triggers::{Kind, Severity, Trigger};

const HOUR_S: i64 = 3600;
const DAY_S: i64 = 24 * HOUR_S;

/// One in so many recordings of the host's hour is left for reasons that are worse, or that were not recorded today: a service that is
/// slow again and again must not use up what the next illness needs. As many are left for the other users, where there are any: JVMs of
/// one user that look ill again and again must not use up the recordings of the others.
const RESERVE: usize = 3;

/// What is the same again: service, kind and which one. A restarted JVM has the same diseases.
pub type Reason = (String, Kind, String);

/// A reason, and whose it is.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The JVM.
    pub jvm: JvmKey,
    /// Its main class, for people.
    pub main: &'a str,
    /// Its service, which all JVMs have that are started alike.
    pub service: &'a str,
    /// Its user.
    pub uid: u32,
    /// The reason.
    pub trigger: &'a Trigger,
    /// The name that its recording would have.
    pub id: &'a str,
}

impl Question<'_> {
    fn reason(&self) -> Reason {
        (self.service.to_owned(), self.trigger.kind, self.trigger.which.clone())
    }

    fn hit(&self) -> Hit {
        Hit { pid: self.jvm.0, main: self.main.to_owned(), trigger: self.trigger.clone() }
    }
}

/// Decides which reasons become recordings.
#[derive(Debug)]
pub struct Admission {
    cool_down: Duration,
    per_hour: usize,
    per_jvm: usize,
    same_per_day: usize,
    at_once: usize,
    quiet: Vec<Window>,
    first_start_s: i64,
    learn_s: i64,
    /// What would have been recorded while it only learned, and how often; nothing once that was reported.
    learned: Option<BTreeMap<Reason, usize>>,
    running: HashSet<JvmKey>,
    ended_s: HashMap<JvmKey, i64>,
    /// When recordings began, of which JVM and user.
    begun_s: VecDeque<(i64, JvmKey, u32)>,
    reported_s: HashMap<Reason, VecDeque<i64>>,
    recorded_s: HashMap<Reason, VecDeque<i64>>,
    events: HostEvents,
    /// Refusals that were reported, with when; of a JVM, or of the host.
    refusals_s: HashMap<(Option<JvmKey>, Skip), i64>,
    /// Whether JVMs of more than one user are watched.
    are_many_users: bool,
}

/// The answer to a reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Why it is not recorded; `None` when it is.
    pub skip: Option<Skip>,
    /// How often this reason was there within a day, this time included.
    pub times_today: usize,
    /// The recording of the event of the host that it belongs to, if it is another's.
    pub event: Option<String>,
}

impl Admission {
    /// With the limits of a configuration, of a service that was started for the first time at `first_start_s`.
    pub fn new(config: &Config, first_start_s: i64) -> Admission {
        let Config { capture, quiet, .. } = config;
        Admission {
            cool_down: capture.cool_down,
            per_hour: capture.per_hour as usize,
            per_jvm: capture.per_jvm as usize,
            same_per_day: capture.same_per_day as usize,
            at_once: capture.at_once as usize,
            quiet: quiet.clone(),
            first_start_s,
            learn_s: capture.learn.map_or(0, |learn| i64::try_from(learn.as_secs()).unwrap_or(i64::MAX)),
            learned: capture.learn.map(|_| BTreeMap::new()),
            running: HashSet::new(),
            ended_s: HashMap::new(),
            begun_s: VecDeque::new(),
            reported_s: HashMap::new(),
            recorded_s: HashMap::new(),
            events: HostEvents::default(),
            refusals_s: HashMap::new(),
            are_many_users: false,
        }
    }

    /// Takes other limits; what happened until now counts.
    pub fn set(&mut self, config: &Config) {
        let new = Admission::new(config, self.first_start_s);
        (self.cool_down, self.per_hour, self.per_jvm) = (new.cool_down, new.per_hour, new.per_jvm);
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

    /// Says that the host is short of something at `now_s`.
    pub(crate) fn is_short(&mut self, now_s: i64) {
        self.events.is_short(now_s);
    }

    /// Says whose JVMs are watched.
    pub(crate) fn set_users(&mut self, uids: &HashSet<u32>) {
        self.are_many_users = uids.len() > 1;
    }

    /// The other JVMs that the event of a recording hit.
    pub(crate) fn hits(&self, id: &str) -> Vec<Hit> {
        self.events.hits(id)
    }

    /// The event of the host since then that hit a JVM.
    pub(crate) fn event_of(&self, jvm: JvmKey, since_s: i64) -> Option<String> {
        self.events.that_hit(jvm, since_s).map(str::to_owned)
    }

    /// Whether a refusal is to be reported now: each once in an hour.
    pub(crate) fn reports(&mut self, jvm: JvmKey, skip: Skip, now_s: i64) -> bool {
        self.refusals_s.retain(|_, reported_s| now_s - *reported_s < HOUR_S);
        let about = (Some(jvm).filter(|_| !skip.is_of_host()), skip);
        let is_new = !self.refusals_s.contains_key(&about);
        self.refusals_s.entry(about).or_insert(now_s);
        skip.is_to_be_reported() && is_new
    }

    /// Asks for a recording at `now_s` of a monotonic clock. Rules of the calendar use the trigger's time. If it is
    /// granted, [`Admission::ended`] has to follow.
    pub fn ask(&mut self, asked: &Question<'_>, now_s: i64) -> Answer {
        while self.begun_s.front().is_some_and(|(time_s, ..)| *time_s <= now_s - HOUR_S) {
            self.begun_s.pop_front();
        }
        for times in [&mut self.reported_s, &mut self.recorded_s] {
            times.values_mut().for_each(|times| forget(times, now_s - DAY_S));
            times.retain(|_, times| !times.is_empty());
        }
        let reported = self.reported_s.entry(asked.reason()).or_default();
        reported.push_back(now_s);
        let times_today = reported.len();
        let answer = Answer { times_today, ..self.decide(asked, now_s) };
        if let Some(learned) = self.learned.as_mut().filter(|_| answer.skip == Some(Skip::Learning)) {
            *learned.entry(asked.reason()).or_default() += 1;
        }
        answer
    }

    /// The same for a reason that was reported before and refused for something that passes: it counts no second time.
    pub fn ask_again(&mut self, asked: &Question<'_>, now_s: i64) -> Option<Skip> {
        let was_part = self.events.was_part(asked.jvm, now_s).then_some(Skip::Together);
        was_part.or_else(|| self.decide(asked, now_s).skip)
    }

    /// A JVM has ended, which takes no recording: it is reported unless that was done too often today, or nothing is reported.
    pub fn ask_of_end(&mut self, asked: &Question<'_>, now_s: i64) -> Option<Skip> {
        let wall_s = asked.trigger.at_ns.div_euclid(1_000_000_000);
        let times = self.recorded_s.entry(asked.reason()).or_default();
        forget(times, now_s - DAY_S);
        let is_reported = times.len() >= self.same_per_day;
        let skip = self.before_all(asked, wall_s).or(is_reported.then_some(Skip::SameToday));
        if skip.is_none() {
            self.recorded_s.entry(asked.reason()).or_default().push_back(now_s);
        }
        skip
    }

    fn decide(&mut self, asked: &Question<'_>, now_s: i64) -> Answer {
        let wall_s = asked.trigger.at_ns.div_euclid(1_000_000_000);
        let by_hand = asked.trigger.kind == Kind::ByHand;
        let (mut skip, mut event) = (self.before_all(asked, wall_s), None);
        if skip.is_none() && !by_hand {
            event = self.events.see(asked.jvm, &asked.hit(), now_s).map(str::to_owned);
            skip = event.as_ref().map(|_| Skip::Together).or_else(|| self.budgets(asked, now_s));
            if skip == Some(Skip::CoolDown) {
                event = self.events.goes_on_at(asked.jvm, now_s).map(str::to_owned);
                skip = event.as_ref().map(|_| Skip::Together).or(skip);
            }
            // No other JVM would be recorded either: what is kept of this one stands for all.
            if skip == Some(Skip::Hour) && !self.events.has(asked.jvm, now_s) {
                self.events.begin(asked.jvm, asked.id, now_s);
            }
        }
        if skip.is_none() {
            self.running.insert(asked.jvm);
        }
        if skip.is_none() && !by_hand {
            self.events.begin(asked.jvm, asked.id, now_s);
            self.begun_s.push_back((now_s, asked.jvm, asked.uid));
            self.recorded_s.entry(asked.reason()).or_default().push_back(now_s);
        }
        Answer { skip, times_today: 0, event }
    }

    /// A request by hand waits for no cool-down and for no other JVM, and has no limit of reasons.
    fn before_all(&self, asked: &Question<'_>, wall_s: i64) -> Option<Skip> {
        match () {
            () if self.running.contains(&asked.jvm) => Some(Skip::Running),
            () if asked.trigger.kind == Kind::ByHand => None,
            () if self.is_learning(wall_s) => Some(Skip::Learning),
            () if self.is_quiet(wall_s) => Some(Skip::Quiet),
            () => None,
        }
    }

    fn budgets(&self, asked: &Question<'_>, now_s: i64) -> Option<Skip> {
        let since_s = self.ended_s.get(&asked.jvm).map(|ended_s| now_s - ended_s);
        let recorded = self.recorded_s.get(&asked.reason()).map_or(0, VecDeque::len);
        let of_jvm = self.begun_s.iter().filter(|(_, jvm, _)| *jvm == asked.jvm).count();
        let of_user = self.begun_s.iter().filter(|(.., uid)| *uid == asked.uid).count();
        let reserve = self.per_hour / RESERVE;
        let is_reserved = recorded > 0 && asked.trigger.kind.severity() < Severity::Critical;
        match () {
            () if self.running.len() >= self.at_once => Some(Skip::AtOnce),
            () if since_s.is_some_and(|since_s| since_s < self.cool_down.as_secs() as i64) => Some(Skip::CoolDown),
            () if recorded >= self.same_per_day => Some(Skip::SameToday),
            () if of_jvm >= self.per_jvm => Some(Skip::HourOfJvm),
            () if self.begun_s.len() >= self.per_hour => Some(Skip::Hour),
            () if self.are_many_users && of_user + reserve >= self.per_hour => Some(Skip::HourOfUser),
            () if is_reserved && self.begun_s.len() + reserve >= self.per_hour => Some(Skip::Reserve),
            () => None,
        }
    }

    fn is_quiet(&self, wall_s: i64) -> bool {
        Timestamp::from_second(wall_s).is_ok_and(|now| self.quiet.iter().any(|window| window.holds(now)))
    }

    /// What was granted could not begin: it counts for no budget, and no cool-down follows.
    pub fn withdraw(&mut self, asked: &Question<'_>) {
        self.running.remove(&asked.jvm);
        if asked.trigger.kind == Kind::ByHand {
            return;
        }
        self.events.withdraw(asked.jvm);
        self.begun_s.pop_back();
        self.recorded_s.get_mut(&asked.reason()).and_then(VecDeque::pop_back);
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
mod tests;
