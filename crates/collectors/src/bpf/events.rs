//! Software events of the kernel, opened so that a program runs at each of them.

use std::fs;
use std::io;
use std::mem::size_of;

use libbpf_rs::libbpf_sys::{PERF_TYPE_SOFTWARE, perf_event_attr};

use crate::Refusal;

/// Of `perf_event_open`: programs that this one starts do not inherit the descriptor.
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 8;

/// A software event that the kernel raises in the thread that faults.
#[derive(Debug, Clone, Copy)]
#[repr(u64)]
pub(crate) enum FaultEvent {
    /// A page fault begins.
    Begins = 2,
    /// A page fault has been served from memory.
    ServedMinor = 5,
    /// A page fault has been served and had to read.
    ServedMajor = 6,
}

/// Opens the event on one CPU, at each occurrence, in every process.
pub(super) fn open(event: FaultEvent, cpu: u32) -> Result<i32, Refusal> {
    let mut attributes = perf_event_attr {
        type_: PERF_TYPE_SOFTWARE,
        size: size_of::<perf_event_attr>() as u32,
        config: event as u64,
        ..perf_event_attr::default()
    };
    attributes.__bindgen_anon_1.sample_period = 1;
    let every_process = -1;
    // SAFETY: the attributes are valid for the call and their size is stated in them.
    let opened = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const attributes, every_process, cpu, -1, PERF_FLAG_FD_CLOEXEC)
    };
    if opened >= 0 {
        return Ok(opened as i32);
    }
    let error = io::Error::last_os_error();
    Err(Refusal::new(
        format!("the page fault event {} could not be opened on CPU {cpu}: {error}", event as u64),
        grant(&error),
    ))
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
    let text = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
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
