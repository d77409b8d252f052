//! Single lines of files of `/proc`. Knows no evidence.

use crate::columns::{all_words, number, words};
use crate::cursor::Cursor;

/// Modes of a CPU, in the order of the columns.
pub(super) const MODES: [&str; 10] =
    ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"];

/// What `stat` has of a process or thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat<'a> {
    pub(super) id: i64,
    pub(super) name: &'a [u8],
    pub(super) minor_faults: u64,
    pub(super) major_faults: u64,
    pub(super) user_ticks: u64,
    pub(super) system_ticks: u64,
    pub(super) threads: u64,
}

/// Requests to a disk since boot: count, merged, sectors, ms.
pub(super) type Requests = [u64; 4];

/// What `diskstats` has of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Disk<'a> {
    pub(super) name: &'a str,
    pub(super) read: Requests,
    pub(super) write: Requests,
    pub(super) in_flight: u64,
    pub(super) busy_ms: u64,
    pub(super) queue_ms: u64,
}

fn integer(word: &[u8]) -> Option<u64> {
    let mut cursor = Cursor(word);
    cursor.integer().filter(|_| cursor.is_done())
}

/// `4711 (C2 CompilerThre) S 1 …`: the name may hold blanks and parentheses.
pub(super) fn stat(line: &[u8]) -> Option<Stat<'_>> {
    let open = memchr::memchr(b'(', line).filter(|open| *open > 1)?;
    let close = memchr::memrchr(b')', line).filter(|close| *close > open)?;
    let id = i64::try_from(integer(line[..open].trim_ascii())?).ok()?;
    let fields = all_words(&line[close + 1..]);
    // The state is field 3 of `man proc_pid_stat`.
    let field = |wanted: usize| fields.get(wanted - 3).and_then(|word| integer(word));
    (fields.first()?.len() == 1).then_some(())?;
    Some(Stat {
        id,
        name: &line[open + 1..close],
        minor_faults: field(10)?,
        major_faults: field(12)?,
        user_ticks: field(14)?,
        system_ticks: field(15)?,
        threads: field(20)?,
    })
}

/// `151004 4322809 2`: ns on a CPU, ns that it waited for one, turns.
pub(super) fn scheduled(line: &[u8]) -> Option<[u64; 3]> {
    let mut words = words(line);
    let three = [integer(words.next()?)?, integer(words.next()?)?, integer(words.next()?)?];
    words.next().is_none().then_some(three)
}

/// `some avg10=0.00 … total=1266425`: the share and µs.
pub(super) fn pressure(line: &[u8]) -> Option<(&'static str, u64)> {
    let mut words = words(line);
    let share = match words.next()? {
        b"some" => "some",
        b"full" => "full",
        _ => return None,
    };
    let total = words.find_map(|word| word.strip_prefix(b"total="))?;
    Some((share, integer(total)?))
}

/// `MemTotal:       24684092 kB` in bytes; without a unit as it is.
pub(super) fn size(line: &[u8]) -> Option<(&str, f64)> {
    let mut words = words(line);
    let name = std::str::from_utf8(words.next()?.strip_suffix(b":")?).ok()?;
    let value = integer(words.next()?)? as f64;
    match (words.next(), words.next()) {
        (Some(b"kB"), None) => Some((name, value * 1_024.0)),
        (None, None) => Some((name, value)),
        _ => None,
    }
}

/// `pgfault 123`.
pub(super) fn named(line: &[u8]) -> Option<(&str, f64)> {
    let mut words = words(line);
    let name = std::str::from_utf8(words.next()?).ok()?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let value = integer(words.next()?)? as f64;
    (is_name && name.as_bytes()[0].is_ascii_lowercase() && words.next().is_none()).then_some((name, value))
}

