//! Questions about frames by their names.

use fathom_evidence::{Recording, StackId};

/// Beginnings of the names of the JDK's own code.
const JDK: &[&str] = &["java.", "jdk.", "sun.", "javax.", "com.sun."];

/// Whether a name begins with one of some texts.
pub fn begins_with(name: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| name.starts_with(beginning))
}

/// Whether a method is of the JDK.
pub(crate) fn is_of_the_jdk(symbol: &str) -> bool {
    begins_with(symbol, JDK)
}

/// Whether a stack has a function whose name begins with one of `names`.
pub fn is_below(recording: &Recording, stack: StackId, names: &[&str]) -> bool {
    recording.stacks.leaf_to_root(stack).any(|frame| begins_with(recording.text(frame.symbol), names))
}
