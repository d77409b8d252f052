//! What a thread executes so that it does not run stale instructions after code was patched.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::fastest_ns;

/// A way to do it, with its price.
#[derive(Debug, Clone, PartialEq)]
pub struct Fence {
    /// The instructions.
    pub name: &'static str,
    /// Who executes them.
    pub says: &'static str,
    /// What once takes, in ns.
    pub ns: f64,
    /// The price from which on it does not stay on the CPU but traps, if it may: several times what any
    /// processor needs for it, and less than any trap.
    pub trap_ns: Option<f64>,
}

impl Fence {
    /// Whether it takes so long that it must trap: to the hypervisor, or to firmware.
    pub fn traps(&self) -> bool {
        self.trap_ns.is_some_and(|trap_ns| self.ns >= trap_ns)
    }
}

/// All that this CPU has, and a plain store to compare with.
pub fn fences() -> Vec<Fence> {
    let mut fences = of_this_cpu();
    let cell = AtomicU64::new(0);
    fences.push(Fence {
        name: "store",
        says: "a plain store, to compare with",
        ns: fastest_ns(|| black_box(&cell).store(1, Ordering::Relaxed)),
        trap_ns: None,
    });
    fences.push(Fence {
        name: "full fence",
        says: "a fence between loads and stores, to compare with",
        ns: fastest_ns(|| fence(Ordering::SeqCst)),
        trap_ns: None,
    });
    fences
}

#[cfg(target_arch = "x86_64")]
fn of_this_cpu() -> Vec<Fence> {
    use std::arch::x86_64::{__cpuid, __cpuid_count, _mm_clflush, _mm_mfence};

    /// `cpuid` takes 100-250 cycles; leaving a virtual machine and coming back takes thousands.
    const CPUID_TRAPS_NS: f64 = 500.0;
    /// CPUID.7.EDX.
    const SERIALIZE: u32 = 1 << 14;

    let has_serialize = __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & SERIALIZE != 0;
    let line = black_box([0_u8; 64]);
    let mut found = vec![Fence {
        name: "cpuid",
        says: match has_serialize {
            true => "what a JDK executes on CPUs without SERIALIZE; not this one",
            false => "what JDK 20 and later execute at each armed entry barrier: this CPU has no SERIALIZE",
        },
        ns: fastest_ns(|| {
            black_box(__cpuid(0));
        }),
        trap_ns: Some(CPUID_TRAPS_NS),
    }];
    if has_serialize {
        found.push(Fence {
            name: "serialize",
            says: "what JDK 20 and later execute at each armed entry barrier",
            // SAFETY: the CPU has the instruction (checked above); it touches neither memory nor registers.
            ns: fastest_ns(|| unsafe { std::arch::asm!(".byte 0x0f, 0x01, 0xe8", options(nostack, preserves_flags)) }),
            trap_ns: Some(CPUID_TRAPS_NS),
        });
    }
    found.push(Fence {
        name: "clflush",
        says: "a cache line flushed, which no JDK does to patch code on x86-64",
        ns: fastest_ns(|| {
            // SAFETY: every x86-64 CPU has both; the address is that of a live array.
            unsafe {
                _mm_clflush(line.as_ptr());
                _mm_mfence();
            }
        }),
        trap_ns: None,
    });
    found
}

#[cfg(target_arch = "aarch64")]
fn of_this_cpu() -> Vec<Fence> {
    use std::arch::asm;

    /// The whole sequence takes tens of ns; a trap to firmware that invalidates TLB entries of all cores, µs.
    const FLUSH_TRAPS_NS: f64 = 1_000.0;

    let line = black_box([0_u8; 256]);
    let at = line.as_ptr();
    // SAFETY (all three): user mode may execute these; the address is that of a live array, whose contents
    // none of them changes.
    let synchronised = fastest_ns(|| unsafe { asm!("dsb ish", "isb", options(nostack, preserves_flags)) });
    let invalidated = fastest_ns(|| unsafe {
        asm!("dc cvau, {at}", "dsb ish", "ic ivau, {at}", "dsb ish", "isb", at = in(reg) at, options(nostack, preserves_flags));
    });
    vec![
        Fence {
            name: "ic ivau",
            says: "a word of code made visible: what generational ZGC executes for each barrier that it patches",
            ns: invalidated,
            trap_ns: Some(FLUSH_TRAPS_NS.max(10.0 * synchronised)),
        },
        Fence { name: "dsb ish; isb", says: "the same without invalidating the line", ns: synchronised, trap_ns: None },
    ]
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn of_this_cpu() -> Vec<Fence> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_price_is_measured() {
        let fences = fences();
        assert!(fences.len() >= 3, "{fences:?}");
        for fence in fences {
            assert!(fence.ns.is_finite() && fence.ns > 0.0 && !fence.says.is_empty(), "{fence:?}");
        }
    }

    #[test]
    fn a_trap_is_told_by_its_price() {
        let of = |ns, trap_ns| Fence { name: "cpuid", says: "", ns, trap_ns };
        for (fence, expected) in
            [(of(60.0, Some(500.0)), false), (of(3_600.0, Some(500.0)), true), (of(3_600.0, None), false)]
        {
            assert_eq!(fence.traps(), expected, "{fence:?}");
        }
    }
}
