//! Any bytes as what an assistant's program sends: each line is answered or refused, and nothing panics.

use fathom_page::serve::{Entry, Library, LoadError, Shelf};
use fathom_page::{About, Loaded};

/// One small recording.
struct One([Entry; 1]);

impl Library for One {
    fn entries(&self) -> &[Entry] {
        &self.0
    }

    fn load(&self, _number: usize) -> Result<Loaded, LoadError> {
        Ok(Loaded::new(fathom_fuzz::some_recording(), About::default()))
    }
}

pub fn run(bytes: &[u8]) {
    let mut answered = Vec::new();
    let find = || Ok(Shelf::new(Box::new(One([Entry::default()])), 1));
    fathom_page::mcp::serve(bytes, &mut answered, find).expect("memory takes what is written");
    let [asked, said] = [bytes, answered.as_slice()].map(|lines| lines.split(|byte| *byte == b'\n').count());
    assert!(said <= asked + 1, "an answer has more than a line");
}
