//! Numbers of `/proc` to the counters that the collectors write.

use std::path::{Path, PathBuf};

use fathom_evidence::kinds::{counter, loss, subject};
use fathom_evidence::{Recording, StrId, Table, process_memory};
use rustc_hash::FxHashSet;

use crate::LoadError;
use crate::lines::{self, Line};
use crate::proc_files::lines_of::{Disk, MODES, Requests, Stat};
use crate::proc_files::parse::{Item, Parser};
use crate::rates::{Rates, Which};

/// The `source` column of everything that comes from files of `/proc`.
pub(super) const SOURCE: &str = "proc_files";

/// What shows programs a tick as: 10 ms on every architecture that JVMs run on, whatever the kernel's own are.
const TICK_NS: f64 = 1e7;

const SECTOR_BYTES: f64 = 512.0;

/// Different numbers that are kept; a machine with hundreds of CPUs and disks has some thousand.
const NUMBERS_MAX: usize = 20_000;

/// Levels in `vmstat` begin so, and some sums of events.
const LEVEL: &str = "nr_";
const EVENTS_LIKE_LEVELS: [&str; 5] =
    ["nr_dirtied", "nr_written", "nr_vmscan_write", "nr_vmscan_immediate_reclaim", "nr_throttled_written"];

/// Where fewer of a process's threads were looked at, their numbers say nothing of it: what the others did would be missing.
const THREADS_LEAST: f64 = 0.9;

const RECORD_WITH: &str = "while sleep 1; do date +%s.%N; cat /proc/PID/status /proc/PID/stat /proc/meminfo /proc/vmstat /proc/stat; grep '' /proc/pressure/*; done > proc.txt";

pub(super) fn load(files: &[PathBuf]) -> Result<Recording, LoadError> {
    let mut loader = Loader::default();
    for file in files {
        let mut parser = Parser::default();
        (loader.at_ns, loader.placed) = (None, 0);
        let cut = lines::read(file, &mut |line| loader.line(&mut parser, &line))?;
        parser.end(&mut |item| loader.item(&item));
        loader.tell(file, &parser, cut)?;
    }
    Ok(loader.finish())
}

#[derive(Default)]
struct Loader {
    recording: Recording,
    rates: Rates,
    /// Numbers that there are.
    known: FxHashSet<(&'static str, StrId, i64)>,
    /// The time of the round.
    at_ns: Option<i64>,
    /// The process that is read: the first.
    pid: Option<i64>,
    /// Whether `status` of another one is being passed over.
    is_of_other: bool,
    has_other: bool,
    is_local: bool,
    /// Numbers of this file with a time and without.
    placed: i64,
    unplaced: i64,
    too_many: i64,
    overlong: i64,
    /// Threads that were looked at, and how many the process has said to have.
    threads: FxHashSet<i64>,
    threads_said: f64,
    /// Looks at the first thread of a process, which does nothing in a JVM.
    first_thread_only: i64,
    /// The last disk that is no part of another.
    disk: String,
}

impl Loader {
    fn line(&mut self, parser: &mut Parser, line: &Line<'_>) {
        match line {
            Line::Whole(text) => parser.line(text, &mut |item| self.item(&item)),
            Line::Overlong(_) => self.overlong += 1,
        }
    }

    fn item(&mut self, item: &Item<'_>) {
        match item {
            Item::Time(ns, is_known) => {
                self.at_ns = Some(*ns);
                self.is_local |= !is_known;
                self.is_of_other = false;
            }
            Item::Pid(pid) => self.is_of_other = !self.is_own(*pid),
            Item::Status(..) | Item::Rollup(..) if self.is_of_other => {}
            Item::Status("VmRSS", bytes) => self.see(counter::RESIDENT_BYTES, "", *bytes),
            Item::Status("Threads", count) => self.has_threads(*count),
            Item::Status(name, bytes) => self.part(&process_memory::STATUS, name, *bytes),
            Item::Rollup(name, bytes) => self.part(&process_memory::ROLLUP, name, *bytes),
            Item::Meminfo(name, bytes) => self.see(counter::MEMINFO_BYTES, name, *bytes),
            Item::Event(name, count) => {
                if !name.starts_with(LEVEL) || EVENTS_LIKE_LEVELS.contains(name) {
                    self.see(counter::VMSTAT_COUNT, name, *count);
                }
            }
            Item::Quota(name, value) => self.quota(name, *value),
            Item::Stat(stat, tid) => self.stat(stat, *tid),
            Item::Scheduled(tid, account) => self.scheduled(*tid, *account),
            Item::Pressure(resource, share, us, is_of_group) => {
                let name = if *is_of_group { counter::CGROUP_PRESSURE_NS } else { counter::PRESSURE_NS };
                self.see(name, &format!("{resource} {share}"), *us as f64 * 1e3);
            }
            Item::Cpu(cpu, ticks) => self.cpu(*cpu, ticks),
            Item::Machine(name, value) => self.machine(name, *value),
            Item::Load(load) => {
                ["1 min", "5 min", "15 min"]
                    .into_iter()
                    .zip(load)
                    .for_each(|(over, load)| self.see(counter::LOAD_COUNT, over, *load));
            }
            Item::Disk(disk) => self.disk(disk),
        }
    }

