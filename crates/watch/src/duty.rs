//! What is done when a JVM gives a reason: ask the desk, record, hand the recording on, watch again.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fathom_collectors::Refusal;
use fathom_collectors::jvms::Jvm;
use serde_json::Value;

use crate::beside::{self, Begun};
use crate::capture::{self, Captured};
use crate::conclude::Job;
use crate::desk::{Answer, Desk, JvmKey, Skip};
use crate::incident::AboutJvm;
use crate::log;
use crate::metrics::{Metrics, of_jvm};
use crate::minutes::{self, Looks, Minute, Row};
use crate::postponed::{Granted, Postponed};
use crate::scout::{Scout, Watcher, now_ms};
use crate::shelf;
use crate::signals::Second;
use crate::triggers::Trigger;

/// The duty of one scout.
pub(crate) struct Duty {
    key: JvmKey,
    about: AboutJvm,
    labels: Vec<(&'static str, String)>,
    desk: Arc<Mutex<Desk>>,
    metrics: Metrics,
    jobs: Sender<Option<Job>>,
    stop: Arc<AtomicBool>,
    jvm: Jvm,
    minute: Minute,
    looks: Looks,
    /// Who keeps rows of minutes, if that is wanted.
    minutes: Option<Sender<minutes::Message>>,
    postponed: Postponed,
}

/// What all duties share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) desk: Arc<Mutex<Desk>>,
    pub(crate) metrics: Metrics,
    pub(crate) jobs: Sender<Option<Job>>,
    pub(crate) minutes: Sender<minutes::Message>,
}

impl Duty {
    /// For a JVM. `stop` ends recordings in good order.
    pub(crate) fn new(jvm: &Jvm, shared: Shared, keeps_minutes: bool, stop: Arc<AtomicBool>) -> Duty {
        let about = AboutJvm {
            pid: jvm.target.pid,
            start_ticks: jvm.target.start_ticks,
            main: jvm.main.clone(),
            user: jvm.user.clone(),
            version: jvm.version.clone(),
            container: jvm.container.clone(),
        };
        let labels = of_jvm(&jvm.main, jvm.target.pid);
        let Shared { desk, metrics, jobs, minutes } = shared;
        Duty {
            key: (jvm.target.pid, jvm.target.start_ticks),
            about,
            labels,
            desk,
            metrics,
            jobs,
            stop,
            jvm: jvm.clone(),
            minute: Minute::new(jvm),
            looks: Looks::default(),
            minutes: Some(minutes).filter(|_| keeps_minutes),
            postponed: Postponed::default(),
        }
    }

    fn keep(&self, row: Option<Row>) {
        let sender = self.minutes.as_ref().filter(|_| row.is_some());
        // Who keeps rows lives as long as the service.
        let _ = sender.zip(row).map(|(sender, row)| sender.send(minutes::Message::Row(Box::new(row))));
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, folder: &Path, trigger: &Trigger) -> Answer {
        let answer = self.desk().ask(self.key, &self.about.main, trigger, now_ms() / 1000);
        Answer { skip: answer.skip.or_else(|| self.no_room(folder, trigger)), ..answer }
    }

    fn ask_again(&self, folder: &Path, trigger: &Trigger, now_s: i64) -> Option<Skip> {
        let skip = self.desk().ask_again(self.key, &self.about.main, trigger, now_s);
        skip.or_else(|| self.no_room(folder, trigger))
    }

    /// A recording that could not begin would cost the time before, which goes with the hand-over. Looked at once it is
    /// granted, as recordings may have to go for it.
    fn no_room(&self, folder: &Path, trigger: &Trigger) -> Option<Skip> {
        if shelf::has_room(folder) {
            return None;
        }
        self.desk().withdraw(self.key, &self.about.main, trigger);
        Some(Skip::NoRoom)
    }

    /// A reason that was refused before, if it may be recorded now.
    fn its_turn(&mut self, scout: &Scout, folder: &Path) -> Option<Granted> {
        let now = (now_ms() / 1000, scout.order().clock.now_ns());
        let mut postponed = std::mem::take(&mut self.postponed);
        let refusal = |trigger: &Trigger| self.ask_again(folder, trigger, now.0);
        let granted = postponed.ask(now, |trigger| scout.lasts(trigger), refusal);
        self.postponed = postponed;
        let granted = granted?;
        self.log("triggered", &granted.trigger, &[(granted.why, true.into())]);
        Some(granted)
    }

    fn log(&self, event: &str, trigger: &Trigger, more: &[(&str, Value)]) {
        let mut about: Vec<(&str, Value)> = vec![
            ("pid", self.about.pid.into()),
            ("main", self.about.main.clone().into()),
            ("trigger", trigger.kind.name().into()),
            ("which", trigger.which.clone().into()),
            ("says", trigger.says.clone().into()),
        ];
        about.extend_from_slice(more);
        log::line(event, &about);
    }

