//! JDK Flight Recorder with settings of our own.
//!
//! One recording of the name `fathom` is kept running in the JVM, bounded in age and size: when it runs
//! already, the time before the call is there as well. At the end it is dumped and goes on. Recordings
//! of others are left alone.

mod parse;
mod repository;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fathom_evidence::Recording;
use fathom_evidence::kinds::{loss, subject};

use crate::attach::{Attach, AttachError, PATIENCE, PrivateFolder, own_action, properties};
use crate::{Clock, Collector, Observer, Order, Outstanding, Refusal, Target, Tier};
use parse::Check;
use repository::Repository;

pub(crate) static COLLECTOR: Jfr = Jfr;

const SOURCE: &str = "jfr";

/// The settings: the same that labs use and that people can take for themselves.
const SETTINGS: &str = include_str!("fathom.jfc");

/// Name and bounds of our recording.
const RECORDING: &str = "fathom";
const BOUNDS: &str = "maxage=10m maxsize=64m";

/// The first start loads and initialises a module of some size, in a JVM that may be short of CPU.
const START_PATIENCE: Duration = Duration::from_secs(20);
/// A dump copies up to the size of the recording; the recorder waits 30 s for everybody.
const DUMP_PATIENCE: Duration = Duration::from_secs(20);

/// As it is called in the raw folder.
const FILE: &str = "recording.jfr";

pub(crate) struct Jfr;

impl Collector for Jfr {
    fn name(&self) -> &'static str {
        SOURCE
    }

    fn sees(&self) -> &'static str {
        "what the JVM records of itself: collections, safepoints, compilations, locks, I/O, Java stacks"
    }

    fn tier(&self) -> Tier {
        Tier::Process
    }

    fn check(&self, target: &Target) -> Result<(), Refusal> {
        Ok(Attach::check(target)?)
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        let mut first = Recording::default();
        let attach = order.attach.of(target, &order.clock, &mut first)?;
        match own_action(&order.clock, &mut first, "JFR.check", || check(&attach))? {
            Check::Runs => first.add_fact(subject::RECORDING, "jfr", "ran already: the time before is there", SOURCE),
            Check::Absent => own_action(&order.clock, &mut first, "JFR.start", || start(&attach, target))?,
            Check::NoRecorder => return Err(no_recorder()),
        }
        let repository = repository(&attach, target);
        let keeps = format!(
            "Flight Recorder goes on as {RECORDING} ({BOUNDS}); jcmd {} JFR.stop name={RECORDING} ends it",
            target.pid
        );
        first.add_fact(subject::RECORDING, "left_running", &keeps, SOURCE);
        Ok(Box::new(Running {
            clock: order.clock,
            target: target.clone(),
            attach,
            repository,
            raw: order.raw_folder(),
            from: Instant::now().checked_sub(order.before).unwrap_or_else(Instant::now),
            first: Some(first),
        }))
    }
}

fn no_recorder() -> Refusal {
    Refusal::new(
        "this JVM has no Flight Recorder: its runtime was made without the module jdk.jfr",
        "run it on a JDK, or on a runtime made with jlink --add-modules jdk.jfr",
    )
}

/// Where our recording stands. A JVM that does not know the command has none.
fn check(attach: &Attach) -> Result<Check, AttachError> {
    match attach.diagnose("JFR.check", PATIENCE) {
        Ok(said) => Ok(parse::check(&said, RECORDING)),
        Err(AttachError::Failed { says, .. }) if parse::check(&says, RECORDING) == Check::NoRecorder => {
            Ok(Check::NoRecorder)
        }
        Err(error) => Err(error),
    }
}

