//! Any text as the configuration of `fathom watch`: it is accepted or refused, and nothing panics.

use std::path::Path;

use fathom_watch::config::Config;

pub(crate) fn run(bytes: &[u8]) {
    let text = fathom_fuzz::text(bytes);
    if let Err(error) = Config::parse(text, Path::new("watch.toml")) {
        assert!(!error.to_string().is_empty());
    }
}
