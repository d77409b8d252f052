//! Classes are searched for, loaded, or generated at run time while requests wait for it.

mod new_code;

use fathom_evidence::kinds::{counter, event, span};
use fathom_evidence::{Recording, StackId};
use fathom_timeline::{Series, begins_with};

use crate::limits::MIN_CPU_SHARE;
use crate::measure::waits_below::{self, WaitsBelow};
use crate::measure::{growth, recording_threshold, stacks};
use crate::{Cause, Comparison, Evidence, Family, Finding, Need, Period, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "class_loading",
    readme: include_str!("README.md"),
    family: Family::Code,
    refines: &[
        Refined::Cause("lock_contention"),
        Refined::Cause("application_code"),
        Refined::Cause("jit_warm_up"),
        Refined::Family(Family::Load),
        Refined::Family(Family::Cpu),
    ],
    equals: &[waits_below::EQUALS],
    has_lab: true,
    collectors: &["jfr", "async_profiler"],
    needs: &[&[Need::Samples, Need::Event("jdk.JavaMonitorEnter")]],
    actions: &[
        "look it up once and cache the result, also that there is none: parsers, factories, serializers, scripts, reflection",
        "load classes before requests need them; share class data (-XX:SharedArchiveFile)",
    ],
    decide,
};

/// Where classes are looked for, loaded, linked and made: beginnings of methods and of the JVM's functions.
const LOADING: &[&str] = &[
    "java.lang.ClassLoader.loadClass",
    "java.lang.ClassLoader.defineClass",
    "java.lang.ClassLoader.getResource",
    "java.lang.Class.forName",
    "java.net.URLClassLoader.find",
    "jdk.internal.loader.BuiltinClassLoader.",
    "jdk.internal.loader.ClassLoaders$",
    "jdk.internal.loader.URLClassPath",
    "java.util.ServiceLoader$",
    "java.lang.invoke.MethodHandleNatives.link",
    "java.lang.invoke.InnerClassLambdaMetafactory.",
    "java.lang.reflect.Proxy$ProxyBuilder.",
    "java.lang.invoke.MethodHandles$Lookup.define",
    "org.apache.catalina.loader.",
    "org.springframework.boot.loader.",
    "SystemDictionary::",
    "ClassFileParser::",
    "ClassLoader::load_class",
    "InstanceKlass::link_class",
    "Verifier::",
];

/// What a class does when it begins to be used is the program's own work, although it stands on top of the loading.
const ITS_OWN_BEGINNING: &str = ".<clinit>";

/// Less waiting than this, in threads on average, is not either.
const MIN_WAITING: f64 = 0.05;

fn is_loading(recording: &Recording, stack: StackId) -> bool {
    let mut symbols = recording.stacks.leaf_to_root(stack).map(|frame| recording.text(frame.symbol));
    symbols
        .find(|symbol| symbol.ends_with(ITS_OWN_BEGINNING) || begins_with(symbol, LOADING))
        .is_some_and(|symbol| !symbol.ends_with(ITS_OWN_BEGINNING))
}

fn decide(comparison: &Comparison<'_>) -> Finding {
    let below = stacks::below_by(comparison, is_loading);
    let (waits, waits_before) = waits_below::both(comparison, |period| WaitsBelow::of(period, is_loading));
    let waiting = (waits.threads(), waits_before.as_ref().map(WaitsBelow::threads));
    let loaded = loaded(comparison);
    if !has_stacks(comparison) && waits.is_empty() {
        return none_seen(comparison, loaded);
    }
    let evidence = evidence(comparison, &below, &waits, waiting, loaded);
    let text = says(&below, waiting, loaded);
    let more = |of: (f64, Option<f64>), least: f64| of.0 >= least && growth::grew(of);
    let (ran, waited) = (more(below.share, MIN_CPU_SHARE), more(waiting, MIN_WAITING));
    if !ran && !waited {
        return Finding::absent(text).with_all(evidence);
    }
    // JFR's own samples see a part of the work only: the stacks are right, the amount is too small.
    let mut finding = Finding::new(Support::Observed, text).with_all(evidence);
    finding.claims.extend(if waited { waits.claims() } else { Vec::new() });
    if ran {
        finding = new_code::claiming(comparison, finding, below.claims, loaded);
    }
    finding.drill_down.search = outermost(comparison.recording(), below.stack).to_owned();
    finding.crowding(comparison)
}

/// Whether samples say where they were taken.
fn has_stacks(comparison: &Comparison<'_>) -> bool {
    let event = stacks::running_event(comparison);
    comparison.sources().samples(event).any(|sample| sample.stack_id != StackId(0))
}

/// Where the program began to ask for a class in a stack: all that the loading takes is below it.
fn outermost(recording: &Recording, stack: StackId) -> &str {
    let symbols = recording.stacks.leaf_to_root(stack).map(|frame| recording.text(frame.symbol));
    symbols.filter(|symbol| begins_with(symbol, LOADING)).last().unwrap_or_default()
}

/// The answer where there are no samples and no waits.
fn none_seen(comparison: &Comparison<'_>, loaded: Option<(f64, Option<f64>)>) -> Finding {
    match loaded {
        Some((now, Some(before))) if now > 0.0 && growth::grew((now, Some(before))) => {
            Finding::needs_jfr("what threads did was not sampled")
        }
        _ => recording_threshold::of_waits(
            comparison,
            &["jdk.JavaMonitorEnter", "jdk.ExecutionSample"],
            "waits for classes to be loaded",
        ),
    }
}

/// Classes loaded per second, where that was counted.
fn loaded(comparison: &Comparison<'_>) -> Option<(f64, Option<f64>)> {
    let is_counted = series(&comparison.slow).0.len() >= 2;
    is_counted.then(|| comparison.both(|period| period.rise(&series(period)) / period.seconds()))
}

fn series(period: &Period<'_>) -> Series {
    period.sources.counter(counter::CLASSES_LOADED_COUNT, "")
}

fn says(below: &stacks::Below, waiting: (f64, Option<f64>), loaded: Option<(f64, Option<f64>)>) -> String {
    let loaded = loaded.map_or(String::new(), |(now, before)| {
        format!("; {} classes loaded per second{}", format::number(now), format::baseline(before, format::number))
    });
    format!(
        "looking for classes and loading them takes {} of the application's CPU{}, and {} threads wait in it on average{}{loaded}",
        format::percent(below.share.0),
        format::baseline(below.share.1, format::percent),
        format::number(waiting.0),
        format::baseline(waiting.1, format::number)
    )
}

fn evidence(
    comparison: &Comparison<'_>,
    below: &stacks::Below,
    waits: &WaitsBelow,
    waiting: (f64, Option<f64>),
    loaded: Option<(f64, Option<f64>)>,
) -> Vec<Evidence> {
    let share = comparison.evidence("CPU below class loaders", below.share, "ratio", "samples");
    let share = Evidence { stack: comparison.stack_text(below.stack, 16), ..share };
    let stack = waits.longest().map_or_else(String::new, |wait| comparison.stack_text(wait.stack_id, 16));
    let waiting = comparison.evidence("threads waiting below class loaders", waiting, "threads", "spans");
    let waiting = Evidence { stack, ..waiting.of(&[span::MONITOR_ENTER, span::PARK, span::FILE_READ]) };
    let loaded = loaded.map(|rate| {
        comparison.evidence("classes loaded", rate, "1/s", "counters").of(&[counter::CLASSES_LOADED_COUNT])
    });
    let first = [share.of(&[event::CPU, event::EXECUTION]), waiting];
    first.into_iter().chain(loaded).collect()
}
