//! The selection in the formats of other tools. Its samples become a recording of their own, which is written like any other.

use fathom_causes::explanation::{Explanation, SlowInterval};
use fathom_evidence::kinds::subject;
use fathom_evidence::tables::Sample;
use fathom_evidence::{Frame, FrameId, Recording, StackId};
use fathom_export::{Format, Marker, Selection, markers};
use rustc_hash::FxHashMap;

use super::Answer;
use super::select::{self, Stretch};
use crate::index::samples::{Event, Unit};
use crate::index::threads::ThreadSet;
use crate::loaded::Loaded;
use crate::query::Query;
use crate::refused::Refused;

/// Answers `export`.
pub(crate) fn answer(page: &Loaded, query: &Query) -> Result<Answer, Refused> {
    let format = format(query)?;
    let stretch = Stretch::of(page, query)?.covered(page);
    let threads = select::threads(page, query)?;
    let event = select::event(page, query)?.ok_or_else(|| Refused::not_there("event", ""))?;
    let picked = picked(page, event, stretch, threads.as_ref());
    let [from_ns, to_ns] = [stretch.from, stretch.to].map(|at| page.axis.origin_ns.saturating_add(at));
    let selection =
        Selection { from_ns: Some(from_ns), to_ns: Some(to_ns), thread: None, event: Some(event.word.clone()) };
    let selected = selection.choose(&picked).map_err(Refused::Recording)?;
    if selected.is_untimed() && format.needs_times() {
        return Err(Refused::Recording(
            "sums without times: collapsed, otlp, pprof and speedscope take them".to_owned(),
        ));
    }
    let mut marked = markers::of(&page.recording, (from_ns, to_ns));
    marked.extend(marks(&page.explanation));
    let mut bytes = Vec::new();
    // Writing to memory does not fail.
    fathom_export::write(format, &picked, &selected, &marked, &mut bytes)
        .map_err(|error| Refused::Recording(error.to_string()))?;
    Ok(Answer { content_type: "application/octet-stream", bytes })
}

fn format(query: &Query) -> Result<Format, Refused> {
    const EXPECTED: &str = "collapsed, csv, firefox, otlp, perfetto, pprof or speedscope";
    let name = query.required("format", EXPECTED)?;
    let found = Format::ALL.iter().find(|(known, _)| *known == name);
    found.map(|(_, format)| *format).ok_or_else(|| Refused::parameter("format", name, EXPECTED))
}

/// The samples of an event in some time and of some threads, with what they refer to.
fn picked(page: &Loaded, event: &Event, stretch: Stretch, threads: Option<&ThreadSet>) -> Recording {
    let mut picked = Recording::default();
    for thread in page.threads.iter() {
        picked.add_thread(thread.tid, page.recording.text(thread.name));
    }
    for key in ["pid", "java_arguments"] {
        if let Some(value) = page.recording.fact(subject::JVM, key) {
            picked.add_fact(subject::JVM, key, value, "page");
        }
    }
    let word = picked.strings.intern(&event.word);
    let mut stacks = Stacks { page, known: FxHashMap::default() };
    for index in event.within(stretch.from, stretch.to) {
        if threads.is_none_or(|threads| threads.contains(event.thread[index])) {
            let stack_id = stacks.of(&mut picked, event.node[index]);
            let sample = Sample { event: word, stack_id, ..sample(page, event, index) };
            picked.samples.push(sample);
        }
    }
    picked
}

/// A sample but for its event and stack, which have other numbers in the recording that is made.
fn sample(page: &Loaded, event: &Event, index: usize) -> Sample {
    let weight = event.weight(index) as i64;
    let (weight_ns, size_bytes) = match event.unit {
        Unit::Nanoseconds => (weight, 0),
        Unit::Bytes => (0, weight),
        Unit::Samples => (0, 0),
    };
    let time_ns = page.axis.origin_ns.saturating_add(event.time[index]);
    let tid = page.threads.get(event.thread[index]).map_or(0, |thread| thread.tid);
    Sample { time_ns, tid, cpu: -1, weight_ns, size_bytes, ..Sample::default() }
}

/// The stacks of nodes of the tree.
struct Stacks<'p> {
    page: &'p Loaded,
    known: FxHashMap<u32, StackId>,
}

impl Stacks<'_> {
    fn of(&mut self, picked: &mut Recording, node: u32) -> StackId {
        if let Some(known) = self.known.get(&node) {
            return *known;
        }
        let tree = &self.page.tree;
        let mut frames = Vec::new();
        let mut at = node;
        while at != 0 {
            frames.push(self.frame(picked, tree.place[at as usize]));
            at = tree.parent[at as usize];
        }
        let stack = picked.stacks.intern_from_root(frames.into_iter().rev());
        self.known.insert(node, stack);
        stack
    }

    fn frame(&self, picked: &mut Recording, place: u32) -> FrameId {
        let place = self.page.tree.places[place as usize];
        let texts = [place.symbol, place.kind, place.module].map(|text| self.page.recording.text(text));
        let [symbol, kind, module] = texts.map(|text| picked.strings.intern(text));
        picked.stacks.intern_frame(Frame { symbol, kind, module, line: 0 })
    }
}

/// When it was slow, and why, as marks.
pub fn marks(explanation: &Explanation) -> Vec<Marker> {
    explanation.slow.iter().flat_map(|interval| of_interval(explanation, interval)).collect()
}

fn of_interval(explanation: &Explanation, interval: &SlowInterval) -> Vec<Marker> {
    let mark = |track, name: String, says: &str| Marker {
        from_ns: interval.from_ns,
        to_ns: interval.to_ns,
        tid: 0,
        track,
        name,
        says: says.to_owned(),
    };
    let says = |id: &str| {
        let verdict = explanation.causes.iter().find(|cause| cause.id == id);
        verdict.map_or("", |verdict| verdict.says.as_str())
    };
    let causes = interval
        .causes
        .iter()
        .map(|cause| mark("causes", format!("{:.0} % {}", 100.0 * cause.share, cause.id), says(&cause.id)));
    std::iter::once(mark("slow", "slow".to_owned(), &interval.says)).chain(causes).collect()
}
