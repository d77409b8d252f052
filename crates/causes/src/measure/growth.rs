//! Whether there is more of something than before, and not only what a change of load does.

/// As many times more.
const MIN_RATIO: f64 = 1.5;

/// Whether a quantity, beside the same in the baseline, grew; without a baseline nothing says that it did not.
pub fn grew((now, before): (f64, Option<f64>)) -> bool {
    before.is_none_or(|before| now >= MIN_RATIO * before)
}
