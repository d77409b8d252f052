//! One address: its messages in order, on a thread of its own, since it may not answer. A message that fails is retried
//! after longer and longer waits, which do not delay other addresses.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::outbox::{self, Message};
use super::webhook;
use crate::config::Webhook;
use crate::log;
use crate::metrics::Metrics;
use crate::trusted::Owner;

/// After so long it is tried again; the last one is repeated.
const WAITS: [Duration; 6] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(120),
    Duration::from_secs(600),
    Duration::from_secs(1800),
];

/// A message this old is of no use any more. What makes a service slow may make the receiver silent as well, for hours.
const GIVEN_UP_S: i64 = 24 * 3600;

/// What waits to be sent; more would be sent too late to be of use.
const WAITING_MAX: usize = 100;

/// How often it is looked whether something is due.
const LOOK: Duration = Duration::from_millis(500);

/// Where to, and with whose rights secrets are read.
#[derive(Debug, Clone)]
pub(super) struct Address {
    pub(super) webhook: Webhook,
    pub(super) owner: Option<Owner>,
    /// Which of the configuration's, from 1.
    pub(super) number: usize,
}

/// What an address is asked.
pub(super) enum Asked {
    Send(Message),
    /// What waits is tried once more; the rest stays on the disk for the next start.
    End,
}

#[derive(Debug)]
struct Waiting {
    message: Message,
    tries: usize,
    due: Instant,
}

/// Sends until the service ends.
pub(super) fn work(address: &Address, asked: &Receiver<Asked>, metrics: &Metrics) {
    let mut waiting = VecDeque::new();
    loop {
        let message = asked.recv_timeout(if waiting.is_empty() { LOOK * 20 } else { LOOK });
        let is_end = matches!(message, Ok(Asked::End) | Err(RecvTimeoutError::Disconnected));
        if let Ok(Asked::Send(message)) = message {
            take(message, &mut waiting, metrics);
        }
        deliver(&mut waiting, is_end, address.number, metrics, |body| {
            webhook::send(&address.webhook, address.owner, body)
        });
        if is_end {
            return;
        }
    }
}

/// The verdict makes it needless to say that something was noticed.
fn take(message: Message, waiting: &mut VecDeque<Waiting>, metrics: &Metrics) {
    let is_needless = |one: &Waiting| one.message.is_first && one.message.incident == message.incident;
    waiting.iter().filter(|one| is_needless(one)).for_each(|one| outbox::remove(&one.message.path));
    waiting.retain(|one| !is_needless(one));
    waiting.push_back(Waiting { message, tries: 0, due: Instant::now() });
    while waiting.len() > WAITING_MAX {
        let dropped = waiting.pop_front();
        give_up(dropped.as_ref(), "too many incidents wait to be told: the oldest was dropped", metrics);
    }
}

fn give_up(one: Option<&Waiting>, says: &str, metrics: &Metrics) {
    one.into_iter().for_each(|one| outbox::remove(&one.message.path));
    metrics.reported("webhook", false);
    log::says("webhook_given_up", says);
}

fn deliver(
    waiting: &mut VecDeque<Waiting>,
    is_end: bool,
    number: usize,
    metrics: &Metrics,
    send: impl Fn(&str) -> Result<(), String>,
) {
    for _ in 0..waiting.len() {
        let Some(mut one) = waiting.pop_front() else { return };
        if !is_end && Instant::now() < one.due {
            waiting.push_back(one);
            continue;
        }
        match send(&one.message.body) {
            Ok(()) => {
                outbox::remove(&one.message.path);
                metrics.reported("webhook", true);
            }
            Err(error) if Timestamp::now().as_second() - one.message.written_s > GIVEN_UP_S => {
                give_up(Some(&one), &format!("webhook {number}: {error}"), metrics);
            }
            Err(error) => {
                log::line("webhook_failed", &[("webhook", number.into()), ("says", error.into())]);
                one.due = Instant::now() + WAITS[one.tries.min(WAITS.len() - 1)];
                one.tries += 1;
                waiting.push_back(one);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::tell::outbox::Outbox;

    fn message(outbox: &Outbox, incident: &str, is_first: bool) -> Message {
        let written_s = Timestamp::now().as_second();
        let body = format!("{incident} {is_first}");
        let path = std::path::PathBuf::new();
        let mut message = Message { webhook: 1, incident: incident.to_owned(), is_first, written_s, body, path };
        outbox.write(&mut message).unwrap();
        message
    }

    #[test]
    fn what_fails_stays_on_the_disk_and_is_sent_once() {
        let folder = tempfile::tempdir().unwrap();
        let (outbox, metrics) = (Outbox::of(folder.path()), Metrics::default());
        let mut waiting = VecDeque::new();
        let sent: RefCell<Vec<String>> = RefCell::default();
        take(message(&outbox, "a", true), &mut waiting, &metrics);
        deliver(&mut waiting, false, 1, &metrics, |_| Err("down".to_owned()));
        assert_eq!((waiting.len(), outbox.left().len()), (1, 1));
        deliver(&mut waiting, false, 1, &metrics, |_| panic!("it is not due"));
        take(message(&outbox, "b", false), &mut waiting, &metrics);
        take(message(&outbox, "a", false), &mut waiting, &metrics);
        deliver(&mut waiting, true, 1, &metrics, |body| {
            sent.borrow_mut().push(body.to_owned());
            Ok(())
        });
        assert_eq!(sent.into_inner(), ["b false", "a false"], "that it was noticed needs no telling any more");
        assert_eq!((waiting.len(), outbox.left().len()), (0, 0));
    }

    #[test]
    fn what_is_a_day_old_or_too_much_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let (outbox, metrics) = (Outbox::of(folder.path()), Metrics::default());
        let mut waiting = VecDeque::new();
        let old = Message { written_s: 0, ..message(&outbox, "a", false) };
        take(old, &mut waiting, &metrics);
        deliver(&mut waiting, false, 1, &metrics, |_| Err("down".to_owned()));
        assert_eq!((waiting.len(), outbox.left().len()), (0, 0));
        (0..WAITING_MAX + 3).for_each(|at| take(message(&outbox, &at.to_string(), false), &mut waiting, &metrics));
        assert_eq!((waiting.len(), outbox.left().len()), (WAITING_MAX, WAITING_MAX));
    }
}
