//! Reads numbers, sizes and words off the front of a line, byte by byte.
//!
//! Every method either consumes what it returns or leaves the cursor where it was, and no method
//! can overflow: a number too large for its type is not a number.

use memchr::memchr;

/// Powers of ten.
const POWERS: [i64; 19] = {
    let mut powers = [1; 19];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// The number that at most `most` digits at the beginning are, modulo 2^64, and how many these are.
fn digits(text: &[u8], most: usize) -> (u64, usize) {
    let (mut value, mut count) = (0_u64, 0);
    for byte in text.iter().take(most) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        count += 1;
    }
    (value, count)
}

/// The rest of a line that is still to be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a>(pub(crate) &'a [u8]);

impl<'a> Cursor<'a> {
    /// Whether nothing is left.
    pub(crate) fn is_done(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte, left in place.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// Skips `count` bytes, or all that is left.
    pub(crate) fn skip(&mut self, count: usize) {
        self.0 = self.0.get(count..).unwrap_or_default();
    }

    /// Skips `prefix` if it is next.
    pub(crate) fn eat(&mut self, prefix: &[u8]) -> bool {
        match self.0.strip_prefix(prefix) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    /// As [`Self::eat`], for use with `?`.
    pub(crate) fn expect(&mut self, prefix: &[u8]) -> Option<()> {
        self.eat(prefix).then_some(())
    }

    /// Skips blanks.
    pub(crate) fn spaces(&mut self) {
        let count = self.0.iter().take_while(|byte| **byte == b' ' || **byte == b'\t').count();
        self.skip(count);
    }

    /// Everything up to `end`, which is skipped.
    pub(crate) fn until(&mut self, end: u8) -> Option<&'a [u8]> {
        let at = memchr(end, self.0)?;
        let text = &self.0[..at];
        self.0 = &self.0[at + 1..];
        Some(text)
    }

    /// The longest run of bytes that `belongs` accepts, possibly empty.
    pub(crate) fn run(&mut self, belongs: impl Fn(u8) -> bool) -> &'a [u8] {
        let count = self.0.iter().take_while(|byte| belongs(**byte)).count();
        let (text, rest) = self.0.split_at(count);
        self.0 = rest;
        text
    }

    /// An unsigned integer.
    pub(crate) fn integer(&mut self) -> Option<u64> {
        let (value, count) = digits(self.0, usize::MAX);
        let value = match count {
            0 => return None,
            // So many fit, whatever they are.
            1..=19 => value,
            _ => std::str::from_utf8(&self.0[..count]).ok()?.parse().ok()?,
        };
        self.skip(count);
        Some(value)
    }

    /// A decimal number times 10^`scale`; further digits are dropped. A comma may stand for the point,
    /// as some locales write it.
    pub(crate) fn fixed(&mut self, scale: u32) -> Option<i64> {
        let mut rest = *self;
        let mut value = i64::try_from(rest.integer()?).ok()?.checked_mul(*POWERS.get(scale as usize)?)?;
        value = value.checked_add(rest.fraction(scale))?;
        *self = rest;
        Some(value)
    }

    /// What stands behind a whole number, times 10^`scale`: 0 where there is no point or comma with digits behind it.
    pub(crate) fn fraction(&mut self, scale: u32) -> i64 {
        if !matches!(self.0, [b'.' | b',', b'0'..=b'9', ..]) {
            return 0;
        }
        self.skip(1);
        let (value, kept) = digits(self.0, scale as usize);
        self.skip(kept);
        if kept == scale as usize {
            self.run(|byte| byte.is_ascii_digit());
        }
        value as i64 * POWERS[scale as usize - kept]
    }

    /// A size in bytes such as `24M`, `5000.0K`, `0B` or `512`.
    pub(crate) fn size(&mut self) -> Option<u64> {
        let mut rest = *self;
        let thousandths = rest.fixed(3)?.unsigned_abs();
        let unit: u64 = match rest.peek() {
            Some(b'B') => 1,
            Some(b'K') => 1 << 10,
            Some(b'M') => 1 << 20,
            Some(b'G') => 1 << 30,
            Some(b'T') => 1 << 40,
            _ => 0,
        };
        if unit > 0 {
            rest.skip(1);
        }
        let bytes = u128::from(thousandths) * u128::from(unit.max(1)) / 1_000;
        *self = rest;
        u64::try_from(bytes).ok()
    }

    /// What stands between a pair of parentheses, pairs inside it included.
    pub(crate) fn group(&mut self) -> Option<&'a [u8]> {
        let mut depth = 0_usize;
        for (at, byte) in self.0.iter().enumerate() {
            match byte {
                b'(' => depth += 1,
                b')' => depth = depth.checked_sub(1)?,
                _ => {}
            }
            if depth == 0 {
                let text = self.0.get(1..at)?;
                self.skip(at + 1);
                return Some(text);
            }
        }
        None
    }
}

/// The text without blanks at either end.
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_what_is_left() {
        for (text, scale, expected, rest) in [
            ("1.5s", 9, Some(1_500_000_000), "s"),
            ("0,0034 secs", 9, Some(3_400_000), " secs"),
            ("12.345ms", 6, Some(12_345_000), "ms"),
            ("7", 3, Some(7_000), ""),
            ("0.1234567899", 9, Some(123_456_789), ""),
            ("99999999999999999999", 0, None, "99999999999999999999"),
            ("9999999999999999", 9, None, "9999999999999999"),
            ("x", 0, None, "x"),
            ("3, 4", 0, Some(3), ", 4"),
        ] {
            let mut cursor = Cursor(text.as_bytes());
            assert_eq!(cursor.fixed(scale), expected, "{text}");
            assert_eq!(cursor.0, rest.as_bytes(), "{text}");
        }
    }

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("24M", Some(24 << 20)),
            ("5000.5K", Some(5_120_512)),
            ("0.0B", Some(0)),
            ("512", Some(512)),
            ("2T", Some(2 << 40)),
            ("18446744073709551615T", None),
            ("9000000000000000T", None),
        ] {
            assert_eq!(Cursor(text.as_bytes()).size(), expected, "{text}");
        }
    }

    #[test]
    fn groups_may_hold_groups() {
        let mut cursor = Cursor(b"(System.gc()) (G1 Evacuation Pause) rest");
        assert_eq!(cursor.group(), Some(&b"System.gc()"[..]));
        cursor.spaces();
        assert_eq!(cursor.group(), Some(&b"G1 Evacuation Pause"[..]));
        assert_eq!(Cursor(b"(never closed").group(), None);
        assert_eq!(Cursor(b"").group(), None);
        assert_eq!(Cursor(b")").group(), None);
    }
}
