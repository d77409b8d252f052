//! Stacks of real JVMs, taken without attaching.

use fathom_evidence::Recording;
use fathom_evidence::kinds::{event, frame};

use crate::hsperfdata::collector;
use crate::jvm::{Jvm, javas, own_uid};
use crate::recorded::during_turns;

/// Stacks from the leaf on, as kinds and names.
fn stacks(seen: &Recording) -> Vec<Vec<(&str, &str)>> {
    let samples = seen.samples.rows().filter(|row| seen.text(row.event) == event::CPU_FROM_OUTSIDE);
    let frames = samples.map(|row| seen.stacks.leaf_to_root(row.stack_id));
    frames.map(|frames| frames.map(|frame| (seen.text(frame.kind), seen.text(frame.symbol))).collect()).collect()
}

fn is_java(kind: &str) -> bool {
    matches!(kind, frame::COMPILED | frame::INTERPRETED)
}

#[test]
fn stacks_of_a_jvm_that_refuses_attach_have_the_names_of_its_methods() {
    for java in javas() {
        for (options, kinds) in [
            // Without work most samples are of the threads that collect.
            (&["-XX:+DisableAttachMechanism", "-Dwork=2000000"][..], &[frame::COMPILED, frame::INTERPRETED][..]),
            (&["-XX:+DisableAttachMechanism", "-Dwork=100000", "-Xint"], &[frame::INTERPRETED]),
        ] {
            let jvm = Jvm::start(&java, own_uid(), options);
            if let Err(refusal) = collector("cpu_samples").check(&jvm.target()) {
                println!("SKIPPED: {}", refusal.why);
                return;
            }
            let seen = during_turns("cpu_samples", &jvm, 400, |_| ()).seen;
            let stacks = stacks(&seen);
            let of_main = |stack: &&Vec<(&str, &str)>| stack.iter().any(|(_, name)| *name == "Program.main");
            let mains: Vec<_> = stacks.iter().filter(of_main).collect();
            assert!(!mains.is_empty(), "{java:?} {options:?}: {stacks:?}");
            for stack in &mains {
                let main = stack.iter().find(|(_, name)| *name == "Program.main").unwrap();
                assert!(kinds.contains(&main.0), "{java:?} {options:?}: {stack:?}");
            }
            let are_whole = mains.iter().filter(|stack| stack.iter().any(|(_, name)| *name == "start_thread")).count();
            assert!(are_whole * 10 >= mains.len() * 9, "{java:?} {options:?}: {mains:?}");
            let frames = || stacks.iter().flatten().filter(|(kind, _)| is_java(kind));
            let nameless = frames().filter(|(_, name)| matches!(*name, "[unknown]" | "Interpreter")).count();
            // Few samples: one stack that cannot be walked may have some.
            assert!(
                nameless * 10 <= frames().count(),
                "{java:?} {options:?}: {nameless} frames have no name: {stacks:?}"
            );
            assert_eq!(jvm.end(), "");
        }
    }
}
