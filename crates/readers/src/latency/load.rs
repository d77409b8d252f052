//! Requests to spans.

use std::path::{Path, PathBuf};

use fathom_evidence::kinds::{loss, span};
use fathom_evidence::tables::Span;
use fathom_evidence::{Recording, StrId};

use crate::counts::series_of;
use crate::latency::mix::Mix;
use crate::latency::parse::{Format, Lacking, lacking, recognise};
use crate::latency::parse_pattern::Pattern;
use crate::lines::{self, Line};
use crate::{LoadError, LoadOptions, SNIFF_BYTES, input};

/// The `source` column of everything that comes from a latency file.
pub(super) const SOURCE: &str = "latency";

/// How many lines that were not understood are kept.
const SHOWN_LINES: i64 = 3;

/// Most kinds of requests that are separated: paths that hold identifiers must not fill the memory.
const MAX_NAMES: usize = 10_000;

/// What is said of requests that end with a whole number.
const UNIT_ASSUMED_SAYS: &str = r#"end with a whole number that was taken as microseconds (Apache, Tomcat from 10.1 on); if it is milliseconds (Tomcat up to 10.0, Undertow, Reactor Netty) give --latency-pattern '\[(?<time>[^]]+)\] "(?<name>\S+ [^ ?"]+).* (?<latency_ms>\d+)$'"#;

pub(super) fn load(files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
    let mut loader = Loader::new();
    for file in files {
        let mut format = format(file, options)?;
        let cut = lines::read(file, &mut |line| loader.line(&mut format, line))?;
        if let Format::Access(log) = &format {
            loader.without_unit += log.without_unit;
        }
        if let Some(says) = cut {
            loader.recording.add_loss(SOURCE, loss::TRUNCATED, 0, &format!("{}: {says}", file.display()));
        }
    }
    if loader.requests == 0 {
        let says = format!(
            "none of the {} lines holds a request with a time and a latency, such as 2026-11-20T10:02:21.5Z,12.4 below \
             the heading time,latency_ms",
            loader.lines
        );
        let path = files.first().cloned().unwrap_or_default();
        return Err(LoadError::Unusable { path, says });
    }
    Ok(loader.finish(series_of(files)))
}

fn format(file: &Path, options: &LoadOptions) -> Result<Format, LoadError> {
    let unusable = |says: String| LoadError::Unusable { path: file.to_owned(), says };
    if let Some(pattern) = &options.latency_pattern {
        return Ok(Format::Pattern(Box::new(Pattern::new(pattern).map_err(unusable)?)));
    }
    let head = input::head(file, SNIFF_BYTES)?;
    recognise(&head).ok_or_else(|| unusable(what_to_add(lacking(&head)).to_owned()))
}

/// What makes a file readable that is not.
fn what_to_add(lacking: Lacking) -> &'static str {
    match lacking {
        Lacking::TimeTaken => {
            "an access log without the time that requests took: add $request_time (nginx) or %D (Apache, Tomcat) as the \
             last field of its format; where it stands elsewhere give --latency-pattern"
        }
        Lacking::Pattern => {
            r#"lines of JSON: say where time and latency stand, for example --latency-pattern '"time":"(?<time>[^"]+)".*"duration_ms":(?<latency_ms>[0-9.]+)'"#
        }
        Lacking::Format => {
            "no latencies found: expected CSV with a heading such as time,latency_ms, or an access log that ends with %D; \
             for other logs give --latency-pattern"
        }
    }
}

struct Loader {
    recording: Recording,
    mix: Mix,
    kind: StrId,
    source: StrId,
    requests: u64,
    lines: u64,
    not_understood: i64,
    unnamed: i64,
    without_unit: i64,
}

impl Loader {
    fn new() -> Loader {
        let mut recording = Recording::default();
        let kind = recording.strings.intern(span::REQUEST);
        let source = recording.strings.intern(SOURCE);
        let (mix, requests, lines, not_understood, unnamed, without_unit) = Default::default();
        Loader { recording, mix, kind, source, requests, lines, not_understood, unnamed, without_unit }
    }

    fn line(&mut self, format: &mut Format, line: Line<'_>) {
        self.lines += 1;
        let (text, request) = match line {
            Line::Whole(text) => (text, format.request(text)),
            Line::Overlong(text) => (text, None),
        };
        let Some(request) = request else { return self.miss(format, text) };
        let name = self.name(request.name);
        self.mix.add(&request, name);
        let row = Span {
            time_ns: request.start_ns,
            duration_ns: request.duration_ns,
            kind: self.kind,
            name,
            source: self.source,
            ..Span::default()
        };
        self.requests += 1;
        self.recording.spans.push(row);
    }

