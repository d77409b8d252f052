//! pprof's `profile.proto`, compressed by gzip. Numbers of fields are those of its schema.

use std::collections::HashMap;
use std::io::{self, Write};

use fathom_evidence::{Frame, Recording};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::protobuf::Message;
use crate::selection::{Selected, Unit, name_with_layer, thread_name};

/// Fields of `Profile`.
mod profile {
    pub(super) const SAMPLE_TYPE: u64 = 1;
    pub(super) const SAMPLE: u64 = 2;
    pub(super) const LOCATION: u64 = 4;
    pub(super) const FUNCTION: u64 = 5;
    pub(super) const STRING_TABLE: u64 = 6;
    pub(super) const TIME_NANOS: u64 = 9;
    pub(super) const DURATION_NANOS: u64 = 10;
}

pub(crate) fn write(recording: &Recording, selected: &Selected, out: &mut dyn Write) -> io::Result<()> {
    let mut packed = GzEncoder::new(out, Compression::default());
    packed.write_all(&encoded(recording, selected))?;
    packed.finish().map(|_| ())
}

fn encoded(recording: &Recording, selected: &Selected) -> Vec<u8> {
    let mut tables = Tables::default();
    let mut whole = Message::default();
    tables.string("");
    let (kind, unit) = of_samples(selected);
    let (kind, unit) = (tables.string(kind), tables.string(unit));
    whole.message(profile::SAMPLE_TYPE, |value| {
        value.number(1, kind).number(2, unit);
    });
    let mut sums: HashMap<_, i64> = HashMap::new();
    for sample in &selected.samples {
        let sum = sums.entry((sample.stack_id, sample.tid)).or_default();
        *sum = sum.saturating_add(selected.weight(sample));
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_unstable();
    let label = tables.string("thread");
    for ((stack, tid), sum) in sums {
        let frames: Vec<Frame> = recording.stacks.leaf_to_root(stack).collect();
        let locations: Vec<i64> = frames.iter().map(|frame| tables.location(recording, frame)).collect();
        let thread = tables.string(&thread_name(recording, tid));
        whole.message(profile::SAMPLE, |sample| {
            sample.packed(1, locations).packed(2, [sum]).message(3, |pair| {
                pair.number(1, label).number(2, thread);
            });
        });
    }
    tables.write(&mut whole);
    let (from_ns, to_ns) = selected.range_ns;
    whole.number(profile::TIME_NANOS, from_ns).number(profile::DURATION_NANOS, to_ns.saturating_sub(from_ns));
    whole.into_bytes()
}

fn of_samples(selected: &Selected) -> (&str, &'static str) {
    match selected.unit() {
        Unit::Nanoseconds => (selected.name(), "nanoseconds"),
        Unit::Bytes => (selected.name(), "bytes"),
        Unit::Count => (selected.name(), "count"),
    }
}

#[derive(Default)]
struct Tables {
    strings: Vec<String>,
    string_ids: HashMap<String, i64>,
    /// Functions and locations have the same numbers: a frame is one of each.
    locations: Vec<(i64, i64, u32)>,
    location_ids: HashMap<Frame, i64>,
}

impl Tables {
    fn string(&mut self, text: &str) -> i64 {
        if let Some(id) = self.string_ids.get(text) {
            return *id;
        }
        let id = self.strings.len() as i64;
        self.strings.push(text.to_owned());
        self.string_ids.insert(text.to_owned(), id);
        id
    }

    fn location(&mut self, recording: &Recording, frame: &Frame) -> i64 {
        if let Some(id) = self.location_ids.get(frame) {
            return *id;
        }
        let name = self.string(&name_with_layer(recording, frame));
        let module = self.string(recording.text(frame.module));
        self.locations.push((name, module, frame.line));
        let id = self.locations.len() as i64;
        self.location_ids.insert(*frame, id);
        id
    }

    fn write(&self, whole: &mut Message) {
        for (index, (name, module, line)) in self.locations.iter().enumerate() {
            let id = index as i64 + 1;
            whole.message(profile::LOCATION, |location| {
                location.number(1, id).message(4, |at| {
                    at.number(1, id).number(2, i64::from(*line));
                });
            });
            whole.message(profile::FUNCTION, |function| {
                function.number(1, id).number(2, *name).number(3, *name).number(4, *module);
            });
        }
        for text in &self.strings {
            whole.bytes(profile::STRING_TABLE, text.as_bytes());
        }
    }
}
