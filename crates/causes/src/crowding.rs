//! Why threads of the application waited for CPUs: others ran. Each of these is charged for what it ran more than before.
//!
//! The thread that had a CPU while another one waited for it is not always the reason: if the collector takes one of two
//! CPUs, the working threads wait on the other one for each other, and for what ran there before as well.

use fathom_evidence::detail::RunQueueWait;
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_timeline::ThreadState;

use crate::comparison::Comparison;
use crate::limits::{CPUS_FULL, MINOR_SHARE};

/// So much of the time that threads waited for CPUs has to be in long waits before who ran meanwhile stands for all of it.
const MIN_RECORDED_SHARE: f64 = 0.2;

impl Comparison<'_> {
    /// The part of the application's waiting for CPUs that came with the kinds of running that
    /// `select` chooses, in ns: threads wait because others run, and each kind of running is charged
    /// for the waiting in the proportion in which it grew.
    pub fn crowding_ns(&self, select: impl Fn(ThreadState) -> bool) -> f64 {
        self.crowding_of_ns(self.more_running_ns(select))
    }

    /// The same for so much running that the slow time has more of. While something runs, the threads at work wait, and no more than
    /// these: where others had the CPUs all the time, a little more running of our own is not why they waited.
    pub fn crowding_of_ns(&self, running_ns: f64) -> f64 {
        let Some(waiting) = self.excess().of(ThreadState::Runnable) else { return 0.0 };
        let others = self.cores_of_others().map_or(0.0, |(slow, baseline)| (slow - baseline.unwrap_or(0.0)).max(0.0));
        let own = self.more_running_ns(|_| true);
        let all = own + others * self.excess().slow_ns;
        if all <= 0.0 {
            return 0.0;
        }
        let own_part = if self.others_left_room(all - own, own) { None } else { self.ran_instead_itself() };
        // Where it was seen who ran instead, no more than that is this process's own.
        let most = own_part.map_or(1.0, |part| part * running_ns / own.max(running_ns).max(1.0));
        (waiting.lost_ns() * (running_ns / all).min(most)).min(running_ns * self.excess().concurrency.max(1.0))
    }

    /// Whether others could have run more than before, and did not, while this process did: then what this process ran more is why there
    /// are fewer CPUs for its threads, whatever ran instead. On CPUs that were full before none can run more; others may come first now.
    fn others_left_room(&self, others_grew_ns: f64, own_grew_ns: f64) -> bool {
        let before = self.machine_use().and_then(|(_, before)| before);
        before.is_some_and(|used| used < CPUS_FULL) && others_grew_ns < MINOR_SHARE * own_grew_ns
    }

    /// The part of the application's long waits for a CPU in which another thread of this process ran instead; none if too
    /// few waits were long enough to be recorded one by one.
    fn ran_instead_itself(&self) -> Option<f64> {
        let (mut all_ns, mut own_ns) = (0.0, 0.0);
        for wait in self.long_waits_for_cpu() {
            let detail: RunQueueWait = self.slow.detail(&wait);
            let length_ns = wait.duration_ns.max(0) as f64;
            all_ns += length_ns;
            own_ns += if detail.own? { length_ns } else { 0.0 };
        }
        let waited_ns = self.excess().of(ThreadState::Runnable)?.slow_ns;
        (all_ns >= MIN_RECORDED_SHARE * waited_ns && all_ns > 0.0).then(|| own_ns / all_ns)
    }

    /// By how much the kinds of running that `select` chooses grew, in ns.
    fn more_running_ns(&self, select: impl Fn(ThreadState) -> bool) -> f64 {
        let is_running = |state: ThreadState| {
            matches!(
                state,
                ThreadState::Running(_) | ThreadState::Compiler | ThreadState::Collector(_) | ThreadState::Vm
            )
        };
        let states = self.excess().states.iter().filter(|excess| is_running(excess.state) && select(excess.state));
        states.map(|excess| excess.excess_ns().max(0.0)).sum()
    }

    /// Waits of the application's threads for a CPU in the slow time that were long enough to be recorded one by one.
    pub fn long_waits_for_cpu(&self) -> impl Iterator<Item = Span> + '_ {
        self.slow.spans(span::RUN_QUEUE_WAIT).filter(|wait| self.sources().is_application(wait.tid))
    }
}
