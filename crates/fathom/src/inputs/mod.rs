//! From the paths of a command line to recordings, one per JVM.
//!
//! [`find`] turns paths into files with their formats ([`archive`] unpacks those that are packed together), [`load`] reads
//! them, [`align`] moves logs of other clocks to where their collections are, [`grouping`] decides which belong to the same
//! JVM, and [`Service`] is the result. Formats are recognised, never asked
//! for. A file that cannot be read does not keep the rest from being read; it is named on standard error.

mod align;
mod archive;
mod collections;
mod find;
mod grouping;
pub(crate) mod library;
mod load;
mod place;
mod question;
pub(crate) mod runs;
mod source;
pub(crate) mod usual;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use fathom_evidence::Recording;
use fathom_evidence::kinds::{loss, subject};
use fathom_readers::LoadOptions;
use regex::Regex;

use crate::exit::complain;
use crate::progress::Progress;
use crate::quantities;
use crate::terminal::Terminal;
use crate::times::{self, TimePoint};

pub(crate) use archive::{Unpacked, own};
pub(crate) use grouping::Traits;
pub(crate) use question::Question;
pub(crate) use source::Source;

/// What the caller knows about the files.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct Hints {
    /// Request latencies: CSV with the columns time and latency_ms, or lines for --latency-pattern
    #[arg(long, value_name = "FILE")]
    latency: Vec<PathBuf>,

    /// Regular expression for lines of a request log, with the groups `time` and `latency_ms`
    /// (or latency_us, latency_s, latency_ns)
    #[arg(long, value_name = "REGEX", value_parser = quantities::pattern)]
    latency_pattern: Option<Regex>,

    /// When the JVM started, for logs that only know its uptime
    #[arg(long, value_name = "TIME", value_parser = times::absolute)]
    started_at: Option<TimePoint>,

    /// What to add to the times of a file whose clock is another one, such as dumps.txt=-2h or
    /// vmstat.txt=+1.5s. May be given for several files
    #[arg(long, value_name = "FILE=TIME", value_parser = quantities::clock_offset)]
    clock_offset: Vec<(PathBuf, i64)>,

    /// Whether verdicts are all that is wanted.
    #[arg(skip)]
    for_verdicts: bool,

    /// Whether profiles without a time of each sample are wanted.
    #[arg(skip)]
    takes_untimed: bool,
}

impl Hints {
    /// The same for another recording, whose latencies are not these.
    pub(crate) fn without_latency(&self) -> Hints {
        Hints { latency: Vec::new(), started_at: None, ..self.clone() }
    }

    /// Files that were named for what they hold.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.latency
    }

    fn options(&self, terminal: &Terminal) -> Result<LoadOptions> {
        let started_at_ns = self.started_at.map(|time| time.absolute_ns(&terminal.zone)).transpose();
        Ok(LoadOptions {
            started_at_ns: started_at_ns.context("--started-at")?,
            latency_pattern: self.latency_pattern.as_ref().map(|pattern| pattern.as_str().to_owned()),
            clock_offsets: self.clock_offset.clone(),
            for_verdicts: self.for_verdicts,
            takes_untimed: self.takes_untimed,
        })
    }
}

/// Everything that is known about one JVM, from one or more files.
pub(crate) struct Service {
    /// The files.
    pub(crate) paths: Vec<PathBuf>,
    /// What each file gave: its format and its rows.
    pub(crate) sources: Vec<Summary>,
    /// All of it together.
    pub(crate) recording: Recording,
    /// Where the files are if they came in an archive, for as long as they may be read again.
    pub(crate) unpacked: Vec<Unpacked>,
    /// What could not be read beside the files, and may be this JVM's.
    pub(crate) unread: Vec<String>,
}

/// What a file gave.
#[derive(Debug, Clone)]
pub(crate) struct Summary {
    pub(crate) path: PathBuf,
    pub(crate) format: &'static str,
    pub(crate) rows: usize,
}

/// What paths lead to, before any of it is read.
enum Contents {
    /// Recordings and nothing else, each for itself.
    Recordings(Vec<PathBuf>),
    /// Other files as well, which have to be read to know what belongs together.
    Files(find::Found),
}

