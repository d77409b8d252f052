//! What can be made of an event: the parts that the rows of the table of events are written with.

/// Most slots that an event may fill; more fields than this cannot be reached.
pub(super) const MAX_SLOTS: usize = 64;

/// What to make of one event.
pub(super) enum Map {
    /// A sample of a thread.
    Sample {
        event: Event,
        weight: Weight,
        /// Field with the class to put on top of the stack; empty if none.
        class: &'static str,
        /// Fields that tell the state: a text, or truth values of which the first true one is named.
        state: &'static [&'static str],
    },
    /// A span of `kind`; the detail has `(key, field)`.
    Span { kind: &'static str, name: Name, detail: &'static [(&'static str, Sum)] },
    /// A number.
    Counter { name: &'static str, instance: Name, value: Sum },
    /// A fact with a fixed key; texts are masked when they look like a command line with secrets.
    Fact { subject: &'static str, key: &'static str, value: &'static str },
    /// A fact whose key is a field.
    NamedFact { subject: &'static str, key: &'static str, value: &'static str },
    /// A part of a collection, put together by its `gcId`.
    Gc(GcPart),
    /// A part of a safepoint, put together by its `safepointId`.
    Safepoint(SafepointPart),
    /// A setting of the recorder.
    Setting,
    /// A line of a log.
    Log { class: &'static str, level: &'static str, text: &'static str },
    /// Something that the recorder lost, with the number that says how much.
    Loss { says: &'static str, count: &'static str },
}

/// Fields added up; one with a leading `-` is subtracted. A text or truth value stands alone.
pub(super) type Sum = &'static [&'static str];

/// Why a thread was sampled.
pub(super) enum Event {
    Is(&'static str),
    /// The event that async-profiler's settings name, or `execution` in a JDK's recording.
    Setting,
}

/// What a sample stands for.
pub(super) enum Weight {
    /// The period of the setting that made the sample.
    Period,
    /// The period times this field.
    Periods(&'static str),
    /// The time in this field.
    Time(&'static str),
    /// The bytes in this field.
    Bytes(&'static str),
}

/// Name of a span, or instance of a counter.
#[derive(Clone, Copy)]
pub(super) enum Name {
    Is(&'static str),
    /// The text of this field.
    Of(&'static str),
    /// `before_gc` or `after_gc`.
    When,
    /// Segment of the code cache; empty if it is the only one.
    Segment,
    /// Host or address, and port.
    Peer,
}

/// Parts of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GcPart {
    Collection,
    Pause,
    Phase(u32),
    Concurrent,
    Heap,
    ParallelHeap,
    G1Heap,
    CpuTime,
    /// What kind of collection it is, of those that G1 calls young.
    G1Type,
}

/// Parts of a safepoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SafepointPart {
    Begin,
    Synchronization,
    Operation,
    End,
}

pub(super) const fn sample(event: &'static str, weight: Weight) -> Map {
    Map::Sample { event: Event::Is(event), weight, class: "", state: &["state"] }
}

pub(super) const fn allocation(event: &'static str, bytes: &'static str) -> Map {
    Map::Sample { event: Event::Is(event), weight: Weight::Bytes(bytes), class: "objectClass", state: &[] }
}

pub(super) const fn span(kind: &'static str, name: Name, detail: &'static [(&'static str, Sum)]) -> Map {
    Map::Span { kind, name, detail }
}

pub(super) const fn counter(name: &'static str, value: Sum) -> Map {
    counter_of(name, Name::Is(""), value)
}

pub(super) const fn counter_of(name: &'static str, instance: Name, value: Sum) -> Map {
    Map::Counter { name, instance, value }
}

pub(super) const fn fact(subject: &'static str, key: &'static str, value: &'static str) -> Map {
    Map::Fact { subject, key, value }
}

pub(super) const fn named_fact(subject: &'static str, key: &'static str, value: &'static str) -> Map {
    Map::NamedFact { subject, key, value }
}
