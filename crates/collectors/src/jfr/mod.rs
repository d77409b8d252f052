//! JDK Flight Recorder with settings of our own.
//!
//! A recording is started and ended with ours, bounded in age and size; on request it continues (`--keep-ring`), so
//! that the next recording has the time before it. With `--jfr auto` a recording of the service itself is used and
//! nothing is started beside it. Nothing is started in a JVM of JDK 17 or older either, where the first start throws
//! away compiled code ([`crate::policy`]). The time for which a start slows the service is marked.

mod at_exit;
mod felt;
mod parse;
mod repository;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{io, process};

use fathom_evidence::Recording;
use fathom_evidence::kinds::{loss, subject};

use crate::attach::{Attach, AttachError, PATIENCE, PrivateFolder, own_action, properties};
use crate::followed::{Followed, PERIOD};
use crate::raw::Raw;
use crate::{Clock, Collector, Observer, Order, Outstanding, Refusal, Target, Tier, Use, late};
use at_exit::AtExit;
use felt::Felt;
use parse::Check;
use repository::Repository;

pub(crate) static COLLECTOR: Jfr = Jfr;

const SOURCE: &str = "jfr";

/// The settings: the same that labs use and that people can take for themselves.
const SETTINGS: &str = include_str!("fathom.jfc");

/// Name of a recording of ours that goes on by request.
const RING: &str = "fathom";
/// And of one that ends with the recording; the recorder's process follows.
const ONCE: &str = "fathom-once-";
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
        late::start(SOURCE, begin, target, order)
    }
}

fn begin(target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
    order.policy.jfr_of(target, &order.glance)?;
    let mut first = Recording::default();
    let attach = order.attach.of(target, &order.clock, &mut first)?;
    let (recording, felt, at_exit) = match own_action(&order.clock, &mut first, "JFR.check", || check(&attach))? {
        Check::Runs(recordings) if is_enough(&recordings, order.policy.jfr) => {
            (Recorded::found(recordings), None, None)
        }
        Check::Runs(_) | Check::Absent => {
            let felt = Felt::before(target, order.clock);
            let recorded = Recorded::to_start(order.policy.keep_ring);
            let at_exit = AtExit::of(target).filter(|_| recorded.ends);
            own_action(&order.clock, &mut first, "JFR.start", || {
                start(&attach, target, &recorded.name, at_exit.as_ref())
            })?;
            (recorded, Some(felt), at_exit)
        }
        Check::NoRecorder => return Err(no_recorder()),
    };
    recording.describe(target, &mut first);
    let repository = repository(&attach, target);
    let raw = order.raw();
    Ok(Box::new(Running {
        clock: order.clock,
        target: target.clone(),
        attach,
        recording,
        felt,
        copy: repository.as_ref().map(|_| Followed::of(&raw, FILE)),
        repository,
        at_exit,
        raw,
        from: Instant::now().checked_sub(order.before).unwrap_or_else(Instant::now),
        first: Some(first),
    }))
}

/// Whether nothing is started beside what runs: ours has all that is wanted, the service's own what it was set to.
fn is_enough(recordings: &[(String, String)], wanted: Use) -> bool {
    wanted == Use::Auto || recordings.iter().any(|(_, name)| name == RING || is_left(name))
}

/// Whether a recorder that is gone has left this recording, or this process did.
fn is_left(name: &str) -> bool {
    let recorder = name.strip_prefix(ONCE).and_then(|pid| pid.parse::<u32>().ok());
    recorder.is_some_and(|pid| pid == process::id() || !Path::new(&format!("/proc/{pid}")).exists())
}

/// Without those that other recorders end when they are done.
fn without_others(check: Check) -> Check {
    let Check::Runs(mut recordings) = check else { return check };
    recordings.retain(|(_, name)| !name.starts_with(ONCE) || is_left(name));
    if recordings.is_empty() { Check::Absent } else { Check::Runs(recordings) }
}

/// A recording in the JVM.
#[derive(Debug, PartialEq, Eq)]
struct Recorded {
    /// Name or number, as commands take it.
    name: String,
    /// It was there before.
    is_found: bool,
    /// It ends with ours.
    ends: bool,
}

impl Recorded {
    /// One that runs: ours before others. One that a recorder left that was killed ends with ours.
    fn found(recordings: Vec<(String, String)>) -> Recorded {
        let ours = recordings.iter().find(|(_, name)| name == RING);
        let ours = ours.or_else(|| recordings.iter().find(|(_, name)| is_left(name)));
        let (number, name) = ours.or(recordings.first()).cloned().unwrap_or_default();
        Recorded { name: number, is_found: true, ends: is_left(&name) }
    }

