//! Everything that calls a frame, or everything that it calls, over all places where it stands.

use super::flame::{Direction, Graph, table};
use super::weights::Weights;
use super::{Answer, Others};
use crate::loaded::Loaded;
use crate::query::Query;
use crate::refused::Refused;

/// Paths with a smaller share of the frame's weight are cut if a question does not say otherwise.
const MIN_SHARE: f64 = 0.001;

/// Answers `sandwich`.
pub(super) fn answer(page: &Loaded, query: &Query, others: &dyn Others) -> Result<Answer, Refused> {
    let name = query.required("frame", "the name of a frame")?;
    let direction = match query.text("side") {
        Some("callers") => Direction::Callers,
        Some("callees") => Direction::Callees,
        other => return Err(Refused::parameter("side", other.unwrap_or(""), "callers or callees")),
    };
    let min_share = query.share("min_share", MIN_SHARE)?;
    let weights = Weights::of(page, query, others)?;
    let graph = Graph::new(page, &weights);
    let is_wanted: Vec<bool> =
        (0..graph.places() as u32).map(|place| place > 0 && graph.text(place).0 == name).collect();
    let Some(shown) = is_wanted.iter().position(|is| *is) else { return Err(Refused::not_there("frame", name)) };
    let start = graph.all_of(|place| is_wanted[place as usize], shown as u32);
    table(&graph, &weights, graph.rows(start, direction, min_share))
}
