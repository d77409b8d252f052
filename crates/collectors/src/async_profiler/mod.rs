//! CPU and wall-clock samples by async-profiler, which is built into the program: stacks of Java, C++ and
//! the kernel, where JFR has Java alone.
//!
//! The library is loaded into the JVM over the attach socket and stays loaded: no JVM can unload it. A
//! later recording finds it and uses it again. Constraints:
//!
//! * **No conflict.** A JVM in which another async-profiler runs is left alone.
//! * **It ends by itself.** A recorder that is killed leaves a guard that stops it ([`guard`]); without one it stops on its own some
//!   minutes later.
//! * **It leaves the others their signals**: JFR's CPU-time samples want SIGPROF as well.

mod guard;
mod parse;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fathom_evidence::Recording;
use fathom_evidence::kinds::{loss, subject};

use crate::attach::{Attach, PrivateFolder, own_action};
use crate::followed::{Followed, PERIOD};
use crate::mapped::Mapped;
use crate::raw::Raw;
use crate::{Clock, Collector, Observer, Order, Outstanding, Refusal, Target, Tier, collector, late};

pub use guard::Guarded;

use guard::Guard;

include!(concat!(env!("OUT_DIR"), "/async_profiler.rs"));

pub(crate) static COLLECTOR: AsyncProfiler = AsyncProfiler;

const SOURCE: &str = "async_profiler";

/// What to sample: the CPU by perf events, with kernel frames, or by timers where those are refused.
const EVENTS: &[&str] = &["cpu", "ctimer"];

/// Not quite 50 and 10 a second, so that nothing that happens at such a rate is hit always or never. Twice as many cost
/// a busy service 4 % of its CPU, and these rates also suffice to distinguish single seconds.
const INTERVALS: &str = "interval=19900us,wall=99900us";

/// Waits for locks and parks in `java.util.concurrent` from this length on, where Flight Recorder is not there to see them.
const LOCKS: &str = "lock=1ms,";

/// Real-time signals, for CPU and for wall-clock samples, which nothing in a JVM uses.
const SIGNALS: &str = "signal=40/41";

/// After this long the samples are taken over and the profiler starts anew.
const SEGMENT: Duration = Duration::from_secs(300);
/// If it is not stopped, it stops by itself: a segment and some time to spare.
const TIMEOUT_S: u64 = SEGMENT.as_secs() + 60;

/// How often samples are put in order in the file: at most this much is lost if this recorder is killed.
const CHUNK_S: u64 = 10;

/// How long a JVM is left alone that did not answer when the profiler was to start anew.
const PAUSE: Duration = Duration::from_secs(5);

/// Loading resolves the symbols of every library of the process.
const PATIENCE: Duration = Duration::from_secs(10);

/// File names in the folder in the process's `/tmp`.
const LIBRARY_FILE: &str = "libasyncProfiler.so";
const SAMPLES_FILE: &str = "samples.jfr";

pub(crate) struct AsyncProfiler;

impl Collector for AsyncProfiler {
    fn name(&self) -> &'static str {
        SOURCE
    }

    fn sees(&self) -> &'static str {
        "samples of the CPU and of all threads: stacks of Java, C++ and the kernel"
    }

    fn tier(&self) -> Tier {
        Tier::Process
    }

    fn check(&self, target: &Target) -> Result<(), Refusal> {
        bundled()?;
        loaded(target)?;
        Ok(Attach::check(target)?)
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        late::start(SOURCE, begin, target, order)
    }
}

fn begin(target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
    order.policy.agent_of(target, &order.glance)?;
    let library = bundled()?;
    let loaded = loaded(target)?;
    let mut first = Recording::default();
    let attach = order.attach.of(target, &order.clock, &mut first)?;
    let folder = PrivateFolder::make(target).map_err(|error| no_room(&error))?;
    let library = match loaded {
        // The JVM knows it by its name, whether the file is still there or not.
        Some(path) => path,
        None => {
            folder.write(LIBRARY_FILE, library).map_err(|error| no_room(&error))?;
            folder.inner_path(LIBRARY_FILE)
        }
    };
    let lacks_jfr = order.policy.jfr_of(target, &order.glance).is_err();
    let locks = if lacks_jfr { LOCKS } else { "" };
    let profiler = Profiler { attach, library, locks, samples: folder.inner_path(SAMPLES_FILE) };
    let guard = Guard::start(order, target, &profiler.library, &folder);
    let event = own_action(&order.clock, &mut first, "async-profiler start", || profiler.start_any_over(&folder));
    folder.remove(LIBRARY_FILE);
    let event = event?;
    let others = order.profiler.clone();
    others.has_begun();
    first.add_fact(subject::SETTING, "async_profiler#event", event, SOURCE);
    if !locks.is_empty() {
        first.add_fact(subject::SETTING, "jdk.JavaMonitorEnter#enabled", "true", SOURCE);
        first.add_fact(subject::SETTING, "jdk.JavaMonitorEnter#threshold", "1 ms", SOURCE);
    }
    Ok(Box::new(Profiling {
        clock: order.clock,
        guard,
        profiler,
        others,
        folder,
        event,
        raw: order.raw(),
        files: Vec::new(),
        copy: None,
        began: Instant::now(),
        is_running: true,
        asks_again: None,
        first: Some(first),
    }))
}

