//! Real files, compared with what `nm`, `readelf` and `addr2line` print of them.
#![allow(clippy::unwrap_used, reason = "a test fails where its machinery does")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use common::{compile, image, output, system_files, without_section_headers};
use fathom_symbols::elf::{Binding, ElfError, Image, LONGEST_CALL_BYTES};

/// Functions by address as `nm` lists them.
fn functions_by_nm(path: &Path, which: &str) -> BTreeMap<u64, BTreeSet<String>> {
    let mut functions = BTreeMap::<u64, BTreeSet<String>>::new();
    for line in output("nm", &["--defined-only", which, path.to_str().unwrap()]).lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [address, "T" | "t" | "W" | "w" | "i", name] = fields[..] else { continue };
        let address = u64::from_str_radix(address, 16).unwrap();
        let name = name.split('@').next().unwrap();
        functions.entry(address).or_default().insert(name.to_owned());
    }
    functions
}

fn check_functions(image: &Image, functions: &BTreeMap<u64, BTreeSet<String>>, what: &str) {
    for (address, names) in functions.iter().filter(|(address, _)| **address != 0) {
        if image.section_at(*address) == Some(".data") {
            continue; // nm gives the weak `data_start` no other letter than a weak function
        }
        let found = image.resolve(*address);
        let found = found.unwrap_or_else(|| panic!("{what}: nothing at {address:x}, nm has {names:?}"));
        // A label within a function is shown as the function.
        if found.offset == 0 {
            assert!(names.contains(found.name), "{what}: {address:x} is {found:?}, nm has {names:?}");
        }
    }
}

#[test]
fn functions_are_those_of_nm() {
    for path in system_files() {
        let image = image(&path);
        let which = if image.has_full_symbols() { "--extern-only" } else { "--dynamic" };
        let functions = functions_by_nm(&path, which);
        assert!(functions.len() > 5, "{}: {functions:?}", path.display());
        check_functions(&image, &functions, &path.display().to_string());
    }
}

#[test]
fn places_within_functions_are_those_of_addr2line() {
    for path in system_files().iter().filter(|path| path.ends_with("libjvm.so")) {
        let image = image(path);
        let functions = functions_by_nm(path, "--debug-syms");
        let places: Vec<u64> = functions.keys().step_by(97).map(|start| start + 7).collect();
        let hex: Vec<String> = places.iter().map(|place| format!("{place:#x}")).collect();
        let arguments = [vec!["-f", "-e", path.to_str().unwrap()], hex.iter().map(String::as_str).collect()].concat();
        let lines = output("addr2line", &arguments);
        let mut compared = 0;
        for (place, theirs) in places.iter().zip(lines.lines().step_by(2)) {
            let Some(ours) = image.resolve(*place) else { continue };
            let names = &functions[&(place - ours.offset)];
            assert!(names.contains(ours.name) && names.contains(theirs), "{place:x}: {ours:?}, {theirs}, {names:?}");
            compared += 1;
        }
        assert!(compared > places.len() / 2 && compared > 300, "{compared} of {}", places.len());
    }
}

#[test]
fn sections_are_those_of_readelf() {
    for path in system_files() {
        let bytes = std::fs::read(&path).unwrap();
        let image = Image::read(&bytes).unwrap();
        for section in sections_by_readelf(&path).iter().filter(|section| section.is_loaded) {
            let middle = section.address + section.size_bytes / 2;
            assert_eq!(image.section_at(middle), Some(&*section.name), "{}", path.display());
            if section.is_in_file {
                let place = section.file_offset + section.size_bytes / 2;
                assert_eq!(image.file_offset_of(middle), Some(place), "{} {}", path.display(), section.name);
                assert_eq!(image.section_at(image.address_of(place).unwrap()), Some(&*section.name));
            }
        }
    }
}

struct SectionOfReadelf {
    name: String,
    address: u64,
    file_offset: u64,
    size_bytes: u64,
    is_loaded: bool,
    is_in_file: bool,
}

