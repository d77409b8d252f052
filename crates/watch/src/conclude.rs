//! Turns an ended recording into a reported incident: finish, explain, write the verdict beside it, report, free space.
//!
//! Recordings are handled one after the other on one thread, each in a process of its own with low priority. Reading a
//! recording takes memory and CPU, which the host gets back; a failure of such a process affects no other.

use std::collections::VecDeque;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender};

use rustix::process::{Pid, setpriority_process};

use crate::admission::Admission;
use crate::config::Config;
use crate::host::host;
use crate::incident::{Incident, SCHEMA, Stage, Verdict};
use crate::log;
use crate::metrics::Metrics;
use crate::minutes;
use crate::retention;
use crate::sidecars::{self, Begun};
use crate::tell::Message;
use crate::triggers::Severity;

/// Below everybody else's.
const NICE: i32 = 10;

/// A recording that wants a verdict.
#[derive(Debug)]
pub(crate) struct Job {
    /// Its folder.
    pub(crate) folder: PathBuf,
    /// What was known when it began; nothing of one that was saved from a ring.
    pub(crate) begun: Option<Begun>,
    /// How long it is from the trigger on, in ns; 0 of one that was cut off.
    pub(crate) after_ns: i64,
    /// How it ended.
    pub(crate) ended: String,
    /// The configuration that was in force.
    pub(crate) config: std::sync::Arc<Config>,
}

impl Job {
    /// Whether a message waits for its verdict. Most of what was kept in place of a recording is sent nowhere, and there may be one of each JVM of
    /// the host.
    fn is_urgent(&self) -> bool {
        let is_kept = |begun: &Begun| begun.not_recorded.is_some() && !begun.is_awaited;
        !self.begun.as_ref().is_some_and(is_kept)
    }
}

/// Jobs that wait, and whether more may come.
struct Queue<'a> {
    jobs: &'a Receiver<Option<Job>>,
    waiting: VecDeque<Job>,
    is_open: bool,
}

impl Queue<'_> {
    /// The next one: the oldest for which a message waits, else the oldest. When no more may come, the others stay as they are: the next start finds them.
    fn next(&mut self) -> Option<Job> {
        if self.waiting.is_empty() && self.is_open {
            self.take(self.jobs.recv().ok().flatten());
        }
        while let Some(message) = self.jobs.try_recv().ok().filter(|_| self.is_open) {
            self.take(message);
        }
        let urgent = self.waiting.iter().position(Job::is_urgent);
        let at = if self.is_open { urgent.unwrap_or(0) } else { urgent? };
        self.waiting.remove(at)
    }

    fn take(&mut self, message: Option<Job>) {
        self.is_open &= message.is_some();
        self.waiting.extend(message);
    }
}

/// Works until it receives `None` (no job follows) or all senders are gone.
pub(crate) fn work(
    program: &Path,
    jobs: &Receiver<Option<Job>>,
    (reporter, minutes): (&Sender<Message>, &Sender<minutes::Message>),
    (metrics, admission): (&Metrics, &Mutex<Admission>),
) {
    let host = host();
    let mut queue = Queue { jobs, waiting: VecDeque::new(), is_open: true };
    while let Some(job) = queue.next() {
        let (tell, keeps_minutes) = (job.config.tell.clone(), job.config.minutes.enabled);
        let (folder, max_bytes) = (job.config.folder.clone(), job.config.capture.disk.0);
        let id = id_of(&job.folder);
        let also_hit = admission.lock().map(|admission| admission.hits(&id)).unwrap_or_default();
        let incident = Incident { also_hit, ..conclude(program, &host, job) };
        write(&incident);
        metrics.concluded(incident.cause().unwrap_or("none"));
        if let Some(row) = incident.row().filter(|_| keeps_minutes) {
            let _ = minutes.send(minutes::Message::Row(Box::new(row)));
        }
        let newest = incident.folder.clone();
        // The receiver is gone when the service ends for good.
        let _ = reporter.send(Message::Verdict(Box::new(incident), tell));
        retention::make_room(&folder, max_bytes, &newest);
    }
}

fn conclude(program: &Path, host: &str, job: Job) -> Incident {
    let mut errors = Vec::new();
    if let Err(error) = finish(program, &job.folder) {
        errors.push(error);
    }
    let verdict = explain(program, &job.folder, &["--json"]).and_then(|json| Verdict::parse(&json));
    let verdict = verdict.map_err(|error| errors.push(error)).ok();
    let text = explain(program, &job.folder, &["--all"]).unwrap_or_else(|error| error);
    let begun = job.begun.as_ref();
    let (times_today, before_ns) = begun.map_or((0, 0), |begun| (begun.times_today, begun.before_ns));
    let (not_recorded, part_of) =
        begun.map_or((None, None), |begun| (begun.not_recorded.clone(), begun.part_of.clone()));
    let severity = begun.map_or(Severity::Warning, |begun| begun.severity.unwrap_or(begun.trigger.kind.severity()));
    let is_awaited = begun.is_some_and(|begun| begun.is_awaited);
    let not_seen = begun.map_or_else(Vec::new, |begun| begun.not_seen.clone());
    let (jvm, trigger) = job.begun.map(|begun| (begun.jvm, begun.trigger)).unzip();
    if let Err(error) = sidecars::write(&sidecars::path(&job.folder, "txt"), &text) {
        log::says("verdict_not_written", &format!("{}: {error}", job.folder.display()));
    }
    Incident {
        schema: SCHEMA,
        stage: Stage::Verdict,
        id: id_of(&job.folder),
        host: host.to_owned(),
        severity,
        jvm,
        trigger,
        times_today,
        not_recorded,
        part_of,
        is_awaited,
        also_hit: Vec::new(),
        before_ns,
        after_ns: job.after_ns,
        ended: job.ended,
        not_seen,
        verdict,
        errors,
        folder: job.folder,
    }
}

