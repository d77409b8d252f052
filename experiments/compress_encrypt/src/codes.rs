//! A canonical code of which only some symbols are known yet.
//!
//! Codes of DEFLATE are canonical: given by their lengths alone, shorter ones first, and among those of one length in the order of the
//! symbols. So two known codes say much about every code between them, which is what makes a hidden table weak.

use std::ops::Range;
use std::rc::Rc;

/// Codes are compared as numbers of 15 bits, filled up with zeros at the end.
const BITS: u8 = 15;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    start: u16,
    pub length: u8,
    pub symbol: u16,
}

impl Code {
    fn end(self) -> u16 {
        self.start + (1 << (BITS - self.length))
    }

    /// How many codes of this length lie before it.
    fn index(self) -> u16 {
        self.start >> (BITS - self.length)
    }
}

/// What is known, in the order of the codes, which is also that of (length, symbol).
#[derive(Debug, Clone, Default)]
pub struct Codes(Rc<Vec<Code>>);

impl Codes {
    /// The code with which these bits begin, if it is known.
    pub fn known(&self, window: u16) -> Option<Code> {
        let before = self.0[..self.after(window)].last()?;
        (window < before.end()).then_some(*before)
    }

    /// The length of a symbol's code, if it is known.
    pub fn has(&self, symbol: u16) -> bool {
        self.0.iter().any(|code| code.symbol == symbol)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The symbols that a code of this length may stand for, if these bits begin with it, and none is known that begins so.
    pub fn possible(&self, window: u16, length: u8, symbols: u16) -> Range<u16> {
        const NONE: Range<u16> = 0..0;
        let code = Code { start: window >> (BITS - length) << (BITS - length), length, symbol: 0 };
        let after = self.after(window);
        let mut range = 0..symbols;
        if let Some(before) = self.0[..after].last() {
            if before.length > length || before.end() > code.start {
                return NONE;
            }
            if before.length == length {
                range.start = before.symbol + code.index() - before.index();
            }
        }
        if let Some(next) = self.0.get(after) {
            if next.length < length || code.end() > next.start {
                return NONE;
            }
            if next.length == length {
                range.end = (next.symbol + 1).saturating_sub(next.index() - code.index());
            }
        }
        range
    }

    pub fn with(&self, window: u16, length: u8, symbol: u16) -> Self {
        let mut codes = Vec::clone(&self.0);
        codes.insert(self.after(window), Code { start: window >> (BITS - length) << (BITS - length), length, symbol });
        Self(Rc::new(codes))
    }

    fn after(&self, window: u16) -> usize {
        self.0.partition_point(|code| code.start <= window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_narrow_what_a_code_may_stand_for() {
        // Of length 3: a = 000, e = 011; of length 4: z = 1110.
        let codes = Codes::default().with(0, 3, 10).with(0b011 << 12, 3, 14).with(0b1110 << 11, 4, 26);
        assert_eq!(codes.known((0b011 << 12) + 5).map(|code| code.symbol), Some(14));
        assert_eq!(codes.known(0b001 << 12), None);
        assert_eq!(codes.possible(0b001 << 12, 3, 100), 11..13);
        assert!(codes.possible(0b001 << 12, 4, 100).is_empty(), "longer than the next one");
        assert_eq!(codes.possible(0b100 << 12, 3, 100), 15..100);
        assert_eq!(codes.possible(0b1101 << 11, 4, 100), 0..26);
        assert!(codes.possible(0b1111 << 11, 3, 100).is_empty(), "shorter than the one before");
    }
}
