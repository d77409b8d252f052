//! The hottest frames of a selection: their own weight and that with everything they call, recursion counted once.

use arrow_array::types::Float64Type;

use super::flame::{Graph, notes};
use super::weights::{Side, Weights};
use super::{Answer, Others};
use crate::columns::Columns;
use crate::index::tree::Tree;
use crate::loaded::Loaded;
use crate::query::Query;
use crate::refused::Refused;

const LIMIT: usize = 200;
const LIMIT_MAX: usize = 10_000;

/// Own and total weight of each place.
#[derive(Debug, Clone, Copy, Default)]
struct Weight {
    own: f64,
    total: f64,
}

/// Answers `frames`.
pub(super) fn answer(page: &Loaded, query: &Query, others: &dyn Others) -> Result<Answer, Refused> {
    let limit = query.count("limit", LIMIT, LIMIT_MAX, "a number of rows up to 10000")?;
    let weights = Weights::of(page, query, others)?;
    let graph = Graph::new(page, &weights);
    let mut sums = vec![[Weight::default(); 2]; graph.places()];
    for (is_base, tree, side) in graph.sides() {
        add_up(&graph, is_base, tree, side, &mut sums);
    }
    let rank = sort_key(query)?;
    let mut rows: Vec<(u32, [Weight; 2])> = (0..).zip(sums).skip(1).filter(|(_, sum)| has_any(sum)).collect();
    let found = rows.len();
    rows.sort_by(|a, b| rank(&b.1).total_cmp(&rank(&a.1)).then(b.1[0].total.total_cmp(&a.1[0].total)));
    rows.truncate(limit);
    let base = |value: f64| if weights.base.is_some() { value } else { f64::NAN };
    let columns = Columns::default()
        .words("name", rows.iter().map(|(place, _)| graph.text(*place).0))
        .words("kind", rows.iter().map(|(place, _)| graph.text(*place).1))
        .words("module", rows.iter().map(|(place, _)| graph.text(*place).2))
        .numbers::<Float64Type>("self", rows.iter().map(|(_, [sum, _])| sum.own))
        .numbers::<Float64Type>("total", rows.iter().map(|(_, [sum, _])| sum.total))
        .numbers::<Float64Type>("base_self", rows.iter().map(|(_, [_, sum])| base(sum.own)))
        .numbers::<Float64Type>("base_total", rows.iter().map(|(_, [_, sum])| base(sum.total)))
        .note("frames", found);
    Answer::table(notes(columns, &weights))
}

fn has_any(sum: &[Weight; 2]) -> bool {
    sum.iter().any(|weight| weight.total > 0.0)
}

/// What rows are sorted by, the largest first.
fn sort_key(query: &Query) -> Result<fn(&[Weight; 2]) -> f64, Refused> {
    match query.text("sort").unwrap_or("self") {
        "self" => Ok(|[sum, base]| sum.own.max(base.own)),
        "total" => Ok(|[sum, base]| sum.total.max(base.total)),
        "growth" => Ok(|[sum, base]| (sum.own - base.own).abs()),
        other => Err(Refused::parameter("sort", other, "self, total or growth")),
    }
}

fn add_up(graph: &Graph<'_>, is_base: bool, tree: &Tree, side: &Side, sums: &mut [[Weight; 2]]) {
    // The end of the subtree that counts for a place already: what is within it is recursion.
    let mut counted_to = vec![0_u32; sums.len()];
    for node in 1..tree.len() {
        let total = side.total[node];
        if total == 0.0 {
            continue;
        }
        let place = graph.place(node as u32, is_base) as usize;
        let sum = &mut sums[place][usize::from(is_base)];
        sum.own += side.own[node];
        if node as u32 >= counted_to[place] {
            sum.total += total;
            counted_to[place] = tree.end[node];
        }
    }
}
