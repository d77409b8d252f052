//! Requests of the service, second by second: how many, how long, and how many more at once than usual.

pub(crate) mod divided;
pub(crate) mod quality;
mod queued;
mod silence;
pub(crate) mod unpaired;

use std::ops::Range;

use crate::grid::Grid;
use crate::intervals::Intervals;
use crate::median::median;
use crate::sources::Sources;
use crate::traffic::users::{Request, quantile};
use silence::{Silence, Silences};

/// Whoever waits for so long notices it, in ns.
pub const NOTICED_NS: f64 = 100e6;

/// Health checks, scrapes of metrics and administration are fewer in a second in which there are any.
pub(crate) const MANY_PER_SECOND: f64 = 10.0;

/// Requests, bucket by bucket.
#[derive(Debug, Clone, PartialEq)]
pub struct Requests {
    /// Requests that began.
    pub count: Vec<f64>,
    /// Median of their latency, in ns, with those around where they are few; `None` where there was no request. If none
    /// began because all clients waited: of those that were waited for.
    pub p50_ns: Vec<Option<f64>>,
    /// 99th percentile of their latency, in ns; likewise.
    pub p99_ns: Vec<Option<f64>>,
    /// The longest of those that were under way, in ns.
    pub longest_ns: Vec<Option<f64>>,
    /// Sum of their latency, in ns.
    pub sum_ns: Vec<f64>,
    /// The time of all requests that were under way, in ns: divided by the length of a bucket, how many at once.
    pub under_way_ns: Vec<f64>,
}

impl Requests {
    /// Those of a recording, if it has any.
    pub(crate) fn of(sources: &Sources<'_>) -> Option<Requests> {
        let grid = sources.grid;
        let mut latencies: Vec<Vec<(i64, f64)>> = vec![Vec::new(); grid.len];
        let [mut under_way_ns, mut sum_ns] = [grid.zeros(), grid.zeros()];
        let mut longest_ns: Vec<Option<f64>> = vec![None; grid.len];
        let mut silences = Silences::new(grid);
        for request in sources.traffic.requests() {
            silences.begins(&request);
            let duration_ns = request.duration_ns();
            let counted_ns = request.counted_ns.max(0) as f64 * request.weight;
            if let Some(bucket) = grid.bucket_of(request.from_ns) {
                latencies[bucket].push((duration_ns, request.weight));
                sum_ns[bucket] += counted_ns;
            }
            for longest in &mut longest_ns[touched(grid, request.from_ns, request.to_ns)] {
                *longest = Some(longest.unwrap_or(0.0).max(duration_ns as f64));
            }
            grid.spread(&mut under_way_ns, request.from_ns, request.to_ns, counted_ns);
        }
        let requests = latencies.iter().any(|bucket| !bucket.is_empty()).then(|| Requests {
            count: latencies.iter().map(|bucket| weight(bucket)).collect(),
            sum_ns,
            p50_ns: (0..grid.len).map(|index| median_around(&latencies, index)).collect(),
            p99_ns: latencies.iter_mut().map(|bucket| quantile(bucket, 0.99)).collect(),
            longest_ns,
            under_way_ns,
        })?;
        Some(requests.with_silences(grid, silences))
    }

    /// The same, but seconds in which none began because all clients waited are as slow as what was waited for.
    fn with_silences(mut self, grid: Grid, silences: Silences) -> Requests {
        let told = silences.all().into_iter().filter(|silence| silence.is_longer(&self.p99_ns));
        let told: Vec<Silence> = told.collect();
        for silence in told {
            for (bucket, mut lengths) in silence.hung(grid) {
                self.p50_ns[bucket] = quantile(&mut lengths, 0.5);
                self.p99_ns[bucket] = quantile(&mut lengths, 0.99);
            }
        }
        self
    }

    /// Whether requests were known to be waited for in a bucket in which none began.
    pub(crate) fn is_hung(&self, bucket: usize) -> bool {
        self.count[bucket] == 0.0 && self.p50_ns[bucket].is_some()
    }

    /// Whether they are so many that they are what the process is there for.
    pub(crate) fn are_many(&self) -> bool {
        let counts = self.count.iter().filter(|count| **count > 0.0);
        let (seconds, all) = counts.fold((0.0, 0.0), |(seconds, all), count| (seconds + 1.0, all + count));
        all >= MANY_PER_SECOND * seconds
    }

    /// The median of a usual second, in ns.
    pub fn usual_ns(&self) -> Option<f64> {
        median(self.p50_ns.iter().flatten().copied().collect())
    }

    /// Whether half of them took long from the first to the last second.
    pub fn are_long_throughout(&self) -> bool {
        self.usual_ns().is_some_and(|usual_ns| usual_ns >= NOTICED_NS)
    }

    /// The mean latency over some buckets, in ns; none without a request.
    pub fn mean_ns(&self, buckets: impl Iterator<Item = usize>) -> Option<f64> {
        let (sum, count) =
            buckets.fold((0.0, 0.0), |total, index| (total.0 + self.sum_ns[index], total.1 + self.count[index]));
        (count > 0.0).then(|| sum / count)
    }

    /// The mean latency of a bucket and the two beside it, in ns, with those around where they are few: one long request moves that of
    /// one bucket.
    pub(crate) fn mean_around_ns(&self, bucket: usize) -> Option<f64> {
        let count = |at: usize| self.count[at];
        let around = enough_around(self.count.len(), bucket, 1, count);
        (count(bucket) > 0.0).then(|| self.mean_ns(around))?
    }

