//! Which number of which file a line holds. Knows no evidence.
//!
//! Most names occur in one file only. Where a name occurs in several files, the first line of a file shows which one it is.

use crate::cursor::Cursor;
use crate::lines;
use crate::proc_files::lines_of::{self, Disk, Stat};
use crate::proc_files::place::{self, Place};
use crate::time::date_line;

/// Lines of a beginning that are surely of `/proc`, where it is one.
const SURE_LEAST: usize = 3;

/// From one round to the next a whole number that may be a time rises by no more: sizes of memory look like seconds.
const ROUND_MAX_NS: i64 = 86_400 * 1_000_000_000;

/// Fields of `cpu.stat`.
const QUOTA: [&str; 5] = ["usage_usec", "nr_periods", "nr_throttled", "throttled_usec", "throttled_time"];

/// Names that begin a file whose other names also stand in `vmstat`: `memory.stat` of both versions, `memory.events`.
const BEGIN_OTHERS: [&str; 3] = ["anon", "cache", "low"];

/// Names of `/proc/stat` beside its CPUs.
const OF_STAT: [&str; 4] = ["ctxt", "processes", "procs_running", "procs_blocked"];

/// What a line says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item<'a> {
    /// When what follows was, and whether the zone is known.
    Time(i64, bool),
    /// Whose `status` this is.
    Pid(i64),
    Status(&'a str, f64),
    Rollup(&'a str, f64),
    Meminfo(&'a str, f64),
    Event(&'a str, f64),
    Quota(&'a str, f64),
    Stat(Stat<'a>, Option<i64>),
    /// Time on a CPU and time that it waited for one, of a thread.
    Scheduled(Option<i64>, [u64; 3]),
    /// Resource, share, µs.
    Pressure(&'static str, &'static str, u64, bool),
    Cpu(Option<&'a str>, Vec<u64>),
    Machine(&'a str, f64),
    Load([f64; 3]),
    Disk(Disk<'a>),
}

/// Which file is being read, where names do not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Section {
    #[default]
    None,
    Status,
    Rollup,
    Meminfo,
    Vmstat,
}

/// Reads lines.
#[derive(Debug, Default)]
pub(super) struct Parser {
    section: Section,
    place: Place,
    last_ns: Option<i64>,
    /// Pressure files that follow each other without names, and whether the order of names was taken for theirs.
    pressure: Vec<(&'static str, u64)>,
    pub(super) pressure_by_order: bool,
    /// Pressure of which nothing says what it is of.
    pub(super) pressure_unknown: i64,
    /// Lines of files that are not read.
    pub(super) others: i64,
}

/// Whether a file begins with files of `/proc`.
pub(super) fn is_proc(head: &[u8]) -> bool {
    let mut parser = Parser::default();
    let mut sure = 0;
    for (nth, line) in lines::of_head(head).filter(|line| !line.trim_ascii().is_empty()).enumerate() {
        let (mut says, mut is_sure) = (place::heading(line).is_some(), false);
        parser.line(line, &mut |item| {
            says = true;
            is_sure |= is_unmistakable(&item);
        });
        says |= parser.section != Section::None || !parser.pressure.is_empty();
        if nth == 0 && !says {
            return false;
        }
        sure += usize::from(is_sure || lines_of::pressure(line).is_some());
    }
    // A loop may also ask the JVM: that says more.
    sure >= SURE_LEAST && memchr::memmem::find(head, b"Full thread dump").is_none()
}

fn is_unmistakable(item: &Item<'_>) -> bool {
    match item {
        Item::Status(name, _) | Item::Rollup(name, _) => {
            name.starts_with("Vm") || name.starts_with("Rss") || name.starts_with("Pss")
        }
        Item::Meminfo(..) | Item::Event(..) | Item::Quota(..) | Item::Stat(..) | Item::Cpu(..) | Item::Disk(..) => true,
        Item::Time(..)
        | Item::Pid(_)
        | Item::Scheduled(..)
        | Item::Pressure(..)
        | Item::Machine(..)
        | Item::Load(_) => false,
    }
}

/// Lines of files that are read, of which nothing is taken.
fn is_known_shape(line: &[u8]) -> bool {
    let begins = |start: &&[u8]| line.starts_with(start);
    line.is_empty() || lines_of::named(line).is_some() || [&b"intr "[..], b"softirq "].iter().any(begins)
}

impl Parser {
    /// Gives what a line says.
    pub(super) fn line<'a>(&mut self, line: &'a [u8], take: &mut dyn FnMut(Item<'a>)) {
        let line = line.trim_ascii_end();
        if let Some(place) = place::heading(line) {
            return self.begin(place, take);
        }
        let line = match place::prefix(line) {
            Some((place, rest)) if place == self.place => rest,
            Some((place, rest)) => {
                self.begin(place, take);
                rest
            }
            None => line,
        };
        if let Some(pressure) = lines_of::pressure(line) {
            return self.pressed(pressure, take);
        }
        self.flush(take);
        if let Some((ns, is_known)) = self.time(line) {
            self.begin(Place::default(), take);
            return take(Item::Time(ns, is_known));
        }
        match self.item(line) {
            Some(item) => take(item),
            None => self.others += i64::from(self.section == Section::None && !is_known_shape(line)),
        }
    }

    /// Gives what is left at the end of a file.
    pub(super) fn end<'a>(&mut self, take: &mut dyn FnMut(Item<'a>)) {
        self.begin(Place::default(), take);
    }

    fn begin<'a>(&mut self, place: Place, take: &mut dyn FnMut(Item<'a>)) {
        self.flush(take);
        self.section = match place.file.as_str() {
            "meminfo" => Section::Meminfo,
            "vmstat" => Section::Vmstat,
            "smaps_rollup" => Section::Rollup,
            "status" => Section::Status,
            _ => Section::None,
        };
        self.place = place;
    }

    /// A time that is all there is in a line, perhaps between marks.
    fn time(&mut self, line: &[u8]) -> Option<(i64, bool)> {
        let is_mark = |byte: &u8| matches!(byte, b'=' | b'-' | b'#' | b'*' | b'_' | b'[' | b']' | b'<' | b'>' | b' ');
        let from = line.iter().position(|byte| !is_mark(byte))?;
        let to = line.iter().rposition(|byte| !is_mark(byte))?;
        let text = &line[from..=to];
        let found = date_line(text)?;
        let rises = self.last_ns.is_none_or(|last_ns| (0..=ROUND_MAX_NS).contains(&found.0.saturating_sub(last_ns)));
        if text.iter().all(u8::is_ascii_digit) && !rises {
            return None;
        }
        self.last_ns = Some(found.0);
        Some(found)
    }

    fn item<'a>(&mut self, line: &'a [u8]) -> Option<Item<'a>> {
        if line.ends_with(b"[rollup]") {
            self.section = Section::Rollup;
            return None;
        }
        if let Some((name, value)) = lines_of::size(line) {
            return self.size(name, value);
        }
        if line.starts_with(b"Name:") {
            self.section = Section::Status;
        }
        // Lines of `status` with other values end none.
        if memchr::memchr(b':', line).is_some() {
            return None;
        }
        if let Some((name, value)) = lines_of::named(line) {
            return self.named(name, value);
        }
        self.section = Section::None;
        let tid = self.place.tid;
        let whole = |text: &[u8]| Cursor(text).peek().is_some_and(|first| first.is_ascii_digit());
        lines_of::cpu(line)
            .map(|(cpu, ticks)| Item::Cpu(cpu, ticks))
            .or_else(|| lines_of::stat(line).map(|stat| Item::Stat(stat, tid)))
            .or_else(|| lines_of::scheduled(line).filter(|_| whole(line)).map(|three| Item::Scheduled(tid, three)))
            .or_else(|| lines_of::load(line).map(Item::Load))
            .or_else(|| lines_of::disk(line).map(Item::Disk))
    }

    fn size<'a>(&mut self, name: &'a str, value: f64) -> Option<Item<'a>> {
        match name {
            "MemTotal" => self.section = Section::Meminfo,
            "Pid" => {
                self.section = Section::Status;
                return Some(Item::Pid(value as i64));
            }
            _ => {}
        }
        match self.section {
            Section::Meminfo => Some(Item::Meminfo(name, value)),
            Section::Rollup => Some(Item::Rollup(name, value)),
            // A part of a file may begin anywhere; these names stand in no other.
            _ if name.starts_with("Vm") || name.starts_with("Rss") || name == "HugetlbPages" || name == "Threads" => {
                Some(Item::Status(name, value))
            }
            _ if name.starts_with("Mem") || name.starts_with("Swap") => Some(Item::Meminfo(name, value)),
            _ => None,
        }
    }

    fn named<'a>(&mut self, name: &'a str, value: f64) -> Option<Item<'a>> {
        if OF_STAT.contains(&name) {
            return Some(Item::Machine(name, value));
        }
        if QUOTA.contains(&name) {
            self.section = Section::None;
            return Some(Item::Quota(name, value));
        }
        let is_group = self.place.is_of_group || BEGIN_OTHERS.contains(&name);
        self.section = match name {
            _ if is_group => Section::None,
            "nr_free_pages" => Section::Vmstat,
            _ if self.section == Section::Vmstat => Section::Vmstat,
            _ => Section::None,
        };
        (self.section == Section::Vmstat).then_some(Item::Event(name, value))
    }

    fn pressed<'a>(&mut self, (share, us): (&'static str, u64), take: &mut dyn FnMut(Item<'a>)) {
        /// A machine has four.
        const LINES_MAX: usize = 64;
        let resource = match self.place.file.as_str() {
            "cpu" | "cpu.pressure" => "cpu",
            "io" | "io.pressure" => "io",
            "memory" | "memory.pressure" => "memory",
            "" if self.pressure.len() < LINES_MAX => return self.pressure.push((share, us)),
            _ => return,
        };
        take(Item::Pressure(resource, share, us, self.place.is_of_group));
    }

    /// Gives pressure files without names: `cat /proc/pressure/*` prints them by name, and that of interrupts has no `some`.
    fn flush<'a>(&mut self, take: &mut dyn FnMut(Item<'a>)) {
        const IN_ORDER: [&str; 3] = ["cpu", "io", "memory"];
        let pressure = std::mem::take(&mut self.pressure);
        let files = pressure.iter().filter(|(share, _)| *share == "some").count();
        if files != IN_ORDER.len() {
            self.pressure_unknown += pressure.len() as i64;
            return;
        }
        self.pressure_by_order = true;
        let (mut resources, mut resource, mut before) = (IN_ORDER.into_iter(), None, "full");
        for (share, us) in pressure {
            match share {
                "some" => resource = resources.next(),
                // Two of these in a row: the second is of interrupts.
                _ if before == "full" => resource = None,
                _ => {}
            }
            before = share;
            resource.into_iter().for_each(|resource| take(Item::Pressure(resource, share, us, false)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str) -> Vec<String> {
        let (mut parser, mut found) = (Parser::default(), Vec::new());
        for line in text.lines() {
            parser.line(line.as_bytes(), &mut |item| found.push(format!("{item:?}")));
        }
        parser.end(&mut |item| found.push(format!("{item:?}")));
        found
    }

    #[test]
    fn files_one_after_the_other() {
        let text = "1795156200.5\nName:\tjava\nState:\tS (sleeping)\nPid:\t7\nVmRSS:\t 2 kB\nGroups:\t \nThreads:\t9\n5 6 7\n\
            MemTotal: 1 kB\nAnonHugePages: 2 kB\nnr_free_pages 3\npgfault 4\n1-2 ---p 00000000 00:00 0 [rollup]\nRss: 1 kB\nAnonHugePages: 0 kB\n\
            usage_usec 1\npgfault 5\nanon 1\npgfault 9\n";
        let expected = [
            "Time(1795156200500000000, true)",
            "Pid(7)",
            "Status(\"VmRSS\", 2048.0)",
            "Status(\"Threads\", 9.0)",
            "Scheduled(None, [5, 6, 7])",
            "Meminfo(\"MemTotal\", 1024.0)",
            "Meminfo(\"AnonHugePages\", 2048.0)",
            "Event(\"nr_free_pages\", 3.0)",
            "Event(\"pgfault\", 4.0)",
            "Rollup(\"Rss\", 1024.0)",
            "Rollup(\"AnonHugePages\", 0.0)",
            "Quota(\"usage_usec\", 1.0)",
        ];
        assert_eq!(items(text), expected);
    }

    #[test]
    fn pressure_by_name_or_by_order() {
        let line = |share: &str, us: u32| format!("{share} avg10=0.00 avg60=0.00 avg300=0.00 total={us}\n");
        let cat = [
            line("some", 1),
            line("full", 2),
            line("some", 3),
            line("full", 4),
            line("full", 5),
            line("some", 6),
            line("full", 7),
        ];
        let resources = |text: &str| items(text).iter().map(|item| item.replace(", false)", "")).collect::<Vec<_>>();
        let expected = [
            "cpu\", \"some\", 1",
            "cpu\", \"full\", 2",
            "io\", \"some\", 3",
            "io\", \"full\", 4",
            "memory\", \"some\", 6",
            "memory\", \"full\", 7",
        ];
        assert_eq!(resources(&cat.concat()), expected.map(|rest| format!("Pressure(\"{rest}")));
        let named =
            format!("/proc/pressure/memory:{}==> /sys/fs/cgroup/io.pressure <==\n{}", line("some", 1), line("full", 2));
        assert_eq!(items(&named), ["Pressure(\"memory\", \"some\", 1, false)", "Pressure(\"io\", \"full\", 2, true)"]);
        assert!(items(&cat[..4].concat()).is_empty(), "of which resources is not known");
    }

    #[test]
    fn sizes_of_memory_are_no_times() {
        let times = |text: &str| items(text).iter().filter(|item| item.starts_with("Time")).count();
        assert_eq!(times("1795156200\n1823456789\n1795156201\n"), 2);
        assert_eq!(times("=== 2026-11-20T06:30:00Z ===\nFri Nov 20 06:30:01 UTC 2026\n"), 2);
    }

    #[test]
    fn what_is_recognised() {
        let status = "Name:\tjava\nPid:\t7\nVmPeak:\t 3 kB\nVmSize:\t 3 kB\nVmRSS:\t 2 kB\n";
        for (head, expected) in [
            (format!("1795156200\n{status}"), true),
            (status.to_owned(), true),
            ("MemTotal: 1 kB\nMemFree: 1 kB\nMemAvailable: 1 kB\n".to_owned(), true),
            (format!("# a note\n{status}"), false),
            (format!("2026-11-20T06:30:00Z INFO started\n{status}"), false),
            ("1795156200\n1795156201\n1795156202\n".to_owned(), false),
            ("5 6 7\n5 6 8\n5 6 9\n5 6 10\n".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(is_proc(head.as_bytes()), expected, "{head}");
        }
    }
}
