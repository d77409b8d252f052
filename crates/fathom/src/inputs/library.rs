//! The content of the page: services as recordings that are ready for questions, read on demand.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail};
use fathom_page::serve::{Entry, Library, LoadError};
use fathom_page::{About, Baseline, Loaded};
use serde_json::Value;

use super::{Contents, Question, Service, Unpacked, file_name, read_found, recordings_in, services, usual};
use crate::exit::told;
use crate::system::watched;
use crate::terminal::Terminal;

/// Recordings that are kept in memory at once: as many as are compared, and one to come back to.
pub(crate) const KEPT_MAX: usize = 3;

/// The services of a command line.
pub(crate) struct Services {
    question: Question,
    terminal: Terminal,
    baseline: Option<Arc<Baseline>>,
    entries: Vec<Entry>,
    /// The files of each.
    paths: Vec<Vec<PathBuf>>,
    /// The folder of `fathom watch` that they are in.
    watched: Option<PathBuf>,
    /// Where they are if they came in an archive.
    unpacked: Vec<Unpacked>,
    /// What could not be read beside them.
    unread: Vec<String>,
    /// What had to be read to know what belongs together, until it is asked for.
    read: Mutex<Vec<Option<Service>>>,
}

impl Services {
    /// Finds them. Recordings of fathom are read when they are asked for; other files are read now, because only
    /// their content tells which of them are of the same JVM.
    pub(crate) fn find(question: &Question, terminal: &Terminal) -> Result<Services> {
        let baseline = baseline(question, terminal)?;
        let only = <[PathBuf; 1]>::try_from(question.paths()?).ok().map(|[path]| path);
        let watched = only.filter(|path| watched::is_folder(path));
        let contents = match &watched {
            // Beside them are verdicts and rows of minutes, and maybe no recording so far.
            Some(folder) => Contents::Recordings(recordings_in(folder)),
            None => Contents::find(&question.paths()?, question.alone()),
        };
        let (paths, read) = match contents {
            Contents::Recordings(recordings) => (recordings.into_iter().map(|path| vec![path]).collect(), Vec::new()),
            Contents::Files(found) => {
                let services = read_found(found, question.hints(), terminal)?;
                let paths: Vec<_> = services.iter().map(|service| service.paths.clone()).collect();
                let kept = services.into_iter().enumerate().map(|(at, service)| (at < KEPT_MAX).then_some(service));
                (paths, kept.collect())
            }
        };
        let first = read.iter().flatten().next();
        let (unpacked, unread) =
            first.map(|service| (service.unpacked.clone(), service.unread.clone())).unwrap_or_default();
        let names = names(&paths, &unpacked);
        let entry = |(paths, name): (&Vec<PathBuf>, String)| Entry { name, size_bytes: size_bytes(paths) };
        Ok(Services {
            question: question.clone(),
            terminal: terminal.clone(),
            baseline,
            entries: paths.iter().zip(names).map(entry).collect(),
            paths,
            watched,
            unpacked,
            unread,
            read: Mutex::new(read),
        })
    }

    fn service(&self, number: usize) -> Result<Service> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(service) = read.get_mut(number).and_then(Option::take) {
            return Ok(service);
        }
        drop(read);
        let paths = &self.paths[number];
        let mut services = services(paths, self.question.hints(), &self.terminal)?;
        match (services.pop(), services.len()) {
            (Some(mut service), 0) => {
                service.came_in(&self.unpacked, &self.unread);
                Ok(service)
            }
            (_, others) => bail!("{}: {} JVMs now; it was one", paths[0].display(), others + 1),
        }
    }
}

impl Library for Services {
    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn watched(&self) -> Option<Value> {
        let number = |name: &str| self.entries.iter().position(|entry| entry.name == name);
        watched::status(self.watched.as_ref()?, |name| u32::try_from(number(name)?).ok())
    }

    fn load(&self, number: usize) -> Result<Loaded, LoadError> {
        let load = || -> Result<Loaded> {
            let service = self.service(number)?;
            let name = self.entries[number].name.clone();
            named(name, service, &self.question, self.baseline.clone(), &self.terminal)
        };
        load().map_err(|error| LoadError(told(&error)))
    }
}

