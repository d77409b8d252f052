//! Whether the nodes of two tiers depend on each other: the contingency table of distinct keys.
//!
//! With many keys a test of significance finds every dependence, however harmless; so the answer has the
//! strength (Cramér's V, corrected for what chance alone gives) beside the p-value, and the harm is judged
//! from the hottest node ([`chance`] says how hot a node gets without any dependence).

use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF};
use statrs::function::gamma::checked_gamma_ur;

/// Below this p-value a difference is not put down to chance. Tables are looked at one by one, by people who
/// act on the answer: one false alarm in a thousand.
pub(crate) const SIGNIFICANT: f64 = 0.001;

/// Fewer keys than this expected in a cell, and neither the test nor the table says much (Cochran's rule).
pub(crate) const EXPECTED_MIN: f64 = 5.0;

/// Dependence of the columns of a table on its rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Independence {
    /// Cramér's V, corrected for bias: 0 independent, 1 the first node determines the second.
    pub cramers_v: f64,
    /// Pearson's χ².
    pub chi_square: f64,
    /// Its degrees of freedom.
    pub degrees: u64,
    /// How often chance alone gives as large a χ²; 0 when less often than numbers can say.
    pub p_value: f64,
    /// The smallest number of keys that independence would put into a cell.
    pub smallest_expected: f64,
    /// Largest divisor `g` of both node counts for which all keys have the same difference of nodes modulo
    /// `g`, and that difference; `None` when there is none above 1.
    pub arithmetic: Option<(usize, usize)>,
}

/// Judges a table of counts; `None` when it has fewer than two rows or columns with keys.
pub(crate) fn of(table: &[Vec<u64>]) -> Option<Independence> {
    let rows: Vec<f64> = table.iter().map(|row| row.iter().sum::<u64>() as f64).collect();
    let columns = column_sums(table);
    let used = |sums: &[f64]| sums.iter().filter(|sum| **sum > 0.0).count() as f64;
    let (r, c, n) = (used(&rows), used(&columns), rows.iter().sum::<f64>());
    if r < 2.0 || c < 2.0 {
        return None;
    }
    let cells = table.iter().zip(&rows).flat_map(|(row, sum)| row.iter().zip(&columns).map(move |cell| (cell, sum)));
    let expected = |column: f64, row: f64| column * row / n;
    let occupied = cells.filter(|((_, column), row)| **column > 0.0 && **row > 0.0);
    let mut chi_square = 0.0;
    let mut smallest_expected = f64::INFINITY;
    for ((count, column), row) in occupied {
        let expected = expected(*column, *row);
        chi_square += (*count as f64 - expected).powi(2) / expected;
        smallest_expected = smallest_expected.min(expected);
    }
    let degrees = (r - 1.0) * (c - 1.0);
    Some(Independence {
        cramers_v: cramers_v(chi_square, n, r, c),
        chi_square,
        degrees: degrees as u64,
        p_value: p_value(chi_square, degrees),
        smallest_expected,
        arithmetic: arithmetic(table),
    })
}

/// How often chance gives a χ² as large; a table without any difference is what chance gives at the least.
fn p_value(chi_square: f64, degrees: f64) -> f64 {
    checked_gamma_ur(degrees / 2.0, chi_square / 2.0).unwrap_or(1.0).clamp(0.0, 1.0)
}

/// Sum of each column.
pub(crate) fn column_sums(table: &[Vec<u64>]) -> Vec<f64> {
    let width = table.first().map_or(0, Vec::len);
    (0..width).map(|column| table.iter().map(|row| row[column] as f64).sum()).collect()
}

/// Bergsma's correction: without it V of independent tables grows with the number of cells.
fn cramers_v(chi_square: f64, n: f64, r: f64, c: f64) -> f64 {
    let phi_square = (chi_square / n - (r - 1.0) * (c - 1.0) / (n - 1.0)).max(0.0);
    let less = |size: f64| size - (size - 1.0).powi(2) / (n - 1.0);
    let smaller = less(r).min(less(c)) - 1.0;
    if smaller > 0.0 { (phi_square / smaller).sqrt().min(1.0) } else { 0.0 }
}

