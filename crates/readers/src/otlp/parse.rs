//! The messages of OpenTelemetry's profiles. Knows no evidence. Numbers of fields are those of the schema.

use std::borrow::Cow;

use crate::profiles::{ENTRIES_MAX, FRAMES_MAX};
use crate::wire::{Fields, Value};

/// Fields of `ProfilesData`.
const RESOURCE_PROFILES: u32 = 1;
const DICTIONARY: u32 = 2;

/// Whether a file that begins with `head` is a message `ProfilesData`.
pub(super) fn is_profile(head: &[u8]) -> bool {
    let mut fields = Fields::of(head);
    let mut found = false;
    for (number, value) in fields.by_ref() {
        match number {
            RESOURCE_PROFILES => found |= has_profile(value.bytes()),
            DICTIONARY => found |= is_dictionary(value.bytes()),
            _ => return false,
        }
    }
    match fields.cut() {
        Some((RESOURCE_PROFILES, bytes)) => found || has_profile(bytes),
        Some((DICTIONARY, bytes)) => found || is_dictionary(bytes),
        Some(_) => false,
        None => found && !fields.is_damaged(),
    }
}

/// Whether what may be cut at its end has in it, one in the other, messages of these fields.
fn has_profile(bytes: &[u8]) -> bool {
    let within = |bytes, wanted| {
        let mut fields = Fields::of(bytes);
        let whole = fields.by_ref().find(|(number, value)| *number == wanted && !value.bytes().is_empty());
        whole.map(|(_, value)| value.bytes()).or_else(|| {
            let mut all = Fields::of(bytes);
            all.by_ref().for_each(drop);
            all.cut().filter(|(number, _)| *number == wanted).map(|(_, rest)| rest)
        })
    };
    let profile = within(bytes, 2).and_then(|scope| within(scope, 2));
    profile.is_some_and(|profile| {
        let mut fields = Fields::of(profile);
        let mut known = 0;
        let is_of_profile = |(number, value): (u32, Value<'_>)| {
            known += 1;
            match number {
                1 | 2 | 5 | 7 | 9..=11 => matches!(value, Value::Bytes(_)),
                3 => matches!(value, Value::Fixed64(_)),
                4 | 6 | 8 => matches!(value, Value::Varint(_)),
                _ => false,
            }
        };
        let is_sound = fields.by_ref().all(is_of_profile);
        is_sound && (known > 0 || fields.cut().is_some_and(|(number, _)| number <= 2))
    })
}

/// Tables of messages and texts, the first entry of each empty.
fn is_dictionary(bytes: &[u8]) -> bool {
    let mut fields = Fields::of(bytes);
    let mut has = [false; 8];
    let mut is_sound = |(number, value): (u32, Value<'_>)| {
        has.get_mut(number as usize).map(|has| *has = true).is_some() && matches!(value, Value::Bytes(_))
    };
    let sound = fields.by_ref().all(&mut is_sound);
    sound && has[2] && has[3]
}

/// What all profiles of a file refer to: messages that are read when they are asked for.
#[derive(Debug, Default)]
pub(super) struct Dictionary<'a> {
    mappings: Vec<Value<'a>>,
    locations: Vec<Value<'a>>,
    functions: Vec<Value<'a>>,
    strings: Vec<Value<'a>>,
    attributes: Vec<Value<'a>>,
    stacks: Vec<Value<'a>>,
    pub(super) too_many: i64,
}

impl<'a> Dictionary<'a> {
    fn take(&mut self, number: u32, value: Value<'a>) {
        let table = match number {
            1 => &mut self.mappings,
            2 => &mut self.locations,
            3 => &mut self.functions,
            5 => &mut self.strings,
            6 => &mut self.attributes,
            7 => &mut self.stacks,
            _ => return,
        };
        if table.len() < ENTRIES_MAX {
            table.push(value);
        } else {
            self.too_many += 1;
        }
    }

