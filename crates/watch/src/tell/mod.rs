//! Reports incidents: a line in the log, addresses, a program. That something was noticed is reported at once; the verdict follows with the same
//! id. Each address and the program have a thread of their own, since they may not answer.

mod address;
mod body;
mod command;
mod notice;
mod outbox;
mod webhook;

use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use jiff::Timestamp;
pub(crate) use notice::Notice;

use crate::config::{Tell, Webhook};
use crate::incident::Incident;
use crate::log;
use crate::metrics::Metrics;
use crate::triggers::Severity;
use address::{Address, Asked};
use body::News;
use outbox::Outbox;

/// Threads need little.
const STACK_BYTES: usize = 512 << 10;

/// Programs that wait for the one before: each may take minutes.
const LOOK: Duration = Duration::from_secs(1);

/// What the reporter is asked.
pub(crate) enum Message {
    /// To tell that something was noticed, or that it is not recorded.
    Notice(Box<Notice>, Tell),
    /// To tell what came of it.
    Verdict(Box<Incident>, Tell),
    /// To end; what waits is tried once more.
    End,
}

/// Works until it is asked to end, or all senders are gone. What a service before could not send is sent first.
pub(crate) fn work(folder: &Path, messages: &Receiver<Message>, first: &Tell, metrics: &Metrics) {
    let mut reporter = Reporter::new(folder, metrics);
    reporter.send_left(first);
    loop {
        match messages.recv_timeout(LOOK) {
            Ok(Message::Notice(notice, tell)) => reporter.notice(&notice, &tell),
            Ok(Message::Verdict(incident, tell)) => reporter.verdict(*incident, &tell),
            Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => return reporter.end(),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// A thread and what it is asked by.
struct Worker<T> {
    asks: Sender<T>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Worker<T> {
    /// Where no thread can be had, what it is asked goes nowhere; messages stay on the disk.
    fn start(name: &str, work: impl FnOnce(Receiver<T>) + Send + 'static) -> Worker<T> {
        let (asks, asked) = channel();
        let builder = thread::Builder::new().name(format!("watch-{name}")).stack_size(STACK_BYTES);
        Worker { asks, thread: builder.spawn(move || work(asked)).ok() }
    }

    fn end(self) {
        drop(self.asks);
        // One that panicked has ended as well.
        self.thread.map(JoinHandle::join).map(drop).unwrap_or_default();
    }
}

struct Reporter {
    outbox: Outbox,
    metrics: Metrics,
    addresses: HashMap<u64, Worker<Asked>>,
    program: Worker<(Incident, Tell)>,
}

impl Reporter {
    fn new(folder: &Path, metrics: &Metrics) -> Reporter {
        let counted = metrics.clone();
        let program = Worker::start("command", move |incidents: Receiver<(Incident, Tell)>| {
            for (incident, tell) in incidents {
                let ran = command::run(&tell.command, tell.owner, &incident);
                counted.reported("command", ran.is_ok());
                ran.unwrap_or_else(|error| log::says("command_failed", &error));
            }
        });
        Reporter { outbox: Outbox::of(folder), metrics: metrics.clone(), addresses: HashMap::new(), program }
    }

    fn send_left(&mut self, tell: &Tell) {
        for message in self.outbox.left() {
            let known = tell.webhook.iter().enumerate().find(|(_, webhook)| outbox::key(webhook) == message.webhook);
            match known {
                Some((at, webhook)) => self.send(message, webhook, at + 1, tell),
                None => {
                    outbox::remove(&message.path);
                    log::says("webhook_given_up", "it is not in the configuration any more");
                }
            }
        }
    }

    fn notice(&mut self, notice: &Notice, tell: &Tell) {
        self.write(&News::Notice(notice), tell);
    }

    fn verdict(&mut self, incident: Incident, tell: &Tell) {
        log::line("incident", &[("says", incident.line().into()), ("incident", serde_json::json!(incident))]);
        // What was kept in place of a recording is there to be looked at, unless a message said that there is none.
        let is_awaited = incident.is_awaited || incident.severity == Severity::Critical;
        if incident.not_recorded.is_some() && !is_awaited {
            return;
        }
        self.write(&News::Verdict(&incident), tell);
        if !tell.command.is_empty() {
            // The program's thread lives as long as this one.
            let _ = self.program.asks.send((incident, tell.clone()));
        }
    }

    fn write(&mut self, news: &News<'_>, tell: &Tell) {
        let is_first = matches!(news, News::Notice(_));
        for (at, webhook) in tell.webhook.iter().enumerate().filter(|(_, webhook)| webhook.noticed || !is_first) {
            let mut message = outbox::Message {
                webhook: outbox::key(webhook),
                incident: news.id().to_owned(),
                is_first: news.is_followed(),
                written_s: Timestamp::now().as_second(),
                body: body::body(webhook.format, news, tell.page.as_deref()).to_string(),
                path: Default::default(),
            };
            if let Err(error) = self.outbox.write(&mut message) {
                log::says("outbox_not_written", &error.to_string());
            }
            self.send(message, webhook, at + 1, tell);
        }
    }

    fn send(&mut self, message: outbox::Message, webhook: &Webhook, number: usize, tell: &Tell) {
        let address = Address { webhook: webhook.clone(), owner: tell.owner, number };
        let metrics = self.metrics.clone();
        let worker = self.addresses.entry(message.webhook).or_insert_with(|| {
            Worker::start("webhook", move |asked: Receiver<Asked>| address::work(&address, &asked, &metrics))
        });
        // A thread lives as long as this one; what it does not take stays on the disk.
        let _ = worker.asks.send(Asked::Send(message));
    }

    /// All try at once what is left; what fails waits on the disk for the next start.
    fn end(self) {
        self.addresses.values().for_each(|worker| drop(worker.asks.send(Asked::End)));
        self.addresses.into_values().for_each(Worker::end);
        self.program.end();
    }
}

#[cfg(test)]
mod tests;
