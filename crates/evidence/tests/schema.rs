//! The page that documents the tables is the one that the code prints.

#![allow(clippy::unwrap_used)]

use std::fs;

#[test]
fn the_page_about_the_schema_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema.md");
    let page = fathom_evidence::schema::page();
    if std::env::var_os("FATHOM_BLESS").is_some() {
        fs::write(path, &page).unwrap();
    }
    let committed = fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/schema.md is not what the code says: run FATHOM_BLESS=1 cargo test -p fathom-evidence"
    );
}
