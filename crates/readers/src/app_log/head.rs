//! The text between the time of a line and its message: level, thread, logger. Knows no evidence.
//!
//! Every application has its own pattern. This code finds what the usual ones have in common: the level is a word of
//! its own, the thread is in brackets, and the logger is a name with dots, or a name that a dash or a colon follows.

use crate::app_log::stamp::Stamp;
use crate::cursor::{Cursor, trim};

/// How many words may stand before a message.
const WORDS_MAX: usize = 10;

/// So many of them before the level.
const BEFORE_LEVEL: usize = 5;

/// Longest of them, in bytes.
const WORD_MAX_BYTES: usize = 200;

/// How bad a line is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Level {
    /// The line does not say.
    #[default]
    None,
    Debug,
    Info,
    Warn,
    Error,
}

impl Level {
    /// The word in the tables.
    pub(super) fn word(self) -> &'static str {
        match self {
            Level::None => "",
            Level::Debug => "DEBUG",
            Level::Info => "INFO",
            Level::Warn => "WARN",
            Level::Error => "ERROR",
        }
    }

    /// By the name that a library has for it.
    pub(super) fn of(word: &[u8]) -> Option<Level> {
        const LONGEST: usize = 11;
        let (mut upper, length) = ([0; LONGEST], word.len());
        // Most words are none: their first letter tells.
        if length < 4 || !matches!(word[0] & !0x20, b'T' | b'D' | b'F' | b'I' | b'N' | b'C' | b'W' | b'E' | b'S' | b'A')
        {
            return None;
        }
        upper.get_mut(..length)?.copy_from_slice(word);
        upper.make_ascii_uppercase();
        Some(match &upper[..length] {
            b"TRACE" | b"DEBUG" | b"FINE" | b"FINER" | b"FINEST" => Level::Debug,
            b"INFO" | b"NOTICE" | b"CONFIG" | b"INFORMATION" => Level::Info,
            b"WARN" | b"WARNING" => Level::Warn,
            b"ERROR" | b"FATAL" | b"SEVERE" | b"CRITICAL" | b"ALERT" | b"EMERG" => Level::Error,
            _ => return None,
        })
    }

    /// By the numbers of syslog.
    pub(super) fn of_severity(severity: u64) -> Level {
        match severity {
            0..=3 => Level::Error,
            4 => Level::Warn,
            5 | 6 => Level::Info,
            _ => Level::Debug,
        }
    }
}

/// A line without its time.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head<'a> {
    pub(super) level: Level,
    pub(super) logger: &'a [u8],
    pub(super) message: &'a [u8],
}

/// Something that was logged.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub(super) stamp: Stamp,
    pub(super) head: Head<'a>,
    /// The class of an exception that came with it.
    pub(super) exception: &'a [u8],
}

/// Level, logger and message of what follows a time. Some patterns have the level before it.
pub(super) fn read(text: &[u8], level: Level) -> Head<'_> {
    let mut rest = Cursor(text);
    let mut head = Head { level, ..Head::default() };
    for index in 0..WORDS_MAX {
        rest.run(|byte| matches!(byte, b' ' | b'\t' | b'|'));
        let before = rest;
        let has_level = head.level != Level::None;
        let then = match word(&mut rest) {
            Some(word) if has_level || index < BEFORE_LEVEL => take(word, &mut head, &mut rest),
            _ => Then::Message,
        };
        match then {
            Then::Word => {}
            Then::MessageFollows => break,
            Then::Message => {
                rest = before;
                break;
            }
        }
    }
    // Without a level nothing tells where the message begins.
    let is_found = head.level != Level::None;
    if is_found { Head { message: trim(rest.0), ..head } } else { Head { message: trim(text), ..Head::default() } }
}

/// A word before a message.
#[derive(Clone, Copy)]
enum Word<'a> {
    /// What stands in brackets.
    Bracketed(&'a [u8]),
    Plain(&'a [u8]),
    /// A dash or a colon.
    Mark,
}

/// What a word was.
enum Then {
    /// One before the message.
    Word,
    /// The last one before it.
    MessageFollows,
    /// The first one of it.
    Message,
}

fn word<'a>(rest: &mut Cursor<'a>) -> Option<Word<'a>> {
    let text = rest.0.get(..WORD_MAX_BYTES).unwrap_or(rest.0);
    let close = match text.first()? {
        b'[' => b']',
        b'(' => b')',
        b'-' if text.starts_with(b"---") => return skipped(rest, 3).map(Word::Plain),
        b'-' | b':' if matches!(text.get(1), Some(b' ') | None) => return skipped(rest, 1).map(|_| Word::Mark),
        _ => {
            let end = text.iter().position(|byte| matches!(byte, b' ' | b'\t' | b'|' | b'[')).unwrap_or(text.len());
            return skipped(rest, end).map(Word::Plain);
        }
    };
    let end = memchr::memchr(close, text)?;
    skipped(rest, end + 1).map(|text| Word::Bracketed(trim(&text[1..end])))
}

