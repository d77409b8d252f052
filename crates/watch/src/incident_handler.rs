//! What is done when a JVM gives a reason: ask for admission, record, hand the recording on, watch again.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fathom_collectors::Refusal;
use fathom_collectors::jvms::Jvm;
use serde_json::Value;

use crate::admission::{Admission, Answer, JvmKey, Question, Skip};
use crate::capture::{self, Captured};
use crate::conclude::{Job, id_of};
use crate::ended::{self, Before, Listener};
use crate::incident::AboutJvm;
use crate::kept::{Kept, Pending};
use crate::log;
use crate::metrics::{Metrics, of_jvm};
use crate::minutes::{self, Looks, Minute, Row};
use crate::postponed::{Granted, Postponed};
use crate::refusals::Refusals;
use crate::retention;
use crate::service_group;
use crate::sidecars::{self, Begun};
use crate::signals::Second;
use crate::tell::{self, Notice};
use crate::together::Together;
use crate::triggers::{Kind, Trigger};
use crate::usual::Usual;
use crate::watched_jvm::{WatchedJvm, Watcher, now_ms};

/// The incidents of one JVM.
pub(crate) struct IncidentHandler {
    key: JvmKey,
    about: AboutJvm,
    /// What it has in common with those that are started alike.
    service: String,
    labels: Vec<(&'static str, String)>,
    admission: Arc<Mutex<Admission>>,
    together: Arc<Mutex<Together>>,
    metrics: Metrics,
    jobs: Sender<Option<Job>>,
    stop: Arc<AtomicBool>,
    jvm: Jvm,
    minute: Minute,
    looks: Looks,
    /// Who keeps rows of minutes, if that is wanted.
    minutes: Option<Sender<minutes::Message>>,
    postponed: Postponed,
    refusals: Refusals,
    kept: Kept,
    listener: Arc<Listener>,
    reporter: Sender<tell::Message>,
    before: Before,
    usual: Usual,
    /// Requests under way at the end of the last second.
    under_way: f64,
    is_end_reported: bool,
}

/// What all handlers share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) admission: Arc<Mutex<Admission>>,
    pub(crate) together: Arc<Mutex<Together>>,
    pub(crate) metrics: Metrics,
    pub(crate) jobs: Sender<Option<Job>>,
    pub(crate) minutes: Sender<minutes::Message>,
    pub(crate) listener: Arc<Listener>,
    pub(crate) reporter: Sender<tell::Message>,
}

impl IncidentHandler {
    /// For a JVM. `stop` ends recordings in good order.
    pub(crate) fn new(
        jvm: &Jvm,
        (shared, folder): (Shared, &Path),
        keeps_minutes: bool,
        stop: Arc<AtomicBool>,
    ) -> IncidentHandler {
        let key = (jvm.target.pid, jvm.target.start_ticks);
        let about = AboutJvm {
            pid: jvm.target.pid,
            start_ticks: jvm.target.start_ticks,
            main: jvm.main.clone(),
            user: jvm.user.clone(),
            version: jvm.version.clone(),
            container: jvm.container.clone(),
        };
        let labels = of_jvm(&jvm.main, jvm.target.pid);
        let Shared { admission, together, metrics, jobs, minutes, listener, reporter } = shared;
        IncidentHandler {
            key,
            about,
            service: service_group::of(jvm),
            labels,
            admission,
            together,
            metrics,
            jobs,
            stop,
            jvm: jvm.clone(),
            minute: Minute::new(jvm),
            looks: Looks::default(),
            minutes: Some(minutes).filter(|_| keeps_minutes),
            postponed: Postponed::default(),
            refusals: Refusals::default(),
            kept: Kept::default(),
            listener,
            reporter,
            before: Before::of(jvm),
            usual: Usual::of(folder, key, now_ms() / 1000),
            under_way: 0.0,
            is_end_reported: false,
        }
    }

    fn keep(&self, row: Option<Row>) {
        let sender = self.minutes.as_ref().filter(|_| row.is_some());
        // Who keeps rows lives as long as the service.
        let _ = sender.zip(row).map(|(sender, row)| sender.send(minutes::Message::Row(Box::new(row))));
    }

    fn admission(&self) -> MutexGuard<'_, Admission> {
        self.admission.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What this JVM has to tell of all services of the host.
    fn of_all(&self, watched: &WatchedJvm, now_s: i64) -> Option<Trigger> {
        let rise = watched.triggers().rise()?;
        let mut together = self.together.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = together.see(self.key, rise, now_s)?;
        let at_ns = watched.order().clock.now_ns();
        Some(Trigger { kind: Kind::RequestsTogether, which: seen.short_of.to_owned(), says: seen.says(), at_ns })
    }

