//! One recording of one JVM: starts the collectors, gathers their rows, writes them each second.
//!
//! Each collector has a thread. Its rows go to the recording's folder at least once a second, so that a recorder killed
//! at any moment leaves a readable recording that lacks at most the last second. Memory does not grow with time: rows
//! are written and dropped, only the dictionaries stay.

mod absence;
mod described;
mod disk;
mod hand_over;
mod worker;

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use fathom_evidence::Recording;
use fathom_evidence::kinds::{counter, loss, recorded, subject};
use fathom_store::{FolderError, FolderWriter};

use crate::allocator;
use crate::attach::Shared;
use crate::bpf::are_all_rights;
use crate::policy::Glance;
use crate::symbols::Images;
use crate::{Clock, Collector, Order, Policy, Profiler, Refusal, Target, Tier};
use absence::Absence;
use described::describe;
use disk::Disk;
pub use disk::{missing_bytes, size_bytes};
pub use hand_over::HandOver;
use worker::{Message, Stop};

/// Time between two writes to the folder; what a killed recorder loses.
const WRITE_PERIOD: Duration = Duration::from_secs(1);

/// How long starting may keep a person waiting. Flight Recorder's first start in a JVM takes longer.
const START_WAIT: Duration = Duration::from_millis(250);

/// How often the recorder looks whether it should end.
const LOOK_PERIOD: Duration = Duration::from_millis(50);

/// How often it asks whether the process is still there: its file is made anew each time, by a look at each of its threads.
const ALIVE_PERIOD: Duration = Duration::from_millis(250);

/// How long collectors may take to end before the recording is closed without them.
const PATIENCE: Duration = Duration::from_secs(30);

/// Texts that are kept for rows to come, which repeat most of them. Details of single events do not repeat.
const TEXTS_MAX: usize = 1 << 14;

/// What to record, and until when.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Thresholds, folder and clock, as the collectors get them.
    pub order: Order,
    /// Ends by itself after this long.
    pub duration: Option<Duration>,
    /// Only collectors with these names; all when empty.
    pub only: Vec<String>,
    /// No collectors with these names.
    pub without: Vec<String>,
    /// What a previous watcher of the JVM hands over.
    pub hand_over: HandOver,
}

impl Plan {
    /// The default plan of a recording into `folder`.
    pub fn new(folder: PathBuf) -> Plan {
        let order = Order {
            clock: Clock::read(),
            folder,
            max_bytes: 1 << 30,
            policy: Policy::default(),
            glance: Glance::default(),
            page_fault_ns: 1_000_000,
            blocked_ns: 5_000_000,
            run_queue_ns: 2_000_000,
            system_call_ns: 5_000_000,
            requests_per_second: 2_000,
            before: Duration::from_secs(60),
            is_sparing: false,
            attach: Shared::default(),
            images: Images::default(),
            profiler: Profiler::default(),
            guard: None,
        };
        Plan { order, duration: None, only: Vec::new(), without: Vec::new(), hand_over: HandOver::default() }
    }

    /// What may be done to the JVM, of what takes part.
    pub fn policy(&self) -> Policy {
        self.order.policy.among(|name| self.wants_name(name))
    }

    fn wants(&self, collector: &dyn Collector) -> bool {
        self.wants_name(collector.name())
    }

    /// Whether the collector of this name takes part.
    pub fn wants_name(&self, name: &str) -> bool {
        let is_named = |names: &[String]| names.iter().any(|other| other == name);
        (self.only.is_empty() || is_named(&self.only)) && !is_named(&self.without)
    }
}

/// Why a recording ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The wanted time was over.
    Duration,
    /// It was interrupted (Ctrl-C, SIGTERM).
    Interrupted,
    /// The process ended.
    TargetEnded,
    /// The folder reached its budget.
    Budget,
    /// The disk has too little room left.
    DiskFull,
}

