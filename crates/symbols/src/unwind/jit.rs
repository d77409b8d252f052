//! Unwinds through code that has no unwind tables: that of the JIT.

use super::registers::Registers;
use super::stack::{StackCopy, Step};
use crate::elf::Machine;
use crate::jit::{JitFrame, JitKind};
use crate::process::Process;

/// An interpreted method's arguments and locals take no more.
const LARGEST_EXTENSION_BYTES: u64 = 1 << 20;

/// How far below the frame pointer an interpreted frame has its method, in bytes.
const METHOD_BELOW_FRAME: u64 = 24;

/// The caller of a piece of the JIT's code at `address`.
pub(super) fn caller(process: &Process, address: u64, registers: &Registers, stack: StackCopy<'_>) -> Option<Step> {
    let is_x86 = registers.machine() == Machine::X86_64;
    let known = process.jit().frame_at(address).filter(|_| is_x86);
    let exact = match known {
        Some((JitKind::Interpreter, ..)) => of_interpreter(process, registers, stack),
        Some((_, offset, Some(JitFrame::Fixed { size_bytes, begins_at, made_at }))) => {
            let is_made = offset >= made_at.into();
            // Before it is made, only the return address is there, and then maybe the caller's rbp.
            let size_bytes = if is_made {
                size_bytes
            } else if offset > begins_at.into() {
                16
            } else {
                8
            };
            of_size(process, registers, stack, size_bytes.into(), is_made)
        }
        Some((_, _, Some(JitFrame::Pointer))) => {
            by_frame_pointer(process, registers, stack).map(|step| Step { is_guess: false, ..step })
        }
        Some((JitKind::Stub, _, None)) => of_call_stub(process, registers, stack),
        _ => None,
    };
    exact.or_else(|| by_frame_pointer(process, registers, stack))
}

/// Follows the frame pointer, if it points to a plausible frame: within the copy, aligned, and with a
/// return address into code. In code that keeps none it may still point to the frame of a caller
/// further up: a guess.
pub(super) fn by_frame_pointer(process: &Process, registers: &Registers, stack: StackCopy<'_>) -> Option<Step> {
    let frame = registers.frame_pointer().filter(|frame| frame % 8 == 0)?;
    let is_above = registers.stack_pointer().is_some_and(|top| frame >= top);
    let caller_frame = stack.word(frame).ok().filter(|_| is_above)?;
    let return_address = return_address(process, registers, stack, frame.checked_add(8)?)?;
    let stack_pointer = frame.checked_add(16)?;
    Some(Step {
        registers: called_from(registers, return_address, stack_pointer, caller_frame),
        is_signal: false,
        is_guess: true,
    })
}

/// The interpreter keeps a frame pointer, and below it where the caller's stack ended before room for
/// locals was made.
fn of_interpreter(process: &Process, registers: &Registers, stack: StackCopy<'_>) -> Option<Step> {
    let mut step = by_frame_pointer(process, registers, stack)?;
    let end = step.registers.stack_pointer()?;
    let sender = registers.frame_pointer()?.checked_sub(8).and_then(|at| stack.word(at).ok());
    if let Some(sender) = sender.filter(|sender| (end..end.saturating_add(LARGEST_EXTENSION_BYTES)).contains(sender)) {
        step.registers.set(registers.stack_register(), sender);
    }
    step.is_guess = false;
    Some(step)
}

/// Of an interpreted frame, where the JVM describes its method; the place in the frame is the same since JDK 8.
pub(super) fn method_at(process: &Process, address: u64, registers: &Registers, stack: StackCopy<'_>) -> Option<u64> {
    let (kind, ..) = process.jit().frame_at(address)?;
    let frame = registers.frame_pointer().filter(|_| kind == JitKind::Interpreter)?;
    stack.word(frame.checked_sub(METHOD_BELOW_FRAME)?).ok()
}

/// Libraries call code of the JIT only through a stub, and that keeps a frame pointer.
fn of_call_stub(process: &Process, registers: &Registers, stack: StackCopy<'_>) -> Option<Step> {
    let step = by_frame_pointer(process, registers, stack)?;
    let caller = step.registers.instruction_pointer()?;
    process.image_at(caller - 1).map(|_| Step { is_guess: false, ..step })
}

/// A frame of a known size.
fn of_size(
    process: &Process,
    registers: &Registers,
    stack: StackCopy<'_>,
    size_bytes: u64,
    is_made: bool,
) -> Option<Step> {
    let end = registers.stack_pointer()?.checked_add(size_bytes)?;
    let return_address = return_address(process, registers, stack, end.checked_sub(8)?)?;
    let caller_frame = if is_made { stack.word(end.checked_sub(16)?).ok()? } else { registers.frame_pointer()? };
    Some(Step {
        registers: called_from(registers, return_address, end, caller_frame),
        is_signal: false,
        is_guess: false,
    })
}

/// The word at `at`, if it leads into code.
fn return_address(process: &Process, registers: &Registers, stack: StackCopy<'_>, at: u64) -> Option<u64> {
    let address = registers.plain_address(stack.word(at).ok()?);
    (address != 0 && process.is_code(address - 1)).then_some(address)
}

/// Code of the JIT keeps no register for its caller but these.
fn called_from(registers: &Registers, return_address: u64, stack_pointer: u64, frame_pointer: u64) -> Registers {
    let mut caller = Registers::none(registers.machine());
    caller.set_instruction_pointer(return_address);
    caller.set(registers.stack_register(), stack_pointer);
    caller.set(registers.frame_register(), frame_pointer);
    caller
}
