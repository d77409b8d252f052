//! Stacks of real processes, stopped at a place that is known.
#![allow(clippy::unwrap_used, reason = "a test fails where its machinery does")]

mod common;

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use common::{compile, memory, process};
use fathom_symbols::elf::Machine;
use fathom_symbols::jit::JitMap;
use fathom_symbols::process::{Layer, Process};
use fathom_symbols::unwind::{Registers, StackCopy, Unwinder, Walk, WalkEnd};

/// As much of the stack as the kernel-side collectors copy.
const COPIED_BYTES: u64 = 8192;

/// A thread that ptrace holds. Let go when dropped.
struct Stopped {
    tid: i32,
}

impl Stopped {
    fn stop(tid: i32) -> Stopped {
        // SAFETY: these calls take no memory of this process; the thread is a child's or its own.
        unsafe {
            assert_eq!(libc::ptrace(libc::PTRACE_SEIZE, tid, 0, 0), 0, "{}", std::io::Error::last_os_error());
            assert_eq!(libc::ptrace(libc::PTRACE_INTERRUPT, tid, 0, 0), 0);
            let mut status = 0;
            assert_eq!(libc::waitpid(tid, &mut status, libc::__WALL), tid);
        }
        Stopped { tid }
    }

    /// The registers, as the kernel's `pt_regs`.
    fn registers(&self) -> Registers {
        let mut values = [0_u64; 40];
        let mut place = libc::iovec { iov_base: values.as_mut_ptr().cast(), iov_len: size_of_val(&values) };
        // SAFETY: the kernel writes at most `iov_len` bytes to `values`, which outlives the call.
        let asked = unsafe { libc::ptrace(libc::PTRACE_GETREGSET, self.tid, libc::NT_PRSTATUS, &mut place) };
        assert_eq!(asked, 0, "{}", std::io::Error::last_os_error());
        let machine = if cfg!(target_arch = "x86_64") { Machine::X86_64 } else { Machine::Aarch64 };
        Registers::from_pt_regs(machine, &values[..place.iov_len / 8])
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // SAFETY: takes no memory of this process.
        unsafe { libc::ptrace(libc::PTRACE_DETACH, self.tid, 0, 0) };
    }
}

/// Whether threads can be held here; says so loudly if not. An emulator of programs runs those that a test starts
/// beside itself, on the host's own processor, and has no `ptrace`.
fn can_hold_threads(test: &str) -> bool {
    // SAFETY: takes no memory of this process; there is no thread 0, so that nothing is held.
    let answer = unsafe { libc::ptrace(libc::PTRACE_SEIZE, 0, 0, 0) };
    let can = answer == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOSYS);
    if !can {
        eprintln!("SKIPPED: {test}: there is no ptrace here");
    }
    can
}

/// A child that is ended with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Builds the program and runs it until it has arrived.
fn arrived(folder: &Path, flags: &[&str], how: &str) -> Running {
    let lazy = [&["-O2", "-fomit-frame-pointer", "-Wl,-z,lazy"][..], flags].concat();
    let library = compile(folder, "late.c", "liblate.so", &[&lazy[..], &["-shared", "-fPIC"]].concat());
    let library_flags = [library.to_str().unwrap(), "-rdynamic", "-Wl,-rpath,$ORIGIN", "-fno-optimize-sibling-calls"];
    let program = compile(folder, "deep.c", "deep", &[&library_flags[..], &lazy].concat());
    let mut child =
        Command::new(program).args([how, "3"]).env_remove("LD_BIND_NOW").stdout(Stdio::piped()).spawn().unwrap();
    let mut said = [0; 8];
    let heard = child.stdout.as_mut().unwrap().read_exact(&mut said);
    let running = Running(child);
    heard.unwrap_or_else(|error| panic!("{how}: it ended before it arrived: {error}"));
    running
}

fn walk(process: &Process, pid: u32, registers: &Registers) -> (Vec<u64>, Walk) {
    let top = registers.stack_pointer().unwrap();
    let stack = memory(pid, top..top + COPIED_BYTES);
    let mut frames = Vec::new();
    let walk = Unwinder::new().walk(process, registers, StackCopy { address: top, bytes: &stack }, &mut frames);
    (frames, walk)
}

/// Whether the names occur in this order; others may stand between them.
fn has_in_order(names: &[String], wanted: &[&str]) -> bool {
    let mut rest = names.iter();
    wanted.iter().all(|wanted| rest.any(|name| name == wanted))
}