    pub(super) fn text(&self, place: usize) -> Cow<'a, str> {
        self.strings.get(place).map_or(Cow::Borrowed(""), |text| text.text())
    }

    /// Key and value of an attribute.
    fn attribute(&self, place: usize) -> Option<(Cow<'a, str>, Any<'a>)> {
        let attribute = *self.attributes.get(place).filter(|_| place > 0)?;
        Some((self.text(of(attribute, 1).index()), any(of(attribute, 2))))
    }

    /// The locations of a stack, the innermost first.
    pub(super) fn stack(&self, place: usize) -> impl Iterator<Item = usize> + 'a {
        let stack = self.stacks.get(place).copied().unwrap_or(Value::Varint(0));
        let lists = stack.fields().filter(|(number, _)| *number == 1);
        lists.flat_map(|(_, value)| value.numbers()).take(FRAMES_MAX).map(|place| usize::try_from(place).unwrap_or(0))
    }

    pub(super) fn location(&self, place: usize) -> Location<'a> {
        let location = self.locations.get(place).copied().unwrap_or(Value::Varint(0));
        let mapping = self.mappings.get(of(location, 1).index()).copied().unwrap_or(Value::Varint(0));
        let lines = location.fields().filter(|(number, _)| *number == 3).take(FRAMES_MAX);
        let mut found = Location {
            library: self.text(of(mapping, 4).index()),
            address: of(location, 2).int().cast_unsigned(),
            lines: lines.map(|(_, line)| self.line(line)).collect(),
            ..Location::default()
        };
        for attribute in indices(location, 4).filter_map(|place| self.attribute(place)) {
            match &*attribute.0 {
                FRAME_TYPE => found.frame_type = attribute.1.text,
                FRAME_LAYER => found.layer = attribute.1.text,
                _ => {}
            }
        }
        found
    }

    fn line(&self, line: Value<'a>) -> Line<'a> {
        let function = self.functions.get(of(line, 1).index()).copied().unwrap_or(Value::Varint(0));
        let line = u32::try_from(of(line, 2).int()).unwrap_or(0);
        Line { name: self.text(of(function, 1).index()), file: self.text(of(function, 3).index()), line }
    }
}

/// The attribute that says in which runtime a frame is.
const FRAME_TYPE: &str = "profile.frame.type";

/// The attribute by which `fathom export` keeps the layer of a frame.
const FRAME_LAYER: &str = "fathom.frame.layer";

/// A place in code, with the functions that were inlined there, the innermost first.
#[derive(Debug, Default)]
pub(super) struct Location<'a> {
    pub(super) library: Cow<'a, str>,
    pub(super) address: u64,
    pub(super) lines: Vec<Line<'a>>,
    pub(super) frame_type: Cow<'a, str>,
    pub(super) layer: Cow<'a, str>,
}

#[derive(Debug, Default)]
pub(super) struct Line<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) file: Cow<'a, str>,
    pub(super) line: u32,
}

/// A value of any kind, as far as it is a text or a number.
#[derive(Debug, Default, Clone)]
struct Any<'a> {
    text: Cow<'a, str>,
    number: Option<i64>,
}

fn any<'a>(value: Value<'a>) -> Any<'a> {
    let mut found = Any::default();
    for (number, value) in value.fields() {
        match number {
            1 => found.text = value.text(),
            3 => found.number = Some(value.int()),
            _ => {}
        }
    }
    found
}

/// The last value of a field of a message.
fn of(message: Value<'_>, number: u32) -> Value<'_> {
    message.fields().filter(|(known, _)| *known == number).last().map_or(Value::Varint(0), |(_, value)| value)
}

fn indices(message: Value<'_>, number: u32) -> impl Iterator<Item = usize> {
    let lists = message.fields().filter(move |(known, _)| *known == number);
    lists.flat_map(|(_, value)| value.numbers()).filter_map(|place| usize::try_from(place).ok())
}

/// A file: its dictionary, and profiles that are read one after the other.
pub(super) struct File<'a> {
    bytes: &'a [u8],
    pub(super) dictionary: Dictionary<'a>,
    pub(super) read: usize,
    pub(super) is_damaged: bool,
}

