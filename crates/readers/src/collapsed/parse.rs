//! Lines of collapsed stacks. Knows no evidence.

use crate::lines;

/// Lines that are looked at to recognise a file.
const LINES: usize = 20;

/// Whether lines are frames with semicolons between them and a number at the end. A stack may have one frame; most have more.
pub(super) fn are_collapsed(head: &[u8]) -> bool {
    // The last line may be cut.
    let mut lines: Vec<&[u8]> = lines::of_head(head).filter(|line| !line.is_empty()).take(LINES + 1).collect();
    if lines.len() > 1 {
        lines.pop();
    }
    let with_callers = lines.iter().filter(|line| line.contains(&b';')).count();
    with_callers > 0 && 2 * with_callers >= lines.len() && lines.iter().all(|line| stack(line).is_some())
}

/// The frames of a line, and how often they were seen.
pub(super) fn stack(line: &[u8]) -> Option<(&[u8], u64)> {
    let line = line.trim_ascii_end();
    let blank = memchr::memrchr(b' ', line)?;
    let (frames, number) = (line[..blank].trim_ascii(), &line[blank + 1..]);
    let is_number = !number.is_empty() && number.iter().all(u8::is_ascii_digit);
    let is_text = !frames.is_empty() && !frames.iter().any(u8::is_ascii_control);
    let count = std::str::from_utf8(number).ok()?.parse().ok()?;
    (is_number && is_text).then_some((frames, count))
}

/// `[http-1 tid=123]`: async-profiler has the thread as the outermost frame.
pub(super) fn thread(frame: &str) -> Option<(&str, i64)> {
    let (name, tid) = frame.strip_prefix('[')?.strip_suffix(']')?.rsplit_once(" tid=")?;
    Some((name, tid.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_stacks() {
        for (line, expected) in [
            ("a;b c;d 12", Some(("a;b c;d", 12))),
            ("a 1\r", Some(("a", 1))),
            ("a;b", None),
            ("a;b 1.5", None),
            (" 12", None),
            ("a;\u{1b}b 12", None),
            ("", None),
        ] {
            let found = stack(line.as_bytes());
            assert_eq!(found, expected.map(|(frames, count)| (frames.as_bytes(), count)), "{line:?}");
        }
        assert_eq!(thread("[a [b] tid=7]"), Some(("a [b]", 7)));
        assert_eq!(thread("[unknown]"), None);
    }

    #[test]
    fn recognised() {
        for (text, expected) in [
            (&b"main;a.B.c;d 12\nmain;a.B.e 3\n[unknown] 3\nmain;a"[..], true),
            (b"main;a 1", true),
            (b"main 1\nfoo 2\nbar 3\na;b 4\n", false),
            (b"a;b\n1;2\n", false),
            (b"2026-11-29 a; b\n", false),
            (b"", false),
        ] {
            assert_eq!(are_collapsed(text), expected, "{}", String::from_utf8_lossy(text));
        }
    }
}
