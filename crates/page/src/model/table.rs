//! Spans as a table: sorted, searched, one part at a time.

use std::cmp::Ordering;

use arrow_array::types::{Int32Type, Int64Type, UInt32Type};
use fathom_evidence::kinds::span;
use fathom_evidence::{StackId, StrId};
use fathom_timeline::State;
use rustc_hash::FxHashMap;

use super::Answer;
use super::select::{self, Stretch};
use super::spans::kinds;
use crate::columns::Columns;
use crate::index::spans::duration;
use crate::loaded::Loaded;
use crate::query::Query;
use crate::refused::Refused;

const LIMIT: usize = 500;
const LIMIT_MAX: usize = 20_000;

/// Answers `table`.
pub(super) fn answer(page: &Loaded, query: &Query) -> Result<Answer, Refused> {
    let stretch = Stretch::of(page, query)?;
    let threads = select::threads(page, query)?;
    let limit = query.count("limit", LIMIT, LIMIT_MAX, "a number of rows up to 20000")?;
    let offset = query.count("offset", 0, u32::MAX as usize, "a number of rows")?;
    let order = Order::of(query)?;
    let shortest = query.time_ns("at_least", 0)?;
    let longest = query.time_ns("at_most", i64::MAX)?;
    let without_idle = query.flag("without_idle")?;
    let mut search = query.text("find").map(|text| Search::new(page, text));
    let spans = &page.recording.spans;
    let (mut rows, mut idle_left_out): (Vec<u32>, usize) = (Vec::new(), 0);
    for kind in kinds(page, query)? {
        let within = kind.within(&page.recording, &page.axis, stretch.from, stretch.to);
        let of_threads = within.filter(|row| {
            threads.as_ref().is_none_or(|set| set.contains(page.threads.number(spans.tid[*row as usize])))
        });
        let of_length = of_threads.filter(|row| (shortest..=longest).contains(&duration(&page.recording, *row)));
        for row in of_length.filter(|row| search.as_mut().is_none_or(|search| search.finds(*row))) {
            if without_idle && is_idle(page, row) { idle_left_out += 1 } else { rows.push(row) }
        }
    }
    let total_ns: f64 = rows.iter().map(|row| duration(&page.recording, *row) as f64).sum();
    let total = rows.len();
    let shown = order.part(page, rows, offset, limit);
    let table = table(page, &shown, |stack| stack.0).numbers::<UInt32Type>("row", shown.iter().copied());
    let table = table.note("total", total).note("total_ns", total_ns);
    Answer::table(if without_idle { table.note("idle_left_out", idle_left_out) } else { table })
}

/// Whether a span is a wait of a thread that had nothing to do meanwhile.
fn is_idle(page: &Loaded, row: u32) -> bool {
    const WAITS: [&str; 7] = [
        span::PARK,
        span::MONITOR_WAIT,
        span::SLEEP,
        span::SAMPLED_WAIT,
        span::BLOCKED,
        span::FILE_READ,
        span::SOCKET_READ,
    ];
    let spans = &page.recording.spans;
    let (at, kind) = (row as usize, page.recording.text(spans.kind[row as usize]));
    let middle = page.axis.at(spans.time_ns[at]).saturating_add(duration(&page.recording, row) / 2);
    let states = page.cover.threads.get(page.threads.number(spans.tid[at]) as usize).map(|of| of.segments.as_slice());
    let then = states.and_then(|states| states.get(states.partition_point(|state| state.1 <= middle)));
    WAITS.contains(&kind) && then.is_some_and(|state| state.0 <= middle && state.2 == State::Idle)
}

