//! One JVM: its collectors, its ring, its triggers, its recordings, on one thread.
//!
//! A JVM that hangs in the kernel may block every thread that reads its files. One thread per JVM keeps the others
//! unaffected. The thread's stack is small and it sleeps nearly all the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fathom_collectors::jvms::Jvm;
use fathom_collectors::recorder::Plan;
use fathom_collectors::{Clock, Collector, Observer, Order, Refusal, Target, allocator, collectors};
use fathom_evidence::Recording;
use fathom_evidence::kinds::loss;

use crate::config::Config;
use crate::idle::Idle;
use crate::ring::{GAP, Ring};
use crate::rings::{self, RingFile};
use crate::signals::{Meter, Second};
use crate::triggers::{Trigger, Triggers};

const TICK: Duration = Duration::from_millis(100);
/// A second has so many.
const TICKS: u32 = 10;

/// Collectors that are looked at each tick, because what they bring comes in rings, or because a tenth of a second is what they are
/// about. The others give totals, which a look each second reads as well.
const EACH_TICK: [&str; 4] = ["hsperfdata", "jvm_probes", "requests", "scheduler"];

/// A look at all threads costs more than the rest, and of a JVM that has nothing to do it shows the same each time: then it is made once in so
/// many seconds. Waits go on in between.
const LOOKS_AT_THREADS: &str = "scheduler";
const IDLE_LOOK_S: u64 = 10;

/// A collector that was refused is asked again after so many seconds, since a JVM that has just begun has not made its files, and
/// then each so many.
const ASK_AGAIN_S: [u64; 4] = [2, 5, 20, 60];
const ASK_EACH_S: u64 = 600;

/// The wall clock has been set when it is off by this.
const CLOCK_STEP_NS: i64 = 100_000_000;

/// What happens to a JVM that is watched.
pub(crate) trait Watcher {
    /// A collector has started, or was refused, whole or in part.
    fn started(&mut self, _name: &'static str, _refused: Option<&Refusal>) {}
    /// A second is over; it ended at this time.
    fn second(&mut self, _at_ns: i64, _second: &Second) {}
    /// The reasons to record of a second that is over, mostly none. `watched` may be recorded.
    fn triggered(&mut self, watched: &mut WatchedJvm, triggers: &[Trigger]);
    /// Something of interest happened.
    fn says(&mut self, _what: &str) {}
}

/// What other threads ask of a watched JVM.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    /// It is to end.
    pub(crate) stop: AtomicBool,
    /// A recording was requested.
    pub(crate) trigger: AtomicBool,
    /// When it has last done a second, by the monotonic clock in ms: a thread that hangs is seen by that.
    alive_ms: AtomicI64,
}

impl Commands {
    /// The thread has come this far.
    pub(crate) fn lives(&self) {
        self.alive_ms.store(now_ms(), Ordering::Relaxed);
    }

    /// For how long it has not, in ms.
    pub(crate) fn silent_ms(&self) -> i64 {
        now_ms() - self.alive_ms.load(Ordering::Relaxed)
    }
}

