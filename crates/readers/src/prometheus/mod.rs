//! Series of Prometheus: the JSON answer of a range query, and a CSV of a time and series as Grafana exports it.
//!
//! The metric's name shows what a series is: [`metrics`] has the names of node_exporter, Micrometer and client_java that match a counter
//! of the schema. A function of a query (`rate`) removes the name, and the meaning is lost; rates that keep the name are known by falling.
//!
//! Time: UTC in JSON and in epochs. A query may have shorter steps than the scrape interval: then values stand still and jump, and only
//! the instants at which any series of a target changed are read (`targets.rs`). Pauses are spread over the time between two of them.
//!
//! Series of several JVMs or machines are not added up, because the file does not say which one is meant.

mod labels;
mod load;
mod metrics;
mod parse;
mod parse_csv;
mod parse_json;
mod pauses;
mod sums;
mod targets;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader};

/// The format.
pub(crate) static READER: Prometheus = Prometheus;

/// Series of Prometheus.
pub(crate) struct Prometheus;

impl Reader for Prometheus {
    fn name(&self) -> &'static str {
        load::SOURCE
    }

    fn sniff(&self, head: &[u8], _: &Path) -> bool {
        parse_json::is_answer(head) || parse_csv::is_table(head)
    }

    /// A query has an answer for each metric, and which JVM is meant only all of them tell.
    fn group(&self, files: Vec<PathBuf>) -> Vec<Vec<PathBuf>> {
        vec![files]
    }

    fn load(&self, files: &[PathBuf], _: &LoadOptions) -> Result<Recording, LoadError> {
        load::load(files)
    }
}
