//! One series of runs over time: where it changed, and what changed with it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::appearance::Appearance;
use crate::comparable::percent;
use crate::facts::{Facts, FactsCompared};
use crate::lost::{self, LostDifference};
use crate::measures::Measure;
use crate::run::Run;
use crate::statistics::{ChangePoint, FALSE_ALARMS, change_points};
use crate::verdict::SCHEMA;

/// A lasting change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mark {
    /// The first run after it, counted from 0.
    pub at: usize,
    /// Which measures changed, and by how much each: 0.1 is 10 % more.
    pub measures: Vec<(Measure, f64)>,
    /// How likely as clear a change is when there is none.
    pub chance: f64,
    /// Facts that differ between the runs before and after, up to the neighbouring marks.
    pub facts: FactsCompared,
    /// Causes that appeared or went.
    pub causes: Vec<LostDifference>,
}

impl Mark {
    /// What changed in words, for example `p50 +41 %, mean +41 %`.
    pub fn by(&self) -> String {
        let changes = self.measures.iter().map(|(measure, by)| format!("{} {}", measure.name(), percent(*by)));
        changes.collect::<Vec<_>>().join(", ")
    }

    /// Facts that changed at the same time, and causes that appeared or went, one sentence each.
    pub fn with_it(&self) -> Vec<String> {
        let facts = self.facts.given.iter();
        let facts = facts.map(|one| format!("{} {} → {}", one.fact, one.a.join(", "), one.b.join(", ")));
        let causes = self.causes.iter().map(|one| {
            let became = if one.b_runs > 0 { "appeared" } else { "went" };
            format!("{} {became}", one.id)
        });
        facts.chain(causes).collect()
    }
}

/// Runs in order of time, with their marks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct History {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The runs, the first one first.
    pub runs: Vec<Run>,
    /// Where they changed.
    pub marks: Vec<Mark>,
    /// How often a series without a change gets a mark.
    pub false_alarms: f64,
}

/// Changes of two measures this many runs apart, or fewer, are one change.
const SAME_CHANGE: usize = 1;

impl History {
    /// Of runs in any order.
    pub fn of(mut runs: Vec<Run>) -> History {
        runs.sort_by_key(|run| run.from_ns);
        let marks = marks(&runs);
        History { schema: SCHEMA, runs, marks, false_alarms: FALSE_ALARMS }
    }

    /// The causes of all runs by their ids. The first one lost the most time.
    pub fn causes(&self) -> Vec<&str> {
        let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
        for (id, ns) in self.runs.iter().flat_map(|run| &run.causes) {
            *sums.entry(id).or_default() += ns;
        }
        let mut causes: Vec<(&str, f64)> = sums.into_iter().collect();
        causes.sort_by(|x, y| y.1.total_cmp(&x.1));
        causes.into_iter().map(|(id, _)| id).collect()
    }
}

fn marks(runs: &[Run]) -> Vec<Mark> {
    let has_requests = runs.iter().all(|run| run.latencies.is_some());
    let deciding: Vec<Measure> = Measure::ALL.into_iter().filter(|measure| measure.decides(has_requests)).collect();
    let level = FALSE_ALARMS / deciding.len() as f64;
    let of_measure = |measure: &Measure| {
        let values: Option<Vec<f64>> =
            runs.iter().map(|run| measure.of(run).map(|value| measure.logarithm(value))).collect();
        let points = values.map_or_else(Vec::new, |values| change_points(&values, level));
        points.into_iter().map(|point| (*measure, point)).collect::<Vec<_>>()
    };
    let mut points: Vec<(Measure, ChangePoint)> = deciding.iter().flat_map(of_measure).collect();
    points.sort_by_key(|(_, point)| point.at);
    let changes: Vec<&[(Measure, ChangePoint)]> =
        points.chunk_by(|(_, one), (_, next)| next.at - one.at <= SAME_CHANGE).collect();
    let places: Vec<usize> = changes.iter().filter_map(|change| clearest(change)).map(|point| point.at).collect();
    let bounds = |index: usize| {
        let before = if index == 0 { 0 } else { places[index - 1] };
        [before, places[index], places.get(index + 1).copied().unwrap_or(runs.len())]
    };
    changes.iter().enumerate().map(|(index, change)| mark(runs, bounds(index), change)).collect()
}

fn clearest(change: &[(Measure, ChangePoint)]) -> Option<&ChangePoint> {
    change.iter().map(|(_, point)| point).max_by(|x, y| x.by.abs().total_cmp(&y.by.abs()))
}

fn mark(runs: &[Run], [from, at, to]: [usize; 3], change: &[(Measure, ChangePoint)]) -> Mark {
    let (before, after) = (&runs[from..at], &runs[at..to]);
    let facts = |runs: &[Run]| -> Vec<Facts> { runs.iter().map(|run| run.facts.clone()).collect() };
    let (of_before, of_after) = (facts(before), facts(after));
    let mut causes = lost::compare(before, after, |run| &run.causes);
    causes.retain(|one| one.became != Appearance::Both);
    Mark {
        at,
        measures: change.iter().map(|(measure, point)| (*measure, point.by.exp_m1())).collect(),
        chance: change.iter().map(|(_, point)| point.chance).fold(1.0, f64::min),
        facts: FactsCompared::of(&of_before.iter().collect::<Vec<_>>(), &of_after.iter().collect::<Vec<_>>()),
        causes,
    }
}
