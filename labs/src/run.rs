//! One run of one variant: compile, start, follow, collect.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crate::clients::Clients;
use crate::companions::Companions;
use crate::declaration::{Lab, Phase, PhaseRole, Variant};
use crate::error::LabError;
use crate::jdk::{self, Jdk, JdkWish};
use crate::latency::{self, PhaseLatency};
use crate::places::Places;
use crate::process::{End, Program};
use crate::progress::{Progress, Second, phase_that_begins};
use crate::stage::Stage;
use crate::{javac, libraries, native, needs};

/// The settings that Fathom records with.
const FATHOM_SETTINGS: &str = include_str!("../../crates/collectors/src/jfr/fathom.jfc");
/// Starting the JVM and preparing the program may take this long in addition to the phases.
const PREPARATION: Duration = Duration::from_secs(120);

/// The GC log, with safepoints and the code cache if the JVM logs them.
const LOGS: &[&str] =
    &["-Xlog:jfr*=warning", "-Xlog:gc*,safepoint*,codecache*:file=gc.log:time,uptime,level,tags:filecount=0"];
const LOGS_OF_JDK_8: &[&str] = &[
    "-Xloggc:gc.log",
    "-XX:+PrintGCDetails",
    "-XX:+PrintGCDateStamps",
    "-XX:+PrintGCTimeStamps",
    "-XX:+PrintGCApplicationStoppedTime",
];

/// How to run a variant.
#[derive(Debug, Clone)]
pub struct RunOptions<'a> {
    /// The variant's name.
    pub variant: String,
    /// Which JDK; if none, the first suitable one.
    pub jdk: Option<JdkWish>,
    /// Where everything is written; it must be empty or not exist.
    pub out_dir: PathBuf,
    /// How long phases are.
    pub lengths: Lengths,
    /// Where requests come from.
    pub arrivals: Arrivals,
    /// Who records.
    pub recorder: Recorder<'a>,
    /// Ends the run when it becomes true; see [`crate::stop_on_signals`].
    pub stop: Arc<AtomicBool>,
}

/// Where requests come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// From the program itself, which measures them.
    Inside,
    /// From this process, to a socket, where a recorder can see them. A program that already has clients on a port of
    /// its own keeps them.
    AtSocket,
}

/// How long phases are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lengths {
    /// The declared lengths times this factor.
    Scaled(f64),
    /// As declared, but exposed phases times this factor, which does not shorten them below `LEAST_EXPOSED_S`. Baseline
    /// phases keep their length, because a baseline needs time.
    Exposed(f64),
    /// Alternates healthy and sick phases.
    Played {
        /// Length of the phases in which every variant is healthy, in s.
        healthy_s: f64,
        /// Length of the phases in which the sick variant is sick, in s.
        ill_s: f64,
        /// Number of such pairs after the warm-up.
        times: usize,
    },
}

/// Minimum length in s: a shorter sick phase looks like the start of a JVM.
const LEAST_EXPOSED_S: f64 = 10.0;

impl Lengths {
    fn seconds_of(self, phase: &Phase) -> f64 {
        match (self, phase.role) {
            (Lengths::Scaled(times), _) => phase.seconds * times,
            (Lengths::Exposed(times), PhaseRole::Exposed) => {
                (phase.seconds * times).max(phase.seconds.min(LEAST_EXPOSED_S))
            }
            (Lengths::Exposed(_), _) | (Lengths::Played { .. }, PhaseRole::WarmUp) => phase.seconds,
            (Lengths::Played { healthy_s, .. }, PhaseRole::Baseline) => healthy_s,
            (Lengths::Played { ill_s, .. }, PhaseRole::Exposed) => ill_s,
        }
    }

    /// The phases in order, with their lengths in s.
    fn phases(self, lab: &Lab) -> Vec<(&Phase, f64)> {
        let times = if let Lengths::Played { times, .. } = self { times } else { 1 };
        let (once, again): (Vec<&Phase>, Vec<&Phase>) =
            lab.phases.iter().partition(|phase| times > 1 && phase.role == PhaseRole::WarmUp);
        let again = iter::repeat_n(again, times).flatten();
        once.into_iter().chain(again).map(|phase| (phase, self.seconds_of(phase))).collect()
    }

