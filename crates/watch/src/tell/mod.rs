//! Tells of incidents: a line in the log, addresses, a program.
//!
//! On a thread of its own, since addresses may not answer: what fails is tried again later, each time after a longer wait, while
//! watching and recording go on.

mod body;
mod command;
mod webhook;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::config::{Tell, Webhook};
use crate::incident::Incident;
use crate::log;
use crate::metrics::Metrics;
use crate::trusted::Owner;

/// After so long it is tried again; then it is given up.
const WAITS: [Duration; 5] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(120),
    Duration::from_secs(600),
];

/// What waits to be told; more would be told too late to be of use.
const WAITING_MAX: usize = 100;

/// How often it is looked whether something is due.
const LOOK: Duration = Duration::from_millis(500);

/// Something to be told to one address.
struct Delivery {
    incident: Arc<Incident>,
    webhook: Webhook,
    /// Whose configuration names it, where that is not the service's user.
    owner: Option<Owner>,
    /// Which of the configuration's, from 1.
    number: usize,
    tries: usize,
    due: Instant,
}

/// What the teller is asked.
pub(crate) enum Message {
    /// To tell of this.
    Tell(Box<Incident>, Tell),
    /// To end; what waits is tried once more.
    End,
}

/// Works until it is told to end, or nobody is left who could tell it anything.
pub(crate) fn work(messages: &Receiver<Message>, metrics: &Metrics) {
    let mut waiting = VecDeque::new();
    loop {
        let message = messages.recv_timeout(LOOK);
        let is_end = matches!(message, Ok(Message::End) | Err(RecvTimeoutError::Disconnected));
        if let Ok(Message::Tell(incident, tell)) = message {
            take(*incident, &tell, &mut waiting, metrics);
        }
        deliver(&mut waiting, is_end, metrics);
        if is_end {
            return;
        }
    }
}

fn take(incident: Incident, tell: &Tell, waiting: &mut VecDeque<Delivery>, metrics: &Metrics) {
    log::line("incident", &[("says", incident.line().into()), ("incident", serde_json::json!(incident))]);
    let incident = Arc::new(incident);
    if !tell.command.is_empty() {
        let ran = command::run(&tell.command, tell.owner, &incident);
        metrics.told("command", ran.is_ok());
        ran.unwrap_or_else(|error| log::says("command_failed", &error));
    }
    for (at, webhook) in tell.webhook.iter().enumerate() {
        let (incident, webhook) = (Arc::clone(&incident), webhook.clone());
        let (owner, due) = (tell.owner, Instant::now());
        waiting.push_back(Delivery { incident, webhook, owner, number: at + 1, tries: 0, due });
    }
    while waiting.len() > WAITING_MAX {
        waiting.pop_front();
        metrics.told("webhook", false);
        log::says("webhook_given_up", "too many incidents wait to be told: the oldest was dropped");
    }
}

fn deliver(waiting: &mut VecDeque<Delivery>, is_end: bool, metrics: &Metrics) {
    for _ in 0..waiting.len() {
        let Some(mut delivery) = waiting.pop_front() else { return };
        if !is_end && Instant::now() < delivery.due {
            waiting.push_back(delivery);
            continue;
        }
        let Err(error) = webhook::send(&delivery.webhook, delivery.owner, &delivery.incident) else {
            metrics.told("webhook", true);
            continue;
        };
        let about = [("webhook", delivery.number.into()), ("says", error.into())];
        let wait = WAITS.get(delivery.tries).filter(|_| !is_end);
        log::line(if wait.is_some() { "webhook_failed" } else { "webhook_given_up" }, &about);
        match wait {
            Some(wait) => {
                delivery.tries += 1;
                delivery.due = Instant::now() + *wait;
                waiting.push_back(delivery);
            }
            None => metrics.told("webhook", false),
        }
    }
}
