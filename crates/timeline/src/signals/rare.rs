//! Requests that are late now and then: too few to move a percentile of the seconds they fall into, but more than at other
//! times. They are looked for where nothing else tells slow time, as a cluster in time (`scan`), so that a hiccup here and
//! there, which every service has, is none.

mod scan;

use super::{Signal, SignalKind, latency};
use crate::account::Account;
use crate::sources::Sources;
use scan::Second;

/// A second whose requests are this many times as often late as at other times.
const FACTOR: f64 = 3.0;

/// Late requests that are no more than this part of all harm nobody who looks at a percentile.
const MIN_SHARE: f64 = 0.001;

/// The part of each second's requests that were late, and the seconds in which that is more than chance. `late_ns` is from
/// which length a request is late.
pub(crate) fn find(sources: &Sources<'_>, account: &Account, late_ns: f64) -> Option<(Signal, Vec<bool>, f64)> {
    let late_ns = late_ns.max(latency::JITTER_P99_NS);
    let requests = account.requests_as_work()?;
    let mut late = account.grid.zeros();
    let mut seconds: Vec<Second> = requests.count.iter().map(|count| Second { all: *count, late: 0 }).collect();
    // Late requests at the same time are late for one reason: they are one instance.
    let mut until_ns = i64::MIN;
    for request in sources.requests().filter(|request| request.duration_ns() as f64 >= late_ns) {
        let Some(bucket) = account.grid.bucket_of(request.from_ns) else { continue };
        late[bucket] += request.weight;
        seconds[bucket].late += u32::from(request.from_ns >= until_ns);
        until_ns = until_ns.max(request.to_ns);
    }
    let unusable = |index: usize| {
        index < account.startup.warm_up_buckets || account.disturbed[index] || !account.recorded.contains(&index)
    };
    (0..seconds.len()).filter(|index| unusable(*index)).for_each(|index| seconds[index] = Second::default());
    let cluster = scan::cluster(&seconds)?;
    let share = |buckets: &mut dyn Iterator<Item = usize>| {
        let (few, all) = buckets.fold((0.0, 0.0), |sum, index| (sum.0 + late[index], sum.1 + requests.count[index]));
        if all > 0.0 { few / all } else { 0.0 }
    };
    let inside = share(&mut cluster.clone());
    let is_other = |index: &usize| !cluster.contains(index) && !unusable(*index);
    let outside = share(&mut (0..seconds.len()).filter(is_other));
    if inside < MIN_SHARE.max(FACTOR * outside) {
        return None;
    }
    let slow = (0..seconds.len()).map(|index| cluster.contains(&index)).collect();
    let values = (0..seconds.len()).map(|index| share(&mut (index..index + 1))).collect();
    let threshold = MIN_SHARE.max(FACTOR * outside);
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