    fn seconds(self, lab: &Lab) -> f64 {
        self.phases(lab).iter().map(|(_, seconds)| seconds).sum()
    }
}

/// Who records a run.
#[derive(Debug, Clone, Copy)]
pub enum Recorder<'a> {
    /// The JVM itself, with JFR from its start.
    Jfr(JfrSettings),
    /// A recorder outside the JVM.
    Live(&'a dyn LiveRecorder),
}

/// Records a running JVM.
pub trait LiveRecorder: Sync + fmt::Debug {
    /// Records the process into `folder` until it ends. Called after the first line of the program: it has begun to
    /// answer requests, or waits until `has_begun` is called. [`LabError::NotRecorded`] reports failures.
    fn record(&self, pid: u32, folder: &Path, has_begun: &(dyn Fn() + Sync)) -> Result<(), String>;
}

/// What JFR records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JfrSettings {
    /// Fathom's own settings, which show short stalls.
    Fathom,
    /// The JDK's `default`, which most recordings from production use.
    Default,
    /// The JDK's `profile`.
    Profile,
}

/// The files and results of a run.
#[derive(Debug, Clone)]
pub struct RunOutput {
    /// The folder with all of it.
    pub folder: PathBuf,
    /// The recording: a JFR file, or the folder of an external recorder.
    pub recording: PathBuf,
    /// The GC log, with safepoints and the code cache.
    pub gc_log: PathBuf,
    /// Every request: `time,latency_ms`.
    pub latency: PathBuf,
    /// What the program actually did, as it measured it.
    pub dose: PathBuf,
    /// What the program printed.
    pub stdout: PathBuf,
    /// The JVM's error output.
    pub stderr: PathBuf,
    /// The JDK that was used.
    pub jdk: Jdk,
    /// The command that was run.
    pub command: Vec<String>,
    /// The clients' view of each phase.
    pub phases: Vec<PhaseLatency>,
}

impl Lab {
    /// Runs one variant and waits for its end. First prints what it is going to do.
    ///
    /// # Errors
    /// See [`LabError`]. In every case all started processes have ended and the temporary folder is removed; the output
    /// folder stays.
    pub fn run(&self, options: &RunOptions<'_>, progress: &mut dyn Progress) -> Result<RunOutput, LabError> {
        let variant = self.variant(&options.variant)?;
        needs::check(self, variant)?;
        let installed = Jdk::installed();
        let jdk = jdk::choose(self, variant, options.jdk.as_ref(), &installed)?;
        let compiler = jdk::compiler_for(&jdk, variant, &installed)?;
        let folder = prepare_folder(&options.out_dir)?;
        let scratch = tempfile::tempdir().map_err(LabError::io("cannot make a folder in", std::env::temp_dir()))?;
        let places = Places::in_folder(scratch.path());
        progress.says(&self.plan(variant, &jdk, options.lengths));
        let settings = match options.recorder {
            Recorder::Jfr(settings) => Some(settings_argument(settings, &jdk, scratch.path())?),
            Recorder::Live(_) => None,
        };
        let recording = if settings.is_some() { "recording.jfr" } else { "recording.fathom" };
        let lengths_and_arrivals = (options.lengths, self.arrivals(options));
        let line = command_line(self, variant, jdk.major, lengths_and_arrivals, settings.as_deref());
        let line = line.iter().map(|argument| places.fill(argument)).collect();
        let output = RunOutput::in_folder(folder, recording, jdk, line);
        let jars = libraries::find(self, variant).map_err(|says| needs::refusal(self, variant, says))?;
        let classes = class_path(scratch.path(), &jars)?;
        javac::compile(self.sources_of(variant), variant, &compiler, scratch.path(), &classes, &options.stop)?;
        native::compile(self, variant, &output.jdk, &places.native(), &options.stop)?;
        let stage = Stage::prepare(self.stage(variant), &places, &options.stop)?;
        let companions = self.companions(variant);
        let companions =
            Companions::new(companions, &places, scratch.path(), &output.jdk, &stage.entry(), &output.folder);
        let started_by: Vec<String> = self.started_by.iter().map(|argument| places.fill(argument)).collect();
        let mut command = java(&output, &classes, &started_by)?;
        command.envs(variant.env.iter().map(|(name, value)| (name, places.fill(value))));
        stage.entry().prepare(&mut command).map_err(LabError::io("cannot prepare", output.jdk.java()))?;
        self.follow(command, &output, Around { companions, stage }, options, progress)?;
        let phases = latency::read(&output.dose, &output.latency, &self.phases)?;
        Ok(RunOutput { phases, ..output })
    }

