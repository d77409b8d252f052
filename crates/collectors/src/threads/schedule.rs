//! Which thread is looked at when, within a budget.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap};
use std::io;

use fathom_evidence::Recording;
use fathom_evidence::kinds::{loss, span};
use rustix::fs::Dir;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::task::{Glance, Reader, Task};
use super::{PERIOD, SOURCE};
use crate::clock::thread_cpu_ns;
use crate::procfs::number;
use crate::{Clock, Target};

/// A thread that did nothing in this many looks is quiet.
const QUIET_LOOKS: u32 = 5;

/// Time between two looks at a quiet thread, in ns; and what each thread adds to it, so that
/// thousands of quiet threads cost no more than a thousand looks a second (about 1 % of a core).
const QUIET_NS: i64 = 1_000_000_000;
const QUIET_PER_THREAD_NS: i64 = 1_000_000;

/// Time between two looks at an active thread, in ns; a little less than a period, so that a look
/// that comes early does not miss it.
const ACTIVE_NS: i64 = PERIOD.as_nanos() as i64 / 10 * 9;

/// Listing the threads is followed by at least this many times its own length without it: 1 % of a core.
const LIST_REST: i64 = 100;

/// Threads beyond this many are not looked at one by one.
const MAX_THREADS: usize = 100_000;

/// The budget is looked at after this many threads.
const BATCH: usize = 16;

/// The threads and the order of the looks at them.
pub(super) struct Schedule {
    target: Target,
    pub(super) reader: Reader,
    tasks: HashMap<i64, Task>,
    due: BinaryHeap<Reverse<(i64, i64)>>,
    open: usize,
    max_open: usize,
    list_due_ns: i64,
    /// Whether there was a list before: threads of the first one are not new.
    has_listed: bool,
    left_over: u64,
    too_many: usize,
}

impl Schedule {
    pub(super) fn new(target: &Target, reader: Reader) -> Schedule {
        // Two files each; the other collectors need some too.
        let max_open = getrlimit(Resource::Nofile).current.unwrap_or(1024) / 8;
        Schedule {
            target: target.clone(),
            reader,
            tasks: HashMap::new(),
            due: BinaryHeap::new(),
            open: 0,
            max_open: max_open.min(256) as usize,
            list_due_ns: 0,
            has_listed: false,
            left_over: 0,
            too_many: 0,
        }
    }

    /// Whether the threads have to be listed again: once a second, and as soon as their number changes.
    pub(super) fn wants_list(&self, at_ns: i64, threads: u64) -> bool {
        let rested_ns = if threads as usize == self.tasks.len() { QUIET_NS } else { 0 };
        at_ns >= self.list_due_ns.saturating_add(rested_ns)
    }

    /// Takes up new threads and lets go of those that have ended.
    pub(super) fn list(&mut self, clock: Clock, found: &mut Recording) {
        let began_cpu_ns = thread_cpu_ns();
        let at_ns = clock.now_ns();
        let Some(tids) = self.tids() else { return };
        self.too_many = self.too_many.max(tids.len().saturating_sub(MAX_THREADS));
        let unlisted = self.tasks.keys().filter(|tid| tids.binary_search(tid).is_err());
        let ended = self.target.ended_of_unlisted(unlisted.map(|tid| *tid as u32));
        ended.into_iter().for_each(|tid| self.ended(i64::from(tid), at_ns, found));
        for tid in tids.into_iter().take(MAX_THREADS) {
            if let Entry::Vacant(place) = self.tasks.entry(tid) {
                place.insert(Task::new(at_ns, self.has_listed));
                self.due.push(Reverse((at_ns, tid)));
            }
        }
        self.has_listed = true;
        let took_ns = thread_cpu_ns() - began_cpu_ns;
        self.list_due_ns = at_ns + took_ns.saturating_mul(LIST_REST);
    }

    /// A thread of this name, of those that were looked at.
    pub(super) fn tid_of(&self, comm: &str) -> Option<i64> {
        self.tasks.iter().find(|(_, task)| task.comm() == comm).map(|(tid, _)| *tid)
    }

    /// Thread ids in order; `None` when the process has ended.
    fn tids(&self) -> Option<Vec<i64>> {
        let mut tids: Vec<i64> = Vec::with_capacity(self.tasks.len() + 16);
        for entry in Dir::read_from(&self.reader.folder).ok()? {
            tids.extend(number(entry.ok()?.file_name().to_bytes()).and_then(|tid| i64::try_from(tid).ok()));
        }
        tids.sort_unstable();
        Some(tids)
    }

