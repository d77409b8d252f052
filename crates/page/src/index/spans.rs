//! Spans by kind, each kind from the source that the account uses, in order of their beginning.

use fathom_evidence::tables::Span;
use fathom_evidence::{Recording, StrId};
use fathom_timeline::Sources;

use crate::axis::Axis;

/// The spans of one kind.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) word: String,
    /// Rows in the recording's table.
    pub(crate) rows: Vec<u32>,
    /// The longest of them: one that reaches into some time began at most so long before.
    longest: i64,
}

/// All spans.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    pub(crate) kinds: Vec<Kind>,
}

impl Spans {
    pub(crate) fn new(view: &Sources<'_>) -> Spans {
        let recording = view.recording;
        let longest = |rows: &[u32]| rows.iter().map(|row| duration(recording, *row)).max().unwrap_or(0);
        let kind = |(word, rows): (StrId, &[u32])| Kind {
            word: recording.text(word).to_owned(),
            rows: rows.to_vec(),
            longest: longest(rows),
        };
        let mut kinds: Vec<Kind> = view.span_rows().map(kind).collect();
        kinds.sort_by(|a, b| a.word.cmp(&b.word));
        Spans { kinds }
    }
}

impl Kind {
    /// The rows of the spans that are in `from..to` with some part of theirs; an instant with itself.
    pub(crate) fn within<'k>(
        &'k self,
        recording: &'k Recording,
        axis: &Axis,
        from: i64,
        to: i64,
    ) -> impl Iterator<Item = u32> + 'k {
        let axis = *axis;
        let begin = move |row: u32| axis.at(recording.spans.time_ns[row as usize]);
        let earliest = from.saturating_sub(self.longest);
        let first = self.rows.partition_point(|row| begin(*row) < earliest);
        let candidates = self.rows[first..].iter().copied().take_while(move |row| begin(*row) < to);
        candidates.filter(move |row| {
            let begin = begin(*row);
            begin >= from || begin.saturating_add(duration(recording, *row)) > from
        })
    }
}

/// Length of a span; damaged files may hold negative ones.
pub(crate) fn duration(recording: &Recording, row: u32) -> i64 {
    recording.spans.duration_ns[row as usize].max(0)
}

/// Beginning and end of a span in ns since the origin.
pub(crate) fn extent(axis: &Axis, span: &Span) -> (i64, i64) {
    let begin = axis.at(span.time_ns);
    (begin, begin.saturating_add(span.duration_ns.max(0)))
}
