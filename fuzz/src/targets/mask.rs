//! Any text as one of a recording, with a secret or without: masking must end, and not panic, and what it leaves has a bound.

use fathom_evidence::mask::{self, MASK};

pub(crate) fn run(bytes: &[u8]) {
    let text = fathom_fuzz::text(bytes);
    let words: Vec<&str> = text.split(' ').collect();
    let (name, value) = text.split_once('=').unwrap_or((text, text));
    let longest = text.len() + MASK.len() * (text.len() + 1);
    // What begins like JSON and is none is a command line to the first of them, as all other text is.
    for masked in [mask::text(text), mask::options(text), mask::thread_name(text)] {
        assert!(masked.len() <= longest, "{} bytes", masked.len());
    }
    assert!(mask::arguments(&words).len() <= longest);
    let _ = (mask::value(name, value), mask::flag(name, value));
}
