//! Samples and tracepoints of perf to evidence.

use std::path::{Path, PathBuf};

use fathom_evidence::kinds::{event, loss, subject};
use fathom_evidence::tables::Sample as Row;
use fathom_evidence::{FrameId, Recording, StackId, StrId, Table};
use linux_perf_event_reader::RecordType;
use linux_perf_event_reader::constants::PERF_CONTEXT_MAX;
use rustc_hash::FxHashMap;

use crate::cycles::Cycles;
use crate::input::Input;
use crate::perf_data::attributes::{Attribute, Meaning};
use crate::perf_data::container::{About, Container};
use crate::perf_data::names::{KERNEL_FROM, Names};
use crate::perf_data::order::InOrder;
use crate::perf_data::records::{self, Record};
use crate::perf_data::sample::{Sample, addresses};
use crate::perf_data::scan::{self, Scan};
use crate::perf_data::switches::{self, Switches};
use crate::perf_data::system_calls::{self, SystemCalls};
use crate::perf_data::walks::Walks;
use crate::{LoadError, LoadOptions, load_each};

/// The `source` column of everything that comes from perf.data.
pub(super) const SOURCE: &str = "perf_data";

/// Frames that are kept of a stack; perf takes 127 by default.
const FRAMES_MAX: usize = 2_048;

/// Places of samples that are remembered, and bytes of these.
const PLACES_MAX: usize = 1 << 17;
const PLACES_MAX_BYTES: usize = 64 << 20;

const RECORD_WITH: &str =
    "perf record -k CLOCK_MONOTONIC -g -F 99 -p PID -- sleep 30; jcmd PID Compiler.perfmap; cp /tmp/perf-PID.map .";

pub(super) fn load(files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
    load_each(files, |file| load_file(file, options))
}

fn load_file(path: &Path, options: &LoadOptions) -> Result<Recording, LoadError> {
    let unusable = |says: String| LoadError::Unusable { path: path.to_owned(), says };
    let file = Input::open(path)?;
    let mut container =
        Container::parse(&file).ok_or_else(|| unusable("perf.data that ends in its head".to_owned()))?;
    let scan = Scan::of(&file, &mut container);
    let Some(pid) = scan.chosen() else {
        return Err(unusable(format!("perf.data without samples that can be read; record with: {RECORD_WITH}")));
    };
    // Moved later by what the caller knows.
    let by_caller = options.clock_offset_ns(path).map(|_| 0);
    let Some(to_wall_ns) = scan.to_wall_ns().or(by_caller) else {
        let says = "perf.data with times of perf's own clock, which nothing relates to another one";
        return Err(unusable(format!("{says}; record with: {RECORD_WITH}")));
    };
    let names = Names::of(&scan, pid, path.parent().unwrap_or(Path::new(".")));
    let mut loader = Loader::new(pid, to_wall_ns, names);
    loader.threads(&scan);
    let mut about = if container.is_pipe { About::default() } else { scan.about };
    records::read(&file, &container, &mut about, &mut |about, record| loader.record(about, &record));
    let damage = scan.damage.as_deref().or(file.cut());
    let unfinished = container.is_unfinished.then_some("perf did not finish it: it was killed");
    for says in damage.into_iter().chain(unfinished) {
        loader.recording.add_loss(SOURCE, loss::TRUNCATED, 0, &format!("{}: {says}", path.display()));
    }
    let others = scan.processes.iter().filter(|(other, _)| **other != pid).map(|(_, process)| process.samples).sum();
    let recording = loader.finish(others, scan.lost);
    match recording.samples.is_empty() && recording.spans.is_empty() && recording.counters.is_empty() {
        true => Err(unusable(format!("perf.data without events that are read; record with: {RECORD_WITH}"))),
        false => Ok(recording),
    }
}

/// What is put in order.
enum Event {
    Sample(Row),
    /// Of a thread.
    SystemCall(i64, system_calls::What),
    Switch(switches::Event),
}

struct Loader {
    recording: Recording,
    pid: i32,
    to_wall_ns: i64,
    names: Names,
    /// Whether times are of the clock that a jitdump has.
    is_monotonic: bool,
    cycles: Cycles,
    walks: Walks,
    switches: Switches,
    system_calls: SystemCalls,
    order: InOrder<Event>,
    /// Up to which time all have had their turn, and how many came later than that of samples and of others.
    done_ns: i64,
    late: [i64; 2],
    /// Stacks of [places](Sample::place) that were there before; those whose kernel part is wanted apart are the second ones.
    places: [FxHashMap<Box<[u8]>, [StackId; 2]>; 2],
    places_bytes: usize,
    /// Words of the tables.
    on_cpu: StrId,
    page_fault: StrId,
    other_events: i64,
    /// Samples that were not understood.
    unread: i64,
}

