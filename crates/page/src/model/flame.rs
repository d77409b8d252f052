//! The flame graph of a selection, of callers from the root or of callees from the leaves, beside a baseline.
//!
//! Paths below a share of the whole on both sides are cut, and the number of cut paths is reported.

use arrow_array::types::{Float64Type, UInt16Type, UInt32Type};

use super::weights::{Base, Side, Weights};
use super::{Answer, Others, select};
use crate::columns::Columns;
use crate::index::tree::{Place, Tree};
use crate::loaded::Loaded;
use crate::query::Query;
use crate::refused::Refused;

/// Paths with a smaller share of the whole are cut if a question does not say otherwise.
const MIN_SHARE: f64 = 0.000_5;

/// A flame graph has no more rows than this: the share below which paths are cut is raised until it fits.
const ROWS_MAX: usize = 50_000;

/// Answers `flame`.
pub(super) fn answer(page: &Loaded, query: &Query, others: &dyn Others) -> Result<Answer, Refused> {
    let weights = Weights::of(page, query, others)?;
    let min_share = query.share("min_share", MIN_SHARE)?;
    let is_inverted = query.flag("inverted")?;
    let root = select::node(page, query, "root")?;
    if is_inverted && root > 0 {
        return Err(Refused::parameter("root", &root.to_string(), "no root together with inverted=1"));
    }
    let graph = Graph::new(page, &weights);
    let start = if is_inverted { graph.leaves() } else { graph.path_to(root as u32) };
    let direction = if is_inverted { Direction::Callers } else { Direction::Callees };
    table(&graph, &weights, graph.rows(start, direction, min_share))
}

/// Which way a graph grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Callees,
    Callers,
}

/// A node of one of the two trees, with the weight that it brings into a row.
#[derive(Debug, Clone, Copy)]
struct Item {
    node: u32,
    is_base: bool,
    weight: f64,
}

/// A row to come: nodes that are one path on the graph.
#[derive(Debug, Clone)]
pub(super) struct Group {
    place: u32,
    depth: u16,
    total: f64,
    base_total: f64,
    items: Vec<Item>,
}

/// A row of the graph.
#[derive(Debug, Clone)]
pub(super) struct Row {
    depth: u16,
    place: u32,
    node: u32,
    total: f64,
    own: f64,
    base_total: f64,
    base_own: f64,
}

/// The rows of a graph, and what was left out.
pub(super) struct Rows {
    rows: Vec<Row>,
    /// Paths that were cut, each with all below it.
    cut: u64,
    /// Share of the whole below which they were.
    min_share: f64,
}

/// The two sides of a comparison with a common numbering of places.
pub(super) struct Graph<'a> {
    page: &'a Loaded,
    side: &'a Side,
    base: Option<&'a Base>,
    /// Number in common of each place of the other recording.
    place_of_other: Vec<u32>,
    /// Places that only the other recording has.
    only_other: Vec<u32>,
}

