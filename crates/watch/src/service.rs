//! The service: finds JVMs, gives each a thread, and answers signals, the socket and systemd.

use std::collections::HashMap;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fathom_collectors::allocator;
use fathom_collectors::jvms::Jvm;
use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::flag;

use crate::admission::{Admission, JvmKey};
use crate::conclude::{self, Job};
use crate::config::Config;
use crate::control::{self, Request};
use crate::ended::{self, Before, Listener};
use crate::incident_handler::{IncidentHandler, Shared};
use crate::metrics::{self, Metrics};
use crate::notify::Notify;
use crate::shortage::Shortage;
use crate::sidecars::Begun;
use crate::targets::is_target;
use crate::triggers::Kind;
use crate::watched_jvm::{Commands, WatchedJvm, now_ms};
use crate::{finder, log, lost, minutes, places, retention, tell, trusted, usual};

/// How often signals, new JVMs and requests are looked for.
const LOOK: Duration = Duration::from_millis(250);

/// How often the service looks at itself and tells systemd that it is well.
const SELF_LOOK: Duration = Duration::from_secs(5);

/// How often it is asked whether the host is short of something.
const HOST_LOOK: Duration = Duration::from_secs(1);

/// A thread that has not come to its second for so long hangs.
const SILENT_MS: i64 = 120_000;

/// A recording that is asked to end waits for its collectors, for no longer than this.
const JVM_PATIENCE: Duration = Duration::from_secs(40);

/// The thread of a JVM needs little; 200 of them are as small as the service.
const STACK_BYTES: usize = 512 << 10;

/// Why the service cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// A file, a folder or a socket.
    #[error("{what}: {source}")]
    Io {
        /// Which.
        what: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Another service has the folder.
    #[error("{}: another fathom watch uses this folder", .0.display())]
    InUse(PathBuf),
}

fn io(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> WatchError {
    let what = what.to_string();
    |source| WatchError::Io { what, source }
}

/// What others have asked for by signals.
#[derive(Debug, Default)]
struct Signals {
    stop: Arc<AtomicBool>,
    reload: Arc<AtomicBool>,
    trigger: Arc<AtomicBool>,
}

impl Signals {
    fn listen() -> std::io::Result<Signals> {
        let signals = Signals::default();
        for (number, asked) in
            [(SIGTERM, &signals.stop), (SIGINT, &signals.stop), (SIGHUP, &signals.reload), (SIGUSR1, &signals.trigger)]
        {
            flag::register(number, Arc::clone(asked))?;
        }
        Ok(signals)
    }
}

/// A JVM that is watched.
struct JvmThread {
    jvm: Jvm,
    before: Before,
    commands: Arc<Commands>,
    thread: JoinHandle<()>,
    is_silent: bool,
}

/// The service at work.
struct Service {
    config: Arc<Config>,
    file: Option<PathBuf>,
    /// Recordings go where they go now, whatever the file says.
    keeps_folder: bool,
    watched: HashMap<JvmKey, JvmThread>,
    /// JVMs for which there is no room, or that are not wanted by the present configuration.
    others: Vec<Jvm>,
    shared: Shared,
    notify: Notify,
    signals: Signals,
    shortage: Shortage,
    _lock: File,
}

/// Watches until it is asked to end (SIGTERM, Ctrl-C). `file` is where the configuration is from, which `keeps_folder` when that is
/// read anew; `program` finishes and explains recordings: `fathom` itself.
///
/// # Errors
/// When it cannot begin; what goes wrong afterwards is reported in the log.
pub fn run(mut config: Config, file: Option<PathBuf>, keeps_folder: bool, program: &Path) -> Result<(), WatchError> {
    allocator::share_among_threads();
    config.folder = trusted::folder(&config.folder).map_err(io(config.folder.display()))?;
    let lock = take_folder(&config.folder)?;
    let signals = Signals::listen().map_err(io("signals"))?;
    let metrics = Metrics::default();
    serve_metrics(&config, &metrics)?;
    let requests = serve_control(&config.folder)?;
    let (jobs, job_queue) = channel();
    let (reporter, messages) = channel();
    let reported = metrics.clone();
    let (place, first) = (config.folder.clone(), config.tell.clone());
    let telling = spawn("tell", move || tell::work(&place, &messages, &first, &reported))?;
    let (minutes, rows) = channel();
    let (rows_in, max_bytes, counted) = (config.folder.join("minutes"), config.minutes.disk.0, metrics.clone());
    let keeping = spawn("minutes", move || minutes::work(&rows_in, &rows, max_bytes, &counted))?;
    let admission = Arc::new(Mutex::new(Admission::new(&config, first_start_s(&config.folder))));
    let (tool, counted, to) = (program.to_owned(), metrics.clone(), (reporter.clone(), minutes.clone()));
    let asked = Arc::clone(&admission);
    let concluding = spawn("conclude", move || conclude::work(&tool, &job_queue, (&to.0, &to.1), (&counted, &asked)))?;
    let (finds, found) = channel();
    // It ends with the process: it may hang in a process that hangs.
    drop(spawn("find", move || finder::work(&finds))?);
    let mut service = Service {
        shared: Shared {
            admission,
            together: Arc::default(),
            metrics,
            jobs,
            minutes: minutes.clone(),
            listener: Arc::new(listen()),
            reporter: reporter.clone(),
        },
        shortage: Shortage::default(),
        config: Arc::new(config),
        file,
        keeps_folder,
        watched: HashMap::new(),
        others: Vec::new(),
        notify: Notify::from_env(),
        signals,
        _lock: lock,
    };
    service.recover();
    service.work(&found, &requests);
    service.end();
    // What was recorded is explained and reported before the end.
    let _ = concluding.join();
    let _ = reporter.send(tell::Message::End);
    let _ = telling.join();
    let _ = minutes.send(minutes::Message::End);
    let _ = keeping.join();
    Ok(())
}

fn take_folder(folder: &Path) -> Result<File, WatchError> {
    let path = folder.join("lock");
    let lock = File::create(&path).map_err(io(path.display()))?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(lock),
        Err(_) => Err(WatchError::InUse(folder.to_owned())),
    }
}

