//! Which kinds of messages, requests and answers the slow time has more or less of than the time it is compared with.
//!
//! All are lines of logs and are compared alike; what is said of messages here holds for them all.
//!
//! Two things have to differ, in the same direction: how often a kind comes per second, and its share of all messages. The
//! rate alone also differs when there is more traffic, the share alone also when another kind comes more often. Messages
//! come in bursts, so lines are not independent observations. A permutation test therefore exchanges blocks of some seconds
//! between slow and other time at random, so that a single burst in the slow time proves as little as it should. Among many
//! kinds some differ by chance: their part of all that are named is held at 5 % (Benjamini and Hochberg, 1995).

mod odds;
mod permuted;

use std::collections::BTreeMap;

use fathom_evidence::kinds::counter;

use crate::messages::odds::{Odds, Side};
use crate::messages::permuted::Permutations;
use crate::{Analysis, Intervals, Sources};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// Messages of the application, by what they have in common.
    Messages,
    /// Requests, by method and path.
    Requests,
    /// Requests, by the status of their answer.
    Statuses,
}

impl Lines {
    /// All of them, in the order of their numbers.
    pub const ALL: [Lines; 3] = [Lines::Messages, Lines::Requests, Lines::Statuses];

    fn counter(self) -> &'static str {
        match self {
            Lines::Messages => counter::LOG_MESSAGES_COUNT,
            Lines::Requests => counter::REQUEST_KINDS_COUNT,
            Lines::Statuses => counter::REQUEST_STATUS_COUNT,
        }
    }
}

/// Part of the kinds that are named which may differ by chance.
pub const FALSE_DISCOVERIES: f64 = 0.05;

/// The shorter time is divided into so many blocks, if it is long enough.
const BLOCKS: i64 = 5;

/// The shorter time has no more blocks than these.
const BLOCKS_MAX: i64 = 100;

/// With fewer blocks on either side chance alone could make any difference.
const BLOCKS_MIN: usize = 3;

/// Blocks are no shorter, as messages are counted by the second, and no longer, as bursts are shorter, in ns.
const BLOCK_NS: std::ops::RangeInclusive<i64> = 1_000_000_000..=60_000_000_000;

/// With fewer messages of a kind chance alone could make any difference.
const COUNT_MIN: f64 = 5.0;

/// Messages of the slow time against those of another.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Messages {
    /// How long the slow time is in ns, and the time it is compared with.
    pub lengths_ns: (i64, i64),
    /// How many messages there were in each.
    pub counts: (f64, f64),
    /// Whether both were long enough for so many kinds to tell differences from chance.
    pub is_comparable: bool,
    /// Every kind of message, the clearest difference first.
    pub kinds: Vec<Kind>,
}

/// A kind of message.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// Level, logger, and what its messages have in common.
    pub name: String,
    /// How many there were in the slow time, and in the other.
    pub counts: (f64, f64),
    /// Odds of a message to be of this kind in the slow time, by those in the other, with their 95 % interval.
    pub odds_ratio: f64,
    /// Its interval.
    pub odds_range: (f64, f64),
    /// How likely so large a difference is by chance; none where there are too few to tell.
    pub chance: Option<f64>,
    /// Whether it differs, as far as the rate of false discoveries allows to say.
    pub differs: bool,
}

impl Kind {
    /// How far its odds surely are from being equal: 0 where they may be equal.
    fn clearness(&self) -> f64 {
        let (low, high) = self.odds_range;
        if low > 1.0 { low.ln() } else { (-high.ln()).max(0.0) }
    }
}

/// Compares the messages of the slow time with those of its baseline. `None` where there are no messages, or no such times.
pub(crate) fn of(analysis: &Analysis<'_>, lines: Lines) -> Option<Messages> {
    let (others, base) = analysis.baseline_time(&analysis.slowdown)?;
    // Time that no log covers is not time without messages.
    let slow = covered(&analysis.sources, &analysis.slowdown.time, lines)?;
    let base = covered(others, &base, lines)?;
    let step_ns = step_ns(&analysis.sources, lines).max(step_ns(others, lines));
    let counted = counts((&analysis.sources, others), lines, &Blocks::new(&slow, &base, step_ns));
    (!counted.kinds.is_empty()).then(|| compare(&slow, &base, &counted))
}

