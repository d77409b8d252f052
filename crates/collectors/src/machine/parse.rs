//! `/proc/stat`, `/proc/interrupts` and `/proc/loadavg`, as text.

use crate::procfs::{lines, number, utf8, words};

/// Modes of a CPU, in the order of the columns. `guest` and `guest_nice` are also part of `user` and `nice`.
pub(super) const MODES: [&str; 10] =
    ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"];

/// Kinds of soft interrupts, in the order of the columns.
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// A line of `/proc/stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stat<'a> {
    /// Ticks of all CPUs, or of the one of this name, by mode. Old kernels have fewer modes.
    Cpu { cpu: Option<&'a str>, ticks: [Option<u64>; MODES.len()] },
    /// Context switches since boot.
    ContextSwitches(u64),
    /// Interrupts of all kinds since boot.
    Interrupts(u64),
    /// Tasks created since boot.
    Forks(u64),
    /// Tasks on a CPU or waiting for one, now.
    Runnable(u64),
    /// Tasks that wait for I/O, now.
    Blocked(u64),
    /// Soft interrupts of a kind since boot.
    Softirq(&'static str, u64),
}

/// Calls `take` for what is known in `/proc/stat`.
pub(super) fn stat<'a>(text: &'a [u8], mut take: impl FnMut(Stat<'a>)) {
    for line in lines(text) {
        let mut words = words(line);
        let Some(name) = words.next().and_then(utf8) else { continue };
        let mut first = || words.next().and_then(number);
        let one = match name {
            "ctxt" => first().map(Stat::ContextSwitches),
            "intr" => first().map(Stat::Interrupts),
            "processes" => first().map(Stat::Forks),
            "procs_running" => first().map(Stat::Runnable),
            "procs_blocked" => first().map(Stat::Blocked),
            "softirq" => {
                let kinds = SOFTIRQS.into_iter().zip(words.skip(1));
                kinds
                    .filter_map(|(kind, count)| Some((kind, number(count)?)))
                    .for_each(|(kind, count)| take(Stat::Softirq(kind, count)));
                None
            }
            cpu => cpu.strip_prefix("cpu").map(|id| Stat::Cpu {
                cpu: (!id.is_empty()).then_some(cpu),
                ticks: std::array::from_fn(|_| words.next().and_then(number)),
            }),
        };
        if let Some(one) = one {
            take(one);
        }
    }
}

/// Interrupts that have a name and no number (`TLB shootdowns`, `Rescheduling interrupts`): their
/// description and their count over all CPUs. Interrupts of devices are left out.
pub(super) fn named_interrupts(text: &[u8]) -> impl Iterator<Item = (&str, u64)> {
    let mut lines = lines(text);
    let cpus = lines.next().map_or(0, |heading| words(heading).count());
    lines.filter_map(move |line| {
        let mut fields = words(line);
        let id = fields.next()?.strip_suffix(b":")?;
        if number(id).is_some() {
            return None;
        }
        // `ERR` and `MIS` have one number, whatever the number of CPUs.
        let mut sum = 0_u64;
        let mut counted = 0;
        let mut rest = line.len();
        for field in fields.take(cpus) {
            let Some(count) = number(field) else { break };
            sum = sum.saturating_add(count);
            counted += 1;
            rest = place_behind(line, field);
        }
        let name = utf8(&line[rest..])?.trim();
        (counted > 0).then_some((if name.is_empty() { utf8(id)? } else { name }, sum))
    })
}

/// Where `line` goes on behind `part`, which is a part of it.
fn place_behind(line: &[u8], part: &[u8]) -> usize {
    (part.as_ptr() as usize + part.len()).saturating_sub(line.as_ptr() as usize).min(line.len())
}

/// The load averages of 1, 5 and 15 minutes.
pub(super) fn load(text: &[u8]) -> [Option<f64>; 3] {
    let mut fields = words(text);
    std::array::from_fn(|_| fields.next().and_then(utf8)?.parse().ok().filter(|load: &f64| load.is_finite()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Stat<'_>> {
        let mut found = Vec::new();
        stat(text.as_bytes(), |one| found.push(one));
        found
    }

    fn cpu<'a>(cpu: Option<&'a str>, known: &[u64]) -> Stat<'a> {
        Stat::Cpu { cpu, ticks: std::array::from_fn(|mode| known.get(mode).copied()) }
    }

    #[test]
    fn stat_of_several_kernels() {
        let new = "cpu  1727173 104989 173518 480465 2195 0 1175 770 0 0\ncpu1 1 2 3 4 5 6 7 8 9 10\nintr 19648182 0 0 9\n\
            ctxt 39557484\nbtime 1763620000\nprocesses 8\nprocs_running 3\nprocs_blocked 1\nsoftirq 100 0 10 0 30 4 0 5 6 0 7\n";
        let found = all(new);
        assert_eq!(found[0], cpu(None, &[1727173, 104989, 173518, 480465, 2195, 0, 1175, 770, 0, 0]));
        assert_eq!(found[1], cpu(Some("cpu1"), &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
        assert_eq!(
            found[2..7],
            [
                Stat::Interrupts(19648182),
                Stat::ContextSwitches(39557484),
                Stat::Forks(8),
                Stat::Runnable(3),
                Stat::Blocked(1)
            ]
        );
        assert_eq!((found.len(), &found[10], &found[16]), (17, &Stat::Softirq("NET_RX", 30), &Stat::Softirq("RCU", 7)));
        // Before steal and guest were known.
        assert_eq!(all("cpu 1 2 3 4 5 6 7\n"), [cpu(None, &[1, 2, 3, 4, 5, 6, 7])]);
        assert_eq!(all("cpu\nctxt\nctxt x\n\nsoftirq\n"), [cpu(None, &[])]);
    }

    #[test]
    fn interrupts_of_two_architectures() {
        let x86 = "           CPU0       CPU1       \n  0:         22          0   IO-APIC   2-edge      timer\nLOC:    6655058    7126017   Local timer interrupts\n\
            TLB:     550317     578195   TLB shootdowns\nERR:          3\nMIS:          0\nPIW:  1 2\n";
        let arm = "           CPU0       CPU1       CPU2 \n 11:       5422       4804  7    GICv3  27 Level     arch_timer\nIPI0:       100        200        300       Rescheduling interrupts\nErr:          0\n";
        let found = |text: &str| {
            named_interrupts(text.as_bytes()).map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>()
        };
        assert_eq!(
            found(x86),
            ["Local timer interrupts 13781075", "TLB shootdowns 1128512", "ERR 3", "MIS 0", "PIW 3"]
        );
        assert_eq!(found(arm), ["Rescheduling interrupts 600", "Err 0"]);
        assert_eq!(found("CPU0\nTLB:\nTLB: x y\n"), [""; 0]);
    }

    #[test]
    fn loads() {
        assert_eq!(load(b"1.80 1.30 1.25 3/210 6648\n"), [Some(1.8), Some(1.3), Some(1.25)]);
        assert_eq!(load(b"inf nan"), [None; 3]);
    }

    #[test]
    fn no_bytes_are_too_strange() {
        proptest::proptest!(|(bytes: Vec<u8>, text in "(cpu|softirq|TLB:|CPU0|[0-9]|[ \n])*")| {
            for bytes in [&bytes, text.as_bytes()] {
                stat(bytes, |_| {});
                let _ = (named_interrupts(bytes).count(), load(bytes));
            }
        });
    }
}
