//! What a JVM of JDK 8 or 11 recorded and leaves when it ends. It keeps in memory what newer ones write to a file once
//! a second, so there is nothing to follow. It is configured to write all of it at a normal end. A killed JVM leaves
//! nothing.

use crate::attach::PrivateFolder;
use crate::raw::{self, Raw};
use crate::{Target, policy};

/// The first JDK that writes down what it records while it does.
const FIRST_FOLLOWED: u32 = 14;

/// When it does not.
pub(super) const WHEN: &str = "a JVM older than JDK 14 does so only when it ends in order";

const FILE: &str = "at_exit.jfr";

/// A place for it, which is gone when the value is.
#[derive(Debug)]
pub(super) struct AtExit(PrivateFolder);

impl AtExit {
    /// None where it is not needed, or cannot be had.
    pub(super) fn of(target: &Target) -> Option<AtExit> {
        let is_followed = policy::jdk(target).is_some_and(|jdk| jdk >= FIRST_FOLLOWED);
        if is_followed { None } else { PrivateFolder::make_for_the_end(target).ok().map(AtExit) }
    }

    /// The option in the command that starts a recording.
    pub(super) fn option(&self) -> String {
        format!(" dumponexit=true filename={}", self.0.inner_path(FILE))
    }

    /// Copies what was written; whether anything was.
    pub(super) fn take(&self, raw: &Raw, name: &str) -> bool {
        self.0.take(FILE, raw, name).is_ok() && !raw::remove_if_empty(&raw.file(name))
    }
}
