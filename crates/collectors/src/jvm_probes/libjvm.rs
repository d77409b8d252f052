//! The library whose probes are followed: the very file that the process has mapped, whatever its name means here.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use fathom_symbols::elf::{ElfError, Probe as Found, functions_at, parameter, probes_of};
use fathom_symbols::maps::{Mapping, Mappings};

use super::probes::{COLLECTORS, CountersAt, FUNCTIONS, PLACES, Place, REACHED, SIZES, Text, kind_of};
use crate::hsperfdata::collectors;
use crate::jvm_counters::Counters;
use crate::mapped::Mapped;
use crate::symbols::{Bytes, this_machine};
use crate::{Refusal, Target, hostile_files, procfs};

/// The most of a cause that is read.
const CAUSE_BYTES: u64 = 64;

/// A library that can be followed.
pub(super) struct Libjvm {
    file: File,
    pub(super) places: Vec<Place>,
    /// Where the JVM says why and for how long it collects.
    pub(super) counters: CountersAt,
    /// Names of the collectors whose counters these are.
    pub(super) collectors: Vec<String>,
    /// Its own probes are not there: functions stand in for some of them.
    pub(super) by_functions: bool,
}

impl Libjvm {
    /// Finds and reads it.
    pub(super) fn of(target: &Target) -> Result<Libjvm, Refusal> {
        let maps = procfs::read_long(target.proc("maps")).map_err(|error| {
            Refusal::new(format!("cannot read the process's mappings: {error}"), "run as the JVM's user, or as root")
        })?;
        let maps = Mappings::parse(&maps);
        let mapping = maps.iter().find(|mapping| mapping.has_file() && mapping.file_name() == "libjvm.so");
        let mapping = mapping
            .ok_or_else(|| Refusal::new(format!("process {} is no JVM: it has no libjvm.so mapped", target.pid), ""))?;
        let file =
            hostile_files::open_mapped(target, mapping).ok_or_else(|| unreadable(mapping, "it cannot be opened"))?;
        let bytes = Bytes(file);
        let (places, by_functions) = places(&bytes).map_err(|error| unreadable(mapping, &error.to_string()))?;
        if places.is_empty() {
            return Err(Refusal::new(
                format!("{} was built without probes and has no names of functions", mapping.path),
                "install the debug symbols of this JDK, or let Flight Recorder tell: --jfr always",
            ));
        }
        let (counters, collectors) = counters(target, &maps).unwrap_or_default();
        Ok(Libjvm { file: bytes.0, places, counters, collectors, by_functions })
    }

    /// How the kernel finds the file.
    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }
}

fn unreadable(mapping: &Mapping, why: &str) -> Refusal {
    Refusal::new(
        format!("{}: {why}", mapping.path),
        "CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE reads the mapped file itself",
    )
}

/// Where to attach: at the probes, and where there are none at functions, if their names were left. The
/// function that tells when all threads have stopped has no probe.
fn places(file: &Bytes) -> Result<(Vec<Place>, bool), ElfError> {
    let mut places: Vec<Place> = probes_of(file)?.into_iter().filter_map(of_probe).collect();
    let by_functions = places.is_empty();
    let offsets = functions_at(file, FUNCTIONS.map(|(_, name)| name))?;
    for ((probe, name), offset) in FUNCTIONS.into_iter().zip(offsets) {
        if let Some(file_offset) = offset.filter(|_| by_functions || name == REACHED) {
            let arguments = if name == REACHED { vec![parameter(this_machine(), 0)] } else { Vec::new() };
            places.push(Place { probe, file_offset, semaphore_offset: None, arguments });
        }
    }
    places.truncate(PLACES);
    Ok((places, by_functions))
}

fn of_probe(found: Found) -> Option<Place> {
    let Found { file_offset, semaphore_offset, arguments, .. } = &found;
    let kind = kind_of(&found)?;
    let (file_offset, semaphore_offset, arguments) = (*file_offset, *semaphore_offset, arguments.clone());
    Some(Place { probe: kind.probe, file_offset, semaphore_offset, arguments })
}

/// Counters of the generations: what there is and what is in use, of the old one, and of the young one in its three spaces.
const HEAP_SIZES: [&str; SIZES] = [
    "sun.gc.generation.1.capacity",
    "sun.gc.generation.1.space.0.used",
    "sun.gc.generation.0.capacity",
    "sun.gc.generation.0.space.0.used",
    "sun.gc.generation.0.space.1.used",
    "sun.gc.generation.0.space.2.used",
];

/// The JVM's counters at their addresses in the process, and the names of its collectors.
fn counters(target: &Target, maps: &Mappings) -> Option<(CountersAt, Vec<String>)> {
    let mapped = Mapped::of(target).ok()?;
    let (folder, name) = mapped.counters.as_ref()?;
    let end = format!("{folder}/{name}");
    let mapping = maps.iter().find(|mapping| mapping.path.ends_with(&end) && mapping.file_offset == 0)?;
    let counters = Counters::of(target, &mapped).ok()?;
    let address = |at: usize| mapping.addresses.start.checked_add(at as u64);
    let text = |name: &str| {
        let (from, to) = counters.place_of_text(name)?;
        Some(Text { address: address(from)?, size_bytes: (to.saturating_sub(from) as u64).min(CAUSE_BYTES) })
    };
    let number = |name: &str| address(counters.place_of_number(name)?);
    let collectors: Vec<(usize, String)> = collectors(&counters).take(COLLECTORS).collect();
    // A JVM may count a later one of its collectors and none before it.
    let ran = |at: usize| number(&format!("sun.gc.collector.{}.time", collectors.get(at)?.0));
    let at = CountersAt {
        cause: text("sun.gc.cause"),
        last_cause: text("sun.gc.lastCause"),
        ran: std::array::from_fn(ran),
        sizes: HEAP_SIZES.map(number),
    };
    Some((at, collectors.into_iter().map(|(_, name)| name).collect()))
}
