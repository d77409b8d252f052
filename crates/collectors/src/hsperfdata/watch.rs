//! Which counters of the JVM become which words of the schema, and when they are written.

use fathom_evidence::Recording;
use fathom_evidence::kinds::counter;

use super::SOURCE;
use crate::jvm_counters::Counters;
use crate::jvm_counters::parse::Place;

const SECOND_NS: i64 = 1_000_000_000;

/// When a changed value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// At once: it changes with safepoints and collections only.
    Changed,
    /// Once a second: it changes all the time.
    Second,
    /// Once a second and after each collection.
    Collected,
}

/// A word and the counters whose sum it is.
struct Rule {
    word: &'static str,
    counters: &'static [&'static str],
    when: When,
}

const fn rule(word: &'static str, counters: &'static [&'static str], when: When) -> Rule {
    Rule { word, counters, when }
}

/// What every JVM has once.
const RULES: &[Rule] = &[
    rule(counter::SAFEPOINTS_COUNT, &["sun.rt.safepoints"], When::Changed),
    rule(counter::SAFEPOINT_TIME_NS, &["sun.rt.safepointTime"], When::Changed),
    rule(counter::SAFEPOINT_SYNC_NS, &["sun.rt.safepointSyncTime"], When::Changed),
    rule(counter::APPLICATION_TIME_NS, &["sun.rt.applicationTime"], When::Changed),
    rule(counter::METASPACE_USED_BYTES, &["sun.gc.metaspace.used"], When::Collected),
    rule(counter::COMPILE_COUNT, &["sun.ci.totalCompiles"], When::Second),
    rule(counter::COMPILE_TIME_NS, &["java.ci.totalTime"], When::Second),
    rule(counter::COMPILE_CODE_BYTES, &["sun.ci.nmethodSize"], When::Second),
    rule(counter::COMPILE_INVALIDATED_COUNT, &["sun.ci.totalInvalidates"], When::Second),
    rule(counter::COMPILE_BAILOUT_COUNT, &["sun.ci.totalBailouts"], When::Second),
    rule(counter::CLASSES_LOADED_COUNT, &["java.cls.loadedClasses", "java.cls.sharedLoadedClasses"], When::Second),
    rule(
        counter::CLASSES_UNLOADED_COUNT,
        &["java.cls.unloadedClasses", "java.cls.sharedUnloadedClasses"],
        When::Second,
    ),
    rule(counter::THREADS_COUNT, &["java.threads.live"], When::Second),
];

/// Beginnings of names behind which an instance stands.
const FAMILIES: &[(&str, &str, When)] = &[
    ("sun.gc.policy.", counter::GC_POLICY, When::Collected),
    ("sun.threads.cpu_time.", counter::JVM_THREADS_CPU_NS, When::Second),
];

/// A JVM has about 45 figures of policy.
const WATCHES_MAX: usize = 500;

/// One word that is followed.
#[derive(Debug)]
struct Watch {
    word: &'static str,
    instance: String,
    places: Vec<usize>,
    in_ticks: bool,
    when: When,
    /// Value, when it was written, and when it was last seen unchanged.
    last: Option<(f64, i64, i64)>,
}

/// All words that are followed.
#[derive(Debug, Default)]
pub(super) struct Watches {
    watches: Vec<Watch>,
    next_second_ns: i64,
}

impl Watches {
    /// Finds the places of all counters. Values written before stay known.
    pub(super) fn place(&mut self, counters: &Counters) {
        let mut old = std::mem::take(&mut self.watches);
        self.watches =
            RULES.iter().filter_map(|rule| watch(counters, rule.word, "", rule.counters, rule.when)).collect();
        self.watches.extend(families(counters));
        self.watches.extend(of_spaces(counters));
        self.watches.extend(of_collectors(counters));
        self.watches.truncate(WATCHES_MAX);
        for watch in &mut self.watches {
            let same = old.iter_mut().find(|other| other.word == watch.word && other.instance == watch.instance);
            watch.last = same.and_then(|other| other.last.take());
        }
    }

    /// Writes what has changed. `collected` is whether a collection ended since the last look.
    pub(super) fn look(
        &mut self,
        counters: &Counters,
        ticks: Ticks,
        now_ns: i64,
        collected: bool,
        found: &mut Recording,
    ) {
        let is_second = now_ns >= self.next_second_ns;
        if is_second {
            self.next_second_ns = now_ns + SECOND_NS;
        }
        for watch in &mut self.watches {
            let is_due = match watch.when {
                When::Changed => true,
                When::Second => is_second,
                When::Collected => is_second || collected,
            };
            if is_due {
                watch.look(counters, ticks, now_ns, found);
            }
        }
    }
}

impl Watch {
    fn look(&mut self, counters: &Counters, ticks: Ticks, now_ns: i64, found: &mut Recording) {
        let parts = self.places.iter().map(|place| counters.number_at(*place));
        let Some(sum) = parts.sum::<Option<i64>>() else { return };
        let value = if self.in_ticks { ticks.duration_ns(sum) as f64 } else { sum as f64 };
        match self.last {
            Some((old, written_ns, _)) if old == value => self.last = Some((old, written_ns, now_ns)),
            last => {
                // What stayed the same until the last look must not seem to have risen slowly since it was written.
                if let Some((old, _, seen_ns)) = last.filter(|(_, written_ns, seen_ns)| seen_ns > written_ns) {
                    found.add_counter(seen_ns, self.word, &self.instance, old, SOURCE);
                }
                found.add_counter(now_ns, self.word, &self.instance, value, SOURCE);
                self.last = Some((value, now_ns, now_ns));
            }
        }
    }
}

/// A word, if the JVM has all its counters.
fn watch(counters: &Counters, word: &'static str, instance: &str, names: &[&str], when: When) -> Option<Watch> {
    let mut in_ticks = false;
    let places = names.iter().map(|name| match counters.layout().place(name)? {
        Place::Number { at, in_ticks: has_ticks } => {
            in_ticks |= has_ticks;
            Some(at)
        }
        Place::Text(..) => None,
    });
    let places = places.collect::<Option<Vec<usize>>>()?;
    Some(Watch { word, instance: instance.to_owned(), places, in_ticks, when, last: None })
}

fn families(counters: &Counters) -> Vec<Watch> {
    let mut names: Vec<&str> = counters.layout().names().collect();
    names.sort_unstable();
    let of = |name: &str| {
        let (start, word, when) = FAMILIES.iter().find(|(start, _, _)| name.starts_with(start))?;
        watch(counters, word, &name[start.len()..], &[name], *when)
    };
    names.into_iter().filter_map(of).collect()
}

/// Spaces are named `young eden`, or by the generation alone when it has only one.
fn of_spaces(counters: &Counters) -> Vec<Watch> {
    let mut found = Vec::new();
    for (generation, space) in (0..3).flat_map(|generation| (0..8).map(move |space| (generation, space))) {
        let prefix = format!("sun.gc.generation.{generation}");
        let Some(name) = counters.text(&format!("{prefix}.name")) else { continue };
        let is_only = counters.number(&format!("{prefix}.spaces")) == Some(1);
        let of_space = counters.text(&format!("{prefix}.space.{space}.name")).unwrap_or_default();
        let instance = if is_only { name } else { format!("{name} {of_space}") };
        for (what, word) in [("used", counter::HEAP_SPACE_USED_BYTES), ("capacity", counter::HEAP_SPACE_CAPACITY_BYTES)]
        {
            found.extend(watch(
                counters,
                word,
                &instance,
                &[&format!("{prefix}.space.{space}.{what}")],
                When::Collected,
            ));
        }
    }
    found
}

fn of_collectors(counters: &Counters) -> Vec<Watch> {
    let mut found = Vec::new();
    for (index, name) in collectors(counters) {
        for (what, word) in [("invocations", counter::GC_RUNS_COUNT), ("time", counter::GC_TIME_NS)] {
            found.extend(watch(counters, word, &name, &[&format!("sun.gc.collector.{index}.{what}")], When::Changed));
        }
    }
    found
}

/// The collectors that a JVM has, with the numbers in their counters' names.
pub(crate) fn collectors(counters: &Counters) -> impl Iterator<Item = (usize, String)> {
    (0..4).filter_map(|index| Some((index, counters.text(&format!("sun.gc.collector.{index}.name"))?)))
}

/// The JVM's unit of time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticks {
    per_second: i64,
}

impl Ticks {
    /// As the JVM states it; nanoseconds otherwise, which it is on Linux.
    pub(super) fn of(counters: &Counters) -> Ticks {
        let stated = counters.number("sun.os.hrt.frequency");
        Ticks { per_second: stated.filter(|frequency| *frequency > 0).unwrap_or(SECOND_NS) }
    }

    /// A number of ticks in ns.
    pub(super) fn duration_ns(self, ticks: i64) -> i64 {
        let ns = i128::from(ticks) * i128::from(SECOND_NS) / i128::from(self.per_second);
        i64::try_from(ns).unwrap_or(i64::MAX)
    }
}