/// `cpu0 1 2 3 …`: the CPU, none for all, and its ticks by mode.
pub(super) fn cpu(line: &[u8]) -> Option<(Option<&str>, Vec<u64>)> {
    let mut words = words(line);
    let name = std::str::from_utf8(words.next()?).ok()?;
    let number = name.strip_prefix("cpu")?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    let ticks: Vec<u64> = words.take(MODES.len()).map_while(integer).collect();
    // The oldest kernels have four modes.
    (ticks.len() >= 4).then_some(((!number.is_empty()).then_some(name), ticks))
}

/// `0.20 1.40 1.94 2/400 12345`.
pub(super) fn load(line: &[u8]) -> Option<[f64; 3]> {
    let words = all_words(line);
    let [one, five, fifteen, tasks, _] = words[..] else { return None };
    tasks.contains(&b'/').then_some([number(one)?, number(five)?, number(fifteen)?])
}

/// `   8       0 sda 1 2 3 4 …`
pub(super) fn disk(line: &[u8]) -> Option<Disk<'_>> {
    /// Numbers, name, and eleven numbers that every kernel has.
    const FIELDS: usize = 14;
    let words = all_words(line);
    (words.len() >= FIELDS).then_some(())?;
    (integer(words[0]).is_some() && integer(words[1]).is_some()).then_some(())?;
    let name = std::str::from_utf8(words[2])
        .ok()
        .filter(|name| name.starts_with(|first: char| first.is_ascii_alphabetic()))?;
    let mut numbers = [0; FIELDS - 3];
    for (number, word) in numbers.iter_mut().zip(&words[3..]) {
        *number = integer(word)?;
    }
    let [a, b, c, d, e, f, g, h, in_flight, busy_ms, queue_ms] = numbers;
    Some(Disk { name, read: [a, b, c, d], write: [e, f, g, h], in_flight, busy_ms, queue_ms })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_each_file() {
        let found = stat(b"7 (nio) D (x)) D 1 7 7 0 -1 1077936192 5 0 3 0 2 1 0 0 20 0 2000 0 99 10").unwrap();
        assert_eq!((found.id, found.name, found.minor_faults, found.major_faults), (7, &b"nio) D (x)"[..], 5, 3));
        assert_eq!((found.user_ticks, found.system_ticks, found.threads), (2, 1, 2_000));
        assert_eq!(scheduled(b"151004 4322809 2"), Some([151_004, 4_322_809, 2]));
        assert_eq!(pressure(b"full avg10=0,00 avg60=0.00 avg300=0.01 total=189"), Some(("full", 189)));
        assert_eq!(size(b"MemTotal:       24684092 kB"), Some(("MemTotal", 24_684_092.0 * 1_024.0)));
        assert_eq!(size(b"Threads:\t1"), Some(("Threads", 1.0)));
        assert_eq!(named(b"pgfault 12"), Some(("pgfault", 12.0)));
        assert_eq!(cpu(b"cpu  1 2 3 4 5"), Some((None, vec![1, 2, 3, 4, 5])));
        assert_eq!(cpu(b"cpu11 1 2 3 4"), Some((Some("cpu11"), vec![1, 2, 3, 4])));
        assert_eq!(load(b"0.20 1,40 1.94 2/400 12345"), Some([0.2, 1.4, 1.94]));
        let sda = disk(b"   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 0 0 0 0 0 0").unwrap();
        assert_eq!(
            (sda.name, sda.read, sda.write, sda.in_flight, sda.busy_ms, sda.queue_ms),
            ("sda", [1, 2, 3, 4], [5, 6, 7, 8], 9, 10, 11)
        );
    }

    #[test]
    fn what_is_no_such_line() {
        for line in [
            "",
            "1",
            "1 (",
            "x",
            "cpu",
            "cpufreq 1 2 3 4",
            "1 2",
            "1 2 3 4",
            "some",
            "a:b",
            "A 1",
            "1.2 3 4 5/6",
            "8 0 sda 1",
        ] {
            let line = line.as_bytes();
            assert!(stat(line).is_none() && pressure(line).is_none() && cpu(line).is_none() && load(line).is_none());
            assert!(disk(line).is_none() && scheduled(line).is_none() && size(line).is_none() && named(line).is_none());
        }
    }
}
