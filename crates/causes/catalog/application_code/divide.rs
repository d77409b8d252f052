//! Which methods grew by themselves, and not with the number of requests, with all other code, or because the compiler
//! inlined them in another way.

use super::MIN_SAMPLES;
use super::methods::Methods;

/// A method grew by itself when it takes as many times more than before as the rest of the code does, times this: less is
/// within what samples vary by, or all of it grew alike.
const MORE_THAN_THE_REST: f64 = 1.5;

/// The rest has to be at least this part of what ran before to compare with.
const REST: f64 = 0.1;

/// What a method grew by has to be in what ran innermost, for this part of it: a method into which another one was inlined meanwhile
/// takes that one's time.
const IN_ITS_LEAVES: f64 = 0.5;

/// The methods that grew by more than the rest did, and than requests did, the most first, with the cores that they grew by; and how
/// much the rest grew, if there was any to speak of.
pub(super) fn divide(slow: &Methods, before: &Methods, traffic: Option<f64>) -> (Vec<(String, f64)>, Option<f64>) {
    let mut order: Vec<(&String, f64)> =
        slow.by_method.iter().map(|(method, cpu)| (method, cpu.cores() - before.cores(method))).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let (mut rest_slow, mut rest_before) = (slow.cores, before.cores);
    let mut grown: Vec<(String, f64)> = Vec::new();
    for (method, cores) in order {
        let (own_slow, own_before) = (slow.cores(method), before.cores(method));
        let without = (rest_slow - own_slow, rest_before - own_before);
        let is_seen = slow.cpu(method).samples >= MIN_SAMPLES;
        let Some(usual) = usual(without, before.cores, traffic).filter(|_| is_seen) else { break };
        if own_slow < MORE_THAN_THE_REST * usual * own_before {
            break;
        }
        if !has_more_to_do(slow, before, method, traffic) {
            continue;
        }
        (rest_slow, rest_before) = without;
        grown.push((method.clone(), cores));
    }
    let has_rest = rest_before > 0.0 && rest_before >= REST * before.cores;
    (grown, has_rest.then(|| rest_slow / rest_before))
}

/// What ran innermost for most of the time and takes more than before, if nothing tells how much more is usual: there is hardly any other code,
/// and requests were not counted.
pub(super) fn beyond_compare<'m>(slow: &'m Methods, before: &Methods, traffic: Option<f64>) -> Option<&'m str> {
    let (leaf, cores) = slow.leaves().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let without = (slow.cores - cores, before.cores - before.of_leaf(leaf));
    let grew = cores > MORE_THAN_THE_REST * before.of_leaf(leaf);
    (grew && usual(without, before.cores, traffic).is_none()).then_some(leaf)
}

/// How many times as much as before is no growth of its own: what the rest takes, if there is any to speak of, or the requests.
fn usual((rest_slow, rest_before): (f64, f64), before: f64, traffic: Option<f64>) -> Option<f64> {
    let rest = (rest_before > 0.0 && rest_before >= REST * before).then(|| (rest_slow / rest_before).max(1.0));
    match (rest, traffic) {
        (Some(rest), Some(traffic)) => Some(rest.max(traffic)),
        (one, other) => one.or(other),
    }
}

/// Whether what runs innermost in a method takes more than before in whatever method it is.
fn has_more_to_do(slow: &Methods, before: &Methods, method: &str, traffic: Option<f64>) -> bool {
    let leaves = slow.main_leaves(method);
    let sum = |of: &Methods| leaves.iter().map(|(leaf, _)| of.of_leaf(leaf)).sum::<f64>();
    let without = (slow.cores - sum(slow), before.cores - sum(before));
    let Some(usual) = usual(without, before.cores, traffic) else { return false };
    let more = |(leaf, in_method): &(&str, f64)| {
        let grew = slow.of_leaf(leaf) - usual * before.of_leaf(leaf);
        grew.clamp(0.0, *in_method)
    };
    let grew: f64 = leaves.iter().map(more).sum();
    grew >= IN_ITS_LEAVES * (slow.cores(method) - usual * before.cores(method))
}
