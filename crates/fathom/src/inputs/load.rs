//! Reads the files that were found.

use std::path::PathBuf;

use fathom_evidence::Recording;
use fathom_evidence::kinds::loss;
use fathom_readers::{LoadOptions, Reader};
use fathom_store::State;

use super::align;
use super::find::{Found, Item, RECORDING};
use super::grouping::Traits;
use super::source::{Source, traits};
use crate::progress::Progress;
use crate::workers;

/// What could be read, and one line for each path that could not.
pub(super) struct Loaded {
    pub(super) sources: Vec<Source>,
    pub(super) refused: Vec<String>,
    /// Those of them without which an answer may be wrong.
    pub(super) unread: Vec<String>,
}

/// Something to read at once.
enum Job {
    Recording(PathBuf),
    Files(&'static dyn Reader, Vec<PathBuf>),
}

/// Reads it; `is_all` if nothing else will be on the same axis.
pub(super) fn load(found: Found, options: &LoadOptions, is_all: bool, progress: &Progress) -> Loaded {
    workers::prepare();
    let mut loaded = Loaded { sources: Vec::new(), refused: found.refused, unread: found.unread };
    let mut readers = Vec::new();
    let jobs = jobs(found.items);
    // Those that overlap are compared row by row.
    let may_overlap = jobs.iter().filter(|job| job.may_overlap()).count() > 1;
    let options = &LoadOptions { for_verdicts: options.for_verdicts && !may_overlap, ..options.clone() };
    let is_alone = is_all && jobs.len() == 1 && options.clock_offsets.is_empty();
    for job in jobs {
        let Some(first) = job.paths().first().cloned() else { continue };
        progress.says(&format!("reading {}", first.display()));
        let reader = job.reader();
        let by_itself = |refusal| if is_alone { job.run_by_itself(options).map_err(|_| refusal) } else { Err(refusal) };
        match job.run(options).or_else(by_itself) {
            Ok(source) if source.recording.is_empty() && source.rows() == 0 => {
                loaded.refused.push(format!("{}: {}", first.display(), why_nothing(&source)));
            }
            Ok(source) => {
                loaded.sources.push(source);
                readers.push(reader);
            }
            Err(refusal) => {
                loaded.unread.push(refusal.clone());
                loaded.refused.push(refusal);
            }
        }
    }
    for source in &mut loaded.sources {
        if let Some(offset_ns) = offset_ns(source, options) {
            align::by_offset(source, offset_ns);
        }
    }
    place_by_uptime(&mut loaded.sources, &readers, options);
    align::by_collections(&mut loaded.sources);
    loaded
}

/// Puts the files of one format together as its reader wants them; order of the first file decides.
fn jobs(items: Vec<Item>) -> Vec<Job> {
    let mut jobs = Vec::new();
    let mut by_format: Vec<(&'static dyn Reader, Vec<PathBuf>)> = Vec::new();
    for item in items {
        match item {
            Item::Recording(path) => jobs.push(Job::Recording(path)),
            Item::File(path, reader) => match by_format.iter_mut().find(|(known, _)| known.name() == reader.name()) {
                Some((_, files)) => files.push(path),
                None => by_format.push((reader, vec![path])),
            },
        }
    }
    for (reader, files) in by_format {
        jobs.extend(reader.group(files).into_iter().map(|files| Job::Files(reader, files)));
    }
    jobs
}

impl Job {
    fn paths(&self) -> &[PathBuf] {
        match self {
            Job::Recording(path) => std::slice::from_ref(path),
            Job::Files(_, files) => files,
        }
    }

    fn reader(&self) -> Option<&'static dyn Reader> {
        match self {
            Job::Recording(_) => None,
            Job::Files(reader, _) => Some(*reader),
        }
    }

    /// Whether others of its kind may hold the same rows.
    fn may_overlap(&self) -> bool {
        self.reader().is_none_or(|reader| reader.name() == "jfr")
    }

    fn run(&self, options: &LoadOptions) -> Result<Source, String> {
        let (format, recording) = match self {
            Job::Recording(path) => (RECORDING, crate::finish::open(path).map_err(|error| error.to_string())?),
            Job::Files(reader, paths) => {
                (reader.name(), reader.load(paths, options).map_err(|error| error.to_string())?)
            }
        };
        Ok(Source { paths: self.paths().to_vec(), format, recording })
    }

    /// The same of files whose clock nothing relates to another one: without others on the axis it does not have to be.
    fn run_by_itself(&self, options: &LoadOptions) -> Result<Source, String> {
        let clock_offsets = self.paths().iter().map(|path| (path.clone(), 0)).collect();
        let mut source = self.run(&LoadOptions { clock_offsets, ..options.clone() })?;
        align::by_writing(&mut source);
        Ok(source)
    }
}

/// What the caller says has to be added to its times.
fn offset_ns(source: &Source, options: &LoadOptions) -> Option<i64> {
    source.paths.iter().find_map(|path| options.clock_offset_ns(path))
}

/// The first loss of a source without content tells why, and of which file.
fn why_nothing(source: &Source) -> String {
    const NOTHING: &str = "nothing in it can be used";
    let (recording, path) = (&source.recording, &source.paths[0]);
    let state = if source.format == RECORDING { fathom_store::state(path) } else { State::Finished };
    if state != State::Finished {
        return crate::finish::nothing_written_by(state).to_owned();
    }
    let Some(loss) = recording.losses.rows().next() else { return NOTHING.to_owned() };
    let says = recording.text(loss.says);
    let of_file = [path.display().to_string(), super::file_name(path)];
    let says = of_file.iter().find_map(|file| says.strip_prefix(file.as_str())?.strip_prefix(": ")).unwrap_or(says);
    format!("{NOTHING}: {says}")
}

/// Reads files again whose times had to be estimated, now that another file tells when the JVM
/// started. Only if there is one JVM in the folder or at all, and one run of it in the file: else it
/// would be a guess.
fn place_by_uptime(sources: &mut [Source], readers: &[Option<&'static dyn Reader>], options: &LoadOptions) {
    let traits = traits(sources);
    let starts: Vec<Option<(i64, String)>> = traits.iter().map(|of| only_start(of.folder, &traits, sources)).collect();
    for ((source, reader), start) in sources.iter_mut().zip(readers).zip(starts) {
        let is_known = options.started_at_ns.is_some() || offset_ns(source, options).is_some();
        let is_wanted = !is_known && is_estimated(&source.recording);
        let (Some(reader), Some((started_at_ns, known_from)), true) = (reader, start, is_wanted) else { continue };
        let options = LoadOptions { started_at_ns: Some(started_at_ns), ..options.clone() };
        let placed = reader.load(&source.paths, &options).ok().filter(|placed| !is_estimated(placed));
        if let Some(mut placed) = placed {
            let name = super::file_name(&source.paths[0]);
            let says =
                format!("{name} only has the JVM's uptime: placed by the start of the JVM that {known_from} tells");
            placed.add_loss(source.format, loss::CLOCK_ESTIMATED, 0, &says);
            source.recording = placed;
        }
    }
}

/// When the JVM started, if all sources in the folder that know it mean the same one, or all
/// sources there are if none in the folder does; and the file that tells.
fn only_start(folder: usize, traits: &[Traits], sources: &[Source]) -> Option<(i64, String)> {
    let known: Vec<usize> = (0..traits.len()).filter(|index| traits[*index].is_identified()).collect();
    let near: Vec<usize> = known.iter().copied().filter(|index| traits[*index].folder == folder).collect();
    let known = if near.is_empty() { known } else { near };
    let first = *known.first()?;
    let identity = traits[first].identity()?;
    let agree = known.iter().all(|index| traits[*index].is_of_same_jvm(&traits[first]));
    agree.then(|| (identity.started_at_ns(), super::file_name(&sources[first].paths[0])))
}

fn is_estimated(recording: &Recording) -> bool {
    let estimated = recording.strings.find(loss::CLOCK_ESTIMATED);
    estimated.is_some_and(|kind| recording.losses.rows().any(|row| row.kind == kind))
}
