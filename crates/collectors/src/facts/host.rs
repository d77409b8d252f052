//! Facts about the machine: kernel, CPU, clock, and the settings that decide how memory, scheduler
//! and network behave.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fathom_evidence::kinds::subject;
use rustix::system::uname;

use super::parse;
use super::sheet::Sheet;
use crate::procfs::{self, text_of};

/// Settings, by the name that people know them by and the file that holds them. Of a list of choices
/// the chosen one is kept.
const SETTINGS: &[(&str, &str)] = &[
    ("clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ("cpus_online", "/sys/devices/system/cpu/online"),
    ("cpus_isolated", "/sys/devices/system/cpu/isolated"),
    ("numa_nodes_online", "/sys/devices/system/node/online"),
    ("smt", "/sys/devices/system/cpu/smt/control"),
    ("cpu_governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    ("hypervisor", "/sys/hypervisor/type"),
    ("machine_vendor", "/sys/class/dmi/id/sys_vendor"),
    ("machine_product", "/sys/class/dmi/id/product_name"),
    ("transparent_hugepage.enabled", "/sys/kernel/mm/transparent_hugepage/enabled"),
    ("transparent_hugepage.defrag", "/sys/kernel/mm/transparent_hugepage/defrag"),
    ("transparent_hugepage.shmem_enabled", "/sys/kernel/mm/transparent_hugepage/shmem_enabled"),
    ("transparent_hugepage.khugepaged.max_ptes_none", "/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none"),
    (
        "transparent_hugepage.khugepaged.scan_sleep_millisecs",
        "/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs",
    ),
    ("ksm.run", "/sys/kernel/mm/ksm/run"),
    ("lru_gen.enabled", "/sys/kernel/mm/lru_gen/enabled"),
    ("zswap.enabled", "/sys/module/zswap/parameters/enabled"),
    ("vm.overcommit_memory", "/proc/sys/vm/overcommit_memory"),
    ("vm.overcommit_ratio", "/proc/sys/vm/overcommit_ratio"),
    ("vm.swappiness", "/proc/sys/vm/swappiness"),
    ("vm.dirty_ratio", "/proc/sys/vm/dirty_ratio"),
    ("vm.dirty_background_ratio", "/proc/sys/vm/dirty_background_ratio"),
    ("vm.dirty_bytes", "/proc/sys/vm/dirty_bytes"),
    ("vm.dirty_background_bytes", "/proc/sys/vm/dirty_background_bytes"),
    ("vm.dirty_expire_centisecs", "/proc/sys/vm/dirty_expire_centisecs"),
    ("vm.dirty_writeback_centisecs", "/proc/sys/vm/dirty_writeback_centisecs"),
    ("vm.min_free_kbytes", "/proc/sys/vm/min_free_kbytes"),
    ("vm.watermark_scale_factor", "/proc/sys/vm/watermark_scale_factor"),
    ("vm.max_map_count", "/proc/sys/vm/max_map_count"),
    ("vm.zone_reclaim_mode", "/proc/sys/vm/zone_reclaim_mode"),
    ("vm.compaction_proactiveness", "/proc/sys/vm/compaction_proactiveness"),
    ("vm.nr_hugepages", "/proc/sys/vm/nr_hugepages"),
    ("kernel.numa_balancing", "/proc/sys/kernel/numa_balancing"),
    ("kernel.sched_rt_runtime_us", "/proc/sys/kernel/sched_rt_runtime_us"),
    ("kernel.sched_autogroup_enabled", "/proc/sys/kernel/sched_autogroup_enabled"),
    ("kernel.sched_cfs_bandwidth_slice_us", "/proc/sys/kernel/sched_cfs_bandwidth_slice_us"),
    ("kernel.sched_schedstats", "/proc/sys/kernel/sched_schedstats"),
    ("kernel.task_delayacct", "/proc/sys/kernel/task_delayacct"),
    ("kernel.perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid"),
    ("kernel.kptr_restrict", "/proc/sys/kernel/kptr_restrict"),
    ("kernel.unprivileged_bpf_disabled", "/proc/sys/kernel/unprivileged_bpf_disabled"),
    ("kernel.yama.ptrace_scope", "/proc/sys/kernel/yama/ptrace_scope"),
    ("kernel.pid_max", "/proc/sys/kernel/pid_max"),
    ("lockdown", "/sys/kernel/security/lockdown"),
    ("sched.base_slice_ns", "/sys/kernel/debug/sched/base_slice_ns"),
    ("sched.features", "/sys/kernel/debug/sched/features"),
    ("sched.preempt", "/sys/kernel/debug/sched/preempt"),
    ("net.core.rmem_default", "/proc/sys/net/core/rmem_default"),
    ("net.core.rmem_max", "/proc/sys/net/core/rmem_max"),
    ("net.core.wmem_max", "/proc/sys/net/core/wmem_max"),
    ("net.core.somaxconn", "/proc/sys/net/core/somaxconn"),
    ("net.core.netdev_max_backlog", "/proc/sys/net/core/netdev_max_backlog"),
    ("net.ipv4.tcp_rmem", "/proc/sys/net/ipv4/tcp_rmem"),
    ("net.ipv4.tcp_wmem", "/proc/sys/net/ipv4/tcp_wmem"),
    ("net.ipv4.udp_rmem_min", "/proc/sys/net/ipv4/udp_rmem_min"),
    ("net.ipv4.tcp_max_syn_backlog", "/proc/sys/net/ipv4/tcp_max_syn_backlog"),
    ("net.ipv4.tcp_congestion_control", "/proc/sys/net/ipv4/tcp_congestion_control"),
];

/// The kernel's monitor of memory accesses (`CONFIG_DAMON_SYSFS`).
const DAMON: &str = "/sys/kernel/mm/damon/admin/kdamonds";

/// Lines of the kernel's configuration.
const OF_KERNEL: &[(&str, &str)] =
    &[("CONFIG_HZ=", "kernel_hz"), ("CONFIG_PREEMPT_DYNAMIC=", "kernel_preempt_dynamic")];

/// What the kernel does against each weakness of the CPU.
const MITIGATIONS: &str = "/sys/devices/system/cpu/vulnerabilities";

/// Writes them.
pub(super) fn note(sheet: &mut Sheet<'_>) {
    let name = uname();
    sheet.add(subject::HOST, "kernel", &name.release().to_string_lossy());
    sheet.add(subject::HOST, "kernel_build", &name.version().to_string_lossy());
    sheet.add(subject::HOST, "architecture", &name.machine().to_string_lossy());
    sheet.add_some(subject::HOST, "kernel_options", text_of("/proc/cmdline").map(|text| parse::kernel_options(&text)));
    let uptime = text_of("/proc/uptime").and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    sheet.add_some(subject::HOST, "uptime_s", uptime.map(|seconds| format!("{seconds:.0}")));
    for (key, path) in SETTINGS {
        sheet.add_some(subject::HOST, key, text_of(path).map(|text| parse::chosen(&text).to_owned()));
    }
    note_cpus(sheet);
    note_configuration(sheet, &name.release().to_string_lossy());
    for weakness in procfs::names(MITIGATIONS) {
        let does = text_of(Path::new(MITIGATIONS).join(&weakness));
        sheet.add_some(subject::HOST, &format!("mitigation.{weakness}"), does);
    }
    sheet.add_some(subject::HOST, "memory_gib", memory_gib());
    let mut buffer = Vec::new();
    for (name, bytes) in parse::swaps(sheet.read("/proc/swaps", &mut buffer)) {
        sheet.add(subject::HOST, &format!("swap {name}"), &bytes.to_string());
    }
    note_watermarks(sheet, &mut buffer);
    let damon = damon_actions(Path::new(DAMON));
    sheet.add_some(subject::HOST, "damon.actions", (!damon.is_empty()).then(|| damon.join(" ")));
}

fn note_configuration(sheet: &mut Sheet<'_>, release: &str) {
    let text = text_of(format!("/boot/config-{release}")).unwrap_or_default();
    for (start, key) in OF_KERNEL {
        let value = text.lines().find_map(|line| line.strip_prefix(start));
        sheet.add_some(subject::HOST, key, value.map(str::to_owned));
    }
}

/// In whole GiB: machines of one kind differ by what their firmware takes.
fn memory_gib() -> Option<String> {
    let text = text_of("/proc/meminfo")?;
    let kilobytes =
        text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Some((kilobytes?.saturating_add(1 << 19) >> 20).to_string())
}

/// What the kernel's DAMON does to memory as it is used, by the schemes of those of its threads that run.
fn damon_actions(admin: &Path) -> Vec<String> {
    let is_on = |thread: &PathBuf| read_line(&thread.join("state")).is_some_and(|state| state == "on");
    let schemes = numbered(admin).into_iter().filter(is_on).flat_map(|thread| {
        numbered(&thread.join("contexts")).into_iter().flat_map(|context| numbered(&context.join("schemes")))
    });
    let actions: BTreeSet<String> = schemes.filter_map(|scheme| read_line(&scheme.join("action"))).collect();
    actions.into_iter().collect()
}

/// The folders of a folder that are called by numbers.
fn numbered(folder: &Path) -> Vec<PathBuf> {
    let is_number = |name: &String| name.parse::<u32>().is_ok();
    procfs::names(folder).filter(is_number).map(|name| folder.join(name)).collect()
}

fn read_line(file: &Path) -> Option<String> {
    text_of(file.to_str()?).map(|text| text.trim().to_owned())
}

fn note_watermarks(sheet: &mut Sheet<'_>, buffer: &mut Vec<u8>) {
    let marks = parse::watermarks(sheet.read("/proc/zoneinfo", buffer));
    let page_bytes = rustix::param::page_size() as u64;
    for (key, pages) in [("memory_low_watermark_bytes", marks.low), ("memory_high_watermark_bytes", marks.high)] {
        let bytes = pages.saturating_mul(page_bytes).to_string();
        sheet.add_some(subject::HOST, key, (pages > 0).then_some(bytes));
    }
}

fn note_cpus(sheet: &mut Sheet<'_>) {
    let mut buffer = Vec::new();
    let cpus = parse::cpus(sheet.read("/proc/cpuinfo", &mut buffer));
    if cpus.count > 0 {
        sheet.add(subject::HOST, "cpus", &cpus.count.to_string());
    }
    for (key, value) in &cpus.facts {
        sheet.add(subject::HOST, key, value);
    }
    let midr: Vec<String> = cpus.midr.iter().map(|midr| format!("{midr:#010x}")).collect();
    sheet.add_some(subject::HOST, "cpu_midr", (!midr.is_empty()).then(|| midr.join(" ")));
    sheet.add_some(subject::HOST, "cpu_ctr_el0", cache_type_register().map(|register| format!("{register:#x}")));
}

/// The cache type register as user space sees it: whether instruction caches need maintenance.
#[cfg(target_arch = "aarch64")]
fn cache_type_register() -> Option<u64> {
    let register: u64;
    // SAFETY: reads a register that Linux lets user space read (or traps and answers), and nothing else.
    unsafe { std::arch::asm!("mrs {}, ctr_el0", out(reg) register, options(nomem, nostack, preserves_flags)) };
    Some(register)
}

/// Only arm64 has one.
#[cfg(not(target_arch = "aarch64"))]
fn cache_type_register() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_what_damon_does_now_is_told() {
        let place = tempfile::tempdir().unwrap();
        for (thread, state, action) in [("0", "on", "pageout"), ("1", "off", "cold"), ("2", "on", "stat")] {
            let thread = place.path().join(thread);
            let scheme = thread.join("contexts/0/schemes/0");
            fs::create_dir_all(&scheme).unwrap();
            fs::write(thread.join("state"), format!("{state}\n")).unwrap();
            fs::write(scheme.join("action"), format!("{action}\n")).unwrap();
        }
        fs::write(place.path().join("nr_kdamonds"), "3\n").unwrap();
        assert_eq!(damon_actions(place.path()), ["pageout", "stat"]);
        assert!(damon_actions(Path::new("/nonexistent")).is_empty());
    }
}
