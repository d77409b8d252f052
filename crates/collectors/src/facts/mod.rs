//! What stays the same during a recording: the machine and its settings, the disks, the places of the target's files,
//! its limits, its container's image, and its libraries: their builds, and which of them use lazy binding.
//!
//! Gathered once, at the first look; each fact that cannot be read is left out.

mod compared;
mod container;
mod devices;
mod file_systems;
mod host;
mod jars;
mod parse;
mod process;
mod sheet;

use std::path::{Path, PathBuf};
use std::time::Duration;

use fathom_evidence::Recording;

use crate::hostile_files::Root;
use crate::{Collector, Observer, Order, Refusal, Target, Tier, procfs};
pub use compared::{ComparedFact, compared};
use sheet::Sheet;

const SOURCE: &str = "facts";

pub(crate) static COLLECTOR: Facts = Facts;

/// The collector of facts.
pub(crate) struct Facts;

impl Collector for Facts {
    fn name(&self) -> &'static str {
        SOURCE
    }

    fn sees(&self) -> &'static str {
        "kernel, CPU, settings, disks, places of files, limits, the container's image, names of jars, builds of native libraries and which of them bind lazily"
    }

    fn tier(&self) -> Tier {
        Tier::Process
    }

    fn check(&self, _target: &Target) -> Result<(), Refusal> {
        Ok(())
    }

    fn start(&self, target: &Target, _order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        Ok(Box::new(Once(Some(target.clone()))))
    }
}

/// The file that the JVM was told to log its collections into, as the process names it.
pub(crate) fn gc_log_of(target: &Target) -> Option<String> {
    let link = |name: &str| procfs::link(target.proc(name)).ok();
    let working = link("cwd")?;
    let arguments = procfs::read(target.proc("cmdline")).ok()?;
    // The last one counts.
    let (_, path) = parse::places(&arguments).into_iter().rfind(|(role, _)| *role == "gc_log")?;
    Some(Path::new(Root::of(target).inside(&working)).join(path).to_string_lossy().into_owned())
}

/// Gathers once.
struct Once(Option<Target>);

impl Observer for Once {
    fn period(&self) -> Duration {
        Duration::from_millis(200)
    }

    fn look(&mut self, found: &mut Recording) {
        if let Some(target) = self.0.take() {
            let mut sheet = Sheet(found);
            host::note(&mut sheet);
            devices::note(&mut sheet);
            file_systems::note(&target, &mut sheet);
            process::note(&target, &mut sheet);
            container::note(&target, &mut sheet);
            jars::note(&target, &mut sheet);
        }
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.look(found);
        Vec::new()
    }
}

#[cfg(test)]
mod tests;
