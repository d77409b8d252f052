//! Small worlds as text, each with the verdicts that are expected of it: `catalog/*/cases/*.world`.
//!
//! [`world`] is the format. A file is a test of its own, found by scanning, once for every
//! combination of recorders that its `seen by` lines name.

mod check;
mod expect;
mod happen;
mod recorders;
mod text;
mod world;

use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let arguments = Arguments::from_args();
    let trials = files().into_iter().map(|path| Trial::test(name(&path), move || run(&path)));
    libtest_mimic::run(&arguments, trials.collect()).exit();
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
