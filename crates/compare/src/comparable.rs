//! Why two sides may not be compared: something other than the program could have made the difference, or hidden one.

use serde::Serialize;

use crate::facts::FactsCompared;
use crate::measures::MeasureDifference;
use crate::run::Run;
use crate::statistics::mean;

/// What kind of reason; each can be accepted by a person who knows better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Accepted {
    /// How many requests came, where that could explain what was found.
    Load,
    /// CPUs and memory.
    Machine,
    /// One side was recorded while its JVM was young, the other was not.
    WarmUp,
    /// Other processes used the CPUs in some runs.
    Busy,
    /// All runs of one side came after those of the other, and runs in a row differ as much as the sides.
    Drift,
    /// Requests were measured at different places.
    Source,
}

impl Accepted {
    /// Its word on a command line.
    pub fn word(self) -> &'static str {
        match self {
            Accepted::Load => "load",
            Accepted::Machine => "machine",
            Accepted::WarmUp => "warm-up",
            Accepted::Busy => "busy",
            Accepted::Drift => "drift",
            Accepted::Source => "source",
        }
    }
}

/// A reason why the sides cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// Its kind.
    pub kind: Accepted,
    /// One sentence with figures.
    pub says: String,
}

/// More or fewer requests than this, as a factor, are another load. Where queues form a tenth more load is a tenth more latency
/// or more.
const LOAD_DIFFERS: f64 = 1.1;

/// What a machine is. Fewer or other CPUs make another program of it.
const OF_MACHINES: &[&str] = &["architecture", "cpu", "cpus", "memory_gib"];

/// A JVM is young for so long, in s: compilers are done with what runs often by then, in most programs.
const YOUNG_S: f64 = 60.0;

/// Sides differ in age when the young part of their time differs by more than this.
const AGE_DIFFERS: f64 = 0.25;

/// A run is busier than others when other processes used so much more of the machine: of two CPUs nearly half a CPU.
const BUSIER_BY: f64 = 0.2;

/// Everything but drift.
pub(crate) fn reasons(a: &[Run], b: &[Run], measures: &[MeasureDifference], facts: &FactsCompared) -> Vec<Reason> {
    let found = [source(a, b), load(a, b, measures), machine(facts), warm_up(a, b), busy(a, b)];
    found.into_iter().flatten().collect()
}

/// Of those measures that were found, if all of them may be drift.
pub(crate) fn drift(measures: &[MeasureDifference]) -> Option<Reason> {
    let mut found = measures.iter().filter(|one| one.found).peekable();
    let first = found.peek()?.measure.name();
    let by = found.peek()?.change?.by;
    found.all(|one| one.may_be_drift).then(|| Reason {
        kind: Accepted::Drift,
        says: format!(
            "the runs of one side came after those of the other, and {first} differs by {} between the sides, which is within \
             what runs in a row differ by: make the runs in turns",
            percent(by)
        ),
    })
}

fn source(a: &[Run], b: &[Run]) -> Option<Reason> {
    let sources = |side: &[Run]| -> Vec<String> {
        let of =
            |run: &Run| run.latencies.as_ref().map_or("no requests".to_owned(), |latencies| latencies.source.clone());
        let mut sources: Vec<String> = side.iter().map(of).collect();
        sources.sort();
        sources.dedup();
        sources
    };
    let (of_a, of_b) = (sources(a), sources(b));
    (of_a != of_b).then(|| Reason {
        kind: Accepted::Source,
        says: format!("requests were measured at different places: {} and {}", of_a.join(", "), of_b.join(", ")),
    })
}

/// Another load matters where it may have made what was found, or hidden what was not: more load makes slower. A service that is
/// slower and answers less is slower; clients that wait for answers send less to it.
fn load(a: &[Run], b: &[Run], measures: &[MeasureDifference]) -> Option<Reason> {
    let rate = |side: &[Run]| -> Option<f64> {
        let logarithms: Option<Vec<f64>> = side.iter().map(|run| run.rate().map(|rate| rate.max(1e-9).ln())).collect();
        logarithms.map(|logarithms| mean(&logarithms).exp())
    };
    let (of_a, of_b) = (rate(a)?, rate(b)?);
    let factor = of_b / of_a;
    let found = |is_worse: bool| measures.iter().any(|one| one.found && one.is_worse() == is_worse);
    let may_mislead = match factor {
        more if more > LOAD_DIFFERS => found(true) || !found(false),
        less if less < 1.0 / LOAD_DIFFERS => found(false) || !found(true),
        _ => false,
    };
    may_mislead
        .then(|| Reason { kind: Accepted::Load, says: format!("the load differs: {of_a:.0} and {of_b:.0} requests/s") })
}

fn machine(facts: &FactsCompared) -> Option<Reason> {
    let differ: Vec<String> = facts
        .given
        .iter()
        .filter(|one| OF_MACHINES.contains(&one.fact.as_str()))
        .map(|one| format!("{} {} and {}", one.fact, one.a.join(", "), one.b.join(", ")))
        .collect();
    (!differ.is_empty())
        .then(|| Reason { kind: Accepted::Machine, says: format!("the machine differs: {}", differ.join("; ")) })
}

