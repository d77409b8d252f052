//! From paths to the runs that are compared: each recording is read, measured and freed before the next.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use fathom_compare::{MAX_RUNS, Run};

use super::{Question, Service, file_name};
use crate::exit::{complain, told};
use crate::progress::Progress;
use crate::system::watched;
use crate::terminal::Terminal;

/// The runs that paths lead to: a recording is one, the files of one JVM are one, a folder of folders has one in each. What cannot
/// be read is named on standard error and left out.
pub(crate) fn runs(paths: &[PathBuf], side: &str, terminal: &Terminal) -> Result<Vec<Run>> {
    read(paths, side, terminal, &|place| Question::of(place).for_verdicts())
}

/// The same; profiles without times are runs as well.
pub(crate) fn runs_or_profiles(paths: &[PathBuf], side: &str, terminal: &Terminal) -> Result<Vec<Run>> {
    read(paths, side, terminal, &|place| Question::of(place).for_verdicts().with_untimed())
}

fn read(
    paths: &[PathBuf],
    side: &str,
    terminal: &Terminal,
    question: &dyn Fn(&[PathBuf]) -> Question,
) -> Result<Vec<Run>> {
    let places = places(paths);
    let progress = Progress::start();
    let mut runs = Vec::new();
    let mut refused = Vec::new();
    for (index, place) in places.iter().enumerate() {
        progress.says(&format!("{side}: reading {} of {}: {}", index + 1, places.len(), place[0].display()));
        match question(place).services(terminal) {
            Ok(services) => {
                let is_one = services.len() == 1;
                runs.extend(services.iter().map(|service| run(service, place, is_one)));
            }
            Err(error) => refused.push(error),
        }
        if runs.len() > MAX_RUNS {
            bail!("{side}: more than {MAX_RUNS} runs");
        }
    }
    drop(progress);
    match refused.pop() {
        Some(last) if runs.is_empty() => return Err(last),
        last => refused.iter().chain(&last).for_each(|refusal| complain(&told(refusal))),
    }
    if runs.is_empty() {
        bail!("{side}: no runs in {}", paths[0].display());
    }
    Ok(runs)
}

fn run(service: &Service, place: &[PathBuf], is_one: bool) -> Run {
    let is_folder = is_one && place.len() == 1 && service.paths.iter().all(|path| path != &place[0]);
    let name = if is_folder { file_name(&place[0]) } else { file_name(&service.paths[0]) };
    Run::of(&name, &service.recording)
}

/// What is read at once: files together, with the recordings that are named beside them, as they may be of one JVM; else each recording
/// alone, and folders of folders one by one.
fn places(paths: &[PathBuf]) -> Vec<Vec<PathBuf>> {
    let has_files = paths.iter().any(|path| !path.is_dir());
    let is_read_together = |path: &&PathBuf| has_files && (!path.is_dir() || fathom_store::is_recording(path));
    let (together, folders): (Vec<&PathBuf>, Vec<&PathBuf>) = paths.iter().partition(is_read_together);
    let mut places: Vec<Vec<PathBuf>> = folders.into_iter().flat_map(|folder| in_folder(folder)).collect();
    places.extend((!together.is_empty()).then(|| together.into_iter().cloned().collect()));
    places
}

fn in_folder(folder: &Path) -> Vec<Vec<PathBuf>> {
    let whole = || vec![vec![folder.to_owned()]];
    if fathom_store::is_recording(folder) {
        return whole();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let entries = entries.filter(|path| !file_name(path).starts_with('.'));
    let (mut folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    if watched::is_folder(folder) {
        folders.retain(|path| fathom_store::is_recording(path));
    } else if !files.is_empty() || folders.is_empty() {
        return whole();
    }
    folders.sort();
    folders.into_iter().map(|folder| vec![folder]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_folders_have_a_run_in_each() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for folder in ["many/01", "many/02", "one/recording.x"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for file in ["one/gc.log", "app.jfr", "gc.log"] {
            fs::write(at(file), "").unwrap();
        }
        let paths = ["many", "one", "app.jfr", "gc.log"].map(at);
        let expected =
            vec![vec![at("many/01")], vec![at("many/02")], vec![at("one")], vec![at("app.jfr"), at("gc.log")]];
        assert_eq!(places(&paths), expected);
    }
}