/// From when to when the logs of a recording have messages.
pub fn covered_ns(sources: &Sources<'_>, lines: Lines) -> Option<(i64, i64)> {
    let series = sources.counters(lines.counter());
    let from_ns = series.values().filter_map(|series| series.0.first()).map(|point| point.0).min()?;
    let to_ns = series.values().filter_map(|series| series.0.last()).map(|point| point.0).max()?;
    Some((from_ns, to_ns))
}

/// In what steps messages were counted; long logs have longer ones.
fn step_ns(sources: &Sources<'_>, lines: Lines) -> i64 {
    let series = sources.counters(lines.counter()).into_values();
    let steps = series.filter_map(|series| series.rises().map(|(from, to, _)| to.saturating_sub(from)).min());
    steps.max().unwrap_or(0)
}

/// The part of some time that logs cover; none if that is nothing.
fn covered(sources: &Sources<'_>, time: &Intervals, lines: Lines) -> Option<Intervals> {
    let (from_ns, to_ns) = covered_ns(sources, lines)?;
    Some(time.clip(from_ns, to_ns)).filter(|time| !time.is_empty())
}

/// The kinds of messages of a recording by how often they came, where nothing is compared.
pub fn totals(sources: &Sources<'_>, lines: Lines) -> Vec<(String, f64)> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for ((name, _), series) in sources.counters(lines.counter()) {
        // Each file has a series of its own.
        *sums.entry(sources.recording.text(name)).or_default() += series.total_rise();
    }
    let mut totals: Vec<(String, f64)> = sums.into_iter().map(|(name, sum)| (name.to_owned(), sum)).collect();
    totals.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    totals
}

/// Pieces of time that are exchanged.
struct Blocks {
    /// Of the slow time first; each piece with the number of its block.
    slow: Vec<(i64, i64, usize)>,
    base: Vec<(i64, i64, usize)>,
    slow_len: usize,
    len: usize,
}

impl Blocks {
    /// Blocks of at least a step, and not so many that exchanging them takes long.
    fn new(slow: &Intervals, base: &Intervals, step_ns: i64) -> Blocks {
        let shorter_ns = slow.total_ns().min(base.total_ns());
        let length_ns = (shorter_ns / BLOCKS).clamp(*BLOCK_NS.start(), *BLOCK_NS.end());
        let length_ns = length_ns.max(step_ns).max(shorter_ns / BLOCKS_MAX);
        let (slow, slow_len) = cut(slow, length_ns, 0);
        let (base, len) = cut(base, length_ns, slow_len);
        Blocks { slow, base, slow_len, len }
    }
}

/// Cuts time into blocks of a length, numbered from `first` on; the last one may be half as long, or half as long again.
fn cut(time: &Intervals, length_ns: i64, first: usize) -> (Vec<(i64, i64, usize)>, usize) {
    let last = (time.total_ns().saturating_add(length_ns / 2) / length_ns).max(1).saturating_sub(1);
    let (mut pieces, mut done_ns) = (Vec::new(), 0_i64);
    for (from, to) in time.iter() {
        let mut at = from;
        while at < to {
            let block = (done_ns / length_ns).min(last);
            let left_ns = if block == last { i64::MAX } else { (block + 1).saturating_mul(length_ns) - done_ns };
            let end = to.min(at.saturating_add(left_ns));
            pieces.push((at, end, first + block as usize));
            done_ns = done_ns.saturating_add(end.saturating_sub(at));
            at = end;
        }
    }
    (pieces, first + last as usize + 1)
}

/// Messages of each kind in each block, slow ones first, and how long each block is.
struct Counted {
    kinds: BTreeMap<String, Vec<f64>>,
    lengths_ns: Vec<f64>,
    slow_len: usize,
}

