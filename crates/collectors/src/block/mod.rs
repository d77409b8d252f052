//! Requests to block devices: how long each waited in queues, and how long the device took.
//!
//! All devices and all processes are observed, because other processes often keep a slow disk busy. The submitter is
//! the thread that queued the bio: completion runs in whichever thread the interrupt hits. Everything is added up per
//! device, operation and stage in the kernel; spans are requests that took at least a millisecond, and those that the
//! target submitted, up to some hundreds a second.
//!
//! Delays of a bio before it is queued (a cgroup's limit, a full journal) are not visible here but in the page fault or
//! system call around it.

mod parse;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::detail::{self, BlockRequest};
use fathom_evidence::kinds::{counter, loss, role, span};
use fathom_evidence::{Recording, Thread};

use crate::bpf::{Increment, Increments, Programs, Recipe, Ring, Table, counter_of};
use crate::procfs;
use crate::{Clock, Collector, Observer, Order, Refusal, Target, Tier};
use parse::{Completed, STAGES, Sum, device_and_operation, operation};

const NAME: &str = "block";
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/block.bpf.o"));

const PERIOD: Duration = Duration::from_millis(100);

/// Sums are written each so many looks: each second.
const LOOKS_PER_COUNT: u32 = 10;

/// Requests of other processes become spans from this length on: a fast disk needs less.
const SLOW_NS: i64 = 1_000_000;

pub(crate) static COLLECTOR: Block = Block;

/// The collector.
pub(crate) struct Block;

impl Collector for Block {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sees(&self) -> &'static str {
        "requests to block devices: time in queues and at the device, submitter; sums per device"
    }

    fn tier(&self) -> Tier {
        Tier::Bpf
    }

    fn check(&self, target: &Target) -> Result<(), Refusal> {
        attached(target).map(|_| ())
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        let programs = attached(target)?;
        let observer = Observed {
            ring: Ring::new(&programs.map("completed")?)?,
            sums: Table::new(programs.map("sums")?),
            programs,
            clock: order.clock,
            pid: target.pid,
            devices: HashMap::new(),
            counted: Increments::new(order.clock.now_ns()),
            looks: 0,
        };
        Ok(Box::new(observer))
    }
}

/// The programs at work.
fn attached(target: &Target) -> Result<Programs, Refusal> {
    let mut config = SLOW_NS.to_ne_bytes().to_vec();
    config.extend(target.pid.to_ne_bytes());
    config.extend([0; 4]);
    let mut programs = Programs::load(&Recipe { object: OBJECT, config, sizes: &[], without: &[], spare: &[] })?;
    programs.attach_tracepoints()?;
    Ok(programs)
}

struct Observed {
    programs: Programs,
    ring: Ring,
    sums: Table,
    clock: Clock,
    pid: u32,
    /// Names by number.
    devices: HashMap<u32, String>,
    /// By device and operation.
    counted: Increments<(u32, u32), Sum>,
    looks: u32,
}

impl Observer for Observed {
    fn period(&self) -> Duration {
        PERIOD
    }

    fn look(&mut self, found: &mut Recording) {
        self.take_completed(found);
        self.looks += 1;
        if self.looks.is_multiple_of(LOOKS_PER_COUNT) {
            self.count(found);
        }
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.take_completed(found);
        self.count(found);
        self.tell_losses(found);
        Vec::new()
    }
}

impl Observed {
    fn take_completed(&mut self, found: &mut Recording) {
        for event in self.ring.take() {
            if let Some(request) = Completed::parse(&event) {
                self.add(&request, found);
            }
        }
    }

    fn add(&mut self, request: &Completed, found: &mut Recording) {
        let began_ns = request.began_ns();
        let detail = detail::to_text(&described(request));
        let device = self.device(request.device);
        let (time_ns, duration_ns) = (self.clock.wall_ns(began_ns), request.completed_ns.saturating_sub(began_ns));
        found.add_span(time_ns, duration_ns, i64::from(request.tid), span::BLOCK_REQUEST, &device, &detail, NAME);
        if request.tgid != self.pid {
            // Not the target's: it must not pass for one of its threads.
            let thread = Thread { name: found.strings.intern(&request.name), role: found.strings.intern(role::KERNEL) };
            found.threads.insert(i64::from(request.tid), thread);
        }
    }

    /// As `/dev` names it.
    fn device(&mut self, number: u32) -> String {
        let name = || {
            let numbers = format!("{}:{}", number >> 20, number & 0xf_ffff);
            let link = procfs::link(format!("/sys/dev/block/{numbers}")).ok();
            let name = link.and_then(|link| Some(link.rsplit_once('/')?.1.to_owned()));
            name.unwrap_or(numbers)
        };
        self.devices.entry(number).or_insert_with(name).clone()
    }

    /// Writes the sums that changed.
    fn count(&mut self, found: &mut Recording) {
        self.counted.read(self.clock.now_ns());
        self.sums.read();
        let rows: Vec<((u32, u32), Sum)> =
            self.sums.rows().map(|(key, value)| (device_and_operation(key), Sum::parse(value))).collect();
        for (key, sum) in rows {
            if let Some(grown) = self.counted.see(key, sum) {
                let instance = format!("{} {}", self.device(key.0), operation(key.1));
                add_sum(&instance, &grown, found);
            }
        }
    }

    fn tell_losses(&self, found: &mut Recording) {
        let lost = [
            (
                loss::EVENTS_LOST,
                "block requests came faster than they could be taken over: they are counted but are no spans",
            ),
            (
                loss::LIMIT,
                "block requests beyond the number that is recorded each second: they are counted but are no spans",
            ),
            (loss::EVENTS_LOST, "block requests that could not be followed"),
        ];
        self.programs.tell_losses(found, NAME, lost);
    }
}

fn described(request: &Completed) -> BlockRequest {
    let between = |from: i64, to: i64| (from != 0 && to != 0).then_some(to.saturating_sub(from));
    let no_queue = request.inserted_ns == 0;
    BlockRequest {
        operation: Some(request.operation()),
        bytes: Some(u64::from(request.bytes)),
        sector: Some(request.sector),
        q2g_ns: between(request.queued_ns, request.got_request_ns),
        g2i_ns: between(request.got_request_ns, request.inserted_ns),
        i2d_ns: between(request.inserted_ns, request.issued_ns),
        g2d_ns: between(request.got_request_ns, request.issued_ns).filter(|_| no_queue),
        d2c_ns: between(request.issued_ns, request.completed_ns),
        reissue_ns: between(request.issued_ns, request.last_issued_ns).filter(|_| request.dispatches > 1),
        dispatches: Some(request.dispatches),
        error: Some(i64::from(request.error)),
    }
}

fn add_sum(instance: &str, grown: &Increment<Sum>, found: &mut Recording) {
    let row = counter_of(found, counter::BLOCK_REQUESTS_COUNT, instance, 0, NAME);
    grown.write(found, &row, |sum| sum.count);
    let row = counter_of(found, counter::BLOCK_REQUESTS_BYTES, instance, 0, NAME);
    grown.write(found, &row, |sum| sum.bytes);
    for (index, stage) in STAGES.iter().enumerate() {
        let row = counter_of(found, counter::BLOCK_STAGE_NS, &format!("{instance} {stage}"), 0, NAME);
        grown.write(found, &row, |sum| sum.stages_ns[index]);
    }
}

#[cfg(test)]
mod tests;
