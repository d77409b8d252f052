//! Recordings that somebody gives, each a folder with a file `TRUTH`.
//!
//! ```text
//! first slow_downstream                # or several, of which one has to come first; or: nobody
//! also run_queue_wait                  # may be accused as well
//! slow 1795160881.5..1795160902        # seconds since the Unix epoch; may be left out
//! open 1795160870..1795160880          # of which nothing is known
//! ```
//!
//! Everything else in the folder is explained together, as the program does it: once without the files whose names begin
//! with `latency`, and once with them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::score::{Answer, Judged, Truth, judge};

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

fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = found.collect();
    found.sort();
    found
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn of_recording(set: &str, folder: &Path) -> Vec<Judged> {
    let files = entries(folder).into_iter().filter(|path| name(path) != TRUTH);
    let (latencies, files): (Vec<PathBuf>, Vec<PathBuf>) = files.partition(|path| name(path).starts_with("latency"));
    let text = std::fs::read_to_string(folder.join(TRUTH)).unwrap_or_default();
    let truth = truth(&text).unwrap_or_else(|error| panic!("{}: {error}", folder.join(TRUTH).display()));
    let mut mixes = vec![("recording", Vec::new())];
    if !latencies.is_empty() {
        mixes.push(("recording+latency", latencies));
    }
    let of_mix = |(mix, latencies): (&str, Vec<PathBuf>)| {
        let answer = explained(&files, &latencies);
        answer.map(|answer| judge(set, &name(folder), mix, &truth, &Answer::from(&answer), Vec::new()))
    };
    mixes.into_iter().filter_map(of_mix).collect()
}

/// What the program says; one that refuses says so itself.
fn explained(files: &[PathBuf], latencies: &[PathBuf]) -> Option<Value> {
    let mut program = Command::new(env!("CARGO_BIN_EXE_fathom"));
    program.arg("explain").args(files).arg("--json");
    latencies.iter().for_each(|file| {
        program.arg("--latency").arg(file);
    });
    let output = program.output().ok()?;
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).ok()
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