/// What one collector cost and whether it saw anything.
#[derive(Debug, Clone, Default)]
pub struct Part {
    /// The collector's name.
    pub name: &'static str,
    /// What it needs, or makes do with.
    pub tier: Tier,
    /// Why it does not take part, if so.
    pub refused: Option<Refusal>,
    /// CPU time of its thread, in ns.
    pub cpu_ns: i64,
    /// Rows that it found.
    pub rows: u64,
    /// Files that it left for a reader.
    pub files: Vec<PathBuf>,
}

/// A recording that has ended; its folder still holds streams.
#[derive(Debug)]
pub struct Recorded {
    /// Why it ended.
    pub end: End,
    /// The collectors.
    pub parts: Vec<Part>,
    /// When collectors had started, counted from the call, in ns.
    pub started_in_ns: i64,
    /// How long it observed, in ns.
    pub observed_ns: i64,
}

/// Why nothing could be recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The folder could not be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A folder beside the tables could not be made.
    #[error("{}: {source}", path.display())]
    Io {
        /// What was accessed.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// There is no room.
    #[error("{} MB are free on this disk, {} MB are needed: free some, or write elsewhere with -o", free_bytes >> 20, wanted_bytes >> 20)]
    NoRoom {
        /// What is free.
        free_bytes: u64,
        /// What must be free.
        wanted_bytes: u64,
    },
    /// No collector could start.
    #[error("nothing could be recorded: {0}")]
    NothingStarted(String),
}

impl RecordError {
    /// Whether something could not be written because of a lack of space.
    fn is_full_disk(&self) -> bool {
        use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};

        let RecordError::Folder(FolderError::Io { source, .. }) = self else { return false };
        matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge)
    }
}

/// Tells what happens while a recording runs.
pub trait Watcher {
    /// A collector has started (`None`) or was refused.
    fn started(&mut self, _name: &'static str, _refused: Option<&Refusal>) {}
    /// Called about every 50 ms with the time since the start and the bytes written.
    fn passes(&mut self, _elapsed: Duration, _bytes: u64) {}
    /// The end has come; collectors are being stopped.
    fn ending(&mut self, _end: End) {}
}

/// Records `target` with `collectors` until the plan, the target or `interrupted` ends it.
pub fn record(
    target: &Target,
    collectors: &'static [&'static dyn Collector],
    plan: &Plan,
    interrupted: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<Recorded, RecordError> {
    let mut session = Session::begin(target, collectors, plan)?;
    let ran = session.run(target, plan, interrupted, watcher);
    let end = ran.map_err(|error| session.failed(error))?;
    watcher.ending(end);
    session.close(end)
}

/// A recording that runs.
struct Session {
    writer: FolderWriter,
    /// Rows not yet written, and all dictionaries.
    pending: Recording,
    /// When there are more texts than this, those of rows are forgotten.
    forget_at: usize,
    parts: Vec<Part>,
    messages: Receiver<Message>,
    stop: Arc<Stop>,
    disk: Disk,
    clock: Clock,
    began: Instant,
    /// When it is asked next whether the process is there.
    ask_at: Instant,
    started_in_ns: i64,
}

impl Session {
    fn begin(
        target: &Target,
        collectors: &'static [&'static dyn Collector],
        plan: &Plan,
    ) -> Result<Session, RecordError> {
        let folder = &plan.order.folder;
        let disk = Disk::new(folder, plan.order.max_bytes);
        disk.has_room_to_begin()?;
        let began = Instant::now();
        let writer = FolderWriter::create(folder)?;
        let raw = plan.order.raw();
        let made = DirBuilder::new().mode(0o700).create(raw.folder());
        made.map_err(|source| RecordError::Io { path: raw.folder().to_owned(), source })?;
        let (sender, messages) = mpsc::sync_channel(worker::WAITING);
        let stop = Arc::new(Stop::default());
        let mut parts = Vec::new();
        let policy = plan.policy();
        for collector in collectors.iter().copied().filter(|collector| plan.wants(*collector)) {
            parts.push(Part { name: collector.name(), tier: collector.tier(), ..Part::default() });
            let (target, order) = (target.clone(), Order { policy, ..plan.order.clone() });
            let (sender, stop) = (sender.clone(), Arc::clone(&stop));
            let running = plan.hand_over.observer(collector.name());
            let work = move || worker::work(collector, running, (&target, &order), &stop, &sender);
            // A thread that cannot be made shows as a collector that never answers.
            let _ = thread::Builder::new().name(format!("fathom-{}", collector.name())).spawn(work);
        }
        let mut pending = plan.hand_over.rows();
        plan.order.clock.note(&mut pending);
        describe(target, plan, &mut pending);
        let clock = plan.order.clock;
        let mut session = Session {
            writer,
            pending,
            forget_at: TEXTS_MAX,
            parts,
            messages,
            stop,
            disk,
            clock,
            began,
            ask_at: began,
            started_in_ns: 0,
        };
        // A recorder that is killed while its collectors start leaves a recording that says whose it was.
        session.write().map_err(|error| session.failed(error))?;
        Ok(session)
    }

