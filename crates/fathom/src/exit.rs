//! How the program ends.

use std::io::{self, ErrorKind, Write};
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use fathom_report::clean;

/// The input or the machine refused.
const REFUSED: u8 = 1;

/// A bug of the program is reported in one line, like any other refusal.
pub(crate) fn report_panics_in_one_line() {
    panic::set_hook(Box::new(|info| {
        // Damage of a recording, which says so itself.
        if fathom_store::is_caught() {
            return;
        }
        let place = info.location().map_or_else(String::new, |at| format!(" ({}:{})", at.file(), at.line()));
        let what = info.payload_as_str().unwrap_or("no message");
        complain(&format!("a mistake in fathom itself{place}: {what}; please report it with the command that you ran"));
    }));
}

/// Runs `work` and turns its result into an exit code and at most one line.
pub(crate) fn guarded(work: impl FnOnce() -> anyhow::Result<ExitCode>) -> ExitCode {
    match panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => refuse(&error),
        Err(_) => ExitCode::from(REFUSED),
    }
}

fn refuse(error: &anyhow::Error) -> ExitCode {
    let io_kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    if io_kind == Some(ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    if let Some(usage) = error.downcast_ref::<clap::Error>() {
        usage.exit();
    }
    complain(&told(error));
    ExitCode::from(REFUSED)
}

/// An error with what caused it. Many errors say already what the system answered: nothing is said twice.
pub(crate) fn told(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// One line on standard error. Nothing can be done if that is closed.
pub(crate) fn complain(what: &str) {
    let _ = writeln!(io::stderr(), "fathom: {}", clean::line(&without_numbers(what)));
}

/// Texts of the system without the numbers that the library puts behind them, which say the same once more.
fn without_numbers(text: &str) -> String {
    const OPENS: &str = " (os error ";
    let mut parts = text.split(OPENS);
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.parse::<i32>().is_ok() => plain.push_str(rest),
            _ => plain.extend([OPENS, part]),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("x.json: {source}")]
    struct OfFile {
        source: io::Error,
    }

    #[test]
    fn numbers_of_errors_are_left_out() {
        for (text, expected) in [
            ("x: No such file (os error 2)", "x: No such file"),
            ("x: full (os error 28): y (os error 2), z", "x: full: y, z"),
            ("a file (os error that is none", "a file (os error that is none"),
            ("a file (os error x)", "a file (os error x)"),
        ] {
            assert_eq!(without_numbers(text), expected);
        }
    }

    #[test]
    fn nothing_is_said_twice() {
        let of_file = || OfFile { source: io::Error::other("no such file") };
        for (error, expected) in [
            (anyhow!(of_file()), "x.json: no such file"),
            (anyhow!(of_file()).context("the lab"), "the lab: x.json: no such file"),
            (anyhow!("inner").context("outer"), "outer: inner"),
            (anyhow!("alone"), "alone"),
        ] {
            assert_eq!(told(&error), expected);
        }
    }
}