    fn name(&mut self, name: &[u8]) -> StrId {
        if name.is_empty() {
            return StrId(0);
        }
        let name = String::from_utf8_lossy(name);
        let known = self.recording.strings.find(&name);
        known.unwrap_or_else(|| {
            if self.recording.strings.len() < MAX_NAMES {
                return self.recording.strings.intern(&name);
            }
            self.unnamed += 1;
            StrId(0)
        })
    }

    fn miss(&mut self, format: &Format, text: &[u8]) {
        if text.trim_ascii().is_empty() || format.is_heading(text) {
            return;
        }
        if self.not_understood < SHOWN_LINES {
            self.recording.add_log(0, SOURCE, "", "not_understood", &lines::shown(text));
        }
        self.not_understood += 1;
    }

    fn finish(mut self, series: i64) -> Recording {
        if self.not_understood > 0 {
            let says = format!(
                "{} of {} lines hold no request; the first are kept in the table logs",
                self.not_understood, self.lines
            );
            self.recording.add_loss(SOURCE, loss::NOT_UNDERSTOOD, self.not_understood, &says);
        }
        if self.without_unit > 0 {
            let says = format!("{} requests {UNIT_ASSUMED_SAYS}", self.without_unit);
            self.recording.add_loss(SOURCE, loss::UNIT_ASSUMED, self.without_unit, &says);
        }
        if self.unnamed > 0 {
            let says = format!("{} requests are of more than {MAX_NAMES} kinds and have no name", self.unnamed);
            self.recording.add_loss(SOURCE, loss::LIMIT, self.unnamed, &says);
        }
        self.mix.write(&mut self.recording, SOURCE, series);
        self.recording
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths in ns, and the losses, of an access log whose lines end with `taken`.
    fn access_log(taken: &str, latency_pattern: Option<String>) -> (Vec<i64>, Vec<(String, String)>) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("access.log");
        let line = format!("h - - [20/Nov/2026:06:30:00 +0000] \"GET /a?b HTTP/1.1\" 200 12 {taken}\n");
        std::fs::write(&file, line.repeat(3)).unwrap();
        let recording = load(&[file], &LoadOptions { latency_pattern, ..LoadOptions::default() }).unwrap();
        let losses = recording.losses.rows();
        let losses = losses.map(|row| (recording.text(row.kind).to_owned(), recording.text(row.says).to_owned()));
        assert!(recording.spans.rows().all(|row| recording.text(row.name) == "GET /a"));
        (recording.spans.rows().map(|row| row.duration_ns).collect(), losses.collect())
    }

    #[test]
    fn a_unit_that_was_assumed_is_told() {
        assert_eq!(access_log("0.025", None), (vec![25_000_000; 3], vec![]));
        let (lengths, losses) = access_log("25", None);
        assert_eq!((lengths, losses.len(), losses[0].0.as_str()), (vec![25_000; 3], 1, loss::UNIT_ASSUMED));
        assert!(losses[0].1.starts_with("3 requests end with"), "{losses:?}");
        // The pattern that it gives reads the same lines.
        let pattern = losses[0].1.split('\'').nth(1).map(str::to_owned);
        assert_eq!(access_log("25", pattern), (vec![25_000_000; 3], vec![]));
    }

    #[test]
    fn a_file_of_requests() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("latency.csv");
        std::fs::write(&file, "time,latency_ms\n1795156200,1\noops\n\n1795156201,2\n").unwrap();
        let recording = load(std::slice::from_ref(&file), &LoadOptions::default()).unwrap();
        let spans: Vec<_> = recording.spans.rows().map(|row| (row.time_ns, row.duration_ns)).collect();
        assert_eq!(spans, [(1_795_156_200_000_000_000, 1_000_000), (1_795_156_201_000_000_000, 2_000_000)]);
        let losses: Vec<_> =
            recording.losses.rows().map(|row| (recording.text(row.kind).to_owned(), row.count)).collect();
        assert_eq!(losses, [(loss::NOT_UNDERSTOOD.to_owned(), 1)]);
        for bad in ["time,latency_ms\nx,y\n", "a,b\n1,2\n"] {
            std::fs::write(&file, bad).unwrap();
            assert!(matches!(
                load(std::slice::from_ref(&file), &LoadOptions::default()),
                Err(LoadError::Unusable { .. })
            ));
        }
    }
}
