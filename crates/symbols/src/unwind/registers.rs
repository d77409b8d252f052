//! The registers of a thread, numbered as DWARF numbers them.

use crate::elf::Machine;

/// Registers that can be followed: 0-16 of x86-64 (16 is the instruction pointer), 0-31 of arm64 and
/// the program counter, which has no number of its own there, in the last place.
const COUNT: usize = 33;

pub(crate) const X86_64_RBP: u16 = 6;
pub(crate) const X86_64_RSP: u16 = 7;
const X86_64_RIP: u16 = 16;
pub(crate) const AARCH64_FP: u16 = 29;
pub(crate) const AARCH64_LR: u16 = 30;
const AARCH64_SP: u16 = 31;
const AARCH64_PC: u16 = 32;

/// The pointer bits of an arm64 address; the others may hold a signature.
const AARCH64_ADDRESS_BITS: u64 = (1 << 48) - 1;

/// `pt_regs` of x86-64: r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss.
const X86_64_OF_PT_REGS: [(usize, u16); 17] = [
    (0, 15),
    (1, 14),
    (2, 13),
    (3, 12),
    (4, 6),
    (5, 3),
    (6, 11),
    (7, 10),
    (8, 9),
    (9, 8),
    (10, 0),
    (11, 2),
    (12, 1),
    (13, 4),
    (14, 5),
    (16, 16),
    (19, 7),
];

/// Registers of perf by their bit: ax bx cx dx si di bp sp ip flags cs ss ds es fs gs r8…r15.
const X86_64_OF_PERF: [(u32, u16); 17] = [
    (0, 0),
    (1, 3),
    (2, 2),
    (3, 1),
    (4, 4),
    (5, 5),
    (6, 6),
    (7, 7),
    (8, 16),
    (16, 8),
    (17, 9),
    (18, 10),
    (19, 11),
    (20, 12),
    (21, 13),
    (22, 14),
    (23, 15),
];

/// The registers of a thread at one place of its stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registers {
    machine: Machine,
    values: [u64; COUNT],
    /// One bit per register that is known.
    known: u64,
}

impl Registers {
    /// No register is known.
    pub fn none(machine: Machine) -> Registers {
        Registers { machine, values: [0; COUNT], known: 0 }
    }

    /// From the kernel's `struct pt_regs`, or as much of it as there is. On arm64: x0…x30, sp, pc.
    pub fn from_pt_regs(machine: Machine, values: &[u64]) -> Registers {
        let mut registers = Registers::none(machine);
        match machine {
            Machine::X86_64 => {
                for (index, register) in X86_64_OF_PT_REGS {
                    if let Some(value) = values.get(index) {
                        registers.set(register, *value);
                    }
                }
            }
            Machine::Aarch64 => {
                for (register, value) in (0..COUNT as u16).zip(values) {
                    registers.set(register, *value);
                }
            }
        }
        registers
    }

    /// The registers that a perf sample is to have, one bit for each.
    pub fn perf_mask(machine: Machine) -> u64 {
        match machine {
            Machine::X86_64 => X86_64_OF_PERF.iter().fold(0, |mask, (bit, _)| mask | 1 << bit),
            Machine::Aarch64 => (1 << COUNT) - 1,
        }
    }

    /// From the registers of a perf sample: one value per bit of `mask`, lowest first.
    pub fn from_perf(machine: Machine, mask: u64, values: &[u64]) -> Registers {
        let mut registers = Registers::none(machine);
        let bits = (0..64_u32).filter(|bit| mask >> bit & 1 != 0);
        for (bit, value) in bits.zip(values) {
            let register = match machine {
                Machine::X86_64 => {
                    X86_64_OF_PERF.iter().find(|(other, _)| *other == bit).map(|(_, register)| *register)
                }
                Machine::Aarch64 => Some(bit as u16).filter(|register| usize::from(*register) < COUNT),
            };
            if let Some(register) = register {
                registers.set(register, *value);
            }
        }
        registers
    }