fn counts((slow, base): (&Sources<'_>, &Sources<'_>), lines: Lines, blocks: &Blocks) -> Counted {
    let lengths_ns = vec![0.0; blocks.len];
    let mut counted = Counted { kinds: BTreeMap::new(), lengths_ns, slow_len: blocks.slow_len };
    for (sources, pieces) in [(slow, &blocks.slow), (base, &blocks.base)] {
        pieces.iter().for_each(|(from, to, block)| counted.lengths_ns[*block] += to.saturating_sub(*from) as f64);
        for ((name, _), series) in sources.counters(lines.counter()) {
            let name = sources.recording.text(name);
            let counts = counted.kinds.entry(name.to_owned()).or_insert_with(|| vec![0.0; blocks.len]);
            for (from, to, count) in series.rises() {
                let first = pieces.partition_point(|piece| piece.1 <= from);
                for (start, end, block) in pieces[first..].iter().take_while(|piece| piece.0 < to) {
                    let within_ns = to.min(*end).saturating_sub(from.max(*start)).max(0);
                    counts[*block] += count * within_ns as f64 / to.saturating_sub(from).max(1) as f64;
                }
            }
        }
    }
    // A kind may have come at other times only.
    counted.kinds.retain(|_, counts| counts.iter().sum::<f64>() > 0.0);
    counted
}

