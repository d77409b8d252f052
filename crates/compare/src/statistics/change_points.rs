//! Where a series of runs changes: E-divisive (Matteson & James, J. Am. Stat. Assoc. 2014).
//!
//! The series is cut where the energy distance between the runs before and after is largest. Whether that is more than chance is
//! tested by shuffling the runs within the pieces found so far: a cut counts if at most the wanted part of the shuffled series
//! can be cut as well. It needs no normal distribution, and its rate of false marks in a series without changes is the level itself.
//! Runs that drift do change, and get marks.

use serde::Serialize;

use super::mean;

/// Longer series would take minutes to shuffle.
pub const MAX_SERIES: usize = 1_000;

/// Fewer runs than this are no piece: one odd run is no change.
const LEAST_PIECE: usize = 3;

/// How often a series is shuffled; the smallest probability that can be computed is 1 in 500.
const SHUFFLES: usize = 499;

/// The same series gets the same marks each time.
const SEED: u64 = 46;

/// A lasting change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ChangePoint {
    /// The first run after it.
    pub at: usize,
    /// How likely as clear a change is when there is none.
    pub chance: f64,
    /// Mean of the logarithms after it less that before it, from and to the next changes.
    pub by: f64,
}

/// The changes of a series of logarithms, in order.
pub fn change_points(series: &[f64], level: f64) -> Vec<ChangePoint> {
    if series.len() > MAX_SERIES {
        return Vec::new();
    }
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut cuts = vec![0, series.len()];
    let mut chances = vec![0.0, 0.0];
    while let Some(best) = best_cut(series, &cuts) {
        let chance = chance(series, &cuts, best.energy, &mut random);
        if chance > level {
            break;
        }
        let place = cuts.partition_point(|cut| *cut < best.at);
        cuts.insert(place, best.at);
        chances.insert(place, chance);
    }
    let by = |place: usize| mean(&series[cuts[place]..cuts[place + 1]]) - mean(&series[cuts[place - 1]..cuts[place]]);
    (1..cuts.len() - 1).map(|place| ChangePoint { at: cuts[place], chance: chances[place], by: by(place) }).collect()
}

#[derive(Debug, Clone, Copy)]
struct Cut {
    at: usize,
    energy: f64,
}

/// The part of shuffled series that can be cut as clearly.
fn chance(series: &[f64], cuts: &[usize], energy: f64, random: &mut fastrand::Rng) -> f64 {
    let mut shuffled = series.to_vec();
    let mut as_clear = 0;
    for _ in 0..SHUFFLES {
        cuts.windows(2).for_each(|piece| random.shuffle(&mut shuffled[piece[0]..piece[1]]));
        let best = best_cut(&shuffled, cuts);
        as_clear += usize::from(best.is_some_and(|best| best.energy >= energy));
    }
    (as_clear + 1) as f64 / (SHUFFLES + 1) as f64
}

fn best_cut(series: &[f64], cuts: &[usize]) -> Option<Cut> {
    let of_piece = cuts.windows(2).filter_map(|piece| {
        let cut = best_cut_of(&series[piece[0]..piece[1]])?;
        Some(Cut { at: cut.at + piece[0], ..cut })
    });
    of_piece.max_by(|x, y| x.energy.total_cmp(&y.energy))
}

/// The best cut of a piece. What follows a cut may itself change later, so the runs after it are also taken up to each later one.
fn best_cut_of(piece: &[f64]) -> Option<Cut> {
    let distances = Distances::of(piece);
    let mut best: Option<Cut> = None;
    for at in LEAST_PIECE..(piece.len() + 1).saturating_sub(LEAST_PIECE) {
        for to in at + LEAST_PIECE..=piece.len() {
            let energy = distances.energy(at, to);
            if best.is_none_or(|best| energy > best.energy) {
                best = Some(Cut { at, energy });
            }
        }
    }
    best
}

/// Sums of the distances between all runs of a piece.
struct Distances {
    len: usize,
    /// Sum over the pairs `i < j` with `j < to` and `i < from`, at `from * (len + 1) + to`.
    sums: Vec<f64>,
}

impl Distances {
    fn of(piece: &[f64]) -> Distances {
        let len = piece.len();
        let mut sums = vec![0.0; (len + 1) * (len + 1)];
        for from in 1..=len {
            let mut row = 0.0;
            for to in 1..=len {
                if from < to {
                    row += (piece[from - 1] - piece[to - 1]).abs();
                }
                sums[from * (len + 1) + to] = sums[(from - 1) * (len + 1) + to] + row;
            }
        }
        Distances { len, sums }
    }

    /// The energy distance between the runs up to `at` and those from there up to `to`.
    fn energy(&self, at: usize, to: usize) -> f64 {
        let sum = |from: usize, to: usize| self.sums[from * (self.len + 1) + to];
        let (before, after) = (at as f64, (to - at) as f64);
        let within_before = sum(at, at);
        let between = sum(at, to) - within_before;
        let within_after = sum(to, to) - sum(at, to);
        let pairs = |count: f64| count * (count - 1.0) / 2.0;
        let distance = 2.0 * between / (before * after) - within_before / pairs(before) - within_after / pairs(after);
        before * after / (before + after) * distance
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::FALSE_ALARMS;
    use crate::statistics::simulated::Noise;

    #[test]
    fn energy_is_what_its_definition_says() {
        let piece: [f64; 5] = [1.0, 4.0, 2.0, 8.0, 9.0];
        let pairs = |x: &[f64], y: &[f64]| -> f64 { x.iter().flat_map(|x| y.iter().map(move |y| (x - y).abs())).sum() };
        let (x, y) = piece.split_at(3);
        let expected = 3.0 * 2.0 / 5.0 * (2.0 * pairs(x, y) / 6.0 - pairs(x, x) / 6.0 - pairs(y, y) / 2.0);
        assert!((Distances::of(&piece).energy(3, 5) - expected).abs() < 1e-9);
    }

    /// Both marks in all series, and no other in most: the level is the rate of each further mark as well.
    #[test]
    fn a_fix_that_goes_out_and_in_has_two_marks() {
        const SERIES: u64 = 200;
        let marks_of = |seed: u64| -> Vec<usize> {
            let mut noise = Noise::quiet(seed);
            let out = |index: usize| if (10..20).contains(&index) { 0.3 } else { 0.0 };
            let series: Vec<f64> = (0..30).map(|index| noise.run() + out(index)).collect();
            change_points(&series, FALSE_ALARMS / 2.0).iter().map(|mark| mark.at).collect()
        };
        let all: Vec<Vec<usize>> = (0..SERIES).map(marks_of).collect();
        assert!(all.iter().all(|marks| marks.contains(&10) && marks.contains(&20)), "{all:?}");
        let others = all.iter().filter(|marks| marks.len() > 2).count();
        assert!(others <= 5 + 7, "{others} of {SERIES}");
    }

    /// The level is the rate; binomial error of 200 series is 1.5 %.
    #[test]
    fn series_without_changes_have_few_marks() {
        let marked = (0..200).filter(|seed| {
            let mut noise = Noise::busy(*seed);
            let series: Vec<f64> = (0..30).map(|_| noise.run()).collect();
            !change_points(&series, FALSE_ALARMS).is_empty()
        });
        let marked = marked.count();
        assert!(marked <= 10 + 6, "{marked} of 200");
    }

    #[test]
    fn short_and_constant_series_have_none() {
        for series in [vec![], vec![1.0; 2], vec![1.0; 5], vec![1.0; 40]] {
            assert!(change_points(&series, FALSE_ALARMS).is_empty(), "{series:?}");
        }
    }
}
