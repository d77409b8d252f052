//! `/proc/diskstats`, as text.

use crate::procfs::{lines, number, utf8, words};

/// One kind of request to a device, since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Requests {
    pub(super) count: u64,
    pub(super) merged: u64,
    /// Sectors of 512 bytes, whatever the device has.
    pub(super) sectors: u64,
    /// Sum over the requests, each from its start to its completion.
    pub(super) time_ms: u64,
}

/// A line of `diskstats`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Disk<'a> {
    pub(super) name: &'a str,
    pub(super) read: Requests,
    pub(super) write: Requests,
    /// Since Linux 4.18.
    pub(super) discard: Option<Requests>,
    /// Count and time, since Linux 5.5.
    pub(super) flush: Option<(u64, u64)>,
    pub(super) in_flight: u64,
    pub(super) busy_ms: u64,
    /// Sum over all requests of the time that they were in flight.
    pub(super) queue_time_ms: u64,
}

impl Disk<'_> {
    /// Whether the device was ever used.
    pub(super) fn is_used(&self) -> bool {
        self.read.count > 0 || self.write.count > 0 || self.in_flight > 0
    }
}

/// The devices and partitions. Lines of another form are left out.
pub(super) fn disks(text: &[u8]) -> impl Iterator<Item = Disk<'_>> {
    lines(text).filter_map(|line| {
        let mut fields = words(line);
        let name = utf8(fields.nth(2)?)?;
        let mut next = || fields.next().and_then(number);
        let (read, write) = (requests(&mut next)?, requests(&mut next)?);
        let (in_flight, busy_ms, queue_time_ms) = (next()?, next()?, next()?);
        let discard = requests(&mut next);
        let flush = next().zip(next());
        Some(Disk { name, read, write, discard, flush, in_flight, busy_ms, queue_time_ms })
    })
}

fn requests(next: &mut impl FnMut() -> Option<u64>) -> Option<Requests> {
    Some(Requests { count: next()?, merged: next()?, sectors: next()?, time_ms: next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_several_kernels() {
        let old = " 254       0 vda 1585307 50332 52991834 2136391 355650 251234 192967672 1097067 3 171932 3288734";
        let with_discard = format!("{old} 301149 601 146781704 53714");
        let with_flush = format!("{with_discard} 6815 1560\n");
        for (text, discard, flush) in
            [(old, None, None), (&with_discard, Some(301149), None), (&with_flush, Some(301149), Some((6815, 1560)))]
        {
            let found: Vec<Disk<'_>> = disks(text.as_bytes()).collect();
            let [disk] = found.as_slice() else { panic!("{found:?}") };
            assert_eq!(disk.name, "vda");
            assert_eq!(disk.read, Requests { count: 1585307, merged: 50332, sectors: 52991834, time_ms: 2136391 });
            assert_eq!((disk.write.count, disk.write.time_ms), (355650, 1097067));
            assert_eq!((disk.in_flight, disk.busy_ms, disk.queue_time_ms), (3, 171932, 3288734));
            assert_eq!((disk.discard.map(|discard| discard.count), disk.flush), (discard, flush));
            assert!(disk.is_used());
        }
        assert!(!disks(b"7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n").next().unwrap().is_used());
        assert_eq!(disks(b"254 0 vda 1 2 3\n254 0\n\nx\n").count(), 0);
    }

    #[test]
    fn no_bytes_are_too_strange() {
        proptest::proptest!(|(bytes: Vec<u8>, line in "[0-9 a-z]*\n")| {
            let _ = (disks(&bytes).count(), disks(line.as_bytes()).count());
        });
    }
}
