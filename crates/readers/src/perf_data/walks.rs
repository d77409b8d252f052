//! Stacks of the program that perf copied (`--call-graph dwarf`), walked with the tables of the files that were mapped.

use std::collections::BTreeMap;

use fathom_evidence::Recording;
use fathom_evidence::kinds::loss;
use fathom_symbols::elf::Machine;
use fathom_symbols::unwind::{Registers, WalkEnd};
use linux_perf_event_reader::Endianness;
use linux_perf_event_reader::constants::PERF_CONTEXT_MAX;

use crate::perf_data::attributes::Attribute;
use crate::perf_data::names::{KERNEL_FROM, Names};
use crate::perf_data::sample::{Sample, addresses};

/// Walks stacks, and counts how walks ended.
#[derive(Debug, Default)]
pub(super) struct Walks {
    machine: Option<Machine>,
    /// Copies of another architecture.
    unread: i64,
    walked: i64,
    /// Those in which frame pointers were followed.
    guessed: i64,
    ends: BTreeMap<WalkEnd, i64>,
}

impl Walks {
    /// On an architecture, as `uname` has it.
    pub(super) fn of(architecture: Option<&str>) -> Walks {
        let machine = match architecture {
            Some("x86_64") => Some(Machine::X86_64),
            Some("aarch64") => Some(Machine::Aarch64),
            _ => None,
        };
        Walks { machine, ..Walks::default() }
    }

    /// The addresses of a sample that has a copy of the stack: those of the kernel by its chain, the program's by a walk.
    pub(super) fn walk(&mut self, names: &mut Names, sample: &Sample<'_>, of: &Attribute) -> Option<Vec<u64>> {
        let endian = of.parse_info.endian;
        let user = sample.user?;
        let Some(machine) = self.machine.filter(|_| endian == Endianness::LittleEndian) else {
            self.unread += 1;
            return None;
        };
        let registers = Registers::from_perf(machine, of.parse_info.sample_regs_user, &user.registers(endian));
        let mut frames = Vec::new();
        let walk = names.walk(&registers, user.stack, &mut frames);
        self.walked += 1;
        self.guessed += i64::from(walk.guessed_from.is_some());
        *self.ends.entry(walk.end).or_default() += 1;
        let of_kernel = addresses(sample.chain(), endian);
        let of_kernel = of_kernel.filter(|address| (KERNEL_FROM..PERF_CONTEXT_MAX).contains(address));
        Some(of_kernel.chain(frames).collect())
    }

    pub(super) fn tell(&self, recording: &mut Recording, source: &str) {
        let Walks { unread, walked, guessed, .. } = self;
        let mut add = |count: i64, says: String| recording.add_loss(source, loss::STACKS_CUT, count, &says);
        if *unread > 0 {
            add(
                *unread,
                format!("perf.data: {unread} copies of stacks are of an architecture on which none is walked"),
            );
        }
        if *guessed > 0 {
            let says = "may lack callers: code without unwind tables was passed by its frame pointers, which Java keeps with -XX:+PreserveFramePointer";
            add(*guessed, format!("perf.data: {guessed} of {walked} user stacks {says}"));
        }
        for (end, count) in self.ends.iter().filter(|(end, _)| **end != WalkEnd::Complete) {
            add(*count, format!("perf.data: {count} of {walked} user stacks are cut: {}{}", end.says(), remedy(*end)));
        }
    }
}

fn remedy(end: WalkEnd) -> &'static str {
    match end {
        WalkEnd::EndOfCopy => "; record with more: --call-graph dwarf,32768",
        WalkEnd::NotLoaded => {
            ", as it is not here, another one, or not to be read: copy it beside perf.data; as root give the folder or --no-sandbox"
        }
        WalkEnd::JitCode => "; run the JVM with -XX:+PreserveFramePointer",
        _ => "",
    }
}
