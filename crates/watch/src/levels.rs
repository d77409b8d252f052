//! Latencies as the kernel counts them: four levels to each doubling.
//!
//! A level is exact to about a fifth; latencies of a healthy service differ more than that from minute to minute.
//! Histories stay small: a day of one port is a few kilobytes.

/// Levels that there are: the lowest is everything below 1.25 µs, the highest some minutes.
pub const LEVELS: usize = 112;

/// Places for levels and for halves of them.
const PLACES: usize = 2 * LEVELS;

/// The lowest power of two that has levels of its own.
const FIRST_POWER: u32 = 10;

/// How long something took, to about a fifth.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(pub u8);

impl Level {
    /// The longest one.
    pub const HIGHEST: Level = Level(LEVELS as u8 - 1);

    /// The level of a length.
    pub fn of_ns(ns: u64) -> Level {
        let power = ns.max(1 << FIRST_POWER).ilog2();
        let quarter = if ns >> FIRST_POWER == 0 { 0 } else { (ns >> (power - 2)) & 3 };
        let level = u64::from(power - FIRST_POWER) * 4 + quarter;
        Level(level.min(LEVELS as u64 - 1) as u8)
    }

    /// The lowest level of which nothing is shorter than this.
    pub fn from_length(ns: u64) -> Level {
        let level = Level::of_ns(ns);
        if level.from_ns() < ns { level.above(1) } else { level }
    }

    /// The shortest length of it.
    pub fn from_ns(self) -> u64 {
        let (power, quarter) = (u32::from(self.0) / 4 + FIRST_POWER, u64::from(self.0) % 4);
        if self.0 == 0 { 0 } else { (1 << power) + (quarter << (power - 2)) }
    }

    /// What is longer than any of it: where the next level begins.
    pub fn to_ns(self) -> u64 {
        Level(self.0.saturating_add(1)).from_ns()
    }

    /// So many levels more.
    #[must_use]
    pub fn above(self, levels: u8) -> Level {
        Level(self.0.saturating_add(levels).min(PLACES as u8 - 1))
    }

    /// The same among half levels, which are as many again.
    #[must_use]
    pub fn in_halves(self) -> Level {
        Level(self.0.saturating_mul(2))
    }

    /// The shortest length of a half level.
    pub fn half_from_ns(self) -> u64 {
        let whole = Level(self.0 / 2);
        let (from_ns, to_ns) = (whole.from_ns(), whole.to_ns());
        if self.0.is_multiple_of(2) { from_ns } else { from_ns.midpoint(to_ns) }
    }
}

/// How many took how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latencies {
    counts: [u32; PLACES],
    all: u32,
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies { counts: [0; PLACES], all: 0 }
    }
}

impl Latencies {
    /// Adds so many of a level.
    pub fn add(&mut self, level: Level, count: u32) {
        let at = usize::from(level.0).min(PLACES - 1);
        self.counts[at] = self.counts[at].saturating_add(count);
        self.all = self.all.saturating_add(count);
    }

    /// Takes so many of a level away.
    pub fn remove(&mut self, level: Level, count: u32) {
        let at = usize::from(level.0).min(PLACES - 1);
        let count = count.min(self.counts[at]);
        self.counts[at] -= count;
        self.all -= count;
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Latencies) {
        other.levels().for_each(|(level, count)| self.add(level, count));
    }

    /// The levels that there are, with how many are of each, the shortest first.
    pub fn levels(&self) -> impl DoubleEndedIterator<Item = (Level, u32)> + '_ {
        let present = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        present.map(|(level, count)| (Level(level as u8), *count))
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.all
    }

    /// How many are of this level or a longer one.
    pub fn at_least(&self, level: Level) -> u32 {
        self.levels().filter(|(other, _)| *other >= level).map(|(_, count)| count).sum()
    }

    /// The level that this part of all does not exceed, the nearest one that there is.
    pub fn quantile(&self, part: f64) -> Option<Level> {
        self.place(part).map(|(level, _)| level)
    }

    /// The same to half a level, as if those of one level were spread evenly over it.
    pub fn quantile_in_halves(&self, part: f64) -> Option<Level> {
        self.place(part).map(|(level, within)| level.in_halves().above(u8::from(within > 0.5)))
    }

    /// The level in which this part of all ends, and after which part of those of that level.
    fn place(&self, part: f64) -> Option<(Level, f64)> {
        let rank = (f64::from(self.all) * part).ceil().max(1.0);
        let mut before = 0.0;
        self.levels().find_map(|(level, count)| {
            let within = (rank - before) / f64::from(count);
            before += f64::from(count);
            (within <= 1.0).then_some((level, within))
        })
    }

    /// The longest level but for so many.
    pub fn highest_but(&self, count: u32) -> Option<Level> {
        let mut left = count;
        let beyond = |(level, of_it): (Level, u32)| {
            if of_it > left {
                return Some(level);
            }
            left -= of_it;
            None
        };
        self.levels().rev().find_map(beyond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_those_of_the_kernel() {
        for level in 0..LEVELS as u8 {
            let from_ns = Level(level).from_ns();
            assert_eq!(Level::of_ns(from_ns), Level(level), "{from_ns}");
            assert_eq!(Level::of_ns(from_ns + from_ns / 8), Level(level), "{from_ns}");
        }
        assert_eq!((Level::of_ns(0), Level::of_ns(u64::MAX)), (Level(0), Level(111)));
        for (ns, from_ns) in [(0, 0), (1_792, 1_792), (1_793, 2_048), (50_000_000, 50_331_648), (5_000_000, 5_242_880)]
        {
            assert_eq!(Level::from_length(ns).from_ns(), from_ns, "{ns}");
        }
        assert_eq!((Level(3).from_ns(), Level(4).from_ns(), Level(5).from_ns()), (1792, 2048, 2560));
    }

    #[test]
    fn quantiles() {
        let mut latencies = Latencies::default();
        assert_eq!((latencies.quantile(0.5), latencies.highest_but(0)), (None, None));
        for (level, count) in [(10, 90), (20, 9), (40, 1)] {
            latencies.add(Level(level), count);
        }
        for (part, expected) in [(0.0, 10), (0.5, 10), (0.9, 10), (0.91, 20), (0.99, 20), (0.995, 40), (1.0, 40)] {
            assert_eq!(latencies.quantile(part), Some(Level(expected)), "{part}");
        }
        for (but, expected) in [(0, Some(40)), (1, Some(20)), (9, Some(20)), (10, Some(10)), (100, None)] {
            assert_eq!(latencies.highest_but(but), expected.map(Level), "{but}");
        }
        assert_eq!(latencies.at_least(Level(20)), 10);
        let halves = [0.2, 0.8, 0.95, 1.0].map(|part| latencies.quantile_in_halves(part));
        assert_eq!(halves, [20, 21, 41, 81].map(|half| Some(Level(half))));
        assert!(Level(40).half_from_ns() < Level(41).half_from_ns());
        assert_eq!((Level(40).half_from_ns(), Level(42).half_from_ns()), (Level(20).from_ns(), Level(21).from_ns()));
        latencies.remove(Level(20), 50);
        assert_eq!((latencies.count(), latencies.at_least(Level(20))), (91, 1));
    }
}
