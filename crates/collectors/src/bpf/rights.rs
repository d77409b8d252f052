//! Whether this process may load programs, found from facts rather than from an error number: the
//! kernel answers every missing right with the same EPERM.

use std::path::Path;

use crate::Refusal;
use crate::host::effective_capabilities;
use crate::procfs;

const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

/// The inode of the machine's first pid namespace, which is the same on every Linux.
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// What stands in the way of loading, if anything does.
pub(crate) fn check() -> Result<(), Refusal> {
    let read = |path: &str| procfs::read_text(path).unwrap_or_default();
    let namespace = procfs::link("/proc/self/ns/pid");
    judge(&Facts {
        capabilities: effective_capabilities(&read("/proc/self/status")),
        has_btf: Path::new("/sys/kernel/btf/vmlinux").exists(),
        lockdown: read("/sys/kernel/security/lockdown"),
        pid_namespace: namespace.unwrap_or_default(),
    })
}

/// Whether this process may do what root may: more rights than it has would show nothing more.
pub(crate) fn are_all() -> bool {
    let status = procfs::read_text("/proc/self/status").unwrap_or_default();
    effective_capabilities(&status) >> CAP_SYS_ADMIN & 1 == 1
}

struct Facts {
    capabilities: u64,
    has_btf: bool,
    lockdown: String,
    pid_namespace: String,
}

fn judge(facts: &Facts) -> Result<(), Refusal> {
    let lacks = |bit: u32| facts.capabilities >> bit & 1 == 0;
    let missing: Vec<&str> = [("CAP_BPF", CAP_BPF), ("CAP_PERFMON", CAP_PERFMON)]
        .iter()
        .filter(|(_, bit)| lacks(*bit) && lacks(CAP_SYS_ADMIN))
        .map(|(name, _)| *name)
        .collect();
    if !missing.is_empty() {
        let why = format!("the process lacks {}", missing.join(" and "));
        return Err(Refusal::new(why, "run with sudo, or setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep on the program"));
    }
    if !facts.has_btf {
        let why = "this kernel has no BTF (/sys/kernel/btf/vmlinux), so programs cannot be fitted to it";
        return Err(Refusal::new(why, "a kernel built with CONFIG_DEBUG_INFO_BTF, as distributions ship"));
    }
    if facts.lockdown.contains("[confidentiality]") {
        let why = "the kernel is locked down for confidentiality: programs may not read its memory";
        return Err(Refusal::new(why, "boot with lockdown=integrity"));
    }
    if !facts.pid_namespace.is_empty() && facts.pid_namespace != FIRST_PID_NAMESPACE {
        let why = "Fathom runs in a pid namespace of its own, where the kernel's thread ids mean other threads";
        return Err(Refusal::new(why, "run on the host, or in a container with the host's pid namespace"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: u64 = 1 << CAP_BPF | 1 << CAP_PERFMON;

    #[test]
    fn what_stands_in_the_way_is_named() {
        for (capabilities, has_btf, lockdown, pid_namespace, names) in [
            (u64::MAX, true, "none [integrity] confidentiality", FIRST_PID_NAMESPACE, ""),
            (BOTH, true, "", "", ""),
            (1 << CAP_SYS_ADMIN, true, "[none] integrity", FIRST_PID_NAMESPACE, ""),
            (0, true, "", FIRST_PID_NAMESPACE, "CAP_BPF and CAP_PERFMON"),
            (1 << CAP_BPF, true, "", FIRST_PID_NAMESPACE, "lacks CAP_PERFMON"),
            (BOTH, false, "", FIRST_PID_NAMESPACE, "BTF"),
            (BOTH, true, "none integrity [confidentiality]", FIRST_PID_NAMESPACE, "locked down"),
            (BOTH, true, "", "pid:[4026532300]", "pid namespace"),
        ] {
            let facts = Facts { capabilities, has_btf, lockdown: lockdown.into(), pid_namespace: pid_namespace.into() };
            match judge(&facts) {
                Ok(()) => assert_eq!(names, "", "{capabilities:x} {lockdown} {pid_namespace}"),
                Err(refusal) => {
                    assert!(!names.is_empty() && refusal.why.contains(names), "{} for {names:?}", refusal.why);
                    assert!(!refusal.grant.is_empty(), "{}", refusal.why);
                }
            }
        }
    }

    #[test]
    fn capabilities_are_read_from_the_status() {
        for (status, expected) in [("Name:\tx\nCapEff:\t000000c000000000\n", BOTH), ("", 0), ("CapEff:\tno number", 0)]
        {
            assert_eq!(effective_capabilities(status), expected, "{status:?}");
        }
    }
}
