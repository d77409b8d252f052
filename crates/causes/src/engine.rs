//! From findings to verdicts: each slow interval is explained separately, and the answers are merged.

mod suspicions;

use std::collections::BTreeMap;

use fathom_evidence::Recording;
use fathom_timeline::{Analysis, Intervals, Options as ExplainOptions, SlowInterval, Stop, ThreadState, analyse};

use crate::attribution::{Claimant, Given, Left, attribute};
use crate::cause::{Cause, Finding, Support};
use crate::chains::{self, Judged};
use crate::comparison::Comparison;
use crate::explanation::{CauseVerdict, DrillDown, During, Explanation, IntervalCause, Missing, SCHEMA, Verdict};
use crate::gaps::Unjudged;
use crate::limits::{MINOR_SHARE, NEGLIGIBLE_SHARE};
use crate::unexplained;
use crate::{
    catalog, changes, coverage, drill_down, elsewhere, format, gaps, headline, messages, per_request, remainder,
    rhythm, summary,
};
use suspicions::SUSPICIONS;

/// Explains a recording.
pub fn explain(recording: &Recording, options: &ExplainOptions<'_>) -> Explanation {
    investigate(recording, options).map_or_else(|| summary::of_nothing(recording), |(_, explanation)| explanation)
}

/// Explains a recording and gives the account that the explanation is about. `None` when nothing in
/// the recording has a time.
pub fn investigate<'a>(recording: &'a Recording, options: &ExplainOptions<'a>) -> Option<(Analysis<'a>, Explanation)> {
    let mut analysis = analyse(recording, options)?;
    let mut answer = Answer::new(&analysis);
    // Who knows how long requests took knows whether it was slow.
    let is_known = options.slow.is_some() || analysis.account.exact_requests().is_some();
    for suspicion in SUSPICIONS.iter().filter(|_| !is_known) {
        if answer.names_a_cause() && !suspicion.is_asked_beside_a_cause {
            continue;
        }
        let Some((slowdown, excess)) = (suspicion.slowdown)(&analysis) else { continue };
        let (slowdown_before, excess_before) =
            (std::mem::replace(&mut analysis.slowdown, slowdown), std::mem::replace(&mut analysis.excess, excess));
        let suspected = Answer::new(&analysis);
        if (suspicion.is_answered)(&suspected, &answer) {
            answer = suspected;
            break;
        }
        (analysis.slowdown, analysis.excess) = (slowdown_before, excess_before);
    }
    let explanation = answer.explanation(&analysis);
    Some((analysis, explanation))
}

/// What the causes say about one choice of slow seconds.
struct Answer {
    judged: Vec<Judged>,
    /// The lost time that no cause claimed.
    left: Left,
    lost_ns: f64,
    below_java_ns: f64,
    /// What was found in each slow interval.
    by_interval: Vec<Vec<IntervalCause>>,
    seen: Vec<Unjudged>,
}

impl Answer {
    fn new(analysis: &Analysis<'_>) -> Answer {
        let (kinds, mut parts): (Vec<Intervals>, Vec<Part>) = parts(analysis).into_iter().unzip();
        let lost_ns = parts.iter().map(|part| part.lost_ns).sum();
        let mut left = Left::default();
        parts.iter().for_each(|part| left.add(&part.left));
        let by_interval = by_interval(analysis, &kinds, &parts);
        let below_java_ns = parts.iter().map(|part| part.below_java_ns).sum();
        let seen = parts.iter_mut().flat_map(|part| std::mem::take(&mut part.seen)).collect();
        let judged = together(parts, lost_ns);
        Answer { judged, left, lost_ns, below_java_ns, by_interval, seen }
    }

    fn names_a_cause(&self) -> bool {
        self.judged.iter().any(|judged| judged.verdict.verdict <= Verdict::Likely)
    }

    /// The part of the lost time that causes explain which are named.
    fn explained_by_named(&self) -> f64 {
        let named = self.judged.iter().filter(|judged| judged.verdict.verdict <= Verdict::Likely);
        0.0 + named.map(|judged| judged.verdict.share).sum::<f64>()
    }

    /// The part of the time below Java that causes explain whose mechanism was seen.
    fn explains_what_is_below_java(&self) -> f64 {
        let shown = self.judged.iter().filter(|judged| judged.verdict.verdict == Verdict::Shown);
        let taken = shown.flat_map(|judged| &judged.taken).filter(|(state, _)| state.is_below_java());
        taken.map(|(_, ns)| ns).sum::<f64>() / self.below_java_ns.max(f64::MIN_POSITIVE)
    }

