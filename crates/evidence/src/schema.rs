//! The page that documents the schema, printed from the code.

use std::fmt::Write;

use crate::detail::{self, Keys};
use crate::kinds::{self, Word};
use crate::table::{ColumnDoc, Table};
use crate::tables::{Clocks, Counters, Facts, Logs, Losses, Samples, Spans, StoredFrames, StoredStacks, StoredThreads};

/// Version of the tables. Raised with every change that an older reader would misread; each change has an entry here:
///
/// 1. First version.
pub const SCHEMA_VERSION: u32 = 1;

/// `docs/schema.md`.
pub fn page() -> String {
    let mut page = format!(
        "# The tables of a recording (schema version {SCHEMA_VERSION})\n\n\
         <!-- Printed by `FATHOM_BLESS=1 cargo test -p fathom-evidence`. Edit the doc comments in crates/evidence instead. -->\n\n\
         A recording is a folder `NAME.fathom/` with one Parquet file per table (while it is being written: one Arrow\n\
         IPC stream `TABLE.arrows`). Id 0 means none; text columns are dictionary-encoded UTF-8 and never null.\n"
    );
    table::<Facts>(&mut page);
    table::<Samples>(&mut page);
    table::<Spans>(&mut page);
    table::<Counters>(&mut page);
    table::<Logs>(&mut page);
    table::<Losses>(&mut page);
    table::<Clocks>(&mut page);
    table::<StoredThreads>(&mut page);
    table::<StoredFrames>(&mut page);
    table::<StoredStacks>(&mut page);
    words(&mut page, "Facts: subjects", kinds::subject::ALL);
    words(&mut page, "Sample events", kinds::event::ALL);
    words(&mut page, "Span kinds", kinds::span::ALL);
    details(&mut page);
    words(&mut page, "Counters", kinds::counter::ALL);
    words(&mut page, "Thread roles", kinds::role::ALL);
    words(&mut page, "Frame kinds", kinds::frame::ALL);
    words(&mut page, "What sent data waits for", kinds::unsent::ALL);
    words(&mut page, "What stopped a process", kinds::stopped::ALL);
    words(&mut page, "Why a thread was woken late", kinds::stall::ALL);
    words(&mut page, "Losses", kinds::loss::ALL);
    page
}

fn table<T: Table>(page: &mut String) {
    let _ = writeln!(
        page,
        "\n## {}\n\n{}\n\n| column | type | unit | meaning |\n|---|---|---|---|",
        T::NAME,
        T::MEANING.trim()
    );
    for ColumnDoc { name, column_type, unit, meaning } in T::columns() {
        let _ = writeln!(page, "| `{name}` | {column_type} | {unit} | {} |", meaning.trim());
    }
}

fn details(page: &mut String) {
    let _ = writeln!(page, "\n## Details of spans\n\nEach key is there only where the source knows it.");
    for Keys { of, keys } in detail::ALL {
        let _ = writeln!(page, "\n{}\n\n| key | meaning |\n|---|---|", of.trim());
        rows(page, keys);
    }
}

fn words(page: &mut String, title: &str, words: &[Word]) {
    let _ = writeln!(page, "\n## {title}\n\n| word | meaning |\n|---|---|");
    rows(page, words);
}

fn rows(page: &mut String, words: &[Word]) {
    for word in words {
        let _ = writeln!(page, "| `{}` | {} |", word.word, word.meaning.trim());
    }
}