/// Observers at work with the names of their collectors, as a recorder takes them.
pub(crate) type Observers = Vec<(&'static str, Box<dyn Observer>)>;

/// A collector at work.
struct Slot {
    name: &'static str,
    observer: Box<dyn Observer>,
    is_each_tick: bool,
}

/// One JVM that is watched.
pub(crate) struct WatchedJvm {
    /// The JVM.
    pub(crate) jvm: Jvm,
    config: Arc<Config>,
    commands: Arc<Commands>,
    order: Order,
    slots: Vec<Slot>,
    refused: Vec<(&'static str, String)>,
    /// Seconds since the collectors were started.
    started_s: u64,
    ring: Ring,
    /// The same for a service after this one; nothing where it cannot be written.
    ring_file: Option<RingFile>,
    meter: Meter,
    triggers: Triggers,
    began: Instant,
    age_at_start_s: i64,
    ticks: u64,
    idle: Idle,
    found: Recording,
}

impl WatchedJvm {
    /// Begins to watch a JVM, with what a service that was killed knew of it; nothing is started yet.
    pub(crate) fn new(jvm: Jvm, config: Arc<Config>, commands: Arc<Commands>) -> WatchedJvm {
        commands.lives();
        let mut ring = Ring::new(config.capture.before);
        let ring_file = take_over(&jvm, &config, &mut ring);
        WatchedJvm {
            commands,
            order: order(&config),
            slots: Vec::new(),
            refused: Vec::new(),
            started_s: 0,
            ring,
            ring_file,
            meter: Meter::default(),
            triggers: Triggers::new(&config),
            began: Instant::now(),
            age_at_start_s: jvm.uptime_ns / 1_000_000_000,
            ticks: 0,
            idle: Idle::default(),
            found: Recording::default(),
            jvm,
            config,
        }
    }

    /// Watches until the JVM ends or a stop is requested.
    pub(crate) fn run(mut self, watcher: &mut dyn Watcher) {
        self.start(watcher);
        let mut next = Instant::now();
        while !self.is_to_stop() {
            let ticks = self.ticks_at_once();
            // What was missed is not made up for.
            next = (next + TICK * ticks).max(Instant::now());
            thread::sleep(next.saturating_duration_since(Instant::now()));
            self.tick(ticks);
            if self.ticks.is_multiple_of(TICKS.into()) {
                // What it died of may be in its last second.
                let is_over = !self.jvm.target.is_alive();
                self.second(watcher);
                if is_over {
                    return;
                }
            }
        }
    }

    fn is_to_stop(&self) -> bool {
        self.commands.stop.load(Ordering::Relaxed)
    }

    /// Whether the JVM still exists and is still to be watched.
    pub(crate) fn goes_on(&self) -> bool {
        !self.is_to_stop() && self.jvm.target.is_alive()
    }

    /// Starts all collectors of the configuration; what is refused and was not before is reported.
    pub(crate) fn start(&mut self, watcher: &mut dyn Watcher) {
        self.slots.clear();
        self.started_s = 0;
        self.meter = Meter::default();
        self.start_missing(watcher);
        // Programs for the kernel need megabytes until they are loaded.
        allocator::give_back();
    }

    /// Starts those that are not at work. A refusal is reported when it is another one than before, and not of a JVM that has ended meanwhile:
    /// what the kernel says of that is no matter of rights.
    fn start_missing(&mut self, watcher: &mut dyn Watcher) {
        let before = std::mem::take(&mut self.refused);
        let names = &self.config.signals.collectors;
        for collector in collectors().iter().filter(|collector| names.iter().any(|name| name == collector.name())) {
            let name = collector.name();
            if self.slots.iter().any(|slot| slot.name == name) {
                continue;
            }
            let refusals = match collector.start(&self.jvm.target, &self.order) {
                Ok(observer) => {
                    let in_part = in_part(*collector, &*observer, &self.jvm.target);
                    watcher.started(name, None);
                    self.slots.push(Slot { name, observer, is_each_tick: EACH_TICK.contains(&name) });
                    in_part
                }
                Err(_) if !self.jvm.target.is_alive() => Vec::new(),
                Err(refusal) => vec![refusal],
            };
            for refusal in refusals {
                if !before.contains(&(name, refusal.why.clone())) {
                    watcher.started(name, Some(&refusal));
                }
                self.refused.push((name, refusal.why));
            }
        }
        // What is at work since before still lacks what it lacked.
        let is_kept = |(name, _): &&(&str, String)| self.slots.iter().any(|slot| slot.name == *name);
        let is_new = |one: &&(&'static str, String)| !self.refused.contains(one);
        let kept: Vec<_> = before.iter().filter(is_kept).filter(is_new).cloned().collect();
        self.refused.extend(kept);
    }

    /// Asks again for what was refused.
    fn look_for_missing(&mut self, watcher: &mut dyn Watcher) {
        self.started_s += 1;
        let is_time = ASK_AGAIN_S.contains(&self.started_s) || self.started_s.is_multiple_of(ASK_EACH_S);
        let is_missing = self.slots.len() < self.config.signals.collectors.len();
        if is_time && is_missing && self.jvm.target.is_alive() {
            self.start_missing(watcher);
        }
    }

    /// How many ticks the next look is for.
    fn ticks_at_once(&self) -> u32 {
        if self.ticks.is_multiple_of(TICKS.into()) && self.idle.is_it() { TICKS } else { 1 }
    }

    fn tick(&mut self, ticks: u32) {
        self.ticks += u64::from(ticks);
        let is_second = self.ticks.is_multiple_of(TICKS.into());
        let rests = self.idle.is_it() && !self.ticks.is_multiple_of(u64::from(TICKS) * IDLE_LOOK_S);
        let is_due = |slot: &&mut Slot| (is_second || slot.is_each_tick) && !(rests && slot.name == LOOKS_AT_THREADS);
        for slot in self.slots.iter_mut().filter(is_due) {
            slot.observer.look(&mut self.found);
        }
    }

    fn second(&mut self, watcher: &mut dyn Watcher) {
        let now_ns = self.order.clock.now_ns();
        let segment = std::mem::take(&mut self.found);
        self.meter.add(&segment);
        let rows = self.ring.push(now_ns, segment);
        self.keep(now_ns, &rows, watcher);
        let mut second = self.meter.second();
        second.dropped += self.ring.take_dropped();
        self.idle.see(&second);
        self.commands.lives();
        watcher.second(now_ns, &second);
        self.look_for_missing(watcher);
        let age_s = self.age_at_start_s + self.began.elapsed().as_secs() as i64;
        let mut reported = self.triggers.see(now_ns, age_s, &second);
        if self.commands.trigger.swap(false, Ordering::Relaxed) {
            reported.insert(0, Trigger::by_hand(now_ns));
        }
        watcher.triggered(self, &reported);
        if self.ticks.is_multiple_of(100) {
            self.look_at_clock(watcher);
        }
    }

    /// Writes what was found, for a service after this one.
    fn keep(&mut self, now_ns: i64, rows: &[u8], watcher: &mut dyn Watcher) {
        let Some(file) = &mut self.ring_file else { return };
        if let Err(error) = file.add(now_ns, rows, || self.ring.known(now_ns)) {
            watcher.says(&format!("the time before would not outlive a kill: its file cannot be written: {error}"));
            self.ring_file = None;
        }
    }

    /// Rows before and after a step of the wall clock cannot be in one recording.
    fn look_at_clock(&mut self, watcher: &mut dyn Watcher) {
        let clock = Clock::read();
        if (clock.now_ns() - self.order.clock.now_ns()).abs() > CLOCK_STEP_NS {
            watcher.says("the wall clock was set: what was kept of the time before is dropped");
            self.order.clock = clock;
            self.ring = Ring::new(self.config.capture.before);
            self.ring_file.iter_mut().for_each(RingFile::clear);
            self.start(watcher);
        }
    }

    /// From when on there are rows of the time before, in ns.
    pub(crate) fn kept_from_ns(&self) -> Option<i64> {
        self.ring.from_ns()
    }

    /// Rows of the time before and the observers, for a recorder, but for those that see less than it wants: they say now what they
    /// would say later. The thread sees nothing until it is started again.
    pub(crate) fn hand_over(&mut self) -> (Recording, Observers) {
        let (end, go_on): (Vec<Slot>, Vec<Slot>) = self.slots.drain(..).partition(|slot| slot.observer.is_sparing());
        for slot in end {
            // None of them leaves a file.
            let _ = slot.observer.finish(&mut self.found);
        }
        let observers = go_on.into_iter().map(|slot| (slot.name, slot.observer)).collect();
        self.ring_file.iter_mut().for_each(RingFile::clear);
        let mut rows = self.ring.take();
        rows.absorb(std::mem::take(&mut self.found));
        (rows, observers)
    }

    /// Rows of the time before, which stay where they are, and of what goes on until now.
    pub(crate) fn copy_kept(&self) -> Recording {
        let (mut rows, mut going_on) = (self.ring.copy(), Recording::default());
        self.slots.iter().for_each(|slot| slot.observer.so_far(&mut going_on));
        rows.absorb(going_on);
        rows
    }

    /// What the recorder's collectors are reported: the same clock and limits.
    pub(crate) fn order(&self) -> &Order {
        &self.order
    }

    /// What its reasons come from.
    pub(crate) fn triggers(&self) -> &Triggers {
        &self.triggers
    }

    /// The requests of other threads.
    pub(crate) fn commands(&self) -> Arc<Commands> {
        Arc::clone(&self.commands)
    }

    /// The configuration.
    pub(crate) fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// Collectors that were refused, whole or in part, with why.
    pub(crate) fn refused(&self) -> Vec<(&'static str, String)> {
        self.refused.clone()
    }
}

/// What a collector at work does not see of what it could.
fn in_part(collector: &dyn Collector, observer: &dyn Observer, target: &Target) -> Vec<Refusal> {
    let is_lesser = observer.tier().is_some_and(|tier| tier < collector.tier());
    let lesser = if is_lesser { collector.lesser(target) } else { None };
    let lesser = lesser.map(|lesser| {
        let Refusal { why, grant, .. } = lesser.refusal;
        Refusal::new(format!("seen are only {}: {why}", lesser.sees), grant)
    });
    observer.unseen().into_iter().chain(lesser).collect()
}

/// The ring's file, and in the ring what a service that was killed has left there, if it is not too long ago.
fn take_over(jvm: &Jvm, config: &Config, ring: &mut Ring) -> Option<RingFile> {
    let key = (jvm.target.pid, jvm.target.start_ticks);
    // Without it there is only less after a kill.
    let (mut file, left) = RingFile::open(&rings::place(&config.folder), key, config.capture.before).ok()?;
    let now_ns = Clock::read().now_ns();
    let until_ns = left.last().map_or(i64::MIN, |(until_ns, _)| *until_ns);
    let before_ns = i64::try_from(config.capture.before.as_nanos()).unwrap_or(i64::MAX);
    if until_ns < now_ns.saturating_sub(before_ns) || until_ns > now_ns {
        return Some(file);
    }
    let mut gap = Recording::default();
    let says = format!("not watched for {:.1} s: the service was killed", (now_ns - until_ns) as f64 / 1e9);
    gap.add_loss(GAP, loss::EVENTS_LOST, 0, &says);
    let mut is_written = true;
    for (time_ns, segment) in left.into_iter().chain([(now_ns, gap)]) {
        // It may be killed again, soon.
        let rows = ring.push(time_ns, segment);
        is_written &= file.add(time_ns, &rows, || ring.known(time_ns)).is_ok();
    }
    is_written.then_some(file)
}

/// Milliseconds of the monotonic clock.
pub(crate) fn now_ms() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec * 1000 + now.tv_nsec / 1_000_000
}

fn order(config: &Config) -> Order {
    let mut order = Plan::new(config.folder.clone()).order;
    order.requests_per_second = config.signals.requests_per_second;
    order.before = config.capture.before;
    order.is_sparing = true;
    order
}

#[cfg(test)]
pub(crate) mod tests {
    use fathom_evidence::Table;

    use super::*;
    use crate::capture;
    use crate::config::Signals;

    #[derive(Default)]
    struct Reported(Vec<&'static str>);

    impl Watcher for Reported {
        fn started(&mut self, name: &'static str, refused: Option<&Refusal>) {
            self.0.extend(refused.map(|_| name));
        }

        fn triggered(&mut self, _: &mut WatchedJvm, _: &[Trigger]) {}
    }

    /// This process, which is no JVM and has no counters of one.
    pub(crate) fn no_jvm() -> Jvm {
        Jvm {
            target: Target::of(std::process::id()).unwrap(),
            user: String::new(),
            main: "test".to_owned(),
            command_line: String::new(),
            properties: String::new(),
            version: String::new(),
            collector: String::new(),
            uptime_ns: 0,
            heap_used_bytes: None,
            heap_max_bytes: None,
            container: None,
        }
    }

    #[test]
    fn a_refusal_is_reported_once_also_after_a_recording() {
        let signals = Signals { collectors: vec!["hsperfdata".to_owned()], ..Signals::default() };
        let folder = tempfile::tempdir().unwrap();
        let config = Config { signals, folder: folder.path().to_owned(), ..Config::default() };
        let commands = Arc::new(Commands::default());
        let mut watched = WatchedJvm::new(no_jvm(), Arc::new(config), Arc::clone(&commands));
        let mut reported = Reported::default();
        watched.start(&mut reported);
        watched.hand_over();
        assert!(watched.goes_on());
        watched.start(&mut reported);
        assert_eq!((reported.0, watched.refused().len()), (vec!["hsperfdata"], 1));
        commands.stop.store(true, Ordering::Relaxed);
        assert!(!watched.goes_on());
    }

    /// Kills its JVM once that is watched, and records.
    struct Killer {
        child: std::process::Child,
        seconds: usize,
        ended: Vec<String>,
    }

    impl Watcher for Killer {
        fn started(&mut self, _: &'static str, refused: Option<&Refusal>) {
            assert!(refused.is_none(), "{refused:?}");
            self.child.kill().unwrap();
        }

        fn second(&mut self, _: i64, _: &Second) {
            self.seconds += 1;
        }

        fn triggered(&mut self, watched: &mut WatchedJvm, triggers: &[Trigger]) {
            for trigger in triggers {
                let folder = capture::place(watched, trigger);
                let captured = capture::capture(watched, trigger, folder, &AtomicBool::new(false)).unwrap();
                self.ended.push(captured.end.says().to_owned());
            }
        }
    }

    #[test]
    fn the_last_second_of_a_jvm_is_a_reason_like_any_other() {
        let child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let jvm = Jvm { target: Target::of(child.id()).unwrap(), ..no_jvm() };
        let signals = Signals { collectors: vec!["threads".to_owned()], ..Signals::default() };
        let folder = tempfile::tempdir().unwrap();
        let commands = Arc::new(Commands::default());
        let config = Config { signals, folder: folder.path().to_owned(), ..Config::default() };
        commands.trigger.store(true, Ordering::Relaxed);
        let mut killer = Killer { child, seconds: 0, ended: Vec::new() };
        WatchedJvm::new(jvm, Arc::new(config), commands).run(&mut killer);
        killer.child.wait().unwrap();
        assert_eq!((killer.seconds, killer.ended), (1, vec!["the process ended".to_owned()]));
    }

    #[test]
    fn who_comes_after_a_kill_has_the_time_before() {
        let folder = tempfile::tempdir().unwrap();
        let config = Arc::new(Config { folder: folder.path().to_owned(), ..Config::default() });
        let mut reported = Reported::default();
        let mut killed = WatchedJvm::new(no_jvm(), Arc::clone(&config), Arc::default());
        for _ in 0..5 {
            killed.found.add_span(killed.order.clock.now_ns(), 5, 7, "request", ":80", "", "test");
            killed.second(&mut reported);
        }
        std::mem::forget(killed);
        std::mem::forget(WatchedJvm::new(no_jvm(), Arc::clone(&config), Arc::default()));
        let mut killed_soon = WatchedJvm::new(no_jvm(), Arc::clone(&config), Arc::default());
        killed_soon.second(&mut reported);
        std::mem::forget(killed_soon);
        let mut watched = WatchedJvm::new(no_jvm(), Arc::clone(&config), Arc::default());
        let (rows, _) = watched.hand_over();
        assert_eq!((rows.spans.len(), rows.losses.len()), (5, 3), "once, with each gap");
        drop(watched);
        let mut after = WatchedJvm::new(no_jvm(), config, Arc::default());
        assert_eq!(after.hand_over().0.spans.len(), 0, "what was handed over is in a recording");
    }
}
