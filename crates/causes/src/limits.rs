//! Limits that several parts of the engine and the catalogue share: one idea, one value, one reason.

/// A cause that explains less of the lost time than this does not matter in this slowdown.
pub(crate) const NEGLIGIBLE_SHARE: f64 = 0.02;

/// What is less of the lost time than this is not worth acting on.
pub(crate) const MINOR_SHARE: f64 = 0.10;

/// The part of some time for which something has to be known before it counts as seen there.
pub(crate) const MIN_COVERED_SHARE: f64 = 0.9;

/// Less of the CPU than this is not worth a change, of code or of settings.
pub(crate) const MIN_CPU_SHARE: f64 = 0.05;

/// Less of the application's CPU than this is what the mechanism costs where all is well.
pub(crate) const ORDINARY_CPU_SHARE: f64 = 0.02;

/// Fewer samples than this tell nothing.
pub(crate) const MIN_SAMPLES: usize = 20;

/// As many threads as this wait for a thing all the time only if there is too little of it all the time.
pub(crate) const HALF_A_THREAD: f64 = 0.5;

/// Those that have what others wait for wait themselves for this part of the time: then that comes first.
pub(crate) const MIN_OWNERS_WAITING_SHARE: f64 = 0.5;

/// From this use of all CPUs on, as a mean over seconds, they are short: who is woken finds none free in seven of ten cases on
/// up to eight CPUs (Erlang's C), and in more on fewer.
pub(crate) const CPUS_FULL: f64 = 0.9;
