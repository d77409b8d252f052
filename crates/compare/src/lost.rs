//! What each side lost, cause by cause and state by state, and what appeared or went.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::appearance::Appearance;
use crate::run::Run;

/// Thread time of a cause or a state on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LostDifference {
    /// The id of the cause, or what the state is called.
    pub id: String,
    /// In how many runs of the first side it is.
    pub a_runs: usize,
    /// In how many of the second.
    pub b_runs: usize,
    /// Mean over the runs of the first side of thread time per request, or per second where requests are not known, in ns.
    pub a_ns: f64,
    /// The same of the second side.
    pub b_ns: f64,
    /// What became of it.
    pub became: Appearance,
}

/// All of a kind, those that changed most first.
pub(crate) fn compare(a: &[Run], b: &[Run], of: fn(&Run) -> &BTreeMap<String, f64>) -> Vec<LostDifference> {
    let ids: BTreeSet<&String> = a.iter().chain(b).flat_map(|run| of(run).keys()).collect();
    let mut all: Vec<LostDifference> = ids.into_iter().map(|id| difference(id, a, b, of)).collect();
    let by = |one: &LostDifference| (one.b_ns - one.a_ns).abs();
    all.sort_by(|x, y| by(y).total_cmp(&by(x)));
    all
}

fn difference(id: &str, a: &[Run], b: &[Run], of: fn(&Run) -> &BTreeMap<String, f64>) -> LostDifference {
    let runs = |side: &[Run]| side.iter().filter(|run| of(run).contains_key(id)).count();
    let mean = |side: &[Run]| {
        let all = side.iter().map(|run| run.per_unit(of(run).get(id).copied().unwrap_or(0.0)));
        all.sum::<f64>() / side.len().max(1) as f64
    };
    let (a_runs, b_runs) = (runs(a), runs(b));
    let is_in_most = |runs: usize, side: &[Run]| 2 * runs > side.len();
    let became = match (a_runs, b_runs) {
        (0, of_b) if is_in_most(of_b, b) => Appearance::Appeared,
        (of_a, 0) if is_in_most(of_a, a) => Appearance::Went,
        _ => Appearance::Both,
    };
    LostDifference { id: id.to_owned(), a_runs, b_runs, a_ns: mean(a), b_ns: mean(b), became }
}
