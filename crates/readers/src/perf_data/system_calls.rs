//! Tracepoints of system calls, `raw_syscalls:*` or `syscalls:*`, to calls.
//!
//! What a CPU wrote is in order, and CPUs are not: all is kept and put in order at the end.

use std::borrow::Cow;
use std::ffi::c_long;

use fathom_evidence::{Recording, StackId, StrId};

use crate::calls::{Call, Calls};
use crate::perf_data::formats::Format;

/// Beginnings and ends that are kept, each of some 50 bytes.
const EVENTS_MAX: usize = 20_000_000;

/// What a call's first argument is called where it is a descriptor.
const DESCRIPTORS: &[&str] = &["fd", "sockfd", "fildes", "epfd"];

/// Results from this on are errors.
const ERRORS_FROM: i64 = -4_095;

/// A call, by its name or its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
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
enum What {
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

/// What was seen.
#[derive(Debug, Default)]
pub(super) struct SystemCalls {
    events: Vec<(i64, i64, What)>,
}

impl SystemCalls {
    /// Takes a tracepoint if it is of a system call.
    pub(super) fn see(
        &mut self,
        recording: &mut Recording,
        format: &Format,
        raw: &[u8],
        (time_ns, tid): (i64, i64),
        stacks: [StackId; 2],
    ) -> bool {
        let what = match format.name.split_once(':') {
            Some(("raw_syscalls", "sys_enter")) => {
                format.number(raw, "id").map(|id| (Which::Numbered(id), format.first_number(raw, "args")))
            }
            Some(("syscalls", name)) if name.starts_with("sys_enter_") => {
                let name = recording.strings.intern(&name["sys_enter_".len()..]);
                let first = DESCRIPTORS.iter().find_map(|field| format.number(raw, field));
                Some((Which::Named(name), first))
            }
            Some(("raw_syscalls", "sys_exit")) => {
                let which = format.number(raw, "id").filter(|id| *id >= 0).map(Which::Numbered);
                return self.ends(format, raw, (time_ns, tid), which);
            }
            Some(("syscalls", name)) if name.starts_with("sys_exit_") => {
                let name = recording.strings.intern(&name["sys_exit_".len()..]);
                return self.ends(format, raw, (time_ns, tid), Some(Which::Named(name)));
            }
            _ => None,
        };
        let Some((which, first)) = what.filter(|_| self.events.len() < EVENTS_MAX) else { return false };
        let what = What::Begins { which, first, stacks };
        self.events.push((time_ns, tid, what));
        true
    }

    fn ends(&mut self, format: &Format, raw: &[u8], (time_ns, tid): (i64, i64), which: Option<Which>) -> bool {
        let result = format.number(raw, "ret").filter(|_| self.events.len() < EVENTS_MAX);
        self.events.extend(result.map(|result| (time_ns, tid, What::Ends { which, result })));
        result.is_some()
    }

    /// Puts all in order and writes the calls. A thread that began another one meanwhile has lost the end of the first.
    pub(super) fn into_calls(mut self, recording: &mut Recording, source: &'static str, architecture: &str) {
        self.events.sort_by_key(|(time_ns, ..)| *time_ns);
        let mut calls = Calls::of(source);
        for (time_ns, tid, what) in self.events {
            calls.rows_until(recording, time_ns);
            match what {
                What::Begins { which, first, stacks } => {
                    let name = which.name(recording, architecture);
                    let descriptor = first.filter(|first| (0..i64::from(i32::MAX)).contains(first));
                    calls.begins(tid, time_ns, &Call { name: &name, descriptor, ..Call::default() }, stacks);
                }
                What::Ends { which, result } => {
                    // Where an end was lost, the next one is of another call.
                    let name = which.map_or(Cow::Borrowed(""), |which| which.name(recording, architecture));
                    let result = if (ERRORS_FROM..0).contains(&result) { -1 } else { result.max(0) };
                    calls.ends(recording, tid, time_ns, Call { name: &name, result: Some(result), ..Call::default() });
                }
            }
        }
        calls.rows_of_rest(recording);
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