#[test]
fn chains_of_calls_are_found_without_frame_pointers() {
    if !can_hold_threads("chains_of_calls_are_found_without_frame_pointers") {
        return;
    }
    let chains: [(&str, &[&str]); 3] = [
        ("qsort", &["arrive", "compare", "sort_numbers", "deeper", "deeper", "deeper", "deeper", "main"]),
        ("late", &["arrive", "chosen_late", "first_use", "deeper", "deeper", "deeper", "deeper", "main"]),
        ("signal", &["arrive", "on_signal", "be_interrupted", "deeper", "deeper", "deeper", "deeper", "main"]),
    ];
    for (how, wanted) in chains {
        for flags in [&[][..], &["-fcf-protection=full"]] {
            let folder = tempfile::tempdir().unwrap();
            let running = arrived(folder.path(), flags, how);
            let pid = running.0.id();
            let stopped = Stopped::stop(pid as i32);
            let process = process(pid);
            let (frames, walk) = walk(&process, pid, &stopped.registers());
            let names: Vec<String> = frames.iter().map(|frame| process.resolve(*frame).name.into_owned()).collect();
            assert_eq!(walk, Walk { end: WalkEnd::Complete, guessed_from: None }, "{how}: {names:?}");
            assert!(has_in_order(&names, wanted), "{how}: {names:?}");
            assert_eq!(names.last().map(String::as_str), Some("_start"), "{how}: {names:?}");
            check_layers(&process, &frames, how);
        }
    }
}

/// The frames between ours are those of the library that calls back, and of no other.
fn check_layers(process: &Process, frames: &[u64], how: &str) {
    let symbols: Vec<_> = frames.iter().map(|frame| process.resolve(*frame)).collect();
    assert!(symbols.iter().all(|symbol| symbol.layer == Layer::Native), "{symbols:?}");
    let place = |name: &str| symbols.iter().position(|symbol| symbol.name == name).unwrap();
    let (from, to, between) = match how {
        "qsort" => (place("compare") + 1, place("sort_numbers"), "libc.so.6"),
        "late" => (place("chosen_late") + 1, place("first_use"), "ld-linux-x86-64.so.2"),
        _ => (place("on_signal") + 1, place("be_interrupted"), "libc.so.6"),
    };
    assert!(from < to, "{symbols:?}");
    assert!(symbols[from..to].iter().all(|symbol| symbol.module == between), "{symbols:?}");
    if how == "late" {
        let (image, call) = process.image_at(frames[to]).unwrap();
        let code = memory_of_image(process, frames[to] + 1);
        assert_eq!(image.import_call(&code, call + 1).map(|call| call.name), Some("chosen_late"));
    }
}

/// The bytes before an address of code, from the file.
fn memory_of_image(process: &Process, end: u64) -> Vec<u8> {
    let place = process.file_place(end - 1).unwrap();
    let file = std::fs::read(&*place.mapping.path).unwrap();
    file[place.file_offset as usize - 7..][..8].to_vec()
}

#[test]
fn a_walk_says_where_the_copy_or_the_tables_end() {
    if !can_hold_threads("a_walk_says_where_the_copy_or_the_tables_end") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let running = arrived(folder.path(), &[], "qsort");
    let pid = running.0.id();
    let stopped = Stopped::stop(pid as i32);
    let (whole, registers) = (process(pid), stopped.registers());
    let top = registers.stack_pointer().unwrap();
    let stack = memory(pid, top..top + COPIED_BYTES);
    let mut frames = Vec::new();
    let mut unwinder = Unwinder::new();
    let depth = walk(&whole, pid, &registers).0.len();
    for size_bytes in [0, 8, 64, 200, 500] {
        let copy = StackCopy { address: top, bytes: &stack[..size_bytes] };
        let walk = unwinder.walk(&whole, &registers, copy, &mut frames);
        assert_eq!(walk.end, WalkEnd::EndOfCopy, "{size_bytes}");
        assert!((1..depth).contains(&frames.len()), "{size_bytes}: {}", frames.len());
    }
    let copy = StackCopy { address: top, bytes: &stack };
    let mut unread = Process::new(whole.mappings().clone());
    assert_eq!(unwinder.walk(&unread, &registers, copy, &mut frames).end, WalkEnd::NotLoaded);
    let (file, _) = unread.missing_at(frames[0]).unwrap();
    unread.set_image(file, None);
    assert_eq!(unwinder.walk(&unread, &registers, copy, &mut frames).end, WalkEnd::NoUnwindInfo);
    assert_eq!(unwinder.walk(&Process::default(), &registers, copy, &mut frames).end, WalkEnd::UnknownCode);
    let mut elsewhere = registers.clone();
    elsewhere.set(7, top - 4096);
    assert_eq!(unwinder.walk(&whole, &elsewhere, copy, &mut frames).end, WalkEnd::BadUnwindInfo);
}