impl Contents {
    /// Follows the paths. What belongs to all of them, as latencies do, leaves no recording `alone`.
    fn find(paths: &[PathBuf], alone: bool) -> Contents {
        let found = find::find(paths);
        let recordings = found.items.iter().map(|item| match item {
            find::Item::Recording(path) => Some(path.clone()),
            find::Item::File(..) => None,
        });
        let recordings: Option<Vec<PathBuf>> = recordings.collect();
        let is_each = |recordings: &Vec<PathBuf>| {
            alone && !recordings.is_empty() && found.unpacked.is_empty() && found.unread.is_empty()
        };
        match recordings.filter(is_each) {
            Some(recordings) => {
                found.refused.iter().for_each(|refusal| complain(refusal));
                Contents::Recordings(recordings)
            }
            None => Contents::Files(found),
        }
    }
}

/// The recordings in a folder, whatever else is there.
pub(crate) fn recordings_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut recordings: Vec<PathBuf> = entries.filter(|path| fathom_store::is_recording(path)).collect();
    recordings.sort_unstable();
    recordings
}

/// Reads everything that `paths` lead to. Fails only if nothing can be read.
pub(crate) fn services(paths: &[PathBuf], hints: &Hints, terminal: &Terminal) -> Result<Vec<Service>> {
    read_found(find::find(paths), hints, terminal)
}

/// Reads everything that was found.
fn read_found(found: find::Found, hints: &Hints, terminal: &Terminal) -> Result<Vec<Service>> {
    let options = hints.options(terminal)?;
    let progress = Progress::start();
    let unpacked = found.unpacked.clone();
    let mut loaded = load::load(found, &options, hints.latency.is_empty(), &progress);
    let is_read = |unpacked: &&Unpacked| loaded.sources.iter().any(|source| is_from(&source.paths, unpacked));
    let unread = unpacked.iter().filter(|unpacked| !is_read(unpacked)).flat_map(|unpacked| unpacked.lost());
    let unread: Vec<String> = unread.collect();
    loaded.refused.extend(unread);
    let latencies = load_latencies(&hints.latency, &options, &progress)?;
    if loaded.sources.is_empty() && latencies.is_empty() {
        let last = loaded.refused.pop();
        loaded.refused.iter().for_each(|refusal| complain(refusal));
        bail!(last.unwrap_or_else(|| "nothing to read".to_owned()));
    }
    loaded.refused.iter().for_each(|refusal| complain(refusal));
    check_offsets(&options, loaded.sources.iter().chain(&latencies))?;
    let traits = source::traits(&loaded.sources);
    let groups = grouping::group(&traits);
    tell_strays(&groups, &traits, &loaded.sources);
    tell_joined(&groups, &loaded.sources);
    let mut services = add_latencies(assemble(groups, loaded.sources), latencies)?;
    services.iter_mut().for_each(|service| service.came_in(&unpacked, &loaded.unread));
    Ok(services)
}

/// An offset that belongs to no file is a name written wrongly, which would leave the file where it is.
fn check_offsets<'a>(options: &LoadOptions, sources: impl Iterator<Item = &'a Source> + Clone) -> Result<()> {
    for offset in &options.clock_offsets {
        let only = LoadOptions { clock_offsets: vec![offset.clone()], ..LoadOptions::default() };
        if !sources.clone().flat_map(|source| &source.paths).any(|path| only.clock_offset_ns(path).is_some()) {
            bail!("--clock-offset {}: no file of that name was read", offset.0.display());
        }
    }
    Ok(())
}

fn is_from(paths: &[PathBuf], unpacked: &Unpacked) -> bool {
    paths.iter().any(|path| path.starts_with(unpacked.path()))
}

/// Latencies named with `--latency` are wanted, so that a failure to read them is final.
fn load_latencies(files: &[PathBuf], options: &LoadOptions, progress: &Progress) -> Result<Vec<Source>> {
    let found = find::find_latencies(files, options.latency_pattern.is_some());
    let mut loaded = load::load(found, options, false, progress);
    match loaded.refused.pop() {
        Some(refusal) => bail!(refusal),
        None => Ok(loaded.sources),
    }
}

/// Says which files are explained by themselves although there is a JVM that they may belong to.
fn tell_strays(groups: &[Vec<usize>], traits: &[Traits], sources: &[Source]) {
    if groups.len() < 2 || !traits.iter().any(Traits::is_identified) {
        return;
    }
    for source in groups.iter().filter(|group| !group.iter().any(|index| traits[*index].is_identified())) {
        let name = sources[source[0]].paths[0].display();
        complain(&format!(
            "{name}: taken by itself: nothing tells which of the other JVMs it belongs to, or it covers another time"
        ));
    }
}

/// Says which recordings have one answer.
fn tell_joined(groups: &[Vec<usize>], sources: &[Source]) {
    for group in groups {
        let recordings = group.iter().map(|index| &sources[*index]).filter(|source| source.format == find::RECORDING);
        let names: Vec<String> = recordings.map(|source| source.paths[0].display().to_string()).collect();
        if names.len() > 1 {
            complain(&format!("{}: of the same JVM, so that they have one answer", names.join(", ")));
        }
    }
}