fn bundled() -> Result<&'static [u8], Refusal> {
    LIBRARY.ok_or_else(|| {
        Refusal::new(
            "this fathom was built without async-profiler: JFR takes the stacks",
            "make deps, then build it again",
        )
    })
}

/// The library that an earlier recording of ours left in the process; an error if it belongs to another program.
fn loaded(target: &Target) -> Result<Option<String>, Refusal> {
    let mapped = Mapped::of(target).map_err(|error| {
        Refusal::new(format!("cannot read the process's mappings: {error}"), "run as the JVM's user, or as root")
    })?;
    match mapped.async_profiler {
        Some(path) if !path.starts_with("/tmp/fathom-") => Err(Refusal::new(
            format!("another async-profiler is in this JVM ({path}) and is left alone"),
            "record with it, and give its file to fathom import",
        )),
        ours => Ok(ours),
    }
}

fn no_room(error: &std::io::Error) -> Refusal {
    Refusal::new(format!("cannot put the library into the process's /tmp: {error}"), "make room in its /tmp")
}

/// The profiler inside the JVM.
struct Profiler {
    attach: Attach,
    /// The library as the JVM names it.
    library: String,
    /// What it shall do about locks.
    locks: &'static str,
    /// The file that it writes, as the JVM names it.
    samples: String,
}

impl Profiler {
    /// Has the agent do something.
    fn tell(&self, options: &str) -> Result<(), Refusal> {
        let said = self.attach.command("load", &[&self.library, "true", options], PATIENCE)?;
        match parse::return_code(&said) {
            Some(0) => Ok(()),
            Some(code) => Err(Refusal::new(
                format!("async-profiler answered {code}: it runs already, or this machine lets it sample nothing"),
                "",
            )),
            None => Err(refused(&said)),
        }
    }

    fn start(&self, event: &str) -> Result<(), Refusal> {
        let Profiler { samples: file, locks, .. } = self;
        let bounds = format!("timeout={TIMEOUT_S},chunktime={CHUNK_S}");
        self.tell(&format!(
            "start,event={event},{locks}{INTERVALS},{SIGNALS},cstack=vmx,clock=monotonic,{bounds},loglevel=none,jfr,file={file}"
        ))
    }

    /// Ends the samples' file. Told without a file, the agent writes to the service's own output.
    fn stop(&self) -> Result<(), Refusal> {
        self.tell(&format!("stop,jfr,file={}", self.samples))
    }

    /// Starts; over one that a recorder left running that was killed.
    fn start_any_over(&self, folder: &PrivateFolder) -> Result<&'static str, Refusal> {
        let started = self.start_any();
        if started.is_err() && folder.is_only() && self.stop().is_ok() {
            return self.start_any();
        }
        started
    }

    /// Starts with the first event that the machine allows.
    fn start_any(&self) -> Result<&'static str, Refusal> {
        let mut last = Err(Refusal::new("nothing to sample", ""));
        for event in EVENTS {
            last = self.start(event).map(|()| *event);
            if last.is_ok() {
                break;
            }
        }
        last
    }
}

/// What the JVM says when it loads no agent.
fn refused(said: &str) -> Refusal {
    let line: String =
        said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no reason").chars().take(300).collect();
    let grant = match said {
        said if said.contains("EnableDynamicAgentLoading") => "start the JVM with -XX:+EnableDynamicAgentLoading",
        said if said.contains("failed to map segment") => "mount the process's /tmp without noexec",
        _ => "",
    };
    Refusal::new(format!("the JVM did not load async-profiler: {line}"), grant)
}

struct Profiling {
    clock: Clock,
    /// Ends the profiler when this recorder is killed.
    guard: Option<Guard>,
    profiler: Profiler,
    /// What other collectors go by.
    others: collector::Profiler,
    folder: PrivateFolder,
    event: &'static str,
    raw: Raw,
    files: Vec<PathBuf>,
    /// The file that the profiler writes, and what is left of it when this recorder is killed.
    copy: Option<(File, Followed)>,
    began: Instant,
    is_running: bool,
    /// When a JVM is asked again that left a start unanswered; it may come to that start yet.
    asks_again: Option<Instant>,
    /// What was known before the first look.
    first: Option<Recording>,
}

