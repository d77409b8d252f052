//! Lines of printed dumps to dumps, each passed on as soon as it is complete. Knows no evidence.

use std::rc::Rc;

use crate::thread_dump::dump::{Dump, How, Stacks, Thread, Waited};
use crate::thread_dump::parse::{self, Line, text_of};
use crate::thread_dump::parse_thread::ThreadLine;

/// Frames that are kept of a thread: HotSpot prints 1,024 at most by default.
pub(super) const FRAMES_MAX: usize = 2_048;

/// Threads that are kept of a dump: the kernel allows four million at most, and a dump of that many is a damaged one.
pub(super) const THREADS_MAX: usize = 4_194_304;

/// Puts dumps together.
#[derive(Debug, Default)]
pub(super) struct Gather {
    dump: Option<Dump>,
    pid: Option<i64>,
    /// The time that stood alone on the line before.
    time_ns: Option<i64>,
    /// Whether what follows belongs to the last thread.
    is_in_thread: bool,
    is_in_deadlock: bool,
    stacks: Stacks,
}

impl Gather {
    /// Takes a line; gives the dump that it shows to be over.
    pub(super) fn line(&mut self, text: &[u8]) -> Option<Dump> {
        let line = parse::line(text);
        match line {
            Line::Begin(version) => return self.begin(version),
            Line::Time(time_ns) => self.time_ns = Some(time_ns),
            Line::Pid(pid) => self.pid = Some(pid),
            Line::Other if text.trim_ascii().is_empty() => {}
            _ => self.of_dump(line),
        }
        None
    }

    /// The last dump.
    pub(super) fn end(&mut self) -> Option<Dump> {
        let mut dump = self.dump.take()?;
        self.stacks.share(&mut dump);
        Some(dump)
    }

    fn begin(&mut self, version: &[u8]) -> Option<Dump> {
        let before = self.end();
        let time_ns = self.time_ns.take();
        self.dump = Some(Dump { time_ns, is_local: true, pid: self.pid, version: text_of(version), ..Dump::default() });
        (self.is_in_thread, self.is_in_deadlock) = (false, false);
        before
    }

    fn of_dump(&mut self, line: Line<'_>) {
        self.time_ns = None;
        let Some(dump) = &mut self.dump else { return };
        match line {
            Line::Thread(thread) if !dump.is_whole => {
                self.is_in_thread = dump.threads.len() < THREADS_MAX;
                dump.threads.extend(self.is_in_thread.then(|| of_line(&thread)));
            }
            Line::End => (dump.is_whole, self.is_in_thread) = (true, false),
            Line::Deadlock => (self.is_in_deadlock, self.is_in_thread) = (true, false),
            Line::Deadlocked(name) if self.is_in_deadlock => mark(dump, &text_of(name)),
            Line::Mounted(id) if self.is_in_thread => {
                let name = String::new();
                dump.threads.push(Thread { name, java_id: Some(id), is_virtual: true, ..Thread::default() });
            }
            _ if self.is_in_thread => dump.threads.last_mut().into_iter().for_each(|thread| of_thread(thread, &line)),
            _ => {}
        }
    }
}

fn of_line(line: &ThreadLine<'_>) -> Thread {
    Thread {
        name: text_of(line.name),
        os_id: line.os_id,
        java_id: line.java_id,
        address: line.address,
        cpu_ns: line.cpu_ns,
        elapsed_ns: line.elapsed_ns,
        ..Thread::default()
    }
}

fn mark(dump: &mut Dump, name: &str) {
    dump.threads.iter_mut().filter(|thread| thread.name == name).for_each(|thread| thread.is_deadlocked = true);
}

