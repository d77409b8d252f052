//! Seconds in which something below Java may have been slow although no user is known to have suffered.
//!
//! Without request latency, a program that does the same work at a higher price looks well: no thread waits, and there is
//! enough CPU. But the kernel and the JVM use more CPU on the application's threads, which is visible. More traffic does
//! the same, so this alone is no slowdown. It is a question to the causes: only a mechanism that explains it makes it a
//! slowdown.

use fathom_evidence::kinds::event;

use crate::account::Account;
use crate::grid::BUCKET_NS;
use crate::signals::{Signal, SignalKind, forget_disturbed};
use crate::sources::Sources;
use crate::states::ThreadState;

/// CPU of the code below Java. `None` where no samples tell the layers.
pub(crate) fn signal(sources: &Sources<'_>, account: &Account) -> Option<Signal> {
    sources.samples(event::CPU).next()?;
    let mut values: Vec<f64> =
        account.sum(ThreadState::is_below_java).into_iter().map(|ns| ns / BUCKET_NS as f64).collect();
    let start = account.startup.warm_up_buckets.min(values.len());
    values[..start].fill(f64::NAN);
    forget_disturbed(&mut values, account);
    Some(Signal::new(SignalKind::BelowJava, values))
}
