//! How much of a text was recovered.

/// Texts are compared as far as places in them differ by at most this much.
const SHIFT_MAX: usize = 400;

/// The share of `plain` that was recovered: 1 less its edit distance to what was read, for each byte.
pub fn recovered(plain: &[u8], read: &[u8]) -> f64 {
    1.0 - distance(plain, read).min(plain.len()) as f64 / plain.len().max(1) as f64
}

/// The least number of bytes to change, add and remove, or at least `plain.len()` where that needs a larger shift.
fn distance(plain: &[u8], read: &[u8]) -> usize {
    if plain.len().abs_diff(read.len()) > SHIFT_MAX {
        return plain.len();
    }
    // Column `c` of row `r` is byte `r + c - SHIFT_MAX` of what was read.
    let width = 2 * SHIFT_MAX + 1;
    let never = plain.len() + read.len();
    let mut row: Vec<usize> = (0..=width).map(|column| column.checked_sub(SHIFT_MAX).unwrap_or(never)).collect();
    row[width] = never;
    for (index, byte) in plain.iter().enumerate() {
        let mut left = never;
        for column in 0..width {
            let at = (index + 1 + column).checked_sub(SHIFT_MAX).filter(|at| *at <= read.len());
            let here = match at {
                None => never,
                Some(0) => index + 1,
                Some(at) => (row[column] + usize::from(*byte != read[at - 1])).min(row[column + 1] + 1).min(left + 1),
            };
            (row[column], left) = (here, here);
        }
    }
    row[read.len() + SHIFT_MAX - plain.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_gaps_and_additions_count() {
        for (read, distance_wanted) in [("kitchen", 0), ("kitten", 2), ("", 7), ("xkitchen", 1)] {
            assert_eq!(distance(b"kitchen", read.as_bytes()), distance_wanted, "{read}");
        }
    }
}
