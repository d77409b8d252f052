//! Which samples are written.

use fathom_evidence::kinds::{UNTIMED, event, frame};
use fathom_evidence::tables::Sample;
use fathom_evidence::{Frame, Recording, StackId};

/// Which event is taken when none is named: the first of these that there is. Samples of the CPU say most.
const ORDER: &[&str] = &[
    event::CPU,
    event::EXECUTION,
    event::WALL,
    event::DUMP,
    event::NATIVE,
    event::ALLOCATION,
    event::SAMPLED,
    event::CPU_UNTIMED,
    event::SAMPLED_UNTIMED,
    event::ALLOCATION_UNTIMED,
];

/// Events whose samples stand for bytes.
const OF_BYTES: &[&str] = &[event::ALLOCATION, event::ALLOCATION_SAMPLED, event::LIVE_OBJECT, event::MALLOC];

/// What a user asks for.
#[derive(Debug, Default, Clone)]
pub struct Selection {
    /// From when on, in ns since the Unix epoch.
    pub from_ns: Option<i64>,
    /// Until when.
    pub to_ns: Option<i64>,
    /// A part of the thread's name, or its number.
    pub thread: Option<String>,
    /// The event; the best one there is if none is named.
    pub event: Option<String>,
}

/// The samples that were chosen.
#[derive(Debug, Clone)]
pub struct Selected {
    /// Their event.
    pub event: String,
    /// In order of time.
    pub samples: Vec<Sample>,
    /// First and last instant of what was asked for.
    pub range_ns: (i64, i64),
    unit: Unit,
}

/// What weights are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Nanoseconds,
    Bytes,
    Count,
}

impl Selection {
    /// Chooses; the error says what there is instead.
    pub fn choose(&self, recording: &Recording) -> Result<Selected, String> {
        let event = self.event_of(recording)?;
        let all = recording.time_range_ns().ok_or("the recording holds nothing that has a time")?;
        let range_ns = (self.from_ns.unwrap_or(all.0), self.to_ns.unwrap_or(all.1));
        let wanted = recording.strings.find(&event);
        let is_in = |row: &Sample| row.time_ns >= range_ns.0 && row.time_ns <= range_ns.1;
        let mut samples: Vec<Sample> = recording
            .samples
            .rows()
            .filter(|row| Some(row.event) == wanted && is_in(row) && self.is_of_thread(recording, row.tid))
            .collect();
        samples.sort_by_key(|row| (row.time_ns, row.tid));
        let unit = unit(&event, &samples);
        Ok(Selected { event, samples, range_ns, unit })
    }

    fn event_of(&self, recording: &Recording) -> Result<String, String> {
        let mut there: Vec<&str> = recording.samples.event.iter().map(|event| recording.text(*event)).collect();
        there.sort_unstable();
        there.dedup();
        match &self.event {
            Some(event) if there.contains(&event.as_str()) => Ok(event.clone()),
            Some(event) => Err(format!("no samples of {event}; there are {}", listed(&there))),
            None => {
                let best = ORDER.iter().find(|event| there.contains(event)).or(there.first());
                best.map(|event| (*event).to_owned()).ok_or_else(|| "the recording has no samples".to_owned())
            }
        }
    }

    fn is_of_thread(&self, recording: &Recording, tid: i64) -> bool {
        let Some(wanted) = &self.thread else { return true };
        wanted.parse() == Ok(tid) || thread_name(recording, tid).contains(wanted.as_str())
    }
}

/// What the weights of samples of an event are.
fn unit(event: &str, samples: &[Sample]) -> Unit {
    let has = |value: fn(&Sample) -> i64| samples.iter().any(|sample| value(sample) > 0);
    match OF_BYTES.contains(&event) {
        true => Unit::Bytes,
        false if has(|sample| sample.weight_ns) => Unit::Nanoseconds,
        false if has(|sample| sample.size_bytes) => Unit::Bytes,
        false => Unit::Count,
    }
}

fn listed(words: &[&str]) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

impl Selected {
    /// Whether the samples are sums of a profile that has no time of each.
    pub fn is_untimed(&self) -> bool {
        self.event.ends_with(UNTIMED)
    }

    /// What was counted.
    pub(crate) fn name(&self) -> &str {
        self.event.strip_suffix(UNTIMED).unwrap_or(&self.event)
    }

    pub(crate) fn unit(&self) -> Unit {
        self.unit
    }

    /// What a sample stands for, in the unit of all.
    pub(crate) fn weight(&self, sample: &Sample) -> i64 {
        match self.unit {
            Unit::Nanoseconds => sample.weight_ns,
            Unit::Bytes => sample.size_bytes,
            Unit::Count => 1,
        }
    }

