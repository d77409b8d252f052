//! Which JVM a command is about.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use fathom_collectors::Target;
use fathom_collectors::containers::labels::is_container;
use fathom_collectors::jvms::{Jvm, is_no_jvm, jvms};
use regex::Regex;
use rustix::process::geteuid;

use crate::quantities;

/// How long a JVM that was started just now may take to load what makes it one.
const STARTS: Duration = Duration::from_millis(500);

/// How a JVM is named on the command line.
#[derive(Debug, clap::Args)]
pub(crate) struct Choice {
    /// The JVM with this process id
    #[arg(long, value_name = "PID", conflicts_with = "pattern", value_parser = pid, allow_negative_numbers = true)]
    pid: Option<u32>,

    /// The JVM whose main class or arguments match (fathom ps lists them)
    #[arg(long = "match", value_name = "REGEX", value_parser = quantities::pattern)]
    pattern: Option<Regex>,

    /// The JVM in the container with this name or id: as Docker, Kubernetes or fathom ps calls it
    #[arg(long, value_name = "NAME", conflicts_with = "pid")]
    container: Option<String>,
}

impl Choice {
    /// The JVM that is meant, else the one that has run longest; none when none runs.
    pub(crate) fn any(&self) -> Result<Option<Target>> {
        match (self.pid, &self.pattern, &self.container) {
            (None, None, None) => Ok(jvms().into_iter().max_by_key(|jvm| jvm.uptime_ns).map(|jvm| jvm.target)),
            _ => self.one().map(Some),
        }
    }

    /// The one JVM that is meant.
    pub(crate) fn one(&self) -> Result<Target> {
        if let Some(pid) = self.pid {
            return a_jvm(Target::of(pid)?);
        }
        match <[Jvm; 1]>::try_from(self.all()?) {
            Ok([jvm]) => Ok(jvm.target),
            Err(several) => bail!("{}", which_of(&several)),
        }
    }

    /// Every JVM that is meant: one at least.
    pub(crate) fn all(&self) -> Result<Vec<Jvm>> {
        let meant: Vec<Jvm> = jvms().into_iter().filter(|jvm| self.is_meant(jvm)).collect();
        match (&self.pattern, &self.container) {
            _ if !meant.is_empty() => Ok(meant),
            (_, Some(name)) => {
                bail!("no JVM in a container called {name:?}: sudo fathom ps lists JVMs with their containers")
            }
            (Some(pattern), None) => {
                bail!("no JVM matches {:?}: fathom ps lists those that may be looked at", pattern.as_str())
            }
            _ if geteuid().is_root() => bail!("no JVM runs on this machine: start one, then record it"),
            _ => bail!("no JVM of this user runs on this machine: those of others need sudo"),
        }
    }

    fn is_meant(&self, jvm: &Jvm) -> bool {
        let is_in = |name: &String| jvm.container.as_deref().is_some_and(|id| is_container(id, name));
        self.pattern.as_ref().is_none_or(|pattern| jvm.matches(pattern)) && self.container.as_ref().is_none_or(is_in)
    }
}

/// Refuses what is known to be no JVM. If reading is not allowed, it may be a JVM, and the kernel still reports about it.
fn a_jvm(target: Target) -> Result<Target> {
    let until = Instant::now() + STARTS;
    while is_no_jvm(&target) {
        if Instant::now() >= until {
            bail!(
                "process {} ({}) is no JVM: fathom ps lists those of this machine",
                target.pid,
                program_name(&target)
            );
        }
        thread::sleep(STARTS / 25);
    }
    Ok(target)
}

/// As many as a line holds.
const NAMED_MAX: usize = 5;

fn which_of(several: &[Jvm]) -> String {
    let named = several.iter().take(NAMED_MAX).map(|jvm| format!("{} ({})", jvm.target.pid, jvm.short_name()));
    let named = named.collect::<Vec<_>>().join(", ");
    let more = if several.len() > NAMED_MAX { ", …" } else { "" };
    format!("which of {} JVMs? name it with --pid: {named}{more}", several.len())
}

/// A short name for a process.
pub(crate) fn program_name(target: &Target) -> String {
    if let Some(jvm) = Jvm::of(target) {
        return jvm.short_name().to_owned();
    }
    let comm = std::fs::read_to_string(target.proc("comm")).unwrap_or_default();
    match comm.trim() {
        "" => "process".to_owned(),
        name => name.to_owned(),
    }
}

/// A number that the system gives to processes.
pub(super) fn pid(text: &str) -> Result<u32, String> {
    text.trim()
        .parse()
        .ok()
        .filter(|pid| *pid > 0)
        .ok_or("a process id is a number: fathom ps lists the JVMs".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes() {
        assert_eq!(pid("4242"), Ok(4242));
        for text in ["", "0", "-1", "x", "4294967296"] {
            assert!(pid(text).unwrap_err().contains("fathom ps"), "{text}");
        }
    }
}
