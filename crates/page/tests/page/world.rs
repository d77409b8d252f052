//! Recordings of testdata, answers as rows.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, UInt32Type};
use arrow_ipc::reader::StreamReader;
use fathom_evidence::Recording;
use fathom_page::model::{Alone, answer};
use fathom_page::{About, Loaded, Query, Refused};
use fathom_readers::LoadOptions;

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

/// Some of everything: profilers and JVMs of several kinds, labs with latencies, a log alone.
pub(crate) fn recordings() -> Vec<(String, Recording)> {
    let is_jfr = |path: &PathBuf| path.to_string_lossy().contains(".jfr");
    let mut groups: Vec<Vec<PathBuf>> = files("jfr").into_iter().filter(is_jfr).map(|path| vec![path]).collect();
    groups.push(vec![testdata().join("gc_log/jdk21-g1-gcstar.log")]);
    for lab in ["code_cache_churn-sick-jdk25", "lock_contention-sick-jdk17", "healthy_server-healthy-jdk17"] {
        groups.push(files(&format!("labs/{lab}")));
    }
    groups.into_iter().map(|paths| (paths[0].display().to_string(), together(&paths))).collect()
}

fn files(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(testdata().join(folder)).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// One of a lab.
pub(crate) fn lab(name: &str) -> Recording {
    together(&files(&format!("labs/{name}")))
}

/// One of them.
pub(crate) fn recording(name: &str) -> Recording {
    together(&[testdata().join(name)])
}

fn together(paths: &[PathBuf]) -> Recording {
    let mut all = Recording::default();
    let read = paths.iter().filter_map(|path| fathom_readers::load_file(path, &LoadOptions::default()).ok());
    read.for_each(|recording| all.absorb(recording));
    assert!(!all.is_empty(), "{paths:?}");
    all
}

pub(crate) fn load(recording: &Recording) -> Loaded {
    Loaded::new(recording.clone(), About { name: "test".to_owned(), ..About::default() })
}

/// The bytes of an answer, or why there is none.
pub(crate) fn ask(page: &Loaded, question: &str) -> Result<Vec<u8>, Refused> {
    let (name, query) = question.split_once('?').unwrap_or((question, ""));
    answer(page, name, &Query::parse(query), &Alone).map(|answer| answer.bytes)
}

pub(crate) fn json(page: &Loaded, question: &str) -> serde_json::Value {
    serde_json::from_slice(&ask(page, question).unwrap()).unwrap()
}

/// A table of an answer.
pub(crate) struct Table {
    batch: RecordBatch,
    pub(crate) notes: HashMap<String, String>,
}

pub(crate) fn table(page: &Loaded, question: &str) -> Table {
    Table::of(&ask(page, question).unwrap_or_else(|refused| panic!("{question}: {refused}")))
}

impl Table {
    pub(crate) fn of(bytes: &[u8]) -> Table {
        let mut reader = StreamReader::try_new(bytes, None).unwrap();
        let notes = reader.schema().metadata().iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let batch = reader.next().unwrap().unwrap();
        assert!(reader.next().is_none(), "one batch");
        Table { batch, notes }
    }

    pub(crate) fn len(&self) -> usize {
        self.batch.num_rows()
    }

    pub(crate) fn numbers<P: ArrowPrimitiveType>(&self, column: &str) -> Vec<P::Native> {
        let array = self.batch.column_by_name(column).unwrap_or_else(|| panic!("no column {column}"));
        array.as_primitive::<P>().values().to_vec()
    }

    pub(crate) fn floats(&self, column: &str) -> Vec<f64> {
        self.numbers::<Float64Type>(column)
    }

    pub(crate) fn texts(&self, column: &str) -> Vec<String> {
        let array = self.batch.column_by_name(column).unwrap_or_else(|| panic!("no column {column}"));
        match array.as_string_opt::<i32>() {
            Some(plain) => plain.iter().map(|text| text.unwrap().to_owned()).collect(),
            None => {
                let words = array.as_dictionary::<UInt32Type>();
                let values = words.values().as_string::<i32>();
                words.keys().values().iter().map(|key| values.value(*key as usize).to_owned()).collect()
            }
        }
    }

    pub(crate) fn note(&self, name: &str) -> f64 {
        self.notes[name].parse().unwrap()
    }
}

/// Whether two sums are the same but for rounding.
pub(crate) fn near(a: f64, b: f64, part: f64) -> bool {
    (a - b).abs() <= part * a.abs().max(b.abs()).max(1.0)
}