impl<'a> File<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> File<'a> {
        let mut fields = Fields::of(bytes);
        let mut dictionary = Dictionary::default();
        let messages = fields.by_ref().filter(|(number, _)| *number == DICTIONARY);
        messages.flat_map(|(_, value)| value.fields()).for_each(|(number, value)| dictionary.take(number, value));
        File { bytes, dictionary, read: fields.read_bytes(), is_damaged: fields.is_damaged() }
    }

    /// All profiles, with the process of the resource that they are of.
    pub(super) fn profiles(&self) -> impl Iterator<Item = (i64, Profile<'a>)> {
        let resources = Fields::of(self.bytes).filter(|(number, _)| *number == RESOURCE_PROFILES);
        resources.flat_map(|(_, resource)| {
            let pid = process(of(resource, 1));
            let scopes = resource.fields().filter(|(number, _)| *number == 2);
            let profiles = scopes.flat_map(|(_, scope)| scope.fields()).filter(|(number, _)| *number == 2);
            profiles.map(move |(_, profile)| (pid, Profile(profile)))
        })
    }
}

/// The process of a resource; 0 where it does not say.
fn process(resource: Value<'_>) -> i64 {
    let attributes = resource.fields().filter(|(number, _)| *number == 1);
    let pid = attributes.filter(|(_, pair)| of(*pair, 1).bytes() == b"process.pid");
    pid.last().and_then(|(_, pair)| any(of(pair, 2)).number).unwrap_or(0)
}

/// What a profile says of its samples.
#[derive(Debug, Clone, Copy)]
pub(super) struct Profile<'a>(Value<'a>);

/// Name and unit of a value.
pub(super) type Kind<'a> = (Cow<'a, str>, Cow<'a, str>);

impl<'a> Profile<'a> {
    /// What values are.
    pub(super) fn kind(self, dictionary: &Dictionary<'a>) -> Kind<'a> {
        Self::value_type(of(self.0, 1), dictionary)
    }

    /// What it was sampled by, and how often.
    pub(super) fn period(self, dictionary: &Dictionary<'a>) -> (Kind<'a>, i64) {
        (Self::value_type(of(self.0, 5), dictionary), of(self.0, 6).int())
    }

    fn value_type(value: Value<'a>, dictionary: &Dictionary<'a>) -> Kind<'a> {
        (dictionary.text(of(value, 1).index()), dictionary.text(of(value, 2).index()))
    }

    pub(super) fn time_ns(self) -> i64 {
        of(self.0, 3).int()
    }

    pub(super) fn duration_ns(self) -> i64 {
        of(self.0, 4).int()
    }

    pub(super) fn samples(self) -> impl Iterator<Item = Sample<'a>> {
        self.0.fields().filter(|(number, _)| *number == 2).map(|(_, value)| Sample(value))
    }
}

/// A stack, with its values and the times at which it was seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample<'a>(Value<'a>);

/// A thread, as far as attributes say.
#[derive(Debug, Default)]
pub(super) struct Thread<'a> {
    pub(super) pid: Option<i64>,
    pub(super) tid: Option<i64>,
    pub(super) name: Cow<'a, str>,
    pub(super) cpu: Option<i64>,
}

impl<'a> Sample<'a> {
    pub(super) fn stack(self) -> usize {
        of(self.0, 1).index()
    }

    pub(super) fn values(self) -> impl Iterator<Item = i64> {
        self.0.fields().filter(|(number, _)| *number == 4).flat_map(|(_, value)| value.numbers())
    }

    pub(super) fn times_ns(self) -> impl Iterator<Item = i64> {
        self.0.fields().filter(|(number, _)| *number == 5).flat_map(|(_, value)| value.fixed_numbers())
    }

    pub(super) fn thread(self, dictionary: &Dictionary<'a>) -> Thread<'a> {
        let mut thread = Thread::default();
        for (key, value) in indices(self.0, 2).filter_map(|place| dictionary.attribute(place)) {
            match &*key {
                "process.pid" => thread.pid = value.number,
                "thread.id" => thread.tid = value.number,
                "thread.name" => thread.name = value.text,
                "cpu.logical_number" => thread.cpu = value.number,
                _ => {}
            }
        }
        thread
    }
}