    fn to_start(keeps: bool) -> Recorded {
        let name = if keeps { RING.to_owned() } else { format!("{ONCE}{}", process::id()) };
        Recorded { name, is_found: false, ends: !keeps }
    }

    /// Ends it in the JVM if it is ours alone. One that cannot be ended is bounded, and the next recording ends it.
    fn end(&mut self, attach: &Attach) {
        if std::mem::take(&mut self.ends) {
            let _ = attach.diagnose(&format!("JFR.stop name={}", self.name), PATIENCE);
        }
    }

    fn describe(&self, target: &Target, found: &mut Recording) {
        if self.is_found {
            found.add_fact(subject::RECORDING, "jfr", "ran already: the time before is there", SOURCE);
        } else if !self.ends {
            let keeps = format!(
                "Flight Recorder goes on as {RING} ({BOUNDS}); jcmd {} JFR.stop name={RING} ends it",
                target.pid
            );
            found.add_fact(subject::RECORDING, "left_running", &keeps, SOURCE);
        }
    }
}

fn no_recorder() -> Refusal {
    Refusal::new(
        "this JVM has no Flight Recorder: its runtime was made without the module jdk.jfr",
        "run it on a JDK, or on a runtime made with jlink --add-modules jdk.jfr",
    )
}

/// What is being recorded. A JVM that does not know the command has no recorder.
fn check(attach: &Attach) -> Result<Check, AttachError> {
    match attach.diagnose("JFR.check", PATIENCE) {
        Ok(said) => Ok(without_others(parse::check(&said))),
        Err(AttachError::Failed { says, .. }) if parse::check(&says) == Check::NoRecorder => Ok(Check::NoRecorder),
        Err(error) => Err(error),
    }
}

/// Starts our recording. The JVM reads the settings from a file, once.
fn start(attach: &Attach, target: &Target, name: &str, at_exit: Option<&AtExit>) -> Result<(), Refusal> {
    let failed = |error: io::Error| {
        Refusal::new(format!("cannot hand over the settings in the process's /tmp: {error}"), "make room in its /tmp")
    };
    let folder = PrivateFolder::make(target).map_err(failed)?;
    folder.write("fathom.jfc", SETTINGS.as_bytes()).map_err(failed)?;
    let settings = folder.inner_path("fathom.jfc");
    let at_exit = at_exit.map_or_else(String::new, AtExit::option);
    let command = format!("JFR.start name={name} settings={settings} {BOUNDS} disk=true{at_exit}");
    let said = attach.diagnose(&command, START_PATIENCE)?;
    parse::started(&said).map_err(|says| Refusal::new(format!("Flight Recorder did not start: {says}"), ""))
}

/// The files that it writes, if the JVM reports where they are. From the files of JDK 8 and 11 nothing could be read.
fn repository(attach: &Attach, target: &Target) -> Option<Repository> {
    let path = properties::value_of(&attach.properties().ok()?, "jdk.jfr.repository")?;
    Repository::open(target, &path).ok()
}

struct Running {
    clock: Clock,
    target: Target,
    attach: Attach,
    recording: Recorded,
    /// While our start of it is felt.
    felt: Option<Felt>,
    repository: Option<Repository>,
    /// What a JVM leaves at its end that has no such files.
    at_exit: Option<AtExit>,
    /// What is left of it when this recorder is killed.
    copy: Option<Followed>,
    raw: Raw,
    /// From when on the recording is wanted.
    from: Instant,
    /// What was known before the first look.
    first: Option<Recording>,
}

/// Fetches into the folder `raw` what Flight Recorder in `target` holds of the last `seconds`: a recorder that was killed has left
/// it there. An error says why it cannot be had.
pub fn fetch_left(target: &Target, raw: &Path, seconds: u64) -> Result<(), String> {
    let attach = Attach::to(target, PATIENCE).map_err(|error| error.to_string())?;
    match check(&attach).map_err(|error| error.to_string())? {
        Check::Runs(recordings) => {
            let mut recording = Recorded::found(recordings);
            dump(&attach, target, &recording.name, seconds, &Raw::left(raw))?;
            recording.end(&attach);
            Ok(())
        }
        Check::Absent | Check::NoRecorder => Err("Flight Recorder does not run in it any more".to_owned()),
    }
}

/// Has the JVM write a copy of what the recording `name` has of the last `seconds`.
fn dump(attach: &Attach, target: &Target, name: &str, seconds: u64, raw: &Raw) -> Result<(), String> {
    let folder = PrivateFolder::make(target).map_err(|error| format!("the process's /tmp: {error}"))?;
    let command = format!("JFR.dump name={name} begin=-{seconds}s filename={}", folder.inner_path(FILE));
    let said = attach.diagnose(&command, DUMP_PATIENCE).map_err(|error| error.to_string())?;
    parse::dumped(&said)?;
    folder.take(FILE, raw, FILE).map_err(|error| error.to_string())
}

