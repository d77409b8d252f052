//! Whether the VM thread stands in a call that writes: it writes the log while the application stands still. The kernel shows it in
//! `/proc/PID/task/TID/syscall`, to those who may trace the process.

use fathom_evidence::Recording;
use fathom_evidence::detail::{SystemCall, to_text};
use fathom_evidence::kinds::span;

use super::SOURCE;
use super::schedule::Schedule;
use crate::Target;
use crate::procfs::{self, ProcFile, utf8};

/// The thread that stops the application, as the JVM names it.
const NAME: &str = "VM Thread";

/// All threads have been looked at long before so many looks; then there is no such thread, or its file may not be read.
const TRIES: u32 = 100;

/// Calls that write, by their numbers here.
const WRITES: &[(libc::c_long, &str)] = &[
    (libc::SYS_write, "write"),
    (libc::SYS_writev, "writev"),
    (libc::SYS_pwrite64, "pwrite64"),
    (libc::SYS_fsync, "fsync"),
    (libc::SYS_fdatasync, "fdatasync"),
];

/// What the VM thread was found in.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Write {
    call: &'static str,
    descriptor: u32,
    /// All that the kernel shows of it: it is the same call for as long as that is the same.
    text: Box<[u8]>,
}

impl Write {
    /// The call that a text of the kernel shows, if it writes.
    fn of(text: &[u8]) -> Option<Write> {
        let mut words = utf8(text)?.split_ascii_whitespace();
        let number: libc::c_long = words.next()?.parse().ok()?;
        let (_, call) = *WRITES.iter().find(|(write, _)| *write == number)?;
        let descriptor = u32::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
        Some(Write { call, descriptor, text: text.into() })
    }
}

/// Looks at the VM thread.
#[derive(Debug, Default)]
pub(super) struct VmThread {
    thread: Option<(i64, ProcFile)>,
    tries: u32,
    /// The call it is in, when it was found in it first and last.
    found: Option<(Write, i64, i64)>,
}

impl VmThread {
    pub(super) fn look(&mut self, target: &Target, schedule: &mut Schedule, at_ns: i64, found: &mut Recording) {
        if self.thread.is_none() && self.tries < TRIES {
            self.tries += 1;
            let tid = schedule.tid_of(NAME);
            self.thread = tid.and_then(|tid| Some((tid, open(schedule, tid)?)));
        }
        let Some((_, file)) = &self.thread else { return };
        let now = file.read_short(&mut schedule.reader.buffer).ok().and_then(Write::of);
        self.see(target, now, at_ns, found);
    }

    fn see(&mut self, target: &Target, now: Option<Write>, at_ns: i64, found: &mut Recording) {
        match (&mut self.found, now) {
            (Some((write, _, last_ns)), Some(now)) if *write == now => *last_ns = at_ns,
            (_, now) => {
                self.end(target, found);
                self.found = now.map(|write| (write, at_ns, at_ns));
            }
        }
    }

    /// Writes the call that is over. One that was found once took less than from look to look: how long it took is not known.
    pub(super) fn end(&mut self, target: &Target, found: &mut Recording) {
        let Some((write, first_ns, last_ns)) = self.found.take().filter(|(_, first_ns, last_ns)| last_ns > first_ns)
        else {
            return;
        };
        let Some((tid, _)) = self.thread else { return };
        let path = procfs::link(target.proc(&format!("fd/{}", write.descriptor))).ok();
        let detail = SystemCall { descriptor: Some(i64::from(write.descriptor)), path, ..SystemCall::default() };
        let duration_ns = last_ns.saturating_sub(first_ns);
        found.add_span(first_ns, duration_ns, tid, span::VM_THREAD_WRITE, write.call, &to_text(&detail), SOURCE);
    }
}

fn open(schedule: &Schedule, tid: i64) -> Option<ProcFile> {
    ProcFile::open_at(&schedule.reader.folder, &format!("{tid}/syscall")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_that_write_are_taken() {
        let write = libc::SYS_write;
        let text = format!("{write} 0x1f 0x7f00 0x2000 0x0 0x0 0x0 0x7fff 0x7fab\n");
        let found = Write::of(text.as_bytes()).unwrap();
        assert_eq!((found.call, found.descriptor), ("write", 31));
        let futex = format!("{} 0x1f 0x0\n", libc::SYS_futex);
        for other in [futex.as_str(), "running\n", "-1 0x7f 0x7e\n", "", "1", "1 zz", "1 0xfffffffffffffffff"] {
            assert_eq!(Write::of(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn a_call_lasts_from_the_first_look_that_finds_it_to_the_last() {
        let target = Target::of(std::process::id()).unwrap();
        let file = ProcFile::open("/proc/self/syscall").unwrap();
        let mut thread = VmThread { thread: Some((7, file)), ..VmThread::default() };
        let mut found = Recording::default();
        let write = |text: &str| Some(Write { call: "write", descriptor: 1, text: text.as_bytes().into() });
        for (at_ns, now) in
            [write("a"), write("a"), write("a"), None, write("b"), write("c"), write("c")].into_iter().enumerate()
        {
            thread.see(&target, now, at_ns as i64, &mut found);
        }
        thread.end(&target, &mut found);
        let spans: Vec<(i64, i64, i64)> =
            found.spans.rows().map(|row| (row.time_ns, row.duration_ns, row.tid)).collect();
        assert_eq!(spans, [(0, 2, 7), (5, 1, 7)]);
    }
}
