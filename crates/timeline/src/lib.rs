//! The account of time: when it was slow, what the threads did then, and what they did otherwise.
//!
//! [`analyse`] goes from a recording to an [`Analysis`] in one direction:
//! [`View`] (the recording with sources chosen) → [`Account`] (thread time per state and second) →
//! [`Pain`] (slow and baseline seconds) → [`Excess`] (what the slow seconds have more of). No cause
//! is known here; causes claim parts of the excess later.

mod account;
mod cells;
mod clients;
mod collections;
mod cpu;
mod edges;
mod excess;
mod grid;
mod intervals;
mod median;
mod pain;
mod partition;
mod peers;
mod requests;
mod signals;
mod startup;
mod stops;
mod suspicion;
mod view;
mod waits;
mod wakers;

pub use account::Account;
pub use cells::{Cell, Collection, Layer, Origin, Scope, Stop, Wait};
pub use edges::{Edges, Piece, Root};
pub use excess::{CellExcess, Excess};
pub use grid::{BUCKET_NS, Grid};
pub use intervals::{Intervals, SlowInterval};
pub use median::median;
pub use pain::{Pain, PainOptions, ToldSeries};
pub use partition::{Partition, Segment};
pub use requests::{Lateness, Requests};
pub use signals::SignalKind;
pub use startup::Startup;
pub use stops::StopSpan;
pub use view::{Series, View};
pub use waits::telling_frame;
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
    pub view: View<'a>,
    /// Thread time by state and second.
    pub account: Account,
    /// Slow and baseline seconds.
    pub pain: Pain,
    /// What the slow seconds have more of; empty when nothing was slow.
    pub excess: Excess,
    /// The other recording that the slow time is compared with, if there is one.
    pub reference: Option<Reference<'a>>,
    edges: OnceCell<Edges>,
}

/// A recording of the same service when it was well.
#[derive(Debug)]
pub struct Reference<'a> {
    /// The recording with its sources chosen.
    pub view: View<'a>,
    /// Its thread time by state and second.
    pub account: Account,
    /// Its quiet seconds, after start-up.
    pub quiet: Vec<bool>,
    /// How high each signal is in it as a rule.
    levels: Vec<(SignalKind, f64)>,
}

impl<'a> Reference<'a> {
    fn new(recording: &'a Recording) -> Option<Reference<'a>> {
        let view = View::new(recording)?;
        let account = Account::new(&view);
        let slow = pain::find(&view, &account, &PainOptions::default()).slow;
        let quiet =
            slow.iter().enumerate().map(|(index, slow)| !slow && index >= account.startup.warm_up_buckets).collect();
        let levels = pain::levels(&view, &account);
        Some(Reference { view, account, quiet, levels })
    }
}

impl Analysis<'_> {
    /// The same account with some of the slow time only.
    pub fn only(&self, time: &Intervals) -> (Pain, Excess) {
        let pain = self.pain.only(self.account.grid, time);
        let excess = compare(&self.account, &pain, self.reference.as_ref());
        (pain, excess)
    }

    /// Who waited for whom.
    pub fn edges(&self) -> &Edges {
        self.edges.get_or_init(|| Edges::new(&self.view, &self.account.partition))
    }

    /// The question that is left when no signal leads to a cause: what more the code below Java did
    /// in the seconds in which it used more CPU. `None` when there are none.
    pub fn suspicion(&self) -> Option<(Pain, Excess)> {
        let reference = self.reference.as_ref();
        let pain = pain::suspect(&self.view, &self.account, reference.map(|other| (&other.view, &other.account)));
        let excess = compare(&self.account, &pain, reference);
        (!pain.intervals.is_empty()).then(|| (Pain { highest: self.pain.highest.clone(), ..pain }, excess))
    }

    /// The time that some slow time is compared with, and the recording it is in. `None` when there is no such time.
    pub fn quiet_time(&self, pain: &Pain) -> Option<(&View<'_>, Intervals)> {
        let (view, time) = match &self.reference {
            Some(reference) => (&reference.view, reference.account.grid.marked(&reference.quiet)),
            None => (&self.view, self.account.grid.marked(&pain.baseline)),
        };
        (time.total_ns() > 0).then_some((view, time))
    }
}

/// Makes the account of a recording. `None` when it holds nothing that has a time.
pub fn analyse<'a>(recording: &'a Recording, options: &Options<'a>) -> Option<Analysis<'a>> {
    let view = View::new(recording)?;
    let mut account = Account::new(&view);
    let reference = options.baseline.and_then(Reference::new);
    let levels = reference.as_ref().map_or(&[][..], |reference| &reference.levels);
    let pain_options = PainOptions { slow: options.slow, levels };
    let pain = pain::find(&view, &account, &pain_options);
    account.lateness = lateness(&view, &account, &pain, reference.as_ref());
    let excess = compare(&account, &pain, reference.as_ref());
    Some(Analysis { view, account, pain, excess, reference, edges: OnceCell::new() })
}

/// By how much requests were late, against those of the baseline; none where either is not known.
fn lateness(view: &View<'_>, account: &Account, pain: &Pain, reference: Option<&Reference<'_>>) -> Option<Lateness> {
    let marked = |marks: &[bool]| (0..marks.len()).filter(|index| marks[*index]).collect::<Vec<_>>();
    let usual_ns = match reference {
        Some(reference) => reference.account.requests.as_ref()?.mean_ns(marked(&reference.quiet).into_iter()),
        // Requests may be known of a time when nothing else was recorded.
        None => {
            let requests = account.requests.as_ref()?;
            let others = (0..account.grid.len).filter(|index| !pain.slow.get(*index).copied().unwrap_or(false));
            requests.mean_ns(marked(&pain.baseline).into_iter()).or_else(|| requests.mean_ns(others))
        }
    };
    Some(Lateness::of(view, account.requests.as_ref()?, usual_ns?))
}

fn compare(account: &Account, pain: &Pain, reference: Option<&Reference<'_>>) -> Excess {
    match reference {
        Some(reference) => excess::compare(account, pain, &reference.account, &reference.quiet),
        None => excess::compare(account, pain, account, &pain.baseline),
    }
}
