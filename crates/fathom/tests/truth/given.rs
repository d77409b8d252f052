//! Recordings that the user provides, each a folder with a file `TRUTH`.
//!
//! ```text
//! first slow_downstream                # or several, of which one has to come first; or: nobody
//! also run_queue_wait                  # may be accused as well
//! slow 1795160881.5..1795160902        # seconds since the Unix epoch; may be left out
//! open 1795160870..1795160880          # of which nothing is known
//! ```
//!
//! Everything else in the folder is one recording: recordings of `fathom record`, JFR files, GC logs. It is explained without
//! the files whose names begin with `latency`, and with them; and once more without the JVM's recorder and each collector.

use std::path::{Path, PathBuf};

use fathom_causes::explanation::Explanation;
use fathom_evidence::kinds::event;
use fathom_evidence::tables::{Counters, Facts, Samples, Spans};
use fathom_evidence::{Recording, StrId};

use crate::recordings::{answer, entries, load, name};
use crate::score::{Answer, Judged, Truth, judge};
use crate::told::weaker;
use crate::transform::{GROUPS, without};

const TRUTH: &str = "TRUTH";

/// The recordings of a folder, or of the folders in it.
pub(crate) fn judged(folder: &Path) -> Vec<Judged> {
    let set = name(folder);
    let mut recordings: Vec<PathBuf> = entries(folder).into_iter().filter(|path| path.join(TRUTH).is_file()).collect();
    if folder.join(TRUTH).is_file() {
        recordings.push(folder.to_owned());
    }
    recordings.iter().flat_map(|recording| of_recording(&set, recording)).collect()
}

fn of_recording(set: &str, folder: &Path) -> Vec<Judged> {
    let files = entries(folder).into_iter().filter(|path| name(path) != TRUTH);
    let (latencies, files): (Vec<PathBuf>, Vec<PathBuf>) = files.partition(|path| name(path).starts_with("latency"));
    let text = std::fs::read_to_string(folder.join(TRUTH)).unwrap_or_default();
    let truth = truth(&text).unwrap_or_else(|error| panic!("{}: {error}", folder.join(TRUTH).display()));
    let recording = together(Recording::default(), &files);
    let mut mixes = vec![("recording", recording.clone())];
    if !latencies.is_empty() {
        mixes.push(("recording+latency", together(recording, &latencies)));
    }
    let of_mix = |(mix, recording): (&str, Recording)| {
        let answer = answer(&recording);
        judge(set, &name(folder), mix, &truth, &Answer::from(&answer), turned(&recording, &answer))
    };
    mixes.into_iter().map(of_mix).collect()
}

fn together(mut recording: Recording, files: &[PathBuf]) -> Recording {
    for file in files {
        match read(file) {
            Ok(part) => recording.absorb(part),
            Err(error) => eprintln!("{}: {error}", file.display()),
        }
    }
    recording.choose_cpu_samples();
    recording.name_waits_by_samples();
    recording
}

fn read(path: &Path) -> Result<Recording, String> {
    match fathom_store::is_recording(path) {
        true => fathom_store::open(path).map_err(|error| error.to_string()),
        false => load(path).map_err(|error| error.to_string()),
    }
}

fn turned(recording: &Recording, full: &Explanation) -> Vec<String> {
    let groups = GROUPS.iter().filter_map(|group| Some((group.name, without(recording, group)?)));
    let less = groups.chain([("the JVM's recorder", without_jfr(recording))]);
    let failures = less.flat_map(|(name, less)| {
        weaker(full, &answer(&less)).into_iter().map(move |failure| format!("without {name} {failure}"))
    });
    failures.collect()
}

/// The recording as it would be had the JVM's recorder not run; its thread names stay, which are known otherwise.
fn without_jfr(recording: &Recording) -> Recording {
    let is_jfr = |source: StrId| recording.text(source) == "jfr";
    let mut less = recording.clone();
    less.spans = Spans::default();
    recording.spans.rows().filter(|row| !is_jfr(row.source)).for_each(|row| less.spans.push(row));
    less.counters = Counters::default();
    recording.counters.rows().filter(|row| !is_jfr(row.source)).for_each(|row| less.counters.push(row));
    less.facts = Facts::default();
    recording.facts.rows().filter(|row| !is_jfr(row.source)).for_each(|row| less.facts.push(row));
    // Samples do not say who took them: these are the events of the JVM's own recorder.
    let of_jfr = [event::EXECUTION, event::NATIVE, event::ALLOCATION, event::ALLOCATION_SAMPLED];
    less.samples = Samples::default();
    let others = recording.samples.rows().filter(|row| !of_jfr.contains(&recording.text(row.event)));
    others.for_each(|row| less.samples.push(row));
    less
}

fn truth(text: &str) -> Result<Truth, String> {
    let mut truth = Truth::default();
    for line in text.lines().map(|line| line.split('#').next().unwrap_or("").trim()).filter(|line| !line.is_empty()) {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let words = rest.split_whitespace();
        match word {
            "nobody" => truth.slow = Some(Vec::new()),
            "first" => truth.first = words.map(str::to_owned).collect(),
            "also" => truth.also.extend(words.map(str::to_owned)),
            "slow" => truth.slow = Some(words.map(range).collect::<Result<_, _>>()?),
            "open" => truth.open = words.map(range).collect::<Result<_, _>>()?,
            _ => return Err(format!("`{word}` is not understood")),
        }
    }
    truth.suffered = !truth.first.is_empty();
    truth.guilty = match truth.first.as_slice() {
        [only] => [only.clone()].into(),
        _ => Default::default(),
    };
    Ok(truth)
}

fn range(word: &str) -> Result<(i64, i64), String> {
    let seconds = |text: &str| text.parse::<f64>().ok().map(|seconds| (seconds * 1e9) as i64);
    let ends = word.split_once("..").and_then(|(from, to)| Some((seconds(from)?, seconds(to)?)));
    ends.ok_or_else(|| format!("`{word}` is not FROM..TO in seconds"))
}
