//! What an error file says. Knows no evidence.

use std::collections::BTreeSet;

/// A thread of the JVM.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Thread {
    pub(super) name: String,
    pub(super) tid: Option<i64>,
    /// As the JVM names it, for example `_thread_in_native`.
    pub(super) state: Option<String>,
}

/// Something that happened before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) uptime_ns: i64,
    /// From the heading of its list: `vm_operations`.
    pub(super) class: String,
    pub(super) text: String,
}

/// The heap before or after a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heap {
    pub(super) uptime_ns: i64,
    pub(super) is_before: bool,
    pub(super) used_bytes: u64,
}

/// A part of the code cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) name: String,
    pub(super) size_bytes: u64,
    pub(super) used_bytes: u64,
}

/// A flag, its value, and how it got that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flag {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) origin: String,
}

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// Whether the JVM had no native memory left.
    pub(super) is_memory: bool,
    /// `SIGSEGV (0xb)`, `Internal Error (debug.cpp:289)`, `Out of Memory Error (os_linux.cpp:2971)`.
    pub(super) what: Option<String>,
    /// What stands beside it: `fatal error: OutOfMemory encountered: Java heap space`.
    pub(super) reasons: Vec<String>,
    pub(super) pid: Option<i64>,
    pub(super) tid: Option<i64>,
    /// Where the error was: `Unsafe_PutLong (libjvm.so)`.
    pub(super) frame: Option<String>,
    /// `si_signo: 11 (SIGSEGV), si_code: 0 (SI_USER), si_pid: 7688, si_uid: 0`.
    pub(super) signal: Option<String>,
    pub(super) vm: Option<String>,
    pub(super) jre: Option<String>,
    /// When it was written, to a second, as if the zone were UTC.
    pub(super) stamp_ns: Option<i64>,
    pub(super) zone: Option<String>,
    pub(super) uptime_ns: Option<i64>,
    pub(super) host: Option<String>,
    pub(super) thread: Option<Thread>,
    /// Its stack with the kind of each frame, the innermost first.
    pub(super) frames: Vec<(char, String)>,
    pub(super) threads: Vec<Thread>,
    /// In use when it died.
    pub(super) heap_used_bytes: Option<u64>,
    pub(super) heap_lines: Vec<String>,
    pub(super) heaps: Vec<Heap>,
    pub(super) segments: Vec<Segment>,
    pub(super) events: Vec<Event>,
    pub(super) flags: Vec<Flag>,
    pub(super) arguments: Option<String>,
    pub(super) command: Option<String>,
    pub(super) environment: Vec<(String, String)>,
    pub(super) libraries: BTreeSet<String>,
    /// Lines of the memory map.
    pub(super) mappings: u64,
    pub(super) mappings_max: Option<u64>,
    /// Name, soft and hard limit.
    pub(super) limits: Vec<(String, String)>,
    pub(super) meminfo: Vec<(String, u64)>,
    /// What the JVM says of the signal: that a mapped file could not be read, say.
    pub(super) signal_note: Option<String>,
    /// Lines that are too long to be of any use.
    pub(super) overlong: i64,
    /// Whether the JVM wrote to the end.
    pub(super) is_whole: bool,
}

impl Report {
    /// What the JVM died of, as a part of a sentence.
    pub(super) fn cause(&self) -> String {
        let what = self.what.as_deref().unwrap_or("a fatal error");
        let reasons = self.reasons.join(" ");
        let reasons = reasons.trim_end_matches('.');
        if self.is_memory {
            let says = if reasons.is_empty() { what } else { reasons };
            return format!("no native memory left: {says}");
        }
        let Some(signal) = what.strip_prefix("SIG").and_then(|_| what.split(' ').next()) else {
            return if reasons.is_empty() { what.to_owned() } else { format!("{what}: {reasons}") };
        };
        match (self.sender(), &self.frame) {
            (Some(sender), _) => format!("{signal}, sent by {sender}"),
            (None, frame) => {
                let at = self.of_signal("si_addr").map_or(String::new(), |address| format!(" at address {address}"));
                let place = frame.as_deref().filter(|frame| !frame.is_empty());
                let place = place.map_or(String::new(), |frame| format!(" in {frame}"));
                let note = self.signal_note.as_deref().map_or(String::new(), |note| format!(" ({note})"));
                format!("{signal}{at}{place}{note}")
            }
        }
    }

    /// Who sent the signal, if a process did.
    fn sender(&self) -> Option<String> {
        let code = self.of_signal("si_code")?;
        let is_sent = ["SI_USER", "SI_TKILL", "SI_QUEUE"].iter().any(|sent| code.contains(sent));
        let of = |key: &str| self.of_signal(key).unwrap_or("unknown");
        is_sent.then(|| format!("process {} of user {}", of("si_pid"), of("si_uid")))
    }

    fn of_signal(&self, key: &str) -> Option<&str> {
        let parts = self.signal.as_deref()?.split(", ");
        parts.filter_map(|part| part.split_once(": ")).find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// The thread that died, with its id from wherever it is.
    pub(super) fn dead_tid(&self) -> i64 {
        self.thread.as_ref().and_then(|thread| thread.tid).or(self.tid).unwrap_or(0)
    }
}
