//! What a thread is for, by its name.
//!
//! HotSpot's own threads have fixed names. Everything else is the application's: whether such a
//! thread *handles requests* cannot be known from a name and is decided by the account of time.

use crate::kinds::role;

/// Name prefixes of HotSpot's threads. Linux cuts names to 15 characters, so prefixes are short.
const PREFIXES: &[(&str, &str)] = &[
    ("C1 CompilerThre", role::COMPILER),
    ("C2 CompilerThre", role::COMPILER),
    ("JVMCI CompilerT", role::COMPILER),
    ("JVMCI-native Co", role::COMPILER),
    ("GC Thread#", role::GC),
    ("G1 Conc#", role::GC),
    ("G1 Refine#", role::GC),
    ("G1 Main Marker", role::GC),
    ("G1 Service", role::GC),
    ("G1 Young RemSet", role::GC),
    ("GC task thread#", role::GC),
    ("ParGC Thread#", role::GC),
    ("ParallelGC Thread", role::GC),
    ("Gang worker#", role::GC),
    ("Concurrent Mark", role::GC),
    ("CMS Main Thread", role::GC),
    ("CMS Thread#", role::GC),
    ("ZWorker", role::GC),
    ("RuntimeWorker#", role::GC),
    ("XWorker", role::GC),
    ("XDirector", role::GC),
    ("XDriver", role::GC),
    ("XStat", role::GC),
    ("ZDriver", role::GC),
    ("ZDirector", role::GC),
    ("ZStat", role::GC),
    ("ZUncommitter", role::GC),
    ("ZUnmapper", role::GC),
    ("Shenandoah", role::GC),
    ("VM Thread", role::VM),
    ("VM Periodic Tas", role::VM),
    ("Sweeper thread", role::VM),
    ("Service Thread", role::VM),
    ("Monitor Deflati", role::VM),
    ("Signal Dispatch", role::VM),
    ("Attach Listener", role::VM),
    ("Notification Th", role::VM),
    ("JFR ", role::VM),
    ("Common-Cleaner", role::VM),
    ("Reference Handl", role::VM),
    ("Finalizer", role::VM),
    ("StringDedup", role::GC),
];

/// The role of a thread by its `name`; [`role::JAVA`] unless HotSpot owns it.
pub fn role_of(name: &str) -> &'static str {
    let prefix = |p: &str| name.starts_with(p) || (name.len() >= 12 && p.starts_with(name));
    PREFIXES.iter().find(|(p, _)| prefix(p)).map_or(role::JAVA, |(_, role)| role)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_real_jvms() {
        for (name, expected) in [
            ("C2 CompilerThread0", role::COMPILER),
            ("C2 CompilerThre", role::COMPILER),
            ("GC Thread#3", role::GC),
            ("ZWorkerYoung#1", role::GC),
            ("ZDriverMajor", role::GC),
            ("VM Thread", role::VM),
            ("JFR Recorder Thread", role::VM),
            ("http-nio-8080-exec-1", role::JAVA),
            ("main", role::JAVA),
            ("G1", role::JAVA),
            ("", role::JAVA),
        ] {
            assert_eq!(role_of(name), expected, "{name}");
        }
    }
}
