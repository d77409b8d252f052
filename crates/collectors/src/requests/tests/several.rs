//! Several observers with one set of programs.

use std::process::{Child, Command};
use std::sync::Arc;

use fathom_evidence::Table;

use super::*;

/// A process that has no sockets, until it is dropped.
struct Other(Child);

impl Other {
    fn new() -> Other {
        Other(Command::new("sleep").arg("1000").spawn().unwrap())
    }

    fn target(&self) -> Target {
        Target::of(self.0.id()).unwrap()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).unwrap();
    }
}

fn own(shared: &Arc<Shared>) -> Box<Observed> {
    observed(shared, &Target::of(std::process::id()).unwrap())
}

fn observed(shared: &Arc<Shared>, target: &Target) -> Box<Observed> {
    let order = Plan::new("/nowhere".into()).order;
    Box::new(observer(Share::in_these(shared, target).unwrap(), target, &order))
}

fn ended(observer: Box<Observed>, port: u16) -> Found {
    let mut found = Recording::default();
    observer.finish(&mut found);
    Found { found, port }
}

#[test]
fn who_is_observed_anew_has_the_same_connections() {
    let Some(_alone) = can_see("who_is_observed_anew_has_the_same_connections") else { return };
    let shared = Shared::load(ways().next().unwrap()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (mut client, server) = connection(&listener);
    let serving = thread::spawn(move || serve(server, 10));
    for (round, expected) in [(0, 2), (1, 2), (2, 2)] {
        let observer = own(&shared);
        call(&mut client, &[0, 30, 0], 10);
        let found = ended(observer, port);
        // Of the first request of each round the arrival was not seen.
        assert_eq!((found.requests().len(), found.calls().len()), (expected, 3), "{round}");
        let counted = found.counted(counter::REQUESTS_COUNT, &format!(":{port}"));
        assert_eq!(counted, expected as f64, "{round}: sums begin anew");
        call(&mut client, &[0, 0], 10);
    }
    drop(client);
    serving.join().unwrap();
}

#[test]
fn nobody_has_what_is_anothers() {
    let Some(_alone) = can_see("nobody_has_what_is_anothers") else { return };
    let shared = Shared::load(ways().next().unwrap()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let others = [(); 3].map(|()| Other::new());
    let [first, second, third] = [0, 1, 2].map(|other| observed(&shared, &others[other].target()));
    drop(first);
    let (mut client, server) = connection(&listener);
    let serving = thread::spawn(move || serve(server, 10));
    let observer = own(&shared);
    drop(second);
    call(&mut client, &[0, 30, 0], 10);
    let of_third = ended(third, port);
    assert_eq!((of_third.requests().len(), of_third.found.counters.len()), (0, 0), "it has no sockets");
    call(&mut client, &[0], 10);
    let found = ended(observer, port);
    assert_eq!((found.requests().len(), found.calls().len()), (3, 4), "though others come and go");
    drop(client);
    serving.join().unwrap();
}

#[test]
fn one_process_may_be_observed_twice() {
    let Some(_alone) = can_see("one_process_may_be_observed_twice") else { return };
    let (target, order) = (Target::of(std::process::id()).unwrap(), Plan::new("/nowhere".into()).order);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let both = [(); 2].map(|()| Box::new(observer(Share::of(&target).unwrap(), &target, &order)));
    COLLECTOR.check(&target).unwrap();
    let (mut client, server) = connection(&listener);
    let serving = thread::spawn(move || serve(server, 10));
    call(&mut client, &[0, 30], 10);
    for observer in both {
        let found = ended(observer, port);
        assert_eq!((found.requests().len(), found.calls().len()), (2, 2));
    }
    drop(client);
    serving.join().unwrap();
}

#[test]
fn of_two_processes_with_one_place_both_are_found() {
    let Some(_alone) = can_see("of_two_processes_with_one_place_both_are_found") else { return };
    let shared = Shared::load(ways().next().unwrap()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // No process has this number; it differs from this process's above the bits that tell a place.
    let other = Share::of_nobody(&shared, std::process::id() ^ 1 << 31);
    let observer = own(&shared);
    let (mut client, server) = connection(&listener);
    let serving = thread::spawn(move || serve(server, 10));
    call(&mut client, &[0, 0], 10);
    drop(other);
    call(&mut client, &[0], 10);
    let found = ended(observer, port);
    assert_eq!((found.requests().len(), found.calls().len()), (3, 3), "beside the other one, and in its place");
    assert_eq!(shared.processes_with_a_place(), 0);
    drop(client);
    serving.join().unwrap();
}