/// Rows of the table of spans; `stack` numbers their stacks.
pub(crate) fn table(page: &Loaded, rows: &[u32], stack: impl Fn(StackId) -> u32) -> Columns {
    let spans = &page.recording.spans;
    let text = |id: StrId| page.recording.text(id);
    let at = |row: &u32| *row as usize;
    Columns::default()
        .numbers::<Int64Type>("t", rows.iter().map(|row| page.axis.at(spans.time_ns[at(row)])))
        .numbers::<Int64Type>("duration", rows.iter().map(|row| duration(&page.recording, *row)))
        .numbers::<Int32Type>("thread", rows.iter().map(|row| page.threads.number(spans.tid[at(row)]) as i32))
        .words("kind", rows.iter().map(|row| text(spans.kind[at(row)])))
        .words("name", rows.iter().map(|row| text(spans.name[at(row)])))
        .numbers::<UInt32Type>("stack", rows.iter().map(|row| stack(spans.stack_id[at(row)])))
        .numbers::<UInt32Type>("kernel_stack", rows.iter().map(|row| stack(spans.kernel_stack_id[at(row)])))
        .words("detail", rows.iter().map(|row| text(spans.detail[at(row)])))
}

/// What a table is sorted by.
#[derive(Debug, Clone, Copy)]
enum Key {
    Duration,
    Time,
    Name,
    Thread,
}

#[derive(Debug, Clone, Copy)]
struct Order {
    key: Key,
    is_ascending: bool,
}

impl Order {
    fn of(query: &Query) -> Result<Order, Refused> {
        let key = match query.text("sort").unwrap_or("duration") {
            "duration" => Key::Duration,
            "time" => Key::Time,
            "name" => Key::Name,
            "thread" => Key::Thread,
            other => return Err(Refused::parameter("sort", other, "duration, time, name or thread")),
        };
        let is_ascending = match query.text("order").unwrap_or("desc") {
            "asc" => true,
            "desc" => false,
            other => return Err(Refused::parameter("order", other, "asc or desc")),
        };
        Ok(Order { key, is_ascending })
    }

    /// The rows from `offset` on in this order; the others need not be sorted.
    fn part(self, page: &Loaded, mut rows: Vec<u32>, offset: usize, limit: usize) -> Vec<u32> {
        let end = offset.saturating_add(limit).min(rows.len());
        if end < rows.len() {
            rows.select_nth_unstable_by(end, |a, b| self.compare(page, *a, *b));
            rows.truncate(end);
        }
        rows.sort_unstable_by(|a, b| self.compare(page, *a, *b));
        rows.drain(..offset.min(rows.len()));
        rows
    }

    fn compare(self, page: &Loaded, a: u32, b: u32) -> Ordering {
        let spans = &page.recording.spans;
        let (i, j) = (a as usize, b as usize);
        let text = |id| page.recording.text(id);
        let by_key = match self.key {
            Key::Duration => spans.duration_ns[i].cmp(&spans.duration_ns[j]),
            Key::Time => spans.time_ns[i].cmp(&spans.time_ns[j]),
            Key::Name => text(spans.name[i]).cmp(text(spans.name[j])),
            Key::Thread => page.threads.number(spans.tid[i]).cmp(&page.threads.number(spans.tid[j])),
        };
        let by_key = if self.is_ascending { by_key } else { by_key.reverse() };
        by_key.then(spans.time_ns[i].cmp(&spans.time_ns[j])).then(a.cmp(&b))
    }
}

/// A search for text, which looks at each different text once.
struct Search<'p> {
    page: &'p Loaded,
    wanted: String,
    texts: FxHashMap<StrId, bool>,
    threads: FxHashMap<i64, bool>,
}

impl<'p> Search<'p> {
    fn new(page: &'p Loaded, wanted: &str) -> Search<'p> {
        Search { page, wanted: wanted.to_lowercase(), texts: FxHashMap::default(), threads: FxHashMap::default() }
    }

    fn finds(&mut self, row: u32) -> bool {
        let spans = &self.page.recording.spans;
        let row = row as usize;
        [spans.name[row], spans.kind[row], spans.detail[row]].into_iter().any(|id| self.is_in(id))
            || self.is_in_thread(spans.tid[row])
    }

    fn is_in(&mut self, id: StrId) -> bool {
        let (page, wanted) = (self.page, &self.wanted);
        *self.texts.entry(id).or_insert_with(|| page.recording.text(id).to_lowercase().contains(wanted))
    }

    fn is_in_thread(&mut self, tid: i64) -> bool {
        let (page, wanted) = (self.page, &self.wanted);
        let name = || page.thread_name(page.threads.number(tid));
        *self.threads.entry(tid).or_insert_with(|| name().to_lowercase().contains(wanted))
    }
}
