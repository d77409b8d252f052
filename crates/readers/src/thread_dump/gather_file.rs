//! The text of `Thread.dump_to_file` to a dump. Knows no evidence.

use crate::cursor::{Cursor, trim};
use crate::thread_dump::dump::{Dump, How, Thread, Waited};
use crate::thread_dump::gather::{THREADS_MAX, of_thread};
use crate::thread_dump::parse::{self, text_of};

/// Puts one dump together: a file holds no more.
#[derive(Debug, Default)]
pub(super) struct GatherFile {
    dump: Dump,
    heading: usize,
}

impl GatherFile {
    /// Takes a line.
    pub(super) fn line(&mut self, text: &[u8]) {
        let content = trim(text);
        if let Some((id, name, is_virtual)) = parse::file_thread(content) {
            self.heading = HEADING_LINES;
            if self.dump.threads.len() < THREADS_MAX {
                let state = state(content).to_owned();
                let thread = Thread { name: text_of(name), java_id: Some(id), is_virtual, state, ..Thread::default() };
                self.dump.threads.push(thread);
            }
        } else if self.heading < HEADING_LINES && !content.is_empty() {
            self.heading(content);
        } else if let Some(thread) = self.dump.threads.last_mut() {
            of_file_line(thread, content);
        }
    }

    /// The dump. Whether its end is there it does not say.
    pub(super) fn end(mut self) -> Option<Dump> {
        self.dump.is_whole = true;
        self.dump.threads.iter_mut().for_each(add_sleep);
        (!self.dump.threads.is_empty()).then_some(self.dump)
    }

    fn heading(&mut self, content: &[u8]) {
        match self.heading {
            0 => self.dump.pid = Cursor(content).integer().and_then(|pid| i64::try_from(pid).ok()),
            1 => self.dump.time_ns = parse::iso(content),
            _ => self.dump.version = text_of(content),
        }
        self.heading += 1;
    }
}

/// Process id, time and version.
const HEADING_LINES: usize = 3;

/// The state stands behind the name, from JDK 25 on.
fn state(content: &[u8]) -> &str {
    const STATES: &[&str] = &["TIMED_WAITING", "WAITING", "BLOCKED", "RUNNABLE"];
    let end = memchr::memrchr(b'"', content).map_or(content.len(), |at| at + 1);
    let rest = &content[end..];
    STATES.iter().find(|state| memchr::memmem::find(rest, state.as_bytes()).is_some()).unwrap_or(&"")
}

/// Up to JDK 24 frames stand without `at`.
fn of_file_line(thread: &mut Thread, content: &[u8]) {
    match parse::line(content) {
        parse::Line::Other => {
            if let Some(place) = parse::frame(content) {
                of_thread(thread, &parse::Line::Frame(place));
            }
        }
        line => of_thread(thread, &line),
    }
}

/// Sleep has no line of its own here; the frame tells it.
pub(super) fn add_sleep(thread: &mut Thread) {
    let is_asleep = thread.frames.first().is_some_and(|place| place.symbol.starts_with("java.lang.Thread.sleep"));
    if thread.waits_for.is_none() && is_asleep {
        thread.waits_for = Some(Waited { how: How::Sleep, address: None, class: String::new() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dumps_of_two_releases() {
        for (frame, state) in
            [("    at java.base/", " TIMED_WAITING 2026-11-27T16:01:24.88Z"), ("      java.base/", "")]
        {
            let text = format!(
                "7\n2026-11-27T16:01:24.5Z\n25.0.3+9\n\n#3 \"main\"{state}\n{frame}java.lang.Thread.sleep(Thread.java:540)\n\n#32 \"\" virtual\n{frame}java.lang.VirtualThread.run(VirtualThread.java:1)\n"
            );
            let mut gather = GatherFile::default();
            text.lines().for_each(|line| gather.line(line.as_bytes()));
            let dump = gather.end().unwrap();
            assert_eq!((dump.pid, dump.time_ns, dump.is_local), (Some(7), Some(1_795_795_284_500_000_000), false));
            let [main, virt] = &dump.threads[..] else { panic!("{dump:?}") };
            assert_eq!((main.java_id, main.is_virtual, main.frames.len()), (Some(3), false, 1));
            assert_eq!(main.waits_for.as_ref().map(|waited| waited.how), Some(How::Sleep));
            assert_eq!((virt.java_id, virt.is_virtual, virt.frames.len()), (Some(32), true, 1));
        }
    }
}
