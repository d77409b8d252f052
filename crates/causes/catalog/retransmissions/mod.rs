//! TCP segments were lost and had to be retransmitted.

use fathom_evidence::kinds::counter;
use fathom_timeline::{Hold, Series};

use crate::measure::unsent::{self, Words};
use crate::{Cause, Comparison, Family, Finding, Need, Period, Refined, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "retransmissions",
    readme: include_str!("README.md"),
    family: Family::Services,
    refines: &[Refined::Cause("slow_downstream")],
    equals: &[(
        &["slow_downstream", "thread_pool_exhausted"],
        "each claims of the waits for answers the part that it measured itself",
    )],
    has_lab: true,
    collectors: &["requests", "sockets"],
    needs: &[&[Need::Sockets, Need::Counter(counter::NETWORK_COUNT)]],
    actions: &[
        "find where segments are lost on the way to that peer: `ss -ti`, `nstat -az TcpRetransSegs`, drops of the interfaces",
    ],
    decide,
};

const WORDS: Words = Words {
    why: "lost on the way and sent again",
    evidence: ["lost and sent again", "time until it was sent again"],
    absent: "no answer and no question was lost and sent again",
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    if !unsent::was_measured(comparison) && !unsent::was_captured(comparison) {
        return of_the_namespace(comparison);
    }
    let finding = unsent::finding(comparison, Hold::Retransmission, &WORDS);
    let (slow, Some(most)) = resent(&comparison.slow) else { return finding };
    let before = |baseline: &Period<'_>| resent(baseline).0 / baseline.seconds();
    let rates = (slow / comparison.slow.seconds(), comparison.baseline.as_ref().map(before));
    let says = format!("segments sent again, most of them at {most}");
    finding.with(comparison.evidence(&says, rates, "1/s", "counters").of(&[counter::SEGMENTS_RESENT_COUNT]))
}

/// How many segments were sent again, and by which connections most.
fn resent(period: &Period<'_>) -> (f64, Option<String>) {
    let series = period.sources.counters(counter::SEGMENTS_RESENT_COUNT);
    let text = |name| period.sources.recording.text(name);
    let rises: Vec<(&str, f64)> = series.iter().map(|((name, _), series)| (text(*name), period.rise(series))).collect();
    let most = rises.iter().filter(|(_, rise)| *rise > 0.0).max_by(|a, b| a.1.total_cmp(&b.1));
    (0.0 + rises.iter().map(|(_, rise)| rise).sum::<f64>(), most.map(|(name, _)| (*name).to_owned()))
}

/// Without counts per socket only the sum of all processes of the network namespace is known. It cannot rule the cause out,
/// and whose time it cost is unknown.
fn of_the_namespace(comparison: &Comparison<'_>) -> Finding {
    let all: Series = comparison.sources().counter(counter::NETWORK_COUNT, "Tcp RetransSegs");
    if all.0.is_empty() {
        return Finding::needs_kernel("segments that were sent again were not recorded");
    }
    let resent = comparison.slow.rise(&all);
    if resent < 1.0 {
        return Finding::absent("no segment was sent again in the network namespace of the process");
    }
    let says = format!(
        "{} sent again in the network namespace of the process: by whom, and what it cost, was not recorded",
        format::count(resent.round() as usize, "segment")
    );
    Finding::needs_kernel(&says)
}
