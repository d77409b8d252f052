//! Where threads wait for a tenth of a second or longer, for continuous monitoring. It looks at all threads of the
//! process, instead of running a program at each switch, whose cost all threads of the machine would pay. The number of
//! a thread's switches shows whether it is still in the wait of the look before.
//!
//! Stacks are more expensive than looks. A few are taken of the waits that began last, and each is used for all waits
//! of its thread at the same depth for the same thing. So idle workers cost one stack each, and a thread that waits at
//! a new place gets one at once.

mod looks;
mod parse;
mod stacks;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_evidence::{Recording, STANDING, StackId};

use crate::bpf::{Programs, Recipe, Walker};
use crate::clock::monotonic_ns;
use crate::rate_limit::RateLimit;
use crate::{Clock, Observer, Order, Refusal, Target};
use looks::{Looks, PERIOD_NS, Waited};
use parse::Look;
use stacks::Stacks;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/standing.bpf.o"));

const PERIOD: Duration = Duration::from_nanos(PERIOD_NS as u64);

/// Time from one look to the next at a process of which hardly any thread runs.
const QUIET_NS: i64 = 1_000_000_000;

/// Looks may cost half of what other readings may: an eighth of a percent of a core.
const LESS: i64 = 2;

/// The program.
const WALK: &str = "stands";

/// Begins to look at a process.
pub(crate) fn start(target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
    let programs = programs()?;
    let walker = {
        let mut programs = programs.lock().unwrap_or_else(PoisonError::into_inner);
        programs.process_walker(WALK, target.pid)?
    };
    let refused = || Refusal::new("the kernel lets no program look at the threads of a process", "Linux 6.1 or later");
    Ok(Box::new(Standing {
        walker: walker.ok_or_else(refused)?,
        _programs: programs,
        looks: Looks::default(),
        stacks: Stacks::of(target),
        clock: order.clock,
        limit: RateLimit::every(PERIOD).less(LESS),
        bytes: Vec::new(),
    }))
}

/// The program in the kernel, one for all processes that are looked at.
fn programs() -> Result<Arc<Mutex<Programs>>, Refusal> {
    static SHARED: Mutex<Weak<Mutex<Programs>>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(programs) = shared.upgrade() {
        return Ok(programs);
    }
    let recipe = Recipe { object: OBJECT, config: Vec::new(), sizes: &[], without: &[], spare: &[] };
    let programs = Arc::new(Mutex::new(Programs::load(&recipe)?));
    *shared = Arc::downgrade(&programs);
    Ok(programs)
}

/// The threads of one process.
struct Standing {
    /// Before the program: links go first.
    walker: Walker,
    _programs: Arc<Mutex<Programs>>,
    looks: Looks,
    stacks: Stacks,
    clock: Clock,
    limit: RateLimit,
    bytes: Vec<u8>,
}

impl Observer for Standing {
    fn period(&self) -> Duration {
        PERIOD
    }

    fn is_sparing(&self) -> bool {
        true
    }

    fn look(&mut self, found: &mut Recording) {
        let Some(reading) = self.limit.begin(monotonic_ns()) else { return };
        let looks = self.walk();
        let now_ns = self.clock.now_ns();
        let waited = self.looks.see(now_ns, &looks);
        self.limit.end(reading);
        if self.looks.is_quiet() {
            self.limit.not_before(monotonic_ns() + QUIET_NS);
        }
        self.take_stacks(&looks);
        self.tell(&waited, found);
    }

    fn so_far(&self, found: &mut Recording) {
        self.tell(&self.looks.go_on(), found);
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        let looks = self.walk();
        let mut waited = self.looks.see(self.clock.now_ns(), &looks);
        self.take_stacks(&looks);
        waited.extend(self.looks.go_on());
        self.tell(&waited, found);
        Vec::new()
    }
}

impl Standing {
    fn walk(&mut self) -> Vec<Look> {
        self.bytes.clear();
        self.walker.read(&mut self.bytes);
        parse::looks(&self.bytes)
    }

    /// A thread may go on while its stack is copied: what is copied counts where it still waits afterwards.
    fn take_stacks(&mut self, looks: &[Look]) {
        let wanted = self.stacks.wanted(&self.looks.places());
        if wanted.is_empty() {
            return;
        }
        let of_wanted = looks.iter().filter(|look| wanted.contains(&look.place()));
        let copies: Vec<_> = of_wanted.map(|look| (look, self.stacks.copy(look))).collect();
        let after = self.walk();
        for (look, copy) in copies {
            if after.iter().any(|other| other.tid == look.tid && self.looks.still(other)) {
                self.stacks.learn(look, &copy);
            }
        }
    }

    /// Waits whose stack is known: without one it is not known what they were for.
    fn tell(&self, waited: &[Waited], found: &mut Recording) {
        for wait in waited {
            let stack_id = self.stacks.put(&wait.place, found);
            if stack_id != StackId(0) {
                found.spans.push(Span {
                    time_ns: wait.from_ns,
                    duration_ns: wait.to_ns - wait.from_ns,
                    tid: wait.place.tid.into(),
                    kind: found.strings.intern(span::SAMPLED_WAIT),
                    source: found.strings.intern(STANDING),
                    stack_id,
                    ..Span::default()
                });
            }
        }
    }
}

#[cfg(test)]
mod tests;
