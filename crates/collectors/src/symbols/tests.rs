use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::process::{Command, Stdio};
use std::sync::Arc;

use fathom_evidence::kinds::loss;

use super::*;

fn own() -> (Target, Symbols) {
    let target = Target::of(std::process::id()).unwrap();
    let symbols = Symbols::of(&target, &Images::default());
    (target, symbols)
}

/// Symbol, module and kind of each frame, leaf first.
fn frames(found: &Recording, stack: StackId) -> Vec<(&str, &str, &str)> {
    let frames = found.stacks.leaf_to_root(stack);
    frames.map(|frame| (found.text(frame.symbol), found.text(frame.module), found.text(frame.kind))).collect()
}

#[inline(never)]
fn some_function(number: &mut u64) -> u64 {
    *number += 1;
    std::hint::black_box(*number)
}

#[test]
fn places_of_this_process_are_told_apart() {
    let (_, mut symbols) = own();
    let boxed = Box::new([7_u8; 64]);
    let cases: [(u64, &str, Option<&str>); 3] = [
        (some_function as *const () as u64, ".text", Some(".text")),
        ((&raw const *boxed) as u64, "[", None),
        ((&raw const symbols) as u64, "[", None),
    ];
    for (address, name, section) in cases {
        let place = symbols.place(address);
        assert!(place.name.contains(name), "{place:?}");
        assert_eq!(place.section.as_deref(), section, "{place:?}");
        assert_eq!(
            (place.path.is_some(), place.file_offset.is_some()),
            (section.is_some(), section.is_some()),
            "{place:?}"
        );
    }
    assert_eq!(symbols.place(16), Place { name: UNKNOWN.to_owned(), ..Place::default() });
}

#[test]
fn frames_of_others_are_named() {
    let (_, mut symbols) = own();
    let mut found = Recording::default();
    let place = some_function as *const () as u64;
    some_function(&mut 0);
    // The second is a return address: its call is one byte before.
    let stack = symbols.user_frames(&mut found, &[place, place + 1, 16]);
    let named = frames(&found, stack);
    for frame in &named[..2] {
        assert!(frame.0.ends_with("some_function") && !frame.1.is_empty() && frame.2 == frame::NATIVE, "{named:?}");
    }
    assert_eq!(named[2], (UNKNOWN, "", frame::NATIVE));
    symbols.tell_losses(&mut found, "test");
    let losses: Vec<_> = found.losses.rows().map(|row| (found.text(row.kind).to_owned(), row.count)).collect();
    assert_eq!(losses, [(loss::NAMES_MISSING.to_owned(), 1)]);
}

#[test]
fn the_kernel_is_named_or_says_why_not() {
    let (_, mut symbols) = own();
    let text = fs::read_to_string("/proc/kallsyms").unwrap();
    let line = text.lines().find(|line| line.ends_with(" T schedule") || line.ends_with(" T _stext"));
    let address = u64::from_str_radix(line.unwrap().split(' ').next().unwrap(), 16).unwrap();
    let mut found = Recording::default();
    let stack = symbols.kernel_stack(&mut found, &[address, address + 1]);
    symbols.tell_losses(&mut found, "test");
    let named = frames(&found, stack);
    if address == 0 {
        assert!(named.iter().all(|frame| frame.0 == UNKNOWN));
        assert_eq!(found.losses.rows().map(|row| row.count).collect::<Vec<_>>(), [2]);
    } else {
        assert!(named.iter().all(|frame| frame.0 != UNKNOWN && frame.2 == frame::KERNEL), "{named:?}");
        assert_eq!(found.losses.rows().count(), 0);
    }
}

