//! The worlds of the catalogue: what they expect is the truth.

use std::path::Path;

use fathom_causes::explanation::Verdict;
use fathom_causes::{ExplainOptions, explain};

use crate::expect::{Cause, Part, What};
use crate::recorders::{BEGIN_NS, record, record_baseline};
use crate::recordings::entries;
use crate::repository;
use crate::score::{Answer, Judged, Truth, judge};
use crate::world::{View, World, parse};

pub(crate) fn judged() -> Vec<Judged> {
    let causes = entries(&repository().join("crates/causes/catalog"));
    let files = causes.iter().flat_map(|cause| entries(&cause.join("cases")));
    let worlds = files.filter(|path| path.extension().is_some_and(|end| end == "world"));
    worlds.flat_map(|file| of_file(&file)).collect()
}

/// A world that cannot be read fails its own test.
fn of_file(path: &Path) -> Vec<Judged> {
    let world = std::fs::read_to_string(path).ok().and_then(|text| parse(&text).ok());
    let Some(world) = world else { return Vec::new() };
    let part = |path: Option<&Path>| path.and_then(Path::file_stem).unwrap_or_default().to_string_lossy().into_owned();
    let name = format!("{}/{}", part(path.ancestors().nth(2)), part(Some(path)));
    let of_view = |view: &View| {
        let truth = truth(view);
        view.recorders.iter().map(|recorders| of_recorders(&world, &name, &truth, recorders)).collect::<Vec<_>>()
    };
    world.views.iter().flat_map(of_view).collect()
}

/// Answers to less evidence are the properties' business, beside the worlds.
fn of_recorders(world: &World, name: &str, truth: &Truth, recorders: &[String]) -> Judged {
    let baseline = record_baseline(world, recorders);
    let slow = world.slow.map(|(from, to)| (BEGIN_NS + from, BEGIN_NS + to));
    let answer = explain(&record(world, recorders), &ExplainOptions { slow, baseline: baseline.as_ref() });
    let known = ["jfr", "gc_log", "live", "latency", "requests"]
        .into_iter()
        .filter(|known| recorders.iter().any(|one| one == known));
    judge("worlds", name, &known.collect::<Vec<_>>().join("+"), truth, &Answer::from(&answer), Vec::new())
}

fn truth(view: &View) -> Truth {
    let mut truth = Truth::default();
    let is_accused =
        |cause: &&Cause| !cause.verdicts.is_empty() && cause.verdicts.iter().all(|verdict| *verdict <= Verdict::Likely);
    let causes: Vec<&Cause> = view.expectations.iter().filter_map(|line| line.cause()).collect();
    truth.first = causes.iter().copied().find(is_accused).map(|cause| cause.id.clone()).into_iter().collect();
    let may_be =
        |cause: &&&Cause| cause.verdicts.is_empty() || cause.verdicts.iter().any(|one| *one <= Verdict::Likely);
    truth.also = causes.iter().filter(may_be).map(|cause| cause.id.clone()).collect();
    let is_guilty = |cause: &&&Cause| {
        !cause.verdicts.contains(&Verdict::RuledOut) && cause.verdicts.iter().any(|one| *one <= Verdict::Possible)
    };
    truth.guilty = causes.iter().filter(is_guilty).map(|cause| cause.id.clone()).collect();
    let shares = causes.iter().filter(|cause| is_accused(cause));
    truth.shares = shares.filter_map(|cause| cause.share.map(|(low, high)| (cause.id.clone(), low, high))).collect();
    for line in &view.expectations {
        match &line.what {
            What::Slow(from, to, _) => {
                truth.slow.get_or_insert_default().push((BEGIN_NS + from, BEGIN_NS + to));
                truth.suffered = true;
            }
            What::NeverSlow => truth.slow = Some(Vec::new()),
            What::Says(Part::Headline, text, false) => truth.suffered |= text == "nothing was slow",
            What::Together(ids, _) => truth.also.extend(ids.iter().cloned()),
            _ => {}
        }
    }
    truth
}
