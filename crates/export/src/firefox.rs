//! Firefox Profiler's processed profile, by its own library. A thread is a track, a layer of frames is a category, and marks are on the threads that they are of; those of the
//! whole process are on a thread of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use fathom_evidence::kinds::{frame, subject};
use fathom_evidence::tables::Sample;
use fathom_evidence::{Recording, StackId};
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, MarkerFieldFlags, MarkerFieldFormat,
    MarkerTiming, ProcessHandle, Profile, ReferenceTimestamp, SamplingInterval, StackHandle, StaticSchemaMarker,
    StaticSchemaMarkerField, StringHandle, ThreadHandle, Timestamp, WeightType,
};

use crate::markers::Marker;
use crate::selection::{Selected, Unit, root_to_leaf, thread_name};

/// Layers with the names and colours that they have in the viewer.
const LAYERS: &[(&str, &str, CategoryColor)] = &[
    (frame::INTERPRETED, "Java, interpreted", CategoryColor::LightGreen),
    (frame::C1, "Java, C1", CategoryColor::Green),
    (frame::COMPILED, "Java, compiled", CategoryColor::Green),
    (frame::INLINED, "Java, inlined", CategoryColor::LightBlue),
    (frame::VM, "JVM", CategoryColor::Yellow),
    (frame::NATIVE, "native", CategoryColor::Red),
    (frame::KERNEL, "kernel", CategoryColor::Orange),
    (frame::CLASS, "class", CategoryColor::Gray),
];

/// How far apart samples are where their weights do not say, in ns.
const SOME_INTERVAL_NS: i64 = 10_000_000;

pub(crate) fn write(
    recording: &Recording,
    selected: &Selected,
    markers: &[Marker],
    out: &mut dyn Write,
) -> io::Result<()> {
    let start_ns = markers.iter().map(|marker| marker.from_ns).chain([selected.range_ns.0]).min().unwrap_or(0).max(0);
    let mut made = Made::new(recording, selected, start_ns);
    for (tid, samples) in selected.by_thread() {
        made.samples(recording, selected, tid, &samples);
    }
    made.markers(recording, markers);
    serde_json::to_writer(out, &made.profile).map_err(io::Error::from)
}

struct Made {
    profile: Profile,
    process: ProcessHandle,
    threads: BTreeMap<i64, ThreadHandle>,
    categories: BTreeMap<&'static str, CategoryHandle>,
    start_ns: i64,
    interval_ns: i64,
    /// Numbers that the viewer's threads have already.
    tids: BTreeSet<u32>,
}

impl Made {
    fn new(recording: &Recording, selected: &Selected, start_ns: i64) -> Made {
        let weights = selected.samples.iter().map(|sample| sample.weight_ns).filter(|weight| *weight > 0);
        let interval_ns = weights.min().unwrap_or(SOME_INTERVAL_NS);
        let main = recording.fact(subject::JVM, "java_arguments").and_then(|arguments| arguments.split(' ').next());
        let title = main.filter(|main| !main.is_empty()).unwrap_or("JVM");
        let start = ReferenceTimestamp::from_millis_since_unix_epoch(start_ns as f64 / 1e6);
        let mut profile = Profile::new(title, start, SamplingInterval::from_nanos(interval_ns.unsigned_abs()));
        let pid = recording.fact(subject::JVM, "pid").and_then(|pid| pid.parse().ok()).unwrap_or(1);
        let process = profile.add_process(title, pid, Timestamp::from_nanos_since_reference(0));
        let categories = LAYERS.iter().map(|(kind, name, color)| (*kind, profile.add_category(name, *color))).collect();
        profile.set_symbolicated(true);
        Made { profile, process, threads: BTreeMap::new(), categories, start_ns, interval_ns, tids: BTreeSet::new() }
    }

    fn at(&self, time_ns: i64) -> Timestamp {
        Timestamp::from_nanos_since_reference(time_ns.saturating_sub(self.start_ns).max(0).unsigned_abs())
    }

