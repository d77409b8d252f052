//! Whether a text may hold a secret at all. Each new text of a recording is asked, millions of them, and hardly any does: one pass
//! over it has to be enough.

use std::sync::LazyLock;

use regex::Regex;

use super::{forms, names};

/// What has to be in an ASCII text with a secret, unless a long run of letters and digits is.
static SIGNS: LazyLock<Regex> = LazyLock::new(|| {
    let names = names::parts_of_secret_names().map(regex::escape);
    let signs: Vec<String> = names.chain(forms::SIGNS.iter().copied().map(str::to_owned)).collect();
    Regex::new(&format!("(?i:{})", signs.join("|"))).unwrap_or_else(|_| unreachable!("the signs are constants"))
});

/// False where the text holds none for sure.
pub(super) fn may_hold_a_secret(text: &str) -> bool {
    !text.is_ascii() || has_long_run(text.as_bytes()) || SIGNS.is_match(text)
}

/// Whether letters and digits follow each other for long enough to be judged.
fn has_long_run(text: &[u8]) -> bool {
    let mut runs = text.split(|byte| !forms::is_of_a_key(*byte));
    let is_long = |run: &[u8]| {
        run.len() >= forms::SHORTEST_WITHOUT_DIGITS
            || run.len() >= forms::SHORTEST && run.iter().any(u8::is_ascii_digit)
    };
    text.len() >= forms::SHORTEST && runs.any(is_long)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mask::Context;
    use crate::mask::words;

    #[test]
    fn what_has_no_sign_holds_no_secret() {
        let part = "(password|Pwd|login|user|-p|-u |token|key|=|:|@|://|/| |<|>|x|Basic |A1b2C3d4E5f6|-|[A-Za-z0-9]{1,24}){0,12}";
        proptest::proptest!(proptest::prelude::ProptestConfig::with_cases(20_000), |(text in part)| {
            let secrets = [forms::secrets(&text), words::secrets(&text, Context::Text), words::secrets(&text, Context::Options)];
            proptest::prop_assert!(may_hold_a_secret(&text) || secrets.concat().is_empty(), "{text:?} {secrets:?}");
        });
    }

    #[test]
    fn ordinary_texts_are_told_by_a_glance() {
        for text in ["java.util.concurrent.ThreadPoolExecutor.runWorker", "{\"gc_id\":12,\"bytes\":4096}", "requests"] {
            assert!(!may_hold_a_secret(text), "{text}");
        }
    }
}
