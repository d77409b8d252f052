//! An argument of a probe, as its note writes it: `-4@%edx`, `8@152(%rbx)`, `1@$0`, and on arm64 `8@x1`, `-4@[sp,24]`.

use crate::elf::Machine;

/// One thing that a probe tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument {
    /// 1, 2, 4 or 8.
    pub size_bytes: u8,
    /// Whether it can be negative.
    pub is_signed: bool,
    /// Where it is.
    pub operand: Operand,
}

/// Where a value is. Registers are words of the registers as the kernel keeps them (`struct pt_regs`, `struct user_pt_regs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// Nowhere: it is always this.
    Constant(i64),
    /// In a register.
    Register(u8),
    /// In memory, at the sum.
    Memory {
        /// A register.
        base: u8,
        /// Another register and how many bits it is shifted to the left.
        index: Option<(u8, u8)>,
        /// A number.
        offset: i64,
    },
}

/// The words of `struct pt_regs` of x86-64, by the registers' names in each of their widths.
const X86: [(u8, [&str; 4]); 16] = [
    (0, ["r15", "r15d", "r15w", "r15b"]),
    (1, ["r14", "r14d", "r14w", "r14b"]),
    (2, ["r13", "r13d", "r13w", "r13b"]),
    (3, ["r12", "r12d", "r12w", "r12b"]),
    (4, ["rbp", "ebp", "bp", "bpl"]),
    (5, ["rbx", "ebx", "bx", "bl"]),
    (6, ["r11", "r11d", "r11w", "r11b"]),
    (7, ["r10", "r10d", "r10w", "r10b"]),
    (8, ["r9", "r9d", "r9w", "r9b"]),
    (9, ["r8", "r8d", "r8w", "r8b"]),
    (10, ["rax", "eax", "ax", "al"]),
    (11, ["rcx", "ecx", "cx", "cl"]),
    (12, ["rdx", "edx", "dx", "dl"]),
    (13, ["rsi", "esi", "si", "sil"]),
    (14, ["rdi", "edi", "di", "dil"]),
    (19, ["rsp", "esp", "sp", "spl"]),
];

/// The stack pointer's word on arm64.
const ARM_SP: u8 = 31;

impl Argument {
    /// Reads `SIZE@OPERAND`; a negative size means that the value is signed.
    pub(super) fn parse(machine: Machine, text: &str) -> Option<Argument> {
        let (size, operand) = text.split_once('@')?;
        let size: i8 = size.parse().ok()?;
        let size_bytes = Some(size.unsigned_abs()).filter(|size| matches!(size, 1 | 2 | 4 | 8))?;
        let operand = match machine {
            Machine::X86_64 => x86(operand),
            Machine::Aarch64 => arm(operand),
        };
        Some(Argument { size_bytes, is_signed: size < 0, operand: operand? })
    }
}

/// `$1`, `%rax`, `-8(%rbp)`, `8(%rax,%rdx,4)`.
fn x86(text: &str) -> Option<Operand> {
    if let Some(constant) = text.strip_prefix('$') {
        return constant.parse().ok().map(Operand::Constant);
    }
    let register = |text: &str| {
        let name = text.strip_prefix('%')?;
        X86.iter().find(|(_, names)| names.contains(&name)).map(|(word, _)| *word)
    };
    let Some((offset, rest)) = text.split_once('(') else { return register(text).map(Operand::Register) };
    let offset = if offset.is_empty() { 0 } else { offset.parse().ok()? };
    let mut parts = rest.strip_suffix(')')?.split(',');
    let base = register(parts.next()?)?;
    let index = match parts.next() {
        None => None,
        Some(index) => {
            let scale: u8 = parts.next().unwrap_or("1").parse().ok()?;
            Some((register(index)?, Some(scale.trailing_zeros() as u8).filter(|_| matches!(scale, 1 | 2 | 4 | 8))?))
        }
    };
    Some(Operand::Memory { base, index, offset })
}

/// `1`, `x0`, `w3`, `[sp,24]`.
fn arm(text: &str) -> Option<Operand> {
    let register = |text: &str| match text {
        "sp" => Some(ARM_SP),
        _ => text.strip_prefix(['x', 'w'])?.parse().ok().filter(|number| *number < ARM_SP),
    };
    let Some(inside) = text.strip_prefix('[') else {
        let constant = text.parse().ok().map(Operand::Constant);
        return constant.or_else(|| register(text).map(Operand::Register));
    };
    let mut parts = inside.strip_suffix(']')?.split(',');
    let base = register(parts.next()?)?;
    let offset = parts.next().map_or(Some(0), |offset| offset.trim().parse().ok())?;
    Some(Operand::Memory { base, index: None, offset })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn arguments_as_compilers_write_them() {
        use Machine::{Aarch64, X86_64};
        use Operand::{Constant, Memory, Register};
        for (machine, text, expected) in [
            (X86_64, "8@%r12", Some((8, false, Register(3)))),
            (X86_64, "-4@%ecx", Some((4, true, Register(11)))),
            (X86_64, "1@%dil", Some((1, false, Register(14)))),
            (X86_64, "-4@$-1", Some((4, true, Constant(-1)))),
            (X86_64, "8@152(%rbx)", Some((8, false, Memory { base: 5, index: None, offset: 152 }))),
            (X86_64, "-8@(%rsp)", Some((8, true, Memory { base: 19, index: None, offset: 0 }))),
            (X86_64, "8@-8(%rax,%rdx,8)", Some((8, false, Memory { base: 10, index: Some((12, 3)), offset: -8 }))),
            (X86_64, "8@8(%rax,%rdx,3)", None),
            (X86_64, "8@name(%rip)", None),
            (X86_64, "3@%rax", None),
            (X86_64, "8@%xmm0", None),
            (X86_64, "8", None),
            (Aarch64, "8@x21", Some((8, false, Register(21)))),
            (Aarch64, "-4@w1", Some((4, true, Register(1)))),
            (Aarch64, "8@[sp,24]", Some((8, false, Memory { base: 31, index: None, offset: 24 }))),
            (Aarch64, "1@1", Some((1, false, Constant(1)))),
            (Aarch64, "8@x31", None),
        ] {
            let found = Argument::parse(machine, text);
            let parts = found.map(|argument| (argument.size_bytes, argument.is_signed, argument.operand));
            assert_eq!(parts, expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "[-0-9]{0,3}@?[$%(),\\[\\]a-z0-9-]{0,12}") {
            for machine in [Machine::X86_64, Machine::Aarch64] {
                Argument::parse(machine, &text);
            }
        }
    }
}
