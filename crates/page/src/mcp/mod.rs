//! Recordings for assistants: the Model Context Protocol over standard input and output (`docs/mcp.md`).
//!
//! The questions are those of the page ([`crate::model`]); this module has the protocol, the list of tools, and rows as
//! JSON instead of Arrow. Constraints:
//!
//! * **It only reads.** No tool records, writes or starts anything.
//! * **One message is one line**, in both directions; nothing else goes to the output.
//! * **Short first.** The first answer of a tool is a few kilobytes; details are asked for by name.
//! * **Bounded.** Messages, rows and answers have limits; a refused request says how to ask for less.
//! * **Refused in one line**, as the result of the tool, so that an assistant reads it and asks again.

mod ask;
mod brief;
mod protocol;
mod rows;
mod tools;

use std::io::{self, BufRead, Write};

use ask::Asked;
use protocol::Incoming;

use crate::serve::Shelf;

/// Answers messages until the input ends. `find` finds the recordings: at the first question and whenever they are listed.
pub fn serve(input: impl BufRead, output: impl Write, find: impl Fn() -> Result<Shelf, String>) -> io::Result<()> {
    Session::new(find).serve(input, output)
}

/// A client's questions, and the recordings that they are about.
pub struct Session<F> {
    asked: Asked<F>,
}

impl<F> std::fmt::Debug for Session<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

impl<F: Fn() -> Result<Shelf, String>> Session<F> {
    /// Nothing was asked yet.
    pub fn new(find: F) -> Session<F> {
        Session { asked: Asked::new(find) }
    }

    /// Answers messages until the input ends. Recordings that were loaded stay so for the next input.
    pub fn serve(&mut self, mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
        while let Some(incoming) = protocol::next(&mut input)? {
            let answer = match incoming {
                Incoming::Message(message) => protocol::answer(&message, &mut self.asked),
                Incoming::TooLong => Some(protocol::too_long()),
            };
            if let Some(answer) = answer {
                writeln!(output, "{}", fathom_report::json::line(&answer))?;
                output.flush()?;
            }
        }
        Ok(())
    }
}
