//! The time axis of a page: nanoseconds since an origin, so that a browser's numbers represent them exactly.

const SECOND_NS: i64 = 1_000_000_000;

/// Beginning and end of a stretch of time, in ns since an origin.
pub(crate) type Range = (i64, i64);

/// Where the axis begins, and what it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Axis {
    /// Instant that is 0, in ns since the Unix epoch: a whole second.
    pub(crate) origin_ns: i64,
    /// What was accounted for, in ns since the origin.
    pub(crate) from: i64,
    /// Its end.
    pub(crate) to: i64,
    /// Everything that has a time.
    pub(crate) extent: (i64, i64),
}

impl Axis {
    /// The axis of a recording that is accounted for in `accounted` and has rows in `extent`, both in ns since the
    /// Unix epoch.
    pub(crate) fn new(accounted: (i64, i64), extent: (i64, i64)) -> Axis {
        let origin_ns = accounted.0.saturating_sub(accounted.0.rem_euclid(SECOND_NS));
        let at = |time_ns: i64| time_ns.saturating_sub(origin_ns);
        let from = at(accounted.0);
        // The account leaves out a last second of which less than half was recorded; the page shows it.
        let (end, last) = (at(accounted.1), at(extent.1).saturating_add(1));
        let to = last.min(end.saturating_add(SECOND_NS)).max(end).max(from.saturating_add(1));
        Axis { origin_ns, from, to, extent: (at(extent.0).min(from), last.max(to)) }
    }

    /// An instant in ns since the origin.
    pub(crate) fn at(&self, time_ns: i64) -> i64 {
        time_ns.saturating_sub(self.origin_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = SECOND_NS;

    #[test]
    fn the_axis_begins_at_a_second_and_ends_with_the_data() {
        for (accounted, extent, expected) in [
            ((10 * S + 5, 20 * S + 5), (10 * S + 5, 20 * S + 5), (10 * S, 5, 10 * S + 6, (5, 10 * S + 6))),
            ((10 * S, 20 * S), (11 * S, 20 * S + S / 3), (10 * S, 0, 10 * S + S / 3 + 1, (0, 10 * S + S / 3 + 1))),
            ((10 * S, 20 * S), (S, 90 * S), (10 * S, 0, 11 * S, (-9 * S, 80 * S + 1))),
            ((0, 0), (0, 0), (0, 0, 1, (0, 1))),
        ] {
            let axis = Axis::new(accounted, extent);
            assert_eq!((axis.origin_ns, axis.from, axis.to, axis.extent), expected);
        }
        Axis::new((i64::MIN, i64::MAX), (i64::MIN, i64::MAX));
    }
}
