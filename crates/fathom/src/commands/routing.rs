//! `fathom routing`: where a dead node's keys go.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fathom_report::routing::{Keys, Route, examine, field};
use fathom_report::routing::{Routing, text};
use fathom_report::{clean, json};

use super::Answer;
use crate::progress::Progress;
use crate::terminal::Terminal;

/// Show where the keys of a dead node go, and whether two routing functions depend on each other
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// A file with one key per line, or - for standard input
    #[arg(value_name = "KEYS")]
    keys: PathBuf,

    /// How the first tier chooses a key's node
    #[arg(long, value_name = "FUNCTION", value_parser = route)]
    first: Route,

    /// How a dead node's keys are routed; not needed when the first function chooses among survivors
    #[arg(long, value_name = "FUNCTION", value_parser = route)]
    second: Option<Route>,

    /// The keys are in this column of comma-separated values: its number from 1, or its name in the first line
    #[arg(long, value_name = "COLUMN")]
    column: Option<String>,

    /// Show every node of a large tier
    #[arg(long)]
    all: bool,

    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Both tiers look perfectly even in normal operation. But a failed node's keys are not a random sample: they all
share one value of the first function. Where the second function depends on it, they reach only some nodes.

A function is a hash, what it is taken of, and how it chooses a node:
  java-hash mod 8                    Math.floorMod(key.hashCode(), 8)
  hash-code-builder mod 4            new HashCodeBuilder().append(key) of commons-lang: the same hash + 629
  hash-code-builder-chars mod 4      the same of key.toCharArray()
  first N-1 chars java-hash mod 4    all but the last character; or 'first 12 chars'
  java-hash spread mod 4             h ^ h >>> 16, as HashMap does; or 'mix': the last step of murmur3
  murmur3 seed 7 mod 4               or xxh3, fnv1a, sha256, with or without a seed
  xxh3 rendezvous 8                  highest random weight: survivors share a dead node's keys
  xxh3 bounded 8 load 1.25           consistent hashing; no node takes more than 1.25 times the mean

Keys may repeat (a log of requests): dependence is judged from different keys, load from all lines.

Examples:
  fathom routing tasks.txt --first 'java-hash mod 8' --second 'java-hash mod 4'
  fathom routing requests.csv --column task_id --first 'xxh3 mod 8' --second 'xxh3 seed 1 mod 4'
  fathom routing - --first 'java-hash rendezvous 8' < tasks.txt";

/// A longer line is not a key.
const LINE_MAX_BYTES: u64 = 64 * 1024;

fn route(text: &str) -> Result<Route, fathom_report::routing::RouteError> {
    text.parse()
}

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    if args.second.is_none() && !args.first.survives() {
        bail!("'{}' does not say where a dead node's keys go; give --second FUNCTION", args.first);
    }
    let progress = Progress::start();
    progress.says("reading keys");
    let keys = read(&args.keys, args.column.as_deref())?;
    if keys.lines == 0 {
        bail!("{}: no keys; give one per line", clean::line(&args.keys.to_string_lossy()));
    }
    progress.says("routing keys");
    let found = examine(&keys, &args.first, args.second.as_ref());
    let routing = Routing::new(found, keys.not_utf8, keys.left_out);
    Ok(Answer::done(match args.json {
        true => json::pretty(&routing),
        false => text(&routing, &terminal.text(args.all)),
    }))
}

fn read(path: &Path, column: Option<&str>) -> Result<Keys> {
    let name = || clean::line(&path.to_string_lossy());
    match path.to_str() {
        Some("-") => keys(io::stdin().lock(), column).context("standard input"),
        _ => {
            File::open(path).map_err(Into::into).and_then(|file| keys(BufReader::new(file), column)).with_context(name)
        }
    }
}

/// The keys of all lines; empty lines are none.
fn keys(mut input: impl BufRead, column: Option<&str>) -> Result<Keys> {
    let mut keys = Keys::default();
    let mut line = Vec::new();
    let mut index = match column {
        None => None,
        Some(column) => match column.parse::<usize>() {
            Ok(0) => bail!("columns are counted from 1"),
            Ok(number) => Some(number - 1),
            Err(_) if next_line(&mut input, &mut line, 1)? => Some(find(column, &line)?),
            Err(_) => bail!("there is no line with names of columns"),
        },
    };
    let mut number = 0_u64;
    while next_line(&mut input, &mut line, number + 1)? {
        number += 1;
        match &mut index {
            _ if line.is_empty() => {}
            None => keys.add(&line),
            Some(index) => match field(&line, *index) {
                Some(key) => keys.add(&key),
                None => bail!("line {number} of values has no column {}", *index + 1),
            },
        }
    }
    Ok(keys)
}

/// Reads a line without its end; `false` at the end of the input.
fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>, number: u64) -> Result<bool> {
    line.clear();
    let read = input.take(LINE_MAX_BYTES + 1).read_until(b'\n', line)?;
    if line.len() as u64 > LINE_MAX_BYTES {
        bail!("line {number} is longer than {} KB: this is no list of keys", LINE_MAX_BYTES / 1024);
    }
    while line.last().is_some_and(|end| matches!(end, b'\n' | b'\r')) {
        line.pop();
    }
    Ok(read > 0)
}

/// Which column has this name.
fn find(name: &str, heads: &[u8]) -> Result<usize> {
    let heads = heads.strip_prefix(b"\xef\xbb\xbf").unwrap_or(heads);
    let mut index = 0;
    while let Some(head) = field(heads, index) {
        if head.trim_ascii() == name.as_bytes() {
            return Ok(index);
        }
        index += 1;
    }
    bail!(
        "no column is called {name:?} in the first line: {}",
        clean::shorten(&clean::line(&String::from_utf8_lossy(heads)), 200)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_from_lines_and_columns() {
        for (input, column, expected) in [
            ("a\nb\r\n\na", None, Ok((3, 2))),
            ("id,task\n1,a\n2,b\n", Some("task"), Ok((2, 2))),
            ("\u{feff}task,id\na,1\n", Some("task"), Ok((1, 1))),
            ("1,a\n2,a\n", Some("2"), Ok((2, 1))),
            ("", None, Ok((0, 0))),
            ("", Some("task"), Err("no line with names")),
            ("id\n1\n", Some("task"), Err("no column is called \"task\"")),
            ("1\n", Some("2"), Err("line 1 of values has no column 2")),
            ("1\n", Some("0"), Err("counted from 1")),
            (&"x".repeat(70_000), None, Err("longer than 64 KB")),
        ] {
            let found = keys(input.as_bytes(), column).map(|keys| (keys.lines, keys.distinct()));
            match expected {
                Ok(expected) => assert_eq!(found.unwrap(), expected, "{input:?} {column:?}"),
                Err(says) => assert!(found.unwrap_err().to_string().contains(says), "{input:?} {column:?}"),
            }
        }
    }
}
