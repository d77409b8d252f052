//! Lost time, piece by piece.

use fathom_timeline::ThreadState;

/// A piece of lost time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Piece {
    /// How much of it is lost, in ns of thread time.
    pub(crate) lost_ns: f64,
    /// What it is, the root of a chain of waits first.
    pub(crate) levels: Vec<Level>,
    /// Row of the span that says so, if it is a wait.
    pub(crate) row: Option<u32>,
}

impl Piece {
    pub(crate) fn of(lost_ns: f64, level: Level, row: Option<u32>) -> Piece {
        Piece { lost_ns, levels: vec![level], row }
    }
}

/// A kind of time, of a thread from one time to another where that is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Level {
    pub(crate) state: ThreadState,
    /// Thread (0: the process), beginning and end.
    pub(crate) when: Option<(i64, i64, i64)>,
    /// The part of that time that is lost: the rest is as usual. What a cause claims of the time explains the lost part first.
    pub(crate) grown: f64,
    /// The part of the piece that this is.
    pub(crate) part: f64,
}
