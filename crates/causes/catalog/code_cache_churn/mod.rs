//! Compiled code is thrown away and compiled again because it does not fit into the code cache.
//!
//! Two regimes. *Churn*: the JVM frees code and the compilers make it again, so their share of the CPU is high long after
//! start-up. *Starved*: the cache stays nearly full, the compilers are held back, and the application runs interpreted. The
//! cause needs neither a high compiler share nor a warning in the log.

use fathom_evidence::kinds::{counter, span};
use fathom_timeline::{CODE_CACHE_PINNED, Layer, Origin, ThreadState};

use crate::measure::code_cache::CodeCache;
use crate::measure::collections::collection_of;
use crate::{Cause, Comparison, Evidence, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "code_cache_churn",
    readme: include_str!("README.md"),
    family: Family::Collections,
    refines: &[
        Refined::Cause("class_loading"),
        Refined::Cause("deoptimization_storm"),
        Refined::Cause("jit_warm_up"),
        Refined::Family(Family::Cpu),
        Refined::Family(Family::Load),
    ],
    equals: &[],
    has_lab: true,
    collectors: &["jfr"],
    needs: &[
        &[Need::Collections],
        &[Need::Counter(counter::CODE_CACHE_USED_BYTES), Need::Counter(counter::COMPILE_CODE_BYTES)],
    ],
    actions: &[
        "-XX:ReservedCodeCacheSize=240m or more (the default), or drop the setting",
        "look for what makes so much code: class loaders or proxies per request, lambda forms, generated classes",
    ],
    decide,
};

/// Code made in the recording, and code freed in it, as a share of the cache: less is upkeep.
const TURNED: f64 = 0.25;

/// Code made since start as a multiple of the cache: from here on some of it was freed.
const TURNED_OVER: f64 = 1.0;

/// Collections for the code cache. A warm-up in a cache of ample size has one or two.
const COLLECTIONS: usize = 5;

/// Share of interpreted code that shows that hot methods have no compiled code.
const HOT_CODE_INTERPRETED: f64 = 0.2;

fn decide(comparison: &Comparison<'_>) -> Finding {
    let cache = CodeCache::of(comparison);
    if !cache.is_known() {
        return unknown(comparison);
    }
    let support = support(&cache);
    if support == Support::Absent && (cache.made.is_none() || cache.fullest.is_none()) {
        // A few collections to free code say neither yes nor no.
        return Finding::needs_jfr("neither the code cache nor the compilers were recorded");
    }
    if let Some(fullest) = cache.fullest.filter(|fullest| *fullest >= CODE_CACHE_PINNED && !cache.is_sampled)
        && support == Support::Absent
    {
        return Finding::needs_jfr(&format!(
            "the code cache is {} full; what ran interpreted was not sampled",
            format::percent(fullest)
        ));
    }
    let finding = Finding::new(support, says(comparison, &cache, support))
        .with_all(evidence(comparison, &cache))
        .drawn_by(&[counter::CODE_CACHE_USED_BYTES, counter::COMPILE_COUNT]);
    match support {
        Support::Absent => finding,
        _ => finding.claiming(comparison, is_ours),
    }
}

fn unknown(comparison: &Comparison<'_>) -> Finding {
    // Since JDK 20 it is the collector that frees code, and says so.
    match comparison.jdk() {
        Some(jdk) if jdk >= 20 && comparison.has_collections() => {
            Finding::absent("no collection was started to free code")
        }
        _ => Finding::needs_jfr("neither the code cache nor the compilers were recorded"),
    }
}

