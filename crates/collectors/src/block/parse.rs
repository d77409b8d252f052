//! What the programs send and keep, as bytes to structs. The layouts are those of `block.bpf.c`.

use crate::bpf::{halves, words};

const EVENT_WORDS: usize = 13;

/// Stages of the sums, in their order.
pub(super) const STAGES: [&str; 5] = ["q2g", "g2i", "i2d", "g2d", "d2c"];

/// A request that has completed. Instants are on the monotonic clock; 0 means that it did not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Completed {
    pub(super) queued_ns: i64,
    pub(super) got_request_ns: i64,
    pub(super) tid: u32,
    pub(super) tgid: u32,
    /// Name of the submitter.
    pub(super) name: String,
    pub(super) inserted_ns: i64,
    pub(super) issued_ns: i64,
    pub(super) last_issued_ns: i64,
    pub(super) sector: u64,
    pub(super) bytes: u32,
    flags: u32,
    pub(super) device: u32,
    pub(super) dispatches: u32,
    pub(super) completed_ns: i64,
    pub(super) error: u32,
}

impl Completed {
    /// Reads one event of the ring; `None` when it is shorter than one.
    pub(super) fn parse(bytes: &[u8]) -> Option<Completed> {
        let mut all = words(bytes.get(..EVENT_WORDS * 8)?);
        let mut next = || all.next().unwrap_or(0);
        let (queued_ns, got_request_ns, (tid, tgid)) = (next() as i64, next() as i64, halves(next()));
        let name: Vec<u8> =
            [next(), next()].into_iter().flat_map(u64::to_ne_bytes).take_while(|byte| *byte != 0).collect();
        let (inserted_ns, issued_ns) = (next() as i64, next() as i64);
        let (last_issued_ns, sector) = (next() as i64, next());
        let ((bytes, flags), (device, dispatches)) = (halves(next()), halves(next()));
        let (completed_ns, (error, _)) = (next() as i64, halves(next()));
        let name = String::from_utf8_lossy(&name).into_owned();
        #[rustfmt::skip]
        let completed = Completed {
            queued_ns, got_request_ns, tid, tgid, name, inserted_ns, issued_ns, last_issued_ns, sector, bytes, flags, device,
            dispatches, completed_ns, error,
        };
        Some(completed)
    }

    /// When it began, as far as that was seen.
    pub(super) fn began_ns(&self) -> i64 {
        [self.queued_ns, self.got_request_ns, self.inserted_ns, self.issued_ns]
            .into_iter()
            .find(|instant| *instant != 0)
            .unwrap_or(self.completed_ns)
    }

    /// `read`, `write sync`.
    pub(super) fn operation(&self) -> String {
        // Bits of the kernel's request flags, the same since Linux 4.10.
        const FLAGS: &[(u32, &str)] = &[(18, " with flush"), (17, " through cache"), (11, " sync"), (19, " ahead")];
        let flags = FLAGS.iter().filter(|(bit, _)| self.flags >> bit & 1 == 1);
        let mut text = operation(self.flags & 0xff);
        flags.for_each(|(_, flag)| text.push_str(flag));
        text
    }
}

/// The name of an operation.
pub(super) fn operation(number: u32) -> String {
    const NAMES: &[(u32, &str)] = &[
        (0, "read"),
        (1, "write"),
        (2, "flush"),
        (3, "discard"),
        (5, "secure_erase"),
        (9, "write_zeroes"),
        (34, "driver_in"),
        (35, "driver_out"),
    ];
    let named = NAMES.iter().find(|(known, _)| *known == number);
    named.map_or_else(|| format!("operation_{number}"), |(_, name)| (*name).to_owned())
}

/// Requests of one device and operation since the recording began.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) stages_ns: [u64; STAGES.len()],
}

impl Sum {
    /// Reads a value of the map `sums`.
    pub(super) fn parse(value: &[u8]) -> Sum {
        let mut all = words(value);
        let mut next = || all.next().unwrap_or(0);
        Sum { count: next(), bytes: next(), stages_ns: [(); STAGES.len()].map(|()| next()) }
    }
}

/// Device and operation, from a key of the map `sums`.
pub(super) fn device_and_operation(key: &[u8]) -> (u32, u32) {
    words(key).next().map(halves).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(instants: [u64; 4], flags: u32) -> Vec<u8> {
        let [queued, got, inserted, issued] = instants;
        let mut bytes: Vec<u8> = [queued, got].into_iter().flat_map(u64::to_ne_bytes).collect();
        bytes.extend([7_u32, 8].into_iter().flat_map(u32::to_ne_bytes));
        bytes.extend(b"jbd2/vda1-8\0....");
        bytes.extend([inserted, issued, issued + 1, 2048].into_iter().flat_map(u64::to_ne_bytes));
        bytes.extend([4096, flags, 254 << 20, 1].into_iter().flat_map(u32::to_ne_bytes));
        bytes.extend(900_u64.to_ne_bytes());
        bytes.extend([10_u32, 0].into_iter().flat_map(u32::to_ne_bytes));
        bytes
    }

    #[test]
    fn an_event_is_read_with_what_was_seen_of_it() {
        for (instants, flags, began_ns, operation) in [
            ([1, 2, 3, 4], 0, 1, "read"),
            ([1, 2, 0, 4], 1 | 1 << 11, 1, "write sync"),
            ([0, 2, 0, 4], 1 | 1 << 18 | 1 << 17 | 1 << 11, 2, "write with flush through cache sync"),
            ([0, 0, 0, 4], 2, 4, "flush"),
            ([0, 0, 0, 0], 1 << 19, 900, "read ahead"),
            ([0, 0, 0, 4], 99, 4, "operation_99"),
        ] {
            let read = Completed::parse(&event(instants, flags)).unwrap();
            assert_eq!((read.began_ns(), read.operation().as_str()), (began_ns, operation));
            assert_eq!((read.tid, read.tgid, read.name.as_str()), (7, 8, "jbd2/vda1-8"));
            assert_eq!((read.sector, read.bytes, read.device, read.dispatches), (2048, 4096, 254 << 20, 1));
            assert_eq!((read.completed_ns, read.error), (900, 10));
            assert_eq!(read.last_issued_ns, read.issued_ns + 1);
        }
        assert_eq!(Completed::parse(&event([1, 2, 3, 4], 0)[1..]), None);
    }

    #[test]
    fn sums_are_read() {
        let value: Vec<u8> = (1..=7_u64).flat_map(u64::to_ne_bytes).collect();
        assert_eq!(Sum::parse(&value), Sum { count: 1, bytes: 2, stages_ns: [3, 4, 5, 6, 7] });
        assert_eq!(Sum::parse(&[1]), Sum::default());
        assert_eq!(device_and_operation(&[]), (0, 0));
    }
}
