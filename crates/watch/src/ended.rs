//! How a JVM ended, in words, and whether that must be reported. A JVM that vanishes without being asked to end loses
//! the requests that it was working on.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fathom_collectors::Refusal;
use fathom_collectors::endings::{By, Ending, Endings};
use fathom_collectors::jvms::Jvm;

use crate::triggers::{Kind, Trigger};

/// Signals by which a program crashes, and the one that ends it without a word.
const ABORT: i32 = 6;
const KILL: i32 = 9;
const NAMES: [(i32, &str); 9] = [
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (4, "SIGILL"),
    (ABORT, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (KILL, "SIGKILL"),
    (11, "SIGSEGV"),
    (15, "SIGTERM"),
];

/// Listens to the ends of all JVMs that are watched, where the kernel allows that.
#[derive(Debug, Default)]
pub(crate) struct Listener(Option<Mutex<Endings>>);

impl Listener {
    /// At work, and what of it the kernel refuses.
    pub(crate) fn start() -> (Listener, Vec<Refusal>) {
        match Endings::start() {
            Ok(endings) => {
                let unseen = endings.unseen();
                (Listener(Some(Mutex::new(endings))), unseen)
            }
            Err(refusal) => (Listener(None), vec![refusal]),
        }
    }

    fn endings(&self) -> Option<MutexGuard<'_, Endings>> {
        self.0.as_ref().map(|endings| endings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn watch(&self, pid: u32) -> Result<(), Refusal> {
        self.endings().map_or(Ok(()), |mut endings| endings.watch(pid))
    }

    /// How a process ended; `None` where no program listens.
    pub(crate) fn of(&self, pid: u32) -> Option<Ending> {
        self.endings().map(|mut endings| endings.of(pid))
    }

    pub(crate) fn forget(&self, pid: u32) {
        if let Some(mut endings) = self.endings() {
            endings.forget(pid);
        }
    }
}

/// What has to be known while the JVM lives.
#[derive(Debug, Clone, Default)]
pub(crate) struct Before {
    /// Where HotSpot writes what it knows of its crash; nothing of a JVM in a container, whose files go with it.
    error_file: Option<PathBuf>,
}

impl Before {
    pub(crate) fn of(jvm: &Jvm) -> Before {
        let folder = std::fs::read_link(jvm.target.proc("cwd")).ok().filter(|_| jvm.container.is_none());
        Before { error_file: folder.map(|folder| folder.join(format!("hs_err_pid{}.log", jvm.target.inner_pid))) }
    }

    /// The file, if there is one now. Nothing in it is read: it may be anything.
    fn error_file(&self) -> Option<&PathBuf> {
        self.error_file.as_ref().filter(|path| path.symlink_metadata().is_ok_and(|file| file.is_file()))
    }
}

/// How a JVM ended, as the end of a sentence that begins with its name.
pub(crate) fn says(ending: Option<&Ending>, before: &Before) -> String {
    let Some(ending) = ending else { return "ended; how is not known".to_owned() };
    let file = before.error_file().map_or_else(String::new, |path| format!("; it left {}", path.display()));
    format!("{}{file}", how(ending))
}

fn how(ending: &Ending) -> String {
    let by = ending.sent.as_ref().map(|(_, sender)| match sender.pid {
        0 => " by the kernel".to_owned(),
        pid => format!(" by {} (pid {pid})", sender.name),
    });
    let by = by.unwrap_or_default();
    match ending.by {
        _ if ending.is_out_of_memory => "was killed by the kernel because memory ran out".to_owned(),
        None => "ended; how is not known".to_owned(),
        Some(By::Signal(KILL, _)) if ending.was_asked => {
            format!("was asked to end (SIGTERM) and then killed (SIGKILL){by}")
        }
        Some(By::Signal(KILL, _)) => format!("was killed (SIGKILL){by}"),
        Some(By::Signal(number, _)) if ending.is_in_order() => format!("was ended by {}{by}", name(number)),
        Some(By::Signal(number, dumped)) => {
            format!("crashed ({}{})", name(number), if dumped { ", core dumped" } else { "" })
        }
        Some(By::Code(0)) => "ended by itself".to_owned(),
        Some(By::Code(code)) if ending.is_in_order() => {
            format!("was asked to end ({}){by}, exit code {code}", name(code - 128))
        }
        // The JVM aborts itself when it crashes.
        Some(By::Code(code)) if code == 128 + ABORT => format!("crashed (exit code {code})"),
        Some(By::Code(3)) => "ended with exit code 3, as a JVM does with -XX:+ExitOnOutOfMemoryError".to_owned(),
        Some(By::Code(code)) => format!("ended with exit code {code}"),
    }
}

fn name(number: i32) -> String {
    let known = NAMES.iter().find(|(known, _)| *known == number);
    known.map_or_else(|| format!("signal {number}"), |(_, name)| (*name).to_owned())
}

/// The reason, if the JVM did not end in good order. Who was asked to end and did not is no reason either: a deploy does that.
pub(crate) fn reason(ending: &Ending, before: &Before, under_way: f64, at_ns: i64) -> Option<Trigger> {
    if ending.is_in_order() || (ending.was_asked && !ending.is_out_of_memory) {
        return None;
    }
    let kind = if ending.is_out_of_memory { Kind::OomKill } else { Kind::Vanished };
    let lost = if under_way > 0.0 { format!("; {under_way:.0} requests had no answer yet") } else { String::new() };
    let says = format!("the JVM {}{lost}", says(Some(ending), before));
    Some(Trigger { kind, which: String::new(), says, at_ns })
}

#[cfg(test)]
mod tests {
    use fathom_collectors::endings::Sender;

    use super::*;

    fn ending(by: By) -> Ending {
        Ending { by: Some(by), ..Ending::default() }
    }

    fn sent(number: i32, pid: u32, name: &str, ending: Ending) -> Ending {
        Ending { sent: Some((number, Sender { pid, name: name.to_owned() })), ..ending }
    }

    #[test]
    fn each_end_has_its_words_and_only_some_are_reasons() {
        let killed = ending(By::Signal(9, false));
        for (ending, expected, kind) in [
            (ending(By::Code(0)), "ended by itself", None),
            (ending(By::Code(143)), "was asked to end (SIGTERM), exit code 143", None),
            (sent(9, 77, "bash", killed.clone()), "was killed (SIGKILL) by bash (pid 77)", Some(Kind::Vanished)),
            (
                Ending { was_asked: true, ..sent(9, 1, "systemd", killed.clone()) },
                "was asked to end (SIGTERM) and then killed (SIGKILL) by systemd (pid 1)",
                None,
            ),
            (
                Ending { is_out_of_memory: true, ..sent(9, 0, "the kernel", killed) },
                "was killed by the kernel because memory ran out",
                Some(Kind::OomKill),
            ),
            (ending(By::Signal(11, true)), "crashed (SIGSEGV, core dumped)", Some(Kind::Vanished)),
            (ending(By::Signal(6, false)), "crashed (SIGABRT)", Some(Kind::Vanished)),
            (ending(By::Code(134)), "crashed (exit code 134)", Some(Kind::Vanished)),
            (ending(By::Code(1)), "ended with exit code 1", Some(Kind::Vanished)),
            (Ending::default(), "ended; how is not known", None),
        ] {
            let reason = reason(&ending, &Before::default(), 0.0, 5);
            assert_eq!((how(&ending).as_str(), reason.map(|reason| reason.kind)), (expected, kind), "{ending:?}");
        }
        assert_eq!(says(None, &Before::default()), "ended; how is not known");
    }

    #[test]
    fn what_a_crash_left_and_took_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hs_err_pid7.log");
        let before = Before { error_file: Some(file.clone()) };
        let crash = ending(By::Signal(6, false));
        assert_eq!(says(Some(&crash), &before), "crashed (SIGABRT)");
        std::fs::write(&file, "#").unwrap();
        let reason = reason(&crash, &before, 3.0, 5).unwrap();
        let expected = format!("the JVM crashed (SIGABRT); it left {}; 3 requests had no answer yet", file.display());
        assert_eq!((reason.says, reason.at_ns), (expected, 5));
    }
}
