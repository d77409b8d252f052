//! Bios to requests of disks.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fathom_evidence::Recording;
use fathom_evidence::detail::{BlockRequest, to_text};
use fathom_evidence::kinds::{counter, loss, span};

use crate::blktrace::bios::{Bios, Done, Takes, Whose};
use crate::blktrace::parse::{Event, Read};
use crate::blktrace::{Trace, parse_text};
use crate::rates::{Rates, Which};
use crate::{LoadError, LoadOptions};

/// The `source` column of everything that comes from a trace.
pub(super) const SOURCE: &str = "blktrace";

/// More requests than this are spans only if they are [long](LONG_NS): 100 MB.
const SPANS_MAX: u64 = 1 << 18;

/// Requests of others become spans from here on in a recording as well, in ns.
const LONG_NS: u64 = 1_000_000;

/// Sums have a row for each of this, in ns.
const STEP_NS: i64 = 1_000_000_000;

const NOT_PLACED: &str = "a trace of disks that does not say when it was made; give blktrace's own files (NAME.blktrace.0, ...) and not the text of blkparse, or place it: --clock-offset FILE=+SECONDSs (date +%s as the trace began)";

pub(super) fn load(files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
    let trace = Trace::open(files)?;
    let first = First::of(&trace);
    let unusable = |says: &str| {
        let path = files.first().cloned().unwrap_or_default();
        LoadError::Unusable { path, says: says.to_owned() }
    };
    if first.read.events == 0 {
        return Err(unusable("a trace of disks without a whole event"));
    }
    // The caller adds what it knows.
    let is_given = files.iter().any(|file| options.clock_offset_ns(file).is_some());
    let start_ns = first.start_ns.or(is_given.then_some(0)).ok_or_else(|| unusable(NOT_PLACED))?;
    let at_least_ns = if first.completed > SPANS_MAX { LONG_NS } else { 0 };
    let mut requests = Requests { start_ns, at_least_ns, ..Requests::default() };
    let mut bios = Bios::default();
    trace.each(&mut |event: Event<'_>| bios.see(&event, &mut requests));
    let mut recording = requests.finish();
    tell(&mut recording, &trace, &first.read, &bios);
    Ok(recording)
}

/// What a first look at a trace finds.
struct First {
    read: Read,
    completed: u64,
    /// What has to be added to its times, if it says so.
    start_ns: Option<i64>,
}

impl First {
    fn of(trace: &Trace) -> First {
        let (mut start_ns, mut completed) = (None, 0);
        let read = trace.each(&mut |event| {
            start_ns = start_ns.or(event.wall_ns.map(|wall_ns| wall_ns.saturating_sub_unsigned(event.time_ns)));
            completed += u64::from(event.is_completion());
        });
        First { read, completed, start_ns }
    }
}

/// What requests of a device and operation came to in a second.
#[derive(Debug, Default)]
struct Sums {
    count: f64,
    bytes: f64,
    stages_ns: BTreeMap<&'static str, f64>,
}

#[derive(Default)]
struct Requests {
    recording: Recording,
    rates: Rates,
    /// What has to be added to the trace's times.
    start_ns: i64,
    /// Shorter ones are no spans.
    at_least_ns: u64,
    left_out: i64,
    sums: BTreeMap<((u32, u32), &'static str), Sums>,
    /// The second that these are of.
    second: Option<i64>,
}

impl Takes for Requests {
    fn ended(&mut self, _: Whose, _: usize, _: u64) {}

    fn arrived(&mut self, _: Whose, _: u64) {}

    fn completed(&mut self, done: &Done) {
        let time_ns = self.start_ns.saturating_add_unsigned(done.queued_ns);
        let duration_ns = done.completed_ns.saturating_sub(done.queued_ns);
        self.add(done, time_ns.saturating_add_unsigned(duration_ns));
        if duration_ns < self.at_least_ns {
            self.left_out += 1;
            return;
        }
        let (device, detail) = (device(done.whose.device), to_text(&described(done)));
        let duration_ns = i64::try_from(duration_ns).unwrap_or(i64::MAX);
        let tid = i64::from(done.whose.pid);
        self.recording.add_span(time_ns, duration_ns, tid, span::BLOCK_REQUEST, &device, &detail, SOURCE);
    }
}

impl Requests {
    fn add(&mut self, done: &Done, end_ns: i64) {
        let second = end_ns.div_euclid(STEP_NS);
        if self.second.is_some_and(|before| before < second) {
            self.flush();
        }
        let known = *self.second.get_or_insert(second);
        self.second = Some(known.max(second));
        let sums = self.sums.entry((done.whose.device, done.operation)).or_default();
        sums.count += 1.0;
        sums.bytes += done.bytes as f64;
        let stages = stages(done).into_iter().filter_map(|(stage, ns)| Some((stage, ns?)));
        stages.for_each(|(stage, ns)| *sums.stages_ns.entry(stage).or_default() += ns as f64);
    }

    /// Writes the sums of the second.
    fn flush(&mut self) {
        let Some(second) = self.second else { return };
        let interval = (second.saturating_mul(STEP_NS), second.saturating_add(1).saturating_mul(STEP_NS));
        let Requests { recording, rates, .. } = self;
        for ((number, operation), sums) in &mut self.sums {
            let instance = format!("{} {operation}", device(*number));
            let mut add = |name: &str, instance: &str, amount: f64| {
                rates.add(recording, SOURCE, Which { name, instance, tid: 0 }, interval, amount);
            };
            add(counter::BLOCK_REQUESTS_COUNT, &instance, sums.count);
            add(counter::BLOCK_REQUESTS_BYTES, &instance, sums.bytes);
            for (stage, ns) in &sums.stages_ns {
                add(counter::BLOCK_STAGE_NS, &format!("{instance} {stage}"), *ns);
            }
            *sums = Sums::default();
        }
    }

    fn finish(mut self) -> Recording {
        self.flush();
        self.rates.finish(&mut self.recording, SOURCE);
        if self.left_out > 0 {
            let says =
                format!("{} requests shorter than 1 ms of a long trace are counted but are no spans", self.left_out);
            self.recording.add_loss(SOURCE, loss::LIMIT, self.left_out, &says);
        }
        self.recording
    }
}

/// As the trace has it: it does not know names.
fn device((major, minor): (u32, u32)) -> String {
    format!("{major}:{minor}")
}

fn between(from_ns: Option<u64>, to_ns: Option<u64>) -> Option<i64> {
    let (from_ns, to_ns) = from_ns.zip(to_ns)?;
    i64::try_from(to_ns.saturating_sub(from_ns)).ok()
}

fn stages(done: &Done) -> [(&'static str, Option<i64>); 5] {
    let direct_ns = between(done.got_ns, done.issued_ns).filter(|_| done.inserted_ns.is_none());
    [
        ("q2g", between(Some(done.queued_ns), done.got_ns)),
        ("g2i", between(done.got_ns, done.inserted_ns)),
        ("i2d", between(done.inserted_ns, done.issued_ns)),
        ("g2d", direct_ns),
        ("d2c", between(done.issued_ns, Some(done.completed_ns))),
    ]
}

fn described(done: &Done) -> BlockRequest {
    let [q2g_ns, g2i_ns, i2d_ns, g2d_ns, d2c_ns] = stages(done).map(|(_, ns)| ns);
    BlockRequest {
        operation: Some(done.operation.to_owned()),
        bytes: Some(done.bytes),
        sector: Some(done.sector),
        q2g_ns,
        g2i_ns,
        i2d_ns,
        g2d_ns,
        d2c_ns,
        ..BlockRequest::default()
    }
}

fn tell(recording: &mut Recording, trace: &Trace, read: &Read, bios: &Bios) {
    for (file, says) in trace.cut() {
        recording.add_loss(SOURCE, loss::TRUNCATED, 0, &format!("{}: {says}", file.display()));
    }
    for (kind, count, says) in [
        (loss::EVENTS_LOST, read.lost, "events of disks are missing: the buffers of blktrace were too small (-b, -n)"),
        (loss::DAMAGED, read.damaged_bytes, parse_text::DAMAGED),
        (
            loss::EVENTS_LOST,
            bios.not_issued,
            "requests to disks completed that were never issued: they began before the trace",
        ),
        (
            loss::EVENTS_LOST,
            bios.overlapping,
            "requests to disks began at the sector of one that was under way: which is which the trace does not tell",
        ),
    ] {
        if count > 0 {
            recording.add_loss(SOURCE, kind, i64::try_from(count).unwrap_or(i64::MAX), &format!("{count} {says}"));
        }
    }
}
