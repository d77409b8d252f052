//! What the machine did while requests were sent. If the host of a virtual machine took its CPUs, the generator is not
//! to blame for being late, and only the seconds without that show whether it is in time. If other programs had the
//! CPUs, the server is not to blame for being slow.

use std::net::{ToSocketAddrs, UdpSocket};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fathom_collectors::{CpuTicks, ProcessTicks, who_listens};
use serde::Serialize;

use super::engine::{Engine, Sent};
use super::numbers::{Times, ms};

const EACH: Duration = Duration::from_secs(1);

/// From here on the host is said to have taken CPUs. `/proc/stat` counts in 10 ms, so one tick of a second of two CPUs is half of it.
const TAKEN_RATIO: f64 = 0.01;

/// The CPUs were full where less than this was idle, and others are the reason where they had more than this.
const FULL_IDLE_RATIO: f64 = 0.1;
const OTHERS_RATIO: f64 = 0.2;

/// How long a tick of `/proc` is on all architectures that Fathom is built for.
const TICK_NS: f64 = 1e7;

/// Looks each second until it is asked for what it saw.
pub(super) struct Looking {
    end: Sender<()>,
    thread: JoinHandle<Vec<Look>>,
}

/// CPU time since boot, in ticks.
#[derive(Debug, Clone, Copy)]
struct Look {
    at_ns: i64,
    all: CpuTicks,
    /// None where the server's process is not known, or not on this machine.
    server: Option<u64>,
}

/// What was seen, for the summary. Ratios are parts of the time of all CPUs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Machine {
    /// Taken by the host.
    pub(super) stolen_ratio: f64,
    pub(super) idle_ratio: f64,
    /// None where its process is not known, or not on this machine.
    pub(super) server_ratio: Option<f64>,
    /// What is neither the server's nor the generator's. None where the generator's own is not known.
    pub(super) others_ratio: Option<f64>,
    /// Requests that were due in seconds in which the host took nearly nothing, and how late they were sent.
    pub(super) quiet_requests: usize,
    pub(super) quiet_lag: Times,
}

impl Looking {
    /// The server is that of the URL.
    pub(super) fn start(server: &str) -> Looking {
        let (end, ends) = mpsc::channel();
        let pid = local_port(server).and_then(who_listens);
        let looks = move || {
            let look = || look(pid);
            let mut looks = Vec::from_iter(look());
            while ends.recv_timeout(EACH) == Err(RecvTimeoutError::Timeout) {
                looks.extend(look());
            }
            looks.extend(look());
            looks
        };
        Looking { end, thread: thread::spawn(looks) }
    }

    /// None where the kernel does not count it.
    pub(super) fn end(self, sent: &[Sent], engine: &Engine) -> Option<Machine> {
        drop(self.end);
        machine(&self.thread.join().ok()?, sent, engine)
    }
}

impl Machine {
    /// Whether the host took so much that it has to be said.
    pub(super) fn is_stolen_from(&self) -> bool {
        self.stolen_ratio >= TAKEN_RATIO
    }

    /// What others had of CPUs that were full: then the server waited for them.
    pub(super) fn full_of_others(&self) -> Option<f64> {
        self.others_ratio.filter(|others| self.idle_ratio < FULL_IDLE_RATIO && *others > OTHERS_RATIO)
    }

    pub(super) fn text(&self) -> String {
        if !self.is_stolen_from() {
            return String::new();
        }
        let quiet = match self.quiet_requests {
            0 => "in each second".to_owned(),
            count => format!("p99 lag without that {}, of {count} requests", ms(self.quiet_lag.p99_ns)),
        };
        format!("  the host took {:.0} % of the CPUs (steal); {quiet}\n", 100.0 * self.stolen_ratio)
    }
}

fn machine(looks: &[Look], sent: &[Sent], engine: &Engine) -> Option<Machine> {
    let (first, last) = (looks.first()?, looks.last()?);
    let all = last.all.all().checked_sub(first.all.all()).filter(|ticks| *ticks > 0)? as f64;
    let part = |from: u64, to: u64| to.saturating_sub(from) as f64 / all;
    let server_ratio = first.server.zip(last.server).map(|(from, to)| part(from, to));
    let work = part(first.all.work, last.all.work);
    let own = engine.schedule.as_ref().map(|schedule| schedule.run_ns as f64 / (all * TICK_NS));
    let quiet_lag = quiet_lag(looks, sent, engine.began_ns);
    Some(Machine {
        stolen_ratio: part(first.all.stolen, last.all.stolen),
        idle_ratio: part(first.all.idle, last.all.idle),
        server_ratio,
        others_ratio: own.map(|own| (work - own - server_ratio.unwrap_or(0.0)).max(0.0)),
        quiet_requests: quiet_lag.len(),
        quiet_lag: Times::of(quiet_lag),
    })
}