    /// What is going to happen, for the user to read meanwhile.
    #[must_use]
    pub fn plan(&self, variant: &Variant, jdk: &Jdk, lengths: Lengths) -> String {
        let flags: Vec<&str> = self.jvm.iter().chain(&variant.jvm).map(String::as_str).collect();
        format!(
            "{} ({}): {}. {} Runs for {:.0} s and a few more to start, on JDK {} ({}) with {}, under a steady load of \
             {:.0} requests/s; recorded meanwhile.",
            self.id,
            variant.name,
            variant.says,
            self.shows,
            lengths.seconds(self),
            jdk.version,
            jdk.home.display(),
            flags.join(" "),
            self.phases[0].requests_per_second,
        )
    }

    fn follow(
        &self,
        command: Command,
        output: &RunOutput,
        mut around: Around<'_>,
        options: &RunOptions<'_>,
        progress: &mut dyn Progress,
    ) -> Result<(), LabError> {
        let mut stdout = File::create(&output.stdout).map_err(LabError::io("cannot write", &output.stdout))?;
        let limit = PREPARATION + Duration::from_secs_f64(options.lengths.seconds(self));
        let started = Instant::now();
        around.companions.begin().map_err(LabError::io("cannot start the companions of", output.jdk.java()))?;
        let mut program = Program::start(command).map_err(LabError::io("cannot start", output.jdk.java()))?;
        let pid = program.pid();
        let mut clients = Clients::new(&self.phases, self.handlers);
        let end = thread::scope(|scope| {
            let mut live = Live::new(scope, options.recorder, program.take_input(), pid, &output.recording);
            let end = program.run(limit, &options.stop, |line| {
                live.begin();
                around.hear(line)?;
                if options.arrivals == Arrivals::AtSocket {
                    clients.hear(line)?;
                    phase_that_begins(line).inspect(|phase| progress.says(&format!("phase={phase}")));
                }
                if let Some(second) = Second::parse(line, |phase| self.role_of(phase)) {
                    progress.second(&second);
                }
                writeln!(stdout, "{line}")
            });
            live.end().map(|()| end)
        })?;
        if self.arrivals(options) == Arrivals::AtSocket {
            clients.write_latencies(&output.latency).map_err(LabError::io("cannot write", &output.latency))?;
        }
        match end.map_err(LabError::io("cannot follow", output.jdk.java()))? {
            End::Exit(status) if status.success() => Ok(()),
            End::Exit(status) => Err(LabError::Failed {
                status: status.to_string(),
                seconds: started.elapsed().as_secs(),
                last_words: last_line(&output.stderr),
                log: output.stderr.clone(),
            }),
            End::Stopped => Err(LabError::Interrupted { folder: output.folder.clone() }),
            End::Overdue => Err(LabError::Overdue { seconds: limit.as_secs() }),
        }
    }

    /// Where requests actually come from.
    fn arrivals(&self, options: &RunOptions<'_>) -> Arrivals {
        if self.has_port { Arrivals::Inside } else { options.arrivals }
    }

    fn role_of(&self, phase: &str) -> Option<PhaseRole> {
        self.phases.iter().find(|known| known.name == phase).map(|known| known.role)
    }
}

/// What surrounds the program. The fields are dropped in this order.
struct Around<'a> {
    companions: Companions<'a>,
    stage: Stage,
}

impl Around<'_> {
    /// Follows the program through its phases.
    fn hear(&mut self, line: &str) -> std::io::Result<()> {
        self.companions.check()?;
        let Some(phase) = phase_that_begins(line) else { return Ok(()) };
        self.stage.phase_begins(phase)?;
        self.companions.phase_begins(phase)
    }
}

