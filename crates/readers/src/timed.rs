//! Samples with times, of one process or several: shared code of their readers.

use std::collections::BTreeMap;

use fathom_evidence::kinds::loss;
use fathom_evidence::tables::Sample;
use fathom_evidence::{Recording, Table};

use crate::profiles::SAMPLES_MAX;

/// Samples, each with the process that it is of.
#[derive(Default)]
pub(crate) struct Timed {
    pub(crate) recording: Recording,
    pids: Vec<i64>,
    /// Samples with a frame of a JVM, by process.
    of_jvms: BTreeMap<i64, usize>,
    too_many: i64,
}

impl Timed {
    pub(crate) fn is_empty(&self) -> bool {
        self.pids.is_empty()
    }

    /// Adds a sample of a process.
    pub(crate) fn push(&mut self, pid: i64, sample: Sample, is_of_jvm: bool) {
        if self.pids.len() >= SAMPLES_MAX {
            self.too_many += 1;
            return;
        }
        *self.of_jvms.entry(pid).or_default() += usize::from(is_of_jvm);
        self.recording.samples.push(sample);
        self.pids.push(pid);
    }

    /// Names a thread, if it has no name yet.
    pub(crate) fn name_thread(&mut self, tid: i64, name: &str) {
        if self.recording.threads.get(tid).is_none() {
            self.recording.add_thread(tid, name);
        }
    }

    /// The samples of the JVM where there are several processes, else of the one with most samples.
    pub(crate) fn finish(mut self, source: &str, name: &str) -> Recording {
        self.keep_one_process(source, name);
        if self.too_many > 0 {
            let says = format!("{name}: {} samples were left out, as there are too many", self.too_many);
            self.recording.add_loss(source, loss::LIMIT, self.too_many, &says);
        }
        self.recording
    }

    fn keep_one_process(&mut self, source: &str, name: &str) {
        let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
        self.pids.iter().for_each(|pid| *counts.entry(*pid).or_default() += 1);
        let most = |counts: &BTreeMap<i64, usize>| {
            counts.iter().filter(|(_, count)| **count > 0).max_by_key(|(_, count)| **count).map(|(pid, _)| *pid)
        };
        let chosen = most(&self.of_jvms).or_else(|| most(&counts)).filter(|_| counts.len() > 1);
        let Some(chosen) = chosen else { return };
        let keep: Vec<bool> = self.pids.iter().map(|pid| *pid == chosen).collect();
        let gone = keep.iter().filter(|keep| !**keep).count();
        self.recording.samples.retain(&keep);
        let says = format!("{name}: {gone} samples of other processes than {chosen} were left out");
        self.recording.add_loss(source, loss::REFUSED, gone as i64, &says);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_processes_the_jvm_stays() {
        for (samples, expected) in [
            (&[(1, false), (1, false), (2, true)][..], &[2][..]),
            (&[(1, false), (1, false), (2, false)], &[0, 1]),
            (&[(1, false)], &[0]),
        ] {
            let mut timed = Timed::default();
            for (nth, (pid, is_of_jvm)) in samples.iter().enumerate() {
                timed.push(*pid, Sample { time_ns: nth as i64, ..Sample::default() }, *is_of_jvm);
            }
            let recording = timed.finish("test", "file");
            assert_eq!(recording.samples.time_ns, expected);
            assert_eq!(recording.losses.len(), usize::from(expected.len() < samples.len()));
        }
    }
}