/// The recording of the service when it was well, if one was named.
pub(crate) fn baseline(question: &Question, terminal: &Terminal) -> Result<Option<Arc<Baseline>>> {
    let baseline = question.baseline(terminal)?;
    Ok(baseline.map(|(name, recording)| Arc::new(Baseline::new(name, recording))))
}

/// A service explained and ready for questions.
pub(crate) fn loaded(
    service: Service,
    question: &Question,
    baseline: Option<Arc<Baseline>>,
    terminal: &Terminal,
) -> Result<Loaded> {
    named(name(&service.paths, &service.unpacked), service, question, baseline, terminal)
}

/// The same with the name that it has among others.
fn named(
    name: String,
    service: Service,
    question: &Question,
    baseline: Option<Arc<Baseline>>,
    terminal: &Terminal,
) -> Result<Loaded> {
    let slow = question.slow_ns(&service, terminal)?;
    let usual = if baseline.is_none() { usual::of(&service, slow, terminal) } else { None };
    let slow = slow.or(usual.as_ref().and_then(|usual| usual.slow));
    let baseline = baseline.or(usual.map(|usual| Arc::new(Baseline::new(usual.name, usual.recording))));
    let about = About { id: 0, name, size_bytes: size_bytes(&service.paths), slow, baseline };
    Ok(Loaded::new(service.recording, about))
}

/// The name of each; those of the same name in different folders have their folder's before it.
fn names(all: &[Vec<PathBuf>], unpacked: &[Unpacked]) -> Vec<String> {
    let plain: Vec<String> = all.iter().map(|paths| name(paths, unpacked)).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for name in &plain {
        *counts.entry(name).or_default() += 1;
    }
    let is_ambiguous = |name: &str| counts.get(name).is_some_and(|count| *count > 1);
    let folder = |paths: &[PathBuf]| paths.first()?.parent()?.file_name().map(|name| name.display().to_string());
    let told = |(paths, name): (&Vec<PathBuf>, &String)| match folder(paths).filter(|_| is_ambiguous(name)) {
        Some(folder) => format!("{folder}/{name}"),
        None => name.clone(),
    };
    all.iter().zip(&plain).map(told).collect()
}

/// The name of the first file, and how many more there are. Of several in one folder its name tells them apart from
/// those of other runs, which are called the same; not that of the folder into which an archive was unpacked.
fn name(paths: &[PathBuf], unpacked: &[Unpacked]) -> String {
    let first = paths.first().map_or_else(String::new, |path| file_name(path));
    let more = match paths.len().saturating_sub(1) {
        0 => return first,
        more => format!("{first} and {more} more"),
    };
    let is_of_all = |folder: &&Path| paths.iter().all(|path| path.parent() == Some(folder));
    let folder = paths[0].parent().filter(is_of_all).filter(|folder| unpacked.iter().all(|one| one.path() != *folder));
    match folder.and_then(Path::file_name) {
        Some(folder) => format!("{}/{more}", folder.display()),
        None => more,
    }
}

/// Size of files, and of what is directly in folders.
fn size_bytes(paths: &[PathBuf]) -> u64 {
    let of_file = |path: &Path| fs::metadata(path).map_or(0, |data| if data.is_file() { data.len() } else { 0 });
    let of_folder = |path: &Path| -> u64 {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| of_file(&entry.path())).sum()
    };
    paths.iter().map(|path| if path.is_dir() { of_folder(path) } else { of_file(path) }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_have_their_folder() {
        let paths = ["a/x.fathom", "b/x.fathom", "b/y.fathom"].map(|path| vec![PathBuf::from(path)]);
        assert_eq!(names(&paths, &[]), ["a/x.fathom", "b/x.fathom", "y.fathom"]);
    }

    #[test]
    fn several_files_are_named_by_their_folder() {
        for (paths, expected) in [
            (&[][..], ""),
            (&["run/gc.log"], "gc.log"),
            (&["gc.log", "a.jfr"], "gc.log and 1 more"),
            (&["/x/run/gc.log", "/x/run/a.jfr", "/x/run/l.csv"], "run/gc.log and 2 more"),
            (&["/x/run/gc.log", "/x/other/a.jfr"], "gc.log and 1 more"),
        ] {
            let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
            assert_eq!(name(&paths, &[]), expected);
        }
    }
}
