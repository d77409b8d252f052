//! The load engine: a separate program, which sends the requests that are due and reports what became of them.

use std::collections::HashMap;
use std::env;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::schedule::Due;

/// The name of the program.
const PROGRAM: &str = "fathom-load-engine";

/// Where it is, if that is somewhere else.
const VARIABLE: &str = "FATHOM_LOAD_ENGINE";

/// What the engine is started with.
pub(super) struct Setting<'a> {
    /// The beginning of every URL.
    pub(super) to: &'a str,
    pub(super) headers: HashMap<&'a str, Vec<&'a str>>,
    pub(super) timeout: Duration,
    pub(super) workers: u32,
    /// Whether its threads are to come before those of other programs.
    pub(super) real_time: bool,
    /// Where it writes its histograms.
    pub(super) histograms: &'a Path,
}

/// A request as the engine reads it.
#[derive(Serialize)]
struct Line<'a> {
    due_ns: i64,
    method: &'a str,
    url: String,
    header: &'a HashMap<&'a str, Vec<&'a str>>,
}

/// What became of a request. Times are ns since the run began.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Sent {
    pub(super) due_ns: i64,
    pub(super) sent_ns: i64,
    pub(super) ended_ns: i64,
    /// 0 without an answer.
    pub(super) status: u16,
    pub(super) bytes: u64,
    #[serde(default)]
    pub(super) error: String,
}

/// What the engine says of itself.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Engine {
    pub(super) began_ns: i64,
    pub(super) elapsed_ns: i64,
    pub(super) cpus: u32,
    /// Most requests that were under way at once, and how many may be.
    pub(super) under_way: u32,
    pub(super) workers: u32,
    /// Whether its threads came before those of other programs.
    #[serde(default)]
    pub(super) real_time: bool,
    /// None on kernels that do not keep it.
    pub(super) schedule: Option<Schedule>,
}

/// What its threads had of the CPUs.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Schedule {
    pub(super) run_ns: i64,
    pub(super) run_queue_ns: i64,
}

/// Named by the environment, beside this program, or on the PATH.
pub(super) fn find() -> Result<PathBuf> {
    if let Some(named) = env::var_os(VARIABLE).map(PathBuf::from) {
        return match named.is_file() {
            true => Ok(named),
            false => bail!("{VARIABLE} names {}, which is no file", named.display()),
        };
    }
    let beside = env::current_exe().ok().and_then(|own| own.parent().map(Path::to_owned));
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = beside.into_iter().chain(env::split_paths(&path));
    folders.map(|folder| folder.join(PROGRAM)).find(|program| program.is_file()).with_context(|| {
        format!(
            "{PROGRAM} is neither beside fathom nor on the PATH: build it with `make load` (needs Go), or name it with {VARIABLE}"
        )
    })
}

/// Sends what is due, and waits until the last request has ended.
pub(super) fn run(
    program: &Path,
    setting: &Setting,
    requests: &[(String, f64)],
    due: &[Due],
) -> Result<(Vec<Sent>, Engine)> {
    let name = || program.display().to_string();
    let mut child = start(program, setting).with_context(name)?;
    let input = child.stdin.take().context("its input is closed").with_context(name)?;
    let (written, output) = thread::scope(|scope| {
        let writer = scope.spawn(move || write(input, setting, requests, due));
        let output = child.wait_with_output();
        (writer.join(), output)
    });
    let output = output.with_context(name)?;
    succeeded(&output).with_context(name)?;
    match written {
        Ok(written) => written.with_context(name)?,
        Err(_) => bail!("{}: the schedule could not be written", name()),
    }
    read(&output.stdout, due.len()).with_context(name)
}

fn start(program: &Path, setting: &Setting) -> io::Result<Child> {
    let mut command = Command::new(program);
    command.arg(format!("-timeout={}ms", setting.timeout.as_millis()));
    command.arg(format!("-workers={}", setting.workers));
    command.arg(format!("-real-time={}", setting.real_time));
    command.arg("-histograms").arg(setting.histograms);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

fn write(input: impl Write, setting: &Setting, requests: &[(String, f64)], due: &[Due]) -> io::Result<()> {
    let mut input = BufWriter::new(input);
    for Due { due_ns, request } in due {
        let (method, target) = requests[*request as usize].0.split_once(' ').unwrap_or_default();
        let url = format!("{}{target}", setting.to);
        serde_json::to_writer(&mut input, &Line { due_ns: *due_ns, method, url, header: &setting.headers })?;
        input.write_all(b"\n")?;
    }
    input.flush()
}

fn succeeded(output: &Output) -> Result<()> {
    match output.status.success() {
        true => Ok(()),
        false => bail!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim_end()),
    }
}

fn read(output: &[u8], expected: usize) -> Result<(Vec<Sent>, Engine)> {
    let mut lines: Vec<&[u8]> = output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let last = lines.pop().unwrap_or_default();
    if lines.len() != expected {
        bail!("it sent {} of {expected} requests", lines.len());
    }
    let engine = serde_json::from_slice(last)?;
    let sent = lines.into_iter().map(serde_json::from_slice).collect::<Result<_, _>>()?;
    Ok((sent, engine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_in_and_results_out() {
        let setting = Setting {
            to: "http://h:1",
            headers: HashMap::from([("x", vec!["y"])]),
            timeout: Duration::from_secs(1),
            workers: 1,
            real_time: true,
            histograms: Path::new("x"),
        };
        let mut written = Vec::new();
        write(&mut written, &setting, &[("HEAD /a?b".to_owned(), 1.0)], &[Due { due_ns: 5, request: 0 }]).unwrap();
        let expected = r#"{"due_ns":5,"method":"HEAD","url":"http://h:1/a?b","header":{"x":["y"]}}"#;
        assert_eq!(String::from_utf8(written).unwrap().trim_end(), expected);

        let one = r#"{"due_ns":5,"sent_ns":6,"ended_ns":9,"status":200,"bytes":3}"#;
        let engine =
            r#"{"began_ns":1,"elapsed_ns":9,"cpus":2,"under_way":1,"workers":1,"real_time":true,"schedule":null}"#;
        let (sent, found) = read(format!("{one}\n{engine}\n").as_bytes(), 1).unwrap();
        assert_eq!((sent[0].sent_ns, sent[0].status, sent[0].error.as_str()), (6, 200, ""));
        assert!(found.cpus == 2 && found.schedule.is_none());
        assert!(read(engine.as_bytes(), 1).unwrap_err().to_string().contains("0 of 1 requests"));
        assert!(read(b"", 0).is_err());
    }
}
