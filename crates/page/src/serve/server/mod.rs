//! Serves the page and its answers to a browser on this machine.
//!
//! A recording reveals much about a service, so only its user gets it. The server listens on loopback unless configured
//! otherwise, its address begins with a random token, and requests for another host's name or from another site's page
//! are refused (a page of any site can make a browser ask 127.0.0.1). It only reads.

mod connections;
mod files;
mod guard;
mod routes;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::runtime::Builder;

use connections::Limits;

use super::shelf::Shelf;

/// Threads that wait for connections; the work is done by others.
const THREADS: usize = 1;

/// Questions that are worked on at once: each may use all processors.
const QUESTIONS: usize = 8;

/// A server that has its address and does not serve yet.
#[derive(Debug)]
pub struct Server {
    listener: std::net::TcpListener,
    address: SocketAddr,
    token: String,
}

impl Server {
    /// Binds to an address; port 0 takes a free one.
    pub fn bind(address: SocketAddr) -> io::Result<Server> {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Server { listener, address, token: guard::token()? })
    }

    /// The address of the page, with its token.
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.address, self.token)
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Serves until `ended` is over.
    pub fn serve(self, shelf: Arc<Shelf>, ended: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(QUESTIONS)
            .enable_io()
            .enable_time()
            .build()?;
        let limits = Limits::default();
        let router = routes::router(guard::Guard::new(self.address, self.token), shelf);
        runtime.block_on(async {
            let listener = TcpListener::from_std(self.listener)?;
            tokio::select! {
                served = connections::serve(listener, router, &limits) => served,
                () = ended => Ok(()),
            }
        })?;
        // A question that is still being answered has no reader left.
        runtime.shutdown_background();
        Ok(())
    }

    /// Serves until Ctrl-C or SIGTERM.
    pub fn serve_until_interrupted(self, shelf: Arc<Shelf>) -> io::Result<()> {
        self.serve(shelf, async {
            tokio::select! {
                () = interrupted() => {}
                () = terminated() => {}
            }
        })
    }
}

// A signal that cannot be listened for ends the program as it always does.

async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

#[cfg(unix)]
async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};

    match signal(SignalKind::terminate()) {
        Ok(mut signal) => drop(signal.recv().await),
        Err(_) => std::future::pending().await,
    }
}

#[cfg(not(unix))]
async fn terminated() {
    std::future::pending().await
}
