//! What the identification registers of arm64 processors say, as far as flushing instructions is concerned.

use std::fmt;

/// MIDR_EL1: who made the core, and which one it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Midr {
    /// 0x41 is Arm.
    pub implementer: u8,
    /// Major revision: the `3` of r3p1.
    pub variant: u8,
    /// Kind of core.
    pub part: u16,
    /// Minor revision: the `1` of r3p1.
    pub revision: u8,
}

/// Cores of Arm that services run on.
const PARTS: &[(u16, &str)] = &[
    (0xd0b, "Cortex-A76"),
    (0xd0c, "Neoverse N1"),
    (0xd40, "Neoverse V1"),
    (0xd49, "Neoverse N2"),
    (0xd4f, "Neoverse V2"),
    (0xd84, "Neoverse V3"),
    (0xd8e, "Neoverse N3"),
];

const ARM: u8 = 0x41;
const NEOVERSE_N1: u16 = 0xd0c;

impl Midr {
    /// From the register's value.
    pub fn of(register: u64) -> Midr {
        Midr {
            implementer: (register >> 24) as u8,
            variant: (register >> 20) as u8 & 0xf,
            part: (register >> 4) as u16 & 0xfff,
            revision: register as u8 & 0xf,
        }
    }

    /// Whether erratum 1542419 names it: Neoverse N1 r3p0 to r4p0. The workaround lets each invalidation of an
    /// instruction cache line by a program trap to firmware, where the firmware has it.
    pub fn has_erratum_1542419(self) -> bool {
        let release = (self.variant, self.revision);
        self.implementer == ARM && self.part == NEOVERSE_N1 && ((3, 0)..=(4, 0)).contains(&release)
    }
}

impl fmt::Display for Midr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = PARTS.iter().find(|(part, _)| self.implementer == ARM && *part == self.part);
        match name {
            Some((_, name)) => write!(f, "{name}")?,
            None => write!(f, "core {:#x} of maker {:#x}", self.part, self.implementer)?,
        }
        write!(f, " r{}p{}", self.variant, self.revision)
    }
}

/// Whether a program that has changed code need not invalidate lines of instruction caches (DIC), by the value of CTR_EL0 as programs
/// read it: the kernel may show another one than the core has.
pub fn needs_no_invalidation(ctr: u64) -> bool {
    ctr >> 29 & 1 == 1
}

/// The number in `0x413fd0c1`.
pub fn register(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_by_their_register() {
        for (value, name, affected) in [
            (0x413f_d0c1, "Neoverse N1 r3p1", true),
            (0x413f_d0c0, "Neoverse N1 r3p0", true),
            (0x414f_d0c0, "Neoverse N1 r4p0", true),
            (0x414f_d0c1, "Neoverse N1 r4p1", false),
            (0x412f_d0c1, "Neoverse N1 r2p1", false),
            (0x411f_d401, "Neoverse V1 r1p1", false),
            (0x410f_d4f1, "Neoverse V2 r0p1", false),
            (0x410f_d490, "Neoverse N2 r0p0", false),
            (0x423f_d0c1, "core 0xd0c of maker 0x42 r3p1", false),
            (0, "core 0x0 of maker 0x0 r0p0", false),
            (u64::MAX, "core 0xfff of maker 0xff r15p15", false),
        ] {
            let midr = Midr::of(value);
            assert_eq!((midr.to_string().as_str(), midr.has_erratum_1542419()), (name, affected), "{value:#x}");
        }
    }

    #[test]
    fn cache_types_by_their_register() {
        for (value, expected) in [
            // Graviton2 as the published case read it: IDC is set, DIC is not.
            (0x9444_c004, false),
            (0xb444_c004, true),
            (0x8444_c004, false),
            // The kernel shows lines of a page where each flush traps.
            (0x9444_c00a, false),
            (u64::MAX, true),
        ] {
            assert_eq!(needs_no_invalidation(value), expected, "{value:#x}");
        }
    }

    #[test]
    fn registers_as_the_kernel_writes_them() {
        for (text, expected) in [
            ("0x00000000413fd0c1\n", Some(0x413f_d0c1)),
            ("0xb444c004", Some(0xb444_c004)),
            ("413fd0c1", None),
            ("", None),
        ] {
            assert_eq!(register(text), expected, "{text:?}");
        }
    }
}
