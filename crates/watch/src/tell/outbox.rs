//! Messages on disk until they are sent: a service that is killed or gets another configuration sends the rest afterwards.
//!
//! ```text
//! outbox/1764270512123456789-0f3a….json      one message to one address
//! ```

use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::config::Webhook;
use crate::sidecars;

/// A body is some 10 KB.
const MESSAGE_MAX_BYTES: u64 = 4 << 20;

/// Messages that are read after a start; there are no more than the queues of some addresses hold.
const MESSAGES_MAX: usize = 1_000;

/// A message to one address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Message {
    /// Which address, as [`key`] tells it.
    pub(super) webhook: u64,
    /// The incident.
    pub(super) incident: String,
    /// Whether more about the incident follows.
    pub(super) is_first: bool,
    /// When it was written, in s since the Unix epoch.
    pub(super) written_s: i64,
    /// What is sent.
    pub(super) body: String,
    /// Its file.
    #[serde(skip)]
    pub(super) path: PathBuf,
}

/// What names an address over restarts; it does not tell the address, which may be a secret.
pub(super) fn key(webhook: &Webhook) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&webhook.url, &webhook.url_file, format!("{:?}", webhook.format)).hash(&mut hasher);
    hasher.finish()
}

/// The folder.
#[derive(Debug, Clone)]
pub(super) struct Outbox(PathBuf);

impl Outbox {
    pub(super) fn of(folder: &Path) -> Outbox {
        Outbox(folder.join("outbox"))
    }

    /// Writes a message. Where that fails it is sent all the same, but would not outlive a kill.
    pub(super) fn write(&self, message: &mut Message) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        let name = format!("{}-{:016x}.json", Timestamp::now().as_nanosecond(), message.webhook);
        message.path = self.0.join(name);
        sidecars::write(&message.path, &serde_json::to_string(message)?)
    }

    /// What a service before has not sent, the oldest first.
    pub(super) fn left(&self) -> Vec<Message> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut paths: Vec<PathBuf> =
            entries.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect();
        // Names sort by time.
        paths.sort_unstable();
        paths.iter().take(MESSAGES_MAX).filter_map(|path| read(path)).collect()
    }
}

fn read(path: &Path) -> Option<Message> {
    let mut text = String::new();
    fs::File::open(path).ok()?.take(MESSAGE_MAX_BYTES).read_to_string(&mut text).ok()?;
    let message: Option<Message> = serde_json::from_str(&text).ok();
    if message.is_none() {
        remove(path);
    }
    message.map(|message| Message { path: path.to_owned(), ..message })
}

/// Takes a message away that was sent or given up.
pub(super) fn remove(path: &Path) {
    // It may never have been written.
    let _ = fs::remove_file(path);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Format;

    fn webhook(url: &str, format: Format) -> Webhook {
        Webhook { url: Some(url.to_owned()), url_file: None, format, token_file: None, noticed: true }
    }

    #[test]
    fn addresses_are_reported_apart_by_where_and_how() {
        let key = |url: &str, format| key(&webhook(url, format));
        assert_eq!(key("a", Format::Json), key("a", Format::Json));
        assert!(key("a", Format::Json) != key("b", Format::Json) && key("a", Format::Json) != key("a", Format::Slack));
    }

    #[test]
    fn what_was_not_sent_is_there_after_a_kill() {
        let folder = tempfile::tempdir().unwrap();
        let outbox = Outbox::of(folder.path());
        assert!(outbox.left().is_empty());
        let mut written: Vec<Message> = Vec::new();
        for incident in ["a", "b"] {
            let (incident, body) = (incident.to_owned(), "{}".to_owned());
            let path = PathBuf::new();
            let mut message = Message { webhook: 7, incident, is_first: false, written_s: 5, body, path };
            outbox.write(&mut message).unwrap();
            written.push(message);
        }
        fs::write(folder.path().join("outbox/0-half.json"), "{\"webhook\":").unwrap();
        assert_eq!(outbox.left(), written);
        written.iter().for_each(|message| remove(&message.path));
        assert_eq!(fs::read_dir(folder.path().join("outbox")).unwrap().count(), 0);
    }
}
