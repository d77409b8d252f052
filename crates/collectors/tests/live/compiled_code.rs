//! Names of compiled code from real JVMs, and what must not be read as such.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::PathBuf;

use fathom_collectors::recorder::Plan;
use fathom_collectors::symbols::{Images, Symbols};
use fathom_collectors::{Order, Target, collectors};
use fathom_evidence::Recording;
use fathom_evidence::kinds::{frame, span};

use crate::jvm::{Jvm, is_root, javas, own_uid};

/// Asks the JVM as the recorder would, for a collector that wants names.
fn observed(target: &Target) -> (Recording, Symbols) {
    let folder = tempfile::tempdir().unwrap();
    let images = Images::asking_the_jvm();
    let order = Order { images, ..Plan::new(folder.path().join("x.fathom")).order };
    let symbols = Symbols::of(target, &order.images);
    let collector = collectors().iter().find(|collector| collector.name() == "compiled_code").unwrap();
    let mut observer = collector.start(target, &order).unwrap();
    let mut found = Recording::default();
    observer.look(&mut found);
    observer.look(&mut found);
    (found, symbols)
}

/// Kinds and names of what lies in the target's code cache.
fn code_cache(target: &Target, symbols: &mut Symbols) -> Vec<(String, String)> {
    let maps = fs::read_to_string(target.proc("maps")).unwrap();
    let ranges = maps.lines().filter(|line| line.contains("rwxp") && line.trim_end().ends_with(" 0"));
    let places: Vec<u64> = ranges
        .flat_map(|line| {
            let (range, _) = line.split_once(' ').unwrap();
            let (start, end) = range.split_once('-').unwrap();
            let number = |hex| u64::from_str_radix(hex, 16).unwrap();
            (number(start)..number(end)).step_by(128)
        })
        .collect();
    let mut found = Recording::default();
    let stack = symbols.user_frames(&mut found, &places);
    let frames = found.stacks.leaf_to_root(stack);
    frames.map(|frame| (found.text(frame.kind).to_owned(), found.text(frame.symbol).to_owned())).collect()
}

fn says(found: &Recording) -> Vec<String> {
    found.losses.rows().map(|row| found.text(row.says).to_owned()).collect()
}

fn map_of(target: &Target) -> PathBuf {
    PathBuf::from(format!("/tmp/perf-{}.map", target.pid))
}

#[test]
fn compiled_code_of_real_jvms_has_names() {
    for java in javas() {
        let jvm = Jvm::start(&java, own_uid(), &[]);
        let target = jvm.target();
        let (found, mut symbols) = observed(&target);
        assert_eq!(says(&found), [""; 0], "{java:?}");
        assert!(!map_of(&target).exists(), "what was made for us is taken away");
        let actions = found.spans.rows().filter(|row| found.text(row.kind) == span::OWN_ACTION);
        let actions: Vec<&str> = actions.map(|row| found.text(row.name)).collect();
        assert_eq!(actions, ["attach", "Compiler.perfmap"], "asked once");
        let code = code_cache(&target, &mut symbols);
        let has = |kind: &str, name: &str| code.iter().any(|code| code.0 == kind && code.1.starts_with(name));
        assert!(has(frame::COMPILED, "java.lang.") && has(frame::INTERPRETED, "Interpreter") && has(frame::VM, "Stub"));
        assert_eq!(jvm.end(), "");
    }
}

#[test]
fn a_map_that_is_not_the_jvms_own_is_left_alone() {
    let Some(java) = javas().pop() else { return };
    let folder = tempfile::tempdir().unwrap();
    let victim = folder.path().join("victim");
    let jvm = Jvm::start(&java, own_uid(), &[]);
    let (target, map) = (jvm.target(), map_of(&jvm.target()));

    fs::write(&victim, "precious").unwrap();
    symlink(&victim, &map).unwrap();
    let (found, _) = observed(&target);
    fs::remove_file(&map).unwrap();
    assert!(says(&found).iter().any(|says| says.contains("is not the JVM's own file")), "{:?}", says(&found));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");

    if is_root() {
        fs::write(&map, "1000 10 void a.b()").unwrap();
        chown(&map, Some(4242), None).unwrap();
        let (found, _) = observed(&target);
        fs::remove_file(&map).unwrap();
        assert!(says(&found).iter().any(|says| says.contains("is not the JVM's own file")), "{:?}", says(&found));
    }

    fs::write(&map, "1000 10 void a.b()").unwrap();
    let (found, _) = observed(&target);
    assert_eq!(says(&found), [""; 0]);
    let text = fs::read_to_string(&map).unwrap();
    fs::remove_file(&map).unwrap();
    assert!(text.contains("Interpreter"), "somebody else's wish for a map is left standing");
}
