//! Processes that end in each of these ways.

use std::process::{Child, Command, Stdio};

use super::*;
use crate::bpf::tests::can_load;

fn shell(script: &str) -> Child {
    // It waits to be watched.
    Command::new("sh").args(["-c", &format!("read line; {script}")]).stdin(Stdio::piped()).spawn().unwrap()
}

fn ended(endings: &mut Endings, script: &str) -> Ending {
    let mut child = shell(script);
    endings.watch(child.id()).unwrap();
    drop(child.stdin.take());
    child.wait().unwrap();
    endings.of(child.id())
}

#[test]
fn codes_signals_and_senders_are_seen() {
    if !can_load("codes_signals_and_senders_are_seen") {
        return;
    }
    let mut endings = Endings::start().unwrap();
    assert_eq!(endings.unseen(), []);
    let good = ended(&mut endings, "exit 0");
    assert!(good.is_in_order() && good.by == Some(By::Code(0)), "{good:?}");
    let bad = ended(&mut endings, "exit 3");
    assert!(!bad.is_in_order() && bad.by == Some(By::Code(3)) && bad.sent.is_none(), "{bad:?}");
    let asked = ended(&mut endings, "kill -TERM $$");
    assert!(asked.is_in_order() && asked.was_asked && asked.by == Some(By::Signal(libc::SIGTERM, false)), "{asked:?}");
    let crashed = ended(&mut endings, "kill -SEGV $$");
    assert!(!crashed.is_in_order() && matches!(crashed.by, Some(By::Signal(libc::SIGSEGV, _))), "{crashed:?}");
    let killed = ended(&mut endings, "kill -KILL $$");
    let (number, sender) = killed.sent.clone().unwrap();
    assert_eq!((killed.is_in_order(), killed.is_out_of_memory, number), (false, false, libc::SIGKILL));
    assert!(sender.name == "sh" && sender.pid != 0, "{sender:?}");
}

#[test]
fn others_are_not_seen_and_one_that_is_forgotten_neither() {
    if !can_load("others_are_not_seen_and_one_that_is_forgotten_neither") {
        return;
    }
    let mut endings = Endings::start().unwrap();
    let mut child = shell("exit 3");
    endings.watch(child.id()).unwrap();
    endings.forget(child.id());
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(endings.of(child.id()), Ending::default());
}

#[test]
fn a_jvm_that_is_asked_to_end_has_a_code() {
    for (code, is_in_order) in
        [(0, true), (129, true), (130, true), (143, true), (137, false), (134, false), (1, false)]
    {
        let ending = Ending { by: Some(By::Code(code)), ..Ending::default() };
        assert_eq!(ending.is_in_order(), is_in_order, "{code}");
        assert!(!Ending { is_out_of_memory: true, ..ending }.is_in_order());
    }
}

#[test]
fn events_are_read() {
    let mut bytes: Vec<u8> = [7_u32, SIGNAL, 9, 5].into_iter().flat_map(u32::to_ne_bytes).collect();
    bytes.extend(b"systemd\0\0\0\0\0\0\0\0\0");
    let sender = Sender { pid: 5, name: "systemd".to_owned() };
    assert_eq!(Event::parse(&bytes), Some(Event { process: 7, kind: SIGNAL, code: 9, sender }));
    assert_eq!(Event::parse(&bytes[..31]), None);
    assert_eq!([By::parse(0x300), By::parse(0x8b)], [By::Code(3), By::Signal(11, true)]);
}
