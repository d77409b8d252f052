//! What `fathom record` takes: for one JVM, or for each of several.

use std::path::PathBuf;
use std::time::Duration;

use crate::quantities;

/// Record a running JVM and the kernel around it into one recording, with whatever rights there are
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) choice: super::target::Choice,

    /// Record every JVM (with --match each that matches) at once, each into a recording of its own
    #[arg(long, conflicts_with = "pid")]
    pub(super) all: bool,

    /// The process that waits for this recording: it ends when that one does
    #[arg(long, value_name = "PID", hide = true)]
    pub(super) parent: Option<u32>,

    /// How long: 30s, 5m, 500ms. Without it until Ctrl-C or until the JVM ends
    #[arg(long = "for", value_name = "TIME", value_parser = quantities::duration)]
    pub(super) duration: Option<Duration>,

    /// Where to write [default: the program's name, its pid and the time, in this folder]; with --all the folder for all of them
    #[arg(short, long, value_name = "NAME.fathom")]
    pub(super) output: Option<PathBuf>,

    /// The folder's largest size at any time: 200M, 2G. What is recorded ends at half of it, as tables are made of that at the end
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = bytes)]
    pub(super) max_size: u64,

    #[command(flatten)]
    pub(super) policy: super::policy::Wish,

    /// Only these collectors (fathom doctor lists them)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) only: Vec<String>,

    /// None of these collectors
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) without: Vec<String>,

    /// Page faults that take at least this long are recorded one by one
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = quantities::duration)]
    pub(super) page_fault: Duration,

    /// Waits off the CPU that take at least this long are recorded one by one
    #[arg(long, value_name = "TIME", default_value = "5ms", value_parser = quantities::duration)]
    pub(super) blocked: Duration,

    /// Waits for a CPU that take at least this long are recorded one by one
    #[arg(long, value_name = "TIME", default_value = "2ms", value_parser = quantities::duration)]
    pub(super) run_queue: Duration,

    /// System calls that take at least this long are recorded one by one
    #[arg(long, value_name = "TIME", default_value = "5ms", value_parser = quantities::duration)]
    pub(super) system_call: Duration,

    /// Leave the JVM's own files (the folder raw) as it wrote them, for other tools, and free text in names of threads. Passwords,
    /// tokens and keys are masked in tables in any case
    #[arg(long)]
    pub(super) keep_secrets: bool,

    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub(super) json: bool,
}

impl Args {
    /// The same wishes for one JVM as words of a command line; target and output are left to the caller.
    pub(super) fn wishes(&self) -> Vec<String> {
        let us = |option: &str, time: Duration| format!("--{option}={}us", time.as_micros());
        let names =
            |option: &str, names: &[String]| (!names.is_empty()).then(|| format!("--{option}={}", names.join(",")));
        let thresholds = [
            us("page-fault", self.page_fault),
            us("blocked", self.blocked),
            us("run-queue", self.run_queue),
            us("system-call", self.system_call),
        ];
        let mut words = vec![format!("--max-size={}K", self.max_size.div_ceil(1024))];
        words.extend(thresholds);
        words.extend(self.duration.map(|duration| us("for", duration)));
        words.extend(names("only", &self.only));
        words.extend(names("without", &self.without));
        words.extend(self.policy.words());
        words.extend(self.keep_secrets.then(|| "--keep-secrets".to_owned()));
        words.extend(self.json.then(|| "--json".to_owned()));
        words
    }
}

const EXAMPLES: &str = "\
Examples:
  fathom record --for 30s                    the only JVM of this machine
  sudo fathom record --pid 4242 --for 60s    with kernel events
  sudo fathom record --container cart        by its container's name or id
  fathom record --match 'shop.*Server'       until Ctrl-C
  sudo fathom record --all --for 30s         every JVM of this machine at once
  fathom explain                             explains the newest recording in this folder

Whatever the machine refuses, the rest is recorded, and the recording says what was refused.
What the JVM would feel is left out: the first start of Flight Recorder where clients are
connected to the JVM, or while less than half of the CPUs are idle (JDK 17 and older: three
quarters; --jfr always starts it in any case), and a profiler while none is idle and samples can
be taken from outside (--agent always loads it in any case). A JVM that does not answer is asked
until the end.
fathom doctor tells beforehand. A recording is readable by its owner only.";

/// `200M`, `2G`, `500K`; a K is 1,024 bytes.
fn bytes(text: &str) -> Result<u64, String> {
    const UNITS: &[(&str, f64)] =
        &[("K", 1024.0), ("M", 1_048_576.0), ("G", 1_073_741_824.0), ("T", 1_099_511_627_776.0)];
    let bytes = scaled(text.trim_end_matches(['B', 'b', 'i']), UNITS).ok_or("a size is written like 200M or 2G")?;
    match (1.0..1e18).contains(&bytes) {
        true => Ok(bytes as u64),
        false => Err("a size is between one byte and a million terabytes".to_owned()),
    }
}

/// A positive number with one of `units` behind it.
fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let (unit, factor) =
        units.iter().find(|(unit, _)| text.to_ascii_lowercase().ends_with(&unit.to_ascii_lowercase()))?;
    let number: f64 = text.get(..text.len() - unit.len())?.trim().parse().ok()?;
    (number.is_finite() && number > 0.0).then_some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, size) in [("1K", 1 << 10), ("200M", 200 << 20), ("2GiB", 2 << 30), ("0.5g", 1 << 29)] {
            assert_eq!(bytes(text), Ok(size), "{text}");
        }
        for text in ["", "G", "12", "-1G", "1e40T"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
