//! Text from files made safe to print.

/// Longest text that is printed in one piece, in characters.
const TEXT_MAX_CHARS: usize = 1_200;

/// Makes characters visible that would steer a terminal or turn the direction of writing: control
/// characters become `\x1b`, `\u{202e}` and so on. Line breaks and tabs become spaces.
pub fn line(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars().take(TEXT_MAX_CHARS) {
        match character {
            '\n' | '\r' | '\t' => safe.push(' '),
            c if !steers(c) => safe.push(c),
            c if (c as u32) < 0x100 => safe.push_str(&format!("\\x{:02x}", c as u32)),
            c => safe.push_str(&format!("\\u{{{:x}}}", c as u32)),
        }
    }
    if text.chars().nth(TEXT_MAX_CHARS).is_some() {
        safe.push('…');
    }
    safe
}

/// A name, safe to print, without its middle if it is longer than `max` characters: the ends tell it apart.
pub fn shorten(name: &str, max: usize) -> String {
    let name = line(name);
    let length = name.chars().count();
    if length <= max {
        return name;
    }
    let kept = max.saturating_sub(1);
    let (head, tail) = (kept.div_ceil(2), kept / 2);
    let first: String = name.chars().take(head).collect();
    let last: String = name.chars().skip(length - tail).collect();
    format!("{first}…{last}")
}

/// Text from a file as text of HTML or SVG.
pub(crate) fn escaped(text: &str) -> String {
    let text = line(text).replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Whether a character acts on the terminal or on the order of the text instead of being seen.
pub(crate) fn steers(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        for (text, expected) in [
            ("plain Ünïcode 名前", "plain Ünïcode 名前"),
            ("\x1b[2J\x1b]0;owned\x07", "\\x1b[2J\\x1b]0;owned\\x07"),
            ("two\nlines\r\tand a tab", "two lines  and a tab"),
            ("\u{9b}31mred", "\\x9b31mred"),
            ("abc\u{202e}fdp.exe", "abc\\u{202e}fdp.exe"),
            ("nul\0", "nul\\x00"),
        ] {
            assert_eq!(line(text), expected);
            assert!(!line(text).chars().any(steers));
        }
    }

    #[test]
    fn long_texts_are_cut_and_say_so() {
        let cut = line(&"x".repeat(100_000));
        assert_eq!(cut.chars().count(), TEXT_MAX_CHARS + 1);
        assert!(cut.ends_with('…'));
    }

    #[test]
    fn names_keep_both_ends() {
        for (name, max, expected) in
            [("short", 5, "short"), ("abcdefghij", 5, "ab…ij"), ("abcdefghij", 6, "abc…ij"), ("名前名前", 3, "名…前")]
        {
            assert_eq!(shorten(name, max), expected);
        }
    }
}
