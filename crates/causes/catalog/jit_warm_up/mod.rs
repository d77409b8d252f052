//! The JVM runs new code: it interprets and compiles it, once.

use fathom_evidence::kinds::{counter, span};
use fathom_evidence::tables::Span;
use fathom_timeline::{Layer, ThreadState};

use crate::limits::MINOR_SHARE;
use crate::measure::code_cache::CodeCache;
use crate::measure::startup::is_mostly_startup;
use crate::{Cause, Comparison, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "jit_warm_up",
    readme: include_str!("README.md"),
    family: Family::Compiler,
    refines: &[Refined::Family(Family::Cpu), Refined::Family(Family::Load)],
    equals: &[],
    has_lab: true,
    collectors: &["jfr"],
    needs: &[&[Need::Counter(counter::COMPILE_COUNT)]],
    actions: &[
        "send traffic only after a warm-up with real requests",
        "it ends by itself and matters only where restarts are frequent (class data sharing and ahead-of-time caches of JDK 24 and later shorten it)",
    ],
    decide,
};

/// The JVM compiles a method a few times as it gets hotter; more often than this it is no warm-up.
const COMPILED_AT_MOST: usize = 5;

/// Compilations per second that are many, whatever is usual: that there are no more than before is not known where there is no before.
const MANY_PER_SECOND: f64 = 30.0;

/// Compilations, times as many as before: recompiling after a deoptimization or two does not come near.
const MORE_COMPILATIONS: f64 = 3.0;

fn decide(comparison: &Comparison<'_>) -> Finding {
    let cache = CodeCache::of(comparison);
    let compilers = comparison.state_evidence("compiler threads", "cores", |state| state == ThreadState::Compiler);
    let (Some((now, before)), Some(compilations)) =
        (cache.compilations_per_second, cache.compilations_evidence(comparison))
    else {
        return Finding::needs_jfr("the compilers were not recorded");
    };
    let again = cache.most_compiled.as_ref().is_some_and(|(_, count)| *count > COMPILED_AT_MOST);
    let turned_over = cache.turnover.is_some_and(|turnover| turnover >= 1.0);
    if again || turned_over {
        let text = "the same code is compiled again and again: no warm-up";
        return Finding::absent(text).with(compilers).with(compilations);
    }
    let support = match before {
        _ if is_mostly_startup(comparison) => Support::Observed,
        // Compilers that run on CPUs to spare hold no request up.
        Some(before) if now >= MORE_COMPILATIONS * before.max(1.0) => {
            if comparison.machine_use().is_none() && cache.interpreted.0 < MINOR_SHARE {
                let text = "whether there were CPUs to spare for the compilers was not recorded";
                return Finding::needs_kernel(text).with(compilers).with(compilations);
            }
            Support::Consistent
        }
        None if now >= MANY_PER_SECOND || outlasts_the_first_seconds(comparison) => Support::Weak,
        _ => {
            let text = format!("{} compilations per second, nothing new to compile", format::number(now));
            return Finding::absent(text).with(compilers).with(compilations);
        }
    };
    let says = format!(
        "{} compilations per second, compiler threads {} of a core, {} of the application's code interpreted; {}",
        format::number(now),
        format::percent(compilers.value),
        format::percent(cache.interpreted.0),
        reason(support)
    );
    let finding = Finding::new(support, says + own_start(comparison)).with(compilers).with(compilations);
    finding
        .claiming(comparison, |state| matches!(state, ThreadState::Compiler | ThreadState::Running(Layer::Interpreted)))
}

/// Whether the JVM started in a recording in which nothing was found slow, and compiled for longer than any does: how long requests took
/// meanwhile the rest of the recording does not tell.
fn outlasts_the_first_seconds(comparison: &Comparison<'_>) -> bool {
    let startup = comparison.analysis.account.startup;
    !comparison.is_slow() && startup.warm_up_buckets > startup.boot_buckets
}

fn reason(support: Support) -> &'static str {
    match support {
        Support::Observed => "the JVM had just started",
        Support::Consistent => "code that had not run before",
        _ => "how many are usual is not known",
    }
}

/// Said when this tool itself started Flight Recorder before or in the slow time: its first start makes a JDK that is no newer
/// than 17 throw away all compiled code, whatever is recorded (measured on 17, seen on 8 and 11; 25 does not).
fn own_start(comparison: &Comparison<'_>) -> &'static str {
    const LAST_AFFECTED: u32 = 24;
    const AFTERMATH_NS: i64 = 60_000_000_000;
    let (from_ns, to_ns) = comparison.slow_range();
    let is_start = |action: &Span| comparison.recording().text(action.name).starts_with("JFR.start");
    let mut starts = comparison.sources().spans(span::OWN_ACTION).filter(is_start).map(|action| action.time_ns);
    let is_affected = comparison.jdk().is_none_or(|jdk| jdk <= LAST_AFFECTED);
    if is_affected && starts.any(|at| at <= to_ns && from_ns.saturating_sub(at) <= AFTERMATH_NS) {
        "; Fathom had just started Flight Recorder, which makes JDK 17 and older (and perhaps later ones) compile everything anew: it goes on running, so record again"
    } else {
        ""
    }
}