    /// Asks whether there may be a recording that would go to this place.
    fn ask(&self, place: &Path, trigger: &Trigger) -> Answer {
        let id = id_of(place);
        let question = self.question(trigger, &id);
        let answer = self.admission().ask(&question, now_ms() / 1000);
        // Looked at once it is granted, as recordings may have to go for it.
        let no_room = if answer.skip.is_none() { self.no_room(place, &question) } else { None };
        Answer { skip: answer.skip.or(no_room), ..answer }
    }

    fn ask_again(&self, place: &Path, trigger: &Trigger, now_s: i64) -> Option<Skip> {
        let id = id_of(place);
        let question = self.question(trigger, &id);
        let skip = self.admission().ask_again(&question, now_s);
        skip.or_else(|| self.no_room(place, &question))
    }

    fn question<'a>(&'a self, trigger: &'a Trigger, id: &'a str) -> Question<'a> {
        let uid = self.jvm.target.uid;
        Question { jvm: self.key, main: &self.about.main, service: &self.service, uid, trigger, id }
    }

    /// A recording that could not begin would cost the time before, which goes with the hand-over.
    fn no_room(&self, place: &Path, question: &Question<'_>) -> Option<Skip> {
        if retention::has_room(place.parent().unwrap_or(place)) {
            return None;
        }
        self.admission().withdraw(question);
        Some(Skip::NoRoom)
    }

    /// A reason that was refused before, if it may be recorded now.
    fn its_turn(&mut self, watched: &WatchedJvm) -> Option<Granted> {
        let now = (now_ms() / 1000, watched.order().clock.now_ns());
        let mut postponed = std::mem::take(&mut self.postponed);
        let refusal = |trigger: &Trigger| self.ask_again(&capture::place(watched, trigger), trigger, now.0);
        let granted = postponed.ask(now, |trigger| watched.triggers().lasts(trigger), refusal);
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

    /// What became of a reason.
    fn note(&mut self, watched: &WatchedJvm, trigger: &Trigger, answer: &Answer) {
        let skip = answer.skip.map(Skip::name);
        self.metrics.triggered(trigger.kind.name(), skip);
        self.minute.triggered(trigger.kind.name(), skip.is_none());
        let times = ("times_today", Value::from(answer.times_today));
        let Some(why) = skip else { return self.log("triggered", trigger, &[times]) };
        self.log("not_recorded", trigger, &[("why", why.into()), ("part_of", answer.event.clone().into()), times]);
        let now_s = now_ms() / 1000;
        let before_s = watched.config().capture.before.as_secs() as i64;
        self.postponed.keep(trigger, answer, now_s);
        self.refusals.add(trigger, answer, now_s);
        self.kept.refused(trigger, answer, (now_s, before_s));
    }

    /// Reports what was refused, but for what has turned out to be part of an event of the host.
    fn report_refusals(&mut self, watched: &WatchedJvm, now_s: i64, is_over: bool) {
        for refused in self.refusals.due(now_s, is_over) {
            let event = self.admission().event_of(self.key, refused.since_s);
            if let Some(event) = event {
                self.kept.is_part_of(event);
            } else if self.admission().reports(self.key, refused.skip, now_s) {
                self.notice(watched, &refused.trigger, refused.times_today, Some(refused.skip));
                if refused.skip.is_followed() {
                    self.kept.is_awaited();
                }
            }
        }
    }

    /// Tells at once that something was noticed, or why it is not recorded.
    fn notice(&self, watched: &WatchedJvm, trigger: &Trigger, times_today: usize, skip: Option<Skip>) {
        let id = id_of(&capture::place(watched, trigger));
        let has_ended = self.is_end_reported;
        let of_reason = Notice::of(&self.about, trigger, (&id, times_today), skip, not_seen(watched));
        let notice = Notice { has_ended, ..of_reason };
        // Who tells lives as long as the service.
        let _ = self.reporter.send(tell::Message::Notice(Box::new(notice), watched.config().tell.clone()));
    }

    fn record(&mut self, watched: &mut WatchedJvm, trigger: &Trigger, times_today: usize) {
        self.postponed.clear();
        self.refusals.clear();
        self.kept.clear();
        self.notice(watched, trigger, times_today, None);
        // The collectors of `watched` see nothing meanwhile.
        self.metrics.pause(&self.labels);
        let before_ns = capture::before_ns(watched, trigger);
        let begun = Begun { not_seen: not_seen(watched), ..Begun::new(&self.about, trigger, times_today, before_ns) };
        let folder = capture::place(watched, trigger);
        if let Err(error) = begun.write(&folder) {
            self.log("begin_not_written", trigger, &[("error", error.to_string().into())]);
        }
        let noticed_s = now_ms() / 1000;
        let recorded = capture::capture(watched, trigger, folder.clone(), &self.stop);
        self.admission().ended(self.key, now_ms() / 1000);
        if let Err(error) = self.usual.give(&folder, noticed_s) {
            self.log("usual_not_given", trigger, &[("error", error.to_string().into())]);
        }
        match recorded {
            Ok(captured) => self.hand_on(watched, begun, captured),
            Err(error) => {
                self.log("recording_failed", trigger, &[("error", error.to_string().into())]);
                // The recording failed, so this file describes nothing. If it stays, it is harmless.
                let _ = sidecars::remove(&folder, sidecars::BEGUN);
            }
        }
        if watched.goes_on() && !self.stop.load(Ordering::Relaxed) {
            watched.start(self);
        }
    }

    /// The end of the JVM, where that is a reason.
    fn end(&self, watched: &WatchedJvm) -> Option<Trigger> {
        let ending = self.listener.of(self.key.0)?;
        let is_meant = |end: &Trigger| match end.kind {
            Kind::OomKill => watched.config().events.oom_kill,
            _ => watched.config().events.vanished,
        };
        ended::reason(&ending, &self.before, self.under_way, watched.order().clock.now_ns()).filter(is_meant)
    }

    /// The JVM has ended: what is known of its last minute is kept, if it did not end in good order. Whether it is.
    fn tell_end(&mut self, watched: &WatchedJvm) -> bool {
        let Some(trigger) = self.end(watched).filter(|_| !self.is_end_reported) else { return false };
        self.is_end_reported = true;
        let folder = capture::place(watched, &trigger);
        let id = id_of(&folder);
        let skip = self.admission().ask_of_end(&self.question(&trigger, &id), now_ms() / 1000);
        self.metrics.triggered(trigger.kind.name(), skip.map(Skip::name));
        self.minute.triggered(trigger.kind.name(), skip.is_none());
        if let Some(why) = skip {
            self.log("not_recorded", &trigger, &[("why", why.name().into())]);
            return false;
        }
        self.log("triggered", &trigger, &[]);
        self.notice(watched, &trigger, 1, None);
        let begun = Begun::new(&self.about, &trigger, 1, capture::before_ns(watched, &trigger));
        self.write_ring(watched, begun, folder, trigger.says.clone());
        true
    }

    /// Keeps the time before of a reason that is not recorded.
    fn keep_ring(&self, watched: &WatchedJvm, pending: Pending) {
        let Pending { trigger, times_today, skip, event, is_awaited, .. } = pending;
        let folder = capture::place(watched, &trigger);
        if !retention::is_roomy(&watched.config().folder) {
            return self.log("not_kept", &trigger, &[("why", Skip::NoRoom.name().into())]);
        }
        let because = format!("only the time before was kept ({})", skip.name());
        let begun = Begun {
            not_recorded: Some(skip.name().to_owned()),
            part_of: event,
            is_awaited,
            ..Begun::new(&self.about, &trigger, times_today, capture::before_ns(watched, &trigger))
        };
        self.write_ring(watched, begun, folder, because);
    }

    fn write_ring(&self, watched: &WatchedJvm, begun: Begun, folder: PathBuf, because: String) {
        let begun = Begun { not_seen: not_seen(watched), ..begun };
        let written = begun.write(&folder).map_err(|error| error.to_string());
        let kept = written.and_then(|()| {
            capture::keep_ring(watched, &begun.trigger, &folder, &because).map_err(|error| error.to_string())
        });
        match kept {
            Ok(after_ns) => {
                let config = Arc::clone(watched.config());
                let job = Job { folder, begun: Some(begun), after_ns, ended: because, config };
                // Who concludes lives as long as the service.
                let _ = self.jobs.send(Some(job));
            }
            Err(error) => self.log("not_kept", &begun.trigger, &[("error", error.into())]),
        }
    }

    fn hand_on(&mut self, watched: &WatchedJvm, mut begun: Begun, captured: Captured) {
        self.log("recorded", &begun.trigger, &[("folder", captured.folder.display().to_string().into())]);
        let mut ended = captured.end.says().to_owned();
        if let Some(end) = self.end(watched).filter(|_| !watched.jvm.target.is_alive()) {
            self.is_end_reported = true;
            begun.severity = Some(end.kind.severity());
            begun.trigger.says += &format!("; then {}", end.says);
            ended = end.says;
        }
        let job = Job {
            folder: captured.folder,
            begun: Some(begun),
            after_ns: captured.observed_ns,
            ended,
            config: Arc::clone(watched.config()),
        };
        // Who concludes lives as long as the service.
        let _ = self.jobs.send(Some(job));
    }
}