    fn record(&mut self, scout: &mut Scout, trigger: &Trigger, times_today: usize) {
        self.postponed.clear();
        // The scout sees nothing meanwhile.
        self.metrics.pause(&self.labels);
        let (jvm, before_ns) = (self.about.clone(), capture::before_ns(scout, trigger));
        let begun = Begun { jvm, trigger: trigger.clone(), times_today, before_ns };
        let folder = capture::place(scout, trigger);
        if let Err(error) = begun.write(&folder) {
            self.log("begin_not_written", trigger, &[("error", error.to_string().into())]);
        }
        let recorded = capture::capture(scout, trigger, folder.clone(), &self.stop);
        self.desk().ended(self.key, now_ms() / 1000);
        match recorded {
            Ok(captured) => self.hand_on(scout, begun, captured),
            Err(error) => {
                self.log("recording_failed", trigger, &[("error", error.to_string().into())]);
                // There is nothing that it would be about; if it stays, nobody is misled.
                let _ = beside::remove(&folder, beside::BEGUN);
            }
        }
        if scout.goes_on() && !self.stop.load(Ordering::Relaxed) {
            scout.start(self);
        }
    }

    fn hand_on(&self, scout: &Scout, begun: Begun, captured: Captured) {
        self.log("recorded", &begun.trigger, &[("folder", captured.folder.display().to_string().into())]);
        let job = Job {
            folder: captured.folder,
            begun: Some(begun),
            after_ns: captured.observed_ns,
            ended: captured.end.says().to_owned(),
            config: Arc::clone(scout.config()),
        };
        // Who concludes lives as long as the service.
        let _ = self.jobs.send(Some(job));
    }
}

/// The last minute of a JVM is a part of one.
impl Drop for Duty {
    fn drop(&mut self) {
        let row = self.minute.end();
        self.keep(row);
    }
}

impl Watcher for Duty {
    fn started(&mut self, name: &'static str, refused: Option<&Refusal>) {
        if let Some(refusal) = refused {
            self.metrics.refused(name);
            let about = [
                ("pid", self.about.pid.into()),
                ("collector", name.into()),
                ("says", refusal.why.clone().into()),
                ("grant", refusal.grant.clone().into()),
            ];
            log::line("not_seen", &about);
        }
    }

    fn second(&mut self, at_ns: i64, second: &Second) {
        self.metrics.second(&self.labels, second);
        let row = self.minute.see(at_ns, second);
        self.keep(row);
        if let Some(minutes) = &self.minutes
            && let Some(sheet) = self.looks.look(at_ns, &self.jvm)
        {
            let _ = minutes.send(minutes::Message::Facts(Box::new(sheet)));
        }
    }

    /// The first reason that is granted is recorded; the others of the same second are told in the log.
    fn triggered(&mut self, scout: &mut Scout, triggers: &[Trigger]) {
        let folder = scout.config().folder.clone();
        let mut granted = None;
        for trigger in triggers {
            let answer = self.ask(&folder, trigger);
            let skip = answer.skip.map(Skip::name);
            self.metrics.triggered(trigger.kind.name(), skip);
            self.minute.triggered(trigger.kind.name(), skip.is_none());
            match skip {
                None => {
                    self.log("triggered", trigger, &[("times_today", answer.times_today.into())]);
                    granted = Some((trigger, answer.times_today));
                }
                Some(why) => {
                    let more = [("why", why.into()), ("times_today", answer.times_today.into())];
                    self.log("not_recorded", trigger, &more);
                    self.postponed.keep(trigger, &answer, now_ms() / 1000);
                }
            }
        }
        if let Some((trigger, times_today)) = granted {
            self.record(scout, trigger, times_today);
        } else if let Some(Granted { trigger, times_today, .. }) = self.its_turn(scout, &folder) {
            self.record(scout, &trigger, times_today);
        }
    }

    fn says(&mut self, what: &str) {
        log::line("note", &[("pid", self.about.pid.into()), ("says", what.into())]);
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::mpsc::channel;

    use super::*;
    use crate::config::Config;
    use crate::scout::tests::no_jvm;
    use crate::triggers::Kind;

    #[test]
    fn a_full_disk_costs_neither_the_time_before_nor_a_budget() {
        let desk = Arc::new(Mutex::new(Desk::new(&Config::default(), 0)));
        let ((jobs, _jobs), (minutes, _minutes)) = (channel(), channel());
        let shared = Shared { desk, metrics: Metrics::default(), jobs, minutes };
        let mut duty = Duty::new(&no_jvm(), shared, false, Arc::default());
        // Nothing is free there.
        let config = Config { folder: PathBuf::from("/proc"), ..Config::default() };
        let mut scout = Scout::new(no_jvm(), Arc::new(config), Arc::default());
        for times_today in 1..10 {
            duty.triggered(&mut scout, &[Trigger::by_hand(1)]);
            let answer = duty.ask(Path::new("/proc"), &Trigger { kind: Kind::Stop, ..Trigger::by_hand(1) });
            assert_eq!(answer, Answer { skip: Some(Skip::NoRoom), times_today });
        }
        let roomy = tempfile::tempdir().unwrap();
        assert_eq!(duty.ask(roomy.path(), &Trigger::by_hand(1)).skip, None);
    }
}
