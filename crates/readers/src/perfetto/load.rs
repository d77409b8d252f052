//! Samples of Perfetto to samples.

use std::path::{Path, PathBuf};

use fathom_evidence::kinds::{event, frame, loss};
use fathom_evidence::tables::Sample;
use fathom_evidence::{FrameId, Recording, StackId};
use rustc_hash::FxHashMap;

use crate::input::Input;
use crate::perf_script::symbols::{is_of_a_jvm, layer_and_name};
use crate::perfetto::clocks::{BOOTTIME, Clocks};
use crate::perfetto::parse::{self, State, number, of, packet};
use crate::profiles::{self, Missing};
use crate::timed::Timed;
use crate::wire::Value;
use crate::{LoadError, LoadOptions, load_each};

/// The `source` column of everything that comes from Perfetto.
pub(super) const SOURCE: &str = "perfetto";

/// Counters that tell time on the CPU: the kernel's clocks.
const CLOCKS: &[u64] = &[1, 3];

/// Sequences of packets that are followed: one for each writer, of which there are some hundreds.
const SEQUENCES_MAX: usize = 1 << 16;

pub(super) fn load(files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
    load_each(files, |file| load_file(file, options))
}

fn load_file(path: &Path, options: &LoadOptions) -> Result<Recording, LoadError> {
    let input = Input::open(path)?;
    let mut loader = Loader { has_offset: options.clock_offset_ns(path).is_some(), ..Loader::default() };
    for packet in parse::packets(&input) {
        if let Some(snapshot) = of(packet, packet::CLOCK_SNAPSHOT) {
            loader.clocks.take(&parse::clocks(snapshot));
        }
    }
    let mut packets = parse::packets(&input);
    packets.by_ref().for_each(|packet| loader.packet(packet));
    if loader.timed.is_empty() {
        return Err(LoadError::Unusable { path: path.to_owned(), says: loader.why_nothing() });
    }
    let name = path.display().to_string();
    let ends = packets.is_damaged().then(|| packets.read_bytes());
    let too_many = loader.sequences.values().map(|sequence| sequence.state.too_many).sum();
    let mut recording = loader.finish(&name);
    Missing { cut: input.cut(), ends, too_many }.tell(&mut recording, SOURCE, &name);
    Ok(recording)
}

#[derive(Default)]
struct Loader<'a> {
    timed: Timed,
    clocks: Clocks,
    /// Whether the caller says how far the trace's clock is off.
    has_offset: bool,
    sequences: FxHashMap<u64, Sequence<'a>>,
    without_clock: i64,
    without_stack: i64,
    without_cpu: i64,
    compressed: i64,
    kernel_lost: i64,
}

/// A sequence of packets: what it told, and what became of it.
#[derive(Default)]
struct Sequence<'a> {
    state: State<'a>,
    stacks: FxHashMap<u64, (StackId, bool)>,
    frames: FxHashMap<u64, (FrameId, bool)>,
}

impl<'a> Sequence<'a> {
    /// What a packet tells for those behind it.
    fn take(&mut self, packet: Value<'a>) {
        let flags = number(packet, packet::SEQUENCE_FLAGS).unwrap_or(0);
        if flags & 1 == 1 || number(packet, packet::STATE_CLEARED) == Some(1) {
            self.state.clear();
            self.stacks.clear();
            self.frames.clear();
        }
        if let Some(defaults) = of(packet, packet::DEFAULTS) {
            self.state.defaults(defaults);
        }
        if let Some(data) = of(packet, packet::INTERNED) {
            self.state.intern(data);
        }
    }
}

impl<'a> Loader<'a> {
    fn packet(&mut self, packet: Value<'a>) {
        self.compressed += i64::from(of(packet, packet::COMPRESSED).is_some());
        for (tid, name) in parse::threads(packet) {
            self.timed.name_thread(tid, &name);
        }
        let id = number(packet, packet::SEQUENCE).unwrap_or(0);
        if self.sequences.len() >= SEQUENCES_MAX && !self.sequences.contains_key(&id) {
            return;
        }
        let mut sequence = self.sequences.remove(&id).unwrap_or_default();
        sequence.take(packet);
        if let Some(sample) = of(packet, packet::SAMPLE) {
            self.sample(packet, sample, &mut sequence);
        }
        self.sequences.insert(id, sequence);
    }

