//! How much a recording may ask of the JVM itself, and how much that slows the JVM.
//!
//! Reading the kernel and the JVM's files costs next to nothing and needs no answer. Flight Recorder and an agent know more
//! but slow the service (CPU per request: `bench/record/per_request`). The first start of Flight Recorder takes four times
//! the CPU for two seconds in JDK 17, which throws away all compiled code, and twice the CPU for a second or two in JDK 25.
//! So it is started only if that much CPU is idle and no client is connected whose requests would be late. Idle CPU is
//! measured again every few seconds, because a busy machine may be idle later. If no CPU is idle, loading an agent is
//! noticeable for a second; samples from outside then replace it, if the kernel allows them.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::bpf::may_load;
use crate::jvms::Jvm;
use crate::{CpuTicks, Refusal, Target, control_groups, procfs, serving};

/// The last JDK that compiles everything anew when Flight Recorder starts for the first time.
const LAST_TO_RECOMPILE: u32 = 17;

/// Less than this part of the CPUs idle is no room for a profiler.
const ROOM_TO_SAMPLE: f64 = 0.1;

/// With less than this part of the CPUs idle there is no room for a second or two of extra work.
const ROOM_TO_START: f64 = 0.5;

/// With less than this part of the CPUs idle there is no room for four times the work.
const ROOM_TO_COMPILE: f64 = 0.75;

/// For how long the CPUs are looked at.
const GLANCE: Duration = Duration::from_millis(300);

/// A look is believed for this time; then there is another.
const BELIEVED: Duration = Duration::from_secs(2);

/// Whether something is done to the JVM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// In any case.
    Always,
    /// Where it is not felt.
    Auto,
    /// In no case.
    Never,
}

/// What may be done to the JVM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Flight Recorder is started; one that runs already is asked for what it has.
    pub jfr: Use,
    /// async-profiler is loaded.
    pub agent: Use,
    /// Flight Recorder goes on afterwards, so that the next recording has the time before it.
    pub keep_ring: bool,
}

/// Only what the JVM does not feel.
impl Default for Policy {
    fn default() -> Policy {
        Policy { jfr: Use::Auto, agent: Use::Auto, keep_ring: false }
    }
}

impl Policy {
    /// Everything that tells more, and nothing that stays.
    pub fn thorough() -> Policy {
        Policy { jfr: Use::Always, agent: Use::Always, keep_ring: false }
    }

    /// Everything but Flight Recorder.
    pub fn without_jfr() -> Policy {
        Policy { jfr: Use::Never, ..Policy::thorough() }
    }

    /// Nothing at all is asked of the JVM.
    pub fn untouched() -> Policy {
        Policy { jfr: Use::Never, agent: Use::Never, keep_ring: false }
    }

    /// Whether Flight Recorder may be asked.
    pub(crate) fn jfr_of(self, target: &Target, glance: &Glance) -> Result<(), Refusal> {
        match self.jfr {
            Use::Always => Ok(()),
            Use::Never => Err(Refusal::new("Flight Recorder is not to be used (--jfr never)", "")),
            Use::Auto if has_recorder(target) => Ok(()),
            Use::Auto => match serving::serves(target) {
                Some(port) => Err(felt_by_requests(port)),
                None => first_start(jdk(target), || glance.room(target)),
            },
        }
    }

    /// The policy without the collectors that are left out: Flight Recorder may be one, or the one that replaces an agent.
    pub(crate) fn among(self, is_wanted: impl Fn(&str) -> bool) -> Policy {
        let jfr = if is_wanted("jfr") { self.jfr } else { Use::Never };
        let agent = match self.agent {
            Use::Auto if !is_wanted("cpu_samples") => Use::Always,
            agent => agent,
        };
        Policy { jfr, agent, ..self }
    }

    /// Whether an agent may be loaded.
    pub(crate) fn agent_of(self, target: &Target, glance: &Glance) -> Result<(), Refusal> {
        match self.agent {
            Use::Always => Ok(()),
            Use::Never => Err(Refusal::new("no agent is to be loaded (--agent never)", "")),
            // If sampling from outside is not possible, there are no stacks without an agent.
            Use::Auto => may_load().map_or(Ok(()), |()| room_to_sample(glance.room(target))),
        }
    }
}

