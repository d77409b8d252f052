//! One run: the few numbers and facts of a recording that are compared.

use std::collections::BTreeMap;

use fathom_causes::explanation::{Explanation, Verdict};
use fathom_causes::{ExplainOptions, explain_nothing, investigate};
use fathom_evidence::Recording;
use fathom_timeline::{Analysis, ThreadState, Wait};
use serde::Serialize;

use crate::facts::Facts;
use crate::latencies::Latencies;
use crate::profiles::{self, Profiles};

/// What is compared of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Run {
    /// What to call it.
    pub name: String,
    /// Main class or jar.
    pub title: String,
    /// When its recording began.
    pub from_ns: i64,
    /// How long it is.
    pub length_ns: i64,
    /// How old the JVM was then; none where that is not known.
    pub age_ns: Option<i64>,
    /// How long requests took, if that was recorded.
    pub latencies: Option<Latencies>,
    /// The part of the time in which the application was stopped.
    pub stopped: f64,
    /// Thread time that was lost in slow time, in ns; 0 where nothing was slow.
    pub lost_ns: f64,
    /// The part of it that each cause explains that is shown or likely, in ns: 0 of one that did other harm, such as lost datagrams.
    pub causes: BTreeMap<String, f64>,
    /// Thread time in each state, in ns. Stops count once, however many threads they stop.
    pub states: BTreeMap<String, f64>,
    /// The part of the machine's CPUs that other processes used; none where that was not recorded.
    pub others_cpu: Option<f64>,
    /// What was set and built in.
    #[serde(skip)]
    pub facts: Facts,
    /// Sums of a profile that has no time of each sample.
    #[serde(skip)]
    pub profiles: Profiles,
}

impl Run {
    /// Of a recording.
    pub fn of(name: &str, recording: &Recording) -> Run {
        if profiles::is_untimed(recording) {
            let run = Run::without_times(name, recording, &explain_nothing(recording));
            return Run { profiles: profiles::of(recording), ..run };
        }
        match investigate(recording, &ExplainOptions::default()) {
            Some((analysis, explanation)) => Run::of_analysis(name, &analysis, &explanation),
            None => Run::without_times(name, recording, &explain_nothing(recording)),
        }
    }

    /// Of a recording without anything that has a time: its facts.
    pub fn without_times(name: &str, recording: &Recording, explanation: &Explanation) -> Run {
        Run {
            name: name.to_owned(),
            title: explanation.recording.title.clone(),
            from_ns: explanation.recording.from_ns,
            facts: Facts::of(recording, &explanation.recording),
            ..Run::default()
        }
    }

    /// Of a recording that was explained.
    pub fn of_analysis(name: &str, analysis: &Analysis<'_>, explanation: &Explanation) -> Run {
        let account = &analysis.account;
        let (from_ns, length_ns) = (account.grid.start_ns, account.grid.end_ns().saturating_sub(account.grid.start_ns));
        let lost_ns = analysis.excess.lost_ns();
        let named = explanation.causes.iter().filter(|cause| cause.verdict <= Verdict::Likely);
        let states = account.states.iter().filter(|(state, _)| is_known(**state));
        let sums = states.map(|(state, ns)| (state.to_string(), ns.iter().sum::<f64>()));
        Run {
            from_ns,
            length_ns,
            age_ns: analysis.sources.jvm_started_at_ns().map(|start_ns| from_ns.saturating_sub(start_ns)),
            latencies: Latencies::of(&analysis.sources),
            stopped: account.stopped.total_ns() as f64 / (length_ns as f64).max(1.0),
            lost_ns,
            causes: named.map(|cause| (cause.id.clone(), cause.share * lost_ns)).collect(),
            states: sums.filter(|(_, ns)| *ns > 0.0).collect(),
            others_cpu: others_cpu(analysis),
            ..Run::without_times(name, analysis.sources.recording, explanation)
        }
    }

    /// Whether it is a profile without a time of each sample.
    pub fn is_profile(&self) -> bool {
        !self.profiles.is_empty()
    }

    /// Requests per second.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.latencies.as_ref().map(Latencies::rate)
    }

    pub(crate) fn seconds(&self) -> f64 {
        (self.length_ns as f64 / 1e9).max(1e-9)
    }

    /// Thread time per request, or per second where requests are not known.
    pub fn per_unit(&self, ns: f64) -> f64 {
        ns / self.latencies.as_ref().map_or(self.seconds(), |latencies| latencies.count.max(1.0))
    }
}

/// Whether time counts: idle time does not, nor does what may be idle.
fn is_known(state: ThreadState) -> bool {
    !matches!(state, ThreadState::Idle | ThreadState::Unknown | ThreadState::Blocked(Wait::Unnamed))
}

/// The machine's CPU less that of the process, over the time for which both are known.
fn others_cpu(analysis: &Analysis<'_>) -> Option<f64> {
    let account = &analysis.account;
    let own = account.process_cpu_ns.as_ref()?;
    let all_ns = account.cpus? * fathom_timeline::BUCKET_NS as f64;
    let ratios = account.machine_ratio.as_ref()?.iter().zip(own);
    let others: Vec<f64> = ratios.filter_map(|(ratio, own)| Some(((*ratio)? - own / all_ns).max(0.0))).collect();
    (!others.is_empty()).then(|| others.iter().sum::<f64>() / others.len() as f64)
}
