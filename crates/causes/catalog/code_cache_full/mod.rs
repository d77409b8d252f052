//! The code cache is full and the compiler is switched off: new hot code stays interpreted.

use fathom_evidence::kinds::{counter, span};
use fathom_timeline::{Layer, ThreadState};

use crate::measure::code_cache::CodeCache;
use crate::signs::Signs;
use crate::{Cause, Comparison, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "code_cache_full",
    readme: include_str!("README.md"),
    family: Family::Compiler,
    refines: &[
        Refined::Cause("class_loading"),
        Refined::Cause("code_cache_churn"),
        Refined::Family(Family::Compiler),
        Refined::Family(Family::Cpu),
        Refined::Family(Family::Load),
    ],
    equals: &[],
    has_lab: true,
    collectors: &["jfr"],
    needs: &[&[
        Need::Event("jdk.CodeCacheFull"),
        Need::Counter(counter::CODE_CACHE_USED_BYTES),
        Need::Counter(counter::COMPILE_COUNT),
    ]],
    actions: &[
        "-XX:ReservedCodeCacheSize=240m or more (the default); restart, since a compiler that is off stays off",
        "never -XX:-UseCodeCacheFlushing: it makes \"full\" permanent",
    ],
    decide,
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    if let Some(share) = Signs::of(comparison).interpreted {
        return Finding::needs_requests(&format!(
            "the compiler is off since the code cache was full, and {} of the application's code ran interpreted: whether anybody \
             felt it is not known",
            format::percent(share)
        ));
    }
    let cache = CodeCache::of(comparison);
    let finding = match (cache.failures, cache.compiler_is_off()) {
        (0, _) if !cache.is_known() => {
            return Finding::needs_jfr("neither the code cache nor the compilers were recorded");
        }
        (0, _) if !tells_of_failures(comparison, &cache) => {
            return Finding::needs_jfr("whether an allocation in the code cache failed was not recorded");
        }
        (0, _) => return Finding::absent(format!("no allocation in the code cache failed{}", fullest(&cache))),
        _ if !cache.is_sampled => {
            let says = format!(
                "the code cache was full {}; what ran interpreted since was not sampled",
                format::count(cache.failures, "time")
            );
            return Finding::needs_jfr(&says);
        }
        _ if cache.interpreted.0 <= 0.0 && !comparison.is_slow() => {
            let full = format::count(cache.failures, "time");
            return Finding::absent(format!("the cache was full {full}, and what runs had been compiled before"));
        }
        (_, Some(false)) => {
            return Finding::absent(format!(
                "the cache was full {} but compiling went on",
                format::count(cache.failures, "time")
            ));
        }
        (_, Some(true)) => Finding::new(Support::Observed, says(&cache)),
        // The cache is full now and then where code is thrown away and made anew as well.
        (_, None) => Finding::new(Support::Weak, says(&cache)),
    };
    let finding = finding
        .drawn_by(&[counter::CODE_CACHE_USED_BYTES, span::CODE_CACHE_FULL])
        .with(
            comparison
                .evidence("failed allocations in the code cache", (cache.failures as f64, None), "count", "spans")
                .of(&[span::CODE_CACHE_FULL]),
        )
        .with(cache.interpreted_evidence(comparison));
    finding
        .claiming(comparison, |state| matches!(state, ThreadState::Compiler | ThreadState::Running(Layer::Interpreted)))
}

/// Whether a cache that was full would have been seen, or a compiler that was off.
fn tells_of_failures(comparison: &Comparison<'_>, cache: &CodeCache) -> bool {
    let compiles = cache.compilations_per_second.is_some_and(|(rate, _)| rate > 0.0);
    cache.fullest.is_some() || compiles || comparison.is_recorded("jdk.CodeCacheFull")
}

fn fullest(cache: &CodeCache) -> String {
    cache.fullest.map_or(String::new(), |fullest| format!(" (at most {} full)", format::percent(fullest)))
}

fn says(cache: &CodeCache) -> String {
    let compiling = cache
        .compilations_after_full_per_second
        .map_or(String::new(), |rate| format!("{} compilations per second since; ", format::number(rate)));
    format!(
        "the code cache was full {}; {compiling}{} of the application's code runs interpreted",
        format::count(cache.failures, "time"),
        format::percent(cache.interpreted.0)
    )
}