impl<'a> Graph<'a> {
    pub(super) fn new(page: &'a Loaded, weights: &'a Weights) -> Graph<'a> {
        let mut graph = Graph {
            page,
            side: &weights.side,
            base: weights.base.as_ref(),
            place_of_other: Vec::new(),
            only_other: Vec::new(),
        };
        if let Some(other) = weights.base.as_ref().and_then(|base| base.page.as_deref()) {
            graph.match_places(other);
        }
        graph
    }

    /// Both lists are sorted by text, so that walking along both finds the pairs.
    fn match_places(&mut self, other: &Loaded) {
        fn text<'t>(page: &'t Loaded, place: &Place) -> (&'t str, &'t str) {
            (page.recording.text(place.symbol), page.recording.text(place.kind))
        }
        let own = &self.page.tree.places;
        let mut next = 0;
        for (number, place) in (0..).zip(&other.tree.places) {
            let wanted = text(other, place);
            while own.get(next).is_some_and(|place| text(self.page, place) < wanted) {
                next += 1;
            }
            let found = own.get(next).is_some_and(|place| text(self.page, place) == wanted);
            self.place_of_other.push(if found { next as u32 } else { (own.len() + self.only_other.len()) as u32 });
            if !found {
                self.only_other.push(number);
            }
        }
    }

    /// Symbol, kind and module of a place.
    pub(super) fn text(&self, place: u32) -> (&str, &str, &str) {
        let own = &self.page.tree.places;
        let (page, place) = match own.get(place as usize) {
            Some(place) => (self.page, *place),
            None => {
                let other = self.base.and_then(|base| base.page.as_deref()).unwrap_or(self.page);
                let number = self.only_other.get(place as usize - own.len()).copied().unwrap_or(0);
                (other, other.tree.places.get(number as usize).copied().unwrap_or_default())
            }
        };
        let text = |id| page.recording.text(id);
        (text(place.symbol), text(place.kind), text(place.module))
    }

    /// How many places there are on both sides together.
    pub(super) fn places(&self) -> usize {
        self.page.tree.places.len() + self.only_other.len()
    }

    fn tree(&self, is_base: bool) -> &Tree {
        let other = self.base.filter(|_| is_base).and_then(|base| base.page.as_deref());
        other.map_or(&self.page.tree, |other| &other.tree)
    }

    fn side(&self, is_base: bool) -> Option<&Side> {
        if is_base { self.base.map(|base| &base.side) } else { Some(self.side) }
    }

    /// The sides that there are.
    pub(super) fn sides(&self) -> impl Iterator<Item = (bool, &Tree, &Side)> {
        [false, true].into_iter().filter_map(|is_base| Some((is_base, self.tree(is_base), self.side(is_base)?)))
    }

    /// The place of a node in the common numbering.
    pub(super) fn place(&self, node: u32, is_base: bool) -> u32 {
        let place = self.tree(is_base).place[node as usize];
        let is_other = is_base && !self.place_of_other.is_empty();
        if is_other { self.place_of_other[place as usize] } else { place }
    }

    /// The row of a node of the selection's tree, with the node of the same path on the other side.
    fn path_to(&self, node: u32) -> Group {
        let mut path = Vec::new();
        let mut up = node;
        while up != 0 {
            path.push(self.place(up, false));
            up = self.page.tree.parent[up as usize];
        }
        let mut items = vec![Item { node, is_base: false, weight: self.side.total[node as usize] }];
        let same = || {
            path.iter()
                .rev()
                .try_fold(0, |at, place| self.tree(true).children(at).find(|child| self.place(*child, true) == *place))
        };
        if let (Some(base), Some(node)) = (self.side(true), same()) {
            items.push(Item { node, is_base: true, weight: base.total[node as usize] });
        }
        group(path.first().copied().unwrap_or(0), 0, items)
    }

    /// The row of all leaves.
    fn leaves(&self) -> Group {
        let items = self.sides().flat_map(|(is_base, _, side)| {
            let own = (0..).zip(&side.own).filter(|(_, weight)| **weight > 0.0);
            own.map(move |(node, weight)| Item { node, is_base, weight: *weight })
        });
        // The root stands for all of them; it has no place, so that its callers are the leaves.
        group(0, 0, items.collect())
    }

    /// The row of a place: all nodes that have it and are not below another one that has it.
    pub(super) fn all_of(&self, is_wanted: impl Fn(u32) -> bool, shown: u32) -> Group {
        let mut items = Vec::new();
        for (is_base, tree, side) in self.sides() {
            let mut node = 1;
            while (node as usize) < tree.len() {
                let is_one = is_wanted(self.place(node, is_base));
                if is_one && side.total[node as usize] > 0.0 {
                    items.push(Item { node, is_base, weight: side.total[node as usize] });
                }
                node = if is_one { tree.end[node as usize] } else { node + 1 };
            }
        }
        group(shown, 0, items)
    }

    /// The rows from `start` on, cut where they have less than a share of the whole on both sides.
    pub(super) fn rows(&self, start: Group, direction: Direction, min_share: f64) -> Rows {
        let whole = start.total.max(start.base_total);
        let mut min_share = min_share;
        loop {
            if let Some((rows, cut)) = self.grow(start.clone(), direction, min_share * whole) {
                return Rows { rows, cut, min_share };
            }
            min_share = (min_share * 2.0).max(MIN_SHARE / 16.0);
        }
    }

    /// The rows in preorder and how many paths were cut; `None` when there are too many.
    fn grow(&self, start: Group, direction: Direction, least: f64) -> Option<(Vec<Row>, u64)> {
        let is_leaves = direction == Direction::Callers && start.place == 0;
        let mut rows = Vec::new();
        let mut cut = 0;
        let mut pending = vec![start];
        while let Some(group) = pending.pop() {
            let next = match direction {
                Direction::Callers if is_leaves && rows.is_empty() => {
                    group.items.iter().copied().filter(|item| item.node != 0).collect()
                }
                Direction::Callers => self.callers(&group.items),
                Direction::Callees => self.callees(&group.items),
            };
            rows.push(self.row(&group, direction, &next));
            if rows.len() > ROWS_MAX {
                return None;
            }
            let groups = self.by_place(next, group.depth + 1);
            let before = pending.len();
            let found = groups.len();
            pending.extend(groups.into_iter().filter(|group| group.total.max(group.base_total) >= least));
            cut += (found - (pending.len() - before)) as u64;
            // What has most is drawn first, so it has to be the last in the list.
            pending[before..].sort_by(|a, b| a.total.total_cmp(&b.total).then(b.place.cmp(&a.place)));
        }
        Some((rows, cut))
    }

    fn callees(&self, items: &[Item]) -> Vec<Item> {
        let mut next = Vec::new();
        for item in items {
            let Some(side) = self.side(item.is_base) else { continue };
            let children = self.tree(item.is_base).children(item.node);
            let children = children.map(|node| Item { node, weight: side.total[node as usize], ..*item });
            next.extend(children.filter(|item| item.weight > 0.0));
        }
        next
    }

    fn callers(&self, items: &[Item]) -> Vec<Item> {
        let up = |item: &Item| Item { node: self.tree(item.is_base).parent[item.node as usize], ..*item };
        items.iter().map(up).filter(|item| item.node != 0).collect()
    }

    fn row(&self, group: &Group, direction: Direction, next: &[Item]) -> Row {
        let own = |is_base: bool| -> f64 {
            let of_side = group.items.iter().filter(|item| item.is_base == is_base);
            match (direction, self.side(is_base)) {
                (_, None) => 0.0,
                (Direction::Callees, Some(side)) => of_side.map(|item| side.own[item.node as usize]).sum(),
                // A path that goes no further up ends here.
                (Direction::Callers, Some(_)) => {
                    let further: f64 = next.iter().filter(|item| item.is_base == is_base).map(|item| item.weight).sum();
                    (of_side.map(|item| item.weight).sum::<f64>() - further).max(0.0)
                }
            }
        };
        // What only the baseline of this recording has is a node of its tree as well.
        let is_here = |item: &Item| !item.is_base || self.base.is_none_or(|base| base.page.is_none());
        let first = group.items.iter().find(|item| is_here(item) && group.place != 0);
        let node = first.map_or(0, |item| item.node);
        Row {
            depth: group.depth,
            place: group.place,
            node,
            total: group.total,
            own: own(false),
            base_total: group.base_total,
            base_own: own(true),
        }
    }

    /// Nodes put together by place.
    fn by_place(&self, items: Vec<Item>, depth: u16) -> Vec<Group> {
        let mut placed: Vec<(u32, Item)> =
            items.into_iter().map(|item| (self.place(item.node, item.is_base), item)).collect();
        placed.sort_by_key(|(place, _)| *place);
        let chunks = placed.chunk_by(|a, b| a.0 == b.0);
        chunks.map(|chunk| group(chunk[0].0, depth, chunk.iter().map(|(_, item)| *item).collect())).collect()
    }
}

