//! `fathom report`: the older name of `fathom explain --html`.

use std::path::PathBuf;

use anyhow::Result;

use super::{Answer, explain};
use crate::exit::complain;
use crate::inputs::Question;
use crate::terminal::Terminal;

/// The older word for fathom explain --html
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct Args {
    #[command(flatten)]
    question: Question,

    /// The file to write; - is standard output
    #[arg(short, long, value_name = "FILE", alias = "out")]
    output: PathBuf,

    /// Print the explanation as JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    let Args { question, output, json } = args;
    let explain = explain::Args { question: question.clone(), json: *json, html: Some(output.clone()), all: false };
    let answer = explain::run(&explain, terminal)?;
    complain("fathom report is called fathom explain FILE... --html FILE now");
    Ok(answer)
}
