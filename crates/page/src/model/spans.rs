//! Spans as bars; spans too short to be seen separately are drawn as one.

use arrow_array::types::{Int32Type, Int64Type, UInt32Type};

use super::Answer;
use super::select::{self, Stretch};
use crate::columns::Columns;
use crate::index::spans::{Kind, duration};
use crate::index::threads::{PROCESS, ThreadSet};
use crate::loaded::Loaded;
use crate::query::Query;
use crate::refused::Refused;
use rustc_hash::FxHashMap;

const WIDTH_MAX: usize = 16_384;

/// More bars of one kind than this are not drawn: the longest are.
const BARS_MAX: usize = 20_000;

/// A bar: a span, or several that touch.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bar {
    from: i64,
    to: i64,
    /// The thread, if all are of one.
    thread: u32,
    /// The longest of them.
    row: u32,
    longest: i64,
    merged: u32,
}

/// Answers `spans`.
pub(super) fn answer(page: &Loaded, query: &Query) -> Result<Answer, Refused> {
    let stretch = Stretch::of(page, query)?;
    let threads = select::threads(page, query)?;
    let width = query.count("width", 0, WIDTH_MAX, "a number of pixels up to 16384")?;
    let pixel = if width == 0 { 0 } else { (stretch.length() / width as f64) as i64 };
    let kinds = kinds(page, query)?;
    let bars: Vec<(&Kind, Vec<Bar>, u64)> = kinds
        .into_iter()
        .map(|kind| {
            let (bars, cut) = bars(page, kind, stretch, pixel, threads.as_ref());
            (kind, bars, cut)
        })
        .collect();
    let cut: u64 = bars.iter().map(|(_, _, cut)| cut).sum();
    let rows = || bars.iter().flat_map(|(kind, bars, _)| bars.iter().map(move |bar| (*kind, bar)));
    let name = |bar: &Bar| page.recording.text(page.recording.spans.name[bar.row as usize]);
    Answer::table(
        Columns::default()
            .numbers::<Int64Type>("t", rows().map(|(_, bar)| bar.from))
            .numbers::<Int64Type>("duration", rows().map(|(_, bar)| bar.to.saturating_sub(bar.from)))
            .numbers::<Int32Type>("thread", rows().map(|(_, bar)| bar.thread as i32))
            .words("kind", rows().map(|(kind, _)| kind.word.as_str()))
            .words("name", rows().map(|(_, bar)| name(bar)))
            .numbers::<UInt32Type>("row", rows().map(|(_, bar)| bar.row))
            .numbers::<UInt32Type>("merged", rows().map(|(_, bar)| bar.merged))
            .numbers::<Int64Type>("longest", rows().map(|(_, bar)| bar.longest))
            .note("cut", cut),
    )
}

/// The kinds of a question; all without any. A kind that a recording does not have is none.
pub(super) fn kinds<'p>(page: &'p Loaded, query: &Query) -> Result<Vec<&'p Kind>, Refused> {
    match query.list("kinds") {
        None => Ok(page.spans.kinds.iter().collect()),
        Some(words) => Ok(page.spans.kinds.iter().filter(|kind| words.contains(&kind.word.as_str())).collect()),
    }
}

/// The bars of a kind in order of their beginning, and how many spans had to be left out.
fn bars(page: &Loaded, kind: &Kind, stretch: Stretch, pixel: i64, threads: Option<&ThreadSet>) -> (Vec<Bar>, u64) {
    let spans = &page.recording.spans;
    let mut bars: Vec<Bar> = Vec::new();
    // The last bar of each thread, or of all threads together.
    let mut last_of: FxHashMap<u32, usize> = FxHashMap::default();
    for row in kind.within(&page.recording, &page.axis, stretch.from, stretch.to) {
        let thread = page.threads.number(spans.tid[row as usize]);
        if threads.is_some_and(|threads| !threads.contains(thread)) {
            continue;
        }
        let (from, length) = (page.axis.at(spans.time_ns[row as usize]), duration(&page.recording, row));
        let new = Bar { from, to: from.saturating_add(length), thread, row, longest: length, merged: 1 };
        let line = if threads.is_some() { thread } else { PROCESS };
        let last = last_of.get(&line).map(|index| &mut bars[*index]);
        match last.filter(|last| length < pixel && last.longest < pixel && from.saturating_sub(last.to) < pixel) {
            Some(last) => last.add(new),
            None => {
                last_of.insert(line, bars.len());
                bars.push(new);
            }
        }
    }
    let cut = cut(&mut bars);
    (bars, cut)
}

impl Bar {
    fn add(&mut self, new: Bar) {
        self.to = self.to.max(new.to);
        self.merged = self.merged.saturating_add(1);
        if self.thread != new.thread {
            self.thread = PROCESS;
        }
        if new.longest > self.longest {
            (self.row, self.longest) = (new.row, new.longest);
        }
    }
}

/// Keeps the longest bars; gives how many spans the others were.
fn cut(bars: &mut Vec<Bar>) -> u64 {
    if bars.len() <= BARS_MAX {
        return 0;
    }
    bars.select_nth_unstable_by_key(BARS_MAX, |bar| std::cmp::Reverse(bar.to.saturating_sub(bar.from)));
    let cut = bars[BARS_MAX..].iter().map(|bar| u64::from(bar.merged)).sum();
    bars.truncate(BARS_MAX);
    bars.sort_by_key(|bar| bar.from);
    cut
}
