//! The control groups of this very process, and of a child in a group of its own where that is allowed.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};

use fathom_evidence::kinds::span;

use super::*;

fn observe(pid: u32) -> Recording {
    let target = Target::of(pid).unwrap();
    let mut found = Recording::default();
    let mut watch = Cgroup.start(&target, &crate::recorder::Plan::new(PathBuf::from("none")).order).unwrap();
    watch.look(&mut found);
    watch.finish(&mut found);
    found
}

#[test]
fn this_process_has_limits_or_none() {
    if let Err(refusal) = Cgroup.check(&Target::of(std::process::id()).unwrap()) {
        println!("SKIPPED: {}", refusal.why);
        return;
    }
    let found = observe(std::process::id());
    assert!(found.fact(subject::CGROUP, "cpu_limit").is_some());
    assert!(found.fact(subject::CGROUP, "memory_limit_bytes").is_some());
    let name = found.strings.find(counter::CGROUP_THROTTLED_NS).expect("throttling is always told");
    let rows: Vec<f64> = found.counters.rows().filter(|row| row.name == name).map(|row| row.value).collect();
    assert!(rows.len() >= 2 && rows.iter().all(|ns| *ns >= 0.0), "{rows:?}");
}

/// A group of version 1 or 2 with a quota of a tenth of a CPU, and a program in it that wants a whole one.
struct Throttled {
    folder: PathBuf,
    child: Child,
}

impl Throttled {
    fn start() -> std::io::Result<Throttled> {
        let throttled = Throttled::start_outside()?;
        throttled.enter()?;
        Ok(throttled)
    }

    /// The program goes into its group.
    fn enter(&self) -> std::io::Result<()> {
        fs::write(self.folder.join("cgroup.procs"), self.child.id().to_string())
    }

    /// The program is not in its group yet.
    fn start_outside() -> std::io::Result<Throttled> {
        let name = format!("fathom-test-{}", std::process::id());
        let unified = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
        let folder = Path::new(if unified { "/sys/fs/cgroup" } else { "/sys/fs/cgroup/cpu" }).join(name);
        fs::create_dir(&folder)?;
        let limited = match unified {
            true => fs::write(folder.join("cpu.max"), "10000 100000"),
            false => fs::write(folder.join("cpu.cfs_quota_us"), "10000"),
        };
        if let Err(error) = limited {
            fs::remove_dir(&folder)?;
            return Err(error);
        }
        let child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn()?;
        Ok(Throttled { folder, child })
    }
}

impl Drop for Throttled {
    fn drop(&mut self) {
        // The group can only go when the program has gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir(&self.folder);
    }
}

#[test]
fn a_quota_and_its_throttling_are_seen() {
    let throttled = match Throttled::start() {
        Ok(throttled) => throttled,
        Err(error) => {
            println!("SKIPPED: no control group with a quota can be made here: {error}");
            return;
        }
    };
    let throttled_ns = |found: &Recording| {
        let name = found.strings.find(counter::CGROUP_THROTTLED_NS);
        let own = found.counters.rows().filter(|row| Some(row.name) == name && found.text(row.instance).is_empty());
        own.map(|row| row.value).fold(0.0, f64::max)
    };
    let give_up = std::time::Instant::now() + Duration::from_secs(30);
    let mut found = observe(throttled.child.id());
    while throttled_ns(&found) == 0.0 && std::time::Instant::now() < give_up {
        found = observe(throttled.child.id());
    }
    assert!(throttled_ns(&found) > 0.0);
    assert_eq!(found.fact(subject::CGROUP, "cpu_limit"), Some("0.1"));
    let said = fs::read_to_string(throttled.folder.join("cpu.stat")).unwrap();
    let count = said.lines().find_map(|line| line.strip_prefix("nr_throttled ")).unwrap().parse::<f64>().unwrap();
    let name = found.strings.find(counter::CGROUP_THROTTLED_COUNT);
    let seen = found.counters.rows().filter(|row| Some(row.name) == name).map(|row| row.value).fold(0.0, f64::max);
    assert!(seen >= 1.0 && seen <= count, "{seen} of {count}");
}

