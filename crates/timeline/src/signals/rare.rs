//! Requests that are late now and then: too few to move a percentile of their seconds, but more than at other times. They
//! are looked for in seconds that no other signal finds slow, as a cluster in time (`scan`). So a hiccup here and there,
//! which every service has, does not count.

mod scan;

use std::ops::Range;

use super::{Limits, Signal, SignalKind, latency};
use crate::account::Account;
use crate::sources::Sources;
use crate::traffic::users::{Request, lengths, quantile};
use scan::Second;

/// Requests are looked for that take so many times as long as all but a twentieth: where many are a little late at all times, much
/// longer ones stand out among few.
const LENGTHS: [f64; 5] = [4.0, 8.0, 16.0, 32.0, 64.0];

/// Of all requests, what the lengths are counted from: late ones are fewer than the others by far, and do not move it.
const USUAL: f64 = 0.95;

/// The part of each second's requests that were late, and the seconds in which that is more than chance. `told` are the
/// seconds that are known to be slow.
pub(crate) fn find(sources: &Sources<'_>, account: &Account, told: &[bool]) -> Option<(Signal, Vec<bool>, f64)> {
    let all = &account.requests_as_work()?.count;
    let usable: Vec<bool> = (0..all.len()).map(|index| !told[index] && is_usable(account, index)).collect();
    let is_usual = |request: &Request| account.grid.bucket_of(request.from_ns).is_some_and(|index| usable[index]);
    let usual_ns = quantile(&mut lengths(sources.traffic.requests().filter(is_usual)), USUAL)?;
    let least_ns = |times: f64| (usual_ns * times).max(latency::JITTER_P99_NS);
    let is_late = |request: &Request| request.duration_ns() as f64 >= least_ns(LENGTHS[0]);
    let late: Vec<Request> = sources.traffic.requests().filter(is_late).collect();
    let of_length = |times: f64| {
        let as_long = late.iter().filter(|request| request.duration_ns() as f64 >= least_ns(times));
        let late = Late::of(account, all, &usable, as_long);
        let cluster = scan::cluster(&late.seconds, LENGTHS.len())?;
        Some((cluster.surprise, late.signal(&cluster.seconds)?))
    };
    let found = LENGTHS.into_iter().filter_map(of_length).max_by(|a, b| a.0.total_cmp(&b.0));
    found.map(|(_, signal)| signal)
}

/// Late requests, second by second.
struct Late<'a> {
    /// How many, also those that overlap.
    late: Vec<f64>,
    all: &'a [f64],
    usable: &'a [bool],
    /// Instances; nothing in the seconds that tell nothing.
    seconds: Vec<Second>,
}

impl<'a> Late<'a> {
    /// `requests` in order of their beginning, and how many there are at `all`.
    fn of<'r>(
        account: &Account,
        all: &'a [f64],
        usable: &'a [bool],
        requests: impl Iterator<Item = &'r Request>,
    ) -> Late<'a> {
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
        (0..seconds.len()).filter(|index| !usable[*index]).for_each(|index| seconds[index] = Second::default());
        Late { late, all, usable, seconds }
    }

    fn share(&self, buckets: impl Iterator<Item = usize>) -> f64 {
        let buckets = buckets.filter(|index| self.usable[*index]);
        let (few, all) = buckets.fold((0.0, 0.0), |sum, index| (sum.0 + self.late[index], sum.1 + self.all[index]));
        if all > 0.0 { few / all } else { 0.0 }
    }

    /// The signal, if the cluster has enough late requests to harm users.
    fn signal(&self, cluster: &Range<usize>) -> Option<(Signal, Vec<bool>, f64)> {
        let len = self.seconds.len();
        let is_other = |index: &usize| !cluster.contains(index);
        let Limits { floor, factor, .. } = SignalKind::RareRequests.limits();
        let threshold = floor.max(factor * self.share((0..len).filter(is_other)));
        if self.share(cluster.clone()) < threshold {
            return None;
        }
        let slow = (0..len).map(|index| cluster.contains(&index) && self.usable[index]).collect();
        let values = (0..len).map(|index| self.share(index..index + 1)).collect();
        let signal = Signal::new(SignalKind::RareRequests, values);
        Some((signal, slow, threshold))
    }
}

/// Whether a second tells something of what is usual.
fn is_usable(account: &Account, index: usize) -> bool {
    index >= account.startup.warm_up_buckets && !account.disturbed[index] && account.recorded.contains(&index)
}