fn support(cache: &CodeCache) -> Support {
    let made = cache.made.is_some_and(|made| made >= TURNED);
    let freed_share = cache.reserved_bytes.map_or(0.0, |reserved| cache.freed_bytes / reserved);
    let frees = cache.collections >= COLLECTIONS || freed_share >= TURNED || cache.swept_methods > 0;
    let turned_over = cache.turnover.is_some_and(|turnover| turnover >= TURNED_OVER);
    let starved = cache.fullest.is_some_and(|fullest| fullest >= CODE_CACHE_PINNED)
        && cache.interpreted.0 >= HOT_CODE_INTERPRETED
        && cache.compilations_per_second.is_some_and(|(now, _)| now > 0.0)
        && cache.compiler_is_off() != Some(true);
    match (made && turned_over, frees) {
        (true, true) => Support::Observed,
        // Without counters of the compiler, that the JVM keeps freeing code is all there is to see.
        (_, true) if cache.made.is_none() && cache.collections >= COLLECTIONS => Support::Observed,
        // More was made than fits, so code was freed; only how was not recorded.
        (true, false) => Support::Consistent,
        _ if starved => Support::Observed,
        // Stops for the code cache are its own, however few.
        _ if cache.collections_per_second.0 > 0.0 => Support::Weak,
        _ => Support::Absent,
    }
}

fn is_ours(state: ThreadState) -> bool {
    let frees_code = collection_of(state).is_some_and(|collection| collection.origin == Origin::CodeCache);
    frees_code || matches!(state, ThreadState::Compiler | ThreadState::Running(Layer::Interpreted))
}

fn says(comparison: &Comparison<'_>, cache: &CodeCache, support: Support) -> String {
    let mut parts = Vec::new();
    if let (Some(turnover), Some(reserved)) = (cache.turnover, cache.reserved_bytes) {
        parts.push(format!(
            "code made since start is {} × the {} cache",
            format::number(turnover),
            format::bytes(reserved)
        ));
    }
    if support == Support::Absent {
        if let Some(fullest) = cache.fullest {
            parts.push(format!("at most {} full", format::percent(fullest)));
        }
        parts.push(format!("{} to free code", format::count(cache.collections, "collection")));
        return parts.join(", ");
    }
    let compilers = comparison.excess_threads(|state| state == ThreadState::Compiler);
    if compilers >= 0.01 {
        parts.insert(0, format!("compiler threads +{} of a core", format::percent(compilers)));
    }
    if cache.collections > 0 {
        parts.push(format!("{} collections per second to free code", format::number(cache.collections_per_second.0)));
    }
    if let Some((lowest, highest)) = cache.swing_bytes {
        parts.push(format!("occupancy {} to {}", format::bytes(lowest), format::bytes(highest)));
    }
    if cache.interpreted.0 > cache.interpreted.1.unwrap_or(0.0) {
        parts.push(format!("{} of the application's code runs interpreted", format::percent(cache.interpreted.0)));
    }
    parts.join("; ")
}

fn evidence(comparison: &Comparison<'_>, cache: &CodeCache) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    let compilers = comparison.state_evidence("compiler threads", "cores", |state| state == ThreadState::Compiler);
    let interpreted = cache.interpreted_evidence(comparison);
    let collections = comparison
        .evidence("collections to free code", cache.collections_per_second, "1/s", "spans")
        .of(&[span::GC_PAUSE, span::GC]);
    evidence.extend([compilers, interpreted, collections].into_iter().filter(|evidence| evidence.value > 0.0));
    evidence.extend(cache.compilations_evidence(comparison));
    let mut add = |says: &str, value: Option<f64>, unit: &str, (table, word): (&str, &str)| {
        evidence.extend(value.map(|value| comparison.evidence(says, (value, None), unit, table).of(&[word])));
    };
    let (code, used) = (("counters", counter::COMPILE_CODE_BYTES), ("counters", counter::CODE_CACHE_USED_BYTES));
    add("code made since start, in sizes of the cache", cache.turnover, "times", code);
    add("code made in the recording, in sizes of the cache", cache.made, "times", code);
    add("fullest segment", cache.fullest, "ratio", used);
    add("size of the cache", cache.reserved_bytes, "bytes", ("facts", "ReservedCodeCacheSize"));
    let freed = cache.swing_bytes.map(|_| cache.freed_bytes);
    add("code freed as seen by falling occupancy", freed, "bytes", used);
    if let Some((method, count)) = &cache.most_compiled {
        add(
            &format!("compilations of {method} at one level"),
            Some(*count as f64),
            "count",
            ("spans", span::COMPILATION),
        );
    }
    evidence
}
