//! A child process that does not outlive its run: it leads its own process group, and the group is ended in every case
//! when the run ends.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ};
use signal_hook::flag;

/// How long a program may take to end after a request to end: the JVM writes its recording meanwhile.
const GRACE: Duration = Duration::from_secs(5);
/// How often the flag is checked while the program prints nothing.
const POLL: Duration = Duration::from_millis(100);

/// Signals that would end this program but allow an orderly end, which keeps what was recorded. SIGQUIT ends it without
/// that.
const ENDING: [i32; 8] = [SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU, SIGXFSZ];

/// A flag that is set when the user or the system asks this program to stop. A second such signal ends it at once.
///
/// # Errors
/// When a handler cannot be installed.
pub fn stop_on_signals() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in ENDING {
        flag::register_conditional_shutdown(signal, 1, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// How a run ended.
pub(crate) enum End {
    /// By itself.
    Exit(ExitStatus),
    /// The flag was set, and the program was ended.
    Stopped,
    /// It took too long, and the program was ended.
    Overdue,
}

/// A process that leads its own process group. The group is ended when this is dropped.
pub(crate) struct Kept(Child);

impl Kept {
    /// Keeps a process that was started as the leader of its group.
    pub(crate) fn new(child: Child) -> Self {
        Self(child)
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.0.try_wait()
    }

    /// The group may have ended already; then there is nothing to do.
    fn signal(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.0.wait();
    }
}

/// A running program whose lines can be read while it runs.
pub(crate) struct Program {
    kept: Kept,
    lines: Receiver<String>,
    /// The program may wait until this is closed.
    input: Option<ChildStdin>,
}

impl Program {
    pub(crate) fn start(mut command: Command) -> io::Result<Self> {
        let mut child = command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take().expect("it was piped");
        let input = child.stdin.take();
        Ok(Self { kept: Kept::new(child), lines: lines_of(stdout), input })
    }

    /// The program's standard input; it ends when this is dropped.
    pub(crate) fn take_input(&mut self) -> Option<ChildStdin> {
        self.input.take()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.kept.0.id()
    }

    /// Hands over each line of standard output until the program ends, is overdue, or `stop` is set.
    pub(crate) fn run(
        mut self,
        limit: Duration,
        stop: &AtomicBool,
        mut each_line: impl FnMut(&str) -> io::Result<()>,
    ) -> io::Result<End> {
        let deadline = Instant::now() + limit;
        loop {
            match self.lines.recv_timeout(POLL) {
                Ok(line) => each_line(&line)?,
                Err(RecvTimeoutError::Disconnected) => return self.kept.0.wait().map(End::Exit),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if stop.load(Ordering::Relaxed) {
                self.ask_to_end();
                return Ok(End::Stopped);
            }
            if Instant::now() > deadline {
                return Ok(End::Overdue);
            }
        }
    }

    fn ask_to_end(&mut self) {
        self.kept.signal(Signal::TERM);
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline && !matches!(self.kept.ended(), Ok(Some(_))) {
            thread::sleep(POLL);
        }
    }
}

/// Lines come through a channel, so that waiting for one can be given up.
fn lines_of(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn endings() {
        for (script, stop, limit, expected) in [
            ("echo one; echo two; exit 3", false, Duration::from_secs(60), "exit 3 after 2 lines"),
            ("echo one; sleep 60", true, Duration::from_secs(60), "stopped after 1 lines"),
            ("trap '' TERM; echo one; sleep 60 & wait", false, Duration::ZERO, "overdue"),
        ] {
            let program = Program::start(shell(script)).expect("the shell starts");
            let stop_flag = AtomicBool::new(false);
            let mut lines = 0;
            let end = program.run(limit, &stop_flag, |_| {
                lines += 1;
                stop_flag.store(stop, Ordering::Relaxed);
                Ok(())
            });
            let answer = match end.expect("the shell can be waited for") {
                End::Exit(status) => format!("exit {} after {lines} lines", status.code().unwrap_or(-1)),
                End::Stopped => format!("stopped after {lines} lines"),
                End::Overdue => "overdue".to_owned(),
            };
            assert_eq!(answer, expected, "{script}");
        }
    }

    #[test]
    fn grandchildren_end_with_the_run() {
        let program = Program::start(shell("sleep 60 & echo $!; wait")).expect("the shell starts");
        let stop = AtomicBool::new(false);
        let mut grandchild = 0;
        let end = program.run(Duration::from_secs(60), &stop, |line| {
            grandchild = line.parse().expect("the shell prints the process id");
            stop.store(true, Ordering::Relaxed);
            Ok(())
        });
        assert!(matches!(end, Ok(End::Stopped)));
        // The kernel may end it with a delay, and then it may remain a zombie until its new parent reaps it.
        let runs = || {
            let state = std::fs::read_to_string(format!("/proc/{grandchild}/stat"));
            state.is_ok_and(|stat| !stat.contains(") Z "))
        };
        let patience = Instant::now() + Duration::from_secs(30);
        while runs() && Instant::now() < patience {
            std::thread::yield_now();
        }
        assert!(!runs(), "{grandchild} still runs");
    }
}