    /// Makes every thread be looked at as soon as the budget allows, the active ones first.
    pub(super) fn all_due(&mut self, at_ns: i64) {
        let Schedule { tasks, due, .. } = self;
        for (tid, task) in tasks.iter_mut().filter(|(_, task)| task.due_ns > at_ns) {
            task.due_ns = at_ns;
            due.push(Reverse((at_ns, *tid)));
        }
    }

    /// Looks at the threads whose turn it is, until this thread has used `until_cpu_ns` of CPU time.
    /// Returns the CPU time that they had used since the looks before.
    pub(super) fn look(&mut self, clock: Clock, until_cpu_ns: i64, found: &mut Recording) -> f64 {
        let mut ran_ns = 0.0;
        let now_ns = clock.now_ns();
        for looked in 1.. {
            let Some(Reverse((due_ns, tid))) =
                self.due.peek().copied().filter(|Reverse((due_ns, _))| *due_ns <= now_ns)
            else {
                break;
            };
            self.due.pop();
            // A thread that was made due earlier leaves its old turn behind.
            if self.tasks.get(&tid).is_some_and(|task| task.due_ns == due_ns) {
                ran_ns += self.look_at(tid, clock.now_ns(), found);
            }
            if looked % BATCH == 0 && thread_cpu_ns() >= until_cpu_ns {
                let is_late = |task: &&Task| task.quiet_looks == 0 && task.due_ns <= now_ns;
                self.left_over += self.tasks.values().filter(is_late).count() as u64;
                break;
            }
        }
        ran_ns
    }

    fn look_at(&mut self, tid: i64, at_ns: i64, found: &mut Recording) -> f64 {
        let Some(task) = self.tasks.get_mut(&tid) else { return 0.0 };
        let glance = match task.look(tid, &mut self.reader, at_ns, found) {
            Ok(glance) => glance,
            Err(error) if has_ended(&error) => {
                self.ended(tid, at_ns, found);
                return 0.0;
            }
            Err(_) => Glance::default(),
        };
        self.plan(tid, at_ns, glance);
        if let Some(start_ticks) = glance.start_ticks {
            self.began(tid, start_ticks, at_ns, found);
        }
        glance.ran_ns
    }

    /// Decides when the thread comes next.
    fn plan(&mut self, tid: i64, at_ns: i64, glance: Glance) {
        let quiet_ns = QUIET_NS + self.tasks.len() as i64 * QUIET_PER_THREAD_NS;
        let Some(task) = self.tasks.get_mut(&tid) else { return };
        task.quiet_looks = if glance.is_active { 0 } else { task.quiet_looks.saturating_add(1) };
        let is_often = glance.is_active || task.quiet_looks < QUIET_LOOKS;
        task.due_ns = at_ns + if is_often { ACTIVE_NS } else { quiet_ns };
        self.due.push(Reverse((task.due_ns, tid)));
        let was_open = task.is_open();
        task.keep_open(tid, &self.reader, is_often && (was_open || self.open < self.max_open));
        self.open = self.open + usize::from(task.is_open()) - usize::from(was_open);
    }

    fn began(&self, tid: i64, start_ticks: u64, at_ns: i64, found: &mut Recording) {
        let boot = clock_gettime(ClockId::Boottime);
        let since_boot_ns = boot.tv_sec.saturating_mul(1_000_000_000).saturating_add(boot.tv_nsec);
        let start_ns = i64::try_from(start_ticks.saturating_mul(self.reader.tick_ns)).unwrap_or(i64::MAX);
        let age_ns = since_boot_ns.saturating_sub(start_ns).max(0);
        if let Some(task) = self.tasks.get(&tid).filter(|task| task.is_new) {
            task.began(tid, at_ns.saturating_sub(age_ns), found);
        }
    }

    fn ended(&mut self, tid: i64, at_ns: i64, found: &mut Recording) {
        if let Some(mut task) = self.tasks.remove(&tid) {
            self.open -= usize::from(task.is_open());
            task.close(tid, found);
            found.add_span(at_ns, 0, tid, span::THREAD_END, task.comm(), "", SOURCE);
        }
    }

    /// Writes how long the numbers of all threads were what they last were, and what was left undone.
    pub(super) fn close(&mut self, found: &mut Recording) {
        self.tasks.iter_mut().for_each(|(tid, task)| task.close(*tid, found));
        if self.left_over > 0 {
            let says = format!(
                "{} looks at a thread came later than the {} ms wanted, to keep within 2 % of a core; no totals are lost",
                self.left_over,
                PERIOD.as_millis()
            );
            found.add_loss(SOURCE, loss::TICKS_MISSED, self.left_over as i64, &says);
        }
        if self.too_many > 0 {
            let says = format!("{} threads beyond {MAX_THREADS} were not looked at", self.too_many);
            found.add_loss(SOURCE, loss::LIMIT, self.too_many as i64, &says);
        }
    }
}

fn has_ended(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}
