//! The ratio of odds with its interval, as wide as the counts scatter.

/// Quantile of the normal distribution for 95 %.
const Z: f64 = 1.959_964;

/// What is added to each count, so that none of them is nothing (Haldane and Anscombe).
const HALF: f64 = 0.5;

/// Messages of one kind and all messages, on one side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side {
    of_kind: f64,
    others: f64,
    blocks: f64,
    /// How many times more they scatter from block to block than single messages would.
    scatter: f64,
}

impl Side {
    pub(super) fn of(counts: &[f64], totals: &[f64]) -> Side {
        let (of_kind, all): (f64, f64) = (counts.iter().sum(), totals.iter().sum());
        let part = if all > 0.0 { of_kind / all } else { 0.0 };
        let square = |(count, total): (&f64, &f64)| {
            let variance = total * part * (1.0 - part);
            if variance > 0.0 { (count - total * part).powi(2) / variance } else { 0.0 }
        };
        let squares: f64 = counts.iter().zip(totals).map(square).sum();
        let blocks = counts.len() as f64;
        Side {
            of_kind,
            others: (all - of_kind).max(0.0),
            blocks,
            scatter: (squares / (blocks - 1.0).max(1.0)).max(1.0),
        }
    }

    fn log_odds(self) -> f64 {
        ((self.of_kind + HALF) / (self.others + HALF)).ln()
    }

    fn variance(self) -> f64 {
        self.scatter * (1.0 / (self.of_kind + HALF) + 1.0 / (self.others + HALF))
    }
}

/// A ratio of odds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Odds {
    pub(super) ratio: f64,
    pub(super) range: (f64, f64),
}

impl Odds {
    pub(super) fn of(slow: Side, base: Side) -> Odds {
        let difference = slow.log_odds() - base.log_odds();
        let free = (slow.blocks + base.blocks - 2.0).max(1.0);
        // Student's quantile by its first correction of the normal one.
        let quantile = Z + (Z.powi(3) + Z) / (4.0 * free);
        let half = quantile * (slow.variance() + base.variance()).sqrt();
        Odds { ratio: difference.exp(), range: ((difference - half).exp(), (difference + half).exp()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_wide_as_counts_scatter() {
        let of = |slow: &[f64], base: &[f64]| {
            Odds::of(Side::of(slow, &vec![100.0; slow.len()]), Side::of(base, &vec![100.0; base.len()]))
        };
        let even = of(&[10.0; 10], &[5.0; 10]);
        // 100 of 1,000 against 50 of 1,000: (100.5 / 900.5) / (50.5 / 950.5).
        assert!((even.ratio - 2.100_6).abs() < 1e-3, "{even:?}");
        assert!(even.range.0 > 1.4 && even.range.1 < 3.1, "{even:?}");
        let one_burst = of(&[100.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], &[5.0; 10]);
        assert!(one_burst.range.0 < 1.0, "{one_burst:?}");
        let never = of(&[0.0; 10], &[0.0; 10]);
        assert!(never.range.0 < 1.0 && never.range.1 > 1.0, "{never:?}");
    }
}