/// Starts our recording. The JVM reads the settings from a file, once.
fn start(attach: &Attach, target: &Target) -> Result<(), Refusal> {
    let failed = |error: io::Error| {
        Refusal::new(format!("cannot hand over the settings in the process's /tmp: {error}"), "make room in its /tmp")
    };
    let folder = PrivateFolder::make(target).map_err(failed)?;
    folder.write("fathom.jfc", SETTINGS.as_bytes()).map_err(failed)?;
    let settings = folder.inner_path("fathom.jfc");
    let said = attach
        .diagnose(&format!("JFR.start name={RECORDING} settings={settings} {BOUNDS} disk=true"), START_PATIENCE)?;
    parse::started(&said).map_err(|says| Refusal::new(format!("Flight Recorder did not start: {says}"), ""))
}

/// The files that it writes; JDK 11 does not tell where.
fn repository(attach: &Attach, target: &Target) -> Option<Repository> {
    let path = properties::value_of(&attach.properties().ok()?, "jdk.jfr.repository")?;
    Repository::open(target, &path).ok()
}

struct Running {
    clock: Clock,
    target: Target,
    attach: Attach,
    repository: Option<Repository>,
    raw: PathBuf,
    /// From when on the recording is wanted.
    from: Instant,
    /// What was known before the first look.
    first: Option<Recording>,
}

/// Fetches into the folder `raw` what our recording in `target` holds of the last `seconds`: a recorder that was killed has left
/// it there. An error says why it cannot be had.
pub fn fetch_left(target: &Target, raw: &Path, seconds: u64) -> Result<(), String> {
    let attach = Attach::to(target, PATIENCE).map_err(|error| error.to_string())?;
    match check(&attach).map_err(|error| error.to_string())? {
        Check::Runs => dump(&attach, target, seconds, &raw.join(FILE)),
        Check::Absent | Check::NoRecorder => Err(format!("no recording of the name {RECORDING} runs in it any more")),
    }
}

/// Has the JVM write a copy of what was recorded in the last `seconds`.
fn dump(attach: &Attach, target: &Target, seconds: u64, to: &Path) -> Result<(), String> {
    let folder = PrivateFolder::make(target).map_err(|error| format!("the process's /tmp: {error}"))?;
    let command = format!("JFR.dump name={RECORDING} begin=-{seconds}s filename={}", folder.inner_path(FILE));
    let said = attach.diagnose(&command, DUMP_PATIENCE).map_err(|error| error.to_string())?;
    parse::dumped(&said)?;
    folder.take(FILE, to).map_err(|error| error.to_string())
}

impl Observer for Running {
    fn outstanding(&self) -> Option<Outstanding> {
        let (pid, file) = (self.target.pid, self.raw.join(FILE));
        let says = format!(
            "Flight Recorder's events are missing; as long as the JVM lives, fathom import fetches them, or jcmd {pid} \
             JFR.dump name={RECORDING} filename={}",
            file.display()
        );
        Some(Outstanding { file: FILE, says })
    }

    fn period(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn look(&mut self, found: &mut Recording) {
        if let Some(first) = self.first.take() {
            found.absorb(first);
        }
        if let Some(repository) = &mut self.repository {
            repository.look();
        }
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.look(found);
        let file = self.raw.join(FILE);
        let dumped = own_action(&self.clock, found, "JFR.dump", || self.dump(&file));
        let Err(why) = dumped else { return vec![file] };
        let taken = self.repository.map(|repository| repository.take(&file));
        match taken {
            Some(Ok(true)) => {
                let says = format!(
                    "Flight Recorder was not dumped ({why}): its own files were taken, which lack the last second"
                );
                found.add_loss(SOURCE, loss::TRUNCATED, 0, &says);
                vec![file]
            }
            Some(Err(error)) => lose(found, &format!("{why}; its own files: {error}")),
            _ => lose(found, &why),
        }
    }
}

fn lose(found: &mut Recording, why: &str) -> Vec<PathBuf> {
    found.add_loss(SOURCE, loss::REFUSED, 0, &format!("nothing of Flight Recorder could be kept: {why}"));
    Vec::new()
}

impl Running {
    fn dump(&self, to: &Path) -> Result<(), String> {
        if !self.target.is_alive() {
            return Err("the JVM has ended".to_owned());
        }
        dump(&self.attach, &self.target, self.from.elapsed().as_secs() + 1, to)
    }
}
