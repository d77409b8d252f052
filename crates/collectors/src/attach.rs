//! Talks to a running JVM through its attach socket, without a JDK.
//!
//! One [`Attach`] is one target: its listener is started at most once, and all collectors that need the JVM share it
//! (see [`Shared`]). Constraints:
//!
//! * **No harm.** Nothing is signalled unless it is certain that the signal only starts the listener.
//! * **No hanging.** Each command has a time limit. A JVM that is stopped at a safepoint answers when it continues, and
//!   by then the caller no longer waits for it.
//! * **No trust.** `/tmp` is open to everybody: the socket has to be a socket, of the target's user,
//!   with the target itself on its other side.
//! * **One at a time.** A JVM serves one command after the other; ours queue here, so that a waiting command does not
//!   lose its time.

mod folder;
mod listener;
pub(crate) mod properties;
mod protocol;
mod socket;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fathom_evidence::Recording;
use fathom_evidence::kinds::span;

pub(crate) use folder::PrivateFolder;
use protocol::{Reply, Version, fits_version_1};

use rustix::fs::Stat;

use crate::hostile_files::{stat, tmp_of};
use crate::{Clock, Refusal, Target};

/// How long the JVM may take to begin to listen, and to answer an ordinary command.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// How long it may take once it has left a command unanswered.
const WHEN_SILENT: Duration = Duration::from_secs(1);

/// Why a JVM cannot be talked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// The process is not there any more.
    #[error("process {0} has ended")]
    Ended(u32),
    /// Signalling it could end it.
    #[error("process {0} is not a JVM: it has no libjvm.so mapped")]
    NotAJvm(u32),
    /// Signalling it would end it, or print its stacks.
    #[error("process {0} does not catch SIGQUIT: it is still starting, or has its handlers replaced")]
    SignalNotCaught(u32),
    /// The JVM must not be attached to.
    #[error("process {0} runs with -XX:+DisableAttachMechanism")]
    Disabled(u32),
    /// Something in `/tmp` is not the JVM's.
    #[error("{0}")]
    Foreign(String),
    /// A step took too long.
    #[error("the JVM did not {0} in time: it may be stopped at a safepoint, or have no CPU")]
    TimedOut(&'static str),
    /// The JVM closed the connection without a word.
    #[error("the JVM hung up: it serves only its own user and root")]
    HungUp,
    /// A request that cannot be sent.
    #[error("the request has {0}")]
    Request(&'static str),
    /// An answer that cannot be understood.
    #[error("the JVM gave {0}")]
    Answer(&'static str),
    /// The JVM answered that it will not.
    #[error("{command}: {says}")]
    Failed {
        /// The command.
        command: String,
        /// The JVM's answer, one line of it.
        says: String,
    },
    /// The system refused.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The system's answer.
        source: io::Error,
    },
}

impl AttachError {
    fn io(what: &'static str, source: io::Error) -> AttachError {
        AttachError::Io { what, source }
    }

    /// What a person can do about it.
    fn grant(&self) -> &'static str {
        match self {
            AttachError::Disabled(_) => "start the JVM without -XX:+DisableAttachMechanism",
            AttachError::SignalNotCaught(_) => "wait until the JVM has started; start it without -Xrs",
            AttachError::HungUp => "run as the JVM's user, or as root",
            AttachError::Foreign(_) => "remove it from the process's /tmp",
            AttachError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "run as the JVM's user, or as root"
            }
            _ => "",
        }
    }
}

impl AttachError {
    /// Whether the JVM has no such diagnostic command: an older one has fewer.
    pub(crate) fn is_unknown_command(&self) -> bool {
        matches!(self, AttachError::Failed { says, .. } if says.contains("Unknown diagnostic command"))
    }

    /// Whether the JVM may answer later: it was stopped, without CPU, or starting.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, AttachError::TimedOut(_) | AttachError::SignalNotCaught(_))
    }
}