fn warm_up(a: &[Run], b: &[Run]) -> Option<Reason> {
    let young = |run: &Run| Some(((YOUNG_S - run.age_ns? as f64 / 1e9) / run.seconds()).clamp(0.0, 1.0));
    let part = |side: &[Run]| side.iter().map(young).collect::<Option<Vec<f64>>>().map(|parts| mean(&parts));
    let (of_a, of_b) = (part(a)?, part(b)?);
    ((of_a - of_b).abs() > AGE_DIFFERS).then(|| Reason {
        kind: Accepted::WarmUp,
        says: format!(
            "the JVMs were not equally old: {} and {} of the time lie in their first minute",
            percent_of(of_a),
            percent_of(of_b)
        ),
    })
}

/// Each run against the median of the others, so that one of two is seen as well.
fn busy(a: &[Run], b: &[Run]) -> Option<Reason> {
    let runs: Vec<(&Run, f64)> = a.iter().chain(b).filter_map(|run| Some((run, run.others_cpu?))).collect();
    let others = |place: usize| {
        let mut others: Vec<f64> =
            runs.iter().enumerate().filter(|(index, _)| *index != place).map(|(_, one)| one.1).collect();
        others.sort_by(f64::total_cmp);
        others.get(others.len() / 2).copied()
    };
    let busier =
        runs.iter().enumerate().filter(|(place, (_, cpu))| others(*place).is_some_and(|usual| cpu - usual > BUSIER_BY));
    let busier: Vec<String> = busier.map(|(_, (run, cpu))| format!("{} ({})", run.name, percent_of(*cpu))).collect();
    (!busier.is_empty()).then(|| Reason {
        kind: Accepted::Busy,
        says: format!(
            "other processes used the machine's CPUs in some runs much more than in the others: {}",
            busier.join(", ")
        ),
    })
}

/// A part, in whole percent.
fn percent_of(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

/// A change, in percent or as a factor, with its sign.
pub fn percent(by: f64) -> String {
    let percent = by * 100.0;
    match percent.abs() {
        _ if by >= 1.0 => format!("× {:.3}", by + 1.0).trim_end_matches('0').trim_end_matches('.').to_owned(),
        small if small < 9.95 => format!("{percent:+.1} %"),
        _ => format!("{percent:+.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latencies::Latencies;

    fn run(name: &str, count: f64, others_cpu: f64) -> Run {
        let latencies = Latencies {
            source: "latency".to_owned(),
            count,
            seconds: 60.0,
            p50_ns: 1e6,
            p90_ns: 1e6,
            p99_ns: 1e6,
            mean_ns: 1e6,
        };
        Run {
            name: name.to_owned(),
            length_ns: 60_000_000_000,
            latencies: Some(latencies),
            others_cpu: Some(others_cpu),
            ..Run::default()
        }
    }

    fn kinds(a: &[Run], b: &[Run]) -> Vec<Accepted> {
        reasons(a, b, &[], &FactsCompared::default()).into_iter().map(|reason| reason.kind).collect()
    }

    #[test]
    fn a_busy_run_is_named() {
        let quiet = || run("quiet", 600.0, 0.02);
        assert_eq!(kinds(&[quiet(), quiet()], &[quiet(), quiet()]), []);
        let reasons =
            reasons(&[quiet(), run("b.fathom", 600.0, 0.9)], &[quiet(), quiet()], &[], &FactsCompared::default());
        assert_eq!(reasons.len(), 1);
        assert!(reasons[0].says.contains("b.fathom (90 %)"), "{reasons:?}");
        assert_eq!(kinds(&[quiet()], &[run("busy", 600.0, 0.5)]), [Accepted::Busy]);
    }

    #[test]
    fn another_load_another_age_another_source() {
        let usual = run("a", 600.0, 0.0);
        assert_eq!(kinds(std::slice::from_ref(&usual), &[run("b", 900.0, 0.0)]), [Accepted::Load]);
        let aged = |age_s: i64| Run { age_ns: Some(age_s * 1_000_000_000), ..usual.clone() };
        assert_eq!(kinds(&[aged(0)], &[aged(5)]), []);
        assert_eq!(kinds(&[aged(0)], &[aged(600)]), [Accepted::WarmUp]);
        let without = Run { latencies: None, ..usual.clone() };
        assert_eq!(kinds(std::slice::from_ref(&usual), &[without]), [Accepted::Source]);
    }

    #[test]
    fn changes_read_as_people_say_them() {
        for (by, expected) in
            [(0.012, "+1.2 %"), (-0.4, "-40 %"), (0.5, "+50 %"), (1.5, "× 2.5"), (9.0, "× 10"), (0.0, "+0.0 %")]
        {
            assert_eq!(percent(by), expected);
        }
    }
}