/// How late requests were in the seconds in which the host took nearly nothing.
fn quiet_lag(looks: &[Look], sent: &[Sent], began_ns: i64) -> Vec<i64> {
    let quiet: Vec<(i64, i64)> = looks
        .windows(2)
        .filter(|two| is_quiet(two[0].all, two[1].all))
        .map(|two| (two[0].at_ns - began_ns, two[1].at_ns - began_ns))
        .collect();
    sent.iter().filter(|one| is_within(&quiet, one.due_ns)).map(|one| one.sent_ns - one.due_ns).collect()
}

fn is_quiet(from: CpuTicks, to: CpuTicks) -> bool {
    let all = to.all().saturating_sub(from.all());
    all > 0 && (to.stolen.saturating_sub(from.stolen) as f64) < TAKEN_RATIO * all as f64
}

/// These follow each other in time.
fn is_within(parts: &[(i64, i64)], at_ns: i64) -> bool {
    let next = parts.partition_point(|(_, to_ns)| *to_ns <= at_ns);
    parts.get(next).is_some_and(|(from_ns, _)| *from_ns <= at_ns)
}

fn look(server: Option<u32>) -> Option<Look> {
    let at_ns = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_nanos().try_into().ok()?;
    let server = server.and_then(ProcessTicks::now).map(|ticks| ticks.own);
    Some(Look { at_ns, all: CpuTicks::now()?, server })
}

/// The port, if the server is on this machine: then the system would send from the address that it sends to.
fn local_port(server: &str) -> Option<u16> {
    let (scheme, host) = server.split_once("://")?;
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let usual = if scheme == "https" { ":443" } else { ":80" };
    let address = format!("{host}{}", if has_port { "" } else { usual }).to_socket_addrs().ok()?.next()?;
    let socket = UdpSocket::bind(if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }).ok()?;
    socket.connect(address).ok()?; // sends nothing
    (socket.local_addr().ok()?.ip() == address.ip()).then_some(address.port())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::super::engine::Schedule;
    use super::*;

    #[test]
    fn a_server_on_this_machine_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(local_port(&format!("http://localhost:{port}")), Some(port));
        assert_eq!(who_listens(port), Some(std::process::id()));
        assert_eq!(local_port("http://127.0.0.1"), Some(80));
        assert_eq!(local_port("https://127.0.0.1"), Some(443));
        assert_eq!(local_port("http://192.0.2.1:80"), None, "an address of examples");
    }

    /// Of two CPUs, a second each.
    fn looks(all: [CpuTicks; 4]) -> Vec<Look> {
        let look = |(second, all): (i64, CpuTicks)| Look { at_ns: 500 + second * 100, all, server: Some(7) };
        (0..).zip(all).map(look).collect()
    }

    #[test]
    fn quiet_seconds_are_told_apart() {
        let ticks = |second: u64, stolen| CpuTicks { idle: 200 * second - stolen, work: 7, stolen };
        // The host takes 20 % of the second of three.
        let looks = looks([ticks(1, 7), ticks(2, 7), ticks(3, 47), ticks(4, 48)]);
        let sent = [(10, 20), (110, 190), (210, 250), (310, 910)].map(|(due_ns, sent_ns)| Sent {
            due_ns,
            sent_ns,
            ..Sent::default()
        });
        let engine = Engine { began_ns: 500, ..Engine::default() };
        let found = machine(&looks, &sent, &engine).unwrap();
        assert!((found.stolen_ratio - 41.0 / 600.0).abs() < 1e-9 && found.is_stolen_from());
        let quiet = (found.quiet_requests, found.quiet_lag.max_ns);
        assert_eq!(quiet, (2, 40), "what was due after the last look is not known");
        assert_eq!(
            found.text(),
            "  the host took 7 % of the CPUs (steal); p99 lag without that 0.000 ms, of 2 requests\n"
        );
        assert_eq!(machine(&looks[..1], &sent, &engine), None);
    }

    #[test]
    fn full_cpus_are_others_fault_where_these_had_much_of_them() {
        let full = |work| {
            let ticks = |second: u64| CpuTicks { idle: (200 - work) * second, work: work * second, stolen: 0 };
            let mut looks = looks([0, 1, 2, 3].map(ticks));
            looks[3].server = Some(7 + 150);
            // The generator has 0.15 of the six seconds of CPU, the server 0.25.
            let schedule = Some(Schedule { run_ns: 900_000_000, run_queue_ns: 0 });
            machine(&looks, &[], &Engine { schedule, ..Engine::default() }).unwrap()
        };
        let others = full(196).full_of_others().unwrap();
        assert!((others - 0.58).abs() < 1e-9, "{others}");
        assert_eq!(full(150).full_of_others(), None, "a quarter is idle");
        assert_eq!(full(196).server_ratio, Some(0.25));
        let mut alone = full(196);
        alone.others_ratio = Some(0.1);
        assert_eq!(alone.full_of_others(), None, "the server fills them itself");
    }
}
