//! `fathom causes`: the catalogue.

use anyhow::Result;
use clap::error::ErrorKind;
use fathom_causes::{Cause, catalog};
use fathom_report::json;
use serde::Serialize;

use super::Answer;
use crate::names::{self, Suggested};
use crate::terminal::Terminal;

/// List the causes that fathom knows, or print the page of one
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The cause whose page to print
    #[arg(value_parser = Suggested(|| catalog().iter().map(|cause| cause.id).collect()), hide_possible_values = true)]
    id: Option<String>,

    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  fathom causes                    ids and what they mean
  fathom causes code_cache_churn   what you see, how it works, evidence, what rules it out, what to do";

/// The list as JSON.
#[derive(Serialize)]
struct List {
    schema: u32,
    causes: Vec<Entry>,
}

/// A cause in the list.
#[derive(Serialize)]
struct Entry {
    id: &'static str,
    name: &'static str,
    title: String,
    #[serde(rename = "do")]
    actions: &'static [&'static str],
    has_lab: bool,
}

/// The page of a cause as JSON.
#[derive(Serialize)]
struct Page {
    schema: u32,
    #[serde(flatten)]
    entry: Entry,
    page: &'static str,
}

const SCHEMA: u32 = 1;

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    let options = terminal.text(false);
    let text = match (&args.id, args.json) {
        (None, false) => {
            let titles: Vec<(&str, String)> = catalog().iter().map(|cause| (cause.id, title(cause))).collect();
            fathom_report::causes(titles.iter().map(|(id, title)| (*id, title.as_str())), &options)
        }
        (None, true) => {
            json::pretty(&List { schema: SCHEMA, causes: catalog().iter().map(|cause| entry(cause)).collect() })
        }
        (Some(id), false) => fathom_report::page(find(id)?.readme, &options),
        (Some(id), true) => {
            let cause = find(id)?;
            json::pretty(&Page { schema: SCHEMA, entry: entry(cause), page: cause.readme })
        }
    };
    Ok(Answer::done(text))
}

fn find(id: &str) -> Result<&'static Cause, clap::Error> {
    fathom_causes::cause(id).ok_or_else(|| clap::Error::raw(ErrorKind::InvalidValue, unknown(id)))
}

fn unknown(id: &str) -> String {
    let ids = catalog().iter().map(|cause| cause.id);
    let meant = names::nearest(id, ids).map_or_else(String::new, |meant| format!("did you mean {meant}? "));
    format!("no cause has the id {id:?}; {meant}fathom causes lists them\n")
}

fn entry(cause: &Cause) -> Entry {
    Entry { id: cause.id, name: cause.name(), title: title(cause), actions: cause.actions, has_lab: cause.has_lab }
}

/// The first paragraph of the page, on one line.
fn title(cause: &Cause) -> String {
    cause.title().split_whitespace().collect::<Vec<_>>().join(" ")
}
