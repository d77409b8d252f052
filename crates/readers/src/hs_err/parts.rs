//! Single lines of error files. Knows no evidence.

use crate::cursor::Cursor;
use crate::hs_err::report::{Flag, Segment, Thread};
use crate::time::ctime_ns;

/// `SIGSEGV (0xb) at pc=0x00007f, pid=7, tid=9`: what, process, thread. Up to JDK 8 the thread is an address.
pub(super) fn what(text: &str) -> Option<(String, Option<i64>, Option<i64>)> {
    let (what, ids) = text.split_once(", pid=")?;
    let (pid, tid) = ids.split_once(", tid=")?;
    let what = match what.split_once(" at pc=") {
        Some((before, after)) => {
            [before, after.split_once(' ').map_or("", |(_, rest)| rest)].join(" ").trim().to_owned()
        }
        None => what.to_owned(),
    };
    Some((what, number(pid), number(tid)))
}

fn number(text: &str) -> Option<i64> {
    text.trim().parse().ok()
}

/// `Fri Nov 27 23:03:37 2026 UTC elapsed time: 2.660239 seconds (0d 0h 0m 2s)`: time, zone, uptime.
pub(super) fn time(text: &str) -> Option<(i64, Option<String>, Option<i64>)> {
    let mut cursor = Cursor(text.as_bytes());
    let time_ns = ctime_ns(&mut cursor)?;
    let rest = std::str::from_utf8(cursor.0).ok()?;
    let (zone, uptime) = rest.split_once("elapsed time:").map_or((rest, None), |(zone, after)| (zone, uptime(after)));
    Some((time_ns, Some(zone.trim().to_owned()).filter(|zone| !zone.is_empty()), uptime))
}

/// ` 2.660239 seconds`.
pub(super) fn uptime(text: &str) -> Option<i64> {
    Cursor(text.trim().as_bytes()).fixed(9)
}

/// `  0x00007fe64c017a80 JavaThread "main" daemon [_thread_blocked, id=7823, stack(0x00,0x00)]`, and of the current thread.
pub(super) fn thread(text: &str) -> Option<Thread> {
    let name = text.split_once('"').and_then(|(_, rest)| rest.rsplit_once('"')).map(|(name, _)| name);
    // Threads of the VM that have no name are of a class.
    let class = || text.split_whitespace().find(|word| word.ends_with("Thread"));
    let tid = text.split_once("id=").and_then(|(_, rest)| Cursor(rest.as_bytes()).integer()).map(|id| id as i64);
    let state = text.split_once("[_thread_").and_then(|(_, rest)| rest.split([',', ']']).next());
    let state = state.map(|state| format!("_thread_{state}"));
    Some(Thread { name: name.or_else(class)?.to_owned(), tid, state })
}

/// `V  [libjvm.so+0x8282d2]  JavaCalls::call_helper(JavaValue*)+0x302`: the kind and the rest.
pub(super) fn frame(text: &str) -> Option<(char, String)> {
    let kind = text.chars().next().filter(|kind| "VvCJjA".contains(*kind))?;
    let rest = text[1..].strip_prefix("  ").or_else(|| text[1..].strip_prefix(' '))?;
    Some((kind, rest.trim().to_owned()))
}

/// Where a frame is, without addresses: `V  [libjvm.so+0xed2f94]  Unsafe_PutLong+0x124` is `Unsafe_PutLong (libjvm.so)`.
pub(super) fn place(text: &str) -> String {
    let Some((_, text)) = frame(text) else { return text.to_owned() };
    match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((file, symbol)) => {
            let (file, offset) = file.split_once('+').unwrap_or((file, ""));
            match symbol.trim().split("+0x").next().unwrap_or_default() {
                "" => format!("{offset} of {file}"),
                symbol => format!("{symbol} ({file})"),
            }
        }
        None => {
            let method = text.split(' ').find(|word| word.contains('(') && word.contains('.'));
            method.and_then(|method| method.split('(').next()).unwrap_or(&text).to_owned()
        }
    }
}

