//! Pressure stall information, of the machine or of a control group, as text.

use crate::procfs::{lines, number, utf8, words};

/// The totals of a pressure file: `some` or `full`, and the time in µs.
pub(crate) fn totals_us(text: &[u8]) -> impl Iterator<Item = (&str, u64)> {
    lines(text).filter_map(|line| {
        let mut words = words(line);
        let share = utf8(words.next()?).filter(|share| matches!(*share, "some" | "full"))?;
        let total = words.find_map(|word| number(word.strip_prefix(b"total=")?))?;
        Some((share, total))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_and_full() {
        let text =
            "some avg10=6.04 avg60=3.13 avg300=3.00 total=6979715148\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        assert_eq!(totals_us(text.as_bytes()).collect::<Vec<_>>(), [("some", 6979715148), ("full", 0)]);
        for text in ["", "some", "some total=", "none total=5", "full total=-1"] {
            assert_eq!(totals_us(text.as_bytes()).count(), 0, "{text:?}");
        }
    }

    #[test]
    fn no_bytes_are_too_strange() {
        proptest::proptest!(|(bytes: Vec<u8>)| { totals_us(&bytes).count(); });
    }
}
