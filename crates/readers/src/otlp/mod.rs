//! Profiles of OpenTelemetry as protocol buffers or JSON: `ProfilesData` of `opentelemetry.proto.profiles.v1development`, as the packages
//! `opentelemetry-proto` of 2026 have it. The schema is not fixed yet; files of earlier ones have other fields and are not recognised.
//!
//! Time: in ns since the Unix epoch, of each sample if the profiler writes it. Samples without one are sums.

mod load;
mod parse;
mod parse_json;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader};

/// The format.
pub(crate) static READER: Otlp = Otlp;

/// Profiles of OpenTelemetry.
pub(crate) struct Otlp;

impl Reader for Otlp {
    fn name(&self) -> &'static str {
        load::SOURCE
    }

    fn sniff(&self, head: &[u8], _: &Path) -> bool {
        parse::is_profile(head) || parse_json::is_profile(head)
    }

    fn load(&self, files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
        load::load(files, options)
    }
}
