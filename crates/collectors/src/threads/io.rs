//! How often the process reads and writes, and how much: `/proc/PID/io`, for those who may trace the process.

use fathom_evidence::Recording;
use fathom_evidence::kinds::counter;

use crate::Target;
use crate::changed_counters::ChangedCounters;
use crate::procfs::{ProcFile, lines, number, words};
use crate::rate_limit::RateLimit;

/// The kernel adds up all threads for each look.
const PERIOD: std::time::Duration = std::time::Duration::from_secs(1);

/// Names in the file, the counter, and its instance.
const FIELDS: [(&[u8], &str, &str); 4] = [
    (b"rchar:", counter::PROCESS_IO_BYTES, "read"),
    (b"wchar:", counter::PROCESS_IO_BYTES, "write"),
    (b"syscr:", counter::PROCESS_IO_CALLS_COUNT, "read"),
    (b"syscw:", counter::PROCESS_IO_CALLS_COUNT, "write"),
];

/// Looks at the file now and then.
#[derive(Debug)]
pub(super) struct Io {
    file: Option<ProcFile>,
    pace: RateLimit,
}

impl Io {
    pub(super) fn of(target: &Target) -> Io {
        Io { file: ProcFile::open(target.proc("io")).ok(), pace: RateLimit::every(PERIOD) }
    }

    pub(super) fn look(
        &mut self,
        buffer: &mut Vec<u8>,
        at_ns: i64,
        numbers: &mut ChangedCounters,
        found: &mut Recording,
    ) {
        let Some(file) = &self.file else { return };
        let Some(reading) = self.pace.begin(at_ns) else { return };
        if let Ok(text) = file.read_short(buffer) {
            for (counter, instance, value) in values(text) {
                numbers.see(found, at_ns, counter, instance, value as f64);
            }
        }
        self.pace.end(reading);
    }
}

fn values(text: &[u8]) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
    lines(text).filter_map(|line| {
        let mut words = words(line);
        let name = words.next()?;
        let (_, counter, instance) = FIELDS.iter().find(|(known, ..)| *known == name)?;
        Some((*counter, *instance, number(words.next()?)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_bytes_are_read() {
        let text = b"rchar: 4292\nwchar: 12\nsyscr: 13\nsyscw: 2\nread_bytes: 0\nwrite_bytes: x\n";
        let (calls, bytes) = (counter::PROCESS_IO_CALLS_COUNT, counter::PROCESS_IO_BYTES);
        let expected = [(bytes, "read", 4292), (bytes, "write", 12), (calls, "read", 13), (calls, "write", 2)];
        assert_eq!(values(text).collect::<Vec<_>>(), expected);
        assert_eq!(values(b"rchar:\nwchar: -1\nsyscr\n").count(), 0);
    }
}
