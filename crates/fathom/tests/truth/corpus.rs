//! Public files of which the truth was read by hand (`testdata/corpus/ABOUT.md`), as far as they are there.

use crate::recordings::{answer, load, testdata};
use crate::score::{Answer, Judged, Truth, judge};

/// File, what it is a recording of, and who is to blame: one of these has to come first, or nobody may be accused.
const FILES: &[(&str, &str, &[&str])] = &[
    // One of its full collections was asked for, which took 0.76 s of 33.
    ("863_gc.log.gz", "gc_log", &["full_gc_old_generation_full", "explicit_gc"]),
    ("713_gc.log.gz", "gc_log", &[]),
    ("gc_ccpcc01_late.log.gz", "gc_log", &["explicit_gc"]),
    ("minimal.log.gz", "gc_log", &["explicit_gc"]),
    ("tipsgc.log.gz", "gc_log", &["full_gc_old_generation_full"]),
    ("full_gc_cms.jfr", "jfr", &["full_gc_old_generation_full", "heap_too_small"]),
    ("example.jfr.gz", "jfr", &["lock_contention"]),
];

pub(crate) fn judged() -> Vec<Judged> {
    FILES.iter().filter_map(|(file, mix, first)| of_file(file, mix, first)).collect()
}

fn of_file(file: &str, mix: &str, first: &[&str]) -> Option<Judged> {
    let path = testdata().join("corpus").join(file);
    if !path.is_file() {
        return None;
    }
    let recording = load(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
    let first: Vec<String> = first.iter().map(|id| (*id).to_owned()).collect();
    let suffered = !first.is_empty();
    let guilty = if first.len() == 1 { first.iter().cloned().collect() } else { Default::default() };
    let truth = Truth { first, guilty, suffered, ..Truth::default() };
    let answer = answer(&recording);
    Some(judge("corpus", file, mix, &truth, &Answer::from(&answer), Vec::new()))
}