/// Bytes in use of a generation, or of a heap that has none. Spaces of generations and metaspace are parts, or not of the heap.
pub(super) fn used_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let is_part = text.contains("% used") || ["Metaspace", "class space"].iter().any(|part| text.starts_with(part));
    let size = |text: &str| Cursor(text.as_bytes()).size().filter(|_| text.ends_with(['K', 'M', 'G', 'B']));
    let word = match text.split_once("used ") {
        Some((_, after)) => after.split([' ', ',']).next(),
        None => text.strip_suffix(" used").and_then(|before| before.rsplit(' ').next()),
    };
    word.filter(|_| !is_part).and_then(size)
}

/// `CodeHeap 'non-nmethods': size=5692Kb used=1072Kb max_used=1086Kb free=4619Kb`, or `CodeCache: size=...`.
pub(super) fn segment(text: &str) -> Option<Segment> {
    let (name, rest) = text.strip_prefix("CodeHeap '").and_then(|rest| rest.split_once("': ")).or_else(|| {
        let rest = text.strip_prefix("CodeCache: ")?;
        Some(("CodeCache", rest))
    })?;
    let of = |key: &str| {
        let value = rest.split(' ').find_map(|word| word.strip_prefix(key))?.strip_suffix("Kb")?;
        value.parse::<u64>().ok()?.checked_mul(1_024)
    };
    Some(Segment { name: name.to_owned(), size_bytes: of("size=")?, used_bytes: of("used=")? })
}

/// `     intx CICompilerCount     = 2      {product} {ergonomic}`.
pub(super) fn flag(text: &str) -> Option<Flag> {
    let (before, after) = text.split_once('=')?;
    let name = before.split_whitespace().nth(1)?;
    let (value, kinds) = after.split_once('{')?;
    let origin = kinds.rsplit('{').next()?.trim().trim_end_matches('}');
    // As Flight Recorder writes it.
    let mut rest = origin.chars();
    let origin = rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default();
    Some(Flag { name: name.to_owned(), value: value.trim().to_owned(), origin })
}

/// The path of a line of the memory map.
pub(super) fn mapped_path(text: &str) -> Option<&str> {
    let path = text.get(text.find(" /")? + 1..)?.trim();
    path.contains(".so").then(|| path.trim_end_matches(" (deleted)"))
}

/// Names of the limits in `/proc/PID/limits`, without `Max`.
const LIMITS: &[(&str, &str)] = &[
    ("STACK", "stack_size"),
    ("CORE", "core_file_size"),
    ("NPROC", "processes"),
    ("NOFILE", "open_files"),
    ("AS", "address_space"),
    ("CPU", "cpu_time"),
    ("DATA", "data_size"),
    ("FSIZE", "file_size"),
    ("MEMLOCK", "locked_memory"),
];

/// `STACK 8192k/infinity , CORE 0k/infinity`: names with soft and hard limit, in bytes where they are sizes.
pub(super) fn limits(text: &str) -> Vec<(String, String)> {
    let value = |text: &str| match text.strip_suffix('k').and_then(|kib| kib.parse::<u64>().ok()) {
        Some(kib) => kib.saturating_mul(1_024).to_string(),
        None => text.replace("infinity", "unlimited"),
    };
    let one = |part: &str| {
        let (name, limits) = part.trim().split_once(' ')?;
        let (soft, hard) = limits.trim().split_once('/')?;
        let known = LIMITS.iter().find(|(known, _)| *known == name)?.1;
        Some((known.to_owned(), format!("{} {}", value(soft), value(hard))))
    };
    text.split(',').filter_map(one).collect()
}

