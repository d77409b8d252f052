//! Dumps to samples, waits, counters and facts.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fathom_evidence::detail::{Wait as Detail, to_text};
use fathom_evidence::kinds::{counter, event, frame, loss, span, subject};
use fathom_evidence::tables::{Counter, Sample, Span};
use fathom_evidence::{Frame, Recording, StackId};

use crate::lines::{self, Line};
use crate::thread_dump::dump::{Dump, How, Place, Thread};
use crate::thread_dump::gather::Gather;
use crate::thread_dump::gather_file::GatherFile;
use crate::thread_dump::gather_json;
use crate::thread_dump::parse::Form;
use crate::thread_dump::place::{Placed, place};
use crate::thread_dump::waits::{Wait, Waits, stands_for};
use crate::{Input, LoadError, LoadOptions, SNIFF_BYTES, input};

/// The `source` column of everything that comes from a dump.
pub(super) const SOURCE: &str = "thread_dump";

/// A dump as JSON is read at once, so a larger one is refused, in bytes.
const JSON_MAX_BYTES: usize = 512 << 20;

/// Threads that only Java numbers get numbers that no operating system gives.
const WITHOUT_OS_ID: i64 = 1 << 40;

/// With fewer looks than this nothing is known of how long anything took.
const FEW_LOOKS: usize = 3;

/// What is said of a zone that was assumed.
const ZONE_SAYS: &str = "the dumps have local time without a zone, which was taken as UTC; a recording or log of the same JVM beside them tells \
     the zone, as does --started-at";

