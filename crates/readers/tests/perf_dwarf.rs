//! perf.data with copies of stacks: how the stacks of real files are unwound.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use fathom_evidence::Recording;
use fathom_evidence::kinds::loss;
use fathom_readers::{LoadOptions, load_file};

fn load(name: &str) -> Recording {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/perf_data");
    load_file(&folder.join(name), &LoadOptions::default()).unwrap()
}

/// Stacks as functions, callers last.
fn stacks(recording: &Recording) -> Vec<Vec<String>> {
    let names = |stack| recording.stacks.leaf_to_root(stack).map(|frame| recording.text(frame.symbol).to_owned());
    recording.samples.rows().map(|row| names(row.stack_id).collect()).collect()
}

fn has(stack: &[String], name: &str) -> bool {
    stack.iter().any(|frame| frame.contains(name))
}

/// perf itself ends at the first frame of Java. `main` is interpreted. zlib and the JVM have to be those of the recording.
#[test]
fn stacks_go_through_zlib_java_and_the_jvm() {
    let recording = load("dwarf-fp.data.gz");
    let stacks = stacks(&recording);
    assert_eq!(stacks.len(), 84);
    assert!(stacks.iter().all(|stack| !stack.is_empty()));
    if !stacks.iter().any(|stack| has(stack, "Java_java_util_zip_Deflater")) {
        println!("SKIPPED: zlib and the JDK of the recording are not on this machine");
        let losses: Vec<&str> = recording.losses.rows().map(|row| recording.text(row.kind)).collect();
        assert!(losses.contains(&loss::STACKS_CUT), "{losses:?}");
        return;
    }
    let in_zlib = stacks.iter().filter(|stack| has(stack, "Java_java_util_zip_Deflater"));
    let (whole, cut): (Vec<_>, Vec<_>) = in_zlib.partition(|stack| has(stack, "Interpreter") && has(stack, "JavaMain"));
    assert!(whole.len() >= 60 && cut.is_empty(), "{} whole, {} cut: {:?}", whole.len(), cut.len(), cut.first());
    for stack in whole {
        let at = |name: &str| stack.iter().position(|frame| frame.contains(name)).unwrap();
        assert!(
            at("Java_java_util_zip_Deflater") < at("Packs.pack") && at("Packs.pack") < at("Interpreter"),
            "{stack:?}"
        );
        assert!(
            at("Interpreter") < at("JavaCalls::call_helper") && at("JavaCalls::call_helper") < at("JavaMain"),
            "{stack:?}"
        );
    }
}

/// If Java has no frame pointers, its callers are not known, and the recording says so.
#[test]
fn without_frame_pointers_stacks_may_lack_callers() {
    let recording = load("dwarf-nofp.data.gz");
    let stacks = stacks(&recording);
    assert_eq!(stacks.len(), 71);
    let lacks = |stack: &&Vec<String>| !has(stack, "Packs.pack") || !has(stack, "JavaMain");
    let told: i64 =
        recording.losses.rows().filter(|row| recording.text(row.kind) == loss::STACKS_CUT).map(|row| row.count).sum();
    assert!(told >= stacks.iter().filter(lacks).count() as i64, "{told}");
}
