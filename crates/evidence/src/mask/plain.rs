//! Values that say what they are: numbers, versions, places, names of classes. Of unknown properties only these
//! are shown.

use std::sync::LazyLock;

use regex::Regex;

/// No version and no class name is longer.
const LONGEST_BYTES: usize = 4096;

static PLAIN: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        // Numbers, with a unit; versions; dates.
        r"[+-]?\d{1,9}(\.\d{1,6})?(?i:[kmgtp]?i?b?|ns|us|ms|s|m|h|d|%)",
        r"v?\d{1,5}(\.\d{1,8}){1,4}([+-][A-Za-z0-9.+-]{1,30})?",
        r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?(\.\d+)?Z?)?",
        // Files, and lists of them.
        r"(file:)?(\.{0,2}/[\w.+@$~-]*)+(:(\.{0,2}/[\w.+@$~*-]*)+)*",
        r"[\w-]+(\.[\w-]+)*\.(jar|xml|ya?ml|properties|json|conf|toml|log|so|txt)",
        // Classes, packages and hosts.
        r"[A-Za-z_$][\w$-]*(\.[A-Za-z_$][\w$-]*)+(:\d{1,5})?",
        // Charsets, locales, zones.
        r"(?i:utf-?8|utf-?16|us-ascii|iso-8859-\d{1,2}|unicodelittle|ansi_x3\.4-1968)",
        r"[a-z]{2}([_-][A-Z]{2})?",
        r"[A-Z][a-z]+(/[A-Z][A-Za-z_]+){1,2}",
        // Switches and levels.
        r"(?i:on|off|auto|default|enabled?|disabled?|trace|debug|info|warn(ing)?|error|fatal|all|any|localhost|test|prod(uction)?|dev(elopment)?|staging)",
    ];
    Regex::new(&format!("^(?:{})$", forms.join("|"))).unwrap_or_else(|_| unreachable!("the forms are constants"))
});

/// Whether a value is of such a form.
pub(super) fn is_plain(value: &str) -> bool {
    value.len() <= LONGEST_BYTES && PLAIN.is_match(value)
}
