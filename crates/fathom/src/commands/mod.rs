//! The commands, one module each: its arguments, and a function from them to an [`Answer`].

use std::process::ExitCode;

pub(crate) mod causes;
pub(crate) mod explain;
pub(crate) mod import;
pub(crate) mod lab;

/// What a command has to say on standard output, and how it ended.
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) code: ExitCode,
}

impl Answer {
    fn done(text: String) -> Answer {
        Answer { text, code: ExitCode::SUCCESS }
    }
}