fn sections_by_readelf(path: &Path) -> Vec<SectionOfReadelf> {
    let text = output("readelf", &["-SW", path.to_str().unwrap()]);
    let lines = text.lines().filter_map(|line| line.split_once(']').map(|(_, rest)| rest));
    let sections = lines.filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |index: usize| u64::from_str_radix(fields.get(index)?, 16).ok();
        let flags = fields.get(6)?;
        Some(SectionOfReadelf {
            name: fields[0].to_owned(),
            address: number(2)?,
            file_offset: number(3)?,
            size_bytes: number(4).filter(|size| *size > 0)?,
            // Thread-local data have an address but lie in each thread's own memory.
            is_loaded: flags.contains('A') && !flags.contains('T'),
            is_in_file: fields[1] != "NOBITS",
        })
    });
    sections.collect()
}

#[test]
fn what_the_dynamic_linker_reads_is_that_of_readelf() {
    for path in system_files() {
        let image = image(&path);
        let name = path.to_str().unwrap();
        let text = output("readelf", &["-dnW", name]);
        let quoted = |line: &str| line.split(['[', ']']).nth(1).unwrap().to_owned();
        let of = |key: &str| text.lines().filter(|line| line.contains(key)).map(quoted).collect::<Vec<_>>();
        assert_eq!(image.needed(), of("(NEEDED)"), "{name}");
        assert_eq!(image.soname().map(str::to_owned).into_iter().collect::<Vec<_>>(), of("(SONAME)"), "{name}");
        let is_now = text.lines().any(|line| line.contains("FLAGS") && line.contains("NOW"));
        let expected = match (is_now, text.contains("(PLTRELSZ)")) {
            (true, _) => Binding::Now,
            (false, true) => Binding::Lazy,
            (false, false) => Binding::None,
        };
        assert_eq!(image.binding(), expected, "{name}: {text}");
        let build_id: String = image.build_id().iter().map(|byte| format!("{byte:02x}")).collect();
        let theirs = text.split_once("Build ID: ").map_or("", |(_, rest)| rest.split_whitespace().next().unwrap());
        assert_eq!(build_id, theirs, "{name}");
    }
}

#[test]
fn a_library_is_read_however_it_was_stripped() {
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), "library.c", "library.so", &["-O1", "-g", "-shared", "-fPIC", "-Wl,-z,lazy"]);
    let full = image(&library);
    let debug = folder.path().join("library.debug");
    let stripped = folder.path().join("stripped.so");
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    output("objcopy", &["--only-keep-debug", &path(&library), &path(&debug)]);
    let link = format!("--add-gnu-debuglink={}", debug.display());
    output("objcopy", &["--strip-all", &link, &path(&library), &path(&stripped)]);

    let functions = functions_by_nm(&library, "--debug-syms");
    let find = |name: &str| *functions.iter().find(|(_, names)| names.contains(name)).unwrap().0;
    let (exported, hidden) = (find("exported_function"), find("hidden_function"));
    let name_at = |image: &Image, address: u64| image.resolve(address + 1).map(|symbol| symbol.name.to_owned());
    let exported_name = Some("exported_function".to_owned());
    let hidden_name = Some("hidden_function".to_owned());

    assert!(full.has_full_symbols());
    assert_eq!((name_at(&full, exported), name_at(&full, hidden)), (exported_name.clone(), hidden_name.clone()));

    let mut image = image(&stripped);
    assert!(!image.has_full_symbols());
    assert_eq!(image.debug_link(), Some("library.debug"));
    assert_eq!((name_at(&image, exported), name_at(&image, hidden)), (exported_name.clone(), None));
    image.add_debug_file(&std::fs::read(&debug).unwrap()).unwrap();
    assert_eq!((name_at(&image, exported), name_at(&image, hidden)), (exported_name.clone(), hidden_name));
    let of_another = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    assert_eq!(image.add_debug_file(&of_another), Err(ElfError::OtherBuild));

    let bare = Image::read(&without_section_headers(&std::fs::read(&stripped).unwrap())).unwrap();
    assert_eq!((name_at(&bare, exported), name_at(&bare, hidden)), (exported_name, None));
    assert_eq!(bare.build_id(), full.build_id());
    assert_eq!((bare.binding(), full.binding()), (Binding::Lazy, Binding::Lazy));
    let wanted = [".dynstr", ".dynsym", ".gnu.hash", ".gnu.version", ".rela.plt", ".dynamic", ".text", ".eh_frame_hdr"];
    for section in sections_by_readelf(&library).iter().filter(|section| wanted.contains(&&*section.name)) {
        let middle = section.address + section.size_bytes / 2;
        assert_eq!(bare.section_at(middle), Some(&*section.name));
    }
}