    fn thread(&mut self, recording: &Recording, tid: i64) -> ThreadHandle {
        if let Some(known) = self.threads.get(&tid) {
            return *known;
        }
        // The viewer's numbers have 32 bits; those of virtual threads are negative here.
        let mut number = (tid & i64::from(u32::MAX)) as u32;
        while !self.tids.insert(number) {
            number = number.wrapping_add(1);
        }
        let start = Timestamp::from_nanos_since_reference(0);
        let thread = self.profile.add_thread(self.process, number, start, tid == 0);
        let name = if tid == 0 { "whole process".to_owned() } else { thread_name(recording, tid) };
        self.profile.set_thread_name(thread, &name);
        self.threads.insert(tid, thread);
        thread
    }

    fn samples(&mut self, recording: &Recording, selected: &Selected, tid: i64, samples: &[&Sample]) {
        let thread = self.thread(recording, tid);
        let is_bytes = selected.unit() == Unit::Bytes;
        self.profile
            .set_thread_samples_weight_type(thread, if is_bytes { WeightType::Bytes } else { WeightType::Samples });
        let mut stacks: BTreeMap<StackId, Option<StackHandle>> = BTreeMap::new();
        for sample in samples {
            let stack =
                *stacks.entry(sample.stack_id).or_insert_with(|| self.stack(recording, thread, sample.stack_id));
            // Weights are numbers of 32 bits, and a sample of time counts its intervals.
            let weight = match selected.unit() {
                Unit::Nanoseconds => sample.weight_ns / self.interval_ns.max(1),
                Unit::Bytes => sample.size_bytes,
                Unit::Count => 1,
            };
            let weight = i32::try_from(weight.max(1)).unwrap_or(i32::MAX);
            self.profile.add_sample(thread, self.at(sample.time_ns), stack, CpuDelta::ZERO, weight);
        }
    }

    fn stack(&mut self, recording: &Recording, thread: ThreadHandle, stack: StackId) -> Option<StackHandle> {
        let frames: Vec<FrameInfo> = root_to_leaf(recording, stack)
            .iter()
            .map(|one| {
                let category = self.categories.get(recording.text(one.kind)).copied().unwrap_or(CategoryHandle::OTHER);
                let name = self.profile.intern_string(recording.text(one.symbol));
                FrameInfo { frame: Frame::Label(name), category_pair: category.into(), flags: FrameFlags::empty() }
            })
            .collect();
        self.profile.intern_stack_frames(thread, frames.into_iter())
    }

    fn markers(&mut self, recording: &Recording, markers: &[Marker]) {
        for marker in markers {
            let thread = self.thread(recording, marker.tid);
            let name = self.profile.intern_string(&marker.name);
            let says = self.profile.intern_string(if marker.says.is_empty() { marker.track } else { &marker.says });
            let timing = MarkerTiming::Interval(self.at(marker.from_ns), self.at(marker.to_ns));
            self.profile.add_marker(thread, timing, Mark { name, says });
        }
    }
}

/// A mark as the viewer shows it.
#[derive(Debug, Clone)]
struct Mark {
    name: StringHandle,
    says: StringHandle,
}

impl StaticSchemaMarker for Mark {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "fathom";
    const CHART_LABEL: Option<&'static str> = Some("{marker.name}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.name}: {marker.data.says}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[StaticSchemaMarkerField {
        key: "says",
        label: "What it is",
        format: MarkerFieldFormat::String,
        flags: MarkerFieldFlags::SEARCHABLE,
    }];

    fn name(&self, _: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        CategoryHandle::OTHER
    }

    fn string_field_value(&self, _: u32) -> StringHandle {
        self.says
    }

    fn number_field_value(&self, _: u32) -> f64 {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Selection;
    use crate::selection::tests::recording;

    #[test]
    fn threads_layers_and_marks() {
        let recording = recording();
        let selected = Selection::default().choose(&recording).unwrap();
        let mut out = Vec::new();
        write(&recording, &selected, &crate::markers::of(&recording, selected.range_ns), &mut out).unwrap();
        let file: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let threads = file["threads"].as_array().unwrap();
        let names: Vec<&str> = threads.iter().map(|thread| thread["name"].as_str().unwrap()).collect();
        assert!(names.contains(&"http-1") && names.contains(&"C2 CompilerThread0"), "{names:?}");
        let categories = file["meta"]["categories"].to_string();
        assert!(categories.contains("Java, interpreted") && categories.contains("kernel"), "{categories}");
        assert!(String::from_utf8(out).unwrap().contains("gc_pause: Pause Young"));
    }
}
