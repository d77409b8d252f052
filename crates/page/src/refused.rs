//! Why a question has no answer.

/// Longest part of a parameter that is repeated in a message, in characters.
const SHOWN_CHARS: usize = 60;

/// A question that is refused, with one line that says what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// A parameter is not what it should be.
    #[error("{name}={value}: expected {expected}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// What was given, cut.
        value: String,
        /// What would have been right.
        expected: &'static str,
    },
    /// Nothing has this name or number.
    #[error("no {what} {value}")]
    NotThere {
        /// What was asked for.
        what: &'static str,
        /// Its name or number, cut.
        value: String,
    },
    /// The recording cannot be loaded.
    #[error("{0}")]
    Recording(String),
}

impl Refused {
    /// A parameter that is not what it should be.
    pub(crate) fn parameter(name: &'static str, value: &str, expected: &'static str) -> Refused {
        Refused::Parameter { name, value: cut(value), expected }
    }

    /// Something that is not there.
    pub(crate) fn not_there(what: &'static str, value: &str) -> Refused {
        Refused::NotThere { what, value: cut(value) }
    }
}

fn cut(text: &str) -> String {
    fathom_report::clean::shorten(text, SHOWN_CHARS)
}
