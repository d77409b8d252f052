//! Signs of slowness that need no baseline, where nothing was found slow: the CPU quota stops the process, threads wait for
//! a CPU longer than they run, code is interpreted as the compiler is off. They may be older than the recording. Only
//! requests show whether anything waits for that work: where these are known and quick, the signs do not count.

use fathom_timeline::{INTERPRETED_SHARE, Layer, Quota, ThreadState, ran_and_waited};

use crate::comparison::Comparison;
use crate::format;
use crate::latency;
use crate::measure::code_cache::CodeCache;

/// With less of the time than this a quota is met now and then, by a burst.
const THROTTLED: f64 = 0.1;

/// With fewer threads waiting for a CPU than this, on average, there is hardly any work that waits.
const WAITING_THREADS: f64 = 0.1;

/// From this part of the time in which threads could run on they wait for longer than they run.
const WAITING: f64 = 0.5;

/// What there is of them.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Signs {
    /// The part of the time for which a CPU quota stopped the process.
    pub(crate) throttled: Option<f64>,
    /// The part of the time in which the application's threads could run for which they had no CPU.
    pub(crate) waiting: Option<f64>,
    /// The part of the application's code that ran interpreted, where the compiler is off for lack of room for its code.
    pub(crate) interpreted: Option<f64>,
}

impl Signs {
    /// Of a recording in which nothing was found slow.
    pub(crate) fn of(comparison: &Comparison<'_>) -> Signs {
        let account = &comparison.analysis.account;
        let are_quick = account.requests.as_ref().is_some_and(|requests| !requests.are_long_throughout());
        if comparison.is_slow() || latency::has_latency(comparison) && are_quick && !may_be_felt(comparison) {
            return Signs::default();
        }
        let throttled = quota(comparison).map(|quota| quota.share);
        Signs { throttled, waiting: waiting(comparison), interpreted: interpreted(comparison) }
    }

    /// What they are, as a part of a sentence.
    pub(crate) fn says(&self) -> Option<String> {
        let throttled = self
            .throttled
            .map(|share| format!("a CPU quota stopped the process for up to {} of the time", format::percent(share)));
        let waiting = self.waiting.map(|share| {
            format!("its threads had no CPU for {} of the time in which they could have run", format::percent(share))
        });
        let interpreted = self.interpreted.map(|share| {
            format!(
                "the compiler is off since the code cache was full and {} of its code ran interpreted",
                format::percent(share)
            )
        });
        let all: Vec<String> = throttled.into_iter().chain(waiting).chain(interpreted).collect();
        (!all.is_empty()).then(|| all.join(", and "))
    }
}

/// Whether requests are known, all the time or nearly so, none was slow, and a CPU quota stopped nothing that they waited for.
pub(crate) fn no_request_felt_the_quota(comparison: &Comparison<'_>) -> bool {
    !comparison.is_slow() && latency::has_latency(comparison) && !may_be_felt(comparison)
}

/// Whether there is a quota that requests may have felt, as far as they are known.
fn may_be_felt(comparison: &Comparison<'_>) -> bool {
    quota(comparison).is_some_and(|quota| quota.may_be_felt(&comparison.analysis.account) != Some(false))
}

/// What a CPU quota did, if it met more than a burst now and then.
fn quota(comparison: &Comparison<'_>) -> Option<Quota> {
    Quota::of(comparison.sources(), &comparison.analysis.account).filter(|quota| quota.share >= THROTTLED)
}

fn waiting(comparison: &Comparison<'_>) -> Option<f64> {
    let (ran, waited) = ran_and_waited(&comparison.analysis.account);
    let share = waited / (ran + waited);
    (ran > 0.0 && waited >= WAITING_THREADS && share >= WAITING).then_some(share)
}

fn interpreted(comparison: &Comparison<'_>) -> Option<f64> {
    let account = &comparison.analysis.account;
    let of = |is_of: fn(ThreadState) -> bool| account.sum(is_of).iter().sum::<f64>();
    let ran = of(|state| matches!(state, ThreadState::Running(_)));
    let share = of(|state| state == ThreadState::Running(Layer::Interpreted)) / ran;
    let is_much = ran > 0.0 && share >= INTERPRETED_SHARE;
    (is_much && CodeCache::of(comparison).compiler_is_off() == Some(true)).then_some(share)
}
