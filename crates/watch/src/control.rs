//! A Unix socket in the service's folder, on which `fathom trigger` asks for a recording. Who may open the folder may ask.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// A client that sends no request or does not read the answer is given up after this time.
const PATIENCE: Duration = Duration::from_secs(5);

/// A request is one short line.
const REQUEST_MAX_BYTES: u64 = 256;

/// A request to record this JVM, or all; the answer goes to `answer`.
#[derive(Debug)]
pub struct Request {
    /// The JVM; all without one.
    pub pid: Option<u32>,
    /// How many JVMs it concerns.
    pub answer: Sender<usize>,
}

fn place(folder: &Path) -> PathBuf {
    folder.join("control")
}

/// Where requests are taken.
pub fn listen(folder: &Path) -> std::io::Result<UnixListener> {
    let path = place(folder);
    // That of a service that was killed; there is one service for each folder.
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => UnixListener::bind(path),
    }
}

/// Answers one after the other.
pub fn serve(listener: &UnixListener, requests: &Sender<Request>) {
    for stream in listener.incoming().flatten() {
        // Who goes away gets nothing.
        let _ = answer(&stream, requests);
    }
}

fn answer(mut stream: &UnixStream, requests: &Sender<Request>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(stream.take(REQUEST_MAX_BYTES)).read_line(&mut line)?;
    let Some(pid) = wanted(&line) else { return writeln!(stream, "error: it takes `trigger` or `trigger PID`") };
    let (answer, answered) = channel();
    // Where the service has ended the answer's sender goes as well, and that is the answer.
    let _ = requests.send(Request { pid, answer });
    match answered.recv_timeout(PATIENCE) {
        Ok(0) => writeln!(stream, "error: no such JVM is watched"),
        Ok(count) => writeln!(stream, "ok {count}"),
        Err(_) => writeln!(stream, "error: the service does not answer"),
    }
}

/// The JVM of a request, or all.
fn wanted(line: &str) -> Option<Option<u32>> {
    match line.trim().strip_prefix("trigger")?.trim() {
        "" => Some(None),
        pid => pid.parse().ok().map(Some),
    }
}

/// Whether a service is at work in this folder.
pub(crate) fn answers(folder: &Path) -> bool {
    UnixStream::connect(place(folder)).is_ok()
}

/// Takes the socket away: the service ends.
pub(crate) fn end(folder: &Path) {
    // The folder may have been cleared.
    let _ = std::fs::remove_file(place(folder));
}

/// Asks the service of a folder for a recording. How many JVMs it will record, as far as budgets allow.
pub fn ask(folder: &Path, pid: Option<u32>) -> Result<usize, String> {
    let path = place(folder);
    let reported =
        |error: std::io::Error| format!("{}: {error}: does `fathom watch` run with this folder?", path.display());
    let mut stream = UnixStream::connect(&path).map_err(reported)?;
    stream.set_read_timeout(Some(2 * PATIENCE)).map_err(reported)?;
    writeln!(stream, "trigger {}", pid.map_or_else(String::new, |pid| pid.to_string())).map_err(reported)?;
    let mut line = String::new();
    BufReader::new(stream.take(REQUEST_MAX_BYTES)).read_line(&mut line).map_err(reported)?;
    match line.trim().strip_prefix("ok ").and_then(|count| count.parse().ok()) {
        Some(count) => Ok(count),
        None => Err(line.trim().trim_start_matches("error: ").to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    #[test]
    fn a_recording_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        assert!(ask(folder.path(), None).unwrap_err().contains("fathom watch"));
        let listener = listen(folder.path()).unwrap();
        let (sender, requests) = channel::<Request>();
        thread::spawn(move || serve(&listener, &sender));
        thread::spawn(move || {
            for request in requests {
                let count = if request.pid == Some(7) { 0 } else { 2 };
                request.answer.send(count).unwrap();
            }
        });
        assert_eq!(ask(folder.path(), None), Ok(2));
        assert_eq!(ask(folder.path(), Some(8)), Ok(2));
        assert_eq!(ask(folder.path(), Some(7)), Err("no such JVM is watched".to_owned()));
        let mut stream = UnixStream::connect(place(folder.path())).unwrap();
        stream.write_all(b"make coffee\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("error: it takes"), "{answer}");
    }
}
