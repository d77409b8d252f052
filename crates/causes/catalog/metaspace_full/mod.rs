//! Collections because metaspace reached its threshold or its limit: classes are loaded, and hardly any are unloaded.

use fathom_evidence::kinds::{counter, span};
use fathom_timeline::{Collection, Origin, ThreadState};

use crate::measure::collections::{are_met_by_many, are_noticed, collection_of, stops};
use crate::{Cause, Comparison, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "metaspace_full",
    readme: include_str!("README.md"),
    family: Family::Collections,
    refines: &[Refined::Family(Family::Load), Refined::Family(Family::Cpu)],
    equals: &[],
    has_lab: true,
    collectors: &["jfr"],
    needs: &[&[Need::Collections]],
    actions: &[
        "find what keeps loading classes: -Xlog:class+load, jcmd PID VM.classloaders, jcmd PID VM.metaspace",
        "a larger -XX:MetaspaceSize, the threshold of the first collection; a larger -XX:MaxMetaspaceSize, if that limit is reached",
    ],
    decide,
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    let collections = stops(comparison, is_ours);
    if collections.is_empty() && !comparison.excess().states.iter().any(|excess| is_of_metaspace(excess.state)) {
        return match comparison.has_collections() {
            true => Finding::absent("no collection because of metaspace in the slow time"),
            false => Finding::needs_gc_log(),
        };
    }
    let total: f64 = collections.iter().map(|(_, length)| *length as f64).sum();
    let longest = collections.iter().map(|(_, length)| *length).max().unwrap_or(0);
    let text = format!(
        "{} because {}: {} in all, the longest {}",
        format::count(collections.len(), "pause"),
        was_full(comparison),
        format::time(total),
        format::time(longest as f64)
    );
    // A JVM that starts reaches the first threshold once or twice: a tenth of a second is not noticed, unless requests show it.
    let is_felt = are_noticed(comparison, &collections) || are_met_by_many(comparison, &collections);
    let (support, text) = match is_felt {
        true => (Support::Observed, text),
        false => (Support::Weak, format!("{text}: little by itself, and there were no more of them")),
    };
    let count = (collections.len() as f64, None);
    Finding::new(support, text)
        .with(comparison.evidence("pauses because of metaspace", count, "count", "spans").of(&[span::GC_PAUSE]))
        .with(comparison.state_evidence(
            "stopped or busy with collections because of metaspace",
            "threads",
            is_of_metaspace,
        ))
        .with_all(metaspace_bytes(comparison).map(|bytes| {
            comparison
                .evidence("metaspace in use at most", (bytes, None), "bytes", "counters")
                .of(&[counter::METASPACE_USED_BYTES])
        }))
        .claiming(comparison, is_of_metaspace)
}

/// What had no room: the permanent generation of JDK 7 and before, if the collections report one.
fn was_full(comparison: &Comparison<'_>) -> String {
    let used = comparison.slow.pauses().filter_map(|(_, detail)| {
        let capacity = detail.permanent_capacity_bytes.filter(|bytes| *bytes > 0)?;
        Some(detail.permanent_before_bytes? as f64 / capacity as f64)
    });
    used.reduce(f64::max).map_or_else(
        || "metaspace reached its threshold".to_owned(),
        |share| format!("the permanent generation was {} in use", format::percent(share)),
    )
}

fn is_ours(collection: Collection) -> bool {
    collection.origin == Origin::Metaspace
}

fn is_of_metaspace(state: ThreadState) -> bool {
    collection_of(state).is_some_and(is_ours)
}

fn metaspace_bytes(comparison: &Comparison<'_>) -> Option<f64> {
    comparison.slow.max(&comparison.sources().counter_sum(counter::METASPACE_USED_BYTES))
}
