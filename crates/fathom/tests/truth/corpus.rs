//! Public files of which the truth was read by hand, if they are present. The public benchmark asks about the same ones.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::recordings::{answer, load, name};
use crate::repository;
use crate::score::{Answer, Judged, Truth, judge};

const CASES: &str = "bench/truth/cases/corpus.json";

#[derive(Deserialize)]
struct Cases {
    cases: Vec<Case>,
}

/// What is read of a case; `bench/truth/README.md` describes all of it.
#[derive(Deserialize)]
struct Case {
    /// One file, by what it is a recording of.
    files: BTreeMap<String, String>,
    /// One of these has to come first; without any, no cause may be named.
    #[serde(default)]
    first: Vec<String>,
    #[serde(default)]
    also: BTreeSet<String>,
    #[serde(default)]
    keep: BTreeSet<String>,
}

pub(crate) fn judged() -> Vec<Judged> {
    let text = std::fs::read_to_string(repository().join(CASES)).expect(CASES);
    let all: Cases = serde_json::from_str(&text).expect(CASES);
    all.cases.iter().flat_map(of_case).collect()
}

fn of_case(case: &Case) -> Vec<Judged> {
    let suffered = !case.first.is_empty();
    let (first, also, guilty) = (case.first.clone(), case.also.clone(), case.keep.clone());
    let truth = Truth { first, also, guilty, suffered, ..Truth::default() };
    let of_file = |(mix, file): (&String, &String)| {
        let path = repository().join(file);
        let recording = path.is_file().then(|| load(&path).unwrap_or_else(|error| panic!("{file}: {error}")))?;
        Some(judge("corpus", &name(&path), mix, &truth, &Answer::from(&answer(&recording)), Vec::new()))
    };
    case.files.iter().filter_map(of_file).collect()
}
