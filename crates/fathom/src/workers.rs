//! The threads that share the work of reading and explaining.
//!
//! Rayon makes its threads when they are first needed, and ends the program if it cannot: in a container or under a limit on
//! processes. So this module makes as many as possible, and Rayon takes those; without any, the calling thread does all the work.

use std::io;
use std::num::NonZero;
use std::sync::Once;
use std::sync::mpsc::{self, Sender};
use std::thread;

use rayon::{ThreadBuilder, ThreadPoolBuilder};

/// Makes them at its first call, which comes after rights were given up: threads keep the rights that they start with.
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let mut waiting = waiting();
        let pool = ThreadPoolBuilder::new().num_threads(waiting.len().max(1));
        // It fails where the threads exist already, which is as good.
        let _ = match waiting.len() {
            0 => pool.use_current_thread().build_global(),
            _ => pool.spawn_handler(|worker| hand_over(worker, waiting.pop())).build_global(),
        };
    });
}

fn hand_over(worker: ThreadBuilder, to: Option<Sender<ThreadBuilder>>) -> io::Result<()> {
    let is_taken = to.is_some_and(|to| to.send(worker).is_ok());
    if is_taken { Ok(()) } else { Err(io::Error::other("a thread has ended before it was given work")) }
}

/// Threads that wait for their worker, up to one for each processor.
fn waiting() -> Vec<Sender<ThreadBuilder>> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let spawn = |_| {
        let (sender, given) = mpsc::channel::<ThreadBuilder>();
        let work = move || {
            if let Ok(worker) = given.recv() {
                worker.run();
            }
        };
        thread::Builder::new().name("fathom-worker".to_owned()).spawn(work).ok().map(|_| sender)
    };
    (0..processors).map_while(spawn).collect()
}
