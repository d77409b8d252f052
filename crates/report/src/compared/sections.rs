//! The sections of a comparison, in order.

use fathom_compare::statistics::{Interval, Order};
use fathom_compare::{
    Appearance, Comparison, FactDifference, FactsCompared, LostDifference, Measure, MeasureDifference, Outcome, Run,
    Side, State, percent,
};

use super::profiles;
use super::section::Section;
use crate::units::amount;

/// Parts of a list that are printed by name.
const NAMES: usize = 6;

/// Lost time and states that changed by less than this, in ns per request or second, are not listed: a microsecond.
const CHANGED_NS: f64 = 1_000.0;

/// All parts, but those with nothing in them.
pub(super) fn all(comparison: &Comparison, rows: usize) -> Vec<Section> {
    let unit = if comparison.per_request { "per request" } else { "per second" };
    let is_profile = comparison.a.runs.iter().chain(&comparison.b.runs).all(Run::is_profile);
    let all = match is_profile {
        true => {
            let verdict = vec![Section::verdict(&comparison.verdict.says), requirements(&comparison.requirements)];
            // Such files hold hardly any: that none differs says nothing.
            let given = (!comparison.facts.given.is_empty()).then(|| facts(&comparison.facts, rows));
            given.into_iter().chain(verdict).chain(profiles::sections(comparison, rows)).collect()
        }
        false => vec![
            facts(&comparison.facts, rows),
            Section::verdict(&comparison.verdict.says),
            measures(comparison),
            requirements(&comparison.requirements),
            lost("Lost time by cause", &comparison.causes, unit, comparison, rows).note(causes_note(comparison)),
            lost("Thread time by state", &comparison.states, unit, comparison, rows),
        ],
    };
    all.into_iter().filter(|section| !section.is_empty()).collect()
}

fn facts(facts: &FactsCompared, rows: usize) -> Section {
    let row = |one: &FactDifference| vec![one.fact.clone(), values(&one.a), values(&one.b)];
    let given: Vec<Vec<String>> = facts.given.iter().map(row).collect();
    let (is_none, same) = (given.is_empty(), facts.same);
    let section = Section::new("What differs").table(&["", "A", "B"], given, rows);
    let section = match is_none {
        true => section.note(format!("nothing of {same} facts that both sides know")),
        false => section.note(format!("{same} other facts are the same on both sides")),
    };
    let derived: Vec<String> =
        facts.derived.iter().map(|one| format!("{} {} → {}", one.fact, values(&one.a), values(&one.b))).collect();
    let section = with_names(section, "what follows from that, or from the JDK: ", &derived, rows);
    with_names(section, "known of one side only: ", &facts.one_sided, rows)
}

fn with_names(section: Section, says: &str, names: &[String], rows: usize) -> Section {
    let most = if rows == usize::MAX { usize::MAX } else { NAMES };
    let more = names.len().saturating_sub(most);
    let shown = names.iter().take(most).cloned().collect::<Vec<_>>().join(", ");
    match (names.is_empty(), more) {
        (true, _) => section,
        (_, 0) => section.note(format!("{says}{shown}")),
        (_, more) => section.note(format!("{says}{shown} and {more} more")),
    }
}

fn values(values: &[String]) -> String {
    values.join(", ")
}

fn measures(comparison: &Comparison) -> Section {
    let [of_a, of_b] = [&comparison.a, &comparison.b].map(side);
    let section = Section::new("What was measured");
    if comparison.measures.iter().all(|one| one.change.is_none()) {
        let rows = comparison.measures.iter().map(|one| measure(one)[..3].to_vec()).collect();
        return section.table(&["", "A", "B"], rows, usize::MAX).note(format!("A: {of_a}; B: {of_b}."));
    }
    let head = ["", "A", "B", "change", "95 % interval", "would be found"];
    let section = section.table(&head, comparison.measures.iter().map(measure).collect(), usize::MAX);
    let order = match comparison.order {
        Order::Pairs(_) => "in pairs, one of each side",
        Order::Blocks => "those of one side after those of the other",
        Order::Mixed => "in no particular order",
    };
    section.note(format!("A: {of_a}; B: {of_b}; {order}. Intervals are over runs. * decides."))
}