impl From<AttachError> for Refusal {
    fn from(error: AttachError) -> Refusal {
        let refusal = Refusal::new(error.to_string(), error.grant());
        if error.may_pass() { refusal.that_may_pass() } else { refusal }
    }
}

/// A JVM that listens.
#[derive(Debug, Clone)]
pub struct Attach {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    target: Target,
    tmp: OwnedFd,
    version: Version,
    turn: Mutex<()>,
    /// Whether the last command got no answer.
    is_silent: AtomicBool,
}

impl Attach {
    /// Makes the JVM listen unless it does already, and asks which protocol it speaks.
    pub fn to(target: &Target, patience: Duration) -> Result<Attach, AttachError> {
        let until = Instant::now() + patience;
        let tmp = tmp_of(target).map_err(|error| of_root(target, error))?;
        // A connection that says nothing would keep the JVM from serving others: it is used at once.
        let stream = connected(target, &tmp, until)?;
        let question = Version::One.encode("getversion", &["options"])?;
        let version = Version::of_reply(&socket::ask(stream, &question, until)?);
        Ok(Attach {
            inner: Arc::new(Inner {
                target: target.clone(),
                tmp,
                version,
                turn: Mutex::new(()),
                is_silent: AtomicBool::new(false),
            }),
        })
    }

    /// Whether [`Attach::to`] could work now. Leaves no trace in the target.
    pub fn check(target: &Target) -> Result<(), AttachError> {
        let tmp = tmp_of(target).map_err(|error| of_root(target, error))?;
        // An existing socket is not tried: connecting would occupy the JVM's only listener.
        let is_listening = stat(target, &tmp, &format!(".java_pid{}", target.inner_pid));
        let is_listening = is_listening.ok().flatten().is_some_and(|socket| is_younger(target, &socket));
        if is_listening { Ok(()) } else { listener::could_start(target) }
    }

    /// The process.
    pub(crate) fn target(&self) -> &Target {
        &self.inner.target
    }

    /// A diagnostic command, as `jcmd` takes it.
    pub fn diagnose(&self, command: &str, patience: Duration) -> Result<String, AttachError> {
        self.command("jcmd", &[command], patience)
    }

    /// The system properties, in the text format of Java. Secrets are not masked yet.
    pub(crate) fn properties(&self) -> Result<String, AttachError> {
        self.command("properties", &[], PATIENCE)
    }

    /// Any command of the protocol; its output.
    pub fn command(&self, command: &str, arguments: &[&str], patience: Duration) -> Result<String, AttachError> {
        let Inner { target, tmp, version, turn, is_silent } = &*self.inner;
        let version = if fits_version_1(arguments) { Version::One } else { *version };
        let request = version.encode(command, arguments)?;
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        // Who waited for one answer in vain does not wait as long for the next: the end of a recording must come.
        let patience = if is_silent.load(Ordering::Relaxed) { patience.min(WHEN_SILENT) } else { patience };
        let until = Instant::now() + patience;
        let reply = connected(target, tmp, until).and_then(|stream| socket::ask(stream, &request, until));
        is_silent.store(matches!(reply, Err(AttachError::TimedOut(_))), Ordering::Relaxed);
        let reply = reply?;
        match reply.status {
            0 => Ok(reply.text),
            _ => Err(AttachError::Failed { command: described(command, arguments), says: first_line(&reply) }),
        }
    }
}

/// Whether a file was made since the process began. In a container, where every JVM has the number 1, `/tmp` may still hold the
/// socket of the one before.
fn is_younger(target: &Target, file: &Stat) -> bool {
    const SLACK_NS: i128 = 1_000_000_000;
    let made_ns = i128::from(file.st_mtime) * 1_000_000_000 + i128::from(file.st_mtime_nsec);
    let began_ns = i128::from(Clock::read().now_ns()) - i128::from(target.age_ns());
    made_ns + SLACK_NS >= began_ns
}

