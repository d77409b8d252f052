//! What standard output and standard error are connected to.

use std::env;
use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;
use fathom_report::TextOptions;
use jiff::tz::TimeZone;

/// Columns when the output is not a terminal.
const WIDTH_DEFAULT: usize = 100;
/// Lines longer than this are hard to read on any terminal.
const WIDTH_MAX: usize = 120;
const WIDTH_MIN: usize = 60;

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// What can be shown, and how.
#[derive(Debug, Clone)]
pub(crate) struct Terminal {
    color: bool,
    width: usize,
    /// The zone in which times are read and told.
    pub(crate) zone: TimeZone,
}

impl Terminal {
    pub(crate) fn new(color: Color) -> Self {
        Terminal { color: use_color(color), width: width(), zone: TimeZone::system() }
    }

    /// How to write a report; `all` for everything instead of what matters most.
    pub(crate) fn text(&self, all: bool) -> TextOptions {
        TextOptions { width: self.width, color: self.color, all, zone: self.zone.clone() }
    }
}

fn use_color(color: Color) -> bool {
    let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => !refused && !dumb && io::stdout().is_terminal(),
    }
}

/// The terminal's width, or what `COLUMNS` says when there is none.
fn width() -> usize {
    let terminal = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    let told = || env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    terminal.or_else(told).unwrap_or(WIDTH_DEFAULT).clamp(WIDTH_MIN, WIDTH_MAX)
}

/// Writes the answer.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
