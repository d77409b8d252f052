//! Which causes stand behind a cause, down to the root.
//!
//! A cause may know the next one behind it. Of harm other than lost time only the kinds of time are known in
//! which it happened; behind it stand the causes to which the engine gave that time. From each link the chain
//! goes on with that cause's own chain, so that it ends where nothing more is known.

use fathom_timeline::Cell;

use crate::cause::{Claim, Harm};
use crate::explanation::{CauseVerdict, Verdict};

/// A cause behind less of the time than this is not told: something always happens at the same time. And it is
/// the largest part: a chain has one link at a time.
const PART: f64 = 0.25;

/// A cause as it was judged, with what the chain needs.
pub(crate) struct Judged {
    pub(crate) verdict: CauseVerdict,
    pub(crate) harm: Option<Harm>,
    /// The time that it was given.
    pub(crate) taken: Vec<(Cell, f64)>,
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
    let claims = harm.map_or(&[][..], |harm| &harm.happened_in);
    let all: f64 = claims.iter().map(|claim| claim.at_most_ns).sum();
    let part = |one: &Judged| claims.iter().map(|claim| part_of(one, claim, judged)).sum::<f64>();
    let parts = judged.iter().map(|one| (part(one), one.verdict.id.as_str()));
    let largest = parts.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)));
    largest.filter(|(ns, _)| *ns > 0.0 && *ns >= PART * all).map(|(_, id)| id.to_owned())
}

/// The part of a claim that belongs to a cause: what it was given of that kind of time, of all that was given.
fn part_of(one: &Judged, claim: &Claim, judged: &[Judged]) -> f64 {
    let taken =
        |one: &Judged| -> f64 { one.taken.iter().filter(|(cell, _)| *cell == claim.cell).map(|(_, ns)| ns).sum() };
    let all: f64 = judged.iter().map(taken).sum();
    if all > 0.0 { claim.at_most_ns * taken(one) / all } else { 0.0 }
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

    fn judged(id: &str, verdict: Verdict, chain: &[&str], taken: &[(Cell, f64)], harm: &[(Cell, f64)]) -> Judged {
        let claim = |(cell, ns): &(Cell, f64)| Claim { cell: *cell, at_most_ns: *ns };
        Judged {
            verdict: CauseVerdict {
                id: id.to_owned(),
                verdict,
                share: 0.0,
                says: String::new(),
                evidence: Vec::new(),
                missing: Vec::new(),
                chain: chain.iter().map(|id| (*id).to_owned()).collect(),
                actions: Vec::new(),
                prove: String::new(),
            },
            harm: (!harm.is_empty()).then(|| Harm { happened_in: harm.iter().map(claim).collect() }),
            taken: taken.to_vec(),
        }
    }

    #[test]
    fn chains_end_at_the_root() {
        let (fault, cpu) = (Cell::Blocked(Wait::PageFault), Cell::Runnable);
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