    /// Whether something is of the process that is read.
    fn is_own(&mut self, pid: i64) -> bool {
        if self.pid.is_none() {
            self.pid = Some(pid);
            self.recording.add_fact(subject::JVM, "pid", &pid.to_string(), SOURCE);
        }
        let is_own = self.pid == Some(pid);
        self.has_other |= !is_own;
        is_own
    }

    fn see(&mut self, name: &'static str, instance: &str, value: f64) {
        self.see_of(name, instance, 0, value);
    }

    fn see_of(&mut self, name: &'static str, instance: &str, tid: i64, value: f64) {
        let Some(at_ns) = self.at_ns else {
            self.unplaced += 1;
            return;
        };
        self.placed += 1;
        let key = (name, self.recording.strings.find(instance).unwrap_or_default(), tid);
        let is_known = (instance.is_empty() || key.1 != StrId(0)) && self.known.contains(&key);
        if !is_known && self.known.len() >= NUMBERS_MAX {
            self.too_many += 1;
            return;
        }
        let id = self.rates.id(&mut self.recording, SOURCE, Which { name, instance, tid });
        if !is_known {
            self.known.insert((name, self.recording.strings.intern(instance), tid));
        }
        self.rates.now(&mut self.recording, id, at_ns, value);
    }

    fn part(&mut self, parts: &[(&'static str, &'static str)], name: &str, bytes: f64) {
        if let Some((_, part)) = parts.iter().find(|(field, _)| *field == name) {
            self.see(counter::PROCESS_MEMORY_BYTES, part, bytes);
        }
    }

    fn quota(&mut self, field: &str, value: f64) {
        match field {
            "nr_periods" => self.see(counter::CGROUP_PERIODS_COUNT, "", value),
            "nr_throttled" => self.see(counter::CGROUP_THROTTLED_COUNT, "", value),
            // Version 2 counts in µs, version 1 in ns.
            "throttled_usec" => self.see(counter::CGROUP_THROTTLED_NS, "", value * 1e3),
            "throttled_time" => self.see(counter::CGROUP_THROTTLED_NS, "", value),
            _ => self.see(counter::CGROUP_CPU_NS, "", value * 1e3),
        }
    }

    fn stat(&mut self, stat: &Stat<'_>, tid: Option<i64>) {
        let ns = |ticks: u64| ticks as f64 * TICK_NS;
        let (user, system) = (ns(stat.user_ticks), ns(stat.system_ticks));
        if let Some(tid) = tid {
            self.threads.insert(tid);
            self.see_of(counter::THREAD_MODE_CPU_NS, "user", tid, user);
            self.see_of(counter::THREAD_MODE_CPU_NS, "system", tid, system);
            self.see_of(counter::THREAD_MINOR_FAULTS_COUNT, "", tid, stat.minor_faults as f64);
            self.see_of(counter::THREAD_MAJOR_FAULTS_COUNT, "", tid, stat.major_faults as f64);
            if self.recording.threads.get(tid).is_none() {
                self.recording.add_thread(tid, &lines::shown(stat.name));
            }
        } else if self.is_own(stat.id) {
            self.see(counter::PROCESS_CPU_NS, "user", user);
            self.see(counter::PROCESS_CPU_NS, "system", system);
            self.see(counter::PROCESS_FAULTS_COUNT, "minor", stat.minor_faults as f64);
            self.see(counter::PROCESS_FAULTS_COUNT, "major", stat.major_faults as f64);
            self.has_threads(stat.threads as f64);
        }
    }

    fn has_threads(&mut self, count: f64) {
        self.threads_said = self.threads_said.max(count);
        self.see(counter::PROCESS_THREADS_COUNT, "", count);
    }

    /// `schedstat` of a process is that of its first thread. All zero is a kernel that does not count.
    fn scheduled(&mut self, tid: Option<i64>, [run_ns, wait_ns, turns]: [u64; 3]) {
        let Some(tid) = tid else {
            self.first_thread_only += 1;
            return;
        };
        if (run_ns, wait_ns, turns) == (0, 0, 0) {
            return;
        }
        self.threads.insert(tid);
        self.see_of(counter::THREAD_CPU_NS, "", tid, run_ns as f64);
        self.see_of(counter::THREAD_RUN_QUEUE_NS, "", tid, wait_ns as f64);
    }

    fn cpu(&mut self, cpu: Option<&str>, ticks: &[u64]) {
        for (mode, ticks) in MODES.into_iter().zip(ticks) {
            let ns = *ticks as f64 * TICK_NS;
            match cpu {
                None => self.see(counter::MACHINE_CPU_NS, mode, ns),
                Some(cpu) => self.see(counter::ONE_CPU_NS, &format!("{cpu} {mode}"), ns),
            }
        }
    }

