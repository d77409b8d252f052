//! Samples and tracepoints of perf to evidence.

use std::path::{Path, PathBuf};

use fathom_evidence::kinds::{event, loss, subject};
use fathom_evidence::tables::Sample;
use fathom_evidence::{FrameId, Recording, StackId, Table};
use linux_perf_event_reader::constants::PERF_CONTEXT_MAX;
use linux_perf_event_reader::{EventRecord, RawDataU64, RecordType, SampleRecord};
use rustc_hash::FxHashMap;

use crate::cycles::Cycles;
use crate::input::Input;
use crate::perf_data::attributes::Meaning;
use crate::perf_data::container::{About, Container};
use crate::perf_data::names::{KERNEL_FROM, Names};
use crate::perf_data::records::{self, Record};
use crate::perf_data::scan::{self, Scan};
use crate::perf_data::switches::Switches;
use crate::perf_data::system_calls::SystemCalls;
use crate::{LoadError, LoadOptions};

/// The `source` column of everything that comes from perf.data.
pub(super) const SOURCE: &str = "perf_data";

/// Frames that are kept of a stack; perf takes 127 by default.
const FRAMES_MAX: usize = 2_048;

/// Chains that are remembered.
const CHAINS_MAX: usize = 1 << 17;

const RECORD_WITH: &str =
    "perf record -k CLOCK_MONOTONIC -g -F 99 -p PID -- sleep 30; jcmd PID Compiler.perfmap; cp /tmp/perf-PID.map .";

