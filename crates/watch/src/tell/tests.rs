//! Two addresses, one of which does not answer.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::channel;

use super::*;
use crate::config::Format;
use crate::incident::AboutJvm;
use crate::triggers::Trigger;

fn webhook(port: u16) -> Webhook {
    let url = Some(format!("http://127.0.0.1:{port}/"));
    Webhook { url, url_file: None, format: Format::Json, token_file: None, noticed: true }
}

fn body_of(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let length = stream.read(&mut chunk).unwrap();
        bytes.extend(&chunk[..length]);
        let text = String::from_utf8_lossy(&bytes);
        let whole = text.split_once("\r\n\r\n").is_some_and(|(_, body)| body.ends_with('}'));
        if whole || length == 0 {
            stream.write_all(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n").unwrap();
            return text.split_once("\r\n\r\n").unwrap().1.to_owned();
        }
    }
}

fn notice(id: &str) -> Message {
    let notice = Notice::of(&AboutJvm::default(), &Trigger::by_hand(5), (id, 1), None, Vec::new());
    Message::Notice(Box::new(notice), Tell::default())
}

/// The message with these addresses.
fn to(message: Message, tell: &Tell) -> Message {
    match message {
        Message::Notice(notice, _) => Message::Notice(notice, tell.clone()),
        other => other,
    }
}

#[test]
fn an_address_that_hangs_holds_up_no_other_and_what_it_missed_is_sent_by_the_next_service() {
    let folder = tempfile::tempdir().unwrap();
    let (silent, lively) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let tell = Tell {
        webhook: vec![webhook(silent.local_addr().unwrap().port()), webhook(lively.local_addr().unwrap().port())],
        ..Tell::default()
    };
    let (messages, queue) = channel();
    let (of_teller, place) = (tell.clone(), folder.path().to_owned());
    let reporter = thread::spawn(move || work(&place, &queue, &of_teller, &Metrics::default()));
    messages.send(to(notice("a"), &tell)).unwrap();
    let body = body_of(lively.accept().unwrap().0);
    assert!(body.contains("\"stage\":\"noticed\"") && body.contains("\"id\":\"a\""), "{body}");
    // It is killed; the silent one answers the next.
    messages.send(Message::End).unwrap();
    drop(silent);
    reporter.join().unwrap();
    let left = Outbox::of(folder.path()).left();
    assert_eq!(left.len(), 1);
    let answers = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut moved = tell.clone();
    moved.webhook[0] = webhook(answers.local_addr().unwrap().port());
    // The same address as far as the outbox knows.
    let mut message = left[0].clone();
    outbox::remove(&message.path);
    message.webhook = outbox::key(&moved.webhook[0]);
    Outbox::of(folder.path()).write(&mut message).unwrap();
    let (messages, queue) = channel();
    let place = folder.path().to_owned();
    let reporter = thread::spawn(move || work(&place, &queue, &moved, &Metrics::default()));
    assert!(body_of(answers.accept().unwrap().0).contains("\"id\":\"a\""));
    messages.send(Message::End).unwrap();
    reporter.join().unwrap();
    assert!(Outbox::of(folder.path()).left().is_empty());
}

#[test]
fn the_verdict_on_what_was_kept_follows_a_message_that_there_is_no_recording() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tell = Tell { webhook: vec![webhook(listener.local_addr().unwrap().port())], ..Tell::default() };
    let (messages, queue) = channel();
    let (of_teller, place) = (tell.clone(), folder.path().to_owned());
    let reporter = thread::spawn(move || work(&place, &queue, &of_teller, &Metrics::default()));
    for (id, is_awaited) in [("of another JVM", false), ("told", true)] {
        let not_recorded = Some("budget_of_the_hour".to_owned());
        let incident = Incident { id: id.to_owned(), not_recorded, is_awaited, ..body::tests::incident() };
        messages.send(Message::Verdict(Box::new(incident), tell.clone())).unwrap();
    }
    let body = body_of(listener.accept().unwrap().0);
    assert!(body.contains("\"id\":\"told\"") && body.contains("\"stage\":\"verdict\""), "{body}");
    messages.send(Message::End).unwrap();
    reporter.join().unwrap();
}