    fn run(
        &mut self,
        target: &Target,
        plan: &Plan,
        interrupted: &AtomicBool,
        watcher: &mut dyn Watcher,
    ) -> Result<End, RecordError> {
        self.wait_for_starts(watcher)?;
        self.note_tier();
        self.write()?;
        // Of what loading programs and symbols took.
        allocator::give_back();
        let started = Instant::now();
        let mut write_at = started + WRITE_PERIOD;
        let mut absence = Absence::default();
        loop {
            self.receive(LOOK_PERIOD, watcher);
            absence.look(self.clock.now_ns(), &mut self.pending);
            watcher.passes(started.elapsed(), self.disk.written_bytes());
            if Instant::now() >= write_at {
                match self.write() {
                    Err(error) if error.is_full_disk() => return Ok(End::DiskFull),
                    written => written?,
                }
                write_at += WRITE_PERIOD;
            }
            if let Some(end) = self.ends(target, plan, interrupted, started) {
                return Ok(end);
            }
        }
    }

    fn ends(&mut self, target: &Target, plan: &Plan, interrupted: &AtomicBool, started: Instant) -> Option<End> {
        if interrupted.load(Ordering::Relaxed) {
            return Some(End::Interrupted);
        }
        if plan.duration.is_some_and(|duration| started.elapsed() >= duration) {
            return Some(End::Duration);
        }
        if Instant::now() >= self.ask_at {
            self.ask_at = Instant::now() + ALIVE_PERIOD;
            if !target.is_alive() {
                return Some(End::TargetEnded);
            }
        }
        self.disk.ends()
    }

