//! The labs: Java programs that really have a disease, in a dose that they note themselves, and the runner that compiles,
//! starts, loads and records them.
//!
//! A lab is declared by `lab.json` beside its sources, in the folder of the cause it proves. Declaration and sources
//! are part of the program, so most labs need nothing but a JDK; what others need besides (root, a C compiler, tools for a
//! slow disk) is checked before anything is begun. What the runner does to the machine it undoes. The runner only records: whether the right cause is found
//! is for the caller to check against [`Variant::expects`].

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

/// Makes cargo build this crate anew when another checkout uses the same target folder (`.cargo/config.toml`).
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
