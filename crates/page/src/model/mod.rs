//! One file per answer: pure functions from a loaded recording and a question to bytes.
//!
//! Tables are Arrow IPC streams, the rest is JSON; `docs/page.md` describes both. Every name is sent as data: the page
//! must prevent names from acting as markup, and so it sets text and never markup.

pub(crate) mod counter;
pub(crate) mod export;
mod filled;
mod flame;
mod frames;
pub(crate) mod heat;
pub(crate) mod latency;
pub(crate) mod log;
mod markdown;
mod matching;
pub(crate) mod overview;
mod pages;
pub(crate) mod raster;
pub(crate) mod runs;
mod sandwich;
pub(crate) mod select;
mod spans;
mod stack;
mod subsecond;
pub(crate) mod table;

pub(crate) mod compare;
pub(crate) mod weights;

use std::sync::Arc;

use arrow_schema::ArrowError;
use serde::Serialize;

use crate::columns::Columns;
use crate::loaded::Loaded;
use crate::query::Query;
use crate::refused::Refused;

/// Other recordings, for questions that compare.
pub trait Others {
    /// The recording with a number, loaded.
    fn recording(&self, id: u32) -> Result<Arc<Loaded>, Refused>;
}

/// No other recordings.
#[derive(Debug, Clone, Copy)]
pub struct Alone;

impl Others for Alone {
    fn recording(&self, id: u32) -> Result<Arc<Loaded>, Refused> {
        Err(Refused::not_there("recording", &id.to_string()))
    }
}

/// An answer with its type.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// MIME type.
    pub content_type: &'static str,
    /// The answer.
    pub bytes: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(value: &impl Serialize) -> Answer {
        // Serialising fails only for maps whose keys are not text, which no answer has.
        let bytes = serde_json::to_vec(value).unwrap_or_default();
        Answer { content_type: "application/json", bytes }
    }

    pub(crate) fn table(columns: Columns) -> Result<Answer, Refused> {
        // Columns of one length and of the type that they declare make a batch.
        let refused = |error: ArrowError| Refused::Recording(error.to_string());
        Ok(Answer { content_type: "application/vnd.apache.arrow.stream", bytes: columns.stream().map_err(refused)? })
    }
}

/// The answer to the question `name` about a recording.
pub fn answer(page: &Loaded, name: &str, query: &Query, others: &dyn Others) -> Result<Answer, Refused> {
    match name {
        "overview" => Ok(overview::answer(page)),
        "counter" => counter::answer(page, query),
        "spans" => spans::answer(page, query),
        "table" => table::answer(page, query),
        "stack" => stack::answer(page, query),
        "heat" => heat::answer(page, query),
        "latency" => latency::answer(page, query),
        "subsecond" => subsecond::answer(page, query),
        "flame" => flame::answer(page, query, others),
        "frames" => frames::answer(page, query, others),
        "sandwich" => sandwich::answer(page, query, others),
        "export" => export::answer(page, query),
        "log" => log::answer(page, query),
        "markdown" => Ok(markdown::answer(page)),
        _ => Err(Refused::not_there("question", name)),
    }
}
