//! The time axis of a page: nanoseconds since an origin, so that a browser's numbers hold them exactly.

const SECOND_NS: i64 = 1_000_000_000;

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
        let (from, to) = (at(accounted.0), at(accounted.1).max(at(accounted.0).saturating_add(1)));
        Axis { origin_ns, from, to, extent: (at(extent.0).min(from), at(extent.1).max(to)) }
    }

    /// An instant in ns since the origin.
    pub(crate) fn at(&self, time_ns: i64) -> i64 {
        time_ns.saturating_sub(self.origin_ns)
    }
}
