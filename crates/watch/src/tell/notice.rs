//! The message that is sent at once, before there is a recording: that something was noticed, or that it will not be recorded and why.

use serde::Serialize;

use crate::host::host;
use crate::incident::{AboutJvm, SCHEMA, Stage};
use crate::skip::Skip;
use crate::triggers::{Severity, Trigger};

/// A short message.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Notice {
    pub(crate) schema: u32,
    pub(crate) stage: Stage,
    /// The name that the recording has, and the verdict that follows.
    pub(crate) id: String,
    pub(crate) host: String,
    pub(crate) jvm: AboutJvm,
    pub(crate) trigger: Trigger,
    pub(crate) severity: Severity,
    pub(crate) times_today: usize,
    /// Why there is no recording, and what that means.
    pub(crate) why: Option<&'static str>,
    pub(crate) but: Vec<String>,
    /// What cannot be seen of this JVM.
    pub(crate) not_seen: Vec<String>,
    /// Whether the JVM has ended, so that nothing more is recorded.
    #[serde(skip)]
    pub(crate) has_ended: bool,
}

impl Notice {
    /// Of a reason that was granted, or refused for `skip`.
    pub(crate) fn of(
        jvm: &AboutJvm,
        trigger: &Trigger,
        (id, times_today): (&str, usize),
        skip: Option<Skip>,
        not_seen: Vec<String>,
    ) -> Notice {
        Notice {
            schema: SCHEMA,
            stage: if skip.is_some() { Stage::NotRecorded } else { Stage::Noticed },
            id: id.to_owned(),
            host: host(),
            jvm: jvm.clone(),
            trigger: trigger.clone(),
            severity: trigger.kind.severity(),
            times_today,
            why: skip.map(Skip::name),
            but: skip.map(|skip| skip.says().to_owned()).into_iter().collect(),
            not_seen,
            has_ended: false,
        }
    }

    /// What comes next, where nothing forbids it.
    pub(crate) fn follows(&self) -> &'static str {
        match self.has_ended {
            true => "its last minute is kept; the verdict follows",
            false => "recording; the verdict follows",
        }
    }

    /// In one line, for people.
    pub(crate) fn line(&self) -> String {
        let (main, pid, says) = (&self.jvm.main, self.jvm.pid, &self.trigger.says);
        let what = match self.but.first() {
            None => self.follows(),
            Some(but) => but,
        };
        format!("{main} (pid {pid}): {says} → {what}")
    }
}
