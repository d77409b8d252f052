//! Writes rows of counters only when a number has changed, and still with exact times.
//!
//! A number that stays the same makes no rows. When it changes, the old value is written first, with the time of the
//! last look, so that a rise is not spread over the quiet time.

use fathom_evidence::Recording;
use fathom_evidence::kinds::{loss, only_grows};
use fathom_evidence::tables::Counter;
use rustc_hash::FxHashMap;

/// More instances of one name than this are not kept at a time.
const MAX_INSTANCES: usize = 20_000;

/// An instance that was not seen for this long has gone (a socket that was closed) and makes room.
const GONE_NS: i64 = 10_000_000_000;

/// A number that does not change is still written this often, so that every stretch of a recording
/// that is cut or killed holds it.
const REPEAT_NS: i64 = 10_000_000_000;

/// The last that was seen of one number.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    value: f64,
    look_ns: i64,
    /// Time of the last row; 0 while there is none.
    row_ns: i64,
}

/// Which number a row is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name<'a> {
    pub(crate) name: &'static str,
    pub(crate) instance: &'a str,
    pub(crate) tid: i64,
    pub(crate) source: &'static str,
}

impl Seen {
    /// Takes the number as it is at `at_ns` and writes what is new about it.
    pub(crate) fn see(&mut self, found: &mut Recording, name: Name<'_>, at_ns: i64, value: f64) {
        let is_new = self.row_ns == 0;
        if is_new || value != self.value {
            if !is_new {
                self.close(found, name);
            }
            write(found, name, at_ns, value);
            *self = Seen { value, look_ns: at_ns, row_ns: at_ns };
        }
        self.look_ns = at_ns;
    }

    /// Writes that the number was the same until the last look.
    pub(crate) fn close(&mut self, found: &mut Recording, name: Name<'_>) {
        if self.look_ns > self.row_ns {
            write(found, name, self.look_ns, self.value);
            self.row_ns = self.look_ns;
        }
    }

    /// The last value.
    pub(crate) fn value(&self) -> f64 {
        self.value
    }
}

fn write(found: &mut Recording, name: Name<'_>, time_ns: i64, value: f64) {
    let row = Counter {
        time_ns,
        name: found.strings.intern(name.name),
        instance: found.strings.intern(name.instance),
        tid: name.tid,
        value,
        source: found.strings.intern(name.source),
    };
    found.counters.push(row);
}

/// A sum that is counted somewhere else from now on.
#[derive(Debug, Clone, Copy)]
enum Joint {
    /// What it was when it was seen last.
    Before(f64),
    /// What has to be added to what is counted now.
    After(f64),
}

/// The numbers of one collector that belong to no thread.
#[derive(Debug)]
pub(crate) struct ChangedCounters {
    source: &'static str,
    seen: FxHashMap<&'static str, FxHashMap<Box<str>, Seen>>,
    /// How sums go on that began anew meanwhile.
    joints: FxHashMap<&'static str, FxHashMap<Box<str>, Joint>>,
    /// When room was last made.
    tidied_ns: i64,
    /// Numbers that there was no room for.
    left_out: i64,
}

impl ChangedCounters {
    pub(crate) fn new(source: &'static str) -> ChangedCounters {
        ChangedCounters { source, seen: FxHashMap::default(), joints: FxHashMap::default(), tidied_ns: 0, left_out: 0 }
    }

    /// What follows is counted somewhere else: sums go on from where they are.
    pub(crate) fn begin_anew(&mut self) {
        let growing = self.seen.iter().filter(|(name, _)| only_grows(name));
        let joints = growing.map(|(name, instances)| {
            let last = instances.iter().map(|(instance, seen)| (instance.clone(), Joint::Before(seen.value)));
            (*name, last.collect())
        });
        self.joints = joints.collect();
    }

    /// The number as it would be if it had been counted in one place all the time.
    fn joined(&mut self, name: &str, instance: &str, value: f64) -> f64 {
        let Some(joint) = self.joints.get_mut(name).and_then(|joints| joints.get_mut(instance)) else { return value };
        if let Joint::Before(last) = *joint {
            *joint = Joint::After(last - value);
        }
        match *joint {
            Joint::Before(last) => last,
            Joint::After(missing) => value + missing,
        }
    }