    fn explanation(mut self, analysis: &Analysis<'_>) -> Explanation {
        elsewhere::open(analysis, &mut self.judged);
        chains::complete(&mut self.judged);
        self.judged.sort_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal));
        let comparison = Comparison::new(analysis);
        let changed = changes::of(&comparison, self.names_a_cause());
        per_request::add(&comparison, &mut self.judged);
        let mut causes: Vec<CauseVerdict> = self.judged.into_iter().map(|one| one.verdict).collect();
        let (from_ns, to_ns) = comparison.slow_range();
        let ruled_out = causes.iter_mut().filter(|cause| cause.verdict == Verdict::RuledOut);
        ruled_out.for_each(|cause| cause.during = Some(During { from_ns, to_ns }));
        let explained: f64 = causes.iter().map(|cause| cause.share).sum();
        let is_slow = self.lost_ns > 0.0 || comparison.is_slow();
        let rest = if is_slow { (1.0 - explained).max(0.0) } else { 0.0 };
        let mut losses = summary::losses(comparison.recording());
        losses.extend(summary::left_out(&comparison));
        Explanation {
            schema: SCHEMA,
            recording: summary::recording(&comparison),
            headline: headline::of(&comparison, &losses, self.seen, changed.first()),
            slow: summary::slow(&comparison, self.by_interval),
            rhythm: rhythm::of(analysis),
            baseline: summary::baseline(&comparison),
            figures: summary::figures(&comparison),
            unexplained: unexplained::of(&comparison, &self.left, rest, self.lost_ns),
            requests: summary::ports(&comparison),
            changed,
            messages: messages::that_differ(analysis, messages::Lines::Messages),
            request_kinds: messages::that_differ(analysis, messages::Lines::Requests),
            statuses: messages::that_differ(analysis, messages::Lines::Statuses),
            causes,
            losses,
        }
    }
}

/// The most important first: harm that was done before who lost time (its chain says how they belong together), then what cost
/// most, however sure it is. A cause that explains nothing comes after those that do.
fn order(judged: &Judged) -> (u8, bool, f64, Verdict) {
    let CauseVerdict { verdict, share, .. } = judged.verdict;
    let counts = share > 0.0 || judged.harm.is_some();
    let class = match verdict {
        Verdict::NotEnough => 2,
        Verdict::RuledOut => 3,
        _ if counts => 0,
        _ => 1,
    };
    (class, judged.harm.is_none(), -share, verdict)
}

/// What is slow by itself: time of one regime in which most was lost to one kind of thing. Those that have the same answer are
/// explained together.
fn parts(analysis: &Analysis<'_>) -> Vec<(Intervals, Part)> {
    let explain = |time: Intervals| (time.clone(), Part::new(analysis, &time));
    let kinds = kinds_of_slowness(analysis);
    if kinds.len() <= 1 {
        return vec![explain(analysis.slowdown.time.clone())];
    }
    let mut alike: BTreeMap<(String, &str), Vec<(Intervals, Part)>> = BTreeMap::new();
    for ((_, family), time) in kinds {
        let (time, part) = explain(time);
        alike.entry((family, part.first())).or_default().push((time, part));
    }
    let together = |mut group: Vec<(Intervals, Part)>| match group.len() {
        1 => group.remove(0),
        _ => explain(Intervals::union(group.iter().flat_map(|(time, _)| time.iter()).collect())),
    };
    alike.into_values().map(together).collect()
}

/// The slow time by what it is compared with, and by what was lost most in it. A stall by a page fault does not vanish beside an
/// hour of something else.
fn kinds_of_slowness(analysis: &Analysis<'_>) -> BTreeMap<(usize, String), Intervals> {
    let mut kinds: BTreeMap<(usize, String), Vec<(i64, i64)>> = BTreeMap::new();
    for (interval, regime) in analysis.slowdown.intervals.iter().zip(&analysis.slowdown.regimes) {
        let time = Intervals::union(vec![(interval.from_ns, interval.to_ns)]);
        let (_, excess) = analysis.only(&time);
        let lost = excess.states.iter().filter(|excess| excess.lost_ns() > 0.0);
        let most = lost.max_by(|a, b| a.lost_ns().total_cmp(&b.lost_ns()));
        let kind = most.map_or_else(String::new, |excess| family(excess.state));
        kinds.entry((*regime, kind)).or_default().push((interval.from_ns, interval.to_ns));
    }
    kinds.into_iter().map(|(kind, times)| (kind, Intervals::union(times))).collect()
}

