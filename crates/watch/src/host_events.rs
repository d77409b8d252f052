//! What begins together on one host is one event: a neighbour that takes the CPUs makes all services slow at once. It is recorded at the
//! JVM that shows it first and reported once, with the other JVMs that it hit. Pure.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::triggers::Trigger;

/// A JVM: process and start, so that a later one with its number is another.
pub type JvmKey = (u32, u64);

/// Two services turn slow within this time by chance less than once in years; it takes a few seconds of requests to notice.
const TOGETHER_S: i64 = 10;

/// While the host is short of something, later ones belong to it as well, as long as each follows the one before within this time.
const GOES_ON_S: i64 = 60;

/// What has lasted for this time is recorded anew: a host may be short of something for hours.
const LASTS_S: i64 = 600;

/// Events that are known at once; a host has one or two.
const EVENTS_MAX: usize = 32;

/// JVMs of one event that are listed.
const HITS_MAX: usize = 200;

/// A JVM that an event hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// Process id on this host.
    pub pid: u32,
    /// Main class, module or jar.
    pub main: String,
    /// Why it would have been recorded.
    pub trigger: Trigger,
}

/// An event that is recorded.
#[derive(Debug)]
struct Event {
    first: JvmKey,
    /// Name of its recording.
    id: String,
    began_s: i64,
    last_s: i64,
    hits: Vec<(JvmKey, Hit)>,
}

impl Event {
    /// A JVM is listed once, with its first reason.
    fn add(&mut self, jvm: JvmKey, hit: &Hit) {
        let is_known = self.hits.iter().any(|(known, _)| *known == jvm);
        if !is_known && self.hits.len() < HITS_MAX && jvm != self.first {
            self.hits.push((jvm, hit.clone()));
        }
    }

    fn takes(&self, jvm: JvmKey, now_s: i64, is_short: bool) -> bool {
        let goes_on = is_short && now_s - self.last_s <= GOES_ON_S && now_s - self.began_s <= LASTS_S;
        jvm != self.first && (now_s - self.began_s <= TOGETHER_S || goes_on)
    }
}

/// The events of a host.
#[derive(Debug, Default)]
pub(crate) struct HostEvents {
    events: VecDeque<Event>,
    /// Reasons of the last seconds that belong to no event.
    recent: VecDeque<(i64, JvmKey, Hit)>,
}

impl HostEvents {
    /// A reason of a JVM at `now_s`: the recording of the event that it belongs to, if it does. `is_short` says that the host is short of
    /// something now.
    pub(crate) fn see(&mut self, jvm: JvmKey, hit: &Hit, now_s: i64, is_short: bool) -> Option<&str> {
        if let Some(event) = self.events.iter_mut().rev().find(|event| event.takes(jvm, now_s, is_short)) {
            event.last_s = now_s;
            event.add(jvm, hit);
            return Some(&event.id);
        }
        while self.recent.front().is_some_and(|(at_s, _, _)| now_s - at_s > TOGETHER_S) || self.recent.len() > HITS_MAX
        {
            self.recent.pop_front();
        }
        self.recent.push_back((now_s, jvm, hit.clone()));
        None
    }

    /// A recording of a JVM begins. What was refused to others a moment before belongs to it.
    pub(crate) fn begin(&mut self, first: JvmKey, id: &str, now_s: i64) {
        let mut event = Event { first, id: id.to_owned(), began_s: now_s, last_s: now_s, hits: Vec::new() };
        let before = std::mem::take(&mut self.recent);
        before.iter().filter(|(at_s, _, _)| now_s - at_s <= TOGETHER_S).for_each(|(_, jvm, hit)| event.add(*jvm, hit));
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// There is no recording after all.
    pub(crate) fn withdraw(&mut self, first: JvmKey) {
        if let Some(at) = self.events.iter().rposition(|event| event.first == first) {
            self.events.remove(at);
        }
    }

    /// The other JVMs that an event hit.
    pub(crate) fn hits(&self, id: &str) -> Vec<Hit> {
        let event = self.events.iter().find(|event| event.id == id);
        event.into_iter().flat_map(|event| &event.hits).map(|(_, hit)| hit.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: JvmKey = (1, 10);
    const B: JvmKey = (2, 20);
    const C: JvmKey = (3, 30);

    fn hit(jvm: JvmKey) -> Hit {
        Hit { pid: jvm.0, main: String::new(), trigger: Trigger::by_hand(0) }
    }

    fn sees(events: &mut HostEvents, jvm: JvmKey, now_s: i64, is_short: bool) -> bool {
        events.see(jvm, &hit(jvm), now_s, is_short).is_some()
    }

    fn pids(events: &HostEvents) -> Vec<u32> {
        events.hits("x").iter().map(|hit| hit.pid).collect()
    }

    #[test]
    fn what_begins_within_seconds_is_one_event() {
        let mut events = HostEvents::default();
        assert!(!sees(&mut events, C, 98, false), "it was refused for something else");
        assert!(!sees(&mut events, A, 100, false));
        events.begin(A, "x", 100);
        assert!(sees(&mut events, B, 105, false) && sees(&mut events, B, 107, false));
        assert!(!sees(&mut events, A, 108, false), "its own reasons are not others'");
        assert!(!sees(&mut events, B, 111, false), "another illness, half a minute later");
        assert_eq!(pids(&events), [3, 2]);
    }

    #[test]
    fn as_long_as_the_host_is_short_of_something_it_is_one_event() {
        let mut events = HostEvents::default();
        events.begin(A, "x", 0);
        for now_s in [40, 90, 150, 600] {
            assert_eq!(sees(&mut events, B, now_s, true), now_s != 600, "{now_s}");
        }
        events.begin(A, "y", 1000);
        assert!(sees(&mut events, C, 1050, true) && !sees(&mut events, C, 1111, true), "nothing for a minute");
        events.begin(A, "z", 2000);
        let taken = (2001..4000).step_by(30).filter(|now_s| sees(&mut events, B, *now_s, true)).count();
        assert_eq!(taken, 20, "what lasts for ten minutes is recorded again");
    }

    #[test]
    fn what_could_not_begin_takes_nobody_in() {
        let mut events = HostEvents::default();
        events.begin(A, "x", 0);
        events.withdraw(A);
        assert!(!sees(&mut events, B, 1, true) && events.hits("x").is_empty());
    }
}
