//! Perfetto's `trace.proto`: a process with its threads, samples as CPU samples with call stacks, and marks as slices of tracks. Numbers of fields are those of its schema.

use std::collections::HashMap;
use std::io::{self, Write};

use fathom_evidence::kinds::subject;
use fathom_evidence::{Frame, FrameId, Recording, StackId};

use crate::markers::Marker;
use crate::protobuf::Message;
use crate::selection::{Selected, name_with_layer, thread_name};

/// Fields of `TracePacket`.
mod packet {
    pub(super) const TIMESTAMP: u64 = 8;
    pub(super) const SEQUENCE: u64 = 10;
    pub(super) const TRACK_EVENT: u64 = 11;
    pub(super) const INTERNED: u64 = 12;
    pub(super) const SEQUENCE_FLAGS: u64 = 13;
    pub(super) const CLOCK: u64 = 58;
    pub(super) const TRACK: u64 = 60;
    pub(super) const SAMPLE: u64 = 66;
}

/// A trace is one field, repeated.
const PACKET: u64 = 1;

/// One writer.
const SEQUENCE: i64 = 1;

/// State begins, and state is needed: what is interned belongs to the sequence.
const STATE_CLEARED: i64 = 1;
const STATE_NEEDED: i64 = 2;

/// `BUILTIN_CLOCK_REALTIME`.
const REALTIME: i64 = 1;

/// Kinds of `TrackEvent`.
const SLICE_BEGIN: i64 = 1;
const SLICE_END: i64 = 2;

/// Numbers of tracks: the process, and then all others.
const PROCESS_TRACK: i64 = 1;
const FIRST_TRACK: i64 = 10;

/// The name of the track of a thread itself, below which its others are.
const THREAD: &str = "thread";

/// Tracks for marks that overlap; more than this are not beside each other.
const LANES_MAX: usize = 64;

/// The process where the recording does not say.
const SOME_PID: i64 = 1;

pub(crate) fn write(
    recording: &Recording,
    selected: &Selected,
    markers: &[Marker],
    out: &mut dyn Write,
) -> io::Result<()> {
    let pid = recording.fact(subject::JVM, "pid").and_then(|pid| pid.parse().ok()).unwrap_or(SOME_PID);
    let mut trace =
        Trace { recording, pid, out, tracks: HashMap::new(), ends_ns: HashMap::new(), interned: Interned::default() };
    trace.process()?;
    trace.samples(selected)?;
    trace.markers(markers)
}

struct Trace<'a> {
    recording: &'a Recording,
    pid: i64,
    out: &'a mut dyn Write,
    /// Numbers of tracks of the whole process by name, and of threads and their lanes.
    tracks: HashMap<(String, i64), i64>,
    /// When the last mark of each track ended: one that begins before that goes onto another track.
    ends_ns: HashMap<(String, i64), i64>,
    interned: Interned,
}

