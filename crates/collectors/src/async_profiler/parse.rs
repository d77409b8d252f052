//! What the JVM answers when it has loaded an agent: text to fact, no I/O.

/// The agent's own code: 0 when it did what it was told. JDK 8 answers with the bare number.
pub(super) fn return_code(text: &str) -> Option<i32> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    line.strip_prefix("return code:").unwrap_or(line).trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes() {
        for (text, expected) in [
            ("return code: 0\n", Some(0)),
            ("\nreturn code: 200\n", Some(200)),
            ("0\n", Some(0)),
            ("-1", Some(-1)),
            ("Dynamic agent loading is not enabled.", None),
            ("return code: x", None),
            ("", None),
        ] {
            assert_eq!(return_code(text), expected, "{text:?}");
        }
    }
}
