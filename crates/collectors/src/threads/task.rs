//! One thread of the target: its last known state, and what is new.

use std::fs::File;
use std::io;

use fathom_evidence::kinds::{counter, event, frame, span};
use fathom_evidence::tables::Sample;
use fathom_evidence::{Frame, Recording, StackId};

use super::SOURCE;
use super::parse::{self, Stat};
use crate::changed_counters::{Name, Seen};
use crate::procfs::{ProcFile, utf8};

/// What does not change during a recording, and a buffer.
#[derive(Debug)]
pub(super) struct Reader {
    /// The folder `task` of the target.
    pub(super) folder: File,
    /// Length of a tick, in ns.
    pub(super) tick_ns: u64,
    /// Whether the scheduler accounts run and wait times.
    pub(super) has_schedstat: bool,
    pub(super) buffer: Vec<u8>,
}

/// Files of a thread that is looked at often.
#[derive(Debug)]
struct Files {
    schedstat: Option<ProcFile>,
    stat: ProcFile,
}

/// A thread of the target.
#[derive(Debug)]
pub(super) struct Task {
    files: Option<Files>,
    /// When to look at it next.
    pub(super) due_ns: i64,
    /// Whether it began while the process was watched.
    pub(super) is_new: bool,
    /// Looks since it last did anything.
    pub(super) quiet_looks: u32,
    cpu: Seen,
    run_queue: Seen,
    user: Seen,
    system: Seen,
    minor: Seen,
    major: Seen,
    /// The thread's name as the kernel has it; `None` before the first look.
    comm: Option<Box<str>>,
}

/// What one look at a thread showed.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Glance {
    /// Whether it ran, or waits where nothing can wake it but what it waits for.
    pub(super) is_active: bool,
    /// CPU time since the look before, in ns.
    pub(super) ran_ns: f64,
    /// Start of the thread in ticks since boot, at the first look.
    pub(super) start_ticks: Option<u64>,
}

impl Task {
    /// A thread that is not known to have done anything yet; `is_new` if it was not there before.
    pub(super) fn new(due_ns: i64, is_new: bool) -> Task {
        let unseen = Seen::default;
        Task {
            files: None,
            due_ns,
            is_new,
            quiet_looks: u32::MAX,
            cpu: unseen(),
            run_queue: unseen(),
            user: unseen(),
            system: unseen(),
            minor: unseen(),
            major: unseen(),
            comm: None,
        }
    }

    /// The thread's name, at most 15 bytes of it.
    pub(super) fn comm(&self) -> &str {
        self.comm.as_deref().unwrap_or_default()
    }

    /// Looks at the thread `tid`; an error means that it has ended.
    pub(super) fn look(
        &mut self,
        tid: i64,
        reader: &mut Reader,
        at_ns: i64,
        found: &mut Recording,
    ) -> io::Result<Glance> {
        let before = self.cpu.value();
        let was_quiet = self.quiet_looks > 0 && self.files.is_none();
        let ran = self.look_at_scheduler(tid, reader, at_ns, found)?;
        // What does not run has no faults and no system time either; only its state can be news.
        let is_first = self.comm.is_none();
        if !is_first && was_quiet && ran == Some(false) {
            return Ok(Glance::default());
        }
        let open = self.files.as_ref().map(|files| &files.stat);
        let text = read(&reader.folder, &mut reader.buffer, tid, "stat", open)?;
        let Some(stat) = parse::stat(text) else { return Ok(Glance::default()) };
        let (start_ticks, is_stuck) = (stat.start_ticks, stat.state == b'D');
        self.note(tid, &stat, reader.tick_ns, reader.has_schedstat, at_ns, found);
        if is_stuck {
            note_wait(tid, reader, at_ns, found);
        }
        let ran_ns = if is_first { 0.0 } else { self.cpu.value() - before };
        let start_ticks = is_first.then_some(start_ticks);
        Ok(Glance { is_active: is_stuck || ran_ns > 0.0, ran_ns, start_ticks })
    }

    /// Whether the thread has run since; `None` when the scheduler does not tell.
    fn look_at_scheduler(
        &mut self,
        tid: i64,
        reader: &mut Reader,
        at_ns: i64,
        found: &mut Recording,
    ) -> io::Result<Option<bool>> {
        if !reader.has_schedstat {
            return Ok(None);
        }
        let open = self.files.as_ref().and_then(|files| files.schedstat.as_ref());
        let text = read(&reader.folder, &mut reader.buffer, tid, "schedstat", open)?;
        let Some(account) = parse::schedstat(text) else { return Ok(None) };
        let before = self.cpu.value();
        self.cpu.see(found, of(counter::THREAD_CPU_NS, "", tid), at_ns, account.run_ns as f64);
        self.run_queue.see(found, of(counter::THREAD_RUN_QUEUE_NS, "", tid), at_ns, account.wait_ns as f64);
        Ok(Some(self.cpu.value() != before))
    }

