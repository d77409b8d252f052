//! A program whose first call of a function in a large library searches pages that are not in memory:
//! lazy binding, on a disk that is slow to a known degree.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::detail::{PageFault, from_text};
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;

use super::ways;
use crate::bpf::tests::{SlowDisk, functions};
use crate::page_faults::PageFaults;
use crate::recorder::Plan;
use crate::{Collector, Target};

/// Enough that their names are far more than what the kernel reads ahead.
const FUNCTIONS: usize = 40_000;

const DELAY_MS: u32 = 60;

const PROGRAM: &str = r#"
#include <stdio.h>
#include <time.h>
int rare_function(void);
static double now_ns(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
int main(void)
{
    double began;
    puts("ready");
    fflush(stdout);
    getchar();
    began = now_ns();
    rare_function();
    printf("%.0f\n", now_ns() - began);
    fflush(stdout);
    getchar();
    getchar();
    return 0;
}
"#;

fn compile(folder: &Path, arguments: &[&str]) {
    let done = Command::new("cc").args(arguments).current_dir(folder).status().unwrap();
    assert!(done.success(), "cc {arguments:?}");
}

/// The library, on a fast disk.
fn library(folder: &Path) {
    let mut text = String::from(".text\n");
    for index in 0..FUNCTIONS {
        let name = format!("some_rather_long_name_of_function_{index}");
        writeln!(text, ".globl {name}\n.type {name}, @function\n{name}: ret").unwrap();
    }
    text += ".globl rare_function\n.type rare_function, @function\nrare_function: ret\n.section .note.GNU-stack\n";
    fs::write(folder.join("lib.s"), text).unwrap();
    compile(folder, &["-shared", "-o", "librare.so", "-Wl,-soname,librare.so", "lib.s"]);
}

/// The program at the point before its first call, and how it goes on.
struct Program(Child);

impl Program {
    fn start(folder: &Path, disk: &Path) -> Program {
        fs::write(folder.join("main.c"), PROGRAM).unwrap();
        compile(folder, &["-o", "main", "main.c", "-Wl,-z,lazy", "librare.so"]);
        let loaded = folder.join("slow");
        fs::create_dir(&loaded).unwrap();
        std::os::unix::fs::symlink(disk, loaded.join("librare.so")).unwrap();
        let mut program = Command::new(folder.join("main"));
        program.env("LD_LIBRARY_PATH", &loaded).env_remove("LD_BIND_NOW");
        let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = [0; 6];
        child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
        assert_eq!(&line, b"ready\n");
        Program(child)
    }

    /// Makes the call; how many ns it took.
    fn call(&mut self) -> i64 {
        self.0.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        line.trim().parse().unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn lazy_binding_on_a_slow_disk_is_told() {
    if SlowDisk::can_serve() {
        ways("lazy_binding_on_a_slow_disk_is_told").into_iter().for_each(check_way);
    }
}

fn check_way(collector: &PageFaults) {
    let folder = tempfile::tempdir().unwrap();
    library(folder.path());
    let Some(disk) = SlowDisk::of(&folder.path().join("librare.so"), DELAY_MS) else { return };
    let mut program = Program::start(folder.path(), &disk.path());
    let target = Target::of(program.0.id()).unwrap();
    let order = Plan::new("/nowhere".into()).order;
    let mut observer = collector.start(&target, &order).unwrap_or_else(|refusal| panic!("{}", refusal.why));
    let took_ns = program.call();
    let mut found = Recording::default();
    observer.look(&mut found);
    observer.finish(&mut found);
    check(collector, &found, took_ns, &disk.path());
}

fn check(collector: &PageFaults, found: &Recording, took_ns: i64, library: &Path) {
    let delay = Duration::from_millis(DELAY_MS.into());
    let is_slow = |span: &Span| span.duration_ns >= delay.as_nanos() as i64;
    let slow: Vec<Span> = found.spans.rows().filter(is_slow).collect();
    let details: Vec<PageFault> = slow.iter().map(|span| from_text(found.text(span.detail))).collect();
    assert!(!slow.is_empty(), "the call took {took_ns} ns");
    let in_faults_ns: i64 = slow.iter().map(|span| span.duration_ns).sum();
    assert!(in_faults_ns <= took_ns, "{in_faults_ns} ns in faults, {took_ns} ns in all");
    assert!(found.spans.rows().all(|span| found.text(span.kind) == span::PAGE_FAULT));
    let of_symbols = [".gnu.hash", ".dynsym", ".dynstr", ".gnu.version"];
    for (span, detail) in slow.iter().zip(&details) {
        assert_eq!(detail.path.as_deref(), Some(&*library.to_string_lossy()), "{detail:?}");
        // Without programs in the kernel only major ones have a stack.
        if collector.may_use_bpf {
            check_wait(found, span, detail);
        }
        if collector.may_use_bpf || detail.major == Some(true) {
            check_call(found, span, detail);
        }
    }
    assert!(details.iter().any(|detail| detail.being_bound.is_some()), "{details:?}");
    // The last one may be the called function's own page.
    let of_binding =
        details.iter().filter(|detail| detail.section.as_deref().is_some_and(|it| of_symbols.contains(&it)));
    let linker = |detail: &PageFault| detail.instruction_path.as_deref().is_some_and(|path| path.contains("/ld-"));
    let of_binding: Vec<&PageFault> = of_binding.collect();
    assert!(!of_binding.is_empty() && of_binding.iter().all(|detail| linker(detail)), "{details:?}");
}

/// What the kernel did meanwhile.
fn check_wait(found: &Recording, span: &Span, detail: &PageFault) {
    assert!(detail.off_cpu_ns > Some(0), "{detail:?}");
    let kernel = functions(found, span.kernel_stack_id);
    assert!(kernel.iter().any(|name| name == "filemap_fault"), "{kernel:?}");
    assert!(!kernel.iter().any(|name| name.starts_with("bpf_")), "of the wait, not of who looks: {kernel:?}");
}

/// Which call was bound, and who made it.
fn check_call(found: &Recording, span: &Span, detail: &PageFault) {
    assert_eq!(detail.being_bound.as_deref(), Some("rare_function"), "{detail:?}");
    let is_site = |site: &str| site.starts_with("main+0x") && site.ends_with(" (main)");
    assert!(detail.call_site.as_deref().is_some_and(is_site), "{detail:?}");
    let instruction = detail.call_instruction.as_deref();
    assert!(instruction.is_some_and(|call| call.ends_with(" rare_function@plt")), "{detail:?}");
    let user = functions(found, span.stack_id);
    assert_eq!(user.last().map(String::as_str), Some("_start"), "{user:?}");
    assert!(user.iter().any(|name| name == "main"), "{user:?}");
}