/// A connection. A cleanup may have emptied `/tmp`: the JVM makes another socket when it is asked.
fn connected(target: &Target, tmp: &OwnedFd, until: Instant) -> Result<UnixStream, AttachError> {
    if !target.is_alive() {
        return Err(AttachError::Ended(target.pid));
    }
    let stream = match socket::open(target, tmp, until)? {
        Some(stream) => stream,
        None => listener::start(target, tmp, until)?,
    };
    listener::has_begun(target, tmp);
    Ok(stream)
}

/// The process's own root can be entered by its user and by root only.
fn of_root(target: &Target, error: io::Error) -> AttachError {
    match target.is_alive() {
        true => AttachError::io("enter the process's /tmp", error),
        false => AttachError::Ended(target.pid),
    }
}

fn described(command: &str, arguments: &[&str]) -> String {
    match (command, arguments) {
        ("jcmd", [line, ..]) => line.split_whitespace().next().unwrap_or(command).to_owned(),
        _ => command.to_owned(),
    }
}

/// What a person needs of an answer that may hold a stack trace.
fn first_line(reply: &Reply) -> String {
    let line = reply.text.lines().map(str::trim).find(|line| !line.is_empty());
    line.map_or_else(|| format!("status {}", reply.status), |line| line.chars().take(300).collect())
}

/// How long a JVM that did not begin to listen is left alone: callers in this time get the same answer.
const REST: Duration = Duration::from_millis(2_500);

/// The longest that making the JVM listen is felt; when it takes longer, the JVM is busy with something else.
const ATTACH_FELT_NS: i64 = 100_000_000;

/// One [`Attach`] for all who need one: the first makes it, the others get the same.
#[derive(Debug, Clone, Default)]
pub struct Shared {
    made: Arc<Mutex<Made>>,
}

#[derive(Debug, Default)]
struct Made {
    attach: Option<Attach>,
    /// Until when there are no more tries, and what the last try waited for.
    rests: Option<(Instant, &'static str)>,
}

impl Shared {
    /// The session with `target`. That it was begun is a span: it is something done to the process. A JVM that does
    /// not answer feels nothing of the question, and whatever it is at is its own.
    pub fn of(&self, target: &Target, clock: &Clock, found: &mut Recording) -> Result<Attach, AttachError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(attach) = made.attach.as_ref().filter(|attach| attach.target() == target) {
            return Ok(attach.clone());
        }
        let patience = match made.rests {
            Some((until, what)) if Instant::now() < until => return Err(AttachError::TimedOut(what)),
            Some(_) => WHEN_SILENT,
            None => PATIENCE,
        };
        let from_ns = clock.now_ns();
        match Attach::to(target, patience) {
            Ok(attach) => {
                let to_ns = clock.now_ns();
                let felt_ns = (to_ns - from_ns).min(ATTACH_FELT_NS);
                found.add_span(to_ns - felt_ns, felt_ns, 0, span::OWN_ACTION, "attach", "", "fathom");
                *made = Made { attach: Some(attach.clone()), rests: None };
                Ok(attach)
            }
            Err(error) => {
                if let AttachError::TimedOut(what) = error {
                    made.rests = Some((Instant::now() + REST, what));
                }
                Err(error)
            }
        }
    }
}

/// Does something to the process and leaves a span of it, so that its effect is not taken for the service's own.
pub(crate) fn own_action<T, E>(
    clock: &Clock,
    found: &mut Recording,
    name: &str,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let from_ns = clock.now_ns();
    let result = work();
    let took_ns = clock.now_ns() - from_ns;
    // A JVM that leaves it unanswered is busy with something else, which must not be taken for ours.
    let felt_ns = if result.is_ok() { took_ns } else { took_ns.min(ATTACH_FELT_NS) };
    found.add_span(from_ns, felt_ns, 0, span::OWN_ACTION, name, "", "fathom");
    result
}
