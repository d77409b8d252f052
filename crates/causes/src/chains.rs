//! Which causes stand behind a cause, down to the root.
//!
//! A cause may know the next one behind it. For harm other than lost time, only the kinds of time in which it happened are
//! known; behind it are the causes to which the engine gave that time. From each link the chain continues with that cause's
//! own chain, so it ends where nothing more is known.

use fathom_timeline::{Intervals, ThreadState};

use crate::cause::{Cause, Harm};
use crate::explanation::{CauseVerdict, Verdict};

/// A cause behind less of the time than this is not reported: something always happens at the same time. And it is the
/// largest part: a chain has one link at a time.
const MIN_SHARE: f64 = 0.25;

/// A cause as it was judged, with what the chain needs.
pub(crate) struct Judged {
    pub(crate) verdict: CauseVerdict,
    pub(crate) harm: Option<Harm>,
    /// When it was at work, where that is known.
    pub(crate) when: Option<Intervals>,
    /// The time that it was given.
    pub(crate) taken: Vec<(ThreadState, f64)>,
}

impl Judged {
    /// A cause that was not evaluated.
    pub(crate) fn nothing(cause: &Cause) -> Judged {
        Judged { verdict: CauseVerdict::nothing(cause.id), harm: None, when: None, taken: Vec::new() }
    }
}

/// Completes all chains.
pub(crate) fn complete(judged: &mut [Judged]) {
    let behind: Vec<Option<String>> = judged.iter().map(|one| behind(one.harm.as_ref(), judged)).collect();
    for (one, behind) in judged.iter_mut().zip(behind) {
        one.verdict.chain.extend(behind);
    }
    drop_broken(judged);
    let links: Vec<(String, Vec<String>)> =
        judged.iter().map(|one| (one.verdict.id.clone(), one.verdict.chain.clone())).collect();
    for one in judged {
        follow(&one.verdict.id, &mut one.verdict.chain, &links);
    }
}

/// The cause that was given most of the time in which harm happened.
fn behind(harm: Option<&Harm>, judged: &[Judged]) -> Option<String> {
    let harm = harm?;
    let all: f64 = harm.happened_in.iter().map(|(_, ns)| ns).sum();
    let part = |one: &Judged| harm.happened_in.iter().map(|time| part_of(one, time, harm, judged)).sum::<f64>();
    let parts = judged.iter().map(|one| (part(one), one.verdict.id.as_str()));
    let largest = parts.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)));
    largest.filter(|(ns, _)| *ns > 0.0 && *ns >= MIN_SHARE * all).map(|(_, id)| id.to_owned())
}

/// The part of a claim that belongs to a cause. Those that are known to have been at work just then come first, by
/// how much of the harm's time they were; the rest goes to the others by what each was given of that kind of time.
fn part_of(one: &Judged, (state, ns): &(ThreadState, f64), harm: &Harm, judged: &[Judged]) -> f64 {
    let taken = |one: &Judged| -> f64 { one.taken.iter().filter(|(of, _)| of == state).map(|(_, ns)| ns).sum() };
    let then = |one: &Judged| one.when.as_ref().filter(|_| taken(one) > 0.0).map(|when| overlap(when, &harm.when));
    let known: f64 = judged.iter().filter_map(then).sum();
    if let Some(part) = then(one) {
        return ns * part / known.max(1.0);
    }
    let others: f64 = judged.iter().filter(|one| then(one).is_none()).map(taken).sum();
    if others > 0.0 { ns * (1.0 - known).max(0.0) * taken(one) / others } else { 0.0 }
}

/// The part of `harm` that lies in `when`.
fn overlap(when: &Intervals, harm: &Intervals) -> f64 {
    let within: i64 = harm.iter().map(|(from, to)| when.within_ns(from, to)).sum();
    within as f64 / harm.total_ns().max(1) as f64
}

/// A chain names causes that are themselves found.
fn drop_broken(judged: &mut [Judged]) {
    let is_excluded = |one: &&Judged| one.verdict.verdict == Verdict::RuledOut;
    let excluded: Vec<String> = judged.iter().filter(is_excluded).map(|one| one.verdict.id.clone()).collect();
    for one in judged {
        one.verdict.chain.retain(|id| !excluded.contains(id));
    }
}

/// Appends the chains of its links, each cause once.
fn follow(id: &str, chain: &mut Vec<String>, links: &[(String, Vec<String>)]) {
    let mut at = 0;
    while let Some(link) = chain.get(at) {
        let further = links.iter().filter(|(of, _)| of == link).flat_map(|(_, chain)| chain);
        let new: Vec<String> = further.filter(|next| *next != id && !chain.contains(next)).cloned().collect();
        chain.extend(new);
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use fathom_timeline::Wait;

    use super::*;

    fn judged(
        id: &str,
        verdict: Verdict,
        chain: &[&str],
        taken: &[(ThreadState, f64)],
        harm: &[(ThreadState, f64)],
    ) -> Judged {
        Judged {
            verdict: CauseVerdict {
                verdict,
                chain: chain.iter().map(|id| (*id).to_owned()).collect(),
                ..CauseVerdict::nothing(id)
            },
            harm: (!harm.is_empty())
                .then(|| Harm { happened_in: harm.to_vec(), when: Intervals::union(vec![(100, 200)]) }),
            when: None,
            taken: taken.to_vec(),
        }
    }

    #[test]
    fn who_was_at_work_just_then_comes_before_who_has_more_in_all() {
        for (when, expected) in [(vec![(90, 180)], "quota"), (vec![(500, 900)], "no_cpu"), (vec![(100, 130)], "no_cpu")]
        {
            let mut quota = judged("quota", Verdict::Shown, &[], &[(ThreadState::Runnable, 200.0)], &[]);
            quota.when = Some(Intervals::union(when));
            let mut all = vec![
                judged("overflow", Verdict::Shown, &[], &[], &[(ThreadState::Runnable, 100.0)]),
                quota,
                judged("no_cpu", Verdict::Shown, &[], &[(ThreadState::Runnable, 700.0)], &[]),
            ];
            complete(&mut all);
            assert_eq!(all[0].verdict.chain, [expected]);
        }
    }

    #[test]
    fn chains_end_at_the_root() {
        let (fault, cpu) = (ThreadState::Blocked(Wait::PageFault), ThreadState::Runnable);
        let mut all = vec![
            judged("overflow", Verdict::Shown, &[], &[], &[(fault, 140.0), (cpu, 10.0)]),
            judged("binding", Verdict::Shown, &["evicted"], &[(fault, 300.0)], &[]),
            judged("evicted", Verdict::Likely, &["binding"], &[(fault, 20.0)], &[]),
            judged("no_cpu", Verdict::Possible, &[], &[(cpu, 500.0)], &[]),
            judged("storm", Verdict::Shown, &["asked_for", "not_seen"], &[], &[]),
            judged("asked_for", Verdict::Possible, &[], &[], &[]),
            judged("not_seen", Verdict::RuledOut, &[], &[], &[]),
        ];
        complete(&mut all);
        for (id, expected) in [
            ("overflow", vec!["binding", "evicted"]),
            ("binding", vec!["evicted"]),
            ("storm", vec!["asked_for"]),
            ("no_cpu", vec![]),
        ] {
            let found = all.iter().find(|one| one.verdict.id == id).unwrap();
            assert_eq!(found.verdict.chain, expected, "{id}");
        }
    }
}
