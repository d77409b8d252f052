//! Traces of the block layer (`blktrace`, the kernel's `blk` tracer) as the table that btt prints: how long requests take in each stage.
//!
//! The definitions are btt's, so that the numbers are equal. A bio is found by its first sector when it gets a request or is merged, and by lying within
//! a request's sectors when that is inserted, issued or completed. Bios without data are left out. Added to btt's output: percentiles, direct issue
//! without insertion, and what is missing in the trace. Where bios overlap on a device, sectors do not identify them, in btt as here; the two may differ.

pub(crate) mod bios;
pub(crate) mod parse;
pub(crate) mod parse_text;
mod table;

use std::path::{Path, PathBuf};

use crate::blktrace::parse::{Event, Read};
use crate::{Input, LoadError, input};

pub use table::{Group, Stage, Table};

/// What the name of a CPU's file has between that of the trace and the CPU.
pub(crate) const OF_CPU: &str = ".blktrace.";

/// Whether a file that begins with `head` is a trace, or the text of one.
pub(crate) fn is_trace(head: &[u8]) -> bool {
    parse::is_binary(head) || parse_text::is_text(head)
}

/// Whether a file is read line by line. Numbers of a trace have zeros; where its first event is damaged it is one all the same.
fn is_of_lines(head: &[u8]) -> bool {
    !parse::is_binary(head) && !head.contains(&0) && !head.is_empty()
}

/// The files of a trace: those of all CPUs, or its text.
pub(crate) struct Trace {
    files: Vec<(PathBuf, Input)>,
    text: Option<PathBuf>,
}

impl Trace {
    pub(crate) fn open(files: &[PathBuf]) -> Result<Trace, LoadError> {
        if let [text] = files
            && is_of_lines(&input::head(text, crate::SNIFF_BYTES)?)
        {
            return Ok(Trace { files: Vec::new(), text: Some(text.clone()) });
        }
        let open = |file: &PathBuf| Ok((file.clone(), Input::open(file)?));
        let files = files.iter().map(open).collect::<Result<Vec<(PathBuf, Input)>, LoadError>>()?;
        Ok(Trace { files, text: None })
    }

    /// Gives each event to `see`, in the order of time.
    pub(crate) fn each(&self, see: &mut dyn FnMut(Event<'_>)) -> Read {
        let Some(text) = &self.text else {
            return parse::merged(self.files.iter().map(|(_, input)| input), see);
        };
        let mut lines = parse_text::Lines::default();
        // What prevents reading it is said by what opens it.
        let cut = crate::lines::read(text, &mut |line| lines.line(line, see));
        lines.read.damaged_bytes += u64::from(!matches!(cut, Ok(None)));
        lines.read
    }

    /// What is not whole.
    pub(crate) fn cut(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.files.iter().filter_map(|(file, input)| Some((file.as_path(), input.cut()?)))
    }

    fn is_empty(&self) -> bool {
        self.text.is_none() && self.files.iter().all(|(_, input)| input.is_empty())
    }
}

/// Reads a trace: one file, or the files of all CPUs, of which one or the name that they share is given.
pub fn table(path: &Path) -> Result<Table, LoadError> {
    let trace = Trace::open(&of_all_cpus(path))?;
    if trace.is_empty() {
        return Err(LoadError::Empty(path.to_owned()));
    }
    let mut table = Table::default();
    let read = trace.each(&mut |event| table.see(event));
    if read.events == 0 {
        let says = "not a trace of blktrace; record with: blktrace -d /dev/DISK -w 30".to_owned();
        return Err(LoadError::Unusable { path: path.to_owned(), says });
    }
    for (file, input) in &trace.files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        table.missing.extend(input.is_empty().then(|| format!("{name} is empty: what that CPU did is missing")));
        table.missing.extend(input.cut().map(|says| format!("{name}: {says}")));
    }
    table.finish(&read, trace.files.len().max(1));
    Ok(table)
}

/// `x.blktrace.0` stands for the files of all CPUs, and so does `x`.
fn of_all_cpus(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let base = match name.find(OF_CPU) {
        Some(at) => &name[..at],
        None if path.is_file() => return vec![path.to_owned()],
        None => name.as_str(),
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_one = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.strip_prefix(base)
            .and_then(|rest| rest.strip_prefix(OF_CPU))
            .is_some_and(|cpu| cpu.starts_with(|c: char| c.is_ascii_digit()))
    };
    let mut files: Vec<PathBuf> = entries.filter(is_one).collect();
    files.sort();
    if files.is_empty() { vec![path.to_owned()] } else { files }
}
