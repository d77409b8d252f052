//! Code that is compiled again and again, with room in the code cache, was discarded each time. This shows deoptimization
//! where the events were not recorded: by the probes of libjvm, or by a JVM that has no such event.

use std::collections::HashMap;

use fathom_evidence::detail::Compilation;
use fathom_evidence::kinds::span;

use super::{MIN_RATE_RATIO, MIN_SAME_METHOD_AND_REASON};
use crate::measure::code_cache::CodeCache;
use crate::period::Period;
use crate::{Comparison, Finding, Support, format};

/// The level of the compiler that assumes.
const TOP_LEVEL: u32 = 4;

/// How often each method was compiled with assumptions, and what all of its compilations took.
#[derive(Default)]
struct Method {
    times: usize,
    took_ns: i64,
}

/// `None` if nothing is compiled so often, or if code may have been thrown away for lack of room.
pub(super) fn decide(comparison: &Comparison<'_>) -> Option<Finding> {
    let had_room = CodeCache::of(comparison).turnover.is_some_and(|turnover| turnover < 1.0);
    let methods = methods(comparison);
    let (name, most) = methods.iter().max_by_key(|(name, method)| (method.times, **name))?;
    let rate = comparison.both(|period| by_c2(period) as f64 / period.seconds());
    // A JVM that is young compiles much, but little of it so often.
    let grew = rate.1.is_none_or(|baseline| rate.0 >= MIN_RATE_RATIO * baseline);
    if !had_room || !is_again(most) || !grew {
        return None;
    }
    let again: Vec<&Method> = methods.values().filter(|method| is_again(method)).collect();
    let took_ns = |methods: &mut dyn Iterator<Item = &Method>| methods.map(|method| method.took_ns as f64).sum::<f64>();
    let part = took_ns(&mut again.iter().copied()) / took_ns(&mut methods.values()).max(1.0);
    let says = format!(
        "C2 compiled {} {} times with room in the code cache, and {} {MIN_SAME_METHOD_AND_REASON} times and more: what it was compiled \
         for does not hold; deoptimizations themselves were not recorded",
        comparison.recording().text(fathom_evidence::StrId(*name)),
        most.times,
        format::count(again.len(), "method"),
    );
    let evidence = comparison.evidence("compilations by C2", rate, "1/s", "spans").of(&[span::COMPILATION]);
    Some(super::claiming(Finding::new(Support::Consistent, says).with_all([evidence]), comparison, part))
}

fn is_again(method: &Method) -> bool {
    method.times >= MIN_SAME_METHOD_AND_REASON
}

fn by_c2(period: &Period<'_>) -> usize {
    period.spans(span::COMPILATION).filter(|compilation| is_by_c2(&period.detail(compilation))).count()
}

fn is_by_c2(detail: &Compilation) -> bool {
    detail.level == Some(TOP_LEVEL) && detail.succeeded != Some(false) && detail.osr != Some(true)
}

/// Those of the slow time, by name.
fn methods(comparison: &Comparison<'_>) -> HashMap<u32, Method> {
    let mut methods: HashMap<u32, Method> = HashMap::new();
    for compilation in comparison.slow.spans(span::COMPILATION) {
        let method = methods.entry(compilation.name.0).or_default();
        method.times += usize::from(is_by_c2(&comparison.slow.detail(&compilation)));
        method.took_ns = method.took_ns.saturating_add(compilation.duration_ns);
    }
    methods
}