/// Whether the node of the second tier is that of the first plus a constant, modulo a common divisor.
fn arithmetic(table: &[Vec<u64>]) -> Option<(usize, usize)> {
    let (rows, columns) = (table.len(), column_sums(table).len());
    let divisors = (2..=rows.min(columns)).rev().filter(|g| rows.is_multiple_of(*g) && columns.is_multiple_of(*g));
    divisors.into_iter().find_map(|g| {
        let cells =
            table.iter().enumerate().flat_map(|(i, row)| row.iter().enumerate().map(move |(j, count)| (i, j, count)));
        let mut differences = cells.filter(|(_, _, count)| **count > 0).map(|(i, j, _)| (j + g - i % g) % g);
        let first = differences.next()?;
        differences.all(|difference| difference == first).then_some((g, first))
    })
}

/// The most keys that chance puts on a node of share `share` when `keys` are dealt, in all but one of
/// 1 / [`SIGNIFICANT`] tables of `cells` cells.
pub(crate) fn chance(keys: u64, share: f64, cells: usize) -> u64 {
    let probability = 1.0 - SIGNIFICANT / cells.max(1) as f64;
    Binomial::new(share.clamp(0.0, 1.0), keys).map_or(keys, |dealt| dealt.inverse_cdf(probability))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tables_from_text_books_and_stories() {
        let determined: Vec<Vec<u64>> =
            (0..8).map(|i| (0..4).map(|j| u64::from(i % 4 == j) * 1000).collect()).collect();
        let even = vec![vec![500; 4]; 8];
        let shifted: Vec<Vec<u64>> =
            (0..12).map(|i| (0..8).map(|j| u64::from((i + 1) % 4 == j % 4) * 50).collect()).collect();
        // 2 × 2, worked by hand: χ² = 200 · (30 · 60 − 70 · 40)² / (100 · 100 · 70 · 130).
        let two_by_two = vec![vec![30, 70], vec![40, 60]];
        for (table, v, chi_square, degrees, arithmetic) in [
            (determined, 1.0, 24_000.0, 21, Some((4, 0))),
            (even, 0.0, 0.0, 21, None),
            (shifted, 0.65, 3_600.0, 77, Some((4, 1))),
            (two_by_two, 0.077, 2.198, 1, None),
        ] {
            let found = of(&table).unwrap();
            assert!((found.cramers_v - v).abs() < 0.01, "{found:?}");
            assert!((found.chi_square - chi_square).abs() < 0.001 * chi_square.max(1.0), "{found:?}");
            assert_eq!((found.degrees, found.arithmetic), (degrees, arithmetic));
        }
    }

    /// Quantiles of the χ² distribution from printed tables.
    #[test]
    fn p_values_of_printed_quantiles() {
        for (degrees, quantile, p) in [(1.0, 3.841, 0.05), (1.0, 10.828, 0.001), (21.0, 38.932, 0.01)] {
            assert!((p_value(quantile, degrees) / p - 1.0_f64).abs() < 0.01, "{degrees} {quantile}");
        }
        assert!(p_value(24_000.0, 21.0) < 1e-300 && p_value(0.0, 21.0) == 1.0);
    }

    #[test]
    fn chance_is_a_quantile_of_the_binomial_distribution() {
        // 100 tosses: at most 65 heads in all but one of a thousand (P(X > 65) = 0.0009, P(X > 64) = 0.0018).
        assert_eq!(chance(100, 0.5, 1), 65);
        assert!(chance(100, 0.5, 32) > 65);
        assert_eq!((chance(0, 0.5, 4), chance(10, 1.0, 4)), (0, 10));
    }

    proptest! {
        #[test]
        fn no_table_makes_nonsense(table in proptest::collection::vec(proptest::collection::vec(0..5_000_u64, 3), 0..6)) {
            if let Some(found) = of(&table) {
                prop_assert!((0.0..=1.0).contains(&found.cramers_v) && (0.0..=1.0).contains(&found.p_value), "{found:?}");
                prop_assert!(found.chi_square >= 0.0 && found.smallest_expected > 0.0);
            }
        }
    }
}
