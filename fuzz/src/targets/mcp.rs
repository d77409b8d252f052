//! Any bytes as what an assistant's program sends: each line is answered or refused, and nothing panics.

use std::cell::RefCell;

use fathom_page::mcp::Session;
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

type Find = fn() -> Result<Shelf, String>;

thread_local! {
    /// One for all inputs, because explaining the recording takes much longer than answering.
    static SESSION: RefCell<Session<Find>> =
        RefCell::new(Session::new(|| Ok(Shelf::new(Box::new(One([Entry::default()])), 1))));
}

pub(crate) fn run(bytes: &[u8]) {
    fathom_fuzz::work_alone();
    let mut answered = Vec::new();
    let serve = |session: &mut Session<Find>| session.serve(bytes, &mut answered);
    SESSION.with_borrow_mut(serve).expect("memory takes what is written");
    let [asked, said] = [bytes, answered.as_slice()].map(|lines| lines.split(|byte| *byte == b'\n').count());
    assert!(said <= asked + 1, "an answer has more than a line");
}