fn compare(slow: &Intervals, base: &Intervals, counted: &Counted) -> Messages {
    let Counted { kinds, lengths_ns, slow_len } = counted;
    let totals: Vec<f64> =
        (0..lengths_ns.len()).map(|block| kinds.values().map(|counts| counts[block]).sum()).collect();
    let are_enough = (*slow_len).min(totals.len() - slow_len) >= BLOCKS_MIN;
    let testable = kinds.values().filter(|counts| counts.iter().sum::<f64>() >= COUNT_MIN).count();
    let mut permutations = Permutations::new(*slow_len, totals.len(), testable);
    let (of_slow, of_base) = totals.split_at(*slow_len);
    let of_kind = |(name, counts): (&String, &Vec<f64>)| {
        let (in_slow, in_base) = counts.split_at(*slow_len);
        let odds = Odds::of(Side::of(in_slow, of_slow), Side::of(in_base, of_base));
        let is_testable = are_enough && counts.iter().sum::<f64>() >= COUNT_MIN;
        Kind {
            name: name.clone(),
            counts: (in_slow.iter().sum(), in_base.iter().sum()),
            odds_ratio: odds.ratio,
            odds_range: odds.range,
            chance: is_testable.then(|| permutations.chance(counts, &totals, lengths_ns)),
            differs: false,
        }
    };
    let mut kinds: Vec<Kind> = kinds.iter().map(of_kind).collect();
    discover(&mut kinds);
    // Several kinds that differ may pass where a single one cannot.
    let can_pass = 2.0 * least_chance(*slow_len, totals.len()) * testable as f64 <= FALSE_DISCOVERIES;
    let is_comparable = are_enough && (can_pass || kinds.iter().any(|kind| kind.differs));
    kinds.sort_by(|a, b| {
        let key = |kind: &Kind| (kind.differs, kind.clearness(), kind.counts.0 + kind.counts.1);
        key(b).partial_cmp(&key(a)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let lengths_ns = (slow.total_ns(), base.total_ns());
    Messages { lengths_ns, counts: (of_slow.iter().sum(), of_base.iter().sum()), is_comparable, kinds }
}

/// How likely it is that blocks that are exchanged at random lie as they do: one of all the ways to choose those of a side.
fn least_chance(slow_len: usize, len: usize) -> f64 {
    let few = slow_len.min(len.saturating_sub(slow_len));
    (0..few).map(|at| (at + 1) as f64 / (len - at) as f64).product()
}

/// Which kinds differ: the largest number of them of whose chances none is above its part of [`FALSE_DISCOVERIES`].
fn discover(kinds: &mut [Kind]) {
    let mut chances: Vec<f64> = kinds.iter().filter_map(|kind| kind.chance).collect();
    chances.sort_by(f64::total_cmp);
    let tested = chances.len() as f64;
    let below = |(index, chance): (usize, &f64)| *chance <= FALSE_DISCOVERIES * (index as f64 + 1.0) / tested;
    let last = chances.iter().enumerate().rev().find(|one| below(*one)).map(|(_, chance)| *chance);
    for kind in kinds {
        kind.differs = last.zip(kind.chance).is_some_and(|(last, chance)| chance <= last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: i64 = 1_000_000_000;

    /// Random numbers that are the same each time: those of the middle bits of a linear congruence.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % bound
        }

        /// So many on average, in bursts of some size.
        fn bursts(&mut self, mean_thousandths: u64, size: u64) -> f64 {
            let chances = 8;
            let burst = |random: &mut Random| random.below(1_000 * size * chances) < mean_thousandths;
            (0..chances).filter(|_| burst(self)).count() as f64 * size as f64
        }
    }

    /// Two minutes with a slow half minute, and kinds of messages of different frequency and burst sizes. The first
    /// `planted` kinds come more often in the slow time.
    fn run(random: &mut Random, planted: usize, times: u64) -> Messages {
        let slow = Intervals::union(vec![(40 * SECOND_NS, 70 * SECOND_NS)]);
        let base = Intervals::union(vec![(0, 40 * SECOND_NS), (70 * SECOND_NS, 120 * SECOND_NS)]);
        let blocks = Blocks::new(&slow, &base, SECOND_NS);
        let mut kinds = BTreeMap::new();
        for kind in 0..30 {
            let (mean, size) = ([200, 1_000, 5_000][kind % 3], [1, 1, 4][kind / 3 % 3]);
            let mut counts = vec![0.0; blocks.len];
            for (from, to, block) in blocks.slow.iter().chain(&blocks.base) {
                let more = if *block < blocks.slow_len && kind < planted { times } else { 1 };
                let seconds = (to - from) / SECOND_NS;
                counts[*block] += (0..seconds).map(|_| random.bursts(mean * more, size)).sum::<f64>();
            }
            kinds.insert(format!("{kind}"), counts);
        }
        let lengths_ns = vec![6e9; blocks.len];
        compare(&slow, &base, &Counted { kinds, lengths_ns, slow_len: blocks.slow_len })
    }

    #[test]
    fn chance_alone_is_hardly_ever_named() {
        let mut random = Random(1);
        let runs = 200;
        let wrong = (0..runs).filter(|_| run(&mut random, 0, 1).kinds.iter().any(|kind| kind.differs)).count();
        // 5 % are allowed; three standard errors of that are 4.6 %.
        assert!(wrong * 1_000 <= runs * 96, "{wrong} of {runs}");
    }

    #[test]
    fn what_comes_more_often_is_named() {
        let mut random = Random(2);
        let (mut right, mut wrong) = (0, 0);
        for _ in 0..20 {
            for kind in run(&mut random, 3, 4).kinds.iter().filter(|kind| kind.differs) {
                let is_planted = kind.name.parse::<usize>().unwrap() < 3;
                (right, wrong) = if is_planted { (right + 1, wrong) } else { (right, wrong + 1) };
            }
        }
        // Kinds with 1 and 5 messages per second are always found; one with 0.2 is, now and then.
        assert!(right >= 36 && wrong * 10 <= right, "{right} right, {wrong} wrong");
    }

    #[test]
    fn few_blocks_can_be_chosen_in_few_ways() {
        for (slow_len, len, ways) in [(5, 10, 252.0), (15, 20, 15_504.0), (0, 3, 1.0)] {
            assert!((least_chance(slow_len, len) * ways - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn blocks_cover_their_time_and_no_other() {
        for (slow, base) in [
            (vec![(0, 7)], vec![(7, 30)]),
            (vec![(0, 1), (5, 6), (9, 10)], vec![(1, 5)]),
            (vec![(0, 900)], vec![(900, 1_900)]),
        ] {
            let of = |spans: &[(i64, i64)]| {
                Intervals::union(spans.iter().map(|(from, to)| (from * SECOND_NS, to * SECOND_NS)).collect())
            };
            let (slow, base) = (of(&slow), of(&base));
            let blocks = Blocks::new(&slow, &base, SECOND_NS);
            let length = |pieces: &[(i64, i64, usize)]| pieces.iter().map(|(from, to, _)| to - from).sum::<i64>();
            assert_eq!((length(&blocks.slow), length(&blocks.base)), (slow.total_ns(), base.total_ns()));
            let numbers: std::collections::BTreeSet<usize> =
                blocks.slow.iter().chain(&blocks.base).map(|piece| piece.2).collect();
            assert_eq!(numbers.into_iter().collect::<Vec<_>>(), (0..blocks.len).collect::<Vec<_>>());
        }
    }
}
