//! System properties as a JVM answers them: the text format of Java, ISO 8859-1 with escapes. No I/O.

use std::iter::Peekable;
use std::str::Chars;

/// Names and values, in the order of the text.
pub(crate) fn parse(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let mut rest = line.chars().peekable();
            let name = unescaped(&mut rest, |c| c == '=');
            (name, unescaped(&mut rest, |_| false))
        })
        .collect()
}

/// The value of one property.
pub(crate) fn value_of(text: &str, name: &str) -> Option<String> {
    parse(text).into_iter().find(|(other, _)| other == name).map(|(_, value)| value)
}

/// The characters up to one that `ends`, escapes replaced; takes that one too.
fn unescaped(rest: &mut Peekable<Chars<'_>>, ends: impl Fn(char) -> bool) -> String {
    let mut text = String::new();
    let mut units: Vec<u16> = Vec::new();
    while let Some(character) = rest.next() {
        let plain = match character {
            '\\' if rest.peek() == Some(&'u') => {
                rest.next();
                units.push(hexadecimal(rest));
                continue;
            }
            '\\' => escaped(rest.next()),
            other if ends(other) => break,
            other => Some(other),
        };
        text.push_str(&String::from_utf16_lossy(&std::mem::take(&mut units)));
        text.extend(plain);
    }
    text + &String::from_utf16_lossy(&units)
}

fn escaped(character: Option<char>) -> Option<char> {
    Some(match character? {
        't' => '\t',
        'n' => '\n',
        'r' => '\r',
        'f' => '\u{c}',
        other => other,
    })
}

/// Four digits; what is none counts as zero.
fn hexadecimal(rest: &mut Peekable<Chars<'_>>) -> u16 {
    let digits = rest.by_ref().take(4).map(|digit| digit.to_digit(16).unwrap_or(0) as u16);
    digits.fold(0, |number, digit| number << 4 | digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_values_and_escapes() {
        for (text, name, value) in [
            ("a=b", "a", "b"),
            ("#Fri Nov 20 10\na=b=c", "a", "b=c"),
            ("path=/tmp/2026_11_20\\:x", "path", "/tmp/2026_11_20:x"),
            ("line.separator=\\n", "line.separator", "\n"),
            ("a\\ b\\=c=d", "a b=c", "d"),
            ("smile=\\uD83D\\uDE00!", "smile", "😀!"),
            ("cut=\\u12", "cut", "\u{12}"),
            ("end=\\", "end", ""),
            ("only", "only", ""),
        ] {
            assert_eq!(value_of(text, name).as_deref(), Some(value), "{text}");
        }
        assert_eq!(parse(""), []);
        assert_eq!(value_of("a=b", "c"), None);
    }
}