    /// The threads that have samples, each with its own, in order of their numbers.
    pub(crate) fn by_thread(&self) -> std::collections::BTreeMap<i64, Vec<&Sample>> {
        let mut by_thread: std::collections::BTreeMap<i64, Vec<&Sample>> = std::collections::BTreeMap::new();
        for sample in &self.samples {
            by_thread.entry(sample.tid).or_default().push(sample);
        }
        by_thread
    }
}

/// The name of a thread, or its number.
pub(crate) fn thread_name(recording: &Recording, tid: i64) -> String {
    let name = recording.threads.get(tid).map_or("", |thread| recording.text(thread.name));
    if name.is_empty() { format!("thread {tid}") } else { name.to_owned() }
}

/// The frames of a stack, callers first.
pub(crate) fn root_to_leaf(recording: &Recording, stack: StackId) -> Vec<Frame> {
    let mut frames: Vec<Frame> = recording.stacks.leaf_to_root(stack).collect();
    frames.reverse();
    frames
}

/// What flame graph tools put behind a name to say its layer.
pub(crate) fn suffix(recording: &Recording, one: &Frame) -> &'static str {
    match recording.text(one.kind) {
        frame::INTERPRETED => "_[0]",
        frame::C1 => "_[1]",
        frame::COMPILED => "_[j]",
        frame::INLINED => "_[i]",
        frame::KERNEL => "_[k]",
        _ => "",
    }
}

/// The name of a frame with its layer.
pub(crate) fn name_with_layer(recording: &Recording, frame: &Frame) -> String {
    format!("{}{}", recording.text(frame.symbol), suffix(recording, frame))
}

#[cfg(test)]
pub(crate) mod tests {
    use fathom_evidence::kinds::span;

    use super::*;

    /// Two threads with samples of the CPU, one of an allocation, and a stop.
    pub(crate) fn recording() -> Recording {
        let mut recording = Recording::default();
        recording.add_thread(7, "http-1");
        recording.add_thread(8, "C2 CompilerThread0");
        let second = 1_000_000_000;
        for (tid, at_s, event, stack) in [
            (7, 1, event::CPU, &[("main", frame::INTERPRETED), ("shop.Cart.add;all", frame::COMPILED)][..]),
            (
                7,
                2,
                event::CPU,
                &[("main", frame::INTERPRETED), ("shop.Cart.add;all", frame::COMPILED), ("write", frame::KERNEL)],
            ),
            (8, 2, event::CPU, &[("Compile::Compile", frame::VM)]),
            (7, 3, event::ALLOCATION, &[("main", frame::INTERPRETED)]),
        ] {
            let ids: Vec<_> = stack
                .iter()
                .map(|(symbol, kind)| {
                    let (symbol, kind) = (recording.strings.intern(symbol), recording.strings.intern(kind));
                    recording.stacks.intern_frame(Frame { symbol, kind, ..Frame::default() })
                })
                .collect();
            let stack_id = recording.stacks.intern_from_root(ids);
            let event = recording.strings.intern(event);
            let (weight_ns, size_bytes) = if at_s == 3 { (0, 4_096) } else { (10_000_000, 0) };
            recording.samples.push(Sample {
                time_ns: at_s * second,
                tid,
                event,
                weight_ns,
                size_bytes,
                stack_id,
                ..Sample::default()
            });
        }
        recording.add_span(2 * second, 50_000_000, 0, span::GC_PAUSE, "Pause Young", "", "gc_log");
        recording.add_span(2 * second, 300_000_000, 7, span::MONITOR_ENTER, "shop.Cart", "", "jfr");
        recording
    }

    #[test]
    fn a_selection() {
        let recording = recording();
        let choose = |selection: Selection| {
            selection.choose(&recording).map(|selected| (selected.event.clone(), selected.samples.len()))
        };
        let of = |event: &str, count| Ok((event.to_owned(), count));
        assert_eq!(choose(Selection::default()), of("cpu", 3));
        assert_eq!(choose(Selection { thread: Some("http".to_owned()), ..Selection::default() }), of("cpu", 2));
        assert_eq!(choose(Selection { thread: Some("8".to_owned()), ..Selection::default() }), of("cpu", 1));
        assert_eq!(choose(Selection { from_ns: Some(1_500_000_000), ..Selection::default() }), of("cpu", 2));
        assert_eq!(
            choose(Selection { event: Some("allocation".to_owned()), ..Selection::default() }),
            of("allocation", 1)
        );
        let error = choose(Selection { event: Some("wall".to_owned()), ..Selection::default() }).unwrap_err();
        assert_eq!(error, "no samples of wall; there are allocation, cpu");
        assert!(Selection::default().choose(&Recording::default()).is_err());
    }
}
