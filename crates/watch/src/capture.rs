//! One recording: the time before from the ring, then some more time with everything else that may be recorded.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fathom_collectors::policy::Glance;
use fathom_collectors::recorder::{self, End, HandOver, Plan, RecordError};
use fathom_collectors::{Policy, Profiler, Use, allocator, collectors};
use fathom_evidence::Recording;
use fathom_evidence::kinds::{recorded, subject};
use fathom_store::FolderError;
use jiff::Timestamp;

use crate::config::{Capture, Choice};
use crate::kept;
use crate::triggers::Trigger;
use crate::watched_jvm::{Commands, WatchedJvm};

/// Ending of a recording's folder.
pub(crate) const EXTENSION: &str = "fathom";

/// A recording that was made.
#[derive(Debug)]
pub(crate) struct Captured {
    /// Its folder.
    pub(crate) folder: PathBuf,
    /// Why it ended.
    pub(crate) end: End,
    /// How long it took, without the time before, in ns.
    pub(crate) observed_ns: i64,
}

/// Lets the service know that it records and does not hang.
struct Beats(Arc<Commands>);

impl recorder::Watcher for Beats {
    fn passes(&mut self, _: Duration, _: u64) {
        self.0.lives();
    }
}

/// How much of the time before is kept, in ns.
pub(crate) fn before_ns(watched: &WatchedJvm, trigger: &Trigger) -> i64 {
    watched.kept_from_ns().map_or(0, |from_ns| trigger.at_ns.saturating_sub(from_ns).max(0))
}

/// Where a recording goes.
pub(crate) fn place(watched: &WatchedJvm, trigger: &Trigger) -> PathBuf {
    watched.config().folder.join(name(watched, trigger))
}

/// Records a watched JVM into `folder`. Its collectors go on in the recording and have ended afterwards.
pub(crate) fn capture(
    watched: &mut WatchedJvm,
    trigger: &Trigger,
    folder: PathBuf,
    stop: &AtomicBool,
) -> Result<Captured, RecordError> {
    let config = watched.config().clone();
    let (mut rows, observers) = watched.hand_over();
    note(trigger, watched, &mut rows);
    let mut order = watched.order().clone();
    order.folder.clone_from(&folder);
    order.max_bytes = config.capture.size.0;
    order.policy = policy(&config.capture);
    order.glance = Glance::default();
    order.profiler = Profiler::default();
    order.is_sparing = false;
    let plan = Plan {
        order,
        duration: Some(config.capture.length),
        without: without(&config.capture),
        hand_over: HandOver::new(rows, observers),
        ..Plan::new(folder.clone())
    };
    let recorded = recorder::record(&watched.jvm.target, collectors(), &plan, stop, &mut Beats(watched.commands()))?;
    drop(plan);
    allocator::give_back();
    Ok(Captured { folder, end: recorded.end, observed_ns: recorded.observed_ns })
}

/// Collectors that would only say that they are not wanted are left out, so that the recording does not call that a loss.
fn without(capture: &Capture) -> Vec<String> {
    let mut without = capture.without.clone();
    for (wish, name) in [(capture.agent, "async_profiler"), (capture.jfr, "jfr")] {
        if wish == Choice::Never {
            without.push(name.to_owned());
        }
    }
    without
}

fn policy(capture: &Capture) -> Policy {
    let wish = |wish: Choice| match wish {
        Choice::Never => Use::Never,
        Choice::Auto => Use::Auto,
        Choice::Always => Use::Always,
    };
    Policy { jfr: wish(capture.jfr), agent: wish(capture.agent), keep_ring: false }
}

/// Keeps the rows of the time before in place of a recording. For how long after the trigger they go, in ns.
pub(crate) fn keep_ring(
    watched: &WatchedJvm,
    trigger: &Trigger,
    folder: &Path,
    because: &str,
) -> Result<i64, FolderError> {
    let (from_ns, now_ns) = (watched.kept_from_ns().unwrap_or(trigger.at_ns), watched.order().clock.now_ns());
    let mut rows = watched.copy_kept();
    note(trigger, watched, &mut rows);
    let target = &watched.jvm.target;
    kept::write(folder, (target.pid, target.start_ticks), (from_ns, now_ns), rows, because)?;
    Ok((now_ns - trigger.at_ns).max(0))
}

/// The recording says why it was made.
fn note(trigger: &Trigger, watched: &WatchedJvm, rows: &mut Recording) {
    let key = match trigger.which.as_str() {
        "" => trigger.kind.name().to_owned(),
        which => format!("{} {which}", trigger.kind.name()),
    };
    rows.add_fact(subject::RECORDING, recorded::TRIGGER, &key, "watch");
    rows.add_fact(subject::RECORDING, recorded::TRIGGER_SAYS, &trigger.says, "watch");
    rows.add_fact(subject::RECORDING, "trigger_ns", &trigger.at_ns.to_string(), "watch");
    for (name, why) in watched.refused() {
        let says = format!("before the trigger {name} was not watched: {why}");
        rows.add_loss("watch", fathom_evidence::kinds::loss::REFUSED, 0, &says);
    }
}

/// Time, program, pid and reason, of letters that no shell minds; names sort by time.
fn name(watched: &WatchedJvm, trigger: &Trigger) -> String {
    let time = Timestamp::from_nanosecond(i128::from(trigger.at_ns)).unwrap_or(Timestamp::UNIX_EPOCH);
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    let program: String = watched.jvm.short_name().chars().take(40).map(plain).collect();
    let pid = watched.jvm.target.pid;
    format!("{}-{program}-{pid}-{}.{EXTENSION}", time.strftime("%Y%m%dT%H%M%SZ"), trigger.kind.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_wanted_is_left_out() {
        let of = |jfr: Choice, agent: Choice| without(&Capture { jfr, agent, ..Capture::default() });
        assert_eq!(of(Choice::Never, Choice::Never), ["async_profiler", "jfr"]);
        assert_eq!(of(Choice::Auto, Choice::Never), ["async_profiler"]);
        assert!(of(Choice::Always, Choice::Auto).is_empty());
    }
}
