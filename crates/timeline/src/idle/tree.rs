//! The stacks of threads of one kind as a tree, and which of its branches is the idle one.

use std::collections::{BTreeMap, BTreeSet};

use super::Place;
use super::paths::{Path, Paths};

/// A branch in which workers do nothing but wait has no more than this part of its samples in code that is not on the way to a wait.
const MAX_BUSY_SHARE: f64 = 0.05;

/// A worker's own loop is this deep at most, in frames of the application: what is deeper may as well be work.
const MAX_DEPTH: usize = 5;

/// Waits and samples by path.
#[derive(Debug, Default)]
pub(super) struct Tree {
    waits: BTreeMap<Path, i64>,
    samples: BTreeMap<Path, usize>,
}

/// What is below one branch of the loop.
#[derive(Debug, Default)]
struct Branch {
    waited_ns: i64,
    samples: usize,
    /// Samples in code of the application that is on no way to a wait of this branch.
    busy: usize,
    /// Frames of the application on the shortest way to a wait.
    depth: usize,
}

impl Branch {
    fn only_waits(&self) -> bool {
        self.waited_ns > 0 && self.busy as f64 <= MAX_BUSY_SHARE * self.samples as f64
    }
}

impl Tree {
    pub(super) fn add_wait(&mut self, path: &Path, ns: i64) {
        let sum = self.waits.entry(path.clone()).or_default();
        *sum = sum.saturating_add(ns);
    }

    pub(super) fn add_samples(&mut self, path: &Path, count: usize) {
        *self.samples.entry(path.clone()).or_default() += count;
    }

    /// What each path of a wait is.
    pub(super) fn places<'t>(&'t self, paths: &'t Paths) -> impl Fn(&Path) -> Place + 't {
        let idle = self.idle_branches(paths);
        move |path: &Path| match &idle {
            _ if paths.libraries(path).next().is_none() => Place::Jdk,
            _ if self.samples.is_empty() && self.waits.len() == 1 => Place::Only,
            // Who waits for work is woken by it: one that sleeps may do so in the middle of its work.
            _ if paths.sleeps(path) => Place::Unknown,
            Some((length, branches)) if path.len() > *length && branches.contains(&path[*length]) => {
                if paths.libraries(path).count() <= MAX_DEPTH { Place::Idle } else { Place::Unknown }
            }
            // A pool's code that waits within itself may be a loop that was not seen whole.
            Some(_) if paths.libraries(path).collect::<BTreeSet<_>>().len() > 1 => Place::Work,
            _ => Place::Unknown,
        }
    }

    /// How long the loop's path is, and which of its branches are idle; none where the threads were not seen both idle and at work.
    fn idle_branches(&self, paths: &Paths) -> Option<(usize, BTreeSet<u32>)> {
        let mut length = self.common_length();
        let mut prefix: Path = self.waits.keys().next()?.get(..length)?.to_vec();
        loop {
            let branches = self.branches(paths, &prefix);
            let waiting: Vec<(&u32, &Branch)> = branches.iter().filter(|(_, branch)| branch.only_waits()).collect();
            // Idle branches are as deep as the shallowest of them, in frames of the application: what is deeper is work.
            if let Some(shallowest) = waiting.iter().map(|(_, branch)| branch.depth).min() {
                let idle = waiting.iter().filter(|(_, branch)| branch.depth <= shallowest);
                let idle: BTreeSet<u32> = idle.map(|(id, _)| **id).collect();
                let works = branches.iter().any(|(id, branch)| !idle.contains(id) && branch.samples > 0);
                return works.then_some((length, idle));
            }
            let (next, _) = branches
                .iter()
                .filter(|(_, branch)| branch.waited_ns > 0)
                .max_by_key(|(_, branch)| branch.waited_ns)?;
            prefix.push(*next);
            length += 1;
        }
    }

    fn common_length(&self) -> usize {
        let all: Vec<&Path> = self.waits.keys().chain(self.samples.keys()).collect();
        super::common(all.into_iter()).len()
    }

    /// The branches that go on from a path.
    fn branches(&self, paths: &Paths, prefix: &[u32]) -> BTreeMap<u32, Branch> {
        let goes_on = |path: &&Path| path.len() > prefix.len() && path.starts_with(prefix);
        let mut branches: BTreeMap<u32, Branch> = BTreeMap::new();
        for (path, ns) in self.waits.iter().filter(|(path, _)| goes_on(path)) {
            let branch = branches.entry(path[prefix.len()]).or_default();
            let depth = paths.libraries(&path[prefix.len()..]).count();
            branch.depth = if branch.waited_ns > 0 { branch.depth.min(depth) } else { depth };
            branch.waited_ns = branch.waited_ns.saturating_add((*ns).max(1));
        }
        for (path, count) in self.samples.iter().filter(|(path, _)| goes_on(path)) {
            let branch = branches.entry(path[prefix.len()]).or_default();
            branch.samples += count;
            branch.busy += if self.is_off(paths, prefix.len(), path) { *count } else { 0 };
        }
        branches
    }

    /// Whether a sample ran code of the application that is on no way to a wait.
    fn is_off(&self, paths: &Paths, from: usize, path: &Path) -> bool {
        let shared = |wait: &Path| wait.iter().zip(path).take_while(|(one, other)| one == other).count();
        let on_the_way = self.waits.keys().map(shared).max().unwrap_or(0).max(from);
        paths.libraries(&path[on_the_way.min(path.len())..]).next().is_some()
    }
}