/// What is not watched of a JVM, with why.
fn not_seen(watched: &WatchedJvm) -> Vec<String> {
    watched.refused().into_iter().map(|(name, why)| format!("{name}: {why}")).collect()
}

/// The last minute of a JVM is a part of one.
impl Drop for IncidentHandler {
    fn drop(&mut self) {
        let row = self.minute.end();
        self.keep(row);
    }
}

impl Watcher for IncidentHandler {
    fn started(&mut self, name: &'static str, refused: Option<&Refusal>) {
        self.minute.not_seen(name, refused.is_some());
        self.metrics.not_seen(&self.labels, name, refused.is_some());
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
        self.under_way = second.values.get("requests.under_way").copied().unwrap_or(0.0);
        let row = self.minute.see(at_ns, second);
        self.keep(row);
        if let Some(minutes) = &self.minutes
            && let Some(sheet) = self.looks.look(at_ns, &self.jvm)
        {
            let _ = minutes.send(minutes::Message::Facts(Box::new(sheet)));
        }
    }

    /// The first reason that is granted is recorded; the others of the same second are reported in the log.
    fn triggered(&mut self, watched: &mut WatchedJvm, triggers: &[Trigger]) {
        let now_s = now_ms() / 1000;
        let of_all = self.of_all(watched, now_s);
        let triggers: Vec<&Trigger> = triggers.iter().chain(&of_all).collect();
        match triggers[..] {
            [] => self.usual.keep(watched, now_s),
            _ => self.usual.noticed(now_s),
        }
        let mut granted = None;
        for trigger in triggers {
            let answer = self.ask(&capture::place(watched, trigger), trigger);
            self.note(watched, trigger, &answer);
            if answer.skip.is_none() {
                granted = Some((trigger, answer.times_today));
            }
        }
        if let Some((trigger, times_today)) = granted {
            return self.record(watched, trigger, times_today);
        }
        if let Some(Granted { trigger, times_today, .. }) = self.its_turn(watched) {
            return self.record(watched, &trigger, times_today);
        }
        let is_over = !watched.jvm.target.is_alive();
        self.report_refusals(watched, now_s, is_over);
        if is_over && self.tell_end(watched) {
            return;
        }
        let pending = if is_over { self.kept.last() } else { self.kept.due(now_s) };
        if let Some(pending) = pending {
            self.keep_ring(watched, pending);
        }
    }