/// The command of the program, without what surrounds it.
fn java(output: &RunOutput, classes: &OsStr, started_by: &[String]) -> Result<Command, LabError> {
    let stderr = File::create(&output.stderr).map_err(LabError::io("cannot write", &output.stderr))?;
    let mut command = output.jdk.command(started_by);
    // The user's environment could change the JVM (JAVA_TOOL_OPTIONS), and stock settings would record it, secrets and all.
    command.args(&output.command).current_dir(&output.folder).stderr(stderr);
    command.env_clear().env("CLASSPATH", classes).env("FATHOM_LAB_RUNNER", std::process::id().to_string());
    Ok(command)
}

impl RunOutput {
    fn in_folder(folder: PathBuf, recording: &str, jdk: Jdk, command: Vec<String>) -> Self {
        Self {
            recording: folder.join(recording),
            gc_log: folder.join("gc.log"),
            latency: folder.join("latency.csv"),
            dose: folder.join("dose.json"),
            stdout: folder.join("stdout.log"),
            stderr: folder.join("stderr.log"),
            phases: Vec::new(),
            folder,
            jdk,
            command,
        }
    }
}

/// An external recorder, from the program's first line until its end.
struct Live<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    recorder: Option<&'env dyn LiveRecorder>,
    /// Dropped when the recorder has started.
    input: Option<ChildStdin>,
    pid: u32,
    folder: &'env Path,
    thread: Option<ScopedJoinHandle<'scope, Result<(), String>>>,
}

impl<'scope, 'env> Live<'scope, 'env> {
    fn new(
        scope: &'scope Scope<'scope, 'env>,
        recorder: Recorder<'env>,
        input: Option<ChildStdin>,
        pid: u32,
        folder: &'env Path,
    ) -> Self {
        let (recorder, input) = match recorder {
            Recorder::Live(recorder) => (Some(recorder), input),
            Recorder::Jfr(_) => (None, None),
        };
        Self { scope, recorder, input, pid, folder, thread: None }
    }

    fn begin(&mut self) {
        if let Some(recorder) = self.recorder.take() {
            let (pid, folder, input) = (self.pid, self.folder, Mutex::new(self.input.take()));
            self.thread = Some(self.scope.spawn(move || {
                // The program continues in any case when this thread ends.
                let let_go = || drop(input.lock().unwrap_or_else(PoisonError::into_inner).take());
                recorder.record(pid, folder, &let_go)
            }));
        }
    }

    fn end(self) -> Result<(), LabError> {
        match self.thread.map(ScopedJoinHandle::join) {
            None | Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(says))) => Err(LabError::NotRecorded { says }),
            Some(Err(_)) => Err(LabError::NotRecorded { says: "the recorder panicked".to_owned() }),
        }
    }
}

/// The JVM's arguments. Files are named relative to the output folder, in which the JVM runs; classes come by `CLASSPATH`.
fn command_line(
    lab: &Lab,
    variant: &Variant,
    jdk: u32,
    (lengths, arrivals): (Lengths, Arrivals),
    settings: Option<&str>,
) -> Vec<String> {
    let mut line: Vec<String> = lab.jvm.iter().chain(&variant.jvm).cloned().collect();
    line.extend(settings.map(|settings| {
        format!("-XX:StartFlightRecording=settings={settings},filename=recording.jfr,dumponexit=true")
    }));
    line.extend(if jdk == 8 { LOGS_OF_JDK_8 } else { LOGS }.iter().map(|option| (*option).to_owned()));
    line.push(lab.main.clone());
    line.push(format!("lab={}", lab.id));
    line.push(format!("variant={}", variant.name));
    line.push(format!("handlers={}", lab.handlers));
    line.push("out=.".to_owned());
    line.push(format!("phases={}", phases_argument(lab, lengths)));
    line.extend((arrivals == Arrivals::AtSocket).then(|| "sockets=true".to_owned()));
    line.extend(lab.args.iter().chain(&variant.args).map(|(name, value)| format!("{name}={value}")));
    line
}

fn phases_argument(lab: &Lab, lengths: Lengths) -> String {
    let phases = lengths.phases(lab).into_iter();
    let parts = phases.map(|(phase, s)| format!("{}:{s:.3}:{}", phase.name, phase.requests_per_second));
    parts.collect::<Vec<_>>().join(",")
}

