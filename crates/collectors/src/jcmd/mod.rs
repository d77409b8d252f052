//! What only the JVM itself knows and reports cheaply: its flags, its system properties, and the use of the code cache.
//! Diagnostic commands over the attach socket.
//!
//! The code cache is queried each second (0.05 ms of the JVM's attach thread, no safepoint) although Flight Recorder
//! has it as well: Flight Recorder's file comes at the end, or not at all. Names of threads are not queried: that
//! command stops all threads at a safepoint and walks every stack.

mod parse;

use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::kinds::{counter, loss, subject};
use fathom_evidence::{Recording, mask, settings};

use crate::attach::{Attach, AttachError, PATIENCE, properties};
use crate::{Clock, Collector, Observer, Order, Refusal, Target, Tier, late};

pub(crate) static COLLECTOR: Jcmd = Jcmd;

const SOURCE: &str = "jcmd";

/// Commands that a JVM leaves unanswered in a row before it is asked less often.
const UNANSWERED_MAX: u32 = 3;

/// Looks that are left out then.
const RESTS: u32 = 9;

/// Less than for a command whose answer is awaited: the next look comes anyway.
const LOOK_PATIENCE: Duration = Duration::from_secs(2);

pub(crate) struct Jcmd;

impl Collector for Jcmd {
    fn name(&self) -> &'static str {
        SOURCE
    }

    fn sees(&self) -> &'static str {
        "flags and system properties of the JVM; how full its code cache is"
    }

    fn tier(&self) -> Tier {
        Tier::Process
    }

    fn check(&self, target: &Target) -> Result<(), Refusal> {
        Ok(Attach::check(target)?)
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        late::start(SOURCE, begin, target, order)
    }
}

fn begin(target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
    let mut first = Recording::default();
    let attach = order.attach.of(target, &order.clock, &mut first)?;
    describe(&attach, &mut first)?;
    Ok(Box::new(Asking { clock: order.clock, attach, unanswered: 0, rests: 0, first: Some(first) }))
}

/// Flags and properties, without secrets.
fn describe(attach: &Attach, found: &mut Recording) -> Result<(), AttachError> {
    add_flags(&attach.diagnose("VM.flags -all", PATIENCE)?, found);
    for (name, value) in properties::parse(&attach.properties()?) {
        found.add_fact(subject::PROPERTY, &name, &mask::value(&name, &value), SOURCE);
    }
    Ok(())
}

fn add_flags(text: &str, found: &mut Recording) {
    for flag in parse::flags(text) {
        found.add_fact(subject::FLAG, flag.name, flag.value, SOURCE);
        if let Some(origin) = flag.origin {
            found.add_fact(subject::FLAG_ORIGIN, flag.name, &settings::capitalised(origin), SOURCE);
        }
    }
}

struct Asking {
    clock: Clock,
    attach: Attach,
    /// Looks in a row that got no answer.
    unanswered: u32,
    /// Looks that are left out before it is asked again.
    rests: u32,
    /// What was known before the first look.
    first: Option<Recording>,
}

impl Observer for Asking {
    fn period(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn look(&mut self, found: &mut Recording) {
        if let Some(first) = self.first.take() {
            found.absorb(first);
        }
        if self.rests > 0 {
            self.rests -= 1;
            return;
        }
        match self.attach.diagnose("Compiler.codecache", LOOK_PATIENCE) {
            Ok(text) => {
                self.unanswered = 0;
                add_code_cache(&text, self.clock.now_ns(), found);
            }
            // Other collectors report the end of the JVM.
            Err(AttachError::Ended(_)) => (self.unanswered, self.rests) = (1, u32::MAX),
            Err(error) if error.is_unknown_command() => {
                self.rests = u32::MAX;
                let says = "this JVM does not tell how full its code cache is: JDK 9 and later do, and Flight Recorder";
                found.add_loss(SOURCE, loss::REFUSED, 1, says);
            }
            Err(error) => {
                self.unanswered += 1;
                if self.unanswered >= UNANSWERED_MAX {
                    self.rests = RESTS;
                }
                found.add_loss(SOURCE, loss::EVENTS_LOST, 1, &format!("a look at the code cache: {error}"));
            }
        }
    }

    /// Flags may have been set meanwhile; the later fact holds.
    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.look(found);
        if self.unanswered == 0
            && let Ok(text) = self.attach.diagnose("VM.flags -all", LOOK_PATIENCE)
        {
            add_flags(&text, found);
        }
        Vec::new()
    }
}

fn add_code_cache(text: &str, now_ns: i64, found: &mut Recording) {
    let cache = parse::code_cache(text);
    for segment in cache.segments {
        for (word, bytes) in [
            (counter::CODE_CACHE_USED_BYTES, segment.used_bytes),
            (counter::CODE_CACHE_RESERVED_BYTES, segment.size_bytes),
        ] {
            found.add_counter(now_ns, word, segment.name, bytes as f64, SOURCE);
        }
    }
    if let Some(count) = cache.full_count {
        found.add_counter(now_ns, counter::CODE_CACHE_FULL_COUNT, "", count as f64, SOURCE);
    }
}
