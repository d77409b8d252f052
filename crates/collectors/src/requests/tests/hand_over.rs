//! An event loop that reads requests, lets another thread work on them, and answers.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::mpsc;

use super::*;

/// An event loop's wait for two descriptors, the first of which another thread can wake it by.
struct Loop {
    poll: OwnedFd,
    wake: std::fs::File,
}

impl Loop {
    fn new(socket: RawFd) -> Loop {
        // SAFETY: both calls make a new descriptor, which nobody else has.
        let [poll, wake] = unsafe { [libc::epoll_create1(0), libc::eventfd(0, 0)] }.map(|fd| {
            assert!(fd >= 0);
            // SAFETY: as above.
            unsafe { OwnedFd::from_raw_fd(fd) }
        });
        for fd in [socket, wake.as_raw_fd()] {
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: fd as u64 };
            // SAFETY: the event lives until the call returns.
            assert_eq!(unsafe { libc::epoll_ctl(poll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &mut event) }, 0);
        }
        Loop { poll, wake: wake.into() }
    }

    /// Waits until something is to be done, and gives the descriptor.
    fn wait(&self) -> RawFd {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: there is room for one event.
        assert_eq!(unsafe { libc::epoll_wait(self.poll.as_raw_fd(), &mut event, 1, -1) }, 1);
        event.u64 as RawFd
    }
}

/// Reads so many requests, and answers each when a worker has returned it, or at once where none is to work on it.
fn serve_by_loop(mut server: TcpStream, count: usize, has_worker: bool) -> i64 {
    let socket = server.as_raw_fd();
    let events = Loop::new(socket);
    let (give, take) = mpsc::channel();
    let mut wake = events.wake.try_clone().unwrap();
    let worker = thread::spawn(move || {
        for delay_ms in take {
            thread::sleep(Duration::from_millis(delay_ms));
            wake.write_all(&1_u64.to_ne_bytes()).unwrap();
        }
        own_tid()
    });
    let mut request = [0; 4];
    for _ in 0..count {
        assert_eq!(events.wait(), socket);
        server.read_exact(&mut request).unwrap();
        if has_worker {
            give.send(u64::from(request[0])).unwrap();
            assert_ne!(events.wait(), socket);
            (&events.wake).read_exact(&mut [0; 8]).unwrap();
        }
        server.write_all(&request).unwrap();
    }
    drop(give);
    worker.join().unwrap()
}

fn watched(has_worker: bool) -> (Found, i64) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut worker_tid = 0;
    let found = watch(true, listener.local_addr().unwrap().port(), || {
        let (mut client, server) = connection(&listener);
        let serving = thread::spawn(move || serve_by_loop(server, 3, has_worker));
        call(&mut client, &[5, 30, 5], 4);
        drop(client);
        worker_tid = serving.join().unwrap();
    });
    (found, worker_tid)
}

#[test]
fn who_worked_on_what_an_event_loop_read_is_known() {
    let Some(_alone) = can_see("who_worked_on_what_an_event_loop_read_is_known") else { return };
    let (found, worker_tid) = watched(true);
    let requests = found.requests();
    assert_eq!(requests.len(), 3, "{requests:?}");
    for (span, request) in &requests {
        assert_eq!((request.worker_tid, request.reader_tid), (Some(worker_tid), None), "{span:?}");
        assert!(request.returned_ns <= request.first_byte_ns, "{request:?}");
    }
    assert!(ns(requests[1].1.returned_ns) >= SLEEP);
}

#[test]
fn an_event_loop_that_answers_itself_has_no_worker() {
    let Some(_alone) = can_see("an_event_loop_that_answers_itself_has_no_worker") else { return };
    let (found, _) = watched(false);
    let workers: Vec<Option<i64>> = found.requests().iter().map(|(_, request)| request.worker_tid).collect();
    assert_eq!(workers, [None; 3]);
}
