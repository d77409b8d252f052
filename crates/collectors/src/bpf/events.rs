//! Software events of the kernel, opened so that a program runs at each of them.

use std::io;
use std::os::fd::IntoRawFd;

use crate::Refusal;
use crate::perf::{self, Occasion, Whom};
use crate::procfs;

/// Opens the event on one CPU, in every process.
pub(super) fn open(occasion: Occasion, cpu: u32) -> Result<i32, Refusal> {
    let opened = perf::open(&perf::attributes(occasion), Whom::Cpu(cpu));
    opened.map(IntoRawFd::into_raw_fd).map_err(|error| {
        let why = format!("{occasion} could not be opened on CPU {cpu}: {error}");
        Refusal::new(why, grant(&error))
    })
}

fn grant(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE) => "raise the limit of open files: ulimit -n 65536",
        Some(libc::EPERM | libc::EACCES) => "CAP_PERFMON, and a seccomp profile that allows perf_event_open",
        _ => "",
    }
}

/// The CPUs that run now.
pub(crate) fn online_cpus() -> Vec<u32> {
    let text = procfs::read_text("/sys/devices/system/cpu/online").unwrap_or_default();
    let cpus = parse_cpus(text.trim());
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// `0-3,8` as numbers. A range that makes no sense is left out.
fn parse_cpus(text: &str) -> Vec<u32> {
    const CPUS_MAX: u32 = 8192;
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        (last < CPUS_MAX).then_some(first..=last)
    };
    text.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_cpus() {
        for (text, expected) in [
            ("0", &[0][..]),
            ("0-3", &[0, 1, 2, 3]),
            ("0-1,4,6-7", &[0, 1, 4, 6, 7]),
            ("", &[]),
            ("3-1", &[]),
            ("0-99999999999", &[]),
            ("0-4000000000", &[]),
            ("x,2", &[2]),
        ] {
            assert_eq!(parse_cpus(text), expected, "{text:?}");
        }
        assert!(!online_cpus().is_empty());
    }
}