fn skipped<'a>(rest: &mut Cursor<'a>, count: usize) -> Option<&'a [u8]> {
    let text = rest.0.get(..count).filter(|text| !text.is_empty())?;
    rest.skip(count);
    Some(text)
}

fn take<'a>(word: Word<'a>, head: &mut Head<'a>, rest: &mut Cursor<'a>) -> Then {
    match word {
        Word::Mark if head.level == Level::None => Then::Word,
        Word::Mark => Then::MessageFollows,
        Word::Bracketed(text) => {
            let is_behind_level = !set_level(text, head) && head.level != Level::None;
            if is_behind_level && head.logger.is_empty() && is_logger(text, false) {
                head.logger = text;
            }
            if rest.eat(b":") && is_behind_level { Then::MessageFollows } else { Then::Word }
        }
        Word::Plain(text) if head.level == Level::None => {
            set_level(text.strip_suffix(b":").unwrap_or(text), head);
            Then::Word
        }
        Word::Plain(text) => take_plain(text, head, rest),
    }
}

/// Takes the first level that is named; false if a text is none.
fn set_level(text: &[u8], head: &mut Head<'_>) -> bool {
    let level = Level::of(text).filter(|_| head.level == Level::None);
    head.level = level.unwrap_or(head.level);
    level.is_some()
}

/// A word behind the level: a process id, a logger, or the first of the message.
fn take_plain<'a>(text: &'a [u8], head: &mut Head<'a>, rest: &mut Cursor<'a>) -> Then {
    if text == b"---" || text.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'#' | b':')) {
        return Then::Word;
    }
    let bare = text.strip_suffix(b":").unwrap_or(text);
    let has_colon = bare.len() < text.len();
    let next = rest.0.trim_ascii_start();
    let is_marked = has_colon || [&b"- "[..], b": ", b"| "].iter().any(|mark| next.starts_with(mark));
    if !head.logger.is_empty() || !is_logger(bare, is_marked) {
        return Then::Message;
    }
    head.logger = bare;
    if has_colon { Then::MessageFollows } else { Then::Word }
}

/// Whether a text is the name of a logger: of a class with its package, or any name where a mark ends it.
fn is_logger(text: &[u8], is_marked: bool) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'$' | b'-' | b'/');
    let points = memchr::memchr_iter(b'.', text).count();
    text.first().is_some_and(u8::is_ascii_alphabetic) && text.iter().all(is_name) && (is_marked || points >= 2)
}

/// `<34>1 `, `<34>`.
pub(super) fn severity(cursor: &mut Cursor<'_>) -> Option<Level> {
    let mut rest = *cursor;
    rest.expect(b"<")?;
    let priority = rest.integer().filter(|priority| *priority < 192)?;
    rest.expect(b">")?;
    rest.eat(b"1 ");
    *cursor = rest;
    Some(Level::of_severity(priority % 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_usual_patterns() {
        for (text, level, logger, message) in [
            (" [main] INFO  c.e.App - Started in 3 s", Level::Info, "c.e.App", "Started in 3 s"),
            ("  INFO 4711 --- [nio-8080-exec-1] c.e.App   : Started", Level::Info, "c.e.App", "Started"),
            (" [shop] [nio-1] WARN  c.e.a.App - a - b", Level::Warn, "c.e.a.App", "a - b"),
            (
                " SEVERE [main] org.apache.catalina.Server.start A child failed",
                Level::Error,
                "org.apache.catalina.Server.start",
                "A child failed",
            ),
            ("[INFO ][o.e.n.Node] [node-1] started", Level::Info, "o.e.n.Node", "started"),
            (" INFO [GroupCoordinator 1]: Assignment done (kafka)", Level::Info, "", "Assignment done (kafka)"),
            (" ERROR Timeout after 3 ms", Level::Error, "", "Timeout after 3 ms"),
            ("|ERROR|main|shop.Cart|no item", Level::Error, "", "main|shop.Cart|no item"),
            (" [error] 12#0: *1 upstream timed out", Level::Error, "", "*1 upstream timed out"),
            (" WARN  shop: [x] is not y", Level::Warn, "shop", "[x] is not y"),
            (" nothing of that kind", Level::None, "", "nothing of that kind"),
            (" a b c d e f WARN g", Level::None, "", "a b c d e f WARN g"),
            ("", Level::None, "", ""),
            (" [never closed", Level::None, "", "[never closed"),
        ] {
            let (logger, message) = (logger.as_bytes(), message.as_bytes());
            assert_eq!(read(text.as_bytes(), Level::None), Head { level, logger, message }, "{text}");
        }
        assert_eq!(read(b" [main] a.b.C - x", Level::Info).message, b"x");
    }
}
