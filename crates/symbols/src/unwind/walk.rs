//! Steps from one frame to the next, up the stack.

use gimli::{CfaRule, EvaluationResult, Location, Register, RegisterRule, UnwindContext, UnwindExpression, Value};

use super::jit;
use super::registers::{AARCH64_LR, Registers};
use super::stack::{StackCopy, Step, WalkEnd};
use crate::elf::Machine;
use crate::elf::cfi::{Bytes, Rules};
use crate::process::{Code, Process};

/// No stack that fits into a copy is deeper; a longer walk goes in circles.
const DEEPEST_STACK: usize = 512;
/// Operations of one expression. The longest that compilers write have a dozen.
const MOST_OPERATIONS: u32 = 256;

/// What a walk came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Walk {
    /// Why it ended.
    pub end: WalkEnd,
    /// From this frame on the chain of frame pointers was followed: frames may be missing in between.
    pub guessed_from: Option<usize>,
}

/// Walks stacks. Keep one: it reuses its memory.
#[derive(Default)]
pub struct Unwinder {
    context: Box<UnwindContext<usize>>,
    interpreted: Vec<(usize, u64)>,
}

impl std::fmt::Debug for Unwinder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Unwinder").finish_non_exhaustive()
    }
}

impl Unwinder {
    /// An unwinder.
    pub fn new() -> Unwinder {
        Unwinder::default()
    }

    /// Of the stack walked last, which frames were interpreted, and where the JVM describes their methods.
    pub fn interpreted(&self) -> &[(usize, u64)] {
        &self.interpreted
    }

    /// Puts the addresses of a stack into `frames`, which is emptied first, from the leaf to the root:
    /// where the thread executes, then for each caller the last byte of its call, so that an address
    /// belongs to the function that made the call even when that is its last instruction.
    pub fn walk(&mut self, process: &Process, start: &Registers, stack: StackCopy<'_>, frames: &mut Vec<u64>) -> Walk {
        frames.clear();
        self.interpreted.clear();
        let mut registers = start.clone();
        let mut is_interrupted = true;
        let mut guessed_from = None;
        let end = loop {
            let Some(address) = registers.instruction_pointer().filter(|address| *address != 0) else {
                break if frames.is_empty() { WalkEnd::UnknownCode } else { WalkEnd::Complete };
            };
            if frames.len() == DEEPEST_STACK {
                break WalkEnd::TooDeep;
            }
            let place = if is_interrupted { address } else { address - 1 };
            self.interpreted
                .extend(jit::method_at(process, place, &registers, stack).map(|method| (frames.len(), method)));
            frames.push(place);
            let step = self.step(process, place, &registers, stack);
            match step {
                Ok(step) if !leads_up(&registers, &step, is_interrupted, stack) => break WalkEnd::BadUnwindInfo,
                Ok(step) => {
                    if step.is_guess {
                        guessed_from.get_or_insert(frames.len());
                    }
                    is_interrupted = step.is_signal;
                    registers = step.registers;
                }
                Err(end) => break end,
            }
        };
        Walk { end, guessed_from }
    }

    fn step(
        &mut self,
        process: &Process,
        place: u64,
        registers: &Registers,
        stack: StackCopy<'_>,
    ) -> Result<Step, WalkEnd> {
        let (image, address) = match process.code_at(place) {
            Code::Image(image, address) => (image, address),
            Code::Jit(address) => {
                return jit::caller(process, address, registers, stack).ok_or(WalkEnd::JitCode);
            }
            Code::NotLoaded => return Err(WalkEnd::NotLoaded),
            Code::Unreadable => return jit::by_frame_pointer(process, registers, stack).ok_or(WalkEnd::NoUnwindInfo),
            Code::Unknown => return Err(WalkEnd::UnknownCode),
        };
        match image.cfi().rules(address, &mut self.context) {
            Some(Ok(rules)) => Frame { rules: &rules, registers, stack }.caller(),
            Some(Err(_)) => Err(WalkEnd::BadUnwindInfo),
            None => jit::by_frame_pointer(process, registers, stack).ok_or(WalkEnd::NoUnwindInfo),
        }
    }
}

/// What a call leaves on the stack at least: an address to return to.
const SMALLEST_FRAME: u64 = 8;
/// What a signal leaves there at least: all registers.
const SMALLEST_SIGNAL_FRAME: u64 = 128;

/// Whether a step leads up the stack, so that no walk has more frames than its copy has room for. Only a signal may have
/// been delivered on another stack, of which nothing was copied; only a function that was interrupted may have no frame.
fn leads_up(from: &Registers, step: &Step, is_interrupted: bool, stack: StackCopy<'_>) -> bool {
    let (Some(before), Some(after)) = (from.stack_pointer(), step.registers.stack_pointer()) else { return false };
    let is_up_by = |bytes| after.checked_sub(before).is_some_and(|way| way >= bytes);
    let is_elsewhere = from.instruction_pointer() != step.registers.instruction_pointer();
    if step.is_signal {
        stack.holds(before) && (is_up_by(SMALLEST_SIGNAL_FRAME) || !stack.holds(after))
    } else if is_interrupted {
        (after > before || (after == before && is_elsewhere)) && (stack.holds(before) || !stack.holds(after))
    } else {
        stack.holds(before) && is_up_by(SMALLEST_FRAME)
    }
}

