//! Secrets that are known by their own form, or by the place in which they stand.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Match, Regex};

/// Each pattern has the secret in the group `s`, or `key` if it also has to look random. Words end by ASCII letters: with others, no
/// pattern of words would be quick in a text that is not ASCII, and `é` before a key would hide it.
static FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        // Keys in PEM, also cut off or with their line ends escaped.
        r"(?s)(?P<s>-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|$))",
        // Logins in addresses: user:SECRET@, and a key alone. Who only has a short name (git@) is no secret.
        r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@?#]*:(?P<s>[^\s@/][^\s@]*(?:@[^\s@/]+)*)@",
        r"(?i)(?-u:\b)https?://(?P<s>[^\s/:@?#]{8,})@",
        r"(?i)jdbc:oracle:[a-z0-9]+:[^\s/@]+/(?P<s>[^\s@]+)@",
        // Headers.
        r"(?-u:\b)(?i:bearer|basic|digest|negotiate|apikey|splunk)\s+(?P<s>[a-z._~+/-]*[A-Z0-9][A-Za-z0-9._~+/-]{3,}=*|[a-z._~+/-]{16,})",
        // Client options: -u user:SECRET.
        r"(?:^|\s)(?:-u|-U|--user|--proxy-user|--login)[ =]?[^\s:/=]+:(?P<s>[^\s/]\S*)",
        // The option of clients of databases, without a blank: letters with a digit or capital among them.
        r"(?:^|\s)-p(?P<s>[a-z]*[A-Z0-9][^\s=:/.]*[A-Za-z][^\s=:/.]*)",
        // Elements of XML.
        r"(?i)<[\w.:-]*(?:password|passwd|pwd|passphrase|secret|token|credential|kennwort|passwort|apikey|privatekey)[\w.:-]*(?:\s[^<>]*)?>(?P<s>[^<>]+)<",
        // Tokens as their issuers make them.
        r"(?-u:\b)(?P<s>(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA)[A-Z0-9]{16})(?-u:\b)",
        r"(?:^|[^\w/+.-])(?P<key>[A-Za-z0-9+][A-Za-z0-9/+]{39})(?:$|[^\w/+=.-])",
        r"(?-u:\b)(?P<s>eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,4})",
        r"(?-u:\b)(?P<s>gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{20,})",
        r"(?-u:\b)(?P<s>xox[a-z]-[A-Za-z0-9-]{8,}|[srp]k_(?:live|test)_[A-Za-z0-9]{8,}|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{16,})",
        r"(?-u:\b)(?P<s>hv[sb]\.[A-Za-z0-9_-]{16,}|SG\.[A-Za-z0-9_.-]{20,}|dop_v1_[a-f0-9]{32,}|sq0[a-z]{3}-[A-Za-z0-9_-]{16,})",
        r"(?i)hooks\.slack\.com/services/(?P<s>[A-Za-z0-9/]+)",
        r"(?-u:\b)(?P<s>\d{8,10}:[A-Za-z0-9_-]{35})(?-u:\b)",
    ]
    .iter()
    .filter_map(|pattern| Regex::new(pattern).ok())
    .collect()
});

/// One of these is in each text with such a secret that is not told by its length: regular expressions.
pub(super) const SIGNS: &[&str] = &[
    "-----begin",
    "://",
    "jdbc:oracle",
    r"(?:bearer|basic|digest|negotiate|apikey|splunk)\s",
    r"(?:^|\s)-[pu]",
    r"--proxy-user",
    "</?[^<>]+>[^<>]+<",
    "akia|asia|agpa|aida|aroa|anpa",
    "eyj",
    "gh[pousr]_|github_pat_|glpat-|npm_",
    "xox[a-z]-|[srp]k_(?:live|test)_|aiza|ya29",
    r"hv[sb]\.|sg\.|dop_v1_|sq0[a-z]",
    r"hooks\.slack",
    r"\d{8}:",
];

/// Where such secrets are.
pub(super) fn secrets(text: &str) -> Vec<Range<usize>> {
    let of_form = |form: &Regex| -> Vec<Range<usize>> {
        let found = form.captures_iter(text).filter_map(|found| found.name("s").or_else(|| key(&found)));
        found.map(|secret| secret.range()).collect()
    };
    let mut found: Vec<Range<usize>> = FORMS.iter().flat_map(of_form).collect();
    found.extend(random(text));
    found
}

