//! What the first touch of a page costs on this machine, by each way in which JDKs touch the heap before its use.
//!
//! Each round takes new memory, because a page is touched for the first time only once. The ways take turns, so that
//! other load on the machine affects all of them.

use std::fs;
use std::hint::black_box;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};

use fathom_report::touched::Way;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use rustix::time::{ClockId, clock_gettime};

/// Memory that is touched at once: little enough for a small container.
pub(super) const BYTES: usize = 32 << 20;

/// How often each way is tried.
pub(super) const ROUNDS: usize = 9;

const PAGE_BYTES: usize = 4 << 10;
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// So much that [`BYTES`] of it begin where a huge page may.
const MAPPED_BYTES: usize = BYTES + HUGE_PAGE_BYTES;

const PAGES: f64 = (BYTES / PAGE_BYTES) as f64;
const MIB: f64 = (BYTES >> 20) as f64;

/// What is done to each page.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Touch {
    Write,
    Add,
    ReadThenWrite,
    Populate,
}

const WAYS: [(Touch, &str, &str); 4] = [
    (Touch::Write, "write", "JDK 17 and older"),
    (Touch::Add, "atomic add of 0", "JDK 18 to 21.0.4"),
    (Touch::ReadThenWrite, "read, then write", "what that atomic does on Arm with LSE"),
    (Touch::Populate, "MADV_POPULATE_WRITE", "JDK 21.0.5, 22 and later, on Linux 5.14 and later"),
];

/// What one round took.
#[derive(Debug, Clone, Copy)]
struct Round {
    ns: f64,
    faults: f64,
    in_huge_pages: Option<f64>,
}

/// Each way, with small pages first.
pub(super) fn ways() -> Vec<Way> {
    let cases = [false, true].into_iter().flat_map(|huge| WAYS.map(|way| (way, huge)));
    let mut cases: Vec<_> = cases.map(|(way, huge)| (way, huge, Vec::new())).collect();
    for _ in 0..ROUNDS {
        for ((touch, ..), huge, rounds) in &mut cases {
            rounds.push(round(*touch, *huge));
        }
    }
    cases.into_iter().map(|((_, name, meaning), huge, rounds)| way(name, meaning, huge, rounds)).collect()
}

fn way(name: &'static str, meaning: &'static str, huge: bool, rounds: Vec<io::Result<Round>>) -> Way {
    let of = |rounds: &[Round]| Way {
        name,
        meaning,
        huge,
        ns_per_4_kib: median(rounds, |round| Some(round.ns / PAGES)).unwrap_or(0.0),
        faults_per_mib: median(rounds, |round| Some(round.faults / MIB)).unwrap_or(0.0),
        in_huge_pages: median(rounds, |round| round.in_huge_pages),
        refused: None,
    };
    match rounds.into_iter().collect::<io::Result<Vec<Round>>>() {
        Ok(rounds) => of(&rounds),
        Err(error) => Way { refused: Some(error.to_string()), ..of(&[]) },
    }
}

fn median(rounds: &[Round], of: impl Fn(&Round) -> Option<f64>) -> Option<f64> {
    fathom_causes::measure::median(rounds.iter().filter_map(of).collect())
}

fn round(touch: Touch, huge: bool) -> io::Result<Round> {
    let memory = Memory::new(huge)?;
    let (faults, began) = (minor_faults()?, cpu_ns());
    memory.touch(touch)?;
    let ns = cpu_ns() - began;
    Ok(Round { ns, faults: minor_faults()? - faults, in_huge_pages: memory.in_huge_pages() })
}

/// New memory, none of it touched, that begins where a huge page may.
struct Memory {
    mapped: *mut u8,
    aligned: *mut u8,
}