/// The name of a recording.
pub(crate) fn id_of(folder: &Path) -> String {
    folder.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Writes the verdict beside its recording, which is concluded then.
fn write(incident: &Incident) {
    let json = serde_json::to_string_pretty(incident).unwrap_or_default();
    if let Err(error) = sidecars::write(&sidecars::path(&incident.folder, "json"), &json) {
        log::says("verdict_not_written", &format!("{}: {error}", incident.folder.display()));
    }
    if let Err(error) = sidecars::remove(&incident.folder, sidecars::BEGUN) {
        log::says("begin_not_removed", &format!("{}: {error}", incident.folder.display()));
    }
}

/// Turns streams into tables. One that is finished already is as good.
fn finish(program: &Path, folder: &Path) -> Result<(), String> {
    let output = run(Command::new(program).arg("import").arg(folder))?;
    let says = complaint(&output);
    match output.status.success() || says.contains("finished already") {
        true => Ok(()),
        false => Err(format!("it could not be finished: {says}")),
    }
}

fn explain(program: &Path, folder: &Path, options: &[&str]) -> Result<String, String> {
    let output = run(Command::new(program).args(["explain", "--color", "never"]).args(options).arg(folder))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("it could not be explained: {}", complaint(&output))),
    }
}

fn run(command: &mut Command) -> Result<Output, String> {
    // Ctrl-C asks the service to end; a verdict that is under way is reported first.
    let command = command.process_group(0);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.map_err(|error| format!("{}: {error}", command.get_program().to_string_lossy()))?;
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // With the usual priority it takes no longer.
        let _ = setpriority_process(Some(pid), NICE);
    }
    child.wait_with_output().map_err(|error| error.to_string())
}

/// The last line of what a process complained about.
fn complaint(output: &Output) -> String {
    if let Some(signal) = output.status.signal() {
        return format!("ended by signal {signal}");
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let last = words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it gave no reason");
    last.trim_start_matches("fathom: ").to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn what_explains_is_in_a_process_group_of_its_own() {
        let output = run(Command::new("cat").arg("/proc/self/stat")).unwrap();
        let stat = String::from_utf8(output.stdout).unwrap();
        let (pid, rest) = stat.split_once(' ').unwrap();
        let group = rest.rsplit(')').next().unwrap().split_whitespace().nth(2);
        assert_eq!(group, Some(pid), "{stat}");
    }

    /// A job named so; `kept` is what was kept in place of a recording.
    fn job(name: &str, kept: bool) -> Job {
        let jvm = crate::incident::AboutJvm::default();
        let begun = Begun::new(&jvm, &crate::triggers::Trigger::by_hand(0), 1, 0);
        let not_recorded = kept.then(|| "part_of_another".to_owned());
        Job {
            folder: name.into(),
            begun: Some(Begun { not_recorded, ..begun }),
            after_ns: 0,
            ended: String::new(),
            config: std::sync::Arc::default(),
        }
    }

    #[test]
    fn a_verdict_that_somebody_waits_for_comes_before_what_was_kept() {
        let (jobs, of_queue) = channel();
        for (name, kept) in [("a", true), ("b", true), ("c", false), ("d", true)] {
            jobs.send(Some(job(name, kept))).unwrap();
        }
        let mut queue = Queue { jobs: &of_queue, waiting: VecDeque::new(), is_open: true };
        let mut next = || queue.next().map(|job| job.folder.display().to_string());
        assert_eq!([next(), next()].map(Option::unwrap), ["c", "a"]);
        jobs.send(Some(job("e", false))).unwrap();
        jobs.send(None).unwrap();
        assert_eq!([next(), next()], [Some("e".to_owned()), None], "the rest is there at the next start");
    }

    #[test]
    fn the_end_is_reported_although_a_thread_that_hangs_could_bring_more() {
        let (jobs, queue) = channel();
        let (reporter, messages) = channel();
        let of_one_that_hangs = jobs.clone();
        jobs.send(None).unwrap();
        let (minutes, _rows) = channel();
        let admission = Mutex::new(Admission::new(&Config::default(), 0));
        work(Path::new("/bin/false"), &queue, (&reporter, &minutes), (&Metrics::default(), &admission));
        assert!(messages.try_recv().is_err());
        drop(of_one_that_hangs);
    }
}
