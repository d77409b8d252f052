//! Which JVM a command is about.

use anyhow::{Result, bail};
use fathom_collectors::Target;

/// How a JVM is named on the command line.
#[derive(Debug, clap::Args)]
pub(crate) struct Choice {
    /// The JVM with this process id
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
}

impl Choice {
    /// The JVM that is meant, or the only one; none when there is none.
    pub(crate) fn one_if_any(&self) -> Result<Option<Target>> {
        self.pid.map(|pid| Ok(Target::of(pid)?)).transpose()
    }

    /// The one JVM that is meant.
    pub(crate) fn one(&self) -> Result<Target> {
        match self.pid {
            Some(pid) => Ok(Target::of(pid)?),
            None => bail!("which JVM? name it with --pid"),
        }
    }
}

/// A short name for a process.
pub(crate) fn program_name(target: &Target) -> String {
    let comm = std::fs::read_to_string(target.proc("comm")).unwrap_or_default();
    match comm.trim() {
        "" => "process".to_owned(),
        name => name.to_owned(),
    }
}