#[test]
fn a_process_that_has_ended_still_has_names() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("cat");
    fs::copy("/bin/cat", &program).unwrap();
    let mut child = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // It has been loaded when it answers.
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"x").unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    fs::remove_file(&program).unwrap();
    let target = Target::of(child.id()).unwrap();
    let mut symbols = Symbols::of(&target, &Images::default());
    symbols.images.load_all(&target);
    child.kill().unwrap();
    child.wait().unwrap();
    let is_program = |mapping: &&Mapping| mapping.is_executable && mapping.file_name() == "cat";
    let mapping = symbols.process.mappings().iter().find(is_program).unwrap().clone();
    let place = symbols.place(mapping.addresses.end - 0x800);
    if symbols.process.image(mapping.file).is_none() {
        println!("SKIPPED: files without a name can be opened only with CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE");
        return;
    }
    assert!(place.section.is_some(), "{place:?}");
    assert_eq!(mapping.kind, MappingKind::DeletedFile);
}

#[test]
fn a_file_is_opened_by_name_only_if_it_is_the_mapped_one() {
    let (target, symbols) = own();
    let here = symbols.process.mappings().find(own as *const () as u64).unwrap().clone();
    // No mapping has this range, so that the way by name is taken.
    let elsewhere = Mapping { addresses: 0x1000..0x2000, ..here.clone() };
    assert!(open_mapped(&target, &here).is_some());
    assert!(open_mapped(&target, &elsewhere).is_some());
    let replaced = Mapping { file: FileId { inode: here.file.inode + 1, ..here.file }, ..elsewhere.clone() };
    assert!(open_mapped(&target, &replaced).is_none());
    for path in ["/dev/null", "/nowhere", "", "/tmp"] {
        let inode = fs::metadata(path).map_or(0, |file| file.ino());
        let odd = Mapping { path: path.into(), file: FileId { inode, ..here.file }, ..elsewhere.clone() };
        assert!(open_mapped(&target, &odd).is_none(), "{path}");
    }
}

#[test]
fn new_lists_of_compiled_code_are_taken_over() {
    let (target, mut symbols) = own();
    let mut found = Recording::default();
    let places = [0x7010, 0x7120, 0x7210];
    let before = symbols.user_frames(&mut found, &places);
    assert!(frames(&found, before).iter().all(|frame| frame.0 == UNKNOWN));
    let code = symbols.images.code();
    assert!(code.is_wanted() && !code.is_wanted(), "wanted from the beginning, and said once");
    let map = "7000 100 void shop.Cart.add(int)\n7100 100 Interpreter\n7200 80 vtable chunks\n";
    assert_eq!(code.read(&target, map.as_bytes()), 3);
    let stack = symbols.user_frames(&mut found, &places);
    let wanted = [
        ("shop.Cart.add", "", frame::COMPILED),
        ("Interpreter", "", frame::INTERPRETED),
        ("vtable chunks", "", frame::VM),
    ];
    assert_eq!(frames(&found, stack), wanted);
}

