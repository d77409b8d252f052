//! Which sources reported which thread.

use std::collections::BTreeSet;

use fathom_evidence::{Recording, StrId};
use rustc_hash::FxHashSet;

use super::threads::{PROCESS, Threads};
use super::words;

/// The sources of each thread, by its number.
#[derive(Debug, Default)]
pub(crate) struct Provenance(Vec<BTreeSet<String>>);

impl Provenance {
    pub(crate) fn new(recording: &Recording, threads: &Threads) -> Provenance {
        let (spans, counters, samples) = (&recording.spans, &recording.counters, &recording.samples);
        let told = pairs(spans.tid.iter().zip(&spans.source).chain(counters.tid.iter().zip(&counters.source)));
        let sampled = pairs(samples.tid.iter().zip(&samples.event));
        let mut of_threads = Provenance(vec![BTreeSet::new(); threads.len()]);
        for (tid, source) in told {
            of_threads.add(threads.number(tid), recording.text(source).to_owned());
        }
        for (tid, event) in sampled {
            let title = words::event_title(recording.text(event));
            of_threads.add(threads.number(tid), format!("samples of {title}"));
        }
        of_threads
    }

    fn add(&mut self, thread: u32, source: String) {
        if thread != PROCESS && !source.is_empty() {
            self.0[thread as usize].insert(source);
        }
    }

    /// Those of a thread, by name.
    pub(crate) fn of(&self, thread: usize) -> impl Iterator<Item = &str> {
        self.0.get(thread).into_iter().flatten().map(String::as_str)
    }
}

/// Each pair once; rows of one thread and source often follow each other.
fn pairs<'r>(rows: impl Iterator<Item = (&'r i64, &'r StrId)>) -> FxHashSet<(i64, StrId)> {
    let (mut found, mut last) = (FxHashSet::default(), None);
    for (tid, word) in rows {
        if last != Some((*tid, *word)) {
            last = Some((*tid, *word));
            found.insert((*tid, *word));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use fathom_evidence::tables::{Sample, Span};

    use super::*;

    #[test]
    fn a_thread_has_its_sources_and_events_once() {
        let mut recording = Recording::default();
        let (jfr, kernel) = (recording.strings.intern("jfr"), recording.strings.intern("blocked"));
        let event = recording.strings.intern("execution");
        for source in [kernel, jfr, jfr] {
            recording.spans.push(Span { tid: 7, source, ..Span::default() });
        }
        recording.spans.push(Span { tid: 8, source: jfr, ..Span::default() });
        recording.samples.push(Sample { tid: 7, event, ..Sample::default() });
        let threads = Threads::new(&recording, None);
        let provenance = Provenance::new(&recording, &threads);
        let of = |tid: i64| provenance.of(threads.number(tid) as usize).collect::<Vec<&str>>();
        assert_eq!(of(7), ["blocked", "jfr", "samples of executing Java"]);
        assert_eq!(of(8), ["jfr"]);
    }
}
