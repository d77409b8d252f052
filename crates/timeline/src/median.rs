//! The middle of some values, other quantiles, and ranks.

/// The middle value, of two the upper one; none of no values.
pub fn median(values: Vec<f64>) -> Option<f64> {
    above_part(values, 2)
}

/// The value that one of so many equal parts of all stays below; none of no values.
pub(crate) fn above_part(mut values: Vec<f64>, parts: usize) -> Option<f64> {
    let index = values.len() / parts;
    (!values.is_empty()).then(|| *values.select_nth_unstable_by(index, f64::total_cmp).1)
}

/// The quantile of values in order, each with for how many it stands; none of no values.
pub fn quantile<T: Copy>(sorted: impl Iterator<Item = (T, f64)> + Clone, q: f64) -> Option<T> {
    let all: f64 = sorted.clone().map(|(_, weight)| weight).sum();
    // The rank of the value among all, as with one row for each.
    let rank = (q * (all - 1.0)).round();
    let mut below = 0.0;
    let reached = sorted.clone().find(|(_, weight)| {
        below += weight;
        below > rank
    });
    reached.or_else(|| sorted.last()).map(|(value, _)| value)
}

/// Ranks from 1; equal values share theirs.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let same = order[from..].iter().take_while(|index| values[**index] == values[order[from]]).count();
        let rank = from as f64 + (same + 1) as f64 / 2.0;
        order[from..from + same].iter().for_each(|index| ranks[*index] = rank);
        from += same;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_lengths_that_stand_for_many() {
        let lengths = [(1.0, 98.0), (5.0, 1.0), (9.0, 1.0)];
        let at = |part| quantile(lengths.into_iter(), part);
        assert_eq!([0.5, 0.98, 0.99, 1.0].map(at), [1.0, 1.0, 5.0, 9.0].map(Some));
        assert_eq!(quantile(std::iter::empty::<(f64, f64)>(), 0.5), None);
    }
}