impl Observer for Running {
    fn outstanding(&self) -> Option<Outstanding> {
        let (pid, file) = (self.target.pid, self.raw.file(FILE));
        let last = self.copy.as_ref().map_or_else(String::new, |_| format!(" of the last {} s", PERIOD.as_secs() + 1));
        let says = format!(
            "Flight Recorder's events{last} are missing; as long as the JVM lives, fathom import fetches them, or jcmd {pid} \
             JFR.dump name={} filename={}",
            self.recording.name,
            file.display()
        );
        Some(Outstanding { file: FILE.to_owned(), says })
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
        self.follow(found);
        self.felt = self.felt.take().and_then(|felt| felt.look(found));
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.look(found);
        let file = self.raw.file(FILE);
        let dumped = own_action(&self.clock, found, "JFR.dump", || self.dump());
        self.stop();
        let files = self.kept(dumped, &file, found);
        if let (Some(copy), false) = (self.copy.take(), files.is_empty()) {
            copy.remove();
        }
        files
    }
}

fn lose(found: &mut Recording, why: &str) -> Vec<PathBuf> {
    found.add_loss(SOURCE, loss::REFUSED, 0, &format!("nothing of Flight Recorder could be kept: {why}"));
    Vec::new()
}

impl Running {
    /// The file that was dumped, or what the recorder itself has written.
    fn kept(&mut self, dumped: Result<(), String>, file: &Path, found: &mut Recording) -> Vec<PathBuf> {
        let Err(why) = dumped else { return vec![file.to_owned()] };
        match &self.at_exit {
            Some(at_exit) if at_exit.take(&self.raw, FILE) => return vec![file.to_owned()],
            Some(_) => {
                return lose(found, &format!("{why}, and did not write what it had in memory ({})", at_exit::WHEN));
            }
            None => {}
        }
        let taken = self.repository.take().map(|repository| repository.take(&self.raw, FILE));
        match taken {
            Some(Ok(true)) => {
                let says = format!(
                    "Flight Recorder was not dumped ({why}): its own files were taken, which lack the last second"
                );
                found.add_loss(SOURCE, loss::TRUNCATED, 0, &says);
                vec![file.to_owned()]
            }
            Some(Err(error)) => lose(found, &format!("{why}; its own files: {error}")),
            _ => lose(found, &why),
        }
    }

    /// Keeps a copy of what Flight Recorder has written, for the case that this recorder is killed.
    fn follow(&mut self, found: &mut Recording) {
        let (Some(repository), Some(copy)) = (&mut self.repository, &mut self.copy) else { return };
        if let Err(error) = copy.when_due(|copy| repository.follow(copy)) {
            let says = format!("the copy of Flight Recorder's events could not be continued: {error}");
            Outstanding { file: FILE.to_owned(), says }.note(found, SOURCE);
        }
    }

    fn dump(&self) -> Result<(), String> {
        if !self.target.is_alive() {
            return Err("the JVM has ended".to_owned());
        }
        dump(&self.attach, &self.target, &self.recording.name, self.from.elapsed().as_secs() + 1, &self.raw)
    }

    /// Ends the recording in the JVM, unless it is not ours or is to continue.
    fn stop(&mut self) {
        if self.target.is_alive() {
            self.recording.end(&self.attach);
        }
    }
}

/// A recorder that gives up early must not leave Flight Recorder on.
impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_service_records_is_taken_and_left_on() {
        let ours = format!("{ONCE}{}", process::id());
        // No process has that number; the first has one always.
        let (left, at_work) = (format!("{ONCE}{}", u32::MAX), format!("{ONCE}1"));
        for (names, found, is_enough_of_all) in [
            (&["theirs"][..], Some(("0", false)), false),
            (&["theirs", "fathom"], Some(("1", false)), true),
            (&["theirs", &left], Some(("1", true)), true),
            (&["theirs", &ours], Some(("1", true)), true),
            (&[&at_work], None, false),
            (&[&at_work, "theirs"], Some(("1", false)), false),
            (&[&at_work, &left], Some(("1", true)), true),
        ] {
            let named = |(number, name): (usize, &&str)| (number.to_string(), (*name).to_owned());
            let check = without_others(Check::Runs(names.iter().enumerate().map(named).collect()));
            let Check::Runs(recordings) = check else {
                assert!(found.is_none(), "{names:?}");
                continue;
            };
            assert!(is_enough(&recordings, Use::Auto));
            assert_eq!(is_enough(&recordings, Use::Always), is_enough_of_all, "{names:?}");
            let recorded = Recorded::found(recordings);
            assert_eq!(Some((recorded.name.as_str(), recorded.ends)), found, "{names:?}");
        }
    }
}
