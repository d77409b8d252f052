//! Gives up root before untrusted bytes are read.
//!
//! A command that explains files needs to read these files and to write its output, and no other rights of root. So a
//! bug in a parser has only these rights:
//!
//! * Landlock: files are read below the paths that were named, and written where the output goes; no connection is made.
//! * Capabilities: those for reading and writing files of others stay, within these paths; all others are dropped.
//! * seccomp: no program can be started, no process inspected or signalled, no kernel object of the dangerous kinds made.
//! * None of it can be undone: no new privileges.
//!
//! This is done before the program has threads, which inherit it. Only root is confined: other users have little to
//! give up, and no other user to give it to. Where the kernel lacks Landlock (before 5.13) the other parts hold.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetCreatedAttr, path_beneath_rules};
use rustix::process::{Resource, Rlimit, geteuid, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};

use crate::system::Needs;

/// What the rules know of: rights that later kernels added are left as they are.
const KNOWN: ABI = ABI::V4;

/// What any command reads: time zones, and how many processors there are for it.
const READ_BY_ALL: &[&str] = &[
    "/etc/localtime",
    "/usr/share/zoneinfo",
    "/proc/self",
    "/proc/meminfo",
    "/sys/fs/cgroup",
    "/sys/devices/system/cpu",
];

/// No file becomes longer, in bytes: what archives unpack to at most.
const FILE_MAX_BYTES: u64 = 8 << 30;

/// What no command that reads files ever asks of the kernel.
const NEVER: &[libc::c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kill,
    libc::SYS_pidfd_send_signal,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_open_by_handle_at,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_connect,
];

/// Gives up everything else than these, if this is root.
pub(crate) fn confine(needs: &Needs) -> Result<()> {
    if !geteuid().is_root() {
        return Ok(());
    }
    let confined = files(needs).and_then(|()| capabilities(needs)).and_then(|()| limits()).and_then(|()| calls());
    confined.context("root's rights cannot be given up before files are read; --no-sandbox keeps them")
}

fn files(needs: &Needs) -> Result<()> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let reads = READ_BY_ALL.iter().map(PathBuf::from).chain(needs.reads.iter().map(|path| real(path)));
    let writes = [std::env::temp_dir()].into_iter().chain(needs.writes.iter().cloned());
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::from_all(KNOWN))?
        .create()?
        .add_rules(path_beneath_rules(reads, read))?
        .add_rules(path_beneath_rules(
            writes.map(|path| real(&path)),
            AccessFs::from_all(KNOWN) & !AccessFs::Execute,
        ))?;
    ruleset.restrict_self()?;
    Ok(())
}

/// What a link leads to is what is read.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Files of others are read; what is written is given to who called sudo.
fn capabilities(needs: &Needs) -> Result<()> {
    let mut kept = CapabilitySet::DAC_READ_SEARCH;
    if !needs.writes.is_empty() {
        kept |= CapabilitySet::DAC_OVERRIDE | CapabilitySet::CHOWN | CapabilitySet::FOWNER;
    }
    let now = rustix::thread::capabilities(None)?;
    for other in (now.permitted - kept).iter() {
        // Of a set without this one nothing has to be removed.
        let _ = remove_capability_from_bounding_set(other);
    }
    let kept = now.permitted & kept;
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() })?;
    Ok(())
}

fn limits() -> Result<()> {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none)?;
    let longest = Rlimit { current: Some(FILE_MAX_BYTES), maximum: Some(FILE_MAX_BYTES) };
    setrlimit(Resource::Fsize, longest)?;
    Ok(())
}

fn calls() -> Result<()> {
    let rules: BTreeMap<i64, Vec<_>> = NEVER.iter().map(|call| (*call, Vec::new())).collect();
    let refuse = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let here: TargetArch =
        std::env::consts::ARCH.try_into().map_err(|_| anyhow!("no system calls of this machine are known"))?;
    let program: BpfProgram = SeccompFilter::new(rules, SeccompAction::Allow, refuse, here)?.try_into()?;
    Ok(apply_filter(&program)?)
}
