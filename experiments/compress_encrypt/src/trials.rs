//! The attacks on documents of several kinds, none of which has the key.

use std::io;
use std::ops::Range;
use std::path::Path;

use crate::deflate::{Block, Kind, blocks};
use crate::documents::{deflated, files, orders};
use crate::likeness::recovered;
use crate::model::Model;
use crate::seal::{Key, Nonce, sealed};
use crate::search::{Task, bodies, plaintext};

const KEY: Key = [0x5a; 32];
const NONCE: Nonce = [0xc3; 12];
/// Hidden tables that were seen had 350 to 700 bits; the attacker tries every end between these.
pub const TABLE_BITS: Range<usize> = 250..900;
/// Enough to tell whether a body can begin at a bit. Reading it takes more.
const PATHS_FOR_ENDS: usize = 100;

/// A document, and others of its kind that an attacker may have.
pub struct Sample {
    pub name: &'static str,
    pub plain: Vec<u8>,
    pub others: Vec<Vec<u8>>,
}

pub fn answers() -> Sample {
    Sample {
        name: "answers of a web service",
        plain: orders(1, 20_000),
        others: (100..120).map(|seed| orders(seed, 20_000)).collect(),
    }
}

/// Real documents of this repository: a GC log of JDK 25 beside those of older ones, and English text.
pub fn of_repository(repository: &Path) -> io::Result<[Sample; 2]> {
    let logs = repository.join("testdata/gc_log");
    let one = |name: &'static str| files(&logs, move |file| file == name).map(|mut found| found.remove(0));
    Ok([
        Sample {
            name: "GC log of JDK 25",
            plain: one("jdk25-g1-gcstar.log")?,
            others: files(&logs, |name| name.ends_with(".log") && !name.starts_with("jdk25"))?,
        },
        Sample {
            name: "English text",
            plain: one("ABOUT.md")?,
            others: files(&repository.join("docs"), |name| name.ends_with(".md"))?,
        },
    ])
}

/// What is read without the key of a sealed stream whose blocks have no tables; `level` 0 stores, short texts get the fixed tables.
pub fn without_tables(plain: &[u8], level: u32) -> Option<(Vec<Kind>, f64)> {
    let sealed = sealed(&deflated(plain, level), &KEY, &NONCE)?;
    let kinds = blocks(&sealed)?.iter().map(|block| block.kind).collect();
    let mut read = Vec::new();
    let mut inflate = flate2::Decompress::new(false);
    read.reserve(plain.len() + 64);
    inflate.decompress_vec(&sealed, &mut read, flate2::FlushDecompress::Finish).ok()?;
    Some((kinds, recovered(plain, &read)))
}

/// A message that is too short for a table of its own.
pub fn message() -> Vec<u8> {
    br#"{"pin":"2580","ok":1}"#.to_vec()
}

/// An attack on the hidden table of a document, of which the beginning may be known.
pub struct Attack {
    plain: Vec<u8>,
    sealed: Vec<u8>,
    model: Model,
    body: usize,
}

impl Attack {
    pub fn on(sample: &Sample) -> Option<Self> {
        let stream = deflated(&sample.plain, 6);
        let learned: Option<Vec<Vec<Block>>> = sample.others.iter().map(|other| blocks(&deflated(other, 6))).collect();
        Some(Self {
            plain: sample.plain.clone(),
            sealed: sealed(&stream, &KEY, &NONCE)?,
            model: Model::of(learned?.iter().map(Vec::as_slice)),
            body: blocks(&stream)?.first()?.body.start,
        })
    }

    /// The share that is read when the attacker knows where the body begins, as when tables are kept apart.
    pub fn reading(&self, known_bytes: usize, paths: usize) -> f64 {
        recovered(&self.plain, &plaintext(&self.task(known_bytes, paths), self.body))
    }

    /// How many places come into question for the body's beginning, and whether the right one is among them.
    pub fn finding(&self, known_bytes: usize, ends: Range<usize>) -> (usize, bool) {
        let found = bodies(&self.task(known_bytes, PATHS_FOR_ENDS), ends);
        (found.len(), found.contains(&self.body))
    }

    fn task(&self, known_bytes: usize, paths: usize) -> Task<'_> {
        Task { sealed: &self.sealed, known: &self.plain[..known_bytes], model: &self.model, paths }
    }
}