fn settings_argument(settings: JfrSettings, jdk: &Jdk, scratch: &Path) -> Result<String, LabError> {
    match settings {
        JfrSettings::Default => Ok(without_other_processes("default", jdk)),
        JfrSettings::Profile => Ok(without_other_processes("profile", jdk)),
        JfrSettings::Fathom => {
            let path = scratch.join("fathom.jfc");
            fs::write(&path, FATHOM_SETTINGS).map_err(LabError::io("cannot write", &path))?;
            Ok(path.to_string_lossy().into_owned())
        }
    }
}

/// The stock settings record the command lines of the whole machine, which a lab must not keep. Only JDK 17 and newer
/// can exclude a single event.
fn without_other_processes(settings: &str, jdk: &Jdk) -> String {
    if jdk.major < 17 { settings.to_owned() } else { format!("{settings},jdk.SystemProcess#enabled=false") }
}

/// Creates the folder and returns its absolute name, because the JVM runs inside it.
fn prepare_folder(folder: &Path) -> Result<PathBuf, LabError> {
    fs::create_dir_all(folder).map_err(LabError::io("cannot make the folder", folder))?;
    let mut entries = fs::read_dir(folder).map_err(LabError::io("cannot read", folder))?;
    if entries.next().is_some() {
        return Err(LabError::NotEmpty { folder: folder.to_owned() });
    }
    folder.canonicalize().map_err(LabError::io("cannot find", folder))
}

/// The classes of the lab and those of libraries.
fn class_path(classes: &Path, jars: &[PathBuf]) -> Result<OsString, LabError> {
    let all = iter::once(classes).chain(jars.iter().map(PathBuf::as_path));
    env::join_paths(all).map_err(io::Error::other).map_err(LabError::io("cannot make a class path of", classes))
}

fn text_of(file: &Path) -> String {
    fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

fn last_line(log: &Path) -> String {
    text_of(log).lines().last().unwrap_or("it printed no reason").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{lab, labs};

    #[test]
    fn command_lines_are_complete() {
        for lab in labs() {
            for variant in &lab.variants {
                let line =
                    command_line(lab, variant, 17, (Lengths::Scaled(0.5), Arrivals::Inside), Some("profile")).join(" ");
                assert!(line.contains(&format!(" {} lab={} variant={} ", lab.main, lab.id, variant.name)), "{line}");
                let flags_end = line.find(&lab.main).expect("checked above");
                assert!(variant.jvm.iter().all(|flag| line[..flags_end].contains(flag.as_str())), "{line}");
            }
        }
    }

    #[test]
    fn time_scale_stretches_phases() {
        let lab = lab("healthy_server").expect("it exists");
        assert_eq!(phases_argument(lab, Lengths::Scaled(0.5)), "warm_up:2.500:300,before:5.000:300,after:10.000:300");
        assert_eq!(phases_argument(lab, Lengths::Exposed(0.5)), "warm_up:5.000:300,before:10.000:300,after:10.000:300");
        let twice = Lengths::Played { healthy_s: 60.0, ill_s: 2.0, times: 2 };
        let again = "before:60.000:300,after:2.000:300";
        assert_eq!(phases_argument(lab, twice), format!("warm_up:5.000:300,{again},{again}"));
        assert_eq!(twice.seconds(lab), 129.0);
    }

    #[test]
    fn settings_name_each_event_once_and_record_no_environment() {
        let names: Vec<&str> =
            FATHOM_SETTINGS.split("<event name=\"").skip(1).filter_map(|e| e.split('"').next()).collect();
        let distinct: std::collections::BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(distinct.len(), names.len());
        let environment = r#""jdk.InitialEnvironmentVariable"><setting name="enabled">false<"#;
        assert!(FATHOM_SETTINGS.contains(environment));
    }

    #[test]
    fn a_folder_in_use_is_refused() {
        let folder = tempfile::tempdir().expect("the temporary folder can be written");
        assert!(prepare_folder(&folder.path().join("new/folder")).is_ok());
        assert!(matches!(prepare_folder(folder.path()), Err(LabError::NotEmpty { .. })));
    }
}
