//! Any text as the configuration of `fathom watch`: it is taken or refused, and nothing panics.

#![no_main]

use std::path::Path;

use fathom_watch::config::Config;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Err(error) = Config::parse(text, Path::new("watch.toml")) {
        assert!(!error.to_string().is_empty());
    }
});
