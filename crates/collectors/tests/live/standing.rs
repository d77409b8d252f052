//! Where threads of real JVMs wait, as continuous monitoring sees it.

use std::thread;

use fathom_collectors::Order;
use fathom_collectors::recorder::Plan;
use fathom_evidence::Recording;
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;

use crate::hsperfdata::collector;
use crate::jvm::{Jvm, javas, own_uid};

/// Three seconds of a JVM, without a question to it; `None` if the kernel does not allow looking.
fn looked_at(jvm: &Jvm) -> Option<Recording> {
    let order = Order { is_sparing: true, ..Plan::new("/nowhere".into()).order };
    let mut observer = match collector("scheduler").start(&jvm.target(), &order) {
        Ok(observer) => observer,
        Err(refusal) => {
            println!("SKIPPED: {}", refusal.why);
            return None;
        }
    };
    let mut seen = Recording::default();
    for _ in 0..30 {
        thread::sleep(observer.period());
        observer.look(&mut seen);
    }
    observer.finish(&mut seen);
    Some(seen)
}

#[test]
fn a_lock_that_is_held_for_long_is_a_wait_with_the_stack_of_who_asks() {
    for java in javas() {
        let options = ["-XX:+DisableAttachMechanism", "-Dcontended=true", "-Dhold=400"];
        let jvm = Jvm::start(&java, own_uid(), &options);
        let Some(seen) = looked_at(&jvm) else { return };
        let names = |row: &Span| -> Vec<&str> {
            seen.stacks.leaf_to_root(row.stack_id).map(|frame| seen.text(frame.symbol)).collect()
        };
        // Who has the lock sleeps.
        let asks = |row: &Span| {
            let names = names(row);
            names.contains(&"Program.hold") && !names.iter().any(|name| name.contains("sleep"))
        };
        let waits: Vec<Span> = seen.spans.rows().filter(|row| seen.text(row.kind) == span::SAMPLED_WAIT).collect();
        let longest_ns = waits.iter().filter(|row| asks(row)).map(|row| row.duration_ns).max();
        let all: Vec<_> = waits.iter().map(|row| (row.tid, row.duration_ns, names(row))).collect();
        assert!(longest_ns.is_some_and(|ns| ns >= 200_000_000), "{java:?}: {all:#?}");
        assert_eq!(jvm.end(), "");
    }
}