fn group(place: u32, depth: u16, items: Vec<Item>) -> Group {
    let sum = |is_base: bool| {
        let of_side = items.iter().filter(|item| item.is_base == is_base);
        0.0 + of_side.map(|item| item.weight).sum::<f64>()
    };
    Group { place, depth, total: sum(false), base_total: sum(true), items }
}

/// The rows as a table.
pub(super) fn table(graph: &Graph<'_>, weights: &Weights, found: Rows) -> Result<Answer, Refused> {
    let rows = &found.rows;
    let name = |row: &Row| if row.place == 0 { "all" } else { graph.text(row.place).0 };
    let base = |value: f64| if weights.base.is_some() { value } else { f64::NAN };
    let columns = Columns::default()
        .numbers::<UInt16Type>("depth", rows.iter().map(|row| row.depth))
        .words("name", rows.iter().map(name))
        .words("kind", rows.iter().map(|row| graph.text(row.place).1))
        .words("module", rows.iter().map(|row| graph.text(row.place).2))
        .numbers::<UInt32Type>("node", rows.iter().map(|row| row.node))
        .numbers::<Float64Type>("total", rows.iter().map(|row| row.total))
        .numbers::<Float64Type>("self", rows.iter().map(|row| row.own))
        .numbers::<Float64Type>("base_total", rows.iter().map(|row| base(row.base_total)))
        .numbers::<Float64Type>("base_self", rows.iter().map(|row| base(row.base_own)))
        .note("cut", found.cut)
        .note("min_share", found.min_share);
    Answer::table(notes(columns, weights))
}

/// What is said of a selection as a whole.
pub(super) fn notes(columns: Columns, weights: &Weights) -> Columns {
    let root = |side: &Side| side.total.first().copied().unwrap_or(0.0);
    let columns = columns
        .note("unit", weights.unit.name())
        .note("samples", weights.side.samples)
        .note("total", root(&weights.side))
        .note("duration_ns", weights.side.duration_ns);
    match &weights.base {
        None => columns,
        Some(base) => columns
            .note("base_samples", base.side.samples)
            .note("base_total", root(&base.side))
            .note("base_duration_ns", base.side.duration_ns),
    }
}