    /// The processor.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// The value of a register by its DWARF number, if it is known.
    pub fn get(&self, register: u16) -> Option<u64> {
        let is_known = register < COUNT as u16 && self.known >> register & 1 != 0;
        is_known.then(|| self.values[usize::from(register)])
    }

    /// Sets a register by its DWARF number; others than the general ones are ignored.
    pub fn set(&mut self, register: u16, value: u64) {
        if let Some(slot) = self.values.get_mut(usize::from(register)) {
            *slot = value;
            self.known |= 1 << register;
        }
    }

    /// Where the thread executes.
    pub fn instruction_pointer(&self) -> Option<u64> {
        match self.machine {
            Machine::X86_64 => self.get(X86_64_RIP),
            Machine::Aarch64 => self.get(AARCH64_PC).map(|address| address & AARCH64_ADDRESS_BITS),
        }
    }

    /// The top of the stack.
    pub fn stack_pointer(&self) -> Option<u64> {
        self.get(self.stack_register())
    }

    /// The frame pointer, where code keeps one.
    pub fn frame_pointer(&self) -> Option<u64> {
        self.get(self.frame_register())
    }

    pub(crate) fn set_instruction_pointer(&mut self, address: u64) {
        self.set(if self.machine == Machine::X86_64 { X86_64_RIP } else { AARCH64_PC }, address);
    }

    pub(crate) fn stack_register(&self) -> u16 {
        if self.machine == Machine::X86_64 { X86_64_RSP } else { AARCH64_SP }
    }

    pub(crate) fn frame_register(&self) -> u16 {
        if self.machine == Machine::X86_64 { X86_64_RBP } else { AARCH64_FP }
    }

    /// Without a signature, if `address` is a return address of arm64.
    pub(crate) fn plain_address(&self, address: u64) -> u64 {
        if self.machine == Machine::Aarch64 { address & AARCH64_ADDRESS_BITS } else { address }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sources_give_the_same_registers() {
        // Each register holds 100 plus its DWARF number.
        let mut pt_regs = [0_u64; 21];
        for (index, register) in X86_64_OF_PT_REGS {
            pt_regs[index] = 100 + u64::from(register);
        }
        let mask = Registers::perf_mask(Machine::X86_64);
        let perf: Vec<u64> = X86_64_OF_PERF.iter().map(|(_, register)| 100 + u64::from(*register)).collect();
        let registers = Registers::from_pt_regs(Machine::X86_64, &pt_regs);
        assert_eq!(registers, Registers::from_perf(Machine::X86_64, mask, &perf));
        for register in 0..17 {
            assert_eq!(registers.get(register), Some(100 + u64::from(register)));
        }
        assert_eq!(registers.get(17), None);
        let ends = (registers.instruction_pointer(), registers.stack_pointer(), registers.frame_pointer());
        assert_eq!(ends, (Some(116), Some(107), Some(106)));
    }

    #[test]
    fn arm64_addresses_lose_their_signature() {
        let values: Vec<u64> = (0..33).map(|register| register | 0x7f00_0000_0000_0000).collect();
        let registers = Registers::from_pt_regs(Machine::Aarch64, &values);
        assert_eq!(registers.instruction_pointer(), Some(32));
        assert_eq!(registers.get(AARCH64_LR), Some(30 | 0x7f00_0000_0000_0000));
        assert_eq!(Registers::from_perf(Machine::Aarch64, u64::MAX, &values), registers);
    }

    #[test]
    fn missing_registers_are_unknown() {
        let registers = Registers::from_perf(Machine::X86_64, 1 << 8 | 1 << 9, &[5]);
        assert_eq!((registers.instruction_pointer(), registers.stack_pointer()), (Some(5), None));
        assert_eq!(Registers::from_pt_regs(Machine::X86_64, &[]), Registers::none(Machine::X86_64));
    }
}
