//! What begins together on one host is one event: a neighbour that takes the CPUs makes all services slow at once. The
//! event is recorded at the JVM that shows it first, and reported once with the other affected JVMs. Pure.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::triggers::Trigger;

/// A JVM: process and start, so that a later one with its number is another.
pub type JvmKey = (u32, u64);

/// Two services turn slow within this time by chance less than once in years; it takes a few seconds of requests to notice.
pub(crate) const TOGETHER_S: i64 = 10;

/// While the host has been short of something since the event began, later ones belong to it as well, as long as each follows the one before
/// within this time.
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
    /// When the host was last seen to be short of something since about then without a pause; the beginning where it was not.
    short_s: i64,
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

    fn takes(&self, jvm: JvmKey, now_s: i64) -> bool {
        jvm != self.first && (now_s - self.began_s <= TOGETHER_S || self.goes_on(now_s))
    }

    fn goes_on(&self, now_s: i64) -> bool {
        let is_short = self.short_s > self.began_s && now_s - self.short_s <= TOGETHER_S;
        is_short && now_s - self.last_s <= GOES_ON_S && now_s - self.began_s <= LASTS_S
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
    /// The host is short of something at `now_s`: that is about an event that began at most seconds ago, or during which it has been so. What
    /// it becomes short of later, as by the next illness, is another one.
    pub(crate) fn is_short(&mut self, now_s: i64) {
        for event in self.events.iter_mut().filter(|event| now_s - event.short_s <= TOGETHER_S) {
            event.short_s = now_s;
        }
    }

    /// A reason of a JVM at `now_s`: the recording of the event that it belongs to, if it does.
    pub(crate) fn see(&mut self, jvm: JvmKey, hit: &Hit, now_s: i64) -> Option<&str> {
        if let Some(event) = self.events.iter_mut().rev().find(|event| event.takes(jvm, now_s)) {
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

    /// A recording of a JVM begins, or its rows are kept in place of one. What was refused to others a moment before belongs to it.
    pub(crate) fn begin(&mut self, first: JvmKey, id: &str, now_s: i64) {
        let mut event =
            Event { first, id: id.to_owned(), began_s: now_s, last_s: now_s, short_s: now_s, hits: Vec::new() };
        let before = std::mem::take(&mut self.recent);
        before.iter().filter(|(at_s, _, _)| now_s - at_s <= TOGETHER_S).for_each(|(_, jvm, hit)| event.add(*jvm, hit));
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// A reason of the JVM that an event was recorded at, which has been recorded: that recording's name while the event goes on.
    pub(crate) fn goes_on_at(&mut self, first: JvmKey, now_s: i64) -> Option<&str> {
        let event = self.events.iter_mut().rev().find(|event| event.first == first && event.goes_on(now_s))?;
        event.last_s = now_s;
        Some(&event.id)
    }

    /// Whether a JVM is the first of an event that is not long ago.
    pub(crate) fn has(&self, first: JvmKey, now_s: i64) -> bool {
        self.events.iter().any(|event| event.first == first && now_s - event.began_s <= LASTS_S)
    }

    /// The event since then that has a JVM among those that it hit.
    pub(crate) fn that_hit(&self, jvm: JvmKey, since_s: i64) -> Option<&str> {
        let is_of = |event: &&Event| event.began_s >= since_s && event.hits.iter().any(|(known, _)| *known == jvm);
        self.events.iter().rev().find(is_of).map(|event| event.id.as_str())
    }

    /// Whether a JVM was part of an event that is over for less than a minute: what lasted then looks back on it.
    pub(crate) fn was_part(&self, jvm: JvmKey, now_s: i64) -> bool {
        let is_of = |event: &Event| event.first == jvm || event.hits.iter().any(|(known, _)| *known == jvm);
        self.events.iter().any(|event| now_s - event.short_s <= GOES_ON_S && is_of(event))
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

    fn sees(events: &mut HostEvents, jvm: JvmKey, now_s: i64) -> bool {
        events.see(jvm, &hit(jvm), now_s).is_some()
    }

    /// The host is short of something in each of these seconds.
    fn short(events: &mut HostEvents, seconds: std::ops::RangeInclusive<i64>) {
        seconds.for_each(|now_s| events.is_short(now_s));
    }

    fn pids(events: &HostEvents) -> Vec<u32> {
        events.hits("x").iter().map(|hit| hit.pid).collect()
    }

    #[test]
    fn what_begins_within_seconds_is_one_event() {
        let mut events = HostEvents::default();
        assert!(!sees(&mut events, C, 98), "it was refused for something else");
        assert!(!sees(&mut events, A, 100));
        events.begin(A, "x", 100);
        assert!(sees(&mut events, B, 105) && sees(&mut events, B, 107));
        assert!(!sees(&mut events, A, 108), "its own reasons are not others'");
        assert!(!sees(&mut events, B, 111), "another illness, half a minute later");
        assert_eq!(pids(&events), [3, 2]);
        assert_eq!((events.that_hit(C, 98), events.that_hit(C, 101), events.that_hit(A, 98)), (Some("x"), None, None));
    }

    #[test]
    fn as_long_as_the_host_is_short_of_something_it_is_one_event() {
        let mut events = HostEvents::default();
        events.begin(A, "x", 0);
        for now_s in 1..=600 {
            events.is_short(now_s);
            if [40, 90, 150, 600].contains(&now_s) {
                assert_eq!(sees(&mut events, B, now_s), now_s != 600, "{now_s}");
            }
        }
        events.begin(A, "y", 1000);
        short(&mut events, 1001..=1050);
        assert!(sees(&mut events, C, 1050));
        short(&mut events, 1051..=1111);
        assert!(!sees(&mut events, C, 1111), "nothing for a minute");
        events.begin(A, "z", 2000);
        let mut taken = 0;
        for now_s in 2001..4000 {
            events.is_short(now_s);
            taken += usize::from(now_s % 30 == 1 && sees(&mut events, B, now_s));
        }
        assert_eq!(taken, 20, "what lasts for ten minutes is recorded again");
    }

    #[test]
    fn what_its_own_jvm_suffers_from_belongs_to_it_as_well() {
        let mut events = HostEvents::default();
        events.begin(A, "x", 0);
        assert_eq!(events.goes_on_at(A, 30), None, "the host was short of nothing");
        short(&mut events, 1..=90);
        assert_eq!(events.goes_on_at(A, 50), Some("x"));
        assert_eq!(events.goes_on_at(B, 50), None);
        assert_eq!(events.goes_on_at(A, 95), Some("x"), "each follows the one before");
        assert_eq!(events.goes_on_at(A, 105), None, "it is over");
    }

    #[test]
    fn what_is_asked_for_again_belongs_to_it_for_a_minute_more() {
        let mut events = HostEvents::default();
        events.begin(A, "x", 0);
        short(&mut events, 1..=60);
        assert!(sees(&mut events, B, 50));
        assert!([A, B].iter().all(|jvm| events.was_part(*jvm, 120)));
        assert!(!events.was_part(C, 70) && !events.was_part(B, 121));
    }

    #[test]
    fn what_the_host_is_short_of_later_is_another_event() {
        let mut events = HostEvents::default();
        events.begin(A, "x", 0);
        short(&mut events, 25..=60);
        assert!(!sees(&mut events, B, 30), "it was not short when the first one began");
        events.begin(A, "y", 100);
        short(&mut events, 95..=115);
        assert!(sees(&mut events, B, 120), "a gap of some seconds");
        short(&mut events, 140..=150);
        assert!(!sees(&mut events, C, 145), "it was over in between");
    }

    #[test]
    fn what_could_not_begin_takes_nobody_in() {
        let mut events = HostEvents::default();
        events.begin(A, "x", 0);
        events.withdraw(A);
        short(&mut events, 1..=1);
        assert!(!sees(&mut events, B, 1) && events.hits("x").is_empty());
    }
}
