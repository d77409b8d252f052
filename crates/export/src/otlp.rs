//! OpenTelemetry's profiles: `ProfilesData` of `opentelemetry.proto.profiles.v1development`. Numbers of fields are those of its schema.
//! The runtime of a frame is its attribute `profile.frame.type`. Its layer has no word in the conventions and is an
//! attribute of its own. The format has no place for marks.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::io::{self, Write};

use fathom_evidence::kinds::{frame, subject};
use fathom_evidence::{Frame, Recording, StackId};

use crate::protobuf::Message;
use crate::selection::{Selected, Unit, thread_name};

/// Fields of `ProfilesDictionary`.
mod table {
    pub(super) const MAPPING: u64 = 1;
    pub(super) const LOCATION: u64 = 2;
    pub(super) const FUNCTION: u64 = 3;
    pub(super) const LINK: u64 = 4;
    pub(super) const STRING: u64 = 5;
    pub(super) const ATTRIBUTE: u64 = 6;
    pub(super) const STACK: u64 = 7;
}

/// Fields of `Profile`.
mod profile {
    pub(super) const SAMPLE_TYPE: u64 = 1;
    pub(super) const SAMPLE: u64 = 2;
    pub(super) const TIME: u64 = 3;
    pub(super) const DURATION: u64 = 4;
}

/// The attribute that keeps the layer of a frame.
const LAYER: &str = "fathom.frame.layer";

pub(crate) fn write(recording: &Recording, selected: &Selected, out: &mut dyn Write) -> io::Result<()> {
    let mut words = Words::new();
    let profile = profile(recording, selected, &mut words);
    let mut whole = Message::default();
    whole.message(1, |resource| {
        resource.message(1, |of| process(recording, of)).message(2, |scope| {
            scope.message(1, |tool| {
                tool.bytes(1, b"fathom");
            });
            scope.bytes(2, &profile.into_bytes());
        });
    });
    whole.message(2, |dictionary| words.write(dictionary));
    out.write_all(&whole.into_bytes())
}

fn process(recording: &Recording, resource: &mut Message) {
    let Some(pid) = recording.fact(subject::JVM, "pid").and_then(|pid| pid.parse().ok()) else { return };
    resource.message(1, |pair| {
        pair.bytes(1, b"process.pid").message(2, |value| {
            value.number(3, pid);
        });
    });
}

/// The samples: of each stack and thread the values, and the times if samples have any.
fn profile(recording: &Recording, selected: &Selected, words: &mut Words) -> Message {
    let mut whole = Message::default();
    let unit = match selected.unit() {
        Unit::Nanoseconds => "nanoseconds",
        Unit::Bytes => "bytes",
        Unit::Count => "count",
    };
    let (kind, unit) = (words.string(selected.name()), words.string(unit));
    whole.message(profile::SAMPLE_TYPE, |value| {
        value.number(1, kind).number(2, unit);
    });
    let mut samples: BTreeMap<(StackId, i64), Vec<(i64, i64)>> = BTreeMap::new();
    for sample in &selected.samples {
        let of = samples.entry((sample.stack_id, sample.tid)).or_default();
        of.push((sample.time_ns, selected.weight(sample)));
    }
    for ((stack, tid), mut seen) in samples {
        if selected.is_untimed() {
            let sum = seen.iter().fold(0_i64, |sum, (_, weight)| sum.saturating_add(*weight));
            seen = vec![(0, sum)];
        }
        let stack = words.stack(recording, stack);
        let thread = words.thread(recording, tid);
        whole.message(profile::SAMPLE, |sample| {
            sample.number(1, stack).packed(2, thread).packed(4, seen.iter().map(|(_, weight)| *weight));
            if !selected.is_untimed() {
                sample.packed_fixed(5, seen.iter().map(|(time_ns, _)| *time_ns));
            }
        });
    }
    let (from_ns, to_ns) = selected.range_ns;
    whole.fixed(profile::TIME, from_ns).number(profile::DURATION, to_ns.saturating_sub(from_ns));
    whole
}

/// Entries by what they are of; the first one is empty.
struct Table<K> {
    known: HashMap<K, i64>,
    entries: Vec<Message>,
}

impl<K: Hash + Eq> Table<K> {
    fn new() -> Table<K> {
        Table { known: HashMap::new(), entries: vec![Message::default()] }
    }

    fn add(&mut self, key: K, fill: impl FnOnce(&mut Message)) -> i64 {
        let place = self.entries.len() as i64;
        let mut entry = Message::default();
        fill(&mut entry);
        self.entries.push(entry);
        self.known.insert(key, place);
        place
    }

    fn write(self, field: u64, dictionary: &mut Message) {
        for entry in self.entries {
            dictionary.bytes(field, &entry.into_bytes());
        }
    }
}

