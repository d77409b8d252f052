//! Logs of real JVMs, read along.

use std::time::Duration;

use fathom_evidence::kinds::span;

use crate::hsperfdata::collector;
use crate::jvm::{Jvm, javas, own_uid};
use crate::recorded::{during_turns, outcome};

#[test]
fn the_log_that_the_jvm_writes_is_taken_over() {
    for java in javas() {
        // One that is rotated all the time, so that files come and go between two looks, one with the process's number, one with
        // uptimes, and one without any time.
        for (log, expected) in [
            ("-Xlog:gc*:file=gc.log:time,uptime,level,tags:filesize=4k,filecount=9", Some(1)),
            ("-Xlog:gc*,safepoint*:file=gc-%p.log:time,level,tags", Some(10)),
            ("-Xlog:gc*,safepoint*:file=gc.log:uptime,level,tags", Some(10)),
            ("-Xlog:gc*:file=gc.log:level,tags", None),
        ] {
            let jvm = Jvm::start(&java, own_uid(), &[log]);
            let refused = collector("gc_log").check(&jvm.target()).err();
            assert_eq!(refused.is_none(), expected.is_some(), "{log}: {refused:?}");
            let Some(expected) = expected else { continue };
            let taken = during_turns("gc_log", &jvm, 200, |_| {});
            let options = fathom_readers::LoadOptions::default();
            // One that has just been begun may have nothing in it yet.
            let read: Vec<_> =
                taken.files().iter().filter_map(|file| fathom_readers::load_file(file, &options).ok()).collect();
            let pauses = read.iter().flat_map(|part| part.spans.rows().map(|row| part.text(row.kind).to_owned()));
            let pauses = pauses.filter(|kind| kind == span::GC_PAUSE).count();
            assert!(pauses >= expected, "{log}: {pauses} in {} files: {:?}", read.len(), taken.says());
        }
    }
}

#[test]
fn to_write_no_log_is_no_loss() {
    let Some(java) = javas().pop() else { return };
    let jvm = Jvm::start(&java, own_uid(), &[]);
    let taken = outcome("gc_log", &jvm.target(), |plan| plan.duration = Some(Duration::from_millis(200)));
    assert_eq!((taken.files().len(), taken.says().len()), (0, 0), "{:?}", taken.says());
    assert!(collector("gc_log").check(&jvm.target()).is_err());
}
