//! `fathom mcp`: recordings for assistants.

use std::io;

use anyhow::{Context, Result};
use fathom_page::serve::Shelf;

use super::Answer;
use crate::exit::told;
use crate::inputs::Question;
use crate::inputs::library::{KEPT_MAX, Services};
use crate::terminal::Terminal;

/// Answer an AI assistant's questions about recordings: an MCP server on standard input and output that only reads
/// (docs/mcp.md)
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    question: Question,
}

const EXAMPLES: &str = "\
Configuration of the assistant, with the folder that it may read:
  { \"mcpServers\": { \"fathom\": { \"command\": \"fathom\", \"args\": [\"mcp\", \"/var/recordings\"] } } }

Then ask, for example: why was checkout slow this morning? What differs from yesterday?

Examples:
  fathom mcp                                 the recordings in this folder
  fathom mcp app.jfr gc.log --latency lat.csv
  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}' | fathom mcp   what can be asked";

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    let question = args.question.clone().or_folder(".");
    question.confine(None)?;
    let find = || match Services::find(&question, terminal) {
        Ok(services) => Ok(Shelf::new(Box::new(services), KEPT_MAX)),
        Err(error) => Err(told(&error)),
    };
    fathom_page::mcp::serve(io::stdin().lock(), io::stdout().lock(), find).context("standard input and output")?;
    Ok(Answer::done(String::new()))
}
