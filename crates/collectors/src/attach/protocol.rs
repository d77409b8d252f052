//! The bytes of the attach protocol: requests and replies, no I/O.
//!
//! Version 1 (every JVM) carries a command and exactly three short arguments, each ended by a NUL.
//! Version 2 (JDK 25, and what it was ported back to) carries its own length and any number of
//! arguments. Both answer with a number on a line of its own, 0 for success, and text until the end.

use super::AttachError;

/// Longest argument of version 1, in bytes.
const V1_ARGUMENT_MAX: usize = 1024;
/// Arguments of version 1: always this many.
const V1_ARGUMENTS: usize = 3;
/// Longest request of version 2, in bytes, as the JVM limits it.
const V2_REQUEST_MAX: usize = 256 * 1024;
/// Longest first line of a reply: a number of 32 bits.
const STATUS_MAX: usize = 11;

/// Which requests a JVM understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

impl Version {
    /// What the answer to `getversion` means: a JVM that does not know the command knows version 1.
    pub(super) fn of_reply(reply: &Reply) -> Version {
        let highest = reply.text.split_whitespace().next().and_then(|word| word.parse::<u32>().ok());
        match (reply.status, highest) {
            (0, Some(2..)) => Version::Two,
            _ => Version::One,
        }
    }

    /// The request in this version, or why it cannot be told in it.
    pub(super) fn encode(self, command: &str, arguments: &[&str]) -> Result<Vec<u8>, AttachError> {
        let parts = || std::iter::once(command).chain(arguments.iter().copied());
        if parts().any(|part| part.contains('\0')) {
            return Err(AttachError::Request("a NUL in an argument"));
        }
        match self {
            Version::One if !fits_version_1(arguments) => {
                Err(AttachError::Request("arguments that this JVM's protocol cannot carry"))
            }
            Version::One => Ok(joined("1", parts().chain(std::iter::repeat_n("", V1_ARGUMENTS - arguments.len())))),
            Version::Two => {
                let body: usize = parts().map(|part| part.len() + 1).sum();
                if body > V2_REQUEST_MAX {
                    return Err(AttachError::Request("arguments of more than 256 KB"));
                }
                Ok(joined("2", std::iter::once(body.to_string().as_str()).chain(parts())))
            }
        }
    }
}

/// Whether version 1 can carry the arguments.
pub(super) fn fits_version_1(arguments: &[&str]) -> bool {
    arguments.len() <= V1_ARGUMENTS && arguments.iter().all(|argument| argument.len() <= V1_ARGUMENT_MAX)
}

fn joined<'a>(first: &str, parts: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let mut bytes = first.as_bytes().to_vec();
    bytes.push(0);
    for part in parts {
        bytes.extend_from_slice(part.as_bytes());
        bytes.push(0);
    }
    bytes
}

/// What a JVM answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    /// 0 for success.
    pub(super) status: i32,
    /// The output, or what went wrong.
    pub(super) text: String,
}

impl Reply {
    /// Reads a whole answer; `None` when it is none.
    pub(super) fn parse(bytes: &[u8]) -> Option<Reply> {
        let line_end = bytes.iter().take(STATUS_MAX + 1).position(|byte| *byte == b'\n')?;
        let status = std::str::from_utf8(&bytes[..line_end]).ok()?.parse().ok()?;
        Some(Reply { status, text: String::from_utf8_lossy(&bytes[line_end + 1..]).into_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests() {
        let long = "x".repeat(V1_ARGUMENT_MAX + 1);
        let huge = "x".repeat(V2_REQUEST_MAX);
        for (version, command, arguments, expected) in [
            (Version::One, "getversion", &["options"][..], Some("1\0getversion\0options\0\0\0")),
            (Version::One, "jcmd", &["VM.flags -all"], Some("1\0jcmd\0VM.flags -all\0\0\0")),
            (Version::One, "load", &["/a.so", "true", "start"], Some("1\0load\0/a.so\0true\0start\0")),
            (Version::One, "x", &["a", "b", "c", "d"], None),
            (Version::One, "x", &[&long], None),
            (Version::One, "x", &["a\0b"], None),
            (Version::Two, "jcmd", &["VM.flags"], Some("2\x0014\0jcmd\0VM.flags\0")),
            (Version::Two, "x", &["a", "b", "c", "d"], Some("2\x0010\0x\0a\0b\0c\0d\0")),
            (Version::Two, "x\0", &[], None),
            (Version::Two, "x", &[&huge], None),
        ] {
            let bytes = version.encode(command, arguments).ok();
            assert_eq!(bytes.as_deref(), expected.map(str::as_bytes), "{version:?} {command} {}", arguments.len());
        }
        let carried = Version::Two.encode("x", &[&long]).unwrap();
        assert!(carried.starts_with(b"2\x001028\0x\0xxx"), "{:?}", &carried[..12]);
    }

    #[test]
    fn replies() {
        for (bytes, expected) in [
            (&b"0\nfine\n"[..], Some((0, "fine\n"))),
            (b"-1\nOperation getversion not recognized!", Some((-1, "Operation getversion not recognized!"))),
            (b"101\n", Some((101, ""))),
            (b"0\n\xff", Some((0, "\u{fffd}"))),
            (b"", None),
            (b"0", None),
            (b"\n", None),
            (b"zero\nfine", None),
            (b"99999999999\nfine", None),
            (b"0000000000000\nfine", None),
        ] {
            let expected = expected.map(|(status, text)| Reply { status, text: text.to_owned() });
            assert_eq!(Reply::parse(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn versions() {
        for (status, text, expected) in [
            (0, "2 streaming", Version::Two),
            (0, "1", Version::One),
            (0, "", Version::One),
            (-1, "Operation getversion not recognized!", Version::One),
            (101, "2", Version::One),
        ] {
            assert_eq!(Version::of_reply(&Reply { status, text: text.to_owned() }), expected, "{status} {text}");
        }
    }
}
