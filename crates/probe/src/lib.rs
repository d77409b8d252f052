//! Prices of single instructions on the CPU that this runs on.
//!
//! A mechanism that is cheap on one machine is a disease on another, because an instruction that takes some
//! nanoseconds on bare metal leaves a virtual machine, or traps to firmware. So it is measured where the service
//! runs. The answer is the fastest of many short rounds: whatever else runs can only make a round slower.

mod fence;

use std::time::Instant;

pub use fence::{Fence, fences};

/// Makes cargo build this crate anew when another checkout uses the same target folder (`.cargo/config.toml`).
const _: Option<&str> = option_env!("FATHOM_CHECKOUT");

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
