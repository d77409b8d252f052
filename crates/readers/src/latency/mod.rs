//! Latencies of requests: CSV files, access logs, and lines of any log by a pattern of the user.
//!
//! Each request becomes a span from its start to its end. Which of the two a file's time means depends on the writer:
//! `time`, `timestamp` and Apache's `%t` are taken as the start, `end_time` and nginx's time (recognised by its decimal
//! seconds at the end of the line) as the end. A pattern states it by the name of its group, `time` or `end_time`,
//! which overrides these rules.

pub(crate) mod arrivals;
mod kinds;
mod load;
mod mix;
mod parse;
mod parse_access;
mod parse_arrivals;
mod parse_csv;
mod parse_pattern;
pub(crate) mod parse_request;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader};

/// The format.
pub(crate) static READER: Latency = Latency;

/// Latencies of requests.
pub(crate) struct Latency;

impl Reader for Latency {
    fn name(&self) -> &'static str {
        load::SOURCE
    }

    fn sniff(&self, head: &[u8], _: &Path) -> bool {
        // An access log without latencies is refused with advice, which no other reader could give.
        parse::recognise(head).is_some() || parse::lacking(head) == parse::Lacking::TimeTaken
    }

    fn load(&self, files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
        load::load(files, options)
    }
}
