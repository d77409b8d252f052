//! `docs/minutes.md` matches the code.

use std::fs;
use std::path::Path;

use fathom_watch::minutes::{FACT_COLUMNS, documentation, documentation_of};

const BEGIN: &str = "<!-- Printed by `FATHOM_BLESS=1 cargo test -p fathom-watch`. -->\n";
const BEGIN_FACTS: &str = "<!-- Facts, printed by `FATHOM_BLESS=1 cargo test -p fathom-watch`. -->\n";
const END: &str = "<!-- End of what is printed. -->\n";

#[test]
fn the_documentation_has_the_columns_that_there_are() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/minutes.md");
    let tables = [(BEGIN, documentation()), (BEGIN_FACTS, documentation_of(FACT_COLUMNS))];
    for (begin, expected) in tables {
        let text = fs::read_to_string(&path).unwrap();
        let (before, rest) = text.split_once(begin).unwrap();
        let (printed, after) = rest.split_once(END).unwrap();
        if std::env::var_os("FATHOM_BLESS").is_some() {
            fs::write(&path, format!("{before}{begin}{expected}{END}{after}")).unwrap();
        } else {
            assert_eq!(printed, expected, "run FATHOM_BLESS=1 cargo test -p fathom-watch");
        }
    }
}