    fn note(
        &mut self,
        tid: i64,
        stat: &Stat<'_>,
        tick_ns: u64,
        has_schedstat: bool,
        at_ns: i64,
        found: &mut Recording,
    ) {
        let ns = |ticks: u64| ticks.saturating_mul(tick_ns) as f64;
        self.user.see(found, of(counter::THREAD_MODE_CPU_NS, "user", tid), at_ns, ns(stat.user_ticks));
        self.system.see(found, of(counter::THREAD_MODE_CPU_NS, "system", tid), at_ns, ns(stat.system_ticks));
        self.minor.see(found, of(counter::THREAD_MINOR_FAULTS_COUNT, "", tid), at_ns, stat.minor_faults as f64);
        self.major.see(found, of(counter::THREAD_MAJOR_FAULTS_COUNT, "", tid), at_ns, stat.major_faults as f64);
        if !has_schedstat {
            let ticks = stat.user_ticks.saturating_add(stat.system_ticks);
            self.cpu.see(found, of(counter::THREAD_CPU_NS, "", tid), at_ns, ns(ticks));
        }
        // A new thread has its parent's name until it gives itself one.
        if self.comm.as_deref().map(str::as_bytes) != Some(stat.comm) {
            let comm = String::from_utf8_lossy(stat.comm);
            if self.comm.as_deref() != Some(&*comm) {
                found.add_thread(tid, &comm);
                self.comm = Some(comm.into());
            }
        }
    }

    /// Writes that the thread began at `start_ns`, with nothing used yet: what it had used when it was
    /// first seen is news, too.
    pub(super) fn began(&self, tid: i64, start_ns: i64, found: &mut Recording) {
        found.add_span(start_ns, 0, tid, span::THREAD_START, self.comm(), "", SOURCE);
        for name in [
            counter::THREAD_CPU_NS,
            counter::THREAD_RUN_QUEUE_NS,
            counter::THREAD_MINOR_FAULTS_COUNT,
            counter::THREAD_MAJOR_FAULTS_COUNT,
        ] {
            Seen::default().see(found, of(name, "", tid), start_ns, 0.0);
        }
    }

    /// Keeps the thread's files open, or closes them.
    pub(super) fn keep_open(&mut self, tid: i64, reader: &Reader, wanted: bool) {
        if !wanted {
            self.files = None;
        } else if self.files.is_none() {
            let open = |file: &str| ProcFile::open_at(&reader.folder, &format!("{tid}/{file}"));
            let schedstat = if reader.has_schedstat { open("schedstat").ok() } else { None };
            self.files = open("stat").ok().map(|stat| Files { schedstat, stat });
        }
    }

    /// Whether its files are open.
    pub(super) fn is_open(&self) -> bool {
        self.files.is_some()
    }

    /// Writes until when its numbers were what they last were.
    pub(super) fn close(&mut self, tid: i64, found: &mut Recording) {
        self.cpu.close(found, of(counter::THREAD_CPU_NS, "", tid));
        self.run_queue.close(found, of(counter::THREAD_RUN_QUEUE_NS, "", tid));
        self.user.close(found, of(counter::THREAD_MODE_CPU_NS, "user", tid));
        self.system.close(found, of(counter::THREAD_MODE_CPU_NS, "system", tid));
        self.minor.close(found, of(counter::THREAD_MINOR_FAULTS_COUNT, "", tid));
        self.major.close(found, of(counter::THREAD_MAJOR_FAULTS_COUNT, "", tid));
    }
}

fn of(name: &'static str, instance: &'static str, tid: i64) -> Name<'static> {
    Name { name, instance, tid, source: SOURCE }
}

/// Reads a file of the thread, by the open one if there is one.
fn read<'a>(
    folder: &File,
    buffer: &'a mut Vec<u8>,
    tid: i64,
    file: &str,
    open: Option<&ProcFile>,
) -> io::Result<&'a [u8]> {
    match open {
        Some(open) => open.read_short(buffer),
        None => ProcFile::open_at(folder, &format!("{tid}/{file}"))?.read_short(buffer),
    }
}

/// Writes where in the kernel a thread waits that no signal can wake. A kernel that hides it leaves
/// the stack empty.
fn note_wait(tid: i64, reader: &mut Reader, at_ns: i64, found: &mut Recording) {
    let place = read(&reader.folder, &mut reader.buffer, tid, "wchan", None).ok().and_then(utf8).unwrap_or_default();
    let stack_id = match place {
        "" | "0" => StackId(0),
        place => {
            let (symbol, kind) = (found.strings.intern(place), found.strings.intern(frame::KERNEL));
            let frame = found.stacks.intern_frame(Frame { symbol, kind, ..Frame::default() });
            found.stacks.intern(StackId(0), frame)
        }
    };
    let (event, state) = (found.strings.intern(event::UNINTERRUPTIBLE), found.strings.intern("D"));
    found.samples.push(Sample { time_ns: at_ns, tid, cpu: -1, event, state, stack_id, ..Sample::default() });
}