    /// Waits a moment for each collector to start or be refused; slow ones join later. The others observe meanwhile.
    fn wait_for_starts(&mut self, watcher: &mut dyn Watcher) -> Result<(), RecordError> {
        let mut waiting: Vec<&'static str> = self.parts.iter().map(|part| part.name).collect();
        let until = Instant::now() + START_WAIT;
        while !waiting.is_empty() && Instant::now() < until {
            match self.messages.recv_timeout(LOOK_PERIOD) {
                Ok(message) => {
                    if let Message::Started { name, .. } = &message {
                        waiting.retain(|other| other != name);
                    }
                    self.hear(message, watcher);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.started_in_ns = self.began.elapsed().as_nanos() as i64;
        self.pending.add_fact(subject::RECORDING, "observed_from_ns", &self.clock.now_ns().to_string(), "fathom");
        if self.parts.iter().all(|part| part.refused.is_some()) {
            let whys: Vec<&str> =
                self.parts.iter().filter_map(|part| Some(part.refused.as_ref()?.why.as_str())).collect();
            return Err(RecordError::NothingStarted(whys.join("; ")));
        }
        Ok(())
    }

    fn receive(&mut self, wait: Duration, watcher: &mut dyn Watcher) {
        let until = Instant::now() + wait;
        while let Ok(message) = self.messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
            self.hear(message, watcher);
        }
    }

    /// Takes a message while the recording is being watched.
    fn hear(&mut self, message: Message, watcher: &mut dyn Watcher) {
        if let Message::Started { name, started, .. } = &message {
            watcher.started(name, started.as_ref().err());
        }
        self.take(message);
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Started { name, started, unseen, outstanding } => {
                self.started(name, started);
                unseen.iter().for_each(|refusal| self.pending.add_loss(name, loss::REFUSED, 0, &refusal.why));
                if let Some(outstanding) = outstanding {
                    outstanding.note(&mut self.pending, name);
                }
            }
            Message::Found { name, found, cpu_ns } => self.found(name, *found, cpu_ns),
            Message::Ended { name, files } => {
                if let Some(part) = self.part(name) {
                    part.files = files;
                }
            }
        }
    }

    fn started(&mut self, name: &'static str, started: Result<Tier, Refusal>) {
        if let Err(refusal) = &started {
            self.pending.add_loss(name, loss::REFUSED, 0, &refusal.why);
        }
        if let Some(part) = self.part(name) {
            match started {
                Ok(tier) => part.tier = tier,
                Err(refusal) => part.refused = Some(refusal),
            }
        }
    }

    /// Notes how much could be observed, as far as collectors have answered.
    fn note_tier(&mut self) {
        let took_part = self.parts.iter().filter(|part| part.refused.is_none());
        let tier = took_part.map(|part| part.tier).max().unwrap_or_default();
        self.pending.add_fact(subject::RECORDING, "tier", &(tier as u8).to_string(), "fathom");
        if are_all_rights() {
            self.pending.add_fact(subject::RECORDING, recorded::RIGHTS, recorded::ALL_RIGHTS, "fathom");
        }
    }

    fn found(&mut self, name: &'static str, found: Recording, cpu_ns: i64) {
        let rows = worker::rows(&found);
        self.pending.absorb(found);
        self.pending.add_counter(self.clock.now_ns(), counter::OWN_CPU_NS, name, cpu_ns as f64, "fathom");
        if let Some(part) = self.part(name) {
            part.rows += rows as u64;
            part.cpu_ns = cpu_ns;
        }
    }

    fn part(&mut self, name: &str) -> Option<&mut Part> {
        self.parts.iter_mut().find(|part| part.name == name)
    }

    fn write(&mut self) -> Result<(), RecordError> {
        self.disk.measure();
        self.writer.flush(&mut self.pending)?;
        if self.pending.strings.len() > self.forget_at {
            self.pending.forget_texts_of_rows();
            self.forget_at = TEXTS_MAX.max(2 * self.pending.strings.len());
        }
        Ok(())
    }

    /// Tells the collectors to end and takes what they still found; whether all of them did in time.
    fn end_collectors(&mut self) -> bool {
        self.stop.stop();
        let until = Instant::now() + PATIENCE;
        loop {
            match self.messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(message) => self.take(message),
                // All senders are gone: every collector has ended.
                Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) => return false,
            }
        }
    }

    /// Ends the collectors first: what they began in the JVM would go on if this program ended before them.
    fn failed(&mut self, error: RecordError) -> RecordError {
        self.end_collectors();
        error
    }

    /// Ends the collectors and writes what is left.
    fn close(mut self, end: End) -> Result<Recorded, RecordError> {
        self.pending.add_fact(subject::RECORDING, "observed_to_ns", &self.clock.now_ns().to_string(), "fathom");
        let observed_ns = self.began.elapsed().as_nanos() as i64;
        if !self.end_collectors() {
            let says = format!("a collector did not end within {} s and was left out", PATIENCE.as_secs());
            self.pending.add_loss("fathom", loss::EVENTS_LOST, 0, &says);
        }
        self.note_tier();
        self.pending.add_fact(subject::RECORDING, recorded::ENDED_BECAUSE, end.says(), "fathom");
        match self.write() {
            // What was written before is whole.
            Err(error) if end == End::DiskFull && error.is_full_disk() => {}
            written => written?,
        }
        Ok(Recorded { end, parts: self.parts, started_in_ns: self.started_in_ns, observed_ns })
    }
}

impl End {
    /// For the recording and for people.
    pub fn says(self) -> &'static str {
        match self {
            End::Duration => "the wanted time was over",
            End::Interrupted => "interrupted",
            End::TargetEnded => "the process ended",
            End::Budget => "the recording reached its size limit",
            End::DiskFull => "the disk was nearly full",
        }
    }
}

#[cfg(test)]
mod tests;