/// What kinds of time belong to one kind of slowness.
fn family(state: ThreadState) -> String {
    match state {
        ThreadState::Stopped(Stop::Collection(of) | Stop::WaitingCollector(of)) | ThreadState::Collector(of) => {
            format!("{of:?}")
        }
        ThreadState::Stopped(stop) => format!("{stop:?}"),
        ThreadState::Blocked(wait) => format!("{wait:?}"),
        ThreadState::Unsent(hold) => format!("{hold:?}"),
        ThreadState::Running(_)
        | ThreadState::Compiler
        | ThreadState::Vm
        | ThreadState::Runnable
        | ThreadState::Stolen => "cpu".to_owned(),
        ThreadState::Idle | ThreadState::Unknown => String::new(),
    }
}

/// What the causes say about slow time of one kind.
struct Part {
    findings: Vec<Judgement>,
    left: Left,
    lost_ns: f64,
    below_java_ns: f64,
    /// What was seen although nothing is known to have been slow.
    seen: Vec<Unjudged>,
}

/// How one cause came out.
struct Outcome {
    verdict: Verdict,
    share: f64,
    says: String,
    /// What would have to be recorded to exclude the cause.
    missing: Option<Missing>,
    drill_down: DrillDown,
}

impl Part {
    fn new(analysis: &Analysis<'_>, time: &Intervals) -> Part {
        let is_all = *time == analysis.slowdown.time;
        let comparison = if is_all { Comparison::new(analysis) } else { Comparison::only(analysis, time) };
        let mut findings: Vec<(&'static Cause, Finding)> =
            catalog().iter().map(|cause| (*cause, (cause.decide)(&comparison))).collect();
        let mut seen = Vec::new();
        for (cause, finding) in &mut findings {
            seen.extend(gaps::without_requests(&comparison, finding));
            gaps::without_account(&comparison, finding);
            gaps::without_use(&comparison, cause, &mut finding.missing);
        }
        let lost_ns = if comparison.is_slow() { comparison.excess().lost_ns() } else { 0.0 };
        let below_java = comparison.excess().states.iter().filter(|excess| excess.state.is_below_java());
        let below_java_ns = below_java.map(|excess| excess.lost_ns()).sum();
        let (mut given, mut left) = hand_out(&comparison, &findings);
        if answers_in_general(&comparison, &mut findings, (&given, &left), lost_ns) {
            (given, left) = hand_out(&comparison, &findings);
        }
        let judged = findings.into_iter().zip(given).map(|(found, given)| {
            let outcome = judge(&comparison, &found, &given, lost_ns);
            (found.0, found.1, given, outcome)
        });
        Part { findings: judged.collect(), left, lost_ns, below_java_ns, seen }
    }
}

type Judgement = (&'static Cause, Finding, Given, Outcome);

/// Has the general cause of a family answer for what is left, where no other cause of it took any of that: whether it does.
fn answers_in_general(
    comparison: &Comparison<'_>,
    findings: &mut [(&'static Cause, Finding)],
    (given, left): (&[Given], &Left),
    lost_ns: f64,
) -> bool {
    let Some((general, states)) = remainder::of(comparison, left) else { return false };
    let is_meant = |cause: &Cause| cause.family == general.family && !remainder::is_of_another_origin(cause, general);
    let mut of_family = findings.iter().zip(given).filter(|((cause, _), _)| is_meant(cause));
    // Causes that were seen took nothing of what is left.
    let is_free =
        |(found, given): (&(&'static Cause, Finding), &Given)| match judge(comparison, found, given, lost_ns).verdict {
            Verdict::RuledOut => true,
            Verdict::NotEnough => false,
            _ => found.0.id != general.id,
        };
    if !of_family.all(is_free) {
        return false;
    }
    let own = findings.iter_mut().filter(|(cause, own)| cause.id == general.id && !own.is_never_meant);
    own.for_each(|(_, finding)| remainder::answer(comparison, finding, &states));
    true
}

/// Hands the lost time out to the findings; also gives what no cause claims.
fn hand_out(comparison: &Comparison<'_>, findings: &[(&'static Cause, Finding)]) -> (Vec<Given>, Left) {
    let claims = |finding: &Finding| finding.support < Support::Absent;
    let claimants = findings.iter().map(|(cause, finding)| Claimant {
        cause,
        support: finding.support,
        claims: if claims(finding) { &finding.claims } else { &[] },
    });
    attribute(comparison, &claimants.collect::<Vec<_>>())
}

/// Puts together what was said of each cause about each kind of slow time: its best verdict, in the words of the time in
/// which it was given most, and the share of all that it was given.
fn together(parts: Vec<Part>, lost_ns: f64) -> Vec<Judged> {
    let mut by_cause: Vec<Vec<(Finding, Given, Outcome)>> = catalog().iter().map(|_| Vec::new()).collect();
    for part in parts {
        for (slot, (_, finding, given, outcome)) in by_cause.iter_mut().zip(part.findings) {
            slot.push((finding, given, outcome));
        }
    }
    catalog().iter().zip(by_cause).map(|(cause, answers)| judged(cause, answers, lost_ns)).collect()
}

fn judged(cause: &Cause, answers: Vec<(Finding, Given, Outcome)>, lost_ns: f64) -> Judged {
    let mut total = Given::default();
    answers.iter().filter(|(.., outcome)| outcome.counts()).for_each(|(_, given, _)| total.add(given));
    let harm = answers.iter().find_map(|(finding, ..)| finding.harm.clone());
    let when = answers.iter().filter_map(|(finding, ..)| finding.when.as_ref());
    let when: Vec<(i64, i64)> = when.flat_map(Intervals::iter).collect();
    let best = answers.into_iter().min_by(|a, b| {
        let key = |(_, given, outcome): &(Finding, Given, Outcome)| (outcome.verdict, -given.total_ns());
        key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let Some((mut finding, _, outcome)) = best else { return Judged::nothing(cause) };
    let is_known = |missing: &Missing| finding.missing.iter().any(|known| known.says == missing.says);
    let missing = outcome.missing.filter(|missing| !is_known(missing));
    finding.missing.extend(missing);
    let share_of = |ns: f64| if lost_ns > 0.0 { (ns / lost_ns).clamp(0.0, 1.0) } else { 0.0 };
    let mut actions = finding.actions;
    actions.extend(cause.actions.iter().map(|action| (*action).to_owned()));
    let verdict = CauseVerdict {
        id: cause.id.to_owned(),
        verdict: outcome.verdict,
        share: share_of(total.total_ns()),
        only: share_of(total.only_ns),
        reach: share_of(total.reach_ns),
        says: outcome.says,
        during: None,
        evidence: finding.evidence,
        missing: finding.missing,
        chain: finding.chain.iter().map(|id| (*id).to_owned()).collect(),
        actions,
        prove: if cause.has_lab { format!("fathom lab run {}", cause.id) } else { String::new() },
        drill_down: outcome.drill_down,
        cost: None,
    };
    let when = (!when.is_empty()).then(|| Intervals::union(when));
    Judged { verdict, harm, when, taken: total.taken.into_iter().collect() }
}

impl Outcome {
    fn counts(&self) -> bool {
        self.verdict <= Verdict::Possible
    }
}

fn judge(
    comparison: &Comparison<'_>,
    (cause, finding): &(&'static Cause, Finding),
    given: &Given,
    lost_ns: f64,
) -> Outcome {
    let taken_ns = given.total_ns();
    let share = if lost_ns > 0.0 { (taken_ns / lost_ns).min(1.0) } else { 0.0 };
    let reach = if lost_ns > 0.0 { given.reach_ns / lost_ns } else { 0.0 };
    let least_ns = comparison.material_ns();
    let grown_ns = finding.grown_ns(comparison);
    let is_there = comparison.is_slow() && grown_ns >= least_ns.max(NEGLIGIBLE_SHARE * lost_ns);
    let verdict = match (&finding.harm, comparison.is_slow()) {
        (Some(_), true) => verdict(finding.support, (1.0, 1.0), is_there),
        _ => verdict(finding.support, (if taken_ns >= least_ns { share } else { 0.0 }, reach), is_there),
    };
    let says = match verdict <= Verdict::Possible {
        true => told(comparison, finding, given, share),
        false => not_told(comparison, finding, given, lost_ns),
    };
    let drill_down = match verdict <= Verdict::Possible && comparison.is_slow() {
        true => drill_down::of(comparison, finding, given),
        false => DrillDown::default(),
    };
    // What was not recorded rules no cause out.
    let missing = (verdict == Verdict::RuledOut).then(|| coverage::missing(comparison, cause, finding)).flatten();
    let Some(mut missing) = missing else { return Outcome { verdict, share, says, missing: None, drill_down } };
    let says = format!("{}: {says}", missing.says);
    gaps::without_use(comparison, cause, std::slice::from_mut(&mut missing));
    Outcome { verdict: Verdict::NotEnough, share, says, missing: Some(missing), drill_down }
}

/// What is said of a cause that counts.
fn told(comparison: &Comparison<'_>, finding: &Finding, given: &Given, share: f64) -> String {
    let is_small = share < NEGLIGIBLE_SHARE && finding.harm.is_none();
    let text = match finding.support {
        _ if is_small && given.reach_ns > 2.0 * given.total_ns() => of_others(finding),
        Support::Observed if is_small => format!("also seen: {}", finding.says),
        _ => finding.says.clone(),
    };
    if given.along_ns <= MINOR_SHARE * given.total_ns() {
        return text;
    }
    let waited = format::number(given.along_ns / comparison.excess().slow_ns.max(1.0));
    format!("{text}; a further {waited} threads waited for threads that were held up by this")
}

/// What is said of one whose time others were given.
fn of_others(finding: &Finding) -> String {
    format!("already attributed to other causes: {}", finding.says)
}

/// What is said of one that does not.
fn not_told(comparison: &Comparison<'_>, finding: &Finding, given: &Given, lost_ns: f64) -> String {
    match finding.support {
        Support::Absent | Support::NotMeasured => finding.says.clone(),
        _ if !comparison.is_slow() => "nothing was slow".to_owned(),
        _ if lost_ns > 0.0 && given.reach_ns >= NEGLIGIBLE_SHARE * lost_ns => of_others(finding),
        _ => format!("below 2 % of the lost time: {}", finding.says),
    }
}

/// How sure we are: how well the signature was seen, and whether it covers time that matters. A mechanism that was seen, and
/// more of it than usual, is never ruled out: it is said how little it cost. Nor is a suspicion ruled out that could explain a
/// good part of what better supported causes were given.
fn verdict(support: Support, (share, reach): (f64, f64), is_there: bool) -> Verdict {
    match support {
        Support::NotMeasured => Verdict::NotEnough,
        Support::Absent => Verdict::RuledOut,
        Support::Observed if share >= MINOR_SHARE => Verdict::Shown,
        Support::Consistent if share >= MINOR_SHARE => Verdict::Likely,
        Support::Observed if is_there => Verdict::Possible,
        _ if share < NEGLIGIBLE_SHARE && reach < MINOR_SHARE => Verdict::RuledOut,
        Support::Observed | Support::Consistent | Support::Weak => Verdict::Possible,
    }
}

/// For each slow interval, the causes that were found in slow time of its kind, by share.
fn by_interval(analysis: &Analysis<'_>, kinds: &[Intervals], parts: &[Part]) -> Vec<Vec<IntervalCause>> {
    let of = |interval: &SlowInterval| {
        let is_in = |time: &&Intervals| time.touches(interval.from_ns, interval.to_ns);
        let part = kinds.iter().position(|time| is_in(&time)).and_then(|kind| parts.get(kind));
        let mut causes: Vec<IntervalCause> = part.map_or_else(Vec::new, Part::found);
        causes.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.id.cmp(&b.id)));
        causes
    };
    analysis.slowdown.intervals.iter().map(of).collect()
}

impl Part {
    /// The cause that was given most, if any counts.
    fn first(&self) -> &'static str {
        let found = self.findings.iter().filter(|(.., outcome)| outcome.counts() && outcome.share > 0.0);
        found.max_by(|(.., a), (.., b)| a.share.total_cmp(&b.share)).map_or("", |(cause, ..)| cause.id)
    }

    fn found(&self) -> Vec<IntervalCause> {
        let found = self.findings.iter().filter(|(.., outcome)| outcome.verdict <= Verdict::Likely);
        found
            .map(|(cause, _, _, outcome)| IntervalCause {
                id: cause.id.to_owned(),
                verdict: outcome.verdict,
                share: outcome.share,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_need_both_signature_and_time() {
        for (support, share, is_there, expected) in [
            (Support::Observed, 0.7, true, Verdict::Shown),
            (Support::Observed, 0.05, true, Verdict::Possible),
            (Support::Observed, 0.0, true, Verdict::Possible),
            (Support::Observed, 0.0, false, Verdict::RuledOut),
            (Support::Consistent, 0.7, true, Verdict::Likely),
            (Support::Consistent, 0.05, true, Verdict::Possible),
            (Support::Consistent, 0.01, true, Verdict::RuledOut),
            (Support::Weak, 0.9, true, Verdict::Possible),
            (Support::Absent, 0.9, true, Verdict::RuledOut),
            (Support::NotMeasured, 0.0, true, Verdict::NotEnough),
        ] {
            assert_eq!(verdict(support, (share, share), is_there), expected, "{support:?} {share} {is_there}");
        }
        // Others were given it.
        assert_eq!(verdict(Support::Weak, (0.0, 0.5), true), Verdict::Possible);
        assert_eq!(verdict(Support::Absent, (0.0, 0.5), true), Verdict::RuledOut);
    }
}
