//! Patterns for names, as shells have them.

use serde::Deserialize;

/// A pattern with `*` for any text and `?` for one letter; without either it is the whole text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Glob(String);

impl Glob {
    #[cfg(test)]
    pub(crate) fn new(text: &str) -> Glob {
        Glob(text.to_owned())
    }

    /// Whether it stands for this text.
    pub fn matches(&self, text: &str) -> bool {
        let (pattern, text): (Vec<char>, Vec<char>) = (self.0.chars().collect(), text.chars().collect());
        let (mut at, mut seen) = (0, 0);
        // Where the last `*` was, and how much of the text it stands for.
        let mut star: Option<(usize, usize)> = None;
        while seen < text.len() {
            match (pattern.get(at), star) {
                (Some('*'), _) => {
                    star = Some((at, seen));
                    at += 1;
                }
                (Some(letter), _) if *letter == '?' || *letter == text[seen] => (at, seen) = (at + 1, seen + 1),
                (_, Some((stands, from))) => {
                    star = Some((stands, from + 1));
                    (at, seen) = (stands + 1, from + 1);
                }
                (_, None) => return false,
            }
        }
        pattern[at..].iter().all(|letter| *letter == '*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (glob, text, expected) in [
            ("shop.*", "shop.Cart", true),
            ("shop.*", "a.shop.Cart", false),
            ("*Cart", "shop.Cart", true),
            ("*C?rt*", "shop.Cart", true),
            ("", "", true),
            ("", "x", false),
            ("*", "", true),
            ("a*b*c", "aXbXbXc", true),
            ("a*b*c", "aXbXbX", false),
            ("shop.Cart", "shop.Cart", true),
            ("?", "ä", true),
        ] {
            assert_eq!(Glob::new(glob).matches(text), expected, "{glob} {text}");
        }
    }
}
