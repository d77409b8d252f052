//! The kept recordings of labs: the folder's name says which lab and variant, `dose.json` says when it was sick.

use std::path::Path;

use fathom_causes::explanation::Explanation;
use fathom_evidence::Recording;
use serde_json::Value;

use crate::recordings::{MIXES, answer, lab_parts, labs, name, together};
use crate::repository;
use crate::score::{Answer, Judged, Truth, judge};
use crate::told::{SHARE_SLACK, same, weaker};
use crate::transform::{GROUPS, shifted, with_idle_hour, with_idle_threads, without};

pub(crate) fn judged() -> Vec<Judged> {
    labs().flat_map(|folder| of_folder(&folder)).collect()
}

fn of_folder(folder: &Path) -> Vec<Judged> {
    let name = name(folder);
    let truth = truth(folder, &name);
    let parts = lab_parts(folder);
    let answers: Vec<(&[&str], Recording, Explanation)> = MIXES
        .iter()
        .map(|mix| {
            let recording = together(&parts, mix);
            let answer = answer(&recording);
            (*mix, recording, answer)
        })
        .collect();
    let judged = answers.iter().map(|(mix, recording, answer)| {
        let mut turned = fewer_sources(mix, answer, &answers);
        // Kinds of events are all of the JVM's recorder: asked where nothing else could stand in, and where all could.
        if matches!(mix.len(), 1 | 3) && mix.contains(&"jfr") {
            turned.extend(fewer_events(recording, answer));
            turned.extend(unchanged(mix, recording, answer));
        }
        judge("labs", &name, &mix.join("+"), &truth, &Answer::from(answer), turned)
    });
    judged.collect()
}

/// How answers to a source less differ; those are other mixes.
fn fewer_sources(mix: &[&str], full: &Explanation, answers: &[(&[&str], Recording, Explanation)]) -> Vec<String> {
    let is_less = |other: &[&str]| other.len() + 1 == mix.len() && other.iter().all(|source| mix.contains(source));
    let less = answers.iter().filter(|(other, ..)| is_less(other));
    less.flat_map(|(other, _, answer)| {
        weaker(full, answer).into_iter().map(move |failure| format!("by {} alone {failure}", other.join("+")))
    })
    .collect()
}

fn fewer_events(recording: &Recording, full: &Explanation) -> Vec<String> {
    let of_group = |group| {
        let less = without(recording, group).map(|less| weaker(full, &answer(&less)));
        let says = |failure: String| format!("without {} {failure}", group.name);
        less.unwrap_or_default().into_iter().map(says).collect::<Vec<_>>()
    };
    GROUPS.iter().flat_map(of_group).collect()
}

/// What does not matter, and changes the answer.
fn unchanged(mix: &[&str], recording: &Recording, full: &Explanation) -> Vec<String> {
    const LATER_NS: i64 = 370_000_000;
    let sources: Vec<String> = mix.iter().map(|source| (*source).to_owned()).collect();
    let others = [
        ("a third of a second later", shifted(recording, LATER_NS)),
        ("beside idle threads", with_idle_threads(recording, 40)),
        ("before an idle hour", with_idle_hour(recording, &sources, false)),
    ];
    let differ = |(what, other): (&str, Recording)| {
        let differences = same(full, &answer(&other), SHARE_SLACK);
        differences.into_iter().map(|difference| format!("{what}: {difference}")).collect::<Vec<_>>()
    };
    others.into_iter().flat_map(differ).collect()
}

/// What the lab declares of the variant, and when its program says that the phases were.
fn truth(folder: &Path, name: &str) -> Truth {
    let mut words = name.split('-');
    let (lab, variant) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let catalog = repository().join("crates/causes/catalog").join(lab).join("lab/lab.json");
    let program = repository().join("labs/programs").join(lab).join("lab.json");
    let declared = json(if catalog.is_file() { &catalog } else { &program });
    let variants = declared["variants"].as_array().cloned().unwrap_or_default();
    let expects = variants.into_iter().find(|one| one["name"] == variant).map(|mut one| one["expects"].take());
    let expects = expects.unwrap_or_else(|| panic!("{name}: no such variant in its lab.json"));
    let ids = |value: &Value| -> Vec<String> {
        let all = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        all.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let dose = json(&folder.join("dose.json"));
    let times = |role: &str, is: bool| -> Vec<(i64, i64)> {
        let phases = declared["phases"].as_array().map_or(&[][..], Vec::as_slice);
        let has_role = |name: &Value| phases.iter().any(|phase| phase["name"] == *name && phase["role"] == role);
        let run = dose["phases"].as_array().map_or(&[][..], Vec::as_slice);
        let ns = |phase: &Value, field: &str| phase[field].as_i64().unwrap_or(0) * 1_000_000;
        let chosen = run.iter().filter(|phase| has_role(&phase["name"]) == is);
        chosen.map(|phase| (ns(phase, "from_ms"), ns(phase, "to_ms"))).collect()
    };
    let first = ids(&expects["first"]);
    let is_sick = !first.is_empty();
    let shares = expects["shares"].as_object().cloned().unwrap_or_default();
    let band = |(id, band): (String, Value)| Some((id, band[0].as_f64()?, band[1].as_f64()?));
    Truth {
        also: ids(&expects["also"]).into_iter().collect(),
        guilty: first.iter().cloned().collect(),
        suffered: is_sick,
        slow: Some(if is_sick { times("exposed", true) } else { Vec::new() }),
        // A JVM that starts is slow for those who wait, and before and after the phases it is on its own.
        open: outside(times("warm_up", true), times("", false)),
        shares: shares.into_iter().filter_map(band).collect(),
        first,
    }
}

/// The warming up, and all time outside the phases.
fn outside(warm_up: Vec<(i64, i64)>, phases: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    let first = phases.iter().map(|phase| phase.0).min().unwrap_or(i64::MIN);
    let last = phases.iter().map(|phase| phase.1).max().unwrap_or(i64::MAX);
    warm_up.into_iter().chain([(i64::MIN / 4, first), (last, i64::MAX / 4)]).collect()
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
