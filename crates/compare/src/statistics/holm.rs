//! Several tests at once.

/// Which of several chances count, so that a false one among them is as rare as `level` says (Holm 1979). What has no chance
/// was not tested.
pub fn holm(chances: &[Option<f64>], level: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..chances.len()).filter(|index| chances[*index].is_some()).collect();
    order.sort_by(|x, y| chances[*x].unwrap_or(1.0).total_cmp(&chances[*y].unwrap_or(1.0)));
    let mut counts = vec![false; chances.len()];
    let tested = order.len();
    for (rank, index) in order.into_iter().enumerate() {
        if chances[index].unwrap_or(1.0) > level / (tested - rank) as f64 {
            break;
        }
        counts[index] = true;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_has_to_be_smaller() {
        for (chances, expected) in [
            (vec![Some(0.03), Some(0.03)], vec![false, false]),
            (vec![Some(0.04), Some(0.02)], vec![true, true]),
            (vec![Some(0.04), None], vec![true, false]),
            (vec![Some(0.001), Some(0.9)], vec![true, false]),
            (vec![], vec![]),
        ] {
            assert_eq!(holm(&chances, 0.05), expected, "{chances:?}");
        }
    }
}
