//! Whether there is more of something than before, beyond what a change of load explains.

/// As many times more.
const MIN_RATIO: f64 = 1.5;

/// Whether a quantity, beside the same in the baseline, grew; without a baseline nothing says that it did not.
pub fn grew((now, before): (f64, Option<f64>)) -> bool {
    before.is_none_or(|before| now >= MIN_RATIO * before)
}

/// How often chance may do what is taken for more than chance.
const FALSE_ALARMS: f64 = 1e-3;

/// Whether something that was seen `now` times in so many seconds is as frequent as `before`, each a count and its seconds, and
/// chance put it where it is.
pub fn may_be_chance(now: (f64, f64), before: (f64, f64)) -> bool {
    let (all, part) = (now.0 + before.0, now.1 / (now.1 + before.1));
    let seen = now.0 / all;
    if all <= 0.0 || seen.is_nan() || seen <= part {
        return true;
    }
    // Of a binomial distribution no more than this is that far above its mean (Chernoff).
    let term = |seen: f64, part: f64| if seen > 0.0 { seen * (seen / part).ln() } else { 0.0 };
    let surprise = all * (term(seen, part) + term(1.0 - seen, 1.0 - part));
    surprise < -FALSE_ALARMS.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_that_were_seen_only_now_are_more_than_chance_and_a_few_more_are_not() {
        assert!(!may_be_chance((8.0, 20.0), (0.0, 40.0)));
        assert!(may_be_chance((5.0, 20.0), (0.0, 40.0)));
        assert!(may_be_chance((25.0, 20.0), (40.0, 40.0)));
        assert!(!may_be_chance((100.0, 20.0), (100.0, 40.0)));
    }

    #[test]
    fn nothing_seen_and_no_time_to_see_it_in_are_chance() {
        assert!(may_be_chance((0.0, 20.0), (0.0, 40.0)));
        assert!(may_be_chance((10.0, 20.0), (0.0, 0.0)));
        assert!(may_be_chance((0.0, 0.0), (10.0, 20.0)));
    }
}
