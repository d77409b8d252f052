//! Names that users type: causes and labs.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};

/// Names that are less alike than this were not meant.
const ALIKE_MIN: f64 = 0.5;

/// The id that is most like what was typed: by its letters, or because it holds it, as a word before as a part of one.
pub(crate) fn nearest<'a>(typed: &str, ids: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_ascii_lowercase().replace('-', "_");
    let likeness = |id: &str| match () {
        () if id.split('_').any(|word| word == typed) => 2.0,
        () if !typed.is_empty() && id.contains(&typed) => 1.0,
        () => strsim::normalized_damerau_levenshtein(&typed, id),
    };
    let (likeness, id) = ids.map(|id| (likeness(id), id)).max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (likeness >= ALIKE_MIN).then_some(id)
}

/// Takes any text and suggests these names to shells, which complete them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Suggested(pub(crate) fn() -> Vec<&'static str>);

impl TypedValueParser for Suggested {
    type Value = String;

    fn parse_ref(&self, _: &clap::Command, _: Option<&clap::Arg>, value: &OsStr) -> Result<String, clap::Error> {
        Ok(value.to_string_lossy().into_owned())
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}

#[cfg(test)]
mod tests {
    use fathom_causes::catalog;

    use super::*;

    #[test]
    fn what_was_meant() {
        for (typed, expected) in [
            ("code_cache_chrun", Some("code_cache_churn")),
            ("Code-Cache-Churn", Some("code_cache_churn")),
            ("lock", Some("lock_contention")),
            ("lok_contention", Some("lock_contention")),
            ("safepoint", Some("long_time_to_safepoint")),
            ("", None),
            ("xyzzy", None),
            ("\u{fc}\u{1f600}", None),
        ] {
            assert_eq!(nearest(typed, catalog().iter().map(|cause| cause.id)), expected, "{typed}");
        }
    }
}
