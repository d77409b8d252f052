//! One run of one variant: recorded, explained, judged.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use fathom_causes::explanation::Explanation;
use fathom_collectors::{Policy, Refusal, Target, Tier, collectors, recorder};
use fathom_labs::{
    Arrivals, JdkWish, JfrSettings, Lab, LabError, Lengths, LiveRecorder, PhaseLatency, PhaseRole, Progress, Recorder,
    Rights, RunOptions, RunOutput, Variant,
};
use fathom_page::Loaded;
use serde::Serialize;

use super::judge::Judgement;
use super::machine::{Ticks, wait_for_cpus};
use super::{Place, RunArgs, judge};
use crate::exit::told;
use crate::finish;
use crate::inputs::{Question, library};
use crate::output::Output;
use crate::page_file;
use crate::terminal::Terminal;

/// A variant that was run and explained.
#[derive(Serialize)]
pub(super) struct Run {
    pub(super) variant: &'static str,
    pub(super) jdk: String,
    /// Where the recording is, if it was kept.
    pub(super) folder: Option<String>,
    /// The id of the cause that has to come first; null when nothing must be slow.
    pub(super) expected: Option<&'static str>,
    #[serde(flatten)]
    pub(super) judgement: Judgement,
    /// What is expected, for people.
    #[serde(skip)]
    pub(super) wanted: String,
    /// The files that were explained.
    #[serde(skip)]
    pub(super) files: Vec<PathBuf>,
    /// Latency of the requests in each phase, as the clients saw it.
    pub(super) phases: Vec<Phase>,
    /// Where its page was written, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) page: Option<PathBuf>,
    pub(super) explanation: Explanation,
}

#[derive(Serialize)]
pub(super) struct Phase {
    pub(super) name: String,
    pub(super) requests: usize,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) max_ms: f64,
}

/// What all runs of a call share.
pub(super) struct Runner {
    pub(super) place: Place,
    jdk: Option<JdkWish>,
    from_files: bool,
    /// Instead of those of the variant.
    unprivileged: bool,
    /// Does not wait for the CPUs to be free.
    at_once: bool,
    arrivals: Arrivals,
    asked: Asked,
    /// How many times as long as usual it is ill.
    exposed: f64,
    /// Where the first run's page goes, until it is written.
    html: Cell<Option<Output>>,
    stop: Arc<AtomicBool>,
}

impl Runner {
    pub(super) fn new(args: &RunArgs, exposed: f64) -> Result<Runner> {
        let stop = fathom_labs::stop_on_signals().context("cannot listen for Ctrl-C")?;
        let jdk = args.jdk.as_deref().map(JdkWish::parse);
        let html = args.html.as_deref().map(Output::beside_an_answer).transpose()?;
        let (place, html) = (Place::new(args)?, Cell::new(html));
        let RunArgs { from_files, unprivileged, at_once, .. } = *args;
        let asked = Asked::of(args);
        let arrivals = if args.at_sockets { Arrivals::AtSocket } else { Arrivals::Inside };
        Ok(Runner { place, jdk, from_files, unprivileged, at_once, arrivals, asked, exposed, html, stop })
    }

    /// Whether a signal asked to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// With which rights a variant is recorded.
    pub(super) fn rights(&self, variant: &Variant) -> Rights {
        if self.unprivileged { Rights::Unprivileged } else { variant.recorded }
    }

    /// The files that are explained. Requests at a socket are seen there, or not at all.
    fn told(&self, output: &RunOutput) -> Vec<PathBuf> {
        let latency = (self.arrivals == Arrivals::Inside).then(|| output.latency.clone());
        let log = (self.asked == Asked::Everything).then(|| output.gc_log.clone());
        std::iter::once(output.recording.clone()).chain(latency).chain(log).collect()
    }

