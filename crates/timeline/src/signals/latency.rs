//! How long requests took, as signals. The usual latency and its variation are read from the recording itself.

use std::ops::Range;

use super::{Signal, SignalKind, Smoothed, forget_disturbed};
use crate::account::Account;
use crate::median::{above_part, median};
use crate::requests::{NOTICED_NS, Requests};

/// Below this a 99th percentile varies several-fold by itself: a slice of the scheduler, a young collection, a timer are
/// as long. So eight times the usual is asked for there, three times above, in ns.
pub const JITTER_P99_NS: f64 = 5e6;

/// The same of a median, which single requests do not move: three times below, twice above, in ns.
pub(super) const JITTER_P50_NS: f64 = 3e6;

/// How long requests took. One slow request among a hundred makes a bad second of a good service: a second counts when most
/// of those around it are bad too, or when it is very bad.
pub(super) fn all(account: &Account) -> Vec<Signal> {
    let Some(requests) = &account.requests else { return Vec::new() };
    let latencies = [(SignalKind::RequestLatency, &requests.p99_ns), (SignalKind::MedianLatency, &requests.p50_ns)];
    latencies.map(|(kind, values)| Signal::new(kind, smooth(values))).to_vec()
}

/// How long they took on average, which is known best where each is known to a few ticks of a clock only.
pub(crate) fn mean(account: &Account) -> Option<Smoothed> {
    let requests = account.requests.as_ref()?;
    let known = |ns: Option<f64>| ns.unwrap_or(f64::NAN);
    let smooth = (0..account.grid.len).map(|index| known(requests.mean_around_ns(index))).collect();
    let mut signal = Signal::new(SignalKind::MeanLatency, smooth);
    forget_disturbed(&mut signal.values, account);
    Some(Smoothed {
        signal,
        single: (0..account.grid.len).map(|index| known(requests.mean_ns(index..index + 1))).collect(),
    })
}

/// Where about half of the requests are of a quick kind, the median jumps from one kind to the other when their shares change a little. A
/// second whose slowest requests take less than half as long as in the seconds that the median calls quiet is not slow by it.
pub(crate) fn without_jumps(requests: &Requests, slow: &mut [bool]) {
    let quiet = (0..slow.len()).filter(|index| !slow[*index]).filter_map(|index| requests.p99_ns[index]);
    let Some(usual_ns) = median(quiet.collect()) else { return };
    for (slow, p99_ns) in slow.iter_mut().zip(&requests.p99_ns) {
        *slow &= p99_ns.is_none_or(|p99_ns| 2.0 * p99_ns >= usual_ns);
    }
}

/// The highest value of a latency in some seconds. The signal has each as the middle one of those around it, which is not
/// what was measured.
pub(crate) fn highest(account: &Account, kind: SignalKind, seconds: Range<usize>) -> Option<f64> {
    let requests = account.requests.as_ref()?;
    let values = match kind {
        SignalKind::RequestLatency => &requests.p99_ns,
        SignalKind::MedianLatency => &requests.p50_ns,
        _ => return None,
    };
    values.get(seconds)?.iter().flatten().copied().reduce(f64::max)
}

/// Each value as the middle one of those around it, unless it is very bad itself. A second without requests has none.
fn smooth(values: &[Option<f64>]) -> Vec<f64> {
    const WINDOW_BUCKETS: usize = 1;
    let of = |index: usize| {
        let value = values[index]?;
        let near = &values[index.saturating_sub(WINDOW_BUCKETS)..(index + WINDOW_BUCKETS + 1).min(values.len())];
        let usual = median(near.iter().flatten().copied().collect())?;
        Some(if value >= NOTICED_NS { value } else { usual.min(NOTICED_NS) })
    };
    (0..values.len()).map(|index| of(index).unwrap_or(f64::NAN)).collect()
}

impl Signal {
    /// The value that a third of the seconds stay below which are near the best stretch: most of the recording may be slow, and what is
    /// several times as late as the best stretch (start-up included) says nothing of how it usually is.
    pub(super) fn usual_latency(&self, from_bucket: usize) -> Option<f64> {
        let best = self.best_stretch()?;
        let mut later = self.values.iter().skip(from_bucket).copied().filter(|value| value.is_finite()).peekable();
        later.peek()?;
        let near = later.filter(|value| *value <= self.limits.factor * best);
        Some(above_part(near.collect(), 3).unwrap_or(best))
    }

    /// The lowest middle value of any stretch of a twentieth of the recording (5 to 30 buckets: of three, two may be good by chance,
    /// and at the ends of the recording the values are of fewer seconds).
    fn best_stretch(&self) -> Option<f64> {
        let values: Vec<f64> = self.values.iter().copied().filter(|v| v.is_finite()).collect();
        let length = (values.len() / 20).clamp(5, 30).min(values.len().max(1));
        values.windows(length).filter_map(|stretch| median(stretch.to_vec())).min_by(f64::total_cmp)
    }

    /// Where a latency varies by itself, how far above its quiet level that goes: four times the spread (by the median of the
    /// deviations, of the logarithms, of what is near that level), which a normal deviate exceeds once in thirty thousand.
    pub(crate) fn spread_above(&self, quiet: f64, from_bucket: usize) -> f64 {
        const DEVIATIONS: f64 = 4.0 * 1.4826;
        if !matches!(self.kind, SignalKind::RequestLatency | SignalKind::MedianLatency) || quiet <= 0.0 {
            return 0.0;
        }
        let is_near = |value: &&f64| value.is_finite() && **value > 0.0 && **value <= self.limits.factor * quiet;
        let near = self.values.iter().skip(from_bucket).filter(is_near);
        let logs: Vec<f64> = near.map(|value| (value / quiet).ln()).collect();
        let spread =
            median(logs.clone()).and_then(|middle| median(logs.iter().map(|log| (log - middle).abs()).collect()));
        spread.map_or(0.0, |spread| quiet * (spread * DEVIATIONS).exp())
    }
}

#[cfg(test)]
mod tests {
    use fathom_evidence::Recording;
    use fathom_evidence::kinds::span;

    use crate::traffic::users::AT_SOCKETS;
    use crate::{Options, SignalKind, analyse};

    const MS: i64 = 1_000_000;

    /// A minute of 50 requests a second that looks at connections know to 8 ms, which take so long from second 20 on, instead of 1.5 ms.
    fn slow_time(us: i64) -> Option<(i64, i64, SignalKind)> {
        let mut recording = Recording::default();
        for nth in 0..3_000 {
            let lasts_us = if (1_000..2_000).contains(&nth) { us } else { 1_500 };
            // What a clock of 4 ms shows of it, by where in its tick it begins.
            let ticks = (nth * 1_700 % 4_000 + lasts_us) / 4_000;
            let detail = format!(r#"{{"port":8080,"uncertain_ns":8000000,"ticks_ns":{}}}"#, ticks * 4 * MS);
            recording.add_span(nth * 20 * MS, 8 * MS, 0, span::REQUEST, ":8080", &detail, AT_SOCKETS);
        }
        let analysis = analyse(&recording, &Options::default()).unwrap();
        let slow = analysis.slowdown.intervals.first()?;
        Some((slow.from_ns / (1_000 * MS), slow.to_ns / (1_000 * MS), slow.signal))
    }

    #[test]
    fn requests_that_are_known_to_8_ms_have_a_mean() {
        assert_eq!(slow_time(3_000), Some((20, 40, SignalKind::MeanLatency)));
        assert_eq!(slow_time(1_700), None);
    }
}
