//! Lines of jstat. Knows no evidence.

use crate::columns::{Columns, words};
use crate::lines;

/// The column of `-t`.
pub(super) const UPTIME: &str = "Timestamp";

/// Columns that headings of some option have together, in any release.
const HEADINGS: &[&[&str]] = &[
    &["YGC", "FGC"],
    &["YGC", "YGCT"],
    &["Loaded", "Unloaded", "Time"],
    &["Compiled", "Failed", "Invalid"],
    &["Compiled", "Size", "Method"],
];

/// Whether a file that begins with `head` is a table of jstat.
pub(super) fn is_jstat(head: &[u8]) -> bool {
    let mut lines = lines::of_head(head).filter(|line| !line.trim_ascii().is_empty());
    lines.next().is_some_and(|line| heading(line).is_some())
}

/// The names of columns, if a line has them. `-h N` repeats them.
pub(super) fn heading(line: &[u8]) -> Option<Columns> {
    let mut seen_bytes = 0;
    // -class has two columns `Bytes`: of what was loaded and of what was unloaded.
    let columns = Columns::of(words(line).map(|word| match word {
        b"Bytes" => {
            seen_bytes += 1;
            if seen_bytes == 1 { &b"LoadedBytes"[..] } else { &b"UnloadedBytes"[..] }
        }
        word => word,
    }));
    HEADINGS.iter().any(|names| names.iter().all(|name| columns.has(name))).then_some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_all_options() {
        for text in [
            "Timestamp         S0     S1     E      O      M     CCS    YGC     YGCT    FGC    FGCT     CGC    CGCT       GCT   ",
            " S0C    S1C    S0U    S1U      EC       EU        OC         OU       MC     MU    CCSC   CCSU   YGC     YGCT    FGC    FGCT     GCT   ",
            "Loaded  Bytes  Unloaded  Bytes     Time   ",
            "Compiled Failed Invalid   Time   FailedType FailedMethod",
            "Compiled  Size  Type Method",
            " S0C    S1C    S0U    S1U   TT MTT  DSS      EC       EU     YGC     YGCT  ",
        ] {
            assert!(is_jstat(text.as_bytes()), "{text}");
        }
        for text in ["", "Loaded plugins\n", "1 2 3\n"] {
            assert!(!is_jstat(text.as_bytes()), "{text}");
        }
    }
}
