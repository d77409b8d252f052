//! One connection to a JVM's attach socket, and one request over it.
//!
//! Every step has a time limit: connecting, sending, and each piece of the answer. A JVM that is stopped at a safepoint
//! accepts nothing and answers nothing; a hostile one answers for ever.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::AttachError;
use super::protocol::Reply;
use crate::Target;
use crate::hostile_files::{acting_as, belongs_to, pin};

/// Longest answer that is read: flags and properties of a JVM have some 200 KB, a class path may have as much again.
const ANSWER_MAX_BYTES: usize = 4 << 20;
/// Its lines, each of which becomes a row: a JVM has some 1,500 flags, and properties by the hundred.
const ANSWER_MAX_LINES: usize = 20_000;

/// An open connection; `None` if no process listens.
pub(super) fn open(target: &Target, tmp: &OwnedFd, until: Instant) -> Result<Option<UnixStream>, AttachError> {
    let name = format!(".java_pid{}", target.inner_pid);
    let file = match pin(target, tmp, &name) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(AttachError::io("open the attach socket", error)),
    };
    let is = fstat(&file).map_err(|error| AttachError::io("look at the attach socket", error.into()))?;
    if FileType::from_raw_mode(is.st_mode) != FileType::Socket {
        return Err(AttachError::Foreign(format!("/tmp/{name} is not a socket")));
    }
    belongs_to(target, &is, &name).map_err(|error| AttachError::Foreign(format!("/tmp/{error}")))?;
    match connect_to(target, &file, until) {
        Err(AttachError::Io { source, .. })
            if is.st_uid != target.uid && source.kind() == io::ErrorKind::PermissionDenied =>
        {
            Err(AttachError::Foreign(format!(
                "/tmp/{name} was left by another user's process that had the same number"
            )))
        }
        connected => connected,
    }
}

/// Connects to the very file that was looked at, whatever its name means by now.
fn connect_to(target: &Target, file: &OwnedFd, until: Instant) -> Result<Option<UnixStream>, AttachError> {
    let failed = |error: Errno| AttachError::io("connect to the attach socket", error.into());
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).map_err(failed)?;
    set_socket_timeout(&socket, Timeout::Send, Some(left(until)?)).map_err(failed)?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let address = SocketAddrUnix::new(path).map_err(failed)?;
    let connected = acting_as(target, |_| connect(&socket, &address));
    match connected.map_err(|error| AttachError::io("act as the process's user", error))? {
        Ok(()) => {}
        // Left behind by a process that had the same number.
        Err(Errno::CONNREFUSED) => return Ok(None),
        Err(Errno::AGAIN) => return Err(AttachError::TimedOut("accept a connection")),
        Err(error) => return Err(failed(error)),
    }
    match listener_pid(&socket) {
        Ok(pid) if pid == target.pid as i32 => Ok(Some(UnixStream::from(socket))),
        Ok(pid) => Err(AttachError::Foreign(format!("process {pid} listens on the attach socket"))),
        Err(error) => Err(AttachError::io("ask who listens", error)),
    }
}

/// The process that listens on the other side, as the kernel knows it; 0 when it cannot be seen from here.
fn listener_pid(socket: impl AsFd) -> io::Result<i32> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut size = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes to `peer`, which is as large, and is plain numbers.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut size,
        )
    };
    if result == 0 { Ok(peer.pid) } else { Err(io::Error::last_os_error()) }
}

/// Sends a request and reads the whole answer.
pub(super) fn ask(mut stream: UnixStream, request: &[u8], until: Instant) -> Result<Reply, AttachError> {
    stream.set_write_timeout(Some(left(until)?)).map_err(|error| AttachError::io("send a request", error))?;
    stream.write_all(request).map_err(|error| of_step("take a request", error))?;
    let (mut answer, mut lines) = (Vec::new(), 0);
    let mut piece = [0_u8; 16 << 10];
    loop {
        stream.set_read_timeout(Some(left(until)?)).map_err(|error| AttachError::io("read an answer", error))?;
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => {
                lines += piece[..count].iter().filter(|byte| **byte == b'\n').count();
                answer.extend_from_slice(&piece[..count]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(of_step("answer", error)),
        }
        if answer.len() > ANSWER_MAX_BYTES || lines > ANSWER_MAX_LINES {
            return Err(AttachError::Answer("an answer of more than 4 MB or 20,000 lines"));
        }
    }
    match answer.is_empty() {
        // The JVM hangs up on clients whose user it does not serve.
        true => Err(AttachError::HungUp),
        false => Reply::parse(&answer).ok_or(AttachError::Answer("an answer that does not begin with a status")),
    }
}

/// What is left of the time; an error when nothing is.
fn left(until: Instant) -> Result<Duration, AttachError> {
    let left = until.saturating_duration_since(Instant::now());
    // A time-out of nothing means to wait for ever.
    if left < Duration::from_millis(1) { Err(AttachError::TimedOut("answer")) } else { Ok(left) }
}

fn of_step(step: &'static str, error: io::Error) -> AttachError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => AttachError::TimedOut(step),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => AttachError::HungUp,
        _ => AttachError::io("talk over the attach socket", error),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn an_answer_has_a_bound_in_bytes_and_lines() {
        for (piece, times, is_read) in [
            ("bool X = true {product} {default}\n", 19_000, true),
            ("a=b\n", 25_000, false),
            ("7777777\0", 1 << 20, false),
        ] {
            let (own, mut other) = UnixStream::pair().unwrap();
            let answers = thread::spawn(move || {
                let _ = other.read(&mut [0; 64]);
                // Who asked hangs up when it has enough.
                let _ = other.write_all(b"0\n").and_then(|()| other.write_all(piece.repeat(times).as_bytes()));
            });
            let reply = ask(own, b"1\0properties\0\0\0\0", Instant::now() + Duration::from_secs(60));
            assert_eq!(reply.is_ok(), is_read, "{piece:?}");
            answers.join().unwrap();
        }
    }
}
