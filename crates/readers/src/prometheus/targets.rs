//! The targets of the series, which of them are read, and when these were scraped.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::labels::Labels;
use super::metrics::{About, Is, meaning};
use super::parse::Point;

/// Most targets that are separated.
const TARGETS_MAX: usize = 1_000;

/// Instants that are kept of each: three days of every second.
const INSTANTS_MAX: usize = 1 << 18;

/// Names of metrics that are kept to be told.
const NAMES_MAX: usize = 10_000;

/// A number that only grows starts again near zero. What falls to more than this part of what it was is no such number.
const BEGINS_ANEW: f64 = 0.5;

/// What a first look at all series finds.
#[derive(Debug, Default)]
pub(super) struct Survey {
    targets: BTreeMap<String, Target>,
    /// Metrics that mean nothing here.
    pub(super) unknown: BTreeSet<String>,
    used: BTreeSet<String>,
    /// Metrics that should only grow and fall.
    pub(super) falling: BTreeSet<String>,
    pub(super) without_name: i64,
}

/// What has series of its own.
#[derive(Debug, Default)]
struct Target {
    about: BTreeSet<About>,
    /// When any of its series changed.
    changed: FxHashSet<i64>,
}

impl Survey {
    pub(super) fn see(&mut self, labels: &Labels, points: &[Point]) {
        let Some(name) = labels.name() else {
            self.without_name += 1;
            return;
        };
        let meaning = meaning(labels);
        let names = if meaning.is_some() { &mut self.used } else { &mut self.unknown };
        add(names, name);
        if meaning.as_ref().is_some_and(|(_, is)| is.only_grows()) && points.windows(2).any(falls) {
            add(&mut self.falling, name);
        }
        let target = labels.target();
        if self.targets.len() >= TARGETS_MAX && !self.targets.contains_key(&target) {
            return;
        }
        let target = self.targets.entry(target).or_default();
        target.about.extend(meaning.map(|(about, _)| about));
        let changes = points.windows(2).filter(|pair| pair[0].1 != pair[1].1).map(|pair| pair[1].0);
        let room = INSTANTS_MAX.saturating_sub(target.changed.len());
        target.changed.extend(changes.take(room));
    }

    /// Whether a metric is not read although it is known: it falls, or another library has the same, and says more.
    pub(super) fn is_left_out(&self, name: &str) -> bool {
        let is_twice = name.starts_with("jvm_gc_collection_") && self.used.contains("jvm_gc_pause_seconds_count");
        is_twice || self.falling.contains(name)
    }

    /// Whose series are read.
    pub(super) fn choose(&mut self) -> Chosen {
        self.unknown.retain(|name| !self.used.contains(name));
        let with = |about: About| self.targets.iter().filter(move |(_, target)| target.about.contains(&about));
        let names =
            |targets: Vec<(&String, &Target)>| targets.iter().map(|(name, _)| (*name).clone()).collect::<Vec<String>>();
        let machines = names(with(About::Machine).collect());
        let mut jvms = names(with(About::Jvm).collect());
        if jvms.is_empty() {
            let is_no_exporter = |(_, target): &(&String, &Target)| !target.about.contains(&About::Machine);
            jvms = names(with(About::Process).filter(is_no_exporter).collect());
        }
        let one = |names: &[String]| match names {
            [name] => self.targets.get(name).map(|target| (name.clone(), Instants::of(&target.changed))),
            _ => None,
        };
        Chosen { machine: one(&machines), jvm: one(&jvms), machines, jvms }
    }
}

fn add(names: &mut BTreeSet<String>, name: &str) {
    if names.len() < NAMES_MAX && !names.contains(name) {
        names.insert(name.to_owned());
    }
}

/// Whether a number falls that should not, and does not begin anew.
fn falls(pair: &[Point]) -> bool {
    pair[1].1 < pair[0].1 && pair[1].1 > pair[0].1 * BEGINS_ANEW
}

