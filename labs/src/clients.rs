//! Clients of a lab that answers requests on a socket, as a monitored service does. Requests come at random times from
//! another process, one after the other on each connection.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::declaration::Phase;
use crate::progress::phase_that_begins;

/// Connections per handler thread, and their minimum. Most connections are idle, so that requests come at random times
/// although each connection carries one at a time.
const CONNECTIONS_PER_HANDLER: u32 = 4;
const LEAST_CONNECTIONS: u32 = 32;

/// A connection that is later than this does not catch up: its next request waits for the response.
const BEHIND: Duration = Duration::from_millis(200);

const NOT_YET: u64 = 0;
const OVER: u64 = u64::MAX;

/// How often a connection checks whether requests begin.
const LOOK: Duration = Duration::from_millis(5);

/// The requests of all connections, by the phase that the program is in.
pub(crate) struct Clients<'a> {
    phases: &'a [Phase],
    connections: u32,
    /// Mean nanoseconds from one request of a connection to the next; [`NOT_YET`] or [`OVER`] if there are none.
    gap_ns: Arc<AtomicU64>,
    measured: Arc<Measured>,
}

/// When each request was due, and how long it took from then on.
struct Measured {
    began: (Instant, SystemTime),
    requests: Mutex<Vec<(Instant, Duration)>>,
}

impl<'a> Clients<'a> {
    pub(crate) fn new(phases: &'a [Phase], handlers: u32) -> Self {
        let connections = (handlers * CONNECTIONS_PER_HANDLER).max(LEAST_CONNECTIONS);
        let measured = Measured { began: (Instant::now(), SystemTime::now()), requests: Mutex::default() };
        Self { phases, connections, gap_ns: Arc::default(), measured: Arc::new(measured) }
    }

    /// Writes the clients' measurements in the format that a program without such clients uses.
    pub(crate) fn write_latencies(&self, file: &Path) -> io::Result<()> {
        fs::write(file, self.measured.table())
    }

    /// Follows the program: where it listens, and its phases.
    pub(crate) fn hear(&mut self, line: &str) -> io::Result<()> {
        if let Some(port) = line.strip_prefix("listens=").and_then(|port| port.parse().ok()) {
            for number in 1..=self.connections {
                let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
                stream.set_nodelay(true)?;
                let (gap_ns, measured) = (Arc::clone(&self.gap_ns), Arc::clone(&self.measured));
                // It ends when the program closes the connection, or with the next request after this was dropped.
                thread::spawn(move || ask(stream, &gap_ns, &measured, u64::from(number)));
            }
        }
        let phase = phase_that_begins(line).and_then(|name| self.phases.iter().find(|phase| phase.name == name));
        if let Some(phase) = phase {
            let gap_ns = f64::from(self.connections) * 1e9 / phase.requests_per_second.max(1e-3);
            self.gap_ns.store(gap_ns as u64, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Drop for Clients<'_> {
    fn drop(&mut self) {
        self.gap_ns.store(OVER, Ordering::Relaxed);
    }
}

/// Exponential gaps, as from many independent users, the same in each run.
fn ask(mut stream: TcpStream, gap_ns: &AtomicU64, measured: &Measured, mut seed: u64) {
    let mut due = Instant::now();
    loop {
        let gap_ns = match gap_ns.load(Ordering::Relaxed) {
            NOT_YET => {
                thread::sleep(LOOK);
                continue;
            }
            OVER => return,
            gap_ns => gap_ns,
        };
        let gap = Duration::from_nanos((gap_ns as f64 * -(1.0 - unit(&mut seed)).ln()) as u64);
        due = (due + gap).max(Instant::now().checked_sub(BEHIND).unwrap_or(due));
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let answer = stream.write_all(&[0; 4]).and_then(|()| stream.read_exact(&mut [0]));
        // A request without a response before the end took at least this long.
        measured.note(due);
        if answer.is_err() {
            return;
        }
    }
}

impl Measured {
    fn note(&self, due: Instant) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.push((due, due.elapsed()));
    }

    fn table(&self) -> String {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let line = |(due, took): &(Instant, Duration)| {
            let due = self.began.1 + due.saturating_duration_since(self.began.0);
            let since_1970 = due.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            format!("{},{:.3}\n", since_1970.as_millis(), took.as_secs_f64() * 1e3)
        };
        std::iter::once("time,latency_ms\n".to_owned()).chain(requests.iter().map(line)).collect()
    }
}

/// A pseudo-random number from 0 to 1 (xorshift64*).
fn unit(state: &mut u64) -> f64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::declaration::PhaseRole;

    #[test]
    fn requests_begin_with_a_phase_and_end_with_the_program() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let phases =
            [Phase { name: "before".to_owned(), role: PhaseRole::Baseline, seconds: 1.0, requests_per_second: 1e4 }];
        let mut clients = Clients::new(&phases, 1);
        clients.hear(&format!("listens={}", listener.local_addr().unwrap().port())).unwrap();
        clients.hear("phase_begins=before").unwrap();
        let (mut server, _) = listener.accept().unwrap();
        for _ in 0..100 {
            server.read_exact(&mut [0; 4]).unwrap();
            server.write_all(&[1]).unwrap();
        }
        let measured = clients.measured.table();
        let lines: Vec<&str> = measured.lines().collect();
        assert_eq!(lines[0], "time,latency_ms");
        assert!((99..=102).contains(&lines.len()), "{measured}");
        drop(clients);
        // The last request, then the end.
        let mut rest = Vec::new();
        while server.read(&mut [0; 4]).is_ok_and(|length| length > 0) {
            rest.push(server.write_all(&[1]));
        }
        assert!(rest.len() <= 1, "{}", rest.len());
    }

    #[test]
    fn chance_is_spread_evenly() {
        let mut seed = 23;
        let mean = (0..10_000).map(|_| unit(&mut seed)).sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
    }
}
