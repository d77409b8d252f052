//! How long a CPU quota throttled the process's control group, and whether requests felt that.
//!
//! If the quota was set before the recording began, there is no second without it to compare with. None is needed, as the
//! ideal is no throttling at all. But a quota also throttles work that no request waits for.

use fathom_evidence::kinds::counter;

use crate::account::Account;
use crate::grid::BUCKET_NS;
use crate::median::median;
use crate::sources::Sources;
use crate::states::{ThreadState, Wait};

/// What a quota did.
#[derive(Debug, Clone, PartialEq)]
pub struct Quota {
    /// The part of each bucket for which it stopped the group; a group that runs on several CPUs is stopped on each.
    pub shares: Vec<f64>,
    /// The same as part of the time in which the program had something to do and a recorder ran.
    pub share: f64,
    /// The usual length of one stop, in ns; a period at most.
    pub stop_ns: f64,
}

/// The default period of quotas, in ns.
const PERIOD_NS: f64 = 100e6;

impl Quota {
    /// What is known; `None` where throttling was not counted.
    pub fn of(sources: &Sources<'_>, account: &Account) -> Option<Quota> {
        let throttled = sources.counter_sum(counter::CGROUP_THROTTLED_NS);
        if throttled.0.len() < 2 {
            return None;
        }
        let grid = sources.grid;
        let share =
            |index: usize| throttled.rise_within(grid.start_of(index), grid.start_of(index + 1)) / BUCKET_NS as f64;
        let shares: Vec<f64> = (0..grid.len).map(|index| share(index).min(1.0)).collect();
        let at_work: Vec<f64> = buckets_at_work(account).map(|index| shares[index]).collect();
        let share = at_work.iter().sum::<f64>() / at_work.len().max(1) as f64;
        let rise = |name: &str| sources.counter_sum(name).rise_within(grid.start_ns, grid.end_ns());
        let (stopped_ns, stops) = (rise(counter::CGROUP_THROTTLED_NS), rise(counter::CGROUP_THROTTLED_COUNT));
        let stop_ns = if stops > 0.0 { (stopped_ns / stops).min(PERIOD_NS) } else { share * PERIOD_NS };
        Some(Quota { shares, share, stop_ns })
    }

    /// Whether requests may have felt it: they take as long as one stop, or long all the time. `None` where none are known.
    pub fn may_be_felt(&self, account: &Account) -> Option<bool> {
        let requests = account.requests.as_ref()?;
        let usual_p99_ns = median(requests.p99_ns.iter().flatten().copied().collect())?;
        Some(requests.are_long_throughout() || usual_p99_ns >= self.stop_ns)
    }
}

/// Buckets in which the program had something to do and a recorder ran.
fn buckets_at_work(account: &Account) -> impl Iterator<Item = usize> + '_ {
    account.observed.clone().filter(|index| account.idle.get(*index) == Some(&false))
}

/// How many threads of the application ran, and how many could have run but had no CPU, on average while there was something to do.
pub fn ran_and_waited(account: &Account) -> (f64, f64) {
    let length_ns = (buckets_at_work(account).count().max(1) as i64 * BUCKET_NS) as f64;
    let mean = |select: fn(ThreadState) -> bool| {
        let row = account.sum(select);
        buckets_at_work(account).map(|index| row[index]).sum::<f64>() / length_ns
    };
    (mean(|state| matches!(state, ThreadState::Running(_))), mean(|state| state == ThreadState::Runnable))
}

/// Whether waits for a CPU hold threads of the application up more than anything else that is known, and longer than they run.
pub(crate) fn waits_for_cpus_are_most(account: &Account) -> bool {
    let (ran, waited) = ran_and_waited(account);
    let is_other =
        |state: ThreadState| matches!(state, ThreadState::Blocked(wait) if !matches!(wait, Wait::Unnamed | Wait::Task));
    let others = account.sum(is_other).iter().sum::<f64>() / (account.grid.len.max(1) as i64 * BUCKET_NS) as f64;
    waited > ran.max(others)
}
