//! The labs: Java programs with a real fault, whose dose they write down themselves, and the runner that compiles,
//! starts, loads and records them.
//!
//! A lab is declared by `lab.json` in the folder of its sources and of the cause that it proves. Declaration and
//! sources are part of the program, so most labs need only a JDK. What others need in addition (root, a C compiler,
//! tools for a slow disk) is checked before the run starts. The runner undoes its changes to the machine. It only
//! records: the caller compares the answer with [`Variant::expects`].

mod clients;
mod companions;
mod declaration;
mod entry;
mod error;
mod javac;
mod jdk;
mod latency;
mod libraries;
mod native;
mod needs;
mod places;
mod process;
mod progress;
mod run;
mod stage;

use std::path::Path;

pub use declaration::{Dose, Expectation, Found, JdkRange, Lab, Phase, PhaseRole, Rights, Variant, lab_in, labs};
pub use error::LabError;
pub use jdk::{Jdk, JdkWish};
pub use latency::PhaseLatency;
pub use process::stop_on_signals;
pub use progress::{Progress, Second, TextProgress};
pub use run::{Arrivals, JfrSettings, Lengths, LiveRecorder, Recorder, RunOptions, RunOutput};

/// Makes cargo rebuild this crate when another checkout uses the same target folder (`.cargo/config.toml`).
const _: Option<&str> = option_env!("FATHOM_CHECKOUT");

/// The lab with this id, or in this folder.
///
/// # Errors
/// [`LabError::UnknownLab`] names those that exist; see also [`lab_in`].
pub fn lab(id: &str) -> Result<&'static Lab, LabError> {
    if id.contains('/') {
        return lab_in(Path::new(id));
    }
    labs().iter().find(|lab| lab.id == id).ok_or_else(|| LabError::UnknownLab {
        id: id.to_owned(),
        known: labs().iter().map(|lab| lab.id.as_str()).collect::<Vec<_>>().join(", "),
    })
}
