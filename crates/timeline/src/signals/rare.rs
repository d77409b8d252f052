//! Requests that are late now and then: too few to move a percentile of the seconds they fall into, but more than at other
//! times. They are looked for where nothing else tells slow time, as a cluster in time (`scan`), so that a hiccup here and
//! there, which every service has, is none.

mod scan;

use std::ops::Range;

use super::{Signal, SignalKind, latency};
use crate::account::Account;
use crate::requests::users::Request;
use crate::sources::Sources;
use scan::Second;

/// A second whose requests are this many times as often late as at other times.
const FACTOR: f64 = 3.0;

/// Late requests that are no more than this part of all harm nobody who looks at a percentile.
const MIN_SHARE: f64 = 0.001;

/// Requests are looked for that take from so many times as long as what is late: where many are a little late at all times, much longer
/// ones stand out among few.
const LENGTHS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

/// The part of each second's requests that were late, and the seconds in which that is more than chance. `late_ns` is from
/// which length a request is late.
pub(crate) fn find(sources: &Sources<'_>, account: &Account, late_ns: f64) -> Option<(Signal, Vec<bool>, f64)> {
    let all = &account.requests_as_work()?.count;
    let late_ns = late_ns.max(latency::JITTER_P99_NS);
    let late: Vec<Request> = sources.requests().filter(|request| request.duration_ns() as f64 >= late_ns).collect();
    let of_length = |length: f64| {
        let as_long = late.iter().filter(|request| request.duration_ns() as f64 >= late_ns * length);
        let late = Late::of(account, all, as_long);
        let cluster = scan::cluster(&late.seconds, LENGTHS.len())?;
        Some((cluster.surprise, late.signal(account, &cluster.seconds)?))
    };
    let found = LENGTHS.into_iter().filter_map(of_length).max_by(|a, b| a.0.total_cmp(&b.0));
    found.map(|(_, signal)| signal)
}

/// Late requests, second by second.
struct Late<'a> {
    /// How many, also those that overlap.
    late: Vec<f64>,
    all: &'a [f64],
    /// Instances; nothing in the seconds that tell nothing.
    seconds: Vec<Second>,
}

impl<'a> Late<'a> {
    /// `requests` in order of their beginning, and how many there are at `all`.
    fn of<'r>(account: &Account, all: &'a [f64], requests: impl Iterator<Item = &'r Request>) -> Late<'a> {
        let mut late = account.grid.zeros();
        let mut seconds: Vec<Second> = all.iter().map(|count| Second { all: *count, late: 0 }).collect();
        // Late requests at the same time are late for one reason: they are one instance.
        let mut until_ns = i64::MIN;
        for request in requests {
            let Some(bucket) = account.grid.bucket_of(request.from_ns) else { continue };
            late[bucket] += request.weight;
            seconds[bucket].late += u32::from(request.from_ns >= until_ns);
            until_ns = until_ns.max(request.to_ns);
        }
        let is_unusable = |index: &usize| is_unusable(account, *index);
        (0..seconds.len()).filter(is_unusable).for_each(|index| seconds[index] = Second::default());
        Late { late, all, seconds }
    }

    fn share(&self, buckets: impl Iterator<Item = usize>) -> f64 {
        let (few, all) = buckets.fold((0.0, 0.0), |sum, index| (sum.0 + self.late[index], sum.1 + self.all[index]));
        if all > 0.0 { few / all } else { 0.0 }
    }

    /// The signal, if there are enough of them in the cluster for somebody to be harmed.
    fn signal(&self, account: &Account, cluster: &Range<usize>) -> Option<(Signal, Vec<bool>, f64)> {
        let len = self.seconds.len();
        let is_other = |index: &usize| !cluster.contains(index) && !is_unusable(account, *index);
        let threshold = MIN_SHARE.max(FACTOR * self.share((0..len).filter(is_other)));
        if self.share(cluster.clone()) < threshold {
            return None;
        }
        let slow = (0..len).map(|index| cluster.contains(&index)).collect();
        let values = (0..len).map(|index| self.share(index..index + 1)).collect();
        let signal = Signal {
            kind: SignalKind::RareRequests,
            values,
            floor: MIN_SHARE,
            factor: FACTOR,
            alone: 1.0,
            run: 1,
            ideal_is_zero: false,
        };
        Some((signal, slow, threshold))
    }
}

/// Whether a second tells nothing of what is usual.
fn is_unusable(account: &Account, index: usize) -> bool {
    index < account.startup.warm_up_buckets || account.disturbed[index] || !account.recorded.contains(&index)
}