impl Loader {
    fn new(pid: i32, to_wall_ns: i64, names: Names) -> Loader {
        let mut recording = Recording::default();
        let [on_cpu, page_fault] = [event::CPU, event::PAGE_FAULT].map(|word| recording.strings.intern(word));
        Loader {
            recording,
            pid,
            to_wall_ns,
            names,
            is_monotonic: false,
            cycles: Cycles::default(),
            walks: Walks::default(),
            switches: Switches::default(),
            system_calls: SystemCalls::of(SOURCE),
            order: InOrder::default(),
            done_ns: i64::MIN,
            late: [0; 2],
            places: Default::default(),
            places_bytes: 0,
            on_cpu,
            page_fault,
            other_events: 0,
            unread: 0,
        }
    }

    fn threads(&mut self, scan: &Scan) {
        self.is_monotonic = scan.is_monotonic();
        self.walks = Walks::of(scan.about.architecture.as_deref());
        self.system_calls.architecture = scan.about.architecture.clone().unwrap_or_default();
        self.recording.add_fact(subject::JVM, "pid", &self.pid.to_string(), SOURCE);
        if let Some(release) = &scan.about.os_release {
            self.recording.add_fact(subject::HOST, "kernel", release, SOURCE);
        }
        for (tid, (_, name)) in scan.threads.iter().filter(|(_, (pid, _))| *pid == self.pid) {
            self.recording.add_thread(i64::from(*tid), &String::from_utf8_lossy(name));
        }
    }

    fn record(&mut self, about: &About, record: &Record<'_>) {
        if record.kind == records::FINISHED_ROUND {
            let events = self.order.turn();
            return self.apply(events);
        }
        if record.kind != RecordType::SAMPLE.0 {
            return;
        }
        let time_ns = |sample: &Sample<'_>| i64::try_from(sample.time_ns?).ok()?.checked_add(self.to_wall_ns);
        let read = scan::sample(about, record).and_then(|(sample, of)| Some((sample, of, time_ns(&sample)?)));
        let Some((sample, of, time_ns)) = read else {
            self.unread += 1;
            return;
        };
        match of.meaning {
            Meaning::Tracepoint(id) => self.tracepoint(about, id, time_ns, (&sample, of)),
            _ if sample.ids.map(|(pid, _)| pid) == Some(self.pid) => self.sample(time_ns, (&sample, of)),
            _ => {}
        }
    }