fn side(side: &Side) -> String {
    let count = side.runs.len();
    let runs = if count == 1 { "1 run".to_owned() } else { format!("{count} runs") };
    side.requests_per_s.map_or(runs.clone(), |rate| format!("{runs}, {} requests/s", amount(rate, "count")))
}

fn measure(one: &MeasureDifference) -> Vec<String> {
    let interval = |of: Option<Interval>| of.map_or_else(String::new, |of| with_interval(of, one.unit));
    let star = if one.decides { " *" } else { "" };
    let found = if one.found { "" } else { " (not found)" };
    vec![
        format!("{}{star}", title(one.measure)),
        interval(one.a),
        interval(one.b),
        one.change.map_or_else(String::new, |change| {
            format!("{}{}", percent(change.by), if one.decides { found } else { "" })
        }),
        one.change.map_or_else(String::new, |change| format!("{} to {}", percent(change.low), percent(change.high))),
        one.found_from.map_or_else(String::new, |from| format!("from {}", percent(from))),
    ]
}

fn title(measure: Measure) -> &'static str {
    match measure {
        Measure::Mean => "mean latency",
        Measure::Stopped => "time stopped",
        Measure::Lost => "lost threads",
        other => other.name(),
    }
}

fn with_interval(of: Interval, unit: &str) -> String {
    let value = amount(of.value, unit);
    match of.low.zip(of.high) {
        Some((low, high)) => format!("{value} ({} to {})", amount(low, unit), amount(high, unit)),
        None => value,
    }
}

fn requirements(outcomes: &[Outcome]) -> Section {
    let word = |state: State| match state {
        State::Met => "met",
        State::Broken => "BROKEN",
        State::Undecided => "undecided",
    };
    let row = |one: &Outcome| vec![one.requirement.clone(), word(one.state).to_owned(), one.says.clone()];
    Section::new("Required").table(&["", "", ""], outcomes.iter().map(row).collect(), usize::MAX)
}

/// What changed noticeably from the first side to the second: thread time, or the number of runs with something that costs no time.
fn lost(heading: &'static str, all: &[LostDifference], unit: &str, of: &Comparison, rows: usize) -> Section {
    let costs_none = |one: &LostDifference| one.a_ns.max(one.b_ns) <= 0.0;
    let changed_runs = |one: &LostDifference| costs_none(one) && one.a_runs != one.b_runs;
    let changed = all.iter().filter(|one| (one.b_ns - one.a_ns).abs() >= CHANGED_NS || changed_runs(one));
    let runs = |count: usize, side: &Side| format!("{count} of {}", side.runs.len());
    let row = |one: &LostDifference| {
        let became = match one.became {
            Appearance::Appeared => "appeared",
            Appearance::Went => "went",
            Appearance::Both if (one.b_ns, one.b_runs as f64) > (one.a_ns, one.a_runs as f64) => "more",
            Appearance::Both => "less",
        };
        let in_runs = format!("in {} runs, {}", runs(one.a_runs, &of.a), runs(one.b_runs, &of.b));
        let time = |ns: f64| if costs_none(one) { "no time".to_owned() } else { amount(ns, "ns") };
        vec![one.id.clone(), time(one.a_ns), time(one.b_ns), became.to_owned(), in_runs]
    };
    let head = [unit, "A", "B", "", ""];
    Section::new(heading).table(&head, changed.map(row).collect(), rows)
}

fn causes_note(comparison: &Comparison) -> String {
    match comparison.causes.is_empty() {
        true => "no cause is shown or likely in any run".to_owned(),
        false => "thread time lost in slow time, of causes that are shown or likely".to_owned(),
    }
}
