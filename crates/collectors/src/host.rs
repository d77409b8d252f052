//! What this machine and this process's rights allow, for `fathom doctor`.

use crate::procfs;
use std::path::Path;

/// One thing that decides what can be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ability {
    /// What it is, as the kernel's documentation names it.
    pub name: &'static str,
    /// How it is here.
    pub value: String,
    /// What it means for recording; empty when it is no obstacle.
    pub means: &'static str,
}

/// Capabilities that open something, with their number.
const CAPABILITIES: &[(&str, u32)] =
    &[("CAP_SYS_PTRACE", 19), ("CAP_SYS_ADMIN", 21), ("CAP_SYSLOG", 34), ("CAP_PERFMON", 38), ("CAP_BPF", 39)];

/// Looks at the machine and at this process.
pub fn abilities() -> Vec<Ability> {
    let mut all = vec![kernel(), capabilities(&read("/proc/self/status"))];
    all.push(perf_event_paranoid(&read("/proc/sys/kernel/perf_event_paranoid")));
    all.push(lockdown(&read("/sys/kernel/security/lockdown")));
    all.push(btf(Path::new("/sys/kernel/btf/vmlinux").exists()));
    all.push(tracefs(
        ["/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"].iter().any(|p| procfs::file(p).is_ok()),
    ));
    all.push(kernel_symbols(&read("/proc/kallsyms")));
    all.push(ptrace_scope(&read("/proc/sys/kernel/yama/ptrace_scope")));
    all
}

fn read(path: &str) -> String {
    // A file that cannot be read is reported as unknown.
    procfs::read_text(path).map(|text| text.trim().to_owned()).unwrap_or_default()
}

fn kernel() -> Ability {
    let name = rustix::system::uname();
    let value = format!("{} {}", name.release().to_string_lossy(), name.machine().to_string_lossy());
    Ability { name: "kernel", value, means: "" }
}

/// The capabilities in force, one bit each, from `/proc/self/status`; none when it does not say.
pub(crate) fn effective_capabilities(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or_default();
    u64::from_str_radix(mask.trim(), 16).unwrap_or(0)
}

fn capabilities(status: &str) -> Ability {
    let held = effective_capabilities(status);
    let names: Vec<&str> = CAPABILITIES.iter().filter(|(_, bit)| held >> bit & 1 == 1).map(|(name, _)| *name).collect();
    let sees_kernel =
        names.contains(&"CAP_SYS_ADMIN") || (names.contains(&"CAP_PERFMON") && names.contains(&"CAP_BPF"));
    let means = if sees_kernel { "" } else { "kernel events need CAP_PERFMON and CAP_BPF: run with sudo" };
    let value = if names.is_empty() { "none of use".to_owned() } else { names.join(", ") };
    Ability { name: "capabilities", value, means }
}

fn perf_event_paranoid(text: &str) -> Ability {
    let level: Option<i64> = text.parse().ok();
    let means = match level {
        // Added by distributions.
        Some(level) if level >= 3 => "without CAP_PERFMON no perf events at all",
        Some(level) if level >= 2 => "without CAP_PERFMON no kernel stacks and no tracepoints",
        None => "perf events are not in this kernel",
        Some(_) => "",
    };
    Ability { name: "kernel.perf_event_paranoid", value: or_unknown(text), means }
}

/// The chosen one of `none [integrity] confidentiality`.
fn lockdown(text: &str) -> Ability {
    let chosen = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    let means = match chosen {
        Some("confidentiality") => {
            "BPF programs may not read kernel memory: only what needs no kernel events is recorded"
        }
        Some("integrity") => "no kprobes and no fentry; tracepoints and perf events, which Fathom uses, work",
        _ => "",
    };
    Ability { name: "lockdown", value: chosen.unwrap_or("unknown").to_owned(), means }
}

fn btf(is_there: bool) -> Ability {
    match is_there {
        true => Ability { name: "BTF", value: "present".to_owned(), means: "" },
        false => Ability {
            name: "BTF",
            value: "absent".to_owned(),
            means: "BPF programs cannot be fitted to this kernel (CONFIG_DEBUG_INFO_BTF)",
        },
    }
}

fn tracefs(is_readable: bool) -> Ability {
    match is_readable {
        true => Ability { name: "tracefs", value: "readable".to_owned(), means: "" },
        false => Ability {
            name: "tracefs",
            value: "not readable".to_owned(),
            means: "formats of tracepoints cannot be read",
        },
    }
}

/// Addresses are zeros for those who may not see them.
fn kernel_symbols(kallsyms: &str) -> Ability {
    let mut addresses = kallsyms.lines().take(64).filter_map(|line| line.split_whitespace().next());
    match addresses.any(|address| address.bytes().any(|digit| digit != b'0')) {
        true => Ability { name: "kernel symbols", value: "visible".to_owned(), means: "" },
        false => Ability {
            name: "kernel symbols",
            value: "hidden".to_owned(),
            means: "kernel stacks have no names (kernel.kptr_restrict, CAP_SYSLOG)",
        },
    }
}

fn ptrace_scope(text: &str) -> Ability {
    let means = match text {
        "3" => "memory of other processes cannot be read by anybody",
        _ => "",
    };
    Ability { name: "kernel.yama.ptrace_scope", value: or_unknown(text), means }
}

fn or_unknown(text: &str) -> String {
    if text.is_empty() { "unknown".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_the_way_is_said() {
        for (ability, hinders) in [
            (capabilities("CapEff:\t000001ffffffffff"), false),
            (capabilities("CapEff:\t0000000000000000"), true),
            (capabilities("CapEff:\t000000c000000000"), false),
            (capabilities(""), true),
            (perf_event_paranoid("4"), true),
            (perf_event_paranoid("2"), true),
            (perf_event_paranoid("-1"), false),
            (perf_event_paranoid(""), true),
            (lockdown("none [integrity] confidentiality"), true),
            (lockdown("[none] integrity confidentiality"), false),
            (lockdown(""), false),
            (kernel_symbols("0000000000000000 T _text\n0000000000000000 T x"), true),
            (kernel_symbols("ffffffff81000000 T _text"), false),
        ] {
            assert_eq!(!ability.means.is_empty(), hinders, "{ability:?}");
        }
    }

    #[test]
    fn every_ability_has_a_value_here() {
        let all = abilities();
        assert_eq!(all.len(), 8);
        assert!(all.iter().all(|ability| !ability.value.is_empty()), "{all:?}");
    }
}