/// The registers that a function must keep, and a copy of the stack, of the calling thread.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn capture(registers: &mut [u64; 21], stack: &mut Vec<u8>, end: u64) {
    let place = registers.as_mut_ptr();
    // SAFETY: writes seven words of `registers` and reads the stack of this thread up to `end`, where its mapping ends.
    unsafe {
        std::arch::asm!(
            "mov [{0}], r15", "mov [{0} + 8], r14", "mov [{0} + 16], r13", "mov [{0} + 24], r12",
            "mov [{0} + 32], rbp", "mov [{0} + 40], rbx", "lea {1}, [rip]", "mov [{0} + 128], {1}", "mov [{0} + 152], rsp",
            in(reg) place, out(reg) _,
        );
        let top = registers[19];
        let size_bytes = (end - top).min(12 << 10) as usize;
        stack.extend_from_slice(std::slice::from_raw_parts(top as *const u8, size_bytes));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn outer_function(symbols: &mut Symbols, found: &mut Recording) -> StackId {
    std::hint::black_box(inner_function(symbols, found))
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn inner_function(symbols: &mut Symbols, found: &mut Recording) -> StackId {
    let (mut registers, mut stack) = ([0; 21], Vec::new());
    let here = (&raw const registers) as u64;
    let end = symbols.process.mappings().find(here).unwrap().addresses.end;
    capture(&mut registers, &mut stack, end);
    let registers = Registers::from_pt_regs(this_machine(), &registers);
    symbols.user_stack(found, &UserStack { registers, stack: &stack, frames: &[] })
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_stack_of_this_thread_is_walked_and_named() {
    let (_, mut symbols) = own();
    let mut found = Recording::default();
    let stack = outer_function(&mut symbols, &mut found);
    symbols.tell_losses(&mut found, "test");
    let named = frames(&found, stack);
    let short = |name: &str| name.rsplit("::").next().unwrap_or_default().to_owned();
    let names: Vec<String> = named.iter().map(|frame| short(frame.0)).collect();
    assert_eq!(names[..2], ["inner_function", "outer_function"], "{named:?}");
    assert!(named.iter().any(|frame| frame.1.starts_with("libc.so")), "the thread's start: {named:?}");
    let says: Vec<&str> = found.losses.rows().map(|row| found.text(row.says)).collect();
    assert!(says.iter().all(|says| !says.contains("stacks")), "{says:?}");
}

#[test]
fn the_kernels_walk_goes_on_where_the_copy_ends() {
    let (_, mut symbols) = own();
    let place = some_function as *const () as u64;
    symbols.walked.places = vec![place, place + 9];
    let frames = [place, place + 5, place + 10, place + 20, place + 30];
    symbols.follow_frame_pointers(&frames);
    assert_eq!(symbols.walked.places, [place, place + 9, place + 19, place + 29]);
    symbols.follow_frame_pointers(&frames[..3]);
    assert_eq!(symbols.walked.places.len(), 4, "nothing to go on with");
}

/// Stops the thread of a child, and reads its registers.
fn stopped_registers(tid: i32) -> Vec<u64> {
    let mut registers = vec![0_u64; 40];
    let mut place = libc::iovec { iov_base: registers.as_mut_ptr().cast(), iov_len: 320 };
    // SAFETY: the kernel writes at most `iov_len` bytes to `registers`, which outlives the call.
    unsafe {
        assert_eq!(libc::ptrace(libc::PTRACE_SEIZE, tid, 0, 0), 0, "{}", std::io::Error::last_os_error());
        assert_eq!(libc::ptrace(libc::PTRACE_INTERRUPT, tid, 0, 0), 0);
        assert_eq!(libc::waitpid(tid, std::ptr::null_mut(), libc::__WALL), tid);
        assert_eq!(libc::ptrace(libc::PTRACE_GETREGSET, tid, libc::NT_PRSTATUS, &raw mut place), 0);
    }
    registers.truncate(place.iov_len / 8);
    registers
}

fn compile(folder: &std::path::Path, source: &str, target: &str, flags: &[&str]) {
    let source = format!("{}/../symbols/tests/programs/{source}", env!("CARGO_MANIFEST_DIR"));
    let mut compiled = Command::new("gcc");
    compiled.args([&source, "-O2", "-Wl,-z,lazy", "-o", target]).args(flags).current_dir(folder);
    assert!(compiled.status().unwrap().success());
}

/// What a disassembler says that the instruction at an offset in a function calls; it is between `<` and `>`.
fn call_of_objdump(program: &std::path::Path, function: &str, offset: u64) -> String {
    let disassemble = format!("--disassemble={function}");
    let said = Command::new("objdump").args(["-d", "--no-show-raw-insn", &disassemble]).arg(program).output().unwrap();
    let text = String::from_utf8(said.stdout).unwrap();
    let head = text.lines().find(|line| line.ends_with(&format!("<{function}>:"))).unwrap();
    let start = u64::from_str_radix(head.split(' ').next().unwrap(), 16).unwrap();
    let at = format!("{:x}:", start + offset);
    let line = text.lines().find(|line| line.trim().starts_with(&at)).unwrap_or_else(|| panic!("{at} in {text}"));
    line.split(['<', '>']).nth(1).unwrap_or(line).to_owned()
}

/// The file has what memory has; code that does not exist is not made up.
#[test]
fn code_before_an_address_is_of_its_mapping() {
    let (target, symbols) = own();
    let here = some_function as *const () as u64;
    let mappings = symbols.process.mappings();
    let mapping = mappings.find(here).unwrap();
    let code = memory::code_before(&target, mappings, here + 16).unwrap();
    // SAFETY: reads code of this program.
    let expected = unsafe { std::slice::from_raw_parts((here + 16 - code.len() as u64) as *const u8, code.len()) };
    assert_eq!((code.len(), &*code), (fathom_symbols::elf::LONGEST_CALL_BYTES, expected));
    let at_start = memory::code_before(&target, mappings, mapping.addresses.start + 3).unwrap();
    assert_eq!(at_start.len(), 3);
    for nothing in [0, 1, mapping.addresses.start, (&raw const target) as u64] {
        assert_eq!(memory::code_before(&target, mappings, nothing), None, "{nothing:#x}");
    }
    assert_eq!(memory::code_in_file(&target, mapping, here + 16 - code.len() as u64, code.len()), Some(code));
}

#[test]
fn the_function_that_is_looked_up_is_told() {
    for (how, expected) in [("late", Some("chosen_late")), ("qsort", None)] {
        let folder = tempfile::tempdir().unwrap();
        compile(folder.path(), "late.c", "liblate.so", &["-shared", "-fPIC"]);
        compile(folder.path(), "deep.c", "deep", &["liblate.so", "-rdynamic", "-Wl,-rpath,$ORIGIN"]);
        let program = folder.path().join("deep");
        let mut child =
            Command::new(&program).arg(how).env_remove("LD_BIND_NOW").stdout(Stdio::piped()).spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 8]).unwrap();
        let registers = Registers::from_pt_regs(this_machine(), &stopped_registers(child.id() as i32));
        let target = Target::of(child.id()).unwrap();
        let mut symbols = Symbols::of(&target, &Images::default());
        let top = registers.stack_pointer().unwrap();
        let mut stack = vec![0; 4096];
        memory::of(&target).unwrap().read_exact_at(&mut stack, top).unwrap_or_default();
        let user = UserStack { registers, stack: &stack, frames: &[] };
        let mut found = Recording::default();
        let stack = symbols.user_stack(&mut found, &user);
        let bound = symbols.call_being_bound();
        child.kill().unwrap();
        child.wait().unwrap();
        let function = bound.as_ref().map(|call| call.function.as_str());
        assert_eq!(function, expected, "{:?}", frames(&found, stack));
        if let Some(call) = bound {
            let site = call.call_site.strip_prefix("first_use+0x").and_then(|rest| rest.strip_suffix(" (deep)"));
            let offset = site.and_then(|offset| u64::from_str_radix(offset, 16).ok()).expect(&call.call_site);
            assert_eq!(call_of_objdump(&program, "first_use", offset), "chosen_late@plt", "{call:?}");
            let written = if cfg!(target_arch = "aarch64") { "bl chosen_late@plt" } else { "call chosen_late@plt" };
            assert_eq!(call.instruction, written);
        }
    }
}

#[test]
fn what_several_recordings_read_is_in_memory_once() {
    let target = Target::of(std::process::id()).unwrap();
    let maps = Mappings::parse(&fs::read("/proc/self/maps").unwrap());
    let own = maps.find(some_function as *const () as u64).unwrap();
    let of_a_recording = || Images::default().load(&target, own);
    let first = of_a_recording().unwrap();
    assert!(Arc::ptr_eq(&first, &of_a_recording().unwrap()));
}