pub(super) fn load(files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
    let mut recording = Recording::default();
    for file in files {
        recording.absorb(load_file(file, options)?);
    }
    Ok(recording)
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

struct Loader {
    recording: Recording,
    pid: i32,
    to_wall_ns: i64,
    names: Names,
    /// Whether times are of the clock that a jitdump has.
    is_monotonic: bool,
    cycles: Cycles,
    switches: Switches,
    system_calls: SystemCalls,
    /// Architecture of the machine.
    architecture: String,
    /// Stacks of chains that were there before; those whose kernel part is wanted apart are the second ones.
    chains: [FxHashMap<Vec<u64>, [StackId; 2]>; 2],
    /// The chain of a sample, in memory that is used again.
    chain: Vec<u64>,
    /// Samples, until they are in the order of their times.
    samples: Vec<Sample>,
    other_events: i64,
    /// Samples that were not understood.
    unread: i64,
}

impl Loader {
    fn new(pid: i32, to_wall_ns: i64, names: Names) -> Loader {
        let recording = Recording::default();
        Loader {
            recording,
            pid,
            to_wall_ns,
            names,
            is_monotonic: false,
            cycles: Cycles::default(),
            switches: Switches::default(),
            system_calls: SystemCalls::default(),
            architecture: String::new(),
            chains: Default::default(),
            chain: Vec::new(),
            samples: Vec::new(),
            other_events: 0,
            unread: 0,
        }
    }

    fn threads(&mut self, scan: &Scan) {
        self.is_monotonic = scan.is_monotonic();
        self.architecture = scan.about.architecture.clone().unwrap_or_default();
        self.recording.add_fact(subject::JVM, "pid", &self.pid.to_string(), SOURCE);
        if let Some(release) = &scan.about.os_release {
            self.recording.add_fact(subject::HOST, "kernel", release, SOURCE);
        }
        for (tid, (_, name)) in scan.threads.iter().filter(|(_, (pid, _))| *pid == self.pid) {
            self.recording.add_thread(i64::from(*tid), &String::from_utf8_lossy(name));
        }
    }

    fn record(&mut self, about: &About, record: &Record<'_>) {
        if record.kind != RecordType::SAMPLE.0 {
            return;
        }
        let Some((EventRecord::Sample(sample), Some(attribute))) = scan::parse(about, record) else {
            self.unread += 1;
            return;
        };
        let Some(time_ns) = sample.timestamp.and_then(|ns| i64::try_from(ns).ok()?.checked_add(self.to_wall_ns)) else {
            self.unread += 1;
            return;
        };
        if let Meaning::Tracepoint(id) = attribute.meaning {
            return self.tracepoint(about, id, time_ns, &sample);
        }
        if sample.pid != Some(self.pid) {
            return;
        }
        let (event, weight_ns) = match attribute.meaning {
            Meaning::Clock => {
                (event::CPU, sample.period.or(attribute.period).and_then(|ns| i64::try_from(ns).ok()).unwrap_or(0))
            }
            Meaning::Cycles => (event::CPU, 0),
            Meaning::PageFault => (event::PAGE_FAULT, 0),
            Meaning::Tracepoint(_) | Meaning::Other => {
                self.other_events += 1;
                return;
            }
        };
        let tid = i64::from(sample.tid.unwrap_or(self.pid));
        let event = self.recording.strings.intern(event);
        let [stack_id, _] = self.stacks(&sample, false);
        let cpu = sample.cpu.and_then(|cpu| i32::try_from(cpu).ok()).unwrap_or(-1);
        self.samples.push(Sample { time_ns, tid, cpu, event, weight_ns, stack_id, ..Sample::default() });
    }

    fn tracepoint(&mut self, about: &About, id: u64, time_ns: i64, sample: &SampleRecord<'_>) {
        let (Some(format), Some(raw)) = (about.formats.get(&id), sample.raw) else {
            self.other_events += 1;
            return;
        };
        let is_ours = sample.pid == Some(self.pid);
        let raw = raw.as_slice();
        let stacks = if is_ours { self.stacks(sample, true) } else { [StackId::default(); 2] };
        let at = (time_ns, i64::from(sample.tid.unwrap_or(self.pid)));
        if is_ours && self.system_calls.see(&mut self.recording, format, &raw, at, stacks) {
            return;
        }
        self.other_events += i64::from(!self.switches.see(format, &raw, time_ns, is_ours, stacks) && is_ours);
    }

    /// The stack of the code, and that of the kernel if it is wanted apart. Most samples have a chain that was there before.
    fn stacks(&mut self, sample: &SampleRecord<'_>, is_apart: bool) -> [StackId; 2] {
        let alone = sample.ip.filter(|_| sample.callchain.is_none());
        self.chain.clear();
        self.chain.extend(addresses(sample.callchain).chain(alone).take(FRAMES_MAX));
        if let Some(known) = self.chains[usize::from(is_apart)].get(&self.chain) {
            return *known;
        }
        let chain = self.chain.clone();
        let time_ns = sample.timestamp.filter(|_| self.is_monotonic);
        let stacks = self.stacks_of(&chain, time_ns, is_apart);
        let chains = &mut self.chains[usize::from(is_apart)];
        if self.names.are_fixed() && chains.len() < CHAINS_MAX {
            chains.insert(chain, stacks);
        }
        stacks
    }

    fn stacks_of(&mut self, chain: &[u64], time_ns: Option<u64>, is_apart: bool) -> [StackId; 2] {
        let mut frames = [Vec::new(), Vec::new()];
        for address in chain {
            let frame = self.names.frame(*address, time_ns, &mut self.recording);
            frames[usize::from(is_apart && *address >= KERNEL_FROM)].push(frame);
        }
        let mut stack = |frames: Vec<FrameId>| self.recording.stacks.intern_from_root(frames.into_iter().rev());
        let [user, kernel] = frames;
        [stack(user), stack(kernel)]
    }

    fn finish(mut self, others: usize, lost: u64) -> Recording {
        self.samples.sort_by_key(|sample| sample.time_ns);
        let cpu = self.recording.strings.find(event::CPU);
        for sample in std::mem::take(&mut self.samples) {
            if Some(sample.event) == cpu && sample.weight_ns == 0 {
                self.cycles.see(sample.tid, sample.time_ns);
            }
            self.recording.samples.push(sample);
        }
        std::mem::take(&mut self.cycles).weigh(&mut self.recording, SOURCE);
        std::mem::take(&mut self.switches).into_spans(&mut self.recording, SOURCE);
        let calls = std::mem::take(&mut self.system_calls);
        calls.into_calls(&mut self.recording, SOURCE, &self.architecture);
        self.losses(others, lost);
        self.recording
    }

    fn losses(&mut self, others: usize, lost: u64) {
        let [of_kernel, of_files, of_jit] = self.names.missing.map(|count| count as i64);
        let (pid, others, lost) = (self.pid, others as i64, i64::try_from(lost).unwrap_or(i64::MAX));
        let losses = [
            (loss::REFUSED, others, format!("samples of other processes than {pid} were left out")),
            (loss::EVENTS_LOST, lost, "records were lost by the kernel".to_owned()),
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

/// The addresses of a chain without the marks between its parts.
fn addresses(chain: Option<RawDataU64<'_>>) -> impl Iterator<Item = u64> {
    let length = chain.as_ref().map_or(0, RawDataU64::len);
    (0..length).filter_map(move |index| chain.as_ref()?.get(index)).filter(|address| *address < PERF_CONTEXT_MAX)
}