/// Puts the dumps of one JVM together, as far as their beginnings tell.
pub(super) fn group(files: Vec<PathBuf>) -> Vec<Vec<PathBuf>> {
    let mut groups: Vec<(Identity, Vec<PathBuf>)> = Vec::new();
    for file in files {
        let identity = of_head(&file).map_or_else(Identity::default, |dump| Identity::of(&dump));
        match groups.iter_mut().find(|(known, _)| known.is_same(&identity)) {
            Some((known, group)) => {
                known.learn(identity);
                group.push(file);
            }
            None => groups.push((identity, vec![file])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The first dump of a file, as far as its beginning has it.
fn of_head(file: &Path) -> Option<Dump> {
    let head = input::head(file, SNIFF_BYTES).ok()?;
    match Form::of(&head)? {
        Form::Printed => {
            let mut gather = Gather::default();
            let first = lines::of_head(&head).find_map(|line| gather.line(line));
            first.or_else(|| gather.end())
        }
        Form::File => {
            let mut gather = GatherFile::default();
            lines::of_head(&head).for_each(|line| gather.line(line));
            gather.end()
        }
        Form::Json => gather_json::dump_of_head(&head),
    }
}

/// What tells a JVM from another one.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Identity {
    pid: Option<i64>,
    /// Number and address of a thread that every JVM has from its start to its end.
    thread: Option<(i64, u64)>,
}

impl Identity {
    fn of(dump: &Dump) -> Identity {
        const LASTING: &str = "Reference Handler";
        let lasting = dump.threads.iter().find(|thread| thread.name == LASTING);
        Identity { pid: dump.pid, thread: lasting.and_then(|thread| Some((thread.os_id?, thread.address?))) }
    }

    /// Something says that it is the same, and nothing that it is not.
    fn is_same(&self, other: &Identity) -> bool {
        let pids = self.pid.zip(other.pid).map(|(own, others)| own == others);
        let threads = self.thread.zip(other.thread).map(|(own, others)| own == others);
        [pids, threads].contains(&Some(true)) && ![pids, threads].contains(&Some(false))
    }

    fn learn(&mut self, other: Identity) {
        self.pid = self.pid.or(other.pid);
        self.thread = self.thread.or(other.thread);
    }
}

pub(super) fn load(files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
    let mut recording = Recording::default();
    let mut dumps = Vec::new();
    for file in files {
        let read = read(file, &mut recording)?;
        dumps.extend(read);
    }
    let left_out = keep_one_jvm(&mut dumps);
    let Placed { times_ns, is_estimated } = place(&dumps, options.started_at_ns);
    let mut placed: Vec<(i64, Dump)> =
        times_ns.into_iter().zip(dumps).filter_map(|(time, dump)| Some((time?, dump))).collect();
    placed.sort_by_key(|(time_ns, _)| *time_ns);
    if placed.is_empty() {
        let says =
            "no dump in it has a time: take dumps with jstack or jcmd PID Thread.print, which write one".to_owned();
        return Err(LoadError::Unusable { path: files.first().cloned().unwrap_or_default(), says });
    }
    add_losses(&mut recording, &placed, left_out, is_estimated);
    Loader::new(recording, &placed).load(&placed, options)
}

/// All dumps of a file.
fn read(file: &Path, recording: &mut Recording) -> Result<Vec<Dump>, LoadError> {
    let unusable = |says: String| LoadError::Unusable { path: file.to_owned(), says };
    let mut dumps = Vec::new();
    let form = Form::of(&input::head(file, SNIFF_BYTES)?).unwrap_or(Form::Printed);
    let cut = match form {
        Form::Printed => {
            let mut gather = Gather::default();
            let cut = lines::read(file, &mut |line| dumps.extend(whole(line).and_then(|line| gather.line(line))))?;
            dumps.extend(gather.end());
            cut
        }
        Form::File => {
            let mut gather = GatherFile::default();
            let cut = lines::read(file, &mut |line| whole(line).into_iter().for_each(|line| gather.line(line)))?;
            dumps.extend(gather.end());
            cut
        }
        Form::Json => {
            let input = Input::open(file)?;
            let text = &input[..input.len().min(JSON_MAX_BYTES)];
            dumps.push(gather_json::dump(text).map_err(|error| unusable(format!("a thread dump as JSON: {error}")))?);
            input.cut().map(str::to_owned)
        }
    };
    let unended =
        dumps.iter().any(|dump| !dump.is_whole).then(|| "a dump without an end: threads are missing".to_owned());
    if let Some(says) = cut.or(unended) {
        recording.add_loss(SOURCE, loss::TRUNCATED, 0, &format!("{}: {says}", file.display()));
    }
    Ok(dumps)
}

fn whole(line: Line<'_>) -> Option<&[u8]> {
    match line {
        Line::Whole(text) => Some(text),
        Line::Overlong(_) => None,
    }
}

/// Leaves the JVM of which there are most dumps: a log goes on when the JVM is started again. How many dumps went.
fn keep_one_jvm(dumps: &mut Vec<Dump>) -> usize {
    let mut jvms: Vec<(Identity, usize)> = Vec::new();
    let mut of = Vec::new();
    for dump in dumps.iter() {
        let identity = Identity::of(dump);
        let known = jvms.iter().position(|(known, _)| known.is_same(&identity) || *known == identity);
        let index = known.unwrap_or_else(|| {
            jvms.push((identity.clone(), 0));
            jvms.len() - 1
        });
        jvms[index].0.learn(identity);
        jvms[index].1 += 1;
        of.push(index);
    }
    let most = (0..jvms.len()).rev().max_by_key(|index| jvms[*index].1);
    let before = dumps.len();
    let mut of = of.into_iter();
    dumps.retain(|_| of.next() == most);
    before - dumps.len()
}

fn add_losses(recording: &mut Recording, placed: &[(i64, Dump)], left_out: usize, is_estimated: bool) {
    if is_estimated {
        recording.add_loss(SOURCE, loss::CLOCK_ESTIMATED, 0, ZONE_SAYS);
    }
    if left_out > 0 {
        let says = format!("{left_out} dumps are of other JVMs in the same file and were left out");
        recording.add_loss(SOURCE, loss::REFUSED, left_out as i64, &says);
    }
    if placed.len() < FEW_LOOKS {
        let says = format!(
            "thread dumps: only {} of the JVM, which does not tell for how long threads wait; take three, some seconds apart: \
             for i in 1 2 3; do jcmd PID Thread.print -l >> dumps.txt; sleep 5; done",
            placed.len()
        );
        recording.add_loss(SOURCE, loss::FEW_LOOKS, placed.len() as i64, &says);
    }
}

struct Loader {
    recording: Recording,
    /// What Java numbers the threads that the operating system numbers.
    os_ids: HashMap<i64, i64>,
    waits: Waits<StackId>,
}

impl Loader {
    fn new(recording: Recording, placed: &[(i64, Dump)]) -> Loader {
        let threads = placed.iter().flat_map(|(_, dump)| &dump.threads);
        let os_ids = threads.filter_map(|thread| Some((thread.java_id?, thread.os_id?))).collect();
        Loader { recording, os_ids, waits: Waits::new() }
    }

    fn load(mut self, placed: &[(i64, Dump)], options: &LoadOptions) -> Result<Recording, LoadError> {
        let times_ns: Vec<i64> = placed.iter().map(|(time_ns, _)| *time_ns).collect();
        let stands_for = stands_for(&times_ns);
        for (index, (time_ns, dump)) in placed.iter().enumerate() {
            self.dump(*time_ns, (index, stands_for[index]), dump);
        }
        let left: Vec<Wait<StackId>> = std::mem::replace(&mut self.waits, Waits::new()).end().collect();
        left.into_iter().for_each(|wait| self.wait(wait));
        self.facts(placed, options);
        Ok(self.recording)
    }

    fn dump(&mut self, time_ns: i64, look: (usize, (i64, i64)), dump: &Dump) {
        let java = dump.threads.iter().filter(|thread| !thread.state.is_empty()).count();
        self.recording.add_counter(time_ns, counter::THREADS_COUNT, "", java as f64, SOURCE);
        for thread in &dump.threads {
            let Some(tid) = self.tid(thread) else { continue };
            self.recording.add_thread(tid, &thread.name);
            self.cpu(time_ns, tid, thread);
            let stack = self.stack(&thread.frames);
            if stack != StackId(0) {
                self.sample(time_ns, look.1, (tid, thread), stack);
                let owner = thread.owner.clone().or_else(|| owner(dump, thread));
                let ended = self.waits.see(look, (tid, thread), (owner, stack));
                ended.into_iter().for_each(|wait| self.wait(wait));
            }
        }
    }

    fn tid(&self, thread: &Thread) -> Option<i64> {
        if thread.is_virtual {
            return Some(-thread.java_id?);
        }
        let known = || self.os_ids.get(&thread.java_id?).copied();
        thread.os_id.or_else(known).or_else(|| WITHOUT_OS_ID.checked_add(thread.java_id?))
    }

    fn cpu(&mut self, time_ns: i64, tid: i64, thread: &Thread) {
        let Some(cpu_ns) = thread.cpu_ns else { return };
        let strings = &mut self.recording.strings;
        let (name, source) = (strings.intern(counter::THREAD_CPU_NS), strings.intern(SOURCE));
        self.recording.counters.push(Counter {
            time_ns,
            name,
            tid,
            value: cpu_ns as f64,
            source,
            ..Counter::default()
        });
    }

    fn stack(&mut self, frames: &[Place]) -> StackId {
        let recording = &mut self.recording;
        let intern = |place: &Place| {
            let kind = if place.is_native { frame::NATIVE } else { "" };
            let strings = &mut recording.strings;
            let [symbol, module, kind] = [&place.symbol, &place.module, kind].map(|text| strings.intern(text));
            recording.stacks.intern_frame(Frame { symbol, module, kind, line: place.line })
        };
        let ids: Vec<_> = frames.iter().rev().map(intern).collect();
        recording.stacks.intern_from_root(ids)
    }

    fn sample(&mut self, time_ns: i64, (from_ns, to_ns): (i64, i64), (tid, thread): (i64, &Thread), stack_id: StackId) {
        let strings = &mut self.recording.strings;
        let (event, state) = (strings.intern(event::DUMP), strings.intern(&thread.state));
        let weight_ns = to_ns.saturating_sub(from_ns);
        self.recording.samples.push(Sample {
            time_ns,
            tid,
            cpu: -1,
            event,
            weight_ns,
            state,
            stack_id,
            ..Sample::default()
        });
    }

    fn wait(&mut self, wait: Wait<StackId>) {
        let detail = Detail {
            previous_owner: wait.owner,
            address: wait.waited.address,
            how: Some(word(wait.waited.how).to_owned()),
            looks: Some(wait.looks),
            deadlock: wait.is_deadlocked.then_some(true),
            ..Detail::default()
        };
        let strings = &mut self.recording.strings;
        let row = Span {
            time_ns: wait.from_ns,
            duration_ns: wait.to_ns.saturating_sub(wait.from_ns),
            tid: wait.tid,
            kind: strings.intern(span::SAMPLED_WAIT),
            name: strings.intern(&wait.waited.class),
            detail: strings.intern(&to_text(&detail)),
            stack_id: wait.stack,
            source: strings.intern(SOURCE),
            ..Span::default()
        };
        self.recording.spans.push(row);
    }

    fn facts(&mut self, placed: &[(i64, Dump)], options: &LoadOptions) {
        let mut add = |key: &str, value: &str| self.recording.add_fact(subject::JVM, key, value, SOURCE);
        if let Some(pid) = placed.iter().find_map(|(_, dump)| dump.pid) {
            add("pid", &pid.to_string());
        }
        if let Some(started_at_ns) = options.started_at_ns {
            add("started_at_ns", &started_at_ns.to_string());
        }
        let version = placed.iter().map(|(_, dump)| dump.version.as_str()).find(|version| !version.is_empty());
        if let Some((name, version)) = version.map(|version| version.rsplit_once(" (").unwrap_or(("", version))) {
            add("version", version.split(' ').next().unwrap_or_default());
            if !name.is_empty() {
                add("name", name);
            }
        }
    }
}

fn owner(dump: &Dump, thread: &Thread) -> Option<String> {
    let waited = thread.waits_for.as_ref().filter(|waited| matches!(waited.how, How::Enter | How::Park))?;
    let owner = dump.owner_of(waited.address?)?;
    (owner != thread.name).then(|| owner.to_owned())
}

fn word(how: How) -> &'static str {
    match how {
        How::Enter => span::MONITOR_ENTER,
        How::Signal => span::MONITOR_WAIT,
        How::Park => span::PARK,
        How::Sleep => span::SLEEP,
    }
}
