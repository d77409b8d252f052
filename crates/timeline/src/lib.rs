//! The account of time: when it was slow, what the threads did then, and what they did otherwise.
//!
//! [`analyse`] goes from a recording to an [`Analysis`] in one direction:
//! [`Sources`] (the recording with sources chosen) → [`Account`] (thread time per state and second) →
//! [`Slowdown`] (slow and baseline seconds) → [`Excess`] (what the slow seconds have more of). No cause
//! is known here; causes claim parts of the excess later.

mod account;
mod collections;
mod cpu;
mod edges;
mod excess;
mod frames;
mod grid;
mod idle;
mod intervals;
mod looks;
mod median;
pub mod messages;
mod partition;
mod quota;
mod read_times;
mod requests;
mod rhythm;
#[cfg(test)]
mod scaffold;
mod scopes;
mod short_waits;
mod signals;
mod slowdown;
mod sources;
mod startup;
mod states;
mod stood_still;
mod stops;
mod suspicion;
mod threads;
mod traffic;
mod unanswered;
mod waits;
mod wakers;

pub use account::Account;
pub use collections::{OLD_GENERATION_FULL, used_share};
pub use edges::{Chain, Edges, Root, Waiting};
pub use excess::{Excess, StateExcess};
pub use frames::{begins_with, is_below};
pub use grid::{BUCKET_NS, Grid};
pub use intervals::Intervals;
pub use median::{median, quantile, ranks};
use messages::{Lines, Messages};
pub use partition::{Partition, Segment};
pub use quota::{Quota, ran_and_waited};
pub use read_times::TRACES;
pub use requests::divided::Divided;
pub use requests::quality::{Flaw, MOVES_P99};
pub use requests::unpaired::Unpaired;
pub use requests::{Lateness, NOTICED_NS, Requests};
pub use rhythm::Rhythm;
pub use signals::latency::JITTER_P99_NS;
pub use signals::{CODE_CACHE_PINNED, INTERPRETED_SHARE, SignalKind};
use slowdown::Regime;
pub use slowdown::{SlowInterval, Slowdown, SlowdownOptions, TriggeredSignal};
pub use sources::{Series, Sources};
pub use startup::Startup;
pub use states::{Collection, Hold, Layer, Origin, Scope, State, StateRow, Stop, ThreadState, Wait};
pub use stood_still::StoodStill;
pub use stops::StopSpan;
pub use traffic::Traffic;
pub use traffic::calls::Call;
pub use traffic::peers::is_loopback;
pub use traffic::unsent::Unsent;
pub use traffic::users::{AT_SOCKETS, Answer, Port, Request, count as requests_count, rank_of_requests};
pub use unanswered::Unanswered;
pub use waits::{RECLAIM, is_at_a_file, is_class_initialization, is_own, of_standing, telling_frame, waits_for_memory};
pub use wakers::Wakers;

use std::cell::OnceCell;

use fathom_evidence::Recording;

/// What the caller knows about the slowdown.
#[derive(Debug, Default, Clone, Copy)]
pub struct Options<'a> {
    /// When it was slow, if a person says so, in ns since the Unix epoch.
    pub slow: Option<(i64, i64)>,
    /// A recording of the same service when it was well.
    pub baseline: Option<&'a Recording>,
}

/// Everything that is known about the time of one recording.
#[derive(Debug)]
pub struct Analysis<'a> {
    /// The recording with its sources chosen.
    pub sources: Sources<'a>,
    /// Thread time by state and second.
    pub account: Account,
    /// Slow and baseline seconds.
    pub slowdown: Slowdown,
    /// What the slow seconds have more of; empty when nothing was slow.
    pub excess: Excess,
    /// The baseline, if it is another recording.
    pub baseline_recording: Option<BaselineRecording<'a>>,
    edges: OnceCell<Edges>,
    messages: [OnceCell<Option<Messages>>; Lines::ALL.len()],
}

