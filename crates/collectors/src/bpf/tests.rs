//! Shared code for tests of several collectors: this process as the target, and a disk that is slow to a known degree.

use std::cell::RefCell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use fathom_evidence::tables::Span;
use fathom_evidence::{Recording, StackId};
use libbpf_rs::{ObjectBuilder, OpenProgramMut, ProgramType};

use crate::recorder::Plan;
use crate::{Collector, Target};

/// Whether the kernel lets this test load programs; says so loudly if not.
pub(crate) fn can_load(test: &str) -> bool {
    match super::rights::check() {
        Ok(()) => true,
        Err(refusal) => {
            eprintln!("SKIPPED: {test}: {}", refusal.why);
            false
        }
    }
}

thread_local! {
    /// The program that the kernel is made to refuse to this thread.
    static REFUSED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Has the kernel refuse the program that this thread wants refused: as one for infrared receivers it calls what it may not call.
pub(super) fn refuse(name: &str, program: &mut OpenProgramMut<'_>) {
    if REFUSED.with_borrow(|refused| refused.as_deref() == Some(name)) {
        program.set_prog_type(ProgramType::LircMode2);
    }
}

/// The collectors that bring programs, with the names of these.
fn with_programs() -> Vec<(&'static dyn Collector, Vec<String>)> {
    let objects = std::fs::read_dir(env!("OUT_DIR")).unwrap().map(|entry| entry.unwrap().path());
    let mut found = Vec::new();
    for path in objects.filter(|path| path.to_string_lossy().ends_with(".bpf.o")) {
        let name = path.file_name().unwrap().to_string_lossy().replace(".bpf.o", "");
        let Some(collector) = crate::collectors().iter().find(|collector| collector.name() == name) else { continue };
        let object = std::fs::read(&path).unwrap();
        let open = ObjectBuilder::default().open_memory(&object).unwrap();
        let programs = open.progs().map(|program| program.name().to_string_lossy().into_owned()).collect();
        found.push((*collector, programs));
    }
    assert!(found.len() > 5, "{} objects in {}", found.len(), env!("OUT_DIR"));
    found
}

/// Each program of each collector, refused in turn: the collector says so, whole or in part, and never works on without a word.
#[test]
fn a_refused_program_costs_what_it_sees_and_that_is_said() {
    if !can_load("a_refused_program_costs_what_it_sees_and_that_is_said") {
        return;
    }
    let target = Target::of(std::process::id()).unwrap();
    let order = Plan::new("/nowhere".into()).order;
    for (collector, programs) in with_programs() {
        if collector.check(&target).is_err() {
            eprintln!("SKIPPED: {} on this kernel", collector.name());
            continue;
        }
        for program in programs {
            REFUSED.set(Some(program.clone()));
            let (started, lesser) = (collector.start(&target, &order), collector.lesser(&target));
            REFUSED.set(None);
            let Ok(mut observer) = started else { continue };
            let (mut found, unseen) = (Recording::default(), observer.unseen());
            observer.look(&mut found);
            let is_less = observer.tier().is_some() || !unseen.is_empty();
            observer.finish(&mut found);
            let has_another_way = ANOTHER_WAY.contains(&program.as_str());
            assert!(is_less == lesser.is_some(), "{}: {program}: {lesser:?}", collector.name());
            assert!(is_less || has_another_way, "{} goes on without {program} and says nothing", collector.name());
            assert!(unseen.iter().all(|refusal| refusal.why.contains("cannot be seen")), "{unseen:?}");
        }
    }
}

/// Programs instead of which another one sees the same.
const ANOTHER_WAY: [&str; 2] = ["begins_to_send", "probe_of_many"];

/// What a collector saw of one thread of this process.
pub(crate) struct Seen {
    /// All that it found.
    pub(crate) found: Recording,
    /// The thread that did the work.
    pub(crate) tid: i64,
}

impl Seen {
    /// The highest value of a counter of the thread; 0 when there is none.
    pub(crate) fn counted(&self, name: &str, instance: &str) -> f64 {
        let rows = self.found.counters.rows().filter(|row| {
            self.found.text(row.name) == name && self.found.text(row.instance) == instance && row.tid == self.tid
        });
        rows.map(|row| row.value).fold(0.0, f64::max)
    }

    /// Spans of the thread that took at least so long.
    pub(crate) fn spans(&self, kind: &str, at_least: Duration) -> Vec<Span> {
        let is_wanted = |span: &Span| {
            let is_long = span.duration_ns >= at_least.as_nanos() as i64;
            span.tid == self.tid && self.found.text(span.kind) == kind && is_long
        };
        self.found.spans.rows().filter(is_wanted).collect()
    }
}

/// The functions of a stack, leaf first.
pub(crate) fn functions(found: &Recording, stack: StackId) -> Vec<String> {
    found.stacks.leaf_to_root(stack).map(|frame| found.text(frame.symbol).to_owned()).collect()
}

/// What a collector sees of this process while `work` runs, which is in a thread of its own as the
/// collector uses the kernel too.
pub(crate) fn observed(collector: &dyn Collector, work: impl FnOnce() + Send) -> Seen {
    let target = Target::of(std::process::id()).unwrap();
    let order = Plan::new("/nowhere".into()).order;
    let mut observer = collector.start(&target, &order).unwrap_or_else(|refusal| panic!("{}", refusal.why));
    let work = || {
        work();
        i64::from(rustix::thread::gettid().as_raw_nonzero().get())
    };
    let tid = thread::scope(|scope| scope.spawn(work).join().unwrap());
    let mut found = Recording::default();
    observer.look(&mut found);
    observer.finish(&mut found);
    Seen { found, tid }
}

/// A server of a file on a disk that takes `delay_ms` for each read; ends when dropped.
pub(crate) struct SlowDisk {
    server: Child,
    folder: tempfile::TempDir,
}

impl SlowDisk {
    /// Begins to serve; `None` where the tools for it are missing.
    pub(crate) fn start(delay_ms: u32) -> Option<SlowDisk> {
        SlowDisk::serve(&["memory", "1M"], delay_ms)
    }

    /// Serves a file that is somewhere else.
    pub(crate) fn of(file: &Path, delay_ms: u32) -> Option<SlowDisk> {
        SlowDisk::serve(&["file", &file.to_string_lossy()], delay_ms)
    }

    /// Whether the tools for it are there; says so loudly if not.
    pub(crate) fn can_serve() -> bool {
        let has = |name: &str| ["/usr/bin", "/usr/sbin"].iter().any(|folder| Path::new(folder).join(name).exists());
        let can = has("nbdkit") && has("nbdfuse") && Path::new("/dev/fuse").exists();
        if !can {
            eprintln!("SKIPPED: a slow disk needs nbdkit, nbdfuse and /dev/fuse");
        }
        can
    }

    fn serve(plugin: &[&str], delay_ms: u32) -> Option<SlowDisk> {
        if !SlowDisk::can_serve() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let delay = format!("delay-read={delay_ms}ms");
        let file = folder.path().join("disk");
        File::create(&file).unwrap();
        let server = Command::new("nbdfuse")
            .arg(&file)
            .args(["--command", "nbdkit", "-s", "--exit-with-parent", "--filter=delay"])
            .args(plugin)
            .arg(&delay)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let disk = SlowDisk { server, folder };
        let until = Instant::now() + Duration::from_secs(20);
        while disk.open().metadata().unwrap().len() == 0 {
            assert!(Instant::now() < until, "nbdfuse did not serve its file within 20 s");
            thread::sleep(Duration::from_millis(20));
        }
        Some(disk)
    }

    /// Where the file is.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    /// Opens the file anew.
    pub(crate) fn open(&self) -> File {
        File::open(self.path()).unwrap()
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