impl Observer for Profiling {
    fn outstanding(&self) -> Option<Outstanding> {
        let says = format!(
            "the profiler's samples of the last {} s are missing: record again to have them",
            CHUNK_S + PERIOD.as_secs()
        );
        Some(Outstanding { file: self.segment(), says })
    }

    fn period(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn look(&mut self, found: &mut Recording) {
        self.keep_up(found);
        if self.is_running && self.began.elapsed() >= SEGMENT {
            self.stop(found);
            self.start(found);
        } else if self.asks_again.is_some_and(|at| at <= Instant::now()) {
            self.ask_again(found);
        }
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.keep_up(found);
        if self.is_running {
            self.stop(found);
        }
        std::mem::take(&mut self.files)
    }
}

impl Profiling {
    fn keep_up(&mut self, found: &mut Recording) {
        found.absorb(self.first.take().unwrap_or_default());
        self.follow(found);
    }

    /// Begins the next file.
    fn start(&mut self, found: &mut Recording) {
        let started = own_action(&self.clock, found, "async-profiler start", || self.profiler.start(self.event));
        self.began = Instant::now();
        self.is_running = started.is_ok();
        let is_unanswered = started.as_ref().is_err_and(|refusal| refusal.may_pass);
        self.asks_again = is_unanswered.then(|| Instant::now() + PAUSE);
        match started {
            Ok(()) => {
                self.others.has_begun();
                self.outstanding().into_iter().for_each(|outstanding| outstanding.note(found, SOURCE));
            }
            Err(refusal) => {
                self.others.has_ended();
                let until = if is_unanswered { "until the JVM answers" } else { "from here on" };
                found.add_loss(SOURCE, loss::REFUSED, 0, &format!("no samples {until}: {}", refusal.why));
            }
        }
    }

    /// Starts after a start that was left unanswered, which has to end if the JVM came to it meanwhile. As long as it does not
    /// answer it feels nothing of this: no row says that something was done to it.
    fn ask_again(&mut self, found: &mut Recording) {
        match self.profiler.stop() {
            Err(refusal) if refusal.may_pass => self.asks_again = Some(Instant::now() + PAUSE),
            _ => {
                self.folder.remove(SAMPLES_FILE);
                self.start(found);
            }
        }
    }

    /// Stops and takes over the samples: also those of a JVM that ended, as far as they were written.
    fn stop(&mut self, found: &mut Recording) {
        let stopped = own_action(&self.clock, found, "async-profiler stop", || self.profiler.stop());
        self.is_running = false;
        let file = self.raw.file(&self.segment());
        let taken = self.folder.take(SAMPLES_FILE, &self.raw, &self.segment());
        self.folder.remove(SAMPLES_FILE);
        if let Err(refusal) = stopped {
            found.add_loss(SOURCE, loss::TRUNCATED, 0, &format!("the last samples may be missing: {}", refusal.why));
        }
        match taken {
            Ok(()) => {
                self.files.push(file);
                if let Some((_, copy)) = self.copy.take() {
                    copy.remove();
                }
            }
            Err(error) => lose(found, &file, &error),
        }
    }

    /// Name of the file that is being written, as the raw folder will have it.
    fn segment(&self) -> String {
        segment(self.files.len())
    }

    /// Keeps a copy of what was sampled, for the case that this recorder is killed.
    fn follow(&mut self, found: &mut Recording) {
        if !self.is_running {
            return;
        }
        if self.copy.is_none() {
            let opened = self.folder.open(SAMPLES_FILE).ok();
            self.copy = opened.map(|file| (file, Followed::of(&self.raw, &self.segment())));
        }
        let Some((file, copy)) = &mut self.copy else { return };
        if let Err(error) = copy.when_due(|copy| copy.step(file)) {
            let says = format!("the copy of the profiler's samples could not be continued: {error}");
            Outstanding { file: segment(self.files.len()), says }.note(found, SOURCE);
        }
    }
}

/// Name of the raw folder's file of this number.
fn segment(number: usize) -> String {
    format!("async_profiler-{number:03}.jfr")
}

fn lose(found: &mut Recording, file: &Path, error: &std::io::Error) {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    found.add_loss(SOURCE, loss::REFUSED, 0, &format!("the samples of {name} could not be kept: {error}"));
}

/// A recorder that gives up early must not leave the profiler running, nor a start before the JVM that it comes to later: it
/// takes its commands in their order.
impl Drop for Profiling {
    fn drop(&mut self) {
        if self.is_running || self.asks_again.is_some() {
            // One that cannot be told to stop does so by itself.
            let _ = self.profiler.stop();
        }
        drop(self.guard.take());
    }
}

#[cfg(test)]
mod tests;
