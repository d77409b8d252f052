//! `fathom record --all`: a recorder of its own for each JVM.
//!
//! Each recorder is a process: if one is refused, fails or is killed, the others continue, and each talks to its JVM
//! under that JVM's user. They are asked to end when this process is, and end by themselves when it is killed.

use std::path::Path;
use std::process::{Child, Command, ExitCode, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fathom_collectors::jvms::Jvm;
use fathom_report::{clean, json};
use rustix::process::{Pid, Signal, getppid, kill_process, set_parent_process_death_signal};
use serde::Serialize;

use super::Answer;
use super::record_args::Args;
use crate::progress::Progress;

/// How often it is looked whether the recorders have ended, or are to.
const LOOK: Duration = Duration::from_millis(50);

/// Version of the JSON.
const SCHEMA: u32 = 1;

/// Ends this process in good order (as Ctrl-C does) when the process `parent` ends.
pub(super) fn end_with(parent: u32) -> Result<()> {
    set_parent_process_death_signal(Some(Signal::INT)).context("cannot ask to be told of the parent's end")?;
    let is_there = getppid().is_some_and(|pid| pid.as_raw_nonzero().get() as u32 == parent);
    if is_there { Ok(()) } else { bail!("the process {parent} that wanted this recording has ended") }
}

pub(super) fn run(args: &Args) -> Result<Answer> {
    let jvms = args.choice.all()?;
    let folder = args.output.as_deref();
    if let Some(folder) = folder {
        crate::system::owner::make_folders(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    let stop = fathom_labs::stop_on_signals().context("cannot listen for Ctrl-C")?;
    let progress = Progress::start();
    let recorders = jvms.iter().map(|jvm| Recorder::start(jvm, args, folder)).collect::<Result<Vec<_>>>()?;
    progress.says(&format!("recording {} JVMs; Ctrl-C ends it", recorders.len()));
    let ended = wait(recorders, &stop)?;
    drop(progress);
    answer(&ended, args.json)
}

/// The recorder of one JVM.
struct Recorder {
    pid: u32,
    process: Child,
}

impl Recorder {
    fn start(jvm: &Jvm, args: &Args, folder: Option<&Path>) -> Result<Recorder> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let pid = jvm.target.pid;
        let mut command = Command::new(program);
        command.arg("record").arg(format!("--pid={pid}")).arg(format!("--parent={}", std::process::id()));
        command.args(args.wishes()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Names are made from the program and its pid in the folder that recordings go to.
        command.current_dir(folder.unwrap_or(Path::new(".")));
        // A Ctrl-C of the terminal goes to this process only, which passes it on once: two would cut recordings short.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let process = command.spawn().context("cannot start a recorder")?;
        Ok(Recorder { pid, process })
    }

    fn interrupt(&self) {
        if let Some(pid) = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw) {
            // One that has ended already needs no signal.
            let _ = kill_process(pid, Signal::INT);
        }
    }
}

/// A recorder that has ended.
struct Ended {
    pid: u32,
    output: Output,
}

/// Waits for all of them, and passes a wish to stop on to them.
fn wait(mut recorders: Vec<Recorder>, stop: &AtomicBool) -> Result<Vec<Ended>> {
    let mut is_passed_on = false;
    while recorders.iter_mut().any(|recorder| matches!(recorder.process.try_wait(), Ok(None))) {
        if stop.load(Ordering::Relaxed) && !std::mem::replace(&mut is_passed_on, true) {
            recorders.iter().for_each(Recorder::interrupt);
        }
        thread::sleep(LOOK);
    }
    let ended = recorders.into_iter().map(|recorder| {
        let output = recorder.process.wait_with_output().context("cannot read what a recorder says")?;
        Ok(Ended { pid: recorder.pid, output })
    });
    ended.collect()
}

/// What each recorder said, as it said it.
#[derive(Serialize)]
struct All {
    schema: u32,
    recordings: Vec<serde_json::Value>,
    failed: Vec<Failed>,
}

/// A JVM that could not be recorded.
#[derive(Serialize)]
struct Failed {
    pid: u32,
    says: String,
}

fn answer(ended: &[Ended], is_json: bool) -> Result<Answer> {
    let (done, not_done): (Vec<&Ended>, Vec<&Ended>) = ended.iter().partition(|one| one.output.status.success());
    let failed: Vec<Failed> = not_done.iter().map(|one| Failed { pid: one.pid, says: complaint(one) }).collect();
    let code = if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    let text = match is_json {
        true => {
            let recordings = done.iter().map(|one| serde_json::from_slice(&one.output.stdout));
            let recordings = recordings.collect::<Result<_, _>>().context("a recorder's answer is no JSON")?;
            json::pretty(&All { schema: SCHEMA, recordings, failed })
        }
        false => {
            let mut texts: Vec<String> =
                done.iter().map(|one| String::from_utf8_lossy(&one.output.stdout).into_owned()).collect();
            texts.extend(failed.iter().map(|one| format!("process {} was not recorded: {}\n", one.pid, one.says)));
            texts.join("\n")
        }
    };
    Ok(Answer { text, code })
}

/// The last line of what a recorder complained about.
fn complaint(ended: &Ended) -> String {
    let words = String::from_utf8_lossy(&ended.output.stderr);
    let last = words.lines().rev().find(|line| !line.trim().is_empty());
    clean::line(last.map_or("it gave no reason", |line| line.trim_start_matches("fathom: ")))
}