/// A recording of the same service when it was well.
#[derive(Debug)]
pub struct BaselineRecording<'a> {
    /// The recording with its sources chosen.
    pub sources: Sources<'a>,
    /// Its thread time by state and second.
    pub account: Account,
    /// Which of its buckets are the baseline: those after start-up that are not slow.
    pub baseline: Vec<bool>,
    /// How high each signal is in it as a rule.
    levels: Vec<(SignalKind, f64)>,
    /// Whether both have requests at the same port, if measured at sockets: otherwise their usual latency is unknown.
    pub has_same_port: bool,
}

impl<'a> BaselineRecording<'a> {
    /// A recording beside another one, with which it is to be compared.
    fn beside(recording: &'a Recording, other: &mut Sources<'_>) -> Option<BaselineRecording<'a>> {
        let mut sources = Sources::new(recording)?;
        let has_same_port = other.traffic.compare_with(&mut sources.traffic);
        let account = Account::new(&sources);
        let slow = slowdown::find(&sources, &account, &SlowdownOptions::default()).slow;
        let baseline =
            slow.iter().enumerate().map(|(index, slow)| !slow && index >= account.startup.warm_up_buckets).collect();
        let levels = slowdown::levels(&sources, &account);
        Some(BaselineRecording { sources, account, baseline, levels, has_same_port })
    }
}

impl Analysis<'_> {
    /// The same account with some of the slow time only.
    pub fn only(&self, time: &Intervals) -> (Slowdown, Excess) {
        let slowdown = self.slowdown.only(self.account.grid, time);
        let excess = compare(&self.account, &slowdown, self.baseline_recording.as_ref());
        (slowdown, excess)
    }

    /// Where the slow requests of a port spent their time: those that took longer than twice what is usual there.
    pub fn divided(&self, port: &Port, usual_ns: f64) -> Divided {
        requests::divided::of(self, port, usual_ns)
    }

    /// Which threads waited for which.
    pub fn edges(&self) -> &Edges {
        self.edges.get_or_init(|| Edges::new(&self.sources, &self.account.partition))
    }

    /// Which kinds of messages (or requests) the slow time has more or less of. `None` where there are none, or no times to compare.
    /// As that takes long they are compared once: the slow time must not be another one afterwards.
    pub fn messages(&self, lines: Lines) -> Option<&Messages> {
        self.messages[lines as usize].get_or_init(|| messages::of(self, lines)).as_ref()
    }

    /// The question that is left where no exact requests say how it was: what more the code below Java did in the seconds in which it
    /// used more CPU, beside what the signals tell. `None` when there are none.
    pub fn suspicion(&self) -> Option<(Slowdown, Excess)> {
        let other = self.baseline_recording.as_ref();
        let options = SlowdownOptions { slow: None, levels: other.map_or(&[][..], |other| &other.levels) };
        let of_other = other.map(|other| (&other.sources, &other.account));
        let slowdown = slowdown::suspect(&self.sources, &self.account, &options, of_other)?;
        let excess = compare(&self.account, &slowdown, other);
        Some((slowdown, excess))
    }

    /// The same question where nothing tells how long requests took: what threads did in the seconds in which each arrival of data
    /// took more of their time.
    pub fn suspicion_of_service(&self) -> Option<(Slowdown, Excess)> {
        let other = self.baseline_recording.as_ref();
        let options = SlowdownOptions { slow: None, levels: other.map_or(&[][..], |other| &other.levels) };
        let slowdown = slowdown::suspect_service(&self.sources, &self.account, &options)?;
        let excess = compare(&self.account, &slowdown, other);
        Some((slowdown, excess))
    }

    /// All that was lost or ran in the recording, against nothing at all: where nothing was slow, that is what was seen.
    pub fn everything(&self) -> Excess {
        let grid = self.account.grid;
        let (slow, baseline) = (vec![true; grid.len], vec![false; grid.len]);
        let all = Slowdown { time: grid.marked(&slow), slow, baseline, ..Slowdown::default() };
        let mut excess = excess::compare(&self.account, &all, &self.account, &Vec::new);
        let running = excess.states.iter_mut().filter(|excess| matches!(excess.state, ThreadState::Running(_)));
        running.for_each(|excess| excess.baseline_ns = 0.0);
        excess
    }

    /// The time that some slow time is compared with, and the recording it is in. `None` when there is no such time.
    pub fn baseline_time(&self, slowdown: &Slowdown) -> Option<(&Sources<'_>, Intervals)> {
        let (sources, time) = match &self.baseline_recording {
            Some(other) => (&other.sources, other.account.grid.marked(&other.baseline)),
            None => (&self.sources, self.account.grid.marked(&slowdown.baseline)),
        };
        (time.total_ns() > 0).then_some((sources, time))
    }
}