/// Whose series are read.
#[derive(Debug)]
pub(super) struct Chosen {
    machine: Option<(String, Instants)>,
    jvm: Option<(String, Instants)>,
    /// All that there are.
    pub(super) machines: Vec<String>,
    pub(super) jvms: Vec<String>,
}

impl Chosen {
    pub(super) fn is_none(&self) -> bool {
        self.machine.is_none() && self.jvm.is_none()
    }

    /// What a series means, and when it was scraped, if it is one of those that are read.
    pub(super) fn of(&self, labels: &Labels) -> Option<(Is, &Instants)> {
        let (about, is) = meaning(labels)?;
        let chosen = if about == About::Machine { &self.machine } else { &self.jvm };
        let (name, instants) = chosen.as_ref()?;
        (*name == labels.target()).then_some((is, instants))
    }
}

/// When a target was scraped, as far as its series show it.
#[derive(Debug)]
pub(super) struct Instants {
    changed: FxHashSet<i64>,
    /// The shortest time between two changes.
    step_ns: i64,
}

impl Instants {
    fn of(changed: &FxHashSet<i64>) -> Instants {
        let mut times: Vec<i64> = changed.iter().copied().collect();
        times.sort_unstable();
        let step_ns = times.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(0);
        Instants { changed: changed.clone(), step_ns }
    }

    /// The points of a series that were scraped, and not only repeated by the query: those at which anything changed. If nothing did for
    /// longer than two changes are apart, it was scraped and stood still.
    pub(super) fn scraped(&self, points: &[Point]) -> Vec<Point> {
        let mut kept: Vec<Point> = Vec::new();
        for (at, point) in points.iter().enumerate() {
            let since_ns = kept.last().map_or(i64::MAX, |last| point.0.saturating_sub(last.0));
            let is_last = at + 1 == points.len();
            if self.changed.contains(&point.0) || since_ns >= self.step_ns || is_last {
                kept.push(*point);
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &str) -> Labels {
        Labels::of_selector(text).unwrap()
    }

    #[test]
    fn what_stood_still_and_what_was_repeated() {
        let mut survey = Survey::default();
        // Asked for each second, scraped each two seconds, and idle from 6 on.
        let points = |values: [f64; 9]| {
            values.into_iter().enumerate().map(|(at, value)| (at as i64, value)).collect::<Vec<Point>>()
        };
        let busy = points([0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0]);
        let rare = points([0.0, 0.0, 0.0, 0.0, 9.0, 9.0, 9.0, 9.0, 9.0]);
        survey.see(&labels("node_intr_total{instance=\"a\"}"), &busy);
        survey.see(&labels("node_forks_total{instance=\"a\"}"), &rare);
        let chosen = survey.choose();
        let (_, instants) = chosen.of(&labels("node_forks_total{instance=\"a\"}")).unwrap();
        assert_eq!(instants.scraped(&rare), [(0, 0.0), (2, 0.0), (4, 9.0), (6, 9.0), (8, 9.0)]);
    }

    #[test]
    fn several_jvms_are_none() {
        let jvm = |instance: &str| labels(&format!("jvm_threads_current{{instance=\"{instance}\"}}"));
        let mut survey = Survey::default();
        survey.see(&jvm("a"), &[]);
        survey.see(&labels("process_open_fds{instance=\"exporter\"}"), &[]);
        assert!(survey.choose().of(&jvm("a")).is_some());
        survey.see(&jvm("b"), &[]);
        assert!(survey.choose().is_none());
        assert_eq!(survey.choose().jvms, ["instance=\"a\"", "instance=\"b\""]);
    }

    #[test]
    fn rates_under_the_name_of_a_counter_fall() {
        for (values, is_falling) in [([5.0, 6.0, 5.9], true), ([5.0, 6.0, 0.1], false), ([5.0, 5.0, 5.0], false)] {
            let mut survey = Survey::default();
            let points: Vec<Point> = values.into_iter().enumerate().map(|(at, value)| (at as i64, value)).collect();
            survey.see(&labels("node_intr_total"), &points);
            assert_eq!(survey.falling.contains("node_intr_total"), is_falling, "{values:?}");
        }
    }
}