/// What a recording of `target` would do to it, in one line for a person. With the glance of the recording's order it is what that
/// does.
pub fn plan(target: &Target, policy: Policy, glance: &Glance) -> String {
    let jfr = match policy.jfr_of(target, glance) {
        Err(refusal) => format!("no Flight Recorder ({})", refusal.why),
        Ok(()) if has_recorder(target) => "Flight Recorder, which was started before, is asked for more".to_owned(),
        Ok(()) if recompiles(jdk(target)) => {
            "Flight Recorder is started: all code is compiled anew, which is felt for some seconds, and longer where no CPU is idle"
                .to_owned()
        }
        Ok(()) => "Flight Recorder is started, which is felt for some seconds".to_owned(),
    };
    let agent = match policy.agent_of(target, glance) {
        Err(refusal) => format!("no async-profiler ({})", refusal.why),
        Ok(()) => "async-profiler is loaded and takes 50 samples a second of each CPU".to_owned(),
    };
    let after =
        if policy.keep_ring { "Flight Recorder goes on afterwards" } else { "all of it ends with the recording" };
    format!("{jfr}; {agent}; {after}")
}

/// Whether Flight Recorder was started in this JVM, by its thread.
fn has_recorder(target: &Target) -> bool {
    let threads = procfs::names(target.proc("task"));
    let mut names = threads.filter_map(|tid| procfs::read_text(target.proc("task").join(tid).join("comm")).ok());
    names.any(|name| name.starts_with("JFR Recorder"))
}

/// The release of the JVM: 8, 17, 25.
pub(crate) fn jdk(target: &Target) -> Option<u32> {
    major(&Jvm::of(target)?.version)
}

fn major(version: &str) -> Option<u32> {
    let mut parts = version.split(['.', '_', '-', '+']);
    match parts.next()?.parse().ok()? {
        1 => parts.next()?.parse().ok(),
        major => Some(major),
    }
}

/// Whether the first start of Flight Recorder makes such a JVM compile everything anew.
fn recompiles(jdk: Option<u32>) -> bool {
    jdk.is_none_or(|jdk| jdk <= LAST_TO_RECOMPILE)
}

fn felt_by_requests(port: u16) -> Refusal {
    let why = format!(
        "Flight Recorder does not run in this JVM, and requests to :{port} would feel its first start for some seconds"
    );
    Refusal::new(why, "--jfr always, where that may be felt for some seconds")
}

/// Whether Flight Recorder may be started in a JVM in which it does not run.
fn first_start(jdk: Option<u32>, room: impl FnOnce() -> Room) -> Result<(), Refusal> {
    let (needed, feels) = match recompiles(jdk) {
        true => (ROOM_TO_COMPILE, "make it compile all code anew"),
        false => (ROOM_TO_START, "keep a CPU busy for a second or two"),
    };
    room().at_least(needed).map_err(|why| {
        let of = jdk.map_or_else(String::new, |jdk| format!(" of JDK {jdk}"));
        let says = format!("Flight Recorder does not run in this JVM{of}, its first start would {feels}, and {why}");
        Refusal::new(says, "--jfr always, where that may be felt for some seconds").that_may_pass()
    })
}

fn room_to_sample(room: Room) -> Result<(), Refusal> {
    let refused = |why| {
        Refusal::new(format!("{why}: a profiler would take what the service needs"), "--agent always").that_may_pass()
    };
    room.at_least(ROOM_TO_SAMPLE).map_err(refused)
}

/// The last look at the CPUs: all who decide about one recording within a moment decide by the same. A copy is the same look.
#[derive(Debug, Clone, Default)]
pub struct Glance(Arc<Mutex<Option<(Instant, Room)>>>);

impl Glance {
    /// Takes a moment where the last look is too long ago.
    fn room(&self, target: &Target) -> Room {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match *last {
            Some((at, room)) if at.elapsed() < BELIEVED => room,
            _ => last.insert((Instant::now(), room(target))).1,
        }
    }
}

/// What the machine and the process's quota leave of the CPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Room {
    is_throttled: bool,
    /// `None` where it cannot be read.
    idle: Option<f64>,
}

impl Room {
    fn at_least(self, part: f64) -> Result<(), String> {
        match self {
            Room { is_throttled: true, .. } => Err("the process is at its CPU quota".to_owned()),
            Room { idle: Some(idle), .. } if idle < part => Err(format!("{:.0} % of the CPUs are idle", idle * 100.0)),
            _ => Ok(()),
        }
    }
}

/// Looks at the CPUs for a moment.
fn room(target: &Target) -> Room {
    let (before, throttled) = (CpuTicks::now(), control_groups::throttled_count(target));
    thread::sleep(GLANCE);
    let is_throttled = control_groups::throttled_count(target) > throttled;
    let idle = before.zip(CpuTicks::now()).and_then(|(before, after)| idle_share(before, after));
    Room { is_throttled, idle }
}

