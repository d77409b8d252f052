//! JDK Flight Recorder files, as the JVM (JDK 9 and later, OpenJDK 8) and async-profiler write them.
//!
//! A file is a sequence of chunks, each of which describes its own types and has its own constants. So each chunk is
//! read by itself, in parallel, and everything that differs between JDKs is looked up in the chunk once:
//!
//! 1. [`parse_chunk`] splits the file and the chunk; [`parse_metadata`] reads the types;
//!    [`parse_plan`] flattens each type into a short list of decoding steps; [`parse_pools`] notes
//!    where each constant stands, and [`parse_stacks`] turns stacks into lists of small numbers. Nothing of
//!    this knows evidence.
//! 2. [`load_events`] is the table of what becomes what. [`load_handlers`] binds it to the types of a chunk.
//!    [`load_chunk`] runs over the records once and appends rows; stacks were made before, once each
//!    ([`load_stacks`]). Where only verdicts are wanted, [`load_bytes`] adds up what they do not tell apart.
//! 3. What several events, perhaps of several chunks, tell together is put together at the end: collections
//!    ([`load_gc`]) and safepoints ([`load_safepoint`]).
//!
//! Nothing that a file states is trusted: sizes and counts are bounded by the bytes that are there, damage ends a chunk
//! and not the file, and everything skipped is a loss row.

mod load;
mod load_bytes;
mod load_chunk;
mod load_events;
mod load_gc;
mod load_gc_parts;
mod load_handlers;
mod load_losses;
mod load_map;
mod load_methods;
mod load_profiler;
mod load_records;
mod load_resolve;
mod load_rows;
mod load_safepoint;
mod load_samples;
mod load_settings;
mod load_stack_builder;
mod load_stack_cache;
mod load_stack_shape;
mod load_stacks;
mod parse_bits;
mod parse_bytes;
mod parse_chunk;
mod parse_map;
mod parse_metadata;
mod parse_plan;
mod parse_pools;
mod parse_stacks;
mod parse_stops;
mod scrub;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;
use fathom_evidence::kinds::loss;

use crate::{Input, LoadError, LoadOptions, Reader};
pub(crate) use scrub::scrub;

pub(crate) static READER: JfrReader = JfrReader;

/// Reads JFR files.
pub(crate) struct JfrReader;

impl Reader for JfrReader {
    fn name(&self) -> &'static str {
        "jfr"
    }

    fn sniff(&self, head: &[u8], _path: &Path) -> bool {
        parse_chunk::looks_like_jfr(head)
    }

    fn load(&self, files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
        let mut all: Option<Recording> = None;
        for path in files {
            let recording = load_path(path, options.for_verdicts)?;
            match &mut all {
                Some(all) => all.absorb(recording),
                None => all = Some(recording),
            }
        }
        Ok(all.unwrap_or_default())
    }
}

fn load_path(path: &Path, for_verdicts: bool) -> Result<Recording, LoadError> {
    load_input(&Input::open(path)?, path, for_verdicts)
}

fn load_input(input: &Input, path: &Path, for_verdicts: bool) -> Result<Recording, LoadError> {
    let mut recording = load::load(input, path, for_verdicts)?;
    if let Some(cut) = input.cut() {
        recording.add_loss(
            &format!("jfr {}", path.display()),
            loss::TRUNCATED,
            0,
            &format!("{}: {cut}", path.display()),
        );
    }
    Ok(recording)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn a_file_that_is_cut_while_it_is_read_gives_its_beginning_and_says_so() {
        let one = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/jfr/jdk17_g1.jfr")).unwrap();
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("growing.jfr");
        // Large enough to be mapped.
        fs::write(&path, one.repeat((5 << 20) / one.len() + 1)).unwrap();
        let input = Input::open(&path).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(3 << 20).unwrap();
        let recording = load_input(&input, &path, false).unwrap();
        let mut says = recording.losses.rows().map(|row| recording.text(row.says));
        assert!(says.any(|says| says.contains("the file was truncated")) && recording.row_counts().spans > 0);
    }
}