/// Makes the account of a recording. `None` when it holds nothing that has a time.
pub fn analyse<'a>(recording: &'a Recording, options: &Options<'a>) -> Option<Analysis<'a>> {
    let mut sources = Sources::new(recording)?;
    let baseline_recording = options.baseline.and_then(|baseline| BaselineRecording::beside(baseline, &mut sources));
    let mut account = Account::new(&sources);
    let levels = baseline_recording.as_ref().map_or(&[][..], |other| &other.levels);
    let options = SlowdownOptions { slow: options.slow, levels };
    let slowdown = slowdown::find(&sources, &account, &options);
    account.lateness = lateness(&sources, &account, &slowdown, baseline_recording.as_ref());
    let excess = compare(&account, &slowdown, baseline_recording.as_ref());
    let (edges, messages) = Default::default();
    Some(Analysis { sources, account, slowdown, excess, baseline_recording, edges, messages })
}

/// By how much requests were late, against those of the baseline; none where either is not known.
fn lateness(
    sources: &Sources<'_>,
    account: &Account,
    slowdown: &Slowdown,
    other: Option<&BaselineRecording<'_>>,
) -> Option<Lateness> {
    let requests = account.requests.as_ref()?;
    if let Some(other) = other {
        let baseline = || (0..other.baseline.len()).filter(|index| other.baseline[*index]);
        let others = other.account.requests.as_ref()?;
        let usual_ns = vec![others.mean_ns(baseline())?; account.grid.len];
        return Some(Lateness::of(sources, requests, &usual_ns, others.varies_to_ns(baseline())?));
    }
    // Requests may be known of a time when nothing else was recorded.
    let others = (0..account.grid.len).filter(|index| slowdown.slow.get(*index) != Some(&true));
    // Who never got an answer has lost all of the time, also at other times.
    let is_unanswered = slowdown.signals.contains(&SignalKind::UnansweredRequests);
    let otherwise_ns = || if is_unanswered { Some(0.0) } else { requests.mean_ns(others) };
    let usual_ns = requests.mean_ns(slowdown.baseline_buckets()).or_else(otherwise_ns)?;
    let mut usual = vec![usual_ns; account.grid.len];
    let of_regime = |regime: &Regime| requests.mean_ns(regime.baseline.iter().copied()).unwrap_or(usual_ns);
    let about: Vec<_> = slowdown.by_regime(account.grid).into_iter().map(|about| (of_regime(&about), about)).collect();
    let around = about.iter().flat_map(|(ns, regime)| regime.around.iter().map(move |buckets| (*ns, buckets)));
    let slow = about.iter().flat_map(|(ns, regime)| regime.slow.iter().map(move |buckets| (*ns, buckets)));
    around.chain(slow).for_each(|(ns, buckets)| usual[buckets.clone()].fill(ns));
    let varies_to_ns = requests.varies_to_ns(slowdown.baseline_buckets()).unwrap_or(2.0 * usual_ns);
    Some(Lateness::of(sources, requests, &usual, varies_to_ns))
}

fn compare(account: &Account, slowdown: &Slowdown, other: Option<&BaselineRecording<'_>>) -> Excess {
    match other {
        Some(other) => {
            let baseline = || (0..other.baseline.len()).filter(|index| other.baseline[*index]).collect();
            excess::compare(account, slowdown, &other.account, &baseline)
        }
        None => excess::compare(account, slowdown, account, &|| slowdown.baseline_buckets().collect()),
    }
}