#[test]
fn threads_of_a_jvm_are_walked_to_their_start() {
    if !can_hold_threads("threads_of_a_jvm_are_walked_to_their_start") {
        return;
    }
    for java in ["/usr/lib/jvm/java-17-openjdk-amd64/bin/java", "/usr/lib/jvm/temurin-25-jdk-amd64/bin/java"] {
        if !Path::new(java).exists() {
            eprintln!("SKIPPED: {java} is not installed");
            continue;
        }
        let running = Running(jvm(java, "Sleeping.java", &[]));
        let pid = running.0.id();
        let process = process(pid);
        let mut complete = 0;
        for tid in threads(pid) {
            let stopped = Stopped::stop(tid);
            let (frames, walk) = walk(&process, pid, &stopped.registers());
            let symbols: Vec<_> = frames.iter().map(|frame| process.resolve(*frame)).collect();
            let has_java = symbols.iter().any(|symbol| matches!(symbol.layer, Layer::Jit(_)));
            let has_vm = symbols.iter().any(|symbol| symbol.layer == Layer::Vm && !symbol.name.is_empty());
            if has_vm && !has_java {
                // A compiler at work may be deeper than the piece of its stack that is copied.
                let is_walked = matches!(walk.end, WalkEnd::Complete | WalkEnd::EndOfCopy);
                assert!(is_walked && walk.guessed_from.is_none(), "{walk:?} {symbols:?}");
                complete += usize::from(walk.end == WalkEnd::Complete);
            }
            assert!(walk.end != WalkEnd::BadUnwindInfo, "{symbols:?}");
        }
        assert!(complete >= 5, "{java}: {complete} threads of the JVM itself");
    }
}

#[test]
fn compiled_and_interpreted_java_is_walked_exactly() {
    if !can_hold_threads("compiled_and_interpreted_java_is_walked_exactly") {
        return;
    }
    for home in ["/usr/lib/jvm/java-17-openjdk-amd64", "/usr/lib/jvm/temurin-25-jdk-amd64"] {
        if !Path::new(home).exists() || cfg!(not(target_arch = "x86_64")) {
            eprintln!("SKIPPED: {home} is not installed, or this is no x86-64");
            continue;
        }
        for compiler in ["-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation"] {
            let java = format!("{home}/bin/java");
            let running = Running(jvm(&java, "Chain.java", &[compiler, "-XX:-Inline"]));
            let pid = running.0.id();
            let mut process = process(pid);
            process.set_jit(Arc::new(compiled_code(home, pid)));
            // It has said that all is compiled, and is about to sleep below the methods.
            let names = (0..100).find_map(|_| names_below(&process, pid, "Chain.c"));
            let names = names.unwrap_or_else(|| panic!("{home} {compiler}: no thread ever slept"));
            let wanted = ["Chain.c", "Chain.b", "Chain.a", "Interpreter", "JavaCalls::call_helper", "JavaMain"];
            assert!(has_in_order(&names, &wanted), "{home} {compiler}: {names:?}");
            let between = names.iter().position(|name| name == "Chain.a").unwrap()
                - names.iter().position(|name| name == "Chain.c").unwrap();
            assert_eq!(between, 2, "{home} {compiler}: nothing else between: {names:?}");
        }
    }
}

/// The names of the thread that has `name` on its stack, if one has; walked without a guess.
fn names_below(process: &Process, pid: u32, name: &str) -> Option<Vec<String>> {
    threads(pid).into_iter().find_map(|tid| {
        let stopped = Stopped::stop(tid);
        let (frames, walk) = walk(process, pid, &stopped.registers());
        let names: Vec<String> = frames.iter().map(|frame| process.resolve(*frame).name.into_owned()).collect();
        let is_there = names.iter().any(|other| other == name) && names.iter().any(|other| other.contains("sleep"));
        is_there.then(|| {
            assert_eq!(walk, Walk { end: WalkEnd::Complete, guessed_from: None }, "{names:?}");
            names
        })
    })
}

/// What the JVM says of its compiled code.
fn compiled_code(home: &str, pid: u32) -> JitMap {
    common::output(&format!("{home}/bin/jcmd"), &[&pid.to_string(), "Compiler.perfmap"]);
    let path = format!("/tmp/perf-{pid}.map");
    let mut jit = JitMap::parse(&std::fs::read(&path).unwrap());
    std::fs::remove_file(&path).unwrap();
    jit.learn_frames(|address, code| {
        let bytes = memory(pid, address..address + code.len() as u64);
        code.copy_from_slice(&bytes);
        true
    });
    assert!(jit.len() > 100 && jit.bad_lines == 0, "{} pieces, {} bad lines", jit.len(), jit.bad_lines);
    jit
}

fn threads(pid: u32) -> Vec<i32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    threads.map(|thread| thread.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect()
}

/// A JVM that has told that its Java code runs.
fn jvm(java: &str, program: &str, flags: &[&str]) -> Child {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(program);
    let mut child = Command::new(java)
        .args(["-Xmx128m", "-XX:+UseSerialGC", "-XX:-UsePerfData"])
        .args(flags)
        .arg(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = [0; 8];
    child.stdout.as_mut().unwrap().read_exact(&mut said).unwrap();
    child
}