/// What all samples refer to.
struct Words {
    strings: Vec<String>,
    string_places: HashMap<String, i64>,
    mappings: Table<i64>,
    functions: Table<(i64, i64)>,
    locations: Table<Frame>,
    stacks: Table<StackId>,
    attributes: Table<(i64, String)>,
}

impl Words {
    fn new() -> Words {
        Words {
            strings: vec![String::new()],
            string_places: HashMap::from([(String::new(), 0)]),
            mappings: Table::new(),
            functions: Table::new(),
            locations: Table::new(),
            stacks: Table::new(),
            attributes: Table::new(),
        }
    }

    fn string(&mut self, text: &str) -> i64 {
        if let Some(place) = self.string_places.get(text) {
            return *place;
        }
        let place = self.strings.len() as i64;
        self.strings.push(text.to_owned());
        self.string_places.insert(text.to_owned(), place);
        place
    }

    /// Places of the attributes of a thread.
    fn thread(&mut self, recording: &Recording, tid: i64) -> [i64; 2] {
        [self.attribute("thread.id", &tid.to_string(), Some(tid)), {
            let name = thread_name(recording, tid);
            self.attribute("thread.name", &name, None)
        }]
    }

    fn attribute(&mut self, key: &str, text: &str, number: Option<i64>) -> i64 {
        let key = self.string(key);
        if let Some(known) = self.attributes.known.get(&(key, text.to_owned())) {
            return *known;
        }
        self.attributes.add((key, text.to_owned()), |attribute| {
            attribute.number(1, key).message(2, |value| {
                match number {
                    Some(number) => value.number(3, number),
                    None => value.bytes(1, text.as_bytes()),
                };
            });
        })
    }

    fn stack(&mut self, recording: &Recording, stack: StackId) -> i64 {
        if let Some(known) = self.stacks.known.get(&stack) {
            return *known;
        }
        let frames: Vec<Frame> = recording.stacks.leaf_to_root(stack).collect();
        let places: Vec<i64> = frames.iter().map(|frame| self.location(recording, frame)).collect();
        self.stacks.add(stack, |entry| {
            entry.packed(1, places);
        })
    }

    fn location(&mut self, recording: &Recording, frame: &Frame) -> i64 {
        if let Some(known) = self.locations.known.get(frame) {
            return *known;
        }
        let module = self.string(recording.text(frame.module));
        let layer = recording.text(frame.kind);
        let runtime = runtime(layer);
        let (mapping, file) = if runtime == "jvm" { (0, module) } else { (self.mapping(module), 0) };
        let function = self.function(recording.text(frame.symbol), file);
        let attributes: Vec<i64> = [("profile.frame.type", runtime), (LAYER, layer)]
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(key, value)| self.attribute(key, value, None))
            .collect();
        self.locations.add(*frame, |location| {
            location.number(1, mapping).message(3, |line| {
                line.number(1, function).number(2, i64::from(frame.line));
            });
            location.packed(4, attributes);
        })
    }

    fn mapping(&mut self, module: i64) -> i64 {
        if module == 0 {
            return 0;
        }
        if let Some(known) = self.mappings.known.get(&module) {
            return *known;
        }
        self.mappings.add(module, |mapping| {
            mapping.number(4, module);
        })
    }

    fn function(&mut self, name: &str, file: i64) -> i64 {
        let name = self.string(name);
        if let Some(known) = self.functions.known.get(&(name, file)) {
            return *known;
        }
        self.functions.add((name, file), |function| {
            function.number(1, name).number(3, file);
        })
    }

    fn write(self, dictionary: &mut Message) {
        self.mappings.write(table::MAPPING, dictionary);
        self.locations.write(table::LOCATION, dictionary);
        self.functions.write(table::FUNCTION, dictionary);
        dictionary.bytes(table::LINK, &[]);
        for text in &self.strings {
            dictionary.bytes(table::STRING, text.as_bytes());
        }
        self.attributes.write(table::ATTRIBUTE, dictionary);
        self.stacks.write(table::STACK, dictionary);
    }
}

/// The runtime of a layer, in the words of the conventions.
fn runtime(layer: &str) -> &'static str {
    match layer {
        frame::INTERPRETED | frame::C1 | frame::COMPILED | frame::INLINED => "jvm",
        frame::VM | frame::NATIVE => "native",
        frame::KERNEL => "kernel",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Selection;
    use crate::selection::tests::recording;

    #[test]
    fn frames_keep_their_layers() {
        let recording = recording();
        let mut out = Vec::new();
        write(&recording, &Selection::default().choose(&recording).unwrap(), &mut out).unwrap();
        let text = String::from_utf8_lossy(&out);
        for word in ["profile.frame.type", "jvm", "kernel", LAYER, "interpreted", "compiled", "http-1", "shop.Cart.add"]
        {
            assert!(text.contains(word), "{word}");
        }
    }
}