    fn sample(&mut self, packet: Value<'a>, sample: Value<'a>, sequence: &mut Sequence<'a>) {
        self.kernel_lost += of(sample, 17).map_or(0, |lost| lost.int().max(0));
        // Samples that were left out, and how the producer is: neither is a sample.
        let (Some(stack), None) = (number(sample, 4), of(sample, 18)) else {
            self.without_stack += i64::from(of(sample, 19).is_none());
            return;
        };
        let Some(time_ns) = self.time_ns(packet, &sequence.state) else {
            self.without_clock += 1;
            return;
        };
        let state = &sequence.state;
        let is_cpu = state.frequency.is_some() && CLOCKS.contains(&state.counter);
        self.without_cpu += i64::from(!is_cpu);
        let weight_ns = state.frequency.filter(|_| is_cpu).map_or(0, |frequency| (1e9 / frequency as f64) as i64);
        let [pid, tid] = [2, 3].map(|field| of(sample, field).map_or(0, Value::int));
        let cpu = of(sample, 1).and_then(|cpu| i32::try_from(cpu.int()).ok()).unwrap_or(-1);
        let (stack_id, is_of_jvm) = self.stack(stack, sequence);
        let event = self.timed.recording.strings.intern(if is_cpu { event::CPU } else { event::SAMPLED });
        let row = Sample { time_ns, tid, cpu, event, weight_ns, stack_id, ..Sample::default() };
        self.timed.push(pid, row, is_of_jvm);
    }

    /// On the wall clock, or on the trace's own where the caller says how far that is off.
    fn time_ns(&self, packet: Value<'a>, state: &State<'a>) -> Option<i64> {
        let clock = number(packet, packet::CLOCK).or(state.clock).unwrap_or(BOOTTIME);
        let at_ns = of(packet, packet::TIMESTAMP).map_or(0, Value::int);
        self.clocks.wall_ns(clock, at_ns).or_else(|| self.has_offset.then_some(at_ns))
    }

    fn stack(&mut self, id: u64, sequence: &mut Sequence<'a>) -> (StackId, bool) {
        if let Some(known) = sequence.stacks.get(&id) {
            return *known;
        }
        let mut is_of_jvm = false;
        let mut frames = Vec::new();
        for frame in sequence.state.callstack(id) {
            let of = || self.frame(sequence.state.frame(frame));
            let (id, is_jvm) = *sequence.frames.entry(frame).or_insert_with(of);
            is_of_jvm |= is_jvm;
            frames.push(id);
        }
        let stack = (self.timed.recording.stacks.intern_from_root(frames), is_of_jvm);
        sequence.stacks.insert(id, stack);
        stack
    }

    fn frame(&mut self, (name, path): (std::borrow::Cow<'_, str>, String)) -> (FrameId, bool) {
        let recording = &mut self.timed.recording;
        let (marked, layer) = profiles::name_and_layer(&name, &path);
        let is_file = path.contains('.');
        let id = match (layer, path.as_str()) {
            // Perfetto calls the kernel's code so; `fathom export` names layers without a file.
            ("", "/kernel") => profiles::frame_of(recording, &marked, "", 0, frame::KERNEL),
            ("", "/vm") => profiles::frame_of(recording, &marked, "", 0, frame::VM),
            ("", "/native") => profiles::frame_of(recording, &marked, "", 0, frame::NATIVE),
            ("", path) if is_file => {
                let (layer, name) = layer_and_name(&name, path);
                profiles::frame_of(recording, &name, path, 0, layer)
            }
            (layer, path) => profiles::frame_of(recording, &marked, if is_file { path } else { "" }, 0, layer),
        };
        (id, is_of_a_jvm(&path))
    }

    fn why_nothing(&self) -> String {
        let record = "record samples with the data source linux.perf";
        match (self.without_clock, self.compressed) {
            (0, 0) => format!("a trace of Perfetto without samples of call stacks; {record}"),
            (0, _) => "a trace of Perfetto with compressed packets: record it without compression_type".to_owned(),
            _ => "a trace of Perfetto whose clock nothing relates to the wall clock: add what is missing, --clock-offset FILE=TIME".to_owned(),
        }
    }

    fn finish(self, name: &str) -> Recording {
        let mut recording = self.timed.finish(SOURCE, name);
        for (kind, count, says) in [
            (loss::REFUSED, self.without_stack, "samples have no call stack"),
            (loss::EVENTS_LOST, self.kernel_lost, "records were lost by the kernel"),
            (loss::REFUSED, self.compressed, "packets are compressed and were not read"),
            (loss::CLOCK_ESTIMATED, self.without_clock, "samples have a clock that nothing relates to the wall clock"),
            (loss::UNIT_ASSUMED, self.without_cpu, "samples do not say whether the thread ran: no cause uses them"),
        ] {
            if count > 0 {
                recording.add_loss(SOURCE, kind, count, &format!("{name}: {count} {says}"));
            }
        }
        recording
    }
}
