//! Shows long steps on standard error, if it is a terminal.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use fathom_report::clean;
use indicatif::{ProgressBar, ProgressDrawTarget};

/// What takes less long is done before anybody wonders.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(120);

/// A line that appears when something takes longer than a second; it goes away when dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Dropping it ends the wait of the thread that would show the bar.
    _done: Sender<()>,
}

impl Progress {
    pub(crate) fn start() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let (done, waiting) = mpsc::channel::<()>();
        if io::stderr().is_terminal() {
            let shown = bar.clone();
            thread::spawn(move || {
                if waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) && !shown.is_finished() {
                    shown.set_draw_target(ProgressDrawTarget::stderr());
                    shown.enable_steady_tick(TICK);
                }
            });
        }
        Progress { bar, _done: done }
    }

    /// Says what is being done now.
    pub(crate) fn says(&self, what: &str) {
        self.bar.set_message(clean::line(what));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