    /// Takes a number as it is at `at_ns`.
    pub(crate) fn see(&mut self, found: &mut Recording, at_ns: i64, name: &'static str, instance: &str, value: f64) {
        let value = self.joined(name, instance, value);
        let instances = self.seen.entry(name).or_default();
        if instances.len() >= MAX_INSTANCES && at_ns - self.tidied_ns >= GONE_NS {
            self.tidied_ns = at_ns;
            instances.retain(|_, seen| at_ns - seen.look_ns < GONE_NS);
        }
        let has_room = instances.len() < MAX_INSTANCES;
        let name = Name { name, instance, tid: 0, source: self.source };
        match instances.get_mut(instance) {
            Some(seen) => {
                seen.see(found, name, at_ns, value);
                if at_ns - seen.row_ns >= REPEAT_NS {
                    seen.close(found, name);
                }
            }
            None if has_room => {
                let mut seen = Seen::default();
                seen.see(found, name, at_ns, value);
                instances.insert(instance.into(), seen);
            }
            None => self.left_out += 1,
        }
    }

    /// Writes for every number how long it was what it last was.
    pub(crate) fn close(&mut self, found: &mut Recording) {
        for (name, instances) in &mut self.seen {
            for (instance, seen) in instances {
                seen.close(found, Name { name, instance, tid: 0, source: self.source });
            }
        }
        if self.left_out > 0 {
            let says = format!(
                "{}: {} readings of a number were left out, as there were more than {MAX_INSTANCES} of its kind at a time",
                self.source, self.left_out
            );
            found.add_loss(self.source, loss::LIMIT, self.left_out, &says);
        }
    }
}

#[cfg(test)]
mod tests {
    use fathom_evidence::kinds::counter;

    use super::*;

    #[test]
    fn rows_tell_when_a_number_began_to_change() {
        let second = 1_000_000_000;
        for (seen, expected) in [
            (&[(1, 5.0)][..], &[(1, 5.0)][..]),
            (&[(1, 5.0), (2, 5.0), (3, 5.0)], &[(1, 5.0), (3, 5.0)]),
            (&[(1, 5.0), (2, 6.0), (3, 7.0)], &[(1, 5.0), (2, 6.0), (3, 7.0)]),
            (&[(1, 5.0), (2, 5.0), (3, 5.0), (4, 9.0)], &[(1, 5.0), (3, 5.0), (4, 9.0)]),
            // Unchanged for long: repeated.
            (&[(1, 5.0), (6, 5.0), (11, 5.0), (12, 5.0)], &[(1, 5.0), (11, 5.0), (12, 5.0)]),
        ] {
            let (mut numbers, mut found) = (ChangedCounters::new("test"), Recording::default());
            for (at, value) in seen {
                numbers.see(&mut found, at * second, "a_count", "x", *value);
            }
            numbers.close(&mut found);
            let rows: Vec<(i64, f64)> = found.counters.rows().map(|row| (row.time_ns / second, row.value)).collect();
            assert_eq!(rows, expected, "{seen:?}");
        }
    }

    #[test]
    fn sums_go_on_where_they_are_counted_anew_and_levels_do_not() {
        let (mut numbers, mut found) = (ChangedCounters::new("test"), Recording::default());
        let (sum, level) = (counter::CGROUP_THROTTLED_NS, counter::CGROUP_TASKS_COUNT);
        let mut see = |numbers: &mut ChangedCounters, at_ns, value| {
            for name in [sum, level] {
                numbers.see(&mut found, at_ns, name, "", value);
            }
        };
        see(&mut numbers, 1, 50.0);
        see(&mut numbers, 2, 60.0);
        numbers.begin_anew();
        see(&mut numbers, 3, 1_000.0);
        see(&mut numbers, 4, 1_005.0);
        for (name, expected) in [(sum, 65.0), (level, 1_005.0)] {
            let name = found.strings.find(name).unwrap();
            let last = found.counters.rows().rfind(|row| row.name == name).unwrap();
            assert_eq!(last.value, expected);
        }
    }

    #[test]
    fn instances_are_bounded_and_those_that_went_make_room() {
        let (mut numbers, mut found) = (ChangedCounters::new("test"), Recording::default());
        let most = MAX_INSTANCES as i64;
        let mut see = |at_ns: i64, from: i64, to: i64| {
            (from..to).for_each(|it| numbers.see(&mut found, at_ns, "a_count", &it.to_string(), 1.0));
            found.counters.rows().len() as i64
        };
        assert_eq!(see(1, 0, most + 5), most);
        assert_eq!(see(1 + GONE_NS, most, most + 7), most + 7, "the old ones were not seen again");
        numbers.close(&mut found);
        assert_eq!(found.losses.rows().map(|row| row.count).collect::<Vec<_>>(), [5]);
    }
}
