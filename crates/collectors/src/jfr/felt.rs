//! How long a start of Flight Recorder slows the service: until its compilers have recompiled what was thrown away.

use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::kinds::span;

use crate::jvm_counters::Counters;
use crate::mapped::Mapped;
use crate::{Clock, Target};

/// As long as the compilers use more than this it is felt.
const FELT_CORES: f64 = 0.1;

/// What goes on for longer than this is the service's own.
const LONGEST: Duration = Duration::from_secs(10);

/// The compilers at rest for so many looks: it is over.
const QUIET_LOOKS: u32 = 2;

/// Time that the compilers have worked since the JVM began, in ticks of its own clock.
const COMPILE_TIME: &str = "java.ci.totalTime";

/// The time after a start.
pub(super) struct Felt {
    clock: Clock,
    counters: Option<Counters>,
    began_ns: i64,
    seen_ns: i64,
    compiled_ns: f64,
    /// What had been compiled before, and may have been thrown away: to compile it again takes no longer. A JVM that has just
    /// started compiles what it needs for the first time.
    thrown_away_ns: f64,
    quiet: u32,
}

impl Felt {
    /// Looks at what the compilers did until now.
    pub(super) fn before(target: &Target, clock: Clock) -> Felt {
        let counters = Mapped::of(target).ok().and_then(|mapped| Counters::of(target, &mapped).ok());
        let compiled_ns = counters.as_ref().map_or(0.0, compiled_ns);
        let now_ns = clock.now_ns();
        Felt { clock, counters, began_ns: now_ns, seen_ns: now_ns, compiled_ns, thrown_away_ns: compiled_ns, quiet: 0 }
    }

    /// Marks the time since the last look; `None` once it is over.
    pub(super) fn look(mut self, found: &mut Recording) -> Option<Felt> {
        let counters = self.counters.as_mut()?;
        counters.refresh().ok()?;
        let (now_ns, compiled_ns) = (self.clock.now_ns(), compiled_ns(counters));
        let cores = (compiled_ns - self.compiled_ns) / (now_ns - self.seen_ns).max(1) as f64;
        self.quiet = if cores < FELT_CORES { self.quiet + 1 } else { 0 };
        let is_redone = self.compiled_ns >= 2.0 * self.thrown_away_ns;
        let is_over = is_redone || self.quiet >= QUIET_LOOKS || now_ns - self.began_ns > LONGEST.as_nanos() as i64;
        if self.quiet == 0 && !is_redone {
            let name = "JFR.start: compiling anew";
            found.add_span(self.seen_ns, now_ns - self.seen_ns, 0, span::OWN_ACTION, name, "", "fathom");
        }
        (self.seen_ns, self.compiled_ns) = (now_ns, compiled_ns);
        (!is_over).then_some(self)
    }
}

fn compiled_ns(counters: &Counters) -> f64 {
    let per_second = counters.number("sun.os.hrt.frequency").filter(|ticks| *ticks > 0).unwrap_or(1_000_000_000);
    counters.number(COMPILE_TIME).unwrap_or(0) as f64 * 1e9 / per_second as f64
}
