//! New classes bring code that has to be interpreted and compiled. If requests generate classes, the JVM never gets warm.

use fathom_timeline::{Intervals, Layer, ThreadState};

use super::series;
use crate::measure::growth;
use crate::measure::startup::is_mostly_startup;
use crate::period::Period;
use crate::{Claim, Comparison, Finding};

/// What runs until code is compiled, and what compiles it.
const NEW_CODE: [ThreadState; 2] = [ThreadState::Running(Layer::Interpreted), ThreadState::Compiler];

/// At a steady rate each half of the slow time has half of the classes, and this times as much is still one; a JVM that warms up loads
/// each class once, and nearly all of them in the first half.
const LOADS_ON: f64 = 0.5;

/// Claims what ran below class loaders, and all code that is new where more classes are loaded than before and that does not end.
pub(super) fn claiming(
    comparison: &Comparison<'_>,
    mut finding: Finding,
    below: Vec<Claim>,
    loaded: Option<(f64, Option<f64>)>,
) -> Finding {
    if !loaded.is_some_and(growth::grew) || is_mostly_startup(comparison) || !loads_on(&comparison.slow) {
        finding.claims.extend(below);
        return finding;
    }
    finding.says += "; it goes on for as long as it is slow, so what is interpreted and compiled is new code";
    let grown = NEW_CODE.map(|state| Claim::part(state, comparison.grown_ns(state)));
    finding.claims.extend(grown.into_iter().filter(|claim| claim.grown_ns(comparison) > 0.0));
    finding.claims.extend(below.into_iter().filter(|claim| !NEW_CODE.contains(&claim.state)));
    finding
}

/// Whether the second half of a period loads classes as the first one does.
fn loads_on(slow: &Period<'_>) -> bool {
    let loaded = series(slow);
    let all = slow.rise(&loaded);
    let half_ns = slow.time.total_ns() / 2;
    let mut seen_ns = 0;
    let later = slow.time.iter().filter_map(|(from_ns, to_ns)| {
        let skipped_ns = (half_ns - seen_ns).clamp(0, to_ns - from_ns);
        seen_ns += to_ns - from_ns;
        (skipped_ns < to_ns - from_ns).then_some((from_ns + skipped_ns, to_ns))
    });
    let later = Period::new(slow.sources, Intervals::union(later.collect()));
    all > 0.0 && later.rise(&loaded) >= LOADS_ON * all / 2.0
}
