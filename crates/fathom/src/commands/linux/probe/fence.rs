//! What a thread executes so that it does not run stale instructions after code was patched, and what that costs on this CPU.
//!
//! A mechanism that is cheap on one machine may be very slow on another, because an instruction that takes some
//! nanoseconds on bare metal exits to the hypervisor in a virtual machine, or traps to firmware. So it is measured
//! where the service runs. The answer is the fastest of many short rounds: other load can only make a round slower.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Instant;

use fathom_report::probed::Fence;

/// Rounds; the fastest counts.
const ROUNDS: usize = 200;

/// Times in a round. With the dearest instruction known (some µs) a round is below a ms, so that most rounds are
/// not interrupted.
const TIMES: u32 = 100;

/// What one call of `work` takes at best, in ns.
fn fastest_ns(mut work: impl FnMut()) -> f64 {
    let round = |work: &mut dyn FnMut()| {
        let began = Instant::now();
        (0..TIMES).for_each(|_| work());
        began.elapsed().as_nanos() as f64 / f64::from(TIMES)
    };
    (0..ROUNDS).map(|_| round(&mut work)).fold(f64::INFINITY, f64::min)
}

/// All that this CPU has, and a plain store to compare with.
pub(super) fn fences() -> Vec<Fence> {
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
}