    fn machine(&mut self, name: &str, value: f64) {
        match name {
            "ctxt" => self.see(counter::CONTEXT_SWITCHES_COUNT, "", value),
            "processes" => self.see(counter::TASKS_CREATED_COUNT, "", value),
            "procs_running" => self.see(counter::TASKS_COUNT, "runnable", value),
            _ => self.see(counter::TASKS_COUNT, "blocked", value),
        }
    }

    /// A device; parts of one stand behind it and are counted with it.
    fn disk(&mut self, disk: &Disk<'_>) {
        let behind = disk.name.strip_prefix(&*self.disk).filter(|_| !self.disk.is_empty());
        let number = behind.map(|behind| behind.strip_prefix('p').unwrap_or(behind));
        if number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())) {
            return;
        }
        disk.name.clone_into(&mut self.disk);
        if disk.read[0] == 0 && disk.write[0] == 0 && disk.in_flight == 0 {
            return;
        }
        self.see(counter::DISK_IN_FLIGHT_COUNT, disk.name, disk.in_flight as f64);
        self.see(counter::DISK_BUSY_NS, disk.name, disk.busy_ms as f64 * 1e6);
        self.see(counter::DISK_QUEUE_TIME_NS, disk.name, disk.queue_ms as f64 * 1e6);
        self.requests(disk.name, "read", disk.read);
        self.requests(disk.name, "write", disk.write);
    }

    fn requests(&mut self, disk: &str, operation: &str, [count, merged, sectors, ms]: Requests) {
        let instance = format!("{disk} {operation}");
        self.see(counter::DISK_REQUESTS_COUNT, &instance, count as f64);
        self.see(counter::DISK_MERGED_COUNT, &instance, merged as f64);
        self.see(counter::DISK_BYTES, &instance, sectors as f64 * SECTOR_BYTES);
        self.see(counter::DISK_TIME_NS, &instance, ms as f64 * 1e6);
    }

    fn tell(&mut self, file: &Path, parser: &Parser, cut: Option<String>) -> Result<(), LoadError> {
        if self.placed == 0 {
            let says = format!(
                "files of /proc without a line of its own that says when each was read; record with: {RECORD_WITH}"
            );
            return Err(LoadError::Unusable { path: file.to_owned(), says });
        }
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let mut add = |kind: &str, count: i64, says: &str| {
            self.recording.add_loss(SOURCE, kind, count, &format!("{name}: {says}"));
        };
        if parser.pressure_by_order {
            let says = "pressure has no names and was taken in the order of cat /proc/pressure/* (cpu, io, memory); grep '' /proc/pressure/* writes them";
            add(loss::UNIT_ASSUMED, 0, says);
        }
        if parser.pressure_unknown > 0 {
            let says = "lines of pressure do not say of what; grep '' /proc/pressure/* does";
            add(loss::NOT_UNDERSTOOD, parser.pressure_unknown, says);
        }
        if parser.others > 0 {
            add(loss::NOT_UNDERSTOOD, parser.others, "lines are of files that are not read, or damaged");
        }
        cut.iter().for_each(|says| add(loss::TRUNCATED, 0, says));
        Ok(())
    }

    /// Takes numbers of single threads out if the process has many more.
    fn leave_out_threads(&mut self) {
        let looked_at = self.threads.len();
        if looked_at == 0 || looked_at as f64 >= THREADS_LEAST * self.threads_said.max(2.0) {
            return;
        }
        let keep: Vec<bool> = self.recording.counters.tid.iter().map(|tid| *tid == 0).collect();
        self.recording.counters.retain(&keep);
        let says = format!(
            "only {looked_at} of {} threads were looked at, and are left out; grep '' /proc/PID/task/*/schedstat /proc/PID/status shows all",
            self.threads_said
        );
        self.recording.add_loss(SOURCE, loss::REFUSED, looked_at as i64, &says);
    }

    fn finish(mut self) -> Recording {
        std::mem::take(&mut self.rates).finish(&mut self.recording, SOURCE);
        self.leave_out_threads();
        let mut add = |kind: &str, count: i64, says: &str| self.recording.add_loss(SOURCE, kind, count, says);
        if self.is_local {
            let says = "times of files of /proc are local ones of a zone that is not known, and were taken as UTC; record with: date +%s.%N";
            add(loss::CLOCK_ESTIMATED, 0, says);
        }
        if self.unplaced > 0 {
            add(loss::NOT_UNDERSTOOD, self.unplaced, "numbers of files of /proc stand before the first time");
        }
        if self.first_thread_only > 0 {
            let says = "schedstat of a process is that of its first thread, which does nothing in a JVM; grep '' /proc/PID/task/*/schedstat /proc/PID/status shows all";
            add(loss::REFUSED, self.first_thread_only, says);
        }
        if self.overlong > 0 {
            add(loss::NOT_UNDERSTOOD, self.overlong, "lines of files of /proc are too long");
        }
        if self.too_many > 0 {
            add(loss::LIMIT, self.too_many, "numbers of files of /proc are of more kinds than are kept");
        }
        if let Some(pid) = self.pid.filter(|_| self.has_other) {
            let says = format!("files of several processes: only {pid}'s were read; give each its own file");
            add(loss::NOT_UNDERSTOOD, 0, &says);
        }
        self.recording
    }
}
