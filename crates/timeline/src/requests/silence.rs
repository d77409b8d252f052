//! Seconds in which no request begins because all clients wait. Clients that send a request only after the previous answer
//! (a connection pool, a load generator) fall silent when the service hangs. Such seconds are as slow as the requests that
//! are waited for. There is also silence when clients have no more requests: then long polls or the last requests of a slow
//! time may be in flight. So silence counts only if most of the last requests are still in flight and slower than earlier
//! ones, and more would have come.

use std::collections::VecDeque;
use std::ops::Range;

use crate::grid::Grid;
use crate::median::median;
use crate::traffic::users::{LATE_FROM, Request, count, lengths};

/// The number of last requests that show whether all clients wait: a single one may be a long poll.
const LAST: f64 = 5.0;

/// If requests came as before, one of a hundred and fifty silences in which so many are expected would be chance.
const EXPECTED: f64 = 5.0;

/// How many seconds before a silence tell how often requests came.
const BEFORE_BUCKETS: usize = 30;

/// How many tell how long they took: the last one or two are those in which it began to hang.
const SHORTLY_BEFORE_BUCKETS: usize = 5;

/// Seconds in a row in which no request began, and those that came last before.
#[derive(Debug)]
pub(super) struct Silence {
    buckets: Range<usize>,
    last: Vec<Request>,
}

impl Silence {
    /// Whether others would have come if they had come as before.
    fn is_unexpected(&self, count: &[f64]) -> bool {
        let before = &count[self.before(BEFORE_BUCKETS)];
        let per_bucket = before.iter().sum::<f64>() / before.len().max(1) as f64;
        per_bucket * self.buckets.len() as f64 >= EXPECTED
    }

    /// Whether those that are waited for take longer than those that came shortly before; of these the slowest of each second.
    pub(super) fn is_longer(&self, p99_ns: &[Option<f64>]) -> bool {
        let before = p99_ns[self.before(SHORTLY_BEFORE_BUCKETS)].iter().flatten().copied();
        let longest_ns = self.last.iter().map(Request::duration_ns).max().unwrap_or(0);
        median(before.collect()).is_some_and(|usual_ns| longest_ns as f64 > LATE_FROM * usual_ns)
    }

    fn before(&self, buckets: usize) -> Range<usize> {
        self.buckets.start.saturating_sub(buckets)..self.buckets.start
    }

    /// Each second in which most of those that came last were under way, with their lengths.
    pub(super) fn hung(&self, grid: Grid) -> impl Iterator<Item = (usize, Vec<(i64, f64)>)> + '_ {
        let all = count(self.last.iter());
        let under_way = move |bucket: usize| {
            let are = || self.last.iter().filter(|request| request.to_ns > grid.start_of(bucket));
            (2.0 * count(are()) > all).then(|| (bucket, lengths(are())))
        };
        // Each second more of them have been answered.
        self.buckets.clone().map_while(under_way)
    }
}

/// Finds them among requests in order of their beginning.
pub(super) struct Silences {
    grid: Grid,
    last: VecDeque<Request>,
    /// The first bucket after those that came.
    next: usize,
    /// How many came in each bucket: of days without many requests hardly any silence is kept.
    count: Vec<f64>,
    found: Vec<Silence>,
}

impl Silences {
    pub(super) fn new(grid: Grid) -> Silences {
        Silences { grid, last: VecDeque::new(), next: 0, count: grid.zeros(), found: Vec::new() }
    }

    /// The next request begins.
    pub(super) fn begins(&mut self, request: &Request) {
        if let Some(bucket) = self.grid.bucket_of(request.from_ns) {
            self.silent_until(bucket);
            self.next = bucket + 1;
            self.count[bucket] += request.weight;
        }
        self.last.push_back(*request);
        let mut weight = count(self.last.iter());
        while self.last.front().is_some_and(|first| weight - first.weight >= LAST) {
            weight -= self.last.pop_front().map_or(0.0, |first| first.weight);
        }
    }

    fn silent_until(&mut self, bucket: usize) {
        let buckets = self.next..bucket;
        if buckets.is_empty() {
            return;
        }
        let silence = Silence { last: self.last.iter().copied().collect(), buckets };
        if silence.is_unexpected(&self.count) && silence.hung(self.grid).next().is_some() {
            self.found.push(silence);
        }
    }

    /// All that are unexpected; the last one may go on to the end.
    pub(super) fn all(mut self) -> Vec<Silence> {
        self.silent_until(self.grid.len);
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn request(from_ms: i64, length_ms: i64, weight: f64) -> Request {
        Request { weight, ..Request::answered(from_ms * MS, (from_ms + length_ms) * MS) }
    }

    /// The seconds of a minute in which all clients waited.
    fn hung(mut requests: Vec<Request>) -> Vec<usize> {
        let grid = Grid::covering(0, 60_000 * MS);
        let mut silences = Silences::new(grid);
        let mut longest = vec![None; grid.len];
        requests.sort_by_key(|request| request.from_ns);
        for request in &requests {
            silences.begins(request);
            let bucket = grid.bucket_of(request.from_ns).unwrap();
            longest[bucket] = longest[bucket].max(Some(request.duration_ns()));
        }
        let longest: Vec<Option<f64>> = longest.into_iter().map(|ns| ns.map(|ns| ns as f64)).collect();
        let found = silences.all();
        let told = found.iter().filter(|silence| silence.is_longer(&longest));
        told.flat_map(|silence| silence.hung(grid)).map(|(bucket, _)| bucket).collect()
    }

    fn every(step_ms: usize, seconds: Range<i64>, length_ms: i64) -> impl Iterator<Item = Request> {
        (seconds.start * 1_000..seconds.end * 1_000).step_by(step_ms).map(move |ms| request(ms, length_ms, 1.0))
    }

    #[test]
    fn everybody_waits() {
        let clients = |ms: i64| (0..10).map(move |nth| request(30_000 + nth, ms, 1.0));
        let quick = || every(20, 0..30, 10).chain(every(20, 50..60, 10));
        assert_eq!(hung(quick().chain(clients(20_000)).collect()), (31..50).collect::<Vec<_>>());
        // They are answered before, and no more requests come.
        assert_eq!(hung(quick().chain(clients(5_000)).collect()), (31..36).collect::<Vec<_>>());
        // They hang to the end.
        let hanging = every(20, 0..30, 10).chain(clients(30_000)).collect();
        assert_eq!(hung(hanging), (31..60).collect::<Vec<_>>());
        // One row may stand for many.
        let sampled = every(20, 0..30, 10).chain([request(30_000, 20_000, 10.0)]).chain(every(20, 50..60, 10));
        assert_eq!(hung(sampled.collect()), (31..50).collect::<Vec<_>>());
    }

    #[test]
    fn nobody_asks() {
        let poll = |ms: i64| request(ms, 30_000, 1.0);
        for (what, requests) in [
            ("traffic ends beside a long poll", every(20, 0..30, 10).chain([poll(20_000)]).collect()),
            ("a page is loaded and begins one", every(50, 29..30, 10).chain([poll(29_999)]).collect()),
            ("long polls are all there is", (0..6).map(|nth| poll(nth * 10_000)).collect()),
            ("the last of a slow time are answered", every(100, 0..50, 10_000).collect()),
            ("there are none", Vec::new()),
        ] {
            assert_eq!(hung(requests), Vec::<usize>::new(), "{what}");
        }
    }
}