/// `MemAvailable:   22443244 kB`.
pub(super) fn meminfo(text: &str) -> Option<(&str, u64)> {
    let (name, rest) = text.split_once(':')?;
    let kib: u64 = rest.trim().strip_suffix(" kB")?.parse().ok()?;
    Some((name, kib.checked_mul(1_024)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        for (text, expected, pid, tid) in [
            ("SIGSEGV (0xb) at pc=0x00007fe6524d2f94, pid=7822, tid=7844", "SIGSEGV (0xb)", Some(7_822), Some(7_844)),
            (
                "SIGSEGV (0xb) at pc=0x00007ffb286e7f14 (sent by kill), pid=7, tid=8",
                "SIGSEGV (0xb) (sent by kill)",
                Some(7),
                Some(8),
            ),
            ("SIGBUS (0x7) at pc=0x00007fe, pid=7822, tid=0x00007f8", "SIGBUS (0x7)", Some(7_822), None),
            ("Internal Error (debug.cpp:289), pid=1, tid=2", "Internal Error (debug.cpp:289)", Some(1), Some(2)),
        ] {
            assert_eq!(what(text), Some((expected.to_owned(), pid, tid)));
        }
        assert_eq!(what("fatal error: OutOfMemory encountered"), None);
    }

    #[test]
    fn times() {
        assert_eq!(
            time("Fri Nov 27 23:03:37 2026 UTC elapsed time: 2.660239 seconds (0d 0h 0m 2s)"),
            Some((1_795_820_617_000_000_000, Some("UTC".to_owned()), Some(2_660_239_000)))
        );
        assert_eq!(time("Fri Nov  7 23:03:37 2026").map(|(_, zone, uptime)| (zone, uptime)), Some((None, None)));
        assert_eq!(time("Fri Nov 27 24:03:37 2026"), None);
    }

    #[test]
    fn places_of_frames() {
        for (text, expected) in [
            ("V  [libjvm.so+0xed2f94]  Unsafe_PutLong+0x124", "Unsafe_PutLong (libjvm.so)"),
            ("C  [libc.so.6+0x85f14]", "0x85f14 of libc.so.6"),
            ("J 95 c2 a.B.c(I)J (64 bytes) @ 0x00007f [0x00007f+0x10]", "a.B.c"),
            ("j  Crash.writeToNull()V+28", "Crash.writeToNull"),
            ("v  ~StubRoutines::call_stub", "~StubRoutines::call_stub"),
            ("[error occurred]", "[error occurred]"),
        ] {
            assert_eq!(place(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_in_use() {
        for (text, expected) in [
            (" garbage-first heap   total 65536K, used 62508K [0x00, 0x01)", Some(62_508 << 10)),
            ("  eden space 17472K,  77% used [0x00, 0x01, 0x02)", None),
            (" Metaspace       used 230K, committed 448K, reserved 1114112K", None),
            (" ZHeap           used 22M, capacity 64M, max capacity 64M", Some(22 << 20)),
            (" 65536K max, 65536K soft max, 65536K committed, 24064K used", Some(24_064 << 10)),
            ("used ", None),
        ] {
            assert_eq!(used_bytes(text), expected, "{text}");
        }
    }

    #[test]
    fn lines_of_lists() {
        let of = thread(r#"=>0x00007fe64c0cb310 JavaThread "a "b"" daemon [_thread_in_vm, id=7844, stack(0x0,0x1)]"#)
            .unwrap();
        assert_eq!((of.name.as_str(), of.tid, of.state.as_deref()), ("a \"b\"", Some(7_844), Some("_thread_in_vm")));
        assert_eq!(thread("  0x00007 WatcherThread [stack: 0x0,0x1] [id=7842]").unwrap().name, "WatcherThread");
        let of = flag("   ccstr ErrorFile    = a=b.txt       {product} {command line}").unwrap();
        assert_eq!((of.name.as_str(), of.value.as_str(), of.origin.as_str()), ("ErrorFile", "a=b.txt", "Command line"));
        assert_eq!(flag("   ccstr ErrorFile  = {é}").unwrap().origin, "É");
        assert_eq!(mapped_path("7f-7f r--p 0000 fe:00 1  /usr/lib/x 1.so (deleted)"), Some("/usr/lib/x 1.so"));
        let of = limits("STACK 8192k/infinity , NPROC 9/10 , ODD 1/2");
        assert_eq!(of, [("stack_size".into(), "8388608 unlimited".into()), ("processes".into(), "9 10".into())]);
        assert_eq!(frame("J 95 c2 a.B.c()J"), Some(('J', "95 c2 a.B.c()J".to_owned())));
        assert_eq!(frame("Value"), None);
        assert_eq!(segment("CodeHeap 'x y': size=2Kb used=1Kb max_used=1Kb").unwrap().used_bytes, 1_024);
    }
}