#[test]
fn a_process_that_is_moved_is_followed() {
    let throttled = match Throttled::start_outside() {
        Ok(throttled) => throttled,
        Err(error) => {
            println!("SKIPPED: no control group with a quota can be made here: {error}");
            return;
        }
    };
    let target = Target::of(throttled.child.id()).unwrap();
    let mut found = Recording::default();
    let mut watch = Cgroup.start(&target, &crate::recorder::Plan::new(PathBuf::from("none")).order).unwrap();
    watch.look(&mut found);
    assert_ne!(found.fact(subject::CGROUP, "cpu_limit"), Some("0.1"));
    throttled.enter().unwrap();
    let give_up = std::time::Instant::now() + Duration::from_secs(30);
    while found.fact(subject::CGROUP, "cpu_limit") != Some("0.1") && std::time::Instant::now() < give_up {
        std::thread::sleep(Duration::from_millis(50));
        watch.look(&mut found);
    }
    watch.finish(&mut found);
    assert_eq!(found.fact(subject::CGROUP, "moves"), Some("1"));
    assert_eq!(found.losses.rows().count(), 0);
}

#[test]
fn a_process_that_ends_was_not_moved_and_keeps_its_limits() {
    let mut throttled = match Throttled::start() {
        Ok(throttled) => throttled,
        Err(error) => {
            println!("SKIPPED: no control group with a quota can be made here: {error}");
            return;
        }
    };
    let target = Target::of(throttled.child.id()).unwrap();
    let mut found = Recording::default();
    let mut watch = Cgroup.start(&target, &crate::recorder::Plan::new(PathBuf::from("none")).order).unwrap();
    watch.look(&mut found);
    throttled.child.kill().unwrap();
    let give_up = std::time::Instant::now() + Duration::from_secs(30);
    while target.is_alive() && std::time::Instant::now() < give_up {
        std::thread::yield_now();
    }
    watch.finish(&mut found);
    assert_eq!(found.fact(subject::CGROUP, "cpu_limit"), Some("0.1"));
    assert_eq!(found.losses.rows().count(), 0);
}

/// A group of version 1 or 2 that can be frozen, and a program in it.
struct Freezer {
    folder: PathBuf,
    child: Child,
}

impl Freezer {
    fn start() -> std::io::Result<Freezer> {
        let unified = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
        let place = Path::new(if unified { "/sys/fs/cgroup" } else { "/sys/fs/cgroup/freezer" });
        let folder = place.join(format!("fathom-test-freezer-{}", std::process::id()));
        fs::create_dir(&folder)?;
        let child = Command::new("sleep").arg("60").spawn()?;
        let freezer = Freezer { folder, child };
        fs::write(freezer.folder.join("cgroup.procs"), freezer.child.id().to_string())?;
        freezer.freeze(false)?;
        Ok(freezer)
    }

    fn freeze(&self, freezes: bool) -> std::io::Result<()> {
        match self.folder.join("cgroup.freeze") {
            file if file.exists() => fs::write(file, if freezes { "1" } else { "0" }),
            _ => fs::write(self.folder.join("freezer.state"), if freezes { "FROZEN" } else { "THAWED" }),
        }
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        // What is frozen does not end.
        let _ = self.freeze(false);
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir(&self.folder);
    }
}

#[test]
fn a_frozen_group_stops_the_process() {
    let freezer = match Freezer::start() {
        Ok(freezer) => freezer,
        Err(error) => {
            println!("SKIPPED: no control group can be frozen here: {error}");
            return;
        }
    };
    let target = Target::of(freezer.child.id()).unwrap();
    let mut found = Recording::default();
    let mut watch = Cgroup.start(&target, &crate::recorder::Plan::new(PathBuf::from("none")).order).unwrap();
    let mut look = |times: usize| {
        for _ in 0..times {
            watch.look(&mut found);
            std::thread::sleep(PERIOD);
        }
    };
    look(2);
    freezer.freeze(true).unwrap();
    look(6);
    freezer.freeze(false).unwrap();
    look(2);
    watch.finish(&mut found);
    let stops = found.spans.rows().filter(|row| found.text(row.kind) == span::PROCESS_STOPPED);
    let stops: Vec<(&str, i64)> = stops.map(|row| (found.text(row.name), row.duration_ns / 1_000_000)).collect();
    let [(stopped::FREEZER, ms)] = stops[..] else { panic!("{stops:?}") };
    assert!(ms > 300, "{ms} ms");
}
