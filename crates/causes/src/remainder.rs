//! The general answer of a family. If most of the lost time has a name and every special cause of it is excluded, something
//! took it all the same. The family's most general cause then says what is left.

use std::collections::BTreeMap;

use fathom_timeline::{Collection, Hold, Origin, Scope, Stop, ThreadState, Wait};

use crate::attribution::Left;
use crate::cause::{Cause, Claim, Finding, Support};
use crate::comparison::Comparison;
use crate::format;

/// Less than this part of what was lost in a group of states is no remainder: others took it.
const REMAINDER_SHARE: f64 = 0.5;

/// The most general cause of time of this kind; none for time that has no name.
pub fn general_cause(state: ThreadState) -> Option<&'static Cause> {
    let id = match state {
        ThreadState::Stopped(Stop::Collection(of)) | ThreadState::Collector(of) => of_collection(of)?,
        ThreadState::Stopped(Stop::TimeToSafepoint) => "long_time_to_safepoint",
        ThreadState::Stopped(Stop::Process) => "process_stopped_by_signal",
        ThreadState::Stopped(Stop::Machine) => "machine_stood_still",
        ThreadState::Blocked(wait) => of_wait(wait)?,
        ThreadState::Runnable => "run_queue_wait",
        ThreadState::Stolen => "stolen_cpu",
        ThreadState::Running(_) => "application_code",
        ThreadState::Compiler => "jit_warm_up",
        ThreadState::Unsent(Hold::Acknowledgement) => "delayed_acknowledgement",
        ThreadState::Unsent(Hold::Retransmission) => "retransmissions",
        ThreadState::Unsent(_) => "slow_consumer",
        // An operation may be a collection with only its stop known. Why a collector waits does not concern collections.
        ThreadState::Stopped(Stop::Operation | Stop::WaitingCollector(_))
        | ThreadState::Vm
        | ThreadState::Idle
        | ThreadState::Unknown => {
            return None;
        }
    };
    crate::cause(id)
}

fn of_collection(collection: Collection) -> Option<&'static str> {
    match (collection.origin, collection.scope) {
        (Origin::Allocation, Scope::Full) => Some("heap_too_small"),
        (Origin::Allocation, _) => Some("allocation_pressure"),
        (Origin::CodeCache, _) => Some("code_cache_churn"),
        (Origin::Explicit, _) => Some("explicit_gc"),
        (Origin::Metaspace, _) => Some("metaspace_full"),
        (Origin::Timer | Origin::Other, _) => None,
    }
}

/// Whether `cause` explains none of the collections that `general` answers for: young ones come because of what is allocated, and it is
/// the general cause of those that come for another reason. Of full ones a log often does not say why they came.
pub(crate) fn is_of_another_origin(cause: &Cause, general: &Cause) -> bool {
    let young = |origin: Origin| of_collection(Collection { scope: Scope::Young, origin });
    let mut others = [Origin::CodeCache, Origin::Explicit, Origin::Metaspace].into_iter();
    young(Origin::Allocation) == Some(general.id) && others.any(|origin| young(origin) == Some(cause.id))
}

fn of_wait(wait: Wait) -> Option<&'static str> {
    match wait {
        Wait::Lock => Some("lock_contention"),
        Wait::Permit | Wait::Pool => Some("connection_pool_exhausted"),
        Wait::Socket | Wait::Buffer => Some("slow_downstream"),
        Wait::NameLookup => Some("dns_slow"),
        Wait::Connect => Some("connect_slow"),
        Wait::FileLock => Some("file_locked"),
        Wait::Process | Wait::ProcessBriefly => Some("child_processes"),
        Wait::AllocationStall => Some("allocation_pressure"),
        Wait::DirectMemory => Some("direct_memory_exhausted"),
        // The causes of the others measure one mechanism each (a mapped file, an executor, a device): once excluded they are not meant.
        _ => None,
    }
}

/// What is left of the lost time, where that is most of the largest named part of it: the general cause, and which kinds of time it
/// answers for if each cause of its family is excluded.
pub(crate) fn of(comparison: &Comparison<'_>, left: &Left) -> Option<(&'static Cause, Vec<ThreadState>)> {
    if !comparison.is_slow() {
        return None;
    }
    let mut groups: BTreeMap<&str, (f64, f64, Vec<ThreadState>)> = BTreeMap::new();
    for excess in comparison.excess().states.iter().filter(|excess| excess.lost_ns() > 0.0) {
        let id = general_cause(excess.state).map_or("", |cause| cause.id);
        let (lost_ns, left_ns, states) = groups.entry(id).or_default();
        *lost_ns += excess.lost_ns();
        *left_ns += left.by_state.get(&excess.state).copied().unwrap_or(0.0);
        states.push(excess.state);
    }
    let (id, (lost_ns, left_ns, states)) = groups.into_iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    let general = crate::cause(id)?;
    let is_remainder = left_ns >= REMAINDER_SHARE * lost_ns && left_ns >= comparison.material_ns();
    is_remainder.then_some((general, states))
}

/// Has the finding of a general cause answer for what is left.
pub(crate) fn answer(comparison: &Comparison<'_>, own: &mut Finding, states: &[ThreadState]) {
    let is_ours = |state: ThreadState| states.contains(&state);
    let lost = |state: &&ThreadState| comparison.excess().of(**state).map_or(0.0, |excess| excess.lost_ns());
    let most = states.iter().max_by(|a, b| lost(a).total_cmp(&lost(b)));
    let what = most.map_or_else(String::new, ToString::to_string);
    let evidence = comparison.state_evidence(&what, "threads", is_ours);
    let before = format::baseline(evidence.baseline, format::number);
    own.says = format!(
        "{what}: {} threads on average{before}, which no special cause explains; {}",
        format::number(evidence.value),
        own.says
    );
    own.support = Support::Weak;
    own.claims = states.iter().map(|state| Claim::all(*state)).collect();
    own.evidence.push(evidence);
}