    /// What 99 of 100 requests of some buckets stay below, in ns: within that a single one varies by itself.
    pub(crate) fn varies_to_ns(&self, buckets: impl Iterator<Item = usize>) -> Option<f64> {
        median(buckets.filter_map(|index| self.p99_ns[index]).collect())
    }
}

/// The median of a bucket's requests, with those around where they are few.
fn median_around(latencies: &[Vec<(i64, f64)>], index: usize) -> Option<f64> {
    if latencies[index].is_empty() {
        return None;
    }
    let around = enough_around(latencies.len(), index, 0, |at| weight(&latencies[at]));
    quantile(&mut latencies[around].concat(), 0.5)
}

/// The buckets whose requests tell what is usual about one of them. Of a few it is chance, most of all of long polls, which take some
/// seconds each: then those around it count as well, as far as is needed, and `least` in any case. A change has the same edge then;
/// what is shorter the 99th percentile tells.
pub(crate) fn enough_around(len: usize, index: usize, least: usize, count: impl Fn(usize) -> f64) -> Range<usize> {
    const MIN_REQUESTS: f64 = 20.0;
    const FURTHEST_BUCKETS: usize = 5;
    let around = |far: usize| index.saturating_sub(far)..(index + far + 1).min(len);
    let is_enough = |far: &usize| around(*far).map(&count).sum::<f64>() >= MIN_REQUESTS;
    around((least..FURTHEST_BUCKETS).find(is_enough).unwrap_or(FURTHEST_BUCKETS))
}

/// How many some requests stand for.
fn weight(latencies: &[(i64, f64)]) -> f64 {
    // `sum()` of an empty iterator of floats is -0.0.
    0.0 + latencies.iter().map(|(_, weight)| weight).sum::<f64>()
}

/// By how much requests were late, bucket by bucket.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lateness {
    /// All of them together, in ns: the time of those under way beyond what as many would usually take (Little's law).
    pub all_ns: Vec<f64>,
    /// Those that were late by more than a single one varies, together, in ns.
    pub each_ns: Vec<f64>,
    /// How many of those began.
    pub count: Vec<f64>,
    /// The time in which at least one of those was, in ns.
    pub any_ns: Vec<f64>,
}

impl Lateness {
    /// Against what is usual about then, bucket by bucket; a single request is late when it takes longer than `varies_to_ns`.
    pub(crate) fn of(sources: &Sources<'_>, requests: &Requests, usual_ns: &[f64], varies_to_ns: f64) -> Lateness {
        let grid = sources.grid;
        let late = |index: usize| (requests.under_way_ns[index] - requests.count[index] * usual_ns[index]).max(0.0);
        let all_ns = (0..grid.len).map(late).collect();
        let beyond = |request: Request| {
            let from_ns = request.from_ns.clamp(grid.start_ns, grid.end_ns().saturating_sub(1));
            let usual_ns = grid.bucket_of(from_ns).map(|index| usual_ns[index])?;
            let is_late = request.duration_ns() as f64 > varies_to_ns.max(usual_ns);
            is_late.then(|| (request.from_ns.saturating_add(usual_ns as i64), request.to_ns))
        };
        let late: Vec<(i64, i64)> = sources.traffic.requests().filter_map(beyond).collect();
        let spread = |times: &mut dyn Iterator<Item = (i64, i64)>| {
            let mut row = grid.zeros();
            times.for_each(|(from, to)| grid.spread(&mut row, from, to, to.saturating_sub(from) as f64));
            row
        };
        let each_ns = spread(&mut late.iter().copied());
        let mut count = grid.zeros();
        late.iter().filter_map(|(from_ns, _)| grid.bucket_of(*from_ns)).for_each(|bucket| count[bucket] += 1.0);
        Lateness { all_ns, each_ns, count, any_ns: spread(&mut Intervals::union(late).iter()) }
    }
}

/// The buckets that a request touches. One of many buckets is late in all of them; a damaged one has no end.
fn touched(grid: Grid, from_ns: i64, to_ns: i64) -> Range<usize> {
    const MAX_TOUCHED_BUCKETS: usize = 3_600;
    let first = grid.bucket_of(from_ns.max(grid.start_ns)).unwrap_or(grid.len);
    let last = grid.bucket_of(to_ns.min(grid.end_ns().saturating_sub(1))).map_or(first, |last| last + 1);
    first..last.clamp(first, first.saturating_add(MAX_TOUCHED_BUCKETS).min(grid.len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_of_few_is_that_of_those_around() {
        let second = |lengths: &[i64]| lengths.iter().map(|ns| (*ns, 1.0)).collect::<Vec<_>>();
        // Long polls of 1 to 7 s, a few in each second.
        let polls: Vec<Vec<(i64, f64)>> = (0..12).map(|at| second(&[1 + at % 2 * 6, 4, 1 + at % 2 * 6])).collect();
        let medians: Vec<Option<f64>> = (3..9).map(|at| median_around(&polls, at)).collect();
        assert_eq!(medians, [Some(4.0); 6]);
        // A change of few requests is where it is.
        let change: Vec<Vec<(i64, f64)>> = (0..20).map(|at| second(&[if at < 10 { 1 } else { 9 }])).collect();
        let medians = [8, 9, 10, 11].map(|at| median_around(&change, at));
        assert_eq!(medians, [Some(1.0), Some(1.0), Some(9.0), Some(9.0)]);
        // Enough for themselves, and none.
        let many = [second(&[1; 30]), second(&[9; 30]), second(&[])];
        assert_eq!([0, 1, 2].map(|at| median_around(&many, at)), [Some(1.0), Some(9.0), None]);
    }
}
