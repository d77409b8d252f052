//! The code cache is full and the compiler is switched off: new hot code stays interpreted.

use fathom_timeline::{Cell, Layer};

use crate::measure::code_cache::CodeCache;
use crate::{Case, Cause, Finding, Standing, say};

pub(crate) static CAUSE: Cause = Cause {
    id: "code_cache_full",
    readme: include_str!("README.md"),
    rank: 9,
    has_lab: false,
    actions: &[
        "-XX:ReservedCodeCacheSize=240m or more (the default); restart, since a compiler that is off stays off",
        "never -XX:-UseCodeCacheFlushing: it makes \"full\" permanent",
    ],
    decide,
};

fn decide(case: &Case<'_>) -> Finding {
    let cache = CodeCache::of(case);
    let finding = match (cache.full_events, cache.compiler_is_off()) {
        (0, _) if !cache.is_known() => {
            return Finding::needs_jfr("neither the code cache nor the compilers were recorded");
        }
        (0, _) => return Finding::absent(format!("no allocation in the code cache failed{}", fullest(&cache))),
        (_, Some(false)) => {
            return Finding::absent(format!(
                "the cache was full {} but compiling went on",
                say::count(cache.full_events, "time")
            ));
        }
        (_, Some(true)) => Finding::new(Standing::Seen, says(&cache)),
        (_, None) => Finding::new(Standing::Indicated, says(&cache)),
    };
    let finding = finding
        .with(case.evidence("failed allocations in the code cache", (cache.full_events as f64, None), "count", "spans"))
        .with(case.evidence("interpreted share of the application's code", cache.interpreted, "ratio", "samples"));
    finding.claiming(case, |cell| matches!(cell, Cell::Compiler | Cell::Running(Layer::Interpreted)))
}

fn fullest(cache: &CodeCache) -> String {
    cache.fullest.map_or(String::new(), |fullest| format!(" (at most {} full)", say::percent(fullest)))
}

fn says(cache: &CodeCache) -> String {
    let compiling = cache
        .compilations_after_full_per_second
        .map_or(String::new(), |rate| format!("{} compilations per second since; ", say::number(rate)));
    format!(
        "the code cache was full {}; {compiling}{} of the application's code runs interpreted",
        say::count(cache.full_events, "time"),
        say::percent(cache.interpreted.0)
    )
}