#[test]
fn large_libraries_without_section_headers_keep_their_exports() {
    for path in system_files() {
        let bytes = std::fs::read(&path).unwrap();
        let bare = Image::read(&without_section_headers(&bytes)).unwrap();
        let functions =
            Command::new("nm").args(["--dynamic", "--defined-only", path.to_str().unwrap()]).output().unwrap();
        if functions.status.success() && !functions.stdout.is_empty() {
            check_functions(&bare, &functions_by_nm(&path, "--dynamic"), &path.display().to_string());
        }
    }
}

#[test]
fn calls_of_other_libraries_have_the_names_of_objdump() {
    for (index, flags) in
        [&["-Wl,-z,lazy"][..], &["-Wl,-z,lazy", "-fcf-protection=full"], &["-Wl,-z,now"]].iter().enumerate()
    {
        let folder = tempfile::tempdir().unwrap();
        let flags = [&["-O1", "-shared", "-fPIC"][..], flags].concat();
        let library = compile(folder.path(), "library.c", &format!("{index}.so"), &flags);
        check_calls("objdump", &library);
    }
}

#[test]
fn calls_of_arm64_libraries_have_the_names_of_objdump() {
    const COMPILER: &str = "aarch64-linux-gnu-gcc";
    if Command::new(COMPILER).arg("--version").output().is_err() {
        println!("SKIPPED: calls_of_arm64_libraries_have_the_names_of_objdump: {COMPILER} is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/library.c");
    let library = folder.path().join("library.so");
    for protection in ["none", "bti"] {
        let protection = format!("-mbranch-protection={protection}");
        let paths = [source.to_str().unwrap(), "-o", library.to_str().unwrap()];
        output(COMPILER, &[&paths[..], &["-O1", "-shared", "-fPIC", "-Wl,-z,lazy", &protection]].concat());
        check_calls("aarch64-linux-gnu-objdump", &library);
    }
}

/// Every call that a disassembler shows is read from its end: what it calls, and where it begins.
fn check_calls(disassembler: &str, library: &Path) {
    let (image, bytes) = (image(library), std::fs::read(library).unwrap());
    let code = output(disassembler, &["-d", "--no-show-raw-insn", library.to_str().unwrap()]);
    let lines: Vec<&str> = code.lines().collect();
    let is_call = |line: &str| line.contains("@plt>") && (line.contains("call") || line.contains("\tbl\t"));
    let address_of = |line: &str| u64::from_str_radix(line.trim().split(':').next().unwrap(), 16).unwrap();
    let mut compared = BTreeSet::new();
    for pair in lines.windows(2).filter(|pair| is_call(pair[0])) {
        let callee = pair[0].split(['<', '@']).nth(1).unwrap();
        if callee == "__cxa_finalize" {
            continue; // the compiler's own, bound when the file is loaded
        }
        let return_address = address_of(pair[1]);
        let end = image.file_offset_of(return_address).unwrap() as usize;
        let call = image.import_call(&bytes[end - LONGEST_CALL_BYTES..end], return_address).expect(pair[0]);
        assert_eq!((call.name, return_address - call.size_bytes), (callee, address_of(pair[0])), "{pair:?}");
        compared.insert(callee.to_owned());
    }
    assert!(compared.contains("getpid") && compared.contains("strtoul"), "{compared:?}\n{code}");
}