/// Adds what a line says of a thread.
pub(super) fn of_thread(thread: &mut Thread, line: &Line<'_>) {
    match line {
        Line::State(state) => {
            thread.state = text_of(state.split(|byte| *byte == b' ').next().unwrap_or_default());
            if state.ends_with(b"(sleeping)") {
                thread.waits_for = Some(Waited { how: How::Sleep, address: None, class: String::new() });
            }
        }
        Line::Frame(place) if thread.frames.len() < FRAMES_MAX => {
            Rc::make_mut(&mut thread.frames).push(place.clone());
        }
        // The line below the innermost frame: further down they are what the thread will do when it goes on.
        Line::Waits(how, address, class) if thread.waits_for.is_none() && thread.frames.len() <= 1 => {
            thread.waits_for = Some(Waited { how: *how, address: *address, class: text_of(class) });
        }
        // In `Object.wait` the thread has to reacquire the monitor; the line for it is one frame further down.
        Line::Waits(How::Enter, address, class) if thread.state == "BLOCKED" => {
            thread.waits_for = Some(Waited { how: How::Enter, address: *address, class: text_of(class) });
        }
        Line::Owns(address) => thread.owns.push(*address),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dumps(text: &str) -> Vec<Dump> {
        let mut gather = Gather::default();
        let mut dumps: Vec<Dump> = text.lines().filter_map(|line| gather.line(line.as_bytes())).collect();
        dumps.extend(gather.end());
        dumps
    }

    const DEADLOCK: &str = r#"4242:
2026-11-27 15:57:39
Full thread dump OpenJDK 64-Bit Server VM (17 mixed mode):

"a" #9 prio=5 os_prio=0 cpu=1.5ms elapsed=3.00s tid=0x1 nid=0x11 waiting for monitor entry  [0x1]
   java.lang.Thread.State: BLOCKED (on object monitor)
	at Dead.lambda$main$0(Dead.java:9)
	- waiting to lock <0x20> (a java.lang.String)
	- locked <0x10> (a java.lang.Object)
	at java.lang.Thread.run(java.base@17/Thread.java:840)

"b" #10 prio=5 os_prio=0 cpu=1.5ms elapsed=3.00s tid=0x2 nid=0x12 in Object.wait()  [0x1]
   java.lang.Thread.State: BLOCKED (on object monitor)
	at java.lang.Object.wait(java.base@17/Native Method)
	- waiting on <0x10> (a java.lang.Object)
	at Dead.lambda$main$1(Dead.java:15)
	- waiting to re-lock in wait() <0x10> (a java.lang.Object)
	- locked <0x20> (a java.lang.String)

"VM Thread" os_prio=0 cpu=1.0ms elapsed=4.00s tid=0x3 nid=0x13 runnable

JNI global refs: 15, weak refs: 0

Found one Java-level deadlock:
=============================
"a":
  waiting to lock monitor 0x1 (object 0x20, a java.lang.String),
  which is held by "b"
"b":
  waiting to lock monitor 0x2 (object 0x10, a java.lang.Object),
  which is held by "a"

Java stack information for the threads listed above:
===================================================
"a":
	at Dead.lambda$main$0(Dead.java:9)

Found 1 deadlock.
a line of the log
"#;

    #[test]
    fn a_deadlock() {
        let dumps = dumps(&DEADLOCK.repeat(2));
        assert_eq!(dumps.len(), 2);
        for dump in &dumps {
            assert_eq!((dump.time_ns, dump.pid, dump.is_whole), (Some(1_795_795_059_000_000_000), Some(4242), true));
            let [a, b, vm] = &dump.threads[..] else { panic!("{dump:?}") };
            assert_eq!((a.frames.len(), b.frames.len(), vm.frames.len()), (2, 2, 0));
            assert!(a.is_deadlocked && b.is_deadlocked && !vm.is_deadlocked);
            let of = |thread: &Thread| thread.waits_for.clone().map(|waited| (waited.how, waited.address.unwrap()));
            assert_eq!((of(a), of(b)), (Some((How::Enter, 0x20)), Some((How::Enter, 0x10))));
            assert_eq!((dump.owner_of(0x20), dump.owner_of(0x10)), (Some("b"), Some("a")));
            assert_eq!(dump.uptime_ns(), Some(4_000_000_000));
        }
    }

    #[test]
    fn a_dump_that_is_cut_gives_what_is_there() {
        let cut = &DEADLOCK[..DEADLOCK.find("\"b\" #10").unwrap() + 20];
        let dumps = dumps(cut);
        assert_eq!((dumps.len(), dumps[0].threads.len(), dumps[0].is_whole), (1, 1, false));
    }
}