impl Trace<'_> {
    fn packet(&mut self, fill: impl FnOnce(&mut Message)) -> io::Result<()> {
        let mut whole = Message::default();
        whole.message(PACKET, fill);
        self.out.write_all(&whole.into_bytes())
    }

    fn process(&mut self) -> io::Result<()> {
        let (pid, title) = (self.pid, title(self.recording));
        self.packet(|packet| {
            packet.number(packet::SEQUENCE, SEQUENCE).number(packet::SEQUENCE_FLAGS, STATE_CLEARED).message(
                packet::TRACK,
                |track| {
                    track.number(1, PROCESS_TRACK).message(3, |process| {
                        process.number(1, pid).bytes(6, title.as_bytes());
                    });
                },
            );
        })
    }

    /// The track for a mark, of the first name that is free then: marks that overlap are beside each other.
    fn free_track(&mut self, marker: &Marker) -> io::Result<i64> {
        for lane in 1..=LANES_MAX {
            let name = if lane == 1 { marker.track.to_owned() } else { format!("{} {lane}", marker.track) };
            let end_ns = self.ends_ns.entry((name.clone(), marker.tid)).or_insert(i64::MIN);
            if *end_ns <= marker.from_ns || lane == LANES_MAX {
                *end_ns = (*end_ns).max(marker.to_ns);
                return self.track(&name, marker.tid);
            }
        }
        self.track(marker.track, marker.tid)
    }

    /// A track with a name, made when it is asked for first.
    fn track(&mut self, name: &str, tid: i64) -> io::Result<i64> {
        if let Some(known) = self.tracks.get(&(name.to_owned(), tid)) {
            return Ok(*known);
        }
        let parent = if tid != 0 && name != THREAD { self.track(THREAD, tid)? } else { PROCESS_TRACK };
        let number = FIRST_TRACK + self.tracks.len() as i64;
        self.tracks.insert((name.to_owned(), tid), number);
        let (pid, thread) = (self.pid, thread_name(self.recording, tid));
        self.packet(|packet| {
            packet.number(packet::SEQUENCE, SEQUENCE).message(packet::TRACK, |track| {
                track.number(1, number);
                match (tid, name) {
                    (0, _) => track.bytes(2, name.as_bytes()).number(5, PROCESS_TRACK),
                    (_, lane) if lane != THREAD => track.bytes(2, name.as_bytes()).number(5, parent),
                    _ => track.message(4, |of| {
                        // The operating system's numbers have 32 bits; virtual threads have others.
                        of.number(1, pid).number(2, tid & i64::from(i32::MAX)).bytes(5, thread.as_bytes());
                    }),
                };
            });
        })?;
        Ok(number)
    }

    fn samples(&mut self, selected: &Selected) -> io::Result<()> {
        for tid in selected.by_thread().into_keys() {
            self.track(THREAD, tid)?;
        }
        for sample in &selected.samples {
            let mut new = Message::default();
            let stack = self.interned.stack(self.recording, sample.stack_id, &mut new);
            let (pid, new) = (self.pid, new.into_bytes());
            self.packet(|packet| {
                at(packet, sample.time_ns);
                if !new.is_empty() {
                    packet.bytes(packet::INTERNED, &new);
                }
                packet.message(packet::SAMPLE, |one| {
                    one.number(1, i64::from(sample.cpu.max(0))).number(2, pid);
                    one.number(3, sample.tid & i64::from(i32::MAX)).number(4, stack);
                });
            })?;
        }
        Ok(())
    }

    fn markers(&mut self, markers: &[Marker]) -> io::Result<()> {
        for marker in markers {
            let track = self.free_track(marker)?;
            self.packet(|packet| {
                at(packet, marker.from_ns);
                packet.message(packet::TRACK_EVENT, |event| {
                    event
                        .number(9, SLICE_BEGIN)
                        .number(11, track)
                        .bytes(22, marker.track.as_bytes())
                        .bytes(23, marker.name.as_bytes());
                    if !marker.says.is_empty() {
                        event.message(4, |note| {
                            note.bytes(10, b"says").bytes(6, marker.says.as_bytes());
                        });
                    }
                });
            })?;
            self.packet(|packet| {
                at(packet, marker.to_ns);
                packet.message(packet::TRACK_EVENT, |event| {
                    event.number(9, SLICE_END).number(11, track);
                });
            })?;
        }
        Ok(())
    }
}

fn at(packet: &mut Message, time_ns: i64) {
    packet.number(packet::TIMESTAMP, time_ns).number(packet::CLOCK, REALTIME);
    packet.number(packet::SEQUENCE, SEQUENCE).number(packet::SEQUENCE_FLAGS, STATE_NEEDED);
}

fn title(recording: &Recording) -> String {
    let main = recording.fact(subject::JVM, "java_arguments").and_then(|arguments| arguments.split(' ').next());
    main.filter(|main| !main.is_empty()).unwrap_or("JVM").to_owned()
}

/// What has been told already: names, frames and stacks have numbers of their own.
#[derive(Default)]
struct Interned {
    frames: HashMap<FrameId, i64>,
    stacks: HashMap<StackId, i64>,
}

impl Interned {
    /// The number of a stack; what is not known yet goes into `new`, a message `InternedData`.
    fn stack(&mut self, recording: &Recording, stack: StackId, new: &mut Message) -> i64 {
        if let Some(known) = self.stacks.get(&stack) {
            return *known;
        }
        let mut frames: Vec<i64> = Vec::new();
        for id in recording.stacks.ids_leaf_to_root(stack) {
            frames.push(self.frame(recording, id, new));
        }
        let number = self.stacks.len() as i64 + 1;
        self.stacks.insert(stack, number);
        new.message(7, |callstack| {
            callstack.number(1, number);
            frames.iter().rev().for_each(|frame| {
                callstack.number(2, *frame);
            });
        });
        number
    }

    fn frame(&mut self, recording: &Recording, id: FrameId, new: &mut Message) -> i64 {
        if let Some(known) = self.frames.get(&id) {
            return *known;
        }
        let number = self.frames.len() as i64 + 1;
        self.frames.insert(id, number);
        let frame: Frame = recording.stacks.frame(id);
        let name = name_with_layer(recording, &frame);
        // A frame has a mapping, or the trace processor drops its stack.
        let module = recording.text(frame.module);
        let module = if module.is_empty() { recording.text(frame.kind) } else { module };
        new.message(5, |text| {
            text.number(1, number).bytes(2, name.as_bytes());
        });
        new.message(17, |text| {
            text.number(1, number).bytes(2, module.as_bytes());
        });
        new.message(19, |mapping| {
            mapping.number(1, number).number(7, number);
        });
        new.message(6, |one| {
            one.number(1, number).number(2, number).number(3, number);
        });
        number
    }
}
