//! Any text as one of a recording, with or without a secret: masking must end, and not panic, and its result is bounded.

use fathom_evidence::mask::{self, MASK};

pub(crate) fn run(bytes: &[u8]) {
    let text = fathom_fuzz::text(bytes);
    let words: Vec<&str> = text.split(' ').collect();
    let (name, value) = text.split_once('=').unwrap_or((text, text));
    let longest = text.len() + MASK.len() * (text.len() + 1);
    // Text that begins like JSON but is not JSON counts as a command line in the first of them, as all other text does.
    for masked in [mask::text(text), mask::options(text), mask::thread_name(text)] {
        assert!(masked.len() <= longest, "{} bytes", masked.len());
    }
    assert!(mask::arguments(&words).len() <= longest);
    let _ = (mask::value(name, value), mask::flag(name, value));
}