    /// Runs a variant with its output in `folder`.
    pub(super) fn run(
        &self,
        lab: &'static Lab,
        variant: &'static Variant,
        folder: PathBuf,
        progress: &mut dyn Progress,
        terminal: &Terminal,
    ) -> Result<Run> {
        let rights = self.rights(variant);
        let expects = variant.expects_of(rights);
        let outside = FromOutside { rights, asked: self.asked };
        let options = RunOptions {
            variant: variant.name.clone(),
            jdk: self.jdk.clone(),
            out_dir: folder,
            lengths: Lengths::Exposed(self.exposed),
            arrivals: self.arrivals,
            recorder: if self.from_files { Recorder::Jfr(JfrSettings::Fathom) } else { Recorder::Live(&outside) },
            stop: self.stop.clone(),
        };
        if !self.at_once {
            wait_for_cpus(|| self.is_stopped());
        }
        let before = Ticks::now();
        let output = match lab.run(&options, progress) {
            Err(LabError::Interrupted { .. }) if !self.place.is_kept() => {
                bail!("stopped before the lab was over; nothing was kept")
            }
            output => output?,
        };
        let others = before.zip(Ticks::now()).and_then(|(before, after)| before.others_until(after).complaint());
        let disturbances = others.into_iter().chain(judge::load_not_kept(expects, &output.phases)).collect();
        let files = self.told(&output);
        let page = page(&files, &output.folder, terminal)?;
        let html = self.html.take();
        let written = html.as_ref().map(|html| html.path().to_owned());
        if let Some(html) = html {
            page_file::write(html, &page)?;
        }
        let explanation = page.into_explanation();
        let dose = fs::read_to_string(&output.dose).unwrap_or_default();
        let judgement = judge::judge(expects, &explanation, &dose, disturbances);
        Ok(Run {
            variant: &variant.name,
            jdk: output.jdk.version,
            folder: self.place.is_kept().then(|| output.folder.display().to_string()),
            expected: expects.cause(),
            judgement,
            wanted: expects.says(),
            files,
            phases: phases(output.phases),
            page: written,
            explanation,
        })
    }
}

/// Records the lab's JVM like any other.
#[derive(Debug)]
struct FromOutside {
    rights: Rights,
    asked: Asked,
}

/// What the recorder asks of the JVM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Everything,
    AllButJfr,
    Nothing,
}

impl Asked {
    fn of(args: &RunArgs) -> Asked {
        match args {
            RunArgs { untouched: true, .. } => Asked::Nothing,
            RunArgs { gently: true, .. } => Asked::AllButJfr,
            RunArgs { .. } => Asked::Everything,
        }
    }

    fn policy(self) -> Policy {
        match self {
            Asked::Everything => Policy::thorough(),
            Asked::AllButJfr => Policy::without_jfr(),
            Asked::Nothing => Policy::untouched(),
        }
    }
}

impl LiveRecorder for FromOutside {
    fn record(&self, pid: u32, folder: &Path, has_begun: &(dyn Fn() + Sync)) -> std::result::Result<(), String> {
        let record = || -> Result<()> {
            let never = AtomicBool::new(false);
            let mut plan = recorder::Plan::new(folder.to_owned());
            // A lab shows all that can be known, and lets the recorder begin before the load does. Its log is read as a file.
            plan.order.policy = self.asked.policy();
            plan.without = vec!["gc_log".to_owned()];
            if self.rights == Rights::Unprivileged {
                let privileged = collectors().iter().filter(|collector| collector.tier() > Tier::Process);
                plan.without.extend(privileged.map(|collector| collector.name().to_owned()));
            }
            recorder::record(&Target::of(pid)?, collectors(), &plan, &never, &mut Beginning(has_begun))?;
            finish::finish(folder, false).map(drop)
        };
        record().map_err(|error| told(&error))
    }
}

/// Waits for Flight Recorder: its first start throws away all code that JDK 17 has compiled.
struct Beginning<'a>(&'a (dyn Fn() + Sync));

impl recorder::Watcher for Beginning<'_> {
    fn started(&mut self, name: &'static str, _refused: Option<&Refusal>) {
        if name == "jfr" {
            (self.0)();
        }
    }
}

/// Explains what the run left, from the files alone, like any other recording.
fn page(files: &[PathBuf], folder: &Path, terminal: &Terminal) -> Result<Loaded> {
    let mut services = Question::of(files).services(terminal)?;
    let found = services.len();
    match services.pop() {
        Some(service) if found == 1 => library::loaded(service, &Question::of(files), None, terminal),
        _ => bail!("{}: what the lab recorded was taken for {found} JVMs", folder.display()),
    }
}

fn phases(measured: Vec<PhaseLatency>) -> Vec<Phase> {
    let kept = measured.into_iter().filter(|phase| phase.role != PhaseRole::WarmUp);
    kept.map(|PhaseLatency { name, requests, p50_ms, p99_ms, max_ms, .. }| Phase {
        name,
        requests,
        p50_ms,
        p99_ms,
        max_ms,
    })
    .collect()
}
