//! Requests that stay unread in their sockets, as a signal. A service that keeps up reads a request at once, so this is
//! slow from the first second on, whatever the other seconds are like.

use super::{Signal, SignalKind};
use crate::account::Account;
use crate::sources::Sources;
use crate::traffic::users::quantile;

/// The time for which half of a second's requests lay there at least. Of a few it is chance.
pub(super) fn signal(sources: &Sources<'_>, account: &Account) -> Option<Signal> {
    account.requests.as_ref().filter(|requests| requests.are_many())?;
    let mut unread: Vec<Vec<(i64, f64)>> = vec![Vec::new(); account.grid.len];
    for request in sources.traffic.requests() {
        if let Some(bucket) = account.grid.bucket_of(request.from_ns) {
            unread[bucket].push((request.unread_ns, request.weight));
        }
    }
    let values = unread.iter_mut().map(|bucket| quantile(bucket, 0.5).unwrap_or(f64::NAN)).collect();
    Some(Signal::new(SignalKind::UnreadRequests, values))
}

#[cfg(test)]
mod tests {
    use fathom_evidence::Recording;
    use fathom_evidence::kinds::span;

    use crate::signals::SignalKind;
    use crate::traffic::users::AT_SOCKETS;
    use crate::{Options, analyse};

    const MS: i64 = 1_000_000;

    /// A minute of twenty requests per second. Each takes `length_ms` and is unread for `unread_ms` of it.
    fn recording(length_ms: i64, unread_ms: i64) -> Recording {
        let mut recording = Recording::default();
        for number in 0..1200 {
            let detail = format!(r#"{{"unread_ns":{}}}"#, unread_ms * MS);
            recording.add_span(number * 50 * MS, length_ms * MS, 7, span::REQUEST, ":8080", &detail, AT_SOCKETS);
        }
        recording
    }

    fn slow(recording: &Recording) -> Vec<SignalKind> {
        analyse(recording, &Options::default()).unwrap().slowdown.signals
    }

    #[test]
    fn requests_that_nobody_reads_are_slow_though_all_are_alike() {
        assert_eq!(slow(&recording(700, 600)), [SignalKind::UnreadRequests]);
        assert_eq!(slow(&recording(700, 20)), [], "long requests may be long by nature");
        assert_eq!(slow(&recording(60, 50)), [], "nobody notices");
    }
}
