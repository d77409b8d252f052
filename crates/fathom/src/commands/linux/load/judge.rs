//! Whether the generator can be ruled out: its measurements are only valid if it was not late itself.

use super::engine::{Engine, Sent};
use super::machine::Machine;
use super::numbers::{Times, ms};

/// Requests are sent as late as this at most, at the 99th percentile; and the engine's threads wait as long as this for a CPU
/// for each request, which would lengthen what they measure at the other end, too.
pub(super) const LATE_NS: i64 = 1_000_000;

/// From here on the engine's own need of CPU decides how fast it sends.
const CPU_FULL: f64 = 0.9;

/// What the system says when the generator's own limits are reached.
const OWN_ERRORS: [&str; 3] = ["too many open files", "cannot assign requested address", "no buffer space available"];

/// Why the run says nothing about the server; empty if it does.
pub(super) fn reasons(sent: &[Sent], lag: &Times, engine: &Engine, machine: Option<&Machine>) -> Vec<String> {
    [late(lag, machine), busy(engine), own_cpu(engine), run_queue(sent, engine), own_errors(sent), others(machine)]
        .into_iter()
        .flatten()
        .collect()
}

/// How late requests were sent.
pub(super) fn lag(sent: &[Sent]) -> Times {
    Times::of(sent.iter().map(|one| one.sent_ns - one.due_ns).collect())
}

fn late(lag: &Times, machine: Option<&Machine>) -> Option<String> {
    let p99 = lag.p99_ns;
    let by_host = machine.filter(|machine| machine.is_stolen_from()).map_or(String::new(), |machine| {
        format!("; the host took {:.0} % of the CPUs meanwhile", 100.0 * machine.stolen_ratio)
    });
    (p99 > LATE_NS)
        .then(|| format!("requests were sent up to {} late (p99), more than {}{by_host}", ms(p99), ms(LATE_NS)))
}

fn busy(engine: &Engine) -> Option<String> {
    (engine.under_way >= engine.workers)
        .then(|| format!("all {} workers were busy at once: give more with --workers, or a lower rate", engine.workers))
}

fn own_cpu(engine: &Engine) -> Option<String> {
    let ratio = cpu_ratio(engine)? / f64::from(engine.cpus.max(1));
    (ratio > CPU_FULL).then(|| format!("the generator used {:.0} % of the CPUs that it may use", 100.0 * ratio))
}

/// How many CPUs the engine used on average.
pub(super) fn cpu_ratio(engine: &Engine) -> Option<f64> {
    engine.schedule.as_ref().map(|schedule| schedule.run_ns as f64 / engine.elapsed_ns.max(1) as f64)
}

fn run_queue(sent: &[Sent], engine: &Engine) -> Option<String> {
    let each = run_queue_ns(sent, engine)?;
    (each > LATE_NS).then(|| {
        format!("the generator's threads waited {} for a CPU for each request, more than {}", ms(each), ms(LATE_NS))
    })
}

/// How long its threads waited for a CPU, for each request.
pub(super) fn run_queue_ns(sent: &[Sent], engine: &Engine) -> Option<i64> {
    engine.schedule.as_ref().map(|schedule| schedule.run_queue_ns / sent.len().max(1) as i64)
}

/// A generator with a real-time priority is in time on full CPUs, too; the server is not.
fn others(machine: Option<&Machine>) -> Option<String> {
    let machine = machine?;
    let others = machine.full_of_others()?;
    let but = if machine.server_ratio.is_some() { "the server and the generator" } else { "the generator" };
    Some(format!(
        "the CPUs were full (idle {:.0} %), and others than {but} had {:.0} % of them",
        100.0 * machine.idle_ratio,
        100.0 * others
    ))
}

fn own_errors(sent: &[Sent]) -> Option<String> {
    OWN_ERRORS.iter().find_map(|says| {
        let count = sent.iter().filter(|one| one.error.contains(says)).count();
        (count > 0).then(|| format!("{count} requests could not be sent from here: {says}"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::engine::Schedule;
    use super::*;

    fn sent(lag_ns: i64) -> Vec<Sent> {
        let one = |lag_ns| Sent { sent_ns: lag_ns, ended_ns: lag_ns + 5_000_000, status: 200, ..Sent::default() };
        (0..100).map(|number| one(if number < 97 { 50_000 } else { lag_ns })).collect()
    }

    fn engine(run_ns: i64, run_queue_ns: i64) -> Engine {
        let schedule = Some(Schedule { run_ns, run_queue_ns });
        Engine { elapsed_ns: 1_000_000_000, cpus: 2, under_way: 3, workers: 10, schedule, ..Engine::default() }
    }

    fn quiet() -> Machine {
        let quiet_lag = Times::default();
        let (server_ratio, others_ratio) = (None, Some(0.0));
        Machine { stolen_ratio: 0.0, idle_ratio: 0.9, server_ratio, others_ratio, quiet_requests: 0, quiet_lag }
    }

    #[test]
    fn a_generator_that_kept_up_is_ruled_out() {
        let sent = sent(900_000);
        assert_eq!(reasons(&sent, &lag(&sent), &engine(1_000_000_000, 50_000_000), None), [""; 0]);
        let unknown = Engine { schedule: None, ..engine(0, 0) };
        assert_eq!(reasons(&sent, &lag(&sent), &unknown, None), [""; 0]);
    }

    #[test]
    fn each_limit_is_a_reason() {
        let good = engine(0, 0);
        let all_busy = Engine { under_way: 10, ..engine(0, 0) };
        let mut refused = sent(0);
        refused[7].error = "dial tcp: socket: too many open files".to_owned();
        for (sent, engine, says) in [
            (sent(2_000_000), &good, "2.000 ms late (p99)"),
            (sent(0), &all_busy, "all 10 workers"),
            (sent(0), &engine(1_900_000_000, 0), "95 % of the CPUs"),
            (sent(0), &engine(0, 150_000_000), "waited 1.500 ms for a CPU"),
            (refused, &good, "1 requests could not be sent from here: too many open files"),
        ] {
            let found = reasons(&sent, &lag(&sent), engine, None);
            assert!(found.len() == 1 && found[0].contains(says), "{found:?}");
        }
    }

    #[test]
    fn what_the_host_took_is_part_of_the_reason() {
        let sent = sent(2_000_000);
        let found = |stolen_ratio| {
            let machine = Machine { stolen_ratio, ..quiet() };
            reasons(&sent, &lag(&sent), &engine(0, 0), Some(&machine)).concat()
        };
        assert!(found(0.18).ends_with("; the host took 18 % of the CPUs meanwhile"), "{}", found(0.18));
        assert!(found(0.005).ends_with("1.000 ms"), "{}", found(0.005));
    }
    #[test]
    fn full_cpus_that_others_had_are_a_reason() {
        let full = Machine { idle_ratio: 0.02, others_ratio: Some(0.61), ..quiet() };
        let found = |machine| reasons(&sent(0), &lag(&sent(0)), &engine(0, 0), Some(&machine)).concat();
        let says = "the CPUs were full (idle 2 %), and others than the generator had 61 % of them";
        assert_eq!(found(full.clone()), says);
        assert!(found(Machine { server_ratio: Some(0.2), ..full }).contains("the server and the generator"));
        assert_eq!(found(quiet()), "");
    }
}