    fn sample(&mut self, time_ns: i64, (sample, of): (&Sample<'_>, &Attribute)) {
        let period = || sample.period.or(of.period).and_then(|ns| i64::try_from(ns).ok()).unwrap_or(0);
        let (event, weight_ns) = match of.meaning {
            Meaning::Clock => (self.on_cpu, period()),
            Meaning::Cycles => (self.on_cpu, 0),
            Meaning::PageFault => (self.page_fault, 0),
            Meaning::Tracepoint(_) | Meaning::Other => {
                self.other_events += 1;
                return;
            }
        };
        let tid = self.tid_of(sample);
        let [stack_id, _] = self.stacks(sample, of, false);
        let cpu = sample.cpu.and_then(|cpu| i32::try_from(cpu).ok()).unwrap_or(-1);
        self.push(time_ns, Event::Sample(Row { time_ns, tid, cpu, event, weight_ns, stack_id, ..Row::default() }));
    }

    fn tracepoint(&mut self, about: &About, id: u64, time_ns: i64, (sample, of): (&Sample<'_>, &Attribute)) {
        let (Some(format), Some(raw)) = (about.formats.get(&id), sample.raw) else {
            self.other_events += 1;
            return;
        };
        let is_ours = sample.ids.map(|(pid, _)| pid) == Some(self.pid);
        let stacks = if is_ours { self.stacks(sample, of, true) } else { [StackId::default(); 2] };
        let tid = self.tid_of(sample);
        let call = if is_ours { system_calls::what(&mut self.recording, format, raw, stacks) } else { None };
        if let Some(call) = call {
            return self.push(time_ns, Event::SystemCall(tid, call));
        }
        let mut found = Vec::new();
        let add = &mut |event| found.push(event);
        let is_known = switches::events(&mut self.recording, format, raw, is_ours, stacks, add);
        found.into_iter().for_each(|event| self.push(time_ns, Event::Switch(event)));
        self.other_events += i64::from(!is_known && is_ours);
    }

    fn push(&mut self, time_ns: i64, event: Event) {
        if self.order.push(time_ns, event) {
            let events = self.order.half();
            self.apply(events);
        }
    }

    /// Takes events in the order of their times.
    fn apply(&mut self, events: Vec<(i64, Event)>) {
        for (time_ns, event) in events {
            let is_late = time_ns < self.done_ns;
            self.done_ns = self.done_ns.max(time_ns);
            self.late[usize::from(!matches!(event, Event::Sample(_)))] += i64::from(is_late);
            let (recording, at) = (&mut self.recording, |tid| (time_ns, tid));
            match event {
                Event::Sample(row) => {
                    if row.event == self.on_cpu && row.weight_ns == 0 {
                        self.cycles.see(row.tid, row.time_ns);
                    }
                    recording.samples.push(row);
                }
                Event::SystemCall(tid, _) if is_late => self.system_calls.forget(tid),
                Event::SystemCall(tid, call) => self.system_calls.take(recording, at(tid), call),
                Event::Switch(event) if is_late => self.switches.forget(event),
                Event::Switch(event) => self.switches.take(recording, SOURCE, time_ns, event),
            }
        }
    }

    fn tid_of(&self, sample: &Sample<'_>) -> i64 {
        i64::from(sample.ids.map_or(self.pid, |(_, tid)| tid))
    }

    /// The stack of the code, and that of the kernel if it is wanted apart. Most samples were where another one was.
    fn stacks(&mut self, sample: &Sample<'_>, of: &Attribute, is_apart: bool) -> [StackId; 2] {
        if let Some(addresses) = self.walks.walk(&mut self.names, sample, of) {
            let time_ns = sample.time_ns.filter(|_| self.is_monotonic);
            return self.stacks_of(addresses.into_iter().take(FRAMES_MAX), time_ns, is_apart);
        }
        let place = sample.place();
        if let Some(known) = self.places[usize::from(is_apart)].get(place) {
            return *known;
        }
        let time_ns = sample.time_ns.filter(|_| self.is_monotonic);
        let addresses = addresses(place, of.parse_info.endian).filter(|address| *address < PERF_CONTEXT_MAX);
        let stacks = self.stacks_of(addresses.take(FRAMES_MAX), time_ns, is_apart);
        let places = &mut self.places[usize::from(is_apart)];
        if self.names.are_fixed() && places.len() < PLACES_MAX && self.places_bytes < PLACES_MAX_BYTES {
            self.places_bytes += place.len();
            places.insert(place.into(), stacks);
        }
        stacks
    }

    fn stacks_of(
        &mut self,
        addresses: impl Iterator<Item = u64>,
        time_ns: Option<u64>,
        is_apart: bool,
    ) -> [StackId; 2] {
        let mut frames = [Vec::new(), Vec::new()];
        for address in addresses {
            let frame = self.names.frame(address, time_ns, &mut self.recording);
            frames[usize::from(is_apart && address >= KERNEL_FROM)].push(frame);
        }
        let mut stack = |frames: Vec<FrameId>| self.recording.stacks.intern_from_root(frames.into_iter().rev());
        let [user, kernel] = frames;
        [stack(user), stack(kernel)]
    }

    fn finish(mut self, others: usize, lost: u64) -> Recording {
        let rest = self.order.rest();
        self.apply(rest);
        if self.late[0] > 0 {
            let mut rows: Vec<Row> = self.recording.samples.rows().collect();
            rows.sort_by_key(|row| row.time_ns);
            self.recording.samples.clear();
            self.recording.samples.extend(&rows);
        }
        std::mem::take(&mut self.cycles).weigh(&mut self.recording, SOURCE);
        std::mem::replace(&mut self.system_calls, SystemCalls::of(SOURCE)).finish(&mut self.recording);
        self.losses(others, lost);
        self.walks.tell(&mut self.recording, SOURCE);
        self.recording
    }

    fn losses(&mut self, others: usize, lost: u64) {
        let [of_kernel, of_files, of_jit] = self.names.missing.map(|count| count as i64);
        let (pid, others, lost) = (self.pid, others as i64, i64::try_from(lost).unwrap_or(i64::MAX));
        let losses = [
            (loss::REFUSED, others, format!("samples of other processes than {pid} were left out")),
            (loss::EVENTS_LOST, lost, "records were lost by the kernel".to_owned()),
            (
                loss::EVENTS_LOST,
                self.late[1],
                "tracepoints come long after later ones: what their threads waited for then is left out".to_owned(),
            ),
            (
                loss::NOT_UNDERSTOOD,
                self.unread,
                "samples are damaged".to_owned(),
            ),
            (loss::NOT_UNDERSTOOD, self.other_events, "samples are of events that are not read".to_owned()),
            (
                loss::NAMES_MISSING,
                of_kernel,
                "addresses of the kernel have no name: it was started anew since, or hides them; copy /proc/kallsyms beside the file".to_owned(),
            ),
            (
                loss::NAMES_MISSING,
                of_files,
                "addresses of libraries have no name: the files are stripped, or not those that ran; copy them beside the file".to_owned(),
            ),
            (
                loss::NAMES_MISSING,
                of_jit,
                format!("addresses of code made at run time have no name: jcmd {pid} Compiler.perfmap; cp /tmp/perf-{pid}.map beside the file, or jit-{pid}.dump"),
            ),
        ];
        for (kind, count, says) in losses.into_iter().filter(|(_, count, _)| *count > 0) {
            self.recording.add_loss(SOURCE, kind, count, &format!("perf.data: {count} {says}"));
        }
    }
}