/// A key that has no form but its length.
fn key<'t>(found: &Captures<'t>) -> Option<Match<'t>> {
    found.name("key").filter(|key| is_random(key.as_str().as_bytes()))
}

/// What a key may consist of.
pub(super) fn is_of_a_key(byte: u8) -> bool {
    is_of_a_run(byte) || byte == b'/'
}

fn is_of_a_run(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'_')
}

/// Runs of letters and digits that no person would write.
fn random(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + bytes[at.min(bytes.len())..].iter().position(|byte| is_of_a_run(*byte))?;
        let length = bytes[start..].iter().position(|byte| !is_of_a_run(*byte)).unwrap_or(bytes.len() - start);
        at = start + length;
        Some(start..at)
    })
    .filter(|run| {
        has_random_part(&bytes[run.clone()]) && !is_named(bytes, run.start) && !is_address(&bytes[run.clone()])
    })
}

/// Names of functions are words with lines between them: `__aarch64_sync_cache_range`.
fn has_random_part(run: &[u8]) -> bool {
    run.split(|byte| *byte == b'_').any(is_random)
}

/// An instruction as debuggers write it: `function+0x1f`.
fn is_address(run: &[u8]) -> bool {
    run.windows(3).any(|part| part == b"+0x")
}

/// Digests of images are no secrets; neither are the names of containers and objects in paths of files
/// (`/docker/ID`, `/docker-ID.scope`), and of functions and classes as compilers write them (`_ZN`…, `a.b.C$`…).
fn is_named(bytes: &[u8], start: usize) -> bool {
    let before = &bytes[start.saturating_sub(LONGEST_PATH_BYTES)..start];
    let word = before.iter().rposition(u8::is_ascii_whitespace).map_or(0, |blank| blank + 1);
    let word = &before[word..];
    let is_of_engine = |byte: &u8| byte.is_ascii_lowercase() || *byte == b'-';
    let folder = word.iter().rposition(|byte| !is_of_engine(byte)).map_or(&word[..0], |end| &word[..=end]);
    let is_of_path = folder.ends_with(b"/") && !word.windows(3).any(|part| part == b"://");
    is_of_path || before.ends_with(b"sha256:") || bytes[start..].starts_with(b"_Z") || is_nested_in_class(word)
}

/// Whether this is `package.Class$`.
fn is_nested_in_class(word: &[u8]) -> bool {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'$' | b'_');
    word.first().is_some_and(u8::is_ascii_lowercase)
        && word.contains(&b'.')
        && word.ends_with(b"$")
        && word.iter().all(is_of_name)
}

/// No path is longer on Linux.
const LONGEST_PATH_BYTES: usize = 4096;

/// Shortest run that is judged: below, names of people's own are as mixed.
pub(super) const SHORTEST: usize = 20;
/// Letters of both cases without a digit have to be longer.
pub(super) const SHORTEST_WITHOUT_DIGITS: usize = 32;
/// Digits and letters of one case only (hexadecimal among them) have to be longer.
const SHORTEST_OF_ONE_CASE: usize = 24;

/// Whether letters, capitals and digits follow each other as if thrown.
fn is_random(run: &[u8]) -> bool {
    let has = |test: fn(&u8) -> bool| run.iter().any(test);
    let changes = run.windows(2).filter(|pair| class(pair[0]) != class(pair[1])).count();
    let per_hundred = changes * 100 / run.len().max(1);
    let has_digits = has(u8::is_ascii_digit);
    match (has(u8::is_ascii_lowercase), has(u8::is_ascii_uppercase)) {
        (true, true) => {
            let is_long = has_digits || per_hundred >= 45 && run.len() >= SHORTEST_WITHOUT_DIGITS;
            run.len() >= SHORTEST && per_hundred >= 38 && is_long && !is_of_words(run)
        }
        (true, false) | (false, true) => run.len() >= SHORTEST_OF_ONE_CASE && has_digits && per_hundred >= 25,
        (false, false) => false,
    }
}

/// Names in capitals and small letters have two small ones together at least, wherever there are any: `G1TryInitiateConcMark`. Of
/// a hundred keys one does.
fn is_of_words(run: &[u8]) -> bool {
    let mut small = run.split(|byte| !byte.is_ascii_lowercase()).filter(|letters| !letters.is_empty());
    small.all(|letters| letters.len() >= 2)
}

fn class(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    }
}
