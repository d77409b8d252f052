//! `journalctl -o export`: a field in each line, and an empty line behind each entry. Knows no evidence.
//!
//! A value of several lines has its field name on a line of its own, then its length in eight bytes, then the text. The
//! lines after its first one are treated as lines below the entry.

use crate::app_log::head::{Entry, Head, Level};
use crate::app_log::stamp::Stamp;
use crate::cursor::Cursor;

/// Bytes of a length.
const LENGTH_BYTES: usize = 8;

const TIME: &[u8] = b"__REALTIME_TIMESTAMP=";

/// Whether a file of this format begins so.
pub(super) fn begins(head: &[u8]) -> bool {
    head.starts_with(TIME) || head.starts_with(b"__CURSOR=")
}

/// The entry that is read.
#[derive(Debug, Default)]
pub(super) struct Export {
    is_export: bool,
    is_given: bool,
    is_message_next: bool,
    time_us: Option<i64>,
    level: Level,
    name: Vec<u8>,
    message: Vec<u8>,
}

impl Export {
    /// Whether a line is for this format. The first line of such a file tells.
    pub(super) fn takes(&mut self, line: &[u8]) -> bool {
        self.is_export |= begins(line);
        self.is_export
    }

    /// The entry that a line ends.
    pub(super) fn line<'a>(&'a mut self, line: &[u8]) -> Option<Entry<'a>> {
        if std::mem::take(&mut self.is_given) {
            *self = Export { is_export: true, ..Export::default() };
        }
        if std::mem::take(&mut self.is_message_next) {
            self.message = line.get(LENGTH_BYTES..).unwrap_or_default().to_vec();
            return None;
        }
        if !line.is_empty() {
            self.field(line);
            return None;
        }
        self.is_given = true;
        let stamp = Stamp::exact(self.time_us?.checked_mul(1_000)?);
        let head = Head { level: self.level, logger: &self.name, message: &self.message };
        (!self.message.is_empty()).then_some(Entry { stamp, head, exception: b"" })
    }

    fn field(&mut self, line: &[u8]) {
        let number = |text: &[u8]| i64::try_from(Cursor(text).integer()?).ok();
        if let Some(text) = line.strip_prefix(TIME) {
            self.time_us = number(text);
        } else if let Some(text) = line.strip_prefix(b"PRIORITY=") {
            self.level = number(text).map_or(Level::None, |severity| Level::of_severity(severity.unsigned_abs()));
        } else if let Some(text) = line.strip_prefix(b"SYSLOG_IDENTIFIER=") {
            self.name = text.to_vec();
        } else if let Some(text) = line.strip_prefix(b"MESSAGE=") {
            self.message = text.to_vec();
        } else {
            self.is_message_next = line == b"MESSAGE";
        }
    }
}