/// A frame with the rules that lead to its caller.
struct Frame<'a, 'ctx> {
    rules: &'a Rules<'a, 'ctx>,
    registers: &'a Registers,
    stack: StackCopy<'a>,
}

impl Frame<'_, '_> {
    fn caller(&self) -> Result<Step, WalkEnd> {
        let frame_address = self.frame_address()?;
        let mut caller = Registers::none(self.registers.machine());
        for register in 0..=AARCH64_LR {
            if let Some(value) = self.register(register, frame_address)? {
                caller.set(register, value);
            }
        }
        let return_address = match self.rules.row.register(Register(self.rules.return_address)) {
            Some(RegisterRule::Undefined) => 0,
            _ => caller.get(self.rules.return_address).ok_or(WalkEnd::BadUnwindInfo)?,
        };
        caller.set_instruction_pointer(caller.plain_address(return_address));
        // A signal frame says itself where the stack was.
        if !self.rules.is_signal || caller.get(caller.stack_register()).is_none() {
            caller.set(caller.stack_register(), frame_address);
        }
        Ok(Step { registers: caller, is_signal: self.rules.is_signal, is_guess: false })
    }

    /// The canonical frame address: what the stack pointer was before the call.
    fn frame_address(&self) -> Result<u64, WalkEnd> {
        match self.rules.row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                let base = self.registers.get(register.0).ok_or(WalkEnd::BadUnwindInfo)?;
                Ok(base.wrapping_add_signed(*offset))
            }
            CfaRule::Expression(expression) => self.evaluate(expression, None),
        }
    }

    /// The value that `register` had in the caller; `None` when it is lost.
    fn register(&self, register: u16, frame_address: u64) -> Result<Option<u64>, WalkEnd> {
        let value = match self.rules.row.register(Register(register)) {
            None if self.survives_calls(register) => return Ok(self.registers.get(register)),
            None | Some(RegisterRule::Undefined | RegisterRule::Architectural) => return Ok(None),
            Some(RegisterRule::SameValue) => return Ok(self.registers.get(register)),
            Some(RegisterRule::Offset(offset)) => self.stack.word(frame_address.wrapping_add_signed(offset))?,
            Some(RegisterRule::ValOffset(offset)) => frame_address.wrapping_add_signed(offset),
            Some(RegisterRule::Register(other)) => return Ok(self.registers.get(other.0)),
            Some(RegisterRule::Expression(at)) => self.stack.word(self.evaluate(&at, Some(frame_address))?)?,
            Some(RegisterRule::ValExpression(value)) => self.evaluate(&value, Some(frame_address))?,
            Some(RegisterRule::Constant(value)) => value,
        };
        Ok(Some(value))
    }

    /// Whether a function leaves `register` to its caller as it was, when nothing else is said.
    fn survives_calls(&self, register: u16) -> bool {
        match self.registers.machine() {
            Machine::X86_64 => matches!(register, 3 | 6 | 12..=15),
            // The link register too: a function that calls nothing does not store it.
            Machine::Aarch64 => matches!(register, 19..=30),
        }
    }

    fn evaluate(&self, expression: &UnwindExpression<usize>, initial: Option<u64>) -> Result<u64, WalkEnd> {
        let bytes = expression.get(&self.rules.section).map_err(|_| WalkEnd::BadUnwindInfo)?;
        let mut evaluation = bytes.evaluation(self.rules.encoding);
        evaluation.set_max_iterations(MOST_OPERATIONS);
        if let Some(initial) = initial {
            evaluation.set_initial_value(initial);
        }
        let mut state = evaluation.evaluate();
        loop {
            state = match state.map_err(|_| WalkEnd::BadUnwindInfo)? {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = self.registers.get(register.0).ok_or(WalkEnd::BadUnwindInfo)?;
                    evaluation.resume_with_register(Value::Generic(value))
                }
                EvaluationResult::RequiresMemory { address, size, .. } => {
                    evaluation.resume_with_memory(Value::Generic(self.stack.number(address, size.into())?))
                }
                _ => return Err(WalkEnd::BadUnwindInfo),
            };
        }
        result_of(evaluation)
    }
}

fn result_of(evaluation: gimli::Evaluation<Bytes<'_>>) -> Result<u64, WalkEnd> {
    match evaluation.as_result() {
        [piece] => match piece.location {
            Location::Address { address } => Ok(address),
            _ => Err(WalkEnd::BadUnwindInfo),
        },
        _ => Err(WalkEnd::BadUnwindInfo),
    }
}
