//! `docs/minutes.md` is what the code says.

use std::fs;
use std::path::Path;

use fathom_watch::minutes::documentation;

const BEGIN: &str = "<!-- Printed by `FATHOM_BLESS=1 cargo test -p fathom-watch`. -->\n";
const END: &str = "<!-- End of what is printed. -->\n";

#[test]
fn the_documentation_has_the_columns_that_there_are() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/minutes.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (printed, after) = rest.split_once(END).unwrap();
    if std::env::var_os("FATHOM_BLESS").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{}{END}{after}", documentation())).unwrap();
        return;
    }
    assert_eq!(printed, documentation(), "run FATHOM_BLESS=1 cargo test -p fathom-watch");
}
