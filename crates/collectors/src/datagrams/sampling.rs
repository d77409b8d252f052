//! Which answers become rows if there are too many: those that took long for their socket, and a sample of the others.

use super::parse::Place;

/// Rows of a socket each look, as many as of a port of TCP.
const ROWS_PER_LOOK: u64 = 20;

/// Slow is what takes so many times what is usual: of most services that is one in some hundreds.
const SLOW_FROM: u64 = 4;

/// What is usual is that of so many looks, most of it of the last ones.
const LOOKS: u64 = 8;

/// What becomes a row.
#[derive(Debug, Default)]
pub(super) struct Rule {
    /// What takes at least so long.
    pub(super) slow_ns: u64,
    /// Of the others one in so many; 0: each.
    pub(super) one_in: u64,
    usual_ns: u64,
    answered: u64,
    answer_ns: u64,
}

impl Rule {
    /// Looks at what was answered since the last look.
    pub(super) fn look(&mut self, place: &Place) {
        let count = place.answered.saturating_sub(self.answered);
        let sum_ns = place.answer_ns.saturating_sub(self.answer_ns);
        (self.answered, self.answer_ns) = (place.answered, place.answer_ns);
        if let Some(mean_ns) = sum_ns.checked_div(count) {
            self.usual_ns = match self.usual_ns {
                0 => mean_ns,
                usual_ns => usual_ns - usual_ns / LOOKS + mean_ns / LOOKS,
            };
        }
        (self.slow_ns, self.one_in) = match count > ROWS_PER_LOOK {
            true => (self.usual_ns.saturating_mul(SLOW_FROM), count.div_ceil(ROWS_PER_LOOK)),
            false => (0, 0),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datagrams::parse::{BUCKETS, PLACE_WORDS};

    #[test]
    fn few_become_rows_each_and_of_many_the_slow_ones() {
        let mut rule = Rule::default();
        let mut row = [0; PLACE_WORDS];
        let mut look = |more: u64, each_ns: u64| {
            (row[0], row[8], row[9]) = (1, row[8] + more, row[9] + more * each_ns);
            rule.look(&Place::parse(&row).unwrap());
            (rule.slow_ns, rule.one_in)
        };
        assert_eq!(look(20, 1_000), (0, 0));
        assert_eq!(look(200, 1_000), (4_000, 10));
        // When all become slow, slow is soon something else.
        assert!((0..30).map(|_| look(200, 100_000).0).max().unwrap() > 300_000);
        assert_eq!((look(0, 0), BUCKETS), ((0, 0), 24));
    }
}
