//! Threads in the order in which a page shows them: by role, then those that did most.

use std::ops::Index;

use fathom_evidence::kinds::{counter, role};
use fathom_evidence::{Recording, SERIES_FROM, StrId};
use fathom_timeline::Sources;
use rustc_hash::FxHashMap;

/// Roles in the order of the page.
pub(crate) const ROLES: &[&str] =
    &[role::HANDLER, role::JAVA, role::COMPILER, role::GC, role::VM, role::NATIVE, role::KERNEL];

/// Number of a thread that is none: the process as a whole.
pub(crate) const PROCESS: u32 = u32::MAX;

/// A thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thread {
    /// OS thread id, or a virtual thread's Java id negated.
    pub(crate) tid: i64,
    pub(crate) name: StrId,
    /// Index into [`ROLES`].
    pub(crate) role: u8,
    /// CPU time, if it was counted or sampled.
    pub(crate) cpu_ns: f64,
    pub(crate) samples: u64,
}

/// All threads of a recording.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    rows: Vec<Thread>,
    by_tid: FxHashMap<i64, u32>,
}

impl Threads {
    /// Those that the recording names, and those that only rows know.
    pub(crate) fn new(recording: &Recording, view: Option<&Sources<'_>>) -> Threads {
        let mut found: FxHashMap<i64, Thread> = FxHashMap::default();
        for (tid, thread) in recording.threads.iter().filter(|(tid, _)| *tid != 0) {
            let known = ROLES.iter().position(|role| *role == recording.text(thread.role));
            let role = known.unwrap_or(role_number(role::JAVA)) as u8;
            found.insert(tid, Thread { tid, name: thread.name, role, cpu_ns: 0.0, samples: 0 });
        }
        count_samples(recording, &mut found);
        for tid in recording.spans.tid.iter().chain(&recording.counters.tid) {
            if *tid != 0 && *tid < SERIES_FROM {
                found.entry(*tid).or_insert_with(|| unnamed(*tid));
            }
        }
        if let Some(view) = view {
            count_cpu(view, &mut found);
        }
        Threads::in_order(recording, found)
    }

    fn in_order(recording: &Recording, found: FxHashMap<i64, Thread>) -> Threads {
        let mut rows: Vec<Thread> = found.into_values().collect();
        rows.sort_by(|a, b| {
            let most = b.cpu_ns.total_cmp(&a.cpu_ns).then(b.samples.cmp(&a.samples));
            let named = || recording.text(a.name).cmp(recording.text(b.name)).then(a.tid.cmp(&b.tid));
            a.role.cmp(&b.role).then(most).then_with(named)
        });
        let by_tid = rows.iter().enumerate().map(|(index, thread)| (thread.tid, index as u32)).collect();
        Threads { rows, by_tid }
    }

    /// The number of a thread; [`PROCESS`] for one that is not there.
    pub(crate) fn number(&self, tid: i64) -> u32 {
        self.by_tid.get(&tid).copied().unwrap_or(PROCESS)
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Thread> {
        self.rows.iter()
    }

    /// The thread with a number, if there is one.
    pub(crate) fn get(&self, number: u32) -> Option<&Thread> {
        self.rows.get(number as usize)
    }
}

impl Index<usize> for Threads {
    type Output = Thread;

    fn index(&self, index: usize) -> &Thread {
        &self.rows[index]
    }
}

/// Index of a role in [`ROLES`].
pub(crate) fn role_number(role: &str) -> usize {
    ROLES.iter().position(|known| *known == role).unwrap_or(1)
}

fn unnamed(tid: i64) -> Thread {
    Thread { tid, name: StrId(0), role: role_number(role::JAVA) as u8, cpu_ns: 0.0, samples: 0 }
}

fn count_samples(recording: &Recording, found: &mut FxHashMap<i64, Thread>) {
    // Samples of one thread often follow each other.
    let mut run = (0, 0_u64);
    let mut add = |tid: i64, samples: u64| {
        if tid != 0 && samples > 0 {
            found.entry(tid).or_insert_with(|| unnamed(tid)).samples += samples;
        }
    };
    for tid in &recording.samples.tid {
        if *tid != run.0 {
            add(run.0, run.1);
            run = (*tid, 0);
        }
        run.1 += 1;
    }
    add(run.0, run.1);
}

/// CPU time as the kernel counts it, or as the JVM does.
fn count_cpu(view: &Sources<'_>, found: &mut FxHashMap<i64, Thread>) {
    let mut add = |tid: i64, ns: f64| {
        if let Some(thread) = found.get_mut(&tid) {
            thread.cpu_ns += ns.max(0.0);
        }
    };
    let counted = view.counters(counter::THREAD_CPU_NS);
    for ((_, tid), series) in &counted {
        add(*tid, series.total_rise());
    }
    if counted.is_empty() {
        let cpus = view.cpus().unwrap_or(1.0);
        for ((_, tid), series) in view.counters(counter::CPU_THREAD_RATIO) {
            let steps = series.0.windows(2).map(|pair| pair[1].1 * pair[1].0.saturating_sub(pair[0].0) as f64);
            add(tid, steps.sum::<f64>() * cpus);
        }
    }
}

/// A choice of threads.
#[derive(Debug, Clone)]
pub(crate) struct ThreadSet(Vec<bool>);

impl ThreadSet {
    /// None of `count` threads.
    pub(crate) fn none_of(count: usize) -> ThreadSet {
        ThreadSet(vec![false; count])
    }

    pub(crate) fn insert(&mut self, number: usize) {
        if let Some(slot) = self.0.get_mut(number) {
            *slot = true;
        }
    }

    /// Whether a thread is in it; the process as a whole never is.
    #[inline]
    pub(crate) fn contains(&self, number: u32) -> bool {
        self.0.get(number as usize).copied().unwrap_or(false)
    }

    /// The numbers in it, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().filter(|(_, is)| **is).map(|(number, _)| number)
    }
}
