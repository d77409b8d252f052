//! `stat` and `schedstat` of a process or thread, as text.

use crate::procfs::{number, words};

/// What is wanted of a `stat` file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat<'a> {
    /// Name, at most 15 bytes of it.
    pub(super) comm: &'a [u8],
    /// `R`, `S`, `D`, ...
    pub(super) state: u8,
    pub(super) minor_faults: u64,
    pub(super) major_faults: u64,
    pub(super) user_ticks: u64,
    pub(super) system_ticks: u64,
    /// Threads of the process.
    pub(super) threads: u64,
    /// Since boot.
    pub(super) start_ticks: u64,
}

/// Reads a `stat` file: number, name in parentheses (which may hold parentheses and blanks), fields.
pub(super) fn stat(text: &[u8]) -> Option<Stat<'_>> {
    let open = text.iter().position(|byte| *byte == b'(')?;
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let comm = text.get(open + 1..close)?;
    let mut fields = words(text.get(close + 1..)?);
    let state = *fields.next()?.first()?;
    // The next field is number 4 of `man proc_pid_stat`.
    let mut at = 4;
    let mut field = |wanted: usize| {
        let value = fields.nth(wanted - at)?;
        at = wanted + 1;
        number(value.strip_suffix(b"\n").unwrap_or(value))
    };
    Some(Stat {
        comm,
        state,
        minor_faults: field(10)?,
        major_faults: field(12)?,
        user_ticks: field(14)?,
        system_ticks: field(15)?,
        threads: field(20)?,
        start_ticks: field(22)?,
    })
}

/// What the scheduler accounts to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SchedStat {
    /// Time on a CPU, in ns.
    pub(super) run_ns: u64,
    /// Time runnable without a CPU, in ns, up to the last time that it got one.
    pub(super) wait_ns: u64,
}

/// Reads a `schedstat` file. All zero means that this kernel does not account it.
pub(super) fn schedstat(text: &[u8]) -> Option<SchedStat> {
    let mut fields = words(text).map(|word| number(word.strip_suffix(b"\n").unwrap_or(word)));
    let (run_ns, wait_ns, slices) = (fields.next()??, fields.next()??, fields.next()??);
    ((run_ns, wait_ns, slices) != (0, 0, 0)).then_some(SchedStat { run_ns, wait_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.18.
    const JAVA: &str = "3217 (C2 CompilerThre) S 3200 3200 3200 0 -1 4194368 26533 0 11 0 1507 83 0 0 20 0 27 0 \
        841022 7264432128 45132 18446744073709551615 94270 94271 140721 0 0 0 4 0 16800975 0 0 0 -1 1 0 0 0 0 0 9 9 9 9 9 9 9 0\n";
    /// Linux 5.4 in a container: no start or end of code shown.
    const OLD: &str =
        "7 (nio) D (x)) D 1 7 7 0 -1 1077936192 5 0 3 0 2 1 0 0 20 0 2000 0 99 10 11 18446744073709551615 1 1 0 0\n";

    #[test]
    fn stat_of_several_kernels() {
        let java = stat(JAVA.as_bytes()).unwrap();
        assert_eq!((java.comm, java.state), (b"C2 CompilerThre".as_slice(), b'S'));
        assert_eq!((java.minor_faults, java.major_faults, java.user_ticks, java.system_ticks), (26533, 11, 1507, 83));
        assert_eq!((java.threads, java.start_ticks), (27, 841022));
        let old = stat(OLD.as_bytes()).unwrap();
        assert_eq!((old.comm, old.state), (b"nio) D (x)".as_slice(), b'D'));
        assert_eq!((old.minor_faults, old.major_faults, old.threads, old.start_ticks), (5, 3, 2000, 99));
    }

    #[test]
    fn damaged_text_is_nothing() {
        for text in
            ["", "1", "1 (", "1 )x(", "1 ()", "1 () ", "1 () R", "1 (a) R 1 2 3", "1 (a) R 1 2 3 4 5 6 x 8 9 10 11 12"]
        {
            assert_eq!(stat(text.as_bytes()), None, "{text:?}");
        }
        // A thread's line cut anywhere never reads as another number than the whole one.
        let whole = stat(JAVA.as_bytes());
        for cut in JAVA.find("7264432128").unwrap()..JAVA.len() {
            assert_eq!(stat(&JAVA.as_bytes()[..cut]), whole, "{cut}");
        }
    }

    #[test]
    fn schedstat_of_several_kernels() {
        for (text, expected) in [
            ("151004 4322809 2\n", Some((151004, 4322809))),
            ("5 0 1", Some((5, 0))),
            ("0 7 1\n", Some((0, 7))),
            ("0 0 0\n", None),
            ("1 2\n", None),
            ("1 -2 3\n", None),
            ("", None),
        ] {
            let found = schedstat(text.as_bytes()).map(|stat| (stat.run_ns, stat.wait_ns));
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn no_bytes_are_too_strange() {
        proptest::proptest!(|(bytes: Vec<u8>, insert: Vec<u8>, at in 0_usize..200)| {
            let _ = (stat(&bytes), schedstat(&bytes));
            let mut line = JAVA.as_bytes().to_vec();
            let at = at.min(line.len());
            line.splice(at..at, insert);
            let _ = stat(&line);
        });
    }
}
