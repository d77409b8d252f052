//! The rows of page faults, from both ways to observe them.

use fathom_evidence::Recording;
use fathom_evidence::detail::{self, PageFault};
use fathom_evidence::kinds::{counter, span};
use fathom_evidence::tables::Span;

use super::parse::ThreadFaults;
use super::{BUCKETS, NAME};
use crate::bpf::{Increment, Increments, Part, counter_of};
use crate::symbols::{BoundCall, Symbols, UserStack};
use crate::{Clock, Order, Target};

/// A fault that took long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    /// On the monotonic clock.
    pub(super) began_ns: i64,
    pub(super) duration_ns: i64,
    pub(super) address: u64,
    /// Of the program.
    pub(super) instruction: Option<u64>,
    /// The kernel touched the address for the thread, in a system call.
    pub(super) in_kernel: bool,
    pub(super) major: bool,
    /// Time of it that the thread was off the CPU, where that is known.
    pub(super) off_cpu_ns: Option<i64>,
}

/// The rows of a recording.
pub(super) struct Rows {
    pub(super) symbols: Symbols,
    clock: Clock,
    /// By thread.
    counted: Increments<u32, ThreadFaults>,
    /// By power of two.
    buckets: Increments<u32, u64>,
}

impl Rows {
    pub(super) fn new(target: &Target, order: &Order) -> Rows {
        Rows {
            symbols: Symbols::of(target, &order.images),
            clock: order.clock,
            counted: Increments::new(order.clock.now_ns()),
            buckets: Increments::new(order.clock.now_ns()),
        }
    }

    /// Writes a slow fault of a thread, with its stacks as far as they are known.
    pub(super) fn add(
        &mut self,
        found: &mut Recording,
        tid: u32,
        fault: &Fault,
        user: Option<&UserStack<'_>>,
        kernel: &[u64],
    ) {
        let (stack_id, bound) = match user {
            Some(user) => (self.symbols.user_stack(found, user), self.symbols.call_being_bound()),
            // Only the innermost function is known.
            None => (self.symbols.user_frames(found, fault.instruction.as_slice()), None),
        };
        let row = Span {
            time_ns: self.clock.wall_ns(fault.began_ns),
            duration_ns: fault.duration_ns,
            tid: i64::from(tid),
            kind: found.strings.intern(span::PAGE_FAULT),
            stack_id,
            kernel_stack_id: self.symbols.kernel_stack(found, kernel),
            source: found.strings.intern(NAME),
            ..self.described(found, fault, bound)
        };
        found.spans.push(row);
    }

    /// A row with the name and the detail of a fault.
    fn described(&mut self, found: &mut Recording, fault: &Fault, bound: Option<BoundCall>) -> Span {
        let place = self.symbols.place(fault.address);
        let detail = PageFault {
            address: Some(fault.address),
            instruction: fault.instruction,
            instruction_path: fault.instruction.and_then(|instruction| self.symbols.place(instruction).path),
            // Memory without a file is identified by its kind.
            path: Some(place.path.unwrap_or_else(|| place.name.clone())),
            section: place.section,
            file_offset: place.file_offset,
            major: Some(fault.major),
            in_kernel: fault.in_kernel.then_some(true),
            off_cpu_ns: fault.off_cpu_ns,
            being_bound: bound.as_ref().map(|call| call.function.clone()),
            call_site: bound.as_ref().map(|call| call.call_site.clone()),
            call_instruction: bound.map(|call| call.instruction),
        };
        let (name, detail) = (found.strings.intern(&place.name), found.strings.intern(&detail::to_text(&detail)));
        Span { name, detail, ..Span::default() }
    }

    /// A reading of the counts begins.
    pub(super) fn read(&mut self) {
        let now_ns = self.clock.now_ns();
        self.counted.read(now_ns);
        self.buckets.read(now_ns);
    }

    /// Writes what grew of a thread's counts.
    pub(super) fn count(&mut self, found: &mut Recording, tid: u32, faults: ThreadFaults) {
        if let Some(grown) = self.counted.see(tid, faults) {
            add_thread(tid, &grown, found);
        }
    }

    /// Writes how many faults have been so long, by powers of two, where that grew.
    pub(super) fn count_by_latency(&mut self, found: &mut Recording, faults_in: impl Fn(u32) -> u64) {
        for bucket in 0..BUCKETS {
            if let Some(grown) = self.buckets.see(bucket, faults_in(bucket)) {
                let at_least_ns = (1_u64 << bucket).to_string();
                let row = counter_of(found, counter::PAGE_FAULTS_BY_LATENCY_COUNT, &at_least_ns, 0, NAME);
                grown.write(found, &row, |faults| *faults);
            }
        }
    }

    /// Keeps what is known of these threads only: the others have ended.
    pub(super) fn retain(&mut self, is_alive: impl Fn(&u32) -> bool) {
        self.counted.retain(is_alive);
    }
}

fn add_thread(tid: u32, grown: &Increment<ThreadFaults>, found: &mut Recording) {
    let numbers: [(&str, &str, Part<ThreadFaults>); 6] = [
        (counter::PAGE_FAULTS_COUNT, "minor", |faults| faults.minor),
        (counter::PAGE_FAULTS_COUNT, "major", |faults| faults.major),
        (counter::PAGE_FAULTS_COUNT, "unserved", |faults| faults.unserved),
        (counter::PAGE_FAULTS_COUNT, "repeated", |faults| faults.repeated),
        (counter::PAGE_FAULTS_NS, "", |faults| faults.time_ns),
        (counter::PAGE_FAULTS_NS, "in vain", |faults| faults.in_vain_ns),
    ];
    for (name, instance, number) in numbers {
        let row = counter_of(found, name, instance, tid, NAME);
        grown.write(found, &row, number);
    }
}