fn idle_share(before: CpuTicks, after: CpuTicks) -> Option<f64> {
    let (idle, all) = (after.idle.checked_sub(before.idle)?, after.all().checked_sub(before.all())?);
    (all > 0).then(|| idle as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases() {
        for (version, expected) in [
            ("17.0.15", Some(17)),
            ("1.8.0_402", Some(8)),
            ("25", Some(25)),
            ("26-ea+3", Some(26)),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(major(version), expected, "{version}");
        }
    }

    #[test]
    fn idle_time_is_a_part_of_all() {
        let ticks = |(idle, all): (u64, u64)| CpuTicks { idle, work: all - idle, stolen: 0 };
        for (before, after, expected) in
            [((10, 100), (60, 200), Some(0.5)), ((10, 100), (10, 100), None), ((10, 100), (0, 50), None)]
        {
            assert_eq!(idle_share(ticks(before), ticks(after)), expected);
        }
    }

    #[test]
    fn the_first_start_needs_room_where_it_is_felt() {
        let room = |idle, is_throttled| Room { is_throttled, idle };
        for (jdk, room, starts) in [
            (Some(25), room(Some(0.6), false), true),
            (Some(25), room(Some(0.4), false), false),
            (Some(25), room(Some(0.6), true), false),
            (Some(17), room(Some(0.9), false), true),
            (Some(17), room(Some(0.9), true), false),
            (Some(17), room(Some(0.5), false), false),
            (Some(8), room(Some(0.5), false), false),
            (None, room(None, false), true),
        ] {
            let answer = first_start(jdk, || room);
            assert_eq!(answer.is_ok(), starts, "{jdk:?} {room:?}: {answer:?}");
            assert!(answer.err().is_none_or(|refusal| refusal.grant.contains("--jfr always") && refusal.may_pass));
        }
        assert!(room_to_sample(room(Some(0.05), false)).is_err());
        assert!(room_to_sample(room(Some(0.5), false)).is_ok());
    }

    #[test]
    fn nothing_is_started_where_somebody_has_requests() {
        let this = Target::of(std::process::id()).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let _client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _accepted = listener.accept().unwrap();
        let refusal = Policy::default().jfr_of(&this, &Glance::default()).unwrap_err();
        assert!(refusal.why.contains("requests to :") && !refusal.may_pass, "{refusal:?}");
    }

    #[test]
    fn a_look_is_believed_for_a_moment_only() {
        let this = Target::of(std::process::id()).unwrap();
        let busy = Room { is_throttled: true, idle: Some(0.0) };
        let at = |ago| Glance(Arc::new(Mutex::new(Instant::now().checked_sub(ago).map(|at| (at, busy)))));
        assert_eq!(at(Duration::ZERO).room(&this), busy);
        assert_ne!(at(BELIEVED).room(&this), busy, "this process has no quota");
    }

    #[test]
    fn an_agent_is_loaded_where_nothing_stands_in_for_it() {
        let auto = Policy::default();
        for (left_out, jfr, agent) in
            [("", Use::Auto, Use::Auto), ("jfr", Use::Never, Use::Auto), ("cpu_samples", Use::Auto, Use::Always)]
        {
            let policy = auto.among(|name| name != left_out);
            assert_eq!((policy.jfr, policy.agent), (jfr, agent), "without {left_out}");
        }
        assert_eq!(Policy::untouched().among(|_| false).agent, Use::Never);
    }

    #[test]
    fn what_is_forced_needs_no_look_at_the_machine() {
        let (this, glance) = (Target::of(std::process::id()).unwrap(), Glance::default());
        let thorough = Policy::thorough();
        assert_eq!((thorough.jfr_of(&this, &glance), thorough.agent_of(&this, &glance)), (Ok(()), Ok(())));
        let never = Policy { jfr: Use::Never, agent: Use::Never, keep_ring: false };
        assert!(never.jfr_of(&this, &glance).is_err() && never.agent_of(&this, &glance).is_err());
        assert!(plan(&this, never, &glance).contains("--jfr never"));
        assert!(glance.0.lock().unwrap().is_none());
    }

    #[test]
    fn what_is_told_beforehand_is_what_is_done() {
        let this = Target::of(std::process::id()).unwrap();
        for (idle, is_loaded) in [(0.0, false), (1.0, true)] {
            let room = Room { is_throttled: false, idle: Some(idle) };
            let glance = Glance(Arc::new(Mutex::new(Some((Instant::now(), room)))));
            let policy = Policy { agent: Use::Auto, jfr: Use::Never, keep_ring: false };
            let says = plan(&this, policy, &glance);
            assert_eq!(policy.agent_of(&this, &glance.clone()).is_ok(), is_loaded);
            assert_eq!(says.contains("async-profiler is loaded"), is_loaded, "{says}");
        }
    }
}
