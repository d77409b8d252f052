//! Tracepoints of system calls, `raw_syscalls:*` or `syscalls:*`, to calls.

use std::borrow::Cow;
use std::ffi::c_long;

use fathom_evidence::{Recording, StackId, StrId};

use crate::calls::{Call, Calls};
use crate::perf_data::formats::Format;

/// What a call's first argument is called where it is a descriptor.
const DESCRIPTORS: &[&str] = &["fd", "sockfd", "fildes", "epfd"];

/// Results from this on are errors.
const ERRORS_FROM: i64 = -4_095;

/// A call, by its name or its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Named(StrId),
    Numbered(i64),
}

impl Which {
    fn name(self, recording: &Recording, architecture: &str) -> Cow<'static, str> {
        match self {
            Which::Named(name) => Cow::Owned(recording.text(name).to_owned()),
            Which::Numbered(number) => name_of(number, architecture),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Begins {
        which: Which,
        first: Option<i64>,
        stacks: [StackId; 2],
    },
    /// Which call ends is not always told.
    Ends {
        which: Option<Which>,
        result: i64,
    },
}

/// What a tracepoint says, if it is of a system call.
pub(super) fn what(recording: &mut Recording, format: &Format, raw: &[u8], stacks: [StackId; 2]) -> Option<What> {
    let (which, first) = match format.name.split_once(':')? {
        ("raw_syscalls", "sys_enter") => (Which::Numbered(format.number(raw, "id")?), format.first_number(raw, "args")),
        ("raw_syscalls", "sys_exit") => {
            let which = format.number(raw, "id").filter(|id| *id >= 0).map(Which::Numbered);
            return Some(What::Ends { which, result: format.number(raw, "ret")? });
        }
        ("syscalls", name) => {
            if let Some(name) = name.strip_prefix("sys_exit_") {
                let which = Some(Which::Named(recording.strings.intern(name)));
                return Some(What::Ends { which, result: format.number(raw, "ret")? });
            }
            let name = recording.strings.intern(name.strip_prefix("sys_enter_")?);
            (Which::Named(name), DESCRIPTORS.iter().find_map(|field| format.number(raw, field)))
        }
        _ => return None,
    };
    Some(What::Begins { which, first, stacks })
}

/// Makes calls of what comes in the order of time.
pub(super) struct SystemCalls {
    calls: Calls,
    /// Of the machine.
    pub(super) architecture: String,
}

impl SystemCalls {
    pub(super) fn of(source: &'static str) -> SystemCalls {
        SystemCalls { calls: Calls::of(source), architecture: String::new() }
    }

    /// A thread that begins another call has lost the end of the one before.
    pub(super) fn take(&mut self, recording: &mut Recording, (time_ns, tid): (i64, i64), what: What) {
        self.calls.rows_until(recording, time_ns);
        match what {
            What::Begins { which, first, stacks } => {
                let name = which.name(recording, &self.architecture);
                let descriptor = first.filter(|first| (0..i64::from(i32::MAX)).contains(first));
                self.calls.begins(tid, time_ns, &Call { name: &name, descriptor, ..Call::default() }, stacks);
            }
            What::Ends { which, result } => {
                // Where an end was lost, the next one is of another call.
                let name = which.map_or(Cow::Borrowed(""), |which| which.name(recording, &self.architecture));
                let result = if (ERRORS_FROM..0).contains(&result) { -1 } else { result.max(0) };
                self.calls.ends(recording, tid, time_ns, Call { name: &name, result: Some(result), ..Call::default() });
            }
        }
    }

    /// Something of a thread came too late: how long its call takes is not known.
    pub(super) fn forget(&mut self, tid: i64) {
        self.calls.forget(tid);
    }

    pub(super) fn finish(self, recording: &mut Recording) {
        self.calls.finish(recording);
    }
}

/// The name of a call by its number, which each architecture has of its own.
fn name_of(number: i64, architecture: &str) -> Cow<'static, str> {
    let of_architecture = match architecture {
        "aarch64" => syscall_numbers::aarch64::sys_call_name,
        "x86_64" => syscall_numbers::x86_64::sys_call_name,
        _ => |_| None,
    };
    // A `long` is shorter on Windows, and no number needs one.
    let known = i32::try_from(number).ok().and_then(|number| of_architecture(number as c_long));
    known.map_or_else(|| Cow::Owned(format!("system_call_{number}")), Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_of_an_architecture() {
        for (number, architecture, name) in [
            (0, "x86_64", "read"),
            (202, "x86_64", "futex"),
            (98, "aarch64", "futex"),
            (63, "aarch64", "read"),
            (0, "riscv64", "system_call_0"),
            (-1, "x86_64", "system_call_-1"),
            (99_999, "x86_64", "system_call_99999"),
        ] {
            assert_eq!(name_of(number, architecture), name);
        }
    }
}
