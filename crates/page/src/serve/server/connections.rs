//! Connections: a limited number at once, and none may stay without sending a request or reading the answer.
//!
//! Everyone who can reach the address can connect, with the token or without. A connection that sends no complete head
//! of a request, or does not read its answer, would otherwise hold a descriptor and a task for ever.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// Largest head of a request, in bytes: the page's own have less than 2 KB.
const HEAD_MAX_BYTES: usize = 16 << 10;
/// The pause when no connection can be accepted, for example because descriptors have run out.
const PAUSE: Duration = Duration::from_millis(50);

/// What connections may take.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    /// How many are served at once: a browser opens six.
    most: usize,
    /// The head of a request has to come within this time; so long, too, a connection may be idle.
    head_within: Duration,
    /// What a connection may take as a whole: the browser opens another one.
    longest: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { most: 64, head_within: Duration::from_secs(10), longest: Duration::from_secs(600) }
    }
}

/// Serves until it is dropped.
pub(super) async fn serve(listener: TcpListener, router: Router, limits: &Limits) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(limits.most));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return Ok(()) };
        let Ok((stream, _)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        let (router, limits) = (router.clone(), limits.clone());
        tokio::spawn(async move {
            connection(stream, router, &limits).await;
            drop(place);
        });
    }
}

async fn connection(stream: TcpStream, router: Router, limits: &Limits) {
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_within)
        .max_buf_size(HEAD_MAX_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // If the client broke the connection off, there is no one to answer.
    let _ = timeout(limits.longest, served).await;
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};
    use std::thread;

    use axum::routing::get;

    use super::*;

    /// A server that answers `GET /` as long as the test runs.
    fn serving(limits: Limits) -> SocketAddr {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        thread::spawn(move || {
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                serve(listener, Router::new().route("/", get(|| async { "answer" })), &limits).await
            })
        });
        address
    }

    fn short() -> Limits {
        Limits { most: 2, head_within: Duration::from_millis(200), ..Limits::default() }
    }

    /// What comes until the server hangs up.
    fn all(mut stream: TcpStream) -> String {
        let mut text = String::new();
        // Hanging up on what was not read yet may show as a reset.
        let _ = stream.read_to_string(&mut text);
        text
    }

    fn connected(address: SocketAddr, says: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(says.as_bytes()).unwrap();
        stream
    }

    const QUESTION: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

    #[test]
    fn who_does_not_ask_is_hung_up_on() {
        let address = serving(short());
        for says in ["", "GET / HT", "GET / HTTP/1.1\r\nHost: x\r\nX: ", QUESTION] {
            let answer = all(connected(address, says));
            assert_eq!(answer.contains("200 OK"), says == QUESTION, "{says:?}: {answer}");
        }
    }

    #[test]
    fn who_keeps_all_places_keeps_them_for_a_moment() {
        let address = serving(short());
        let silent: Vec<TcpStream> = (0..20).map(|_| connected(address, "GET")).collect();
        assert!(all(connected(address, QUESTION)).contains("answer"), "after those before it were hung up on");
        drop(silent);
    }

    #[test]
    fn a_head_without_an_end_is_refused() {
        let address = serving(Limits { most: 2, ..Limits::default() });
        let mut stream = connected(address, "GET / HTTP/1.1\r\nX: ");
        // The server may hang up before all is sent.
        let _ = stream.write_all(&vec![b'x'; 4 * HEAD_MAX_BYTES]);
        assert!(!all(stream).contains("200 OK"));
    }
}
