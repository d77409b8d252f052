//! Probes of real files, compared with the output of binutils, and of files that were changed.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::PathBuf;

use common::output;
use fathom_symbols::elf::{Argument, functions_at, probes_of};
use proptest::proptest;

/// The JVMs of this machine: nothing else has as many probes.
fn jvms() -> Vec<PathBuf> {
    let files = common::system_files().into_iter().filter(|path| path.ends_with("libjvm.so")).collect::<Vec<_>>();
    if files.is_empty() {
        eprintln!("SKIPPED: no JVM whose probes could be read");
    }
    files
}

#[test]
fn probes_are_those_that_readelf_shows() {
    for path in jvms() {
        let probes = probes_of(&std::fs::read(&path).unwrap()).unwrap();
        let shown = output("readelf", &["-n", path.to_str().unwrap()]);
        let after = |word: &str| {
            shown.lines().filter_map(|line| Some(line.trim().strip_prefix(word)?.trim().to_owned())).collect::<Vec<_>>()
        };
        let names: Vec<&str> = probes.iter().map(|probe| probe.name.as_str()).collect();
        let known = after("Name: ");
        // The build id's note has no such line.
        assert_eq!(names, known, "{}", path.display());
        let arguments = after("Arguments:");
        for (probe, shown) in probes.iter().zip(&arguments) {
            assert_eq!(probe.arguments.len(), shown.split_whitespace().count(), "{}: {shown}", probe.name);
            assert!(probe.arguments.iter().all(Option::is_some), "{}: {shown}", probe.name);
        }
        assert!(probes.len() > 500 && probes.iter().all(|probe| probe.semaphore_offset.is_none()));
    }
}

#[test]
fn the_instruction_of_a_probe_does_nothing() {
    for path in jvms() {
        let file = std::fs::read(&path).unwrap();
        for probe in probes_of(&file).unwrap() {
            let code = &file[probe.file_offset as usize..];
            assert_eq!(code[0], if cfg!(target_arch = "x86_64") { 0x90 } else { 0x1f }, "{}", probe.name);
        }
    }
}

#[test]
fn functions_are_found_by_name() {
    for path in jvms() {
        let names = ["_ZN16SafepointTracing12synchronizedEiii", "no such function"];
        let shown = output("nm", &[path.to_str().unwrap()]);
        let has_first = shown.lines().any(|line| line.ends_with(names[0]));
        let [first, second] = functions_at(&std::fs::read(&path).unwrap(), names).unwrap();
        assert_eq!((first.is_some(), second), (has_first, None), "{}", path.display());
    }
}

proptest! {
    #[test]
    fn no_change_of_a_file_is_too_strange(places in proptest::collection::vec((0.0..1.0_f64, 0_u8..), 1..40)) {
        let mut file = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let head = file.len().min(1 << 16);
        file.truncate(head);
        let size = head as f64;
        for (place, byte) in &places {
            file[(place * place * size) as usize] = *byte;
        }
        let probes = probes_of(&file).unwrap_or_default();
        assert!(probes.iter().flat_map(|probe| &probe.arguments).flatten().all(|Argument { size_bytes, .. }| *size_bytes <= 8));
        let _ = functions_at(&file, ["main"]);
    }
}
