//! The samples of a selection added up over the tree of stacks, beside those that it is compared with.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Others;
use super::select::{self, Stretch};
use crate::index::samples::{Sum, Unit};
use crate::index::threads::ThreadSet;
use crate::loaded::Loaded;
use crate::query::Query;
use crate::refused::Refused;

/// One side of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Side {
    /// Weight of each node itself.
    pub(crate) own: Vec<f64>,
    /// Weight of each node with all below it.
    pub(crate) total: Vec<f64>,
    pub(crate) samples: u64,
    pub(crate) duration_ns: f64,
}

impl Side {
    fn new(page: &Loaded, sum: Sum, duration_ns: f64) -> Side {
        Side { total: page.tree.add_up(&sum.own), own: sum.own, samples: sum.samples, duration_ns }
    }

    /// Nothing at all.
    fn empty(page: &Loaded) -> Side {
        let zeros = vec![0.0; page.tree.len()];
        Side { own: zeros.clone(), total: zeros, samples: 0, duration_ns: 0.0 }
    }

    fn scale(&mut self, factor: f64) {
        self.own.iter_mut().chain(&mut self.total).for_each(|weight| *weight *= factor);
    }
}

/// What a selection is compared with.
pub(crate) struct Base {
    /// The other recording; `None` for another part of the same one.
    pub(crate) page: Option<Arc<Loaded>>,
    /// Its weights, scaled to the duration of the selection.
    pub(crate) side: Side,
}

/// A selection's weights.
pub(crate) struct Weights {
    pub(crate) side: Side,
    pub(crate) base: Option<Base>,
    pub(crate) unit: Unit,
}

impl Weights {
    /// Adds up what a question selects.
    pub(crate) fn of(page: &Loaded, query: &Query, others: &dyn Others) -> Result<Weights, Refused> {
        let stretch = Stretch::of(page, query)?;
        let threads = select::threads(page, query)?;
        let Some(event) = select::event(page, query)? else {
            return Ok(Weights { side: Side::empty(page), base: None, unit: Unit::Samples });
        };
        let sum = event.sum(&[(stretch.from, stretch.to)], threads.as_ref(), page.tree.len());
        let side = Side::new(page, sum, stretch.covered(page).length());
        let compared = base(page, query, others, &event.word, threads.as_ref())?;
        let base = compared.map(|mut base| {
            let factor = if base.side.duration_ns > 0.0 { side.duration_ns / base.side.duration_ns } else { 0.0 };
            base.side.scale(factor);
            base
        });
        Ok(Weights { side, base, unit: event.unit })
    }
}

/// What `baseline` names: `none`, `baseline`, `FROM..TO` of the same recording, or `recording:ID`.
fn base(
    page: &Loaded,
    query: &Query,
    others: &dyn Others,
    event: &str,
    threads: Option<&ThreadSet>,
) -> Result<Option<Base>, Refused> {
    let text = query.text("baseline").unwrap_or("none");
    if text == "none" {
        return Ok(None);
    }
    if text == "baseline" {
        return Ok(match page.other() {
            Some((other, ranges)) => Some(of_other(page, other.clone(), ranges, event, threads)),
            None => (!page.baseline().is_empty()).then(|| of_same(page, page.baseline(), event, threads)),
        });
    }
    if let Some(id) = text.strip_prefix("recording:") {
        let expected = "recording:ID with the number of a recording";
        let id: u32 = id.parse().map_err(|_| Refused::parameter("baseline", text, expected))?;
        let other = others.recording(id)?;
        let whole = [(other.axis.from, other.axis.to)];
        return Ok(Some(of_other(page, other, &whole, event, threads)));
    }
    let stretch = Stretch::parse("baseline", text)?.covered(page);
    Ok(Some(of_same(page, &[(stretch.from, stretch.to)], event, threads)))
}

fn of_same(page: &Loaded, ranges: &[(i64, i64)], event: &str, threads: Option<&ThreadSet>) -> Base {
    Base { page: None, side: side(page, ranges, event, threads) }
}

fn of_other(
    page: &Loaded,
    other: Arc<Loaded>,
    ranges: &[(i64, i64)],
    event: &str,
    threads: Option<&ThreadSet>,
) -> Base {
    let same_threads = threads.map(|threads| of_same_name(page, &other, threads));
    let side = side(&other, ranges, event, same_threads.as_ref());
    Base { page: Some(other), side }
}

fn side(page: &Loaded, ranges: &[(i64, i64)], event: &str, threads: Option<&ThreadSet>) -> Side {
    let duration_ns = ranges.iter().map(|(from, to)| *to as f64 - *from as f64).sum();
    match page.events.iter().find(|known| known.word == event) {
        Some(event) => Side::new(page, event.sum(ranges, threads, page.tree.len()), duration_ns),
        None => Side { duration_ns, ..Side::empty(page) },
    }
}

/// The threads of another recording that have the names of these.
fn of_same_name(page: &Loaded, other: &Loaded, threads: &ThreadSet) -> ThreadSet {
    let mut by_name: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    for (number, thread) in other.threads.iter().enumerate() {
        by_name.entry(other.recording.text(thread.name)).or_default().push(number);
    }
    let mut same = ThreadSet::none_of(other.threads.len());
    for number in threads.iter() {
        let name = page.recording.text(page.threads[number].name);
        by_name.remove(name).into_iter().flatten().for_each(|number| same.insert(number));
    }
    same
}
