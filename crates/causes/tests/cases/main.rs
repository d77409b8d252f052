//! Small worlds as text, each with the verdicts that are expected of it: `catalog/*/cases/*.world`.
//!
//! [`world`] is the format. A file is a test of its own, found by scanning, once for every
//! combination of recorders that its `seen by` lines name. Worlds that are known not to hold yet
//! stand in [`PENDING`]; one that holds must not. `FATHOM_PENDING=1` shows what is wrong with them.

mod check;
mod expect;
mod happen;
mod order;
mod properties;
mod recorders;
mod text;
mod told;
mod transform;
mod world;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};

/// Worlds that are known not to hold yet, beside this file: `cause/world`, one to a line.
const PENDING: &str = "tests/cases/PENDING";

fn main() {
    let arguments = Arguments::from_args();
    let list = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(PENDING)).expect(PENDING);
    let mut pending: BTreeSet<&str> = list.lines().filter(|line| !line.is_empty()).collect();
    let mut trials = Vec::new();
    for path in files() {
        let name = name(&path);
        let is_pending = pending.remove(name.as_str()) && std::env::var_os("FATHOM_PENDING").is_none();
        trials.push(match is_pending {
            true => Trial::test(name, move || still_pending(run(&path))).with_kind("pending"),
            false => Trial::test(name, move || run(&path)),
        });
    }
    assert!(pending.is_empty(), "no such worlds, but in PENDING: {pending:?}");
    trials.push(order::trial(worlds()));
    trials.extend(properties::trials(worlds()));
    libtest_mimic::run(&arguments, trials).exit();
}

/// Every world that can be read, by name; the others fail on their own.
fn worlds() -> Vec<(String, world::World)> {
    let read = |path: &PathBuf| world::parse(&std::fs::read_to_string(path).ok()?).ok();
    files().iter().filter_map(|path| Some((name(path), read(path)?))).collect()
}

/// What is pending has to fail: a file that cannot be read does not count.
fn still_pending(found: Result<(), Failed>) -> Result<(), Failed> {
    match found {
        Ok(()) => Err("it holds: take it out of PENDING".into()),
        Err(failed) if failed.message().is_some_and(|text| text.contains("the answer:")) => Ok(()),
        failed => failed,
    }
}

fn catalog() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("catalog")
}

/// Every world of every cause, sorted.
fn files() -> Vec<PathBuf> {
    let entries = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let worlds = entries(catalog()).flat_map(|cause| entries(cause.join("cases")));
    let mut found: Vec<PathBuf> = worlds.filter(|path| path.extension().is_some_and(|end| end == "world")).collect();
    found.sort();
    assert!(!found.is_empty(), "no worlds below {}", catalog().display());
    found
}

/// `lock_contention/convoy`
fn name(path: &Path) -> String {
    let part = |path: Option<&Path>| path.and_then(Path::file_stem).unwrap_or_default().to_string_lossy().into_owned();
    format!("{}/{}", part(path.ancestors().nth(2)), part(Some(path)))
}

fn run(path: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let world = world::parse(&text).map_err(|error| format!("{}:{error}", path.display()))?;
    let failures: Vec<String> = world.views.iter().flat_map(|view| check::check(&world, view)).collect();
    match failures.is_empty() {
        true => Ok(()),
        false => Err(format!("{}\n{}", path.display(), failures.join("\n")).into()),
    }
}