impl Memory {
    fn new(huge: bool) -> io::Result<Memory> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses where; nothing else is there.
        let mapped = unsafe { mmap_anonymous(ptr::null_mut(), MAPPED_BYTES, access, MapFlags::PRIVATE)? }.cast::<u8>();
        let aligned = mapped.map_addr(|address| address.next_multiple_of(HUGE_PAGE_BYTES));
        let memory = Memory { mapped, aligned };
        let advice = if huge { Advice::LinuxHugepage } else { Advice::LinuxNoHugepage };
        match memory.advise(advice) {
            // A kernel without huge pages gives small ones, as asked.
            Err(error) if !huge && error.kind() == io::ErrorKind::InvalidInput => Ok(memory),
            advised => advised.map(|()| memory),
        }
    }

    fn advise(&self, advice: Advice) -> io::Result<()> {
        // SAFETY: the range is inside of what was mapped, and none of these advices takes its contents away.
        unsafe { madvise(self.aligned.cast(), BYTES, advice)? };
        Ok(())
    }

    fn touch(&self, touch: Touch) -> io::Result<()> {
        if touch == Touch::Populate {
            return self.advise(Advice::LinuxPopulateWrite);
        }
        for at in (0..BYTES).step_by(PAGE_BYTES) {
            // SAFETY: inside of what was mapped, zeroed by the kernel, and read by no other thread.
            unsafe {
                let byte = self.aligned.add(at);
                match touch {
                    Touch::Add => {
                        // An addition of a known 0 whose result is not used would be left out by the compiler.
                        AtomicU8::from_ptr(byte).fetch_add(black_box(0), Ordering::Relaxed);
                    }
                    Touch::ReadThenWrite => byte.write_volatile(byte.read_volatile()),
                    Touch::Write | Touch::Populate => byte.write_volatile(0),
                }
            }
        }
        Ok(())
    }

    /// The part of it that the kernel has put in huge pages.
    fn in_huge_pages(&self) -> Option<f64> {
        let maps = fs::read_to_string("/proc/self/smaps").ok()?;
        huge_kb(&maps, self.aligned.addr()).map(|kb| (kb * 1024.0 / BYTES as f64).min(1.0))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length, and no reference into it is left.
        let _ = unsafe { munmap(self.mapped.cast(), MAPPED_BYTES) };
    }
}

/// Of the mapping that holds an address, in the format of `/proc/PID/smaps`.
fn huge_kb(maps: &str, address: usize) -> Option<f64> {
    let holds = |line: &&str| {
        let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
        let parsed = range
            .and_then(|(from, to)| Some((usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?)));
        parsed.is_some_and(|(from, to)| (from..to).contains(&address))
    };
    let of_it = maps.lines().skip_while(|line| !holds(line));
    let value = of_it.skip(1).find_map(|line| line.strip_prefix("AnonHugePages:"))?;
    value.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn cpu_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Faults of this thread that needed no disk: the tenth field of its `stat`, the eighth after the name.
fn minor_faults() -> io::Result<f64> {
    let stat = fs::read_to_string("/proc/thread-self/stat")?;
    let after_name = stat.rsplit_once(')').map(|(_, fields)| fields);
    let field = after_name.and_then(|fields| fields.split_ascii_whitespace().nth(7));
    field.and_then(|count| count.parse().ok()).ok_or_else(|| io::Error::other("/proc/thread-self/stat cannot be read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_touches_each_page_and_a_read_before_the_write_faults_twice() {
        let faults = |touch| round(touch, false).unwrap().faults;
        for touch in [Touch::Write, Touch::Add, Touch::Populate] {
            let once = faults(touch);
            assert!((PAGES..1.1 * PAGES).contains(&once), "{touch:?}: {once} faults of {PAGES} pages");
        }
        let twice = faults(Touch::ReadThenWrite);
        assert!((2.0 * PAGES..2.1 * PAGES).contains(&twice), "{twice} faults of {PAGES} pages");
    }

    #[test]
    fn huge_pages_are_those_of_the_mapping() {
        let maps = "7f0000000000-7f0000200000 rw-p 00000000 00:00 0\nSize: 2048 kB\nAnonHugePages:      2048 kB\n\
                    7f0000400000-7f0000600000 rw-p 00000000 00:00 0 [heap]\nAnonHugePages:         0 kB\n";
        assert_eq!(huge_kb(maps, 0x7f00_0010_0000), Some(2048.0));
        assert_eq!(huge_kb(maps, 0x7f00_0040_0000), Some(0.0));
        assert_eq!(huge_kb(maps, 0x7f00_0020_0000), None);
    }

    #[test]
    fn what_is_refused_says_so() {
        let rounds = vec![Ok(Round { ns: 1.0, faults: 1.0, in_huge_pages: None }), Err(io::Error::other("no memory"))];
        assert_eq!(way("write", "", false, rounds).refused.as_deref(), Some("no memory"));
    }
}