fn assemble(groups: Vec<Vec<usize>>, sources: Vec<Source>) -> Vec<Service> {
    let mut sources: Vec<Option<Source>> = sources.into_iter().map(Some).collect();
    let mut take = |group: Vec<usize>| group.into_iter().filter_map(|index| sources[index].take()).collect();
    groups.into_iter().map(|group| Service::from_sources(without_repetitions(take(group)))).collect()
}

/// Leaves out files that a recording in the same group was imported from.
fn without_repetitions(sources: Vec<Source>) -> Vec<Source> {
    let imported: Vec<String> = sources.iter().flat_map(|source| imported_files(&source.recording)).collect();
    let is_repeated = |source: &Source| {
        source.format != find::RECORDING && source.paths.iter().all(|path| imported.contains(&file_name(path)))
    };
    let (repeated, kept): (Vec<Source>, Vec<Source>) = sources.into_iter().partition(is_repeated);
    for path in repeated.iter().flat_map(|source| &source.paths) {
        complain(&format!("{}: not read again: a recording beside it was imported from it", path.display()));
    }
    kept
}

const FILES: &str = "files";

/// Source of what was lost with an archive.
const ARCHIVE: &str = "archive";

fn imported_files(recording: &Recording) -> Vec<String> {
    let strings = &recording.strings;
    let (Some(about), Some(key)) = (strings.find(subject::RECORDING), strings.find(FILES)) else { return Vec::new() };
    let facts = recording.facts.rows().filter(|fact| fact.subject == about && fact.key == key);
    facts.map(|fact| recording.text(fact.value).to_owned()).collect()
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

impl Service {
    fn from_sources(sources: Vec<Source>) -> Service {
        let mut service = Service {
            paths: Vec::new(),
            sources: Vec::new(),
            recording: Recording::default(),
            unpacked: Vec::new(),
            unread: Vec::new(),
        };
        sources.into_iter().for_each(|source| service.add(source));
        service.recording.choose_cpu_samples();
        service.recording.name_waits_by_samples();
        service
    }

    fn add(&mut self, source: Source) {
        let rows = source.rows();
        let Source { paths, format, recording } = source;
        // Only files that say which JVM they are of can be dumps of one recorder: two servers may
        // well answer a request at the same time in the same time.
        let is_dump = |recording: &Recording| Traits::of(recording).is_identified();
        match is_dump(&recording) && is_dump(&self.recording) {
            true => self.recording.absorb_overlapping(recording),
            // The first one is taken as it is: a large one should not be in memory twice.
            false if self.sources.is_empty() => self.recording = recording,
            false => self.recording.absorb(recording),
        }
        for path in &paths {
            if format != find::RECORDING {
                self.recording.add_fact(subject::RECORDING, FILES, &file_name(path), format);
            }
        }
        self.sources.extend(paths.first().map(|path| Summary { path: path.clone(), format, rows }));
        self.paths.extend(paths);
    }

    /// Remembers the archives that files came in. What was lost on the way, or could not be read beside them, may be this JVM's.
    fn came_in(&mut self, unpacked: &[Unpacked], unread: &[String]) {
        for archive in unpacked.iter().filter(|archive| is_from(&self.paths, archive)) {
            archive.lost().iter().for_each(|says| self.recording.add_loss(ARCHIVE, loss::MISSING, 0, says));
        }
        unread.iter().for_each(|says| self.recording.add_loss(FILES, loss::MISSING, 0, says));
        self.unpacked = unpacked.to_vec();
        self.unread = unread.to_vec();
    }

    fn overlaps(&self, source: &Source) -> bool {
        Traits::of(&self.recording).overlaps(&Traits::of(&source.recording))
    }
}

/// Gives the latencies that were named apart to every JVM that ran meanwhile: they are those of the
/// service, whichever of its JVMs served.
fn add_latencies(mut services: Vec<Service>, latencies: Vec<Source>) -> Result<Vec<Service>> {
    for latency in latencies {
        let meanwhile = services.iter_mut().filter(|service| service.overlaps(&latency));
        let joined = meanwhile.map(|service| service.add(latency.clone())).count();
        if services.is_empty() {
            services.push(Service::from_sources(vec![latency]));
        } else if joined == 0 {
            bail!(
                "{}: none of its requests falls into the time of the recordings; check the clocks and the time zone",
                latency.paths[0].display()
            );
        }
    }
    Ok(services)
}