    fn says(&mut self, what: &str) {
        log::line("note", &[("pid", self.about.pid.into()), ("says", what.into())]);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::config::Config;
    use crate::watched_jvm::tests::no_jvm;

    #[test]
    fn a_full_disk_costs_neither_the_time_before_nor_a_budget() {
        let admission = Arc::new(Mutex::new(Admission::new(&Config::default(), 0)));
        let ((jobs, _jobs), (minutes, _minutes)) = (channel(), channel());
        let (reporter, _told) = channel();
        let shared = Shared {
            admission,
            together: Arc::default(),
            metrics: Metrics::default(),
            jobs,
            minutes,
            listener: Arc::default(),
            reporter,
        };
        let mut handler = IncidentHandler::new(&no_jvm(), (shared, Path::new("/proc")), false, Arc::default());
        // Nothing is free there.
        let config = Config { folder: PathBuf::from("/proc"), ..Config::default() };
        let mut watched = WatchedJvm::new(no_jvm(), Arc::new(config), Arc::default());
        for times_today in 1..10 {
            handler.triggered(&mut watched, &[Trigger::by_hand(1)]);
            let answer = handler.ask(Path::new("/proc/x"), &Trigger { kind: Kind::Stop, ..Trigger::by_hand(1) });
            assert_eq!(answer, Answer { skip: Some(Skip::NoRoom), times_today, event: None });
        }
        let roomy = tempfile::tempdir().unwrap();
        assert_eq!(handler.ask(&roomy.path().join("x"), &Trigger::by_hand(1)).skip, None);
    }
}
