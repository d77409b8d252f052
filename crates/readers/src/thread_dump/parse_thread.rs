//! The line that a thread begins with. Knows no evidence.

use crate::cursor::Cursor;

/// Words that follow the name of a thread; names may hold quotes and blanks themselves.
const AFTER_NAME: &[&[u8]] = &[b"#", b"daemon ", b"prio=", b"os_prio=", b"cpu=", b"elapsed=", b"tid=", b"nid="];

/// `"main" #1 [5] prio=5 os_prio=0 cpu=51.22ms elapsed=10.23s tid=0x00007f68 nid=0x586f waiting on condition`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ThreadLine<'a> {
    pub(super) name: &'a [u8],
    /// As Java numbers it.
    pub(super) java_id: Option<i64>,
    /// As the operating system numbers it.
    pub(super) os_id: Option<i64>,
    pub(super) address: Option<u64>,
    pub(super) cpu_ns: Option<i64>,
    pub(super) elapsed_ns: Option<i64>,
}

/// Reads such a line; none if it says nothing of a thread of the operating system.
pub(super) fn thread(content: &[u8]) -> Option<ThreadLine<'_>> {
    let content = content.strip_prefix(b"\"")?;
    let ends = memchr::memmem::rfind_iter(content, b"\" ");
    let end = ends.into_iter().find(|end| is_after_name(content[end + 2..].trim_ascii_start()))?;
    let mut thread = ThreadLine { name: &content[..end], ..ThreadLine::default() };
    for word in content[end + 2..].split(|byte| *byte == b' ') {
        thread.take(word);
    }
    (thread.os_id.is_some() || thread.address.is_some()).then_some(thread)
}

fn is_after_name(rest: &[u8]) -> bool {
    AFTER_NAME.iter().any(|word| rest.starts_with(word))
}

impl ThreadLine<'_> {
    fn take(&mut self, word: &[u8]) {
        if let Some(id) = word.strip_prefix(b"#") {
            self.java_id = signed(id);
            return;
        }
        let Some(at) = memchr::memchr(b'=', word) else { return };
        match (&word[..at], &word[at + 1..]) {
            (b"nid", value) => self.os_id = signed(value),
            (b"tid", value) => self.address = number(value),
            (b"cpu", value) => self.cpu_ns = duration_ns(value),
            (b"elapsed", value) => self.elapsed_ns = duration_ns(value),
            _ => {}
        }
    }
}

/// A number, in hexadecimal if it says so.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    match text.strip_prefix(b"0x") {
        Some(digits) => u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok(),
        None => {
            let mut cursor = Cursor(text);
            cursor.integer().filter(|_| cursor.is_done())
        }
    }
}

fn signed(text: &[u8]) -> Option<i64> {
    number(text).and_then(|value| i64::try_from(value).ok()).filter(|value| *value > 0)
}

/// `51.22ms` or `10.23s`.
fn duration_ns(text: &[u8]) -> Option<i64> {
    let scale = if text.ends_with(b"ms") { 6 } else { 9 };
    Cursor(text).fixed(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_all_releases() {
        let jdk17 = r#""a "b" c" #20 daemon prio=5 os_prio=0 cpu=141.07ms elapsed=36.96s tid=0x10 nid=0x58b7 waiting on condition  [0x1]"#;
        let expected = ThreadLine {
            name: br#"a "b" c"#,
            java_id: Some(20),
            os_id: Some(0x58b7),
            address: Some(16),
            cpu_ns: Some(141_070_000),
            elapsed_ns: Some(36_960_000_000),
        };
        assert_eq!(thread(jdk17.as_bytes()), Some(expected));
        for (text, name, os_id, java_id) in [
            (
                r#""main" #1 [4242] prio=5 os_prio=0 cpu=1.0ms elapsed=2.0s tid=0x10 nid=4242 runnable"#,
                "main",
                4242,
                Some(1),
            ),
            (r#""main" prio=10 tid=0x10 nid=0x1092 runnable [0x1]"#, "main", 4242, None),
            (r#""VM Thread" os_prio=0 tid=0x10 nid=0x1092 runnable"#, "VM Thread", 4242, None),
        ] {
            let thread = thread(text.as_bytes()).unwrap();
            assert_eq!((thread.name, thread.os_id, thread.java_id), (name.as_bytes(), Some(os_id), java_id), "{text}");
        }
        for text in [r#""worker":"#, r#""JSON": "#, "\"", r#""x" #1"#] {
            assert_eq!(thread(text.as_bytes()), None, "{text}");
        }
    }
}