/// When a service used this folder for the first time, in s since the Unix epoch.
fn first_start_s(folder: &Path) -> i64 {
    let (path, now_s) = (folder.join("first_start"), Timestamp::now().as_second());
    let known = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok());
    known.unwrap_or_else(|| {
        // Where it cannot be written, each start is the first one.
        let _ = fs::write(&path, format!("{now_s}\n"));
        now_s
    })
}

fn serve_metrics(config: &Config, metrics: &Metrics) -> Result<(), WatchError> {
    let Some(address) = &config.tell.metrics else { return Ok(()) };
    let listener = TcpListener::bind(address).map_err(io(format!("tell.metrics {address}")))?;
    let registry = Arc::new(metrics.registry());
    drop(spawn("metrics", move || metrics::serve(&listener, &registry))?);
    Ok(())
}

fn serve_control(folder: &Path) -> Result<Receiver<Request>, WatchError> {
    let listener = control::listen(folder).map_err(io(folder.display()))?;
    let (sender, requests) = channel();
    drop(spawn("control", move || control::serve(&listener, &sender))?);
    Ok(requests)
}

/// Listens to the ends of JVMs; what cannot be known of them is reported.
fn listen() -> Listener {
    let (listener, refused) = Listener::start();
    for refusal in refused {
        let says = format!("how JVMs end: {}", refusal.why);
        log::line("not_seen", &[("says", says.into()), ("grant", refusal.grant.into())]);
    }
    listener
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, WatchError> {
    thread::Builder::new().name(format!("watch-{name}")).stack_size(STACK_BYTES).spawn(work).map_err(io("a thread"))
}

impl Service {
    fn work(&mut self, found: &Receiver<Jvm>, requests: &Receiver<Request>) {
        log::line("started", &[("folder", self.config.folder.display().to_string().into())]);
        self.notify.says("READY=1");
        let mut look_at = Instant::now();
        let mut host_at = Instant::now();
        while !self.signals.stop.load(Ordering::Relaxed) {
            found.try_iter().for_each(|jvm| self.meet(jvm));
            requests.try_iter().for_each(|request| self.answer(&request));
            if self.signals.trigger.swap(false, Ordering::Relaxed) {
                self.trigger(None);
            }
            if self.signals.reload.swap(false, Ordering::Relaxed) {
                self.reload();
            }
            self.bury();
            if Instant::now() >= host_at {
                host_at = Instant::now() + HOST_LOOK;
                self.look_at_host();
            }
            if Instant::now() >= look_at {
                look_at = Instant::now() + SELF_LOOK;
                self.look_at_self();
            }
            thread::sleep(LOOK);
        }
    }

    /// A JVM has appeared.
    fn meet(&mut self, jvm: Jvm) {
        let is_wanted = is_target(&self.config.target, &jvm);
        let is_full = self.watched.len() >= self.config.signals.jvms_max;
        if is_wanted && is_full {
            self.make_room(&jvm);
        }
        if !is_wanted || is_full {
            self.others.push(jvm);
            return;
        }
        log::line("jvm_found", &[("pid", jvm.target.pid.into()), ("main", jvm.main.clone().into())]);
        if let Err(error) = self.watch(jvm) {
            log::says("jvm_not_watched", &error.to_string());
        }
    }

    /// Has a JVM of a user who has more than his part of the places give way to this one, which is met again when that has ended.
    fn make_room(&self, jvm: &Jvm) {
        let of_each = self.watched.iter().filter(|(_, watched)| !watched.commands.stop.load(Ordering::Relaxed));
        let watched: Vec<(JvmKey, u32)> = of_each.map(|(key, watched)| (*key, watched.jvm.target.uid)).collect();
        let way = places::gives_way(&watched, self.config.signals.jvms_max, jvm.target.uid);
        let Some(watched) = way.and_then(|key| self.watched.get(&key)) else {
            return log::line(
                "jvm_not_watched",
                &[("pid", jvm.target.pid.into()), ("says", "signals.jvms_max".into())],
            );
        };
        watched.commands.stop.store(true, Ordering::Relaxed);
        let says =
            format!("its user has more than two thirds of signals.jvms_max; its place is for {}", jvm.target.pid);
        log::line("jvm_not_watched", &[("pid", watched.jvm.target.pid.into()), ("says", says.into())]);
    }

    fn watch(&mut self, jvm: Jvm) -> Result<(), WatchError> {
        let key = (jvm.target.pid, jvm.target.start_ticks);
        let commands = Arc::new(Commands::default());
        let watched = WatchedJvm::new(jvm.clone(), Arc::clone(&self.config), Arc::clone(&commands));
        let stop = Arc::clone(&self.signals.stop);
        if let Err(refusal) = self.shared.listener.watch(jvm.target.pid) {
            log::says("not_seen", &refusal.why);
        }
        let handler =
            IncidentHandler::new(&jvm, (self.shared.clone(), &self.config.folder), self.config.minutes.enabled, stop);
        let thread = spawn("jvm", move || watched.run(&mut { handler }))?;
        self.watched.insert(key, JvmThread { before: Before::of(&jvm), jvm, commands, thread, is_silent: false });
        Ok(())
    }

    /// Ends what belongs to JVMs that have ended, and watches others in their place.
    fn bury(&mut self) {
        let gone: Vec<JvmKey> =
            self.watched.iter().filter(|(_, watched)| watched.thread.is_finished()).map(|(key, _)| *key).collect();
        for watched in gone.iter().filter_map(|key| self.watched.remove(key)) {
            let jvm = &watched.jvm;
            self.shared.metrics.forget(&metrics::of_jvm(&jvm.main, jvm.target.pid));
            // Its thread ended for another configuration, or for a JVM of another user.
            if watched.commands.stop.load(Ordering::Relaxed) && jvm.target.is_alive() {
                self.others.push(watched.jvm);
                continue;
            }
            let how = ended::says(self.shared.listener.of(jvm.target.pid).as_ref(), &watched.before);
            self.shared.listener.forget(jvm.target.pid);
            let about = [("pid", jvm.target.pid.into()), ("main", jvm.main.clone().into()), ("says", how.into())];
            log::line("jvm_ended", &about);
        }
        if !gone.is_empty() {
            self.meet_others();
        }
    }

    /// JVMs of the users with the fewest watched JVMs come first: the place may have been freed for them.
    fn meet_others(&mut self) {
        let mut others = std::mem::take(&mut self.others);
        others.sort_by_key(|jvm| {
            self.watched.values().filter(|watched| watched.jvm.target.uid == jvm.target.uid).count()
        });
        for jvm in others {
            if jvm.target.is_alive() {
                self.meet(jvm);
            }
        }
    }

    fn answer(&self, request: &Request) {
        // Who asked may be gone.
        let _ = request.answer.send(self.trigger(request.pid));
    }

    /// Asks the threads of one or all JVMs for a recording; how many there are.
    fn trigger(&self, pid: Option<u32>) -> usize {
        let meant = self.watched.values().filter(|watched| pid.is_none_or(|pid| pid == watched.jvm.target.pid));
        meant.map(|watched| watched.commands.trigger.store(true, Ordering::Relaxed)).count()
    }

    /// Takes the configuration anew; one that is wrong changes nothing. All JVMs are watched afresh; what was learned of them is gone.
    fn reload(&mut self) {
        let Some(file) = &self.file else { return log::says("not_reloaded", "there is no configuration file") };
        let config = match Config::read(file) {
            Ok(config) if self.keeps_folder || self.is_own_folder(&config.folder) => {
                Config { folder: self.config.folder.clone(), ..config }
            }
            Ok(_) => return log::says("not_reloaded", "another folder takes a restart"),
            Err(error) => return log::says("not_reloaded", &error.to_string()),
        };
        if let Ok(mut admission) = self.shared.admission.lock() {
            admission.set(&config);
        }
        let _ = self.shared.minutes.send(minutes::Message::Limit(config.minutes.disk.0));
        self.config = Arc::new(config);
        // JVMs that are being recorded end that first; this does not wait for them.
        self.ask_to_stop();
        self.meet_others();
        log::says("reloaded", "histories of all JVMs begin anew");
    }

    /// Whether a path leads to the service's folder, maybe by a link.
    fn is_own_folder(&self, path: &Path) -> bool {
        fs::canonicalize(path).is_ok_and(|path| path == self.config.folder)
    }

    fn ask_to_stop(&self) {
        self.watched.values().for_each(|watched| watched.commands.stop.store(true, Ordering::Relaxed));
    }

    fn stop_watching(&mut self) {
        self.ask_to_stop();
        let (silent, lively): (Vec<JvmThread>, _) = self.watched.drain().map(|(_, one)| one).partition(is_silent);
        let left = silent.len() + wait_for(lively.into_iter().map(|one| one.thread).collect(), JVM_PATIENCE);
        if left > 0 {
            log::line("jvm_hangs", &[("says", format!("{left} JVMs are left as they are").into())]);
        }
    }

    fn look_at_host(&mut self) {
        let short = self.shortage.look();
        let uids = self.watched.values().map(|watched| watched.jvm.target.uid).collect();
        let now_s = now_ms() / 1000;
        if let Ok(mut together) = self.shared.together.lock() {
            together.host_second(now_s, short);
        }
        if let Ok(mut admission) = self.shared.admission.lock() {
            if short.is_some() {
                admission.is_short(now_s);
            }
            admission.set_users(&uids);
        }
    }

    fn look_at_self(&mut self) {
        self.shared.metrics.look_at_self();
        self.shared.metrics.set_jvms(self.watched.len());
        for watched in self.watched.values_mut() {
            let is = is_silent(watched);
            if is && !watched.is_silent {
                let pid = watched.jvm.target.pid;
                log::line(
                    "jvm_hangs",
                    &[("pid", pid.into()), ("says", "its files have not answered for 2 min".into())],
                );
            }
            watched.is_silent = is;
        }
        self.others.retain(|jvm| jvm.target.is_alive());
        self.report_what_was_learned();
        self.notify.says("WATCHDOG=1");
    }

    fn report_what_was_learned(&self) {
        let learned =
            self.shared.admission.lock().ok().and_then(|mut admission| admission.learned(Timestamp::now().as_second()));
        let Some(learned) = learned else { return };
        let one = |((service, kind, which), times): ((String, Kind, String), usize)| json!({ "service": service, "trigger": kind.name(), "which": which, "times": times });
        let reasons: Vec<Value> = learned.into_iter().map(one).collect();
        let says = "recordings are made from now on; these reasons would have been some";
        log::line("learned", &[("says", says.into()), ("reasons", reasons.into())]);
    }

    /// Recordings that a service that was killed has left.
    fn recover(&self) {
        lost::save(&self.config.folder);
        usual::clear(&self.config.folder);
        for folder in retention::left_behind(&self.config.folder) {
            log::says("recovered", &folder.display().to_string());
            let job = Job {
                begun: Begun::read(&folder),
                folder,
                after_ns: 0,
                ended: "the service was killed".to_owned(),
                config: Arc::clone(&self.config),
            };
            // Who concludes lives as long as the service.
            let _ = self.shared.jobs.send(Some(job));
        }
    }

    fn end(mut self) {
        self.notify.says("STOPPING=1");
        self.stop_watching();
        control::end(&self.config.folder);
        // A thread that hangs still holds its end of the queue: say that nothing follows.
        let _ = self.shared.jobs.send(None);
        log::says("ended", "asked to");
    }
}

/// Waits until all have ended or patience has; how many have not. A thread that hangs in its JVM is left to itself.
fn wait_for(mut threads: Vec<JoinHandle<()>>, patience: Duration) -> usize {
    let until = Instant::now() + patience;
    loop {
        threads.retain(|thread| !thread.is_finished());
        if threads.is_empty() || Instant::now() >= until {
            return threads.len();
        }
        thread::sleep(LOOK);
    }
}

fn is_silent(watched: &JvmThread) -> bool {
    watched.commands.silent_ms() > SILENT_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_hangs_holds_up_no_end() {
        let (_never, nothing) = channel::<()>();
        let hangs = thread::spawn(move || nothing.recv().unwrap_or_default());
        let ends = thread::spawn(|| {});
        while !ends.is_finished() {
            thread::yield_now();
        }
        assert_eq!(wait_for(vec![ends, hangs], Duration::ZERO), 1);
        assert_eq!(wait_for(Vec::new(), JVM_PATIENCE), 0);
    }
}
