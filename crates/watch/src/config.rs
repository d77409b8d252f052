//! The configuration: what is watched, when a recording is made, who is notified.
//!
//! A TOML file. Everything has a default. What is not known is refused, with its line, before anything starts.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::glob::Glob;
use crate::quiet::Window;
use crate::rules::Rule;
use crate::times::time;
use crate::trusted::{self, Owner};

/// Everything that can be set.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Where recordings, verdicts and the list of incidents go.
    pub folder: PathBuf,
    /// JVMs that are watched; all when there is none.
    pub target: Vec<TargetConfig>,
    /// What is read of each JVM all the time.
    pub signals: Signals,
    /// When requests are slow.
    pub requests: Requests,
    /// Events that are a reason by themselves.
    pub events: Events,
    /// Rules of one's own.
    pub rule: Vec<Rule>,
    /// What is recorded, and how much.
    pub capture: Capture,
    /// When nothing is recorded, but by hand.
    pub quiet: Vec<Window>,
    /// Who is notified.
    pub tell: Tell,
    /// What is kept of each minute.
    pub minutes: Minutes,
}

/// JVMs that are watched: all that is given must match.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TargetConfig {
    /// Main class, module or jar, with `*` and `?`.
    pub main: Option<Glob>,
    /// User, with `*` and `?`.
    pub user: Option<Glob>,
    /// Id of the container, with `*` and `?`.
    pub container: Option<Glob>,
    /// Labels and annotations of the container by name, with `*` and `?` in their values.
    pub label: BTreeMap<String, Glob>,
    /// Process id.
    pub pid: Option<u32>,
}

/// What is read all the time.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Signals {
    /// Collectors, as `fathom doctor` names them.
    pub collectors: Vec<String>,
    /// JVMs that are watched at once at most; others wait until one ends.
    pub jvms_max: usize,
    /// Requests of each JVM that are kept each second: slow ones, and a sample of the others.
    pub requests_per_second: u32,
}

/// When requests are slow.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Requests {
    /// Whether requests are a reason at all.
    pub enabled: bool,
    /// What takes less than this is never slow.
    #[serde(deserialize_with = "a_time")]
    pub slow: Duration,
    /// What takes less than this is no stall.
    #[serde(deserialize_with = "a_time")]
    pub stall: Duration,
    /// How old a JVM has to be before anything is learned of it or reported.
    #[serde(deserialize_with = "a_time")]
    pub warm_up: Duration,
}

/// Events that are a reason by themselves.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Events {
    /// A stop of the whole application.
    #[serde(deserialize_with = "a_time")]
    pub stop: Duration,
    /// Any other span that is recorded one by one: a page fault, a block request. The collectors that see them have to be among
    /// `signals.collectors`.
    #[serde(deserialize_with = "a_time")]
    pub wait: Duration,
    /// Share of a second that the CPU quota takes, for five seconds in a row; 0 for never.
    pub throttled: f64,
    /// A process that the kernel killed because memory ran out.
    pub oom_kill: bool,
    /// Whether a JVM that ends without being asked to is a reason.
    pub vanished: bool,
    /// Whether datagrams and attempts to connect that sockets of the process dropped are reasons.
    pub lost: bool,
}

/// What is recorded.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Capture {
    /// How much of the time before is kept.
    #[serde(deserialize_with = "a_time")]
    pub before: Duration,
    /// For how long more is recorded.
    #[serde(deserialize_with = "a_time")]
    pub length: Duration,
    /// After a recording of a JVM there is none of it for so long.
    #[serde(deserialize_with = "a_time")]
    pub cool_down: Duration,
    /// For so long after the first start of all nothing is recorded: it only learns, and then tells what it would have recorded.
    #[serde(deserialize_with = "perhaps_a_time")]
    pub learn: Option<Duration>,
    /// Recordings of all JVMs within an hour.
    pub per_hour: u32,
    /// Recordings of one JVM within an hour.
    pub per_jvm: u32,
    /// Recordings of one service for the same reason within a day.
    pub same_per_day: u32,
    /// Recordings at the same time, of different JVMs.
    pub at_once: u32,
    /// What all recordings together may take on the disk; the oldest of what there is more of go.
    pub disk: Bytes,
    /// What one recording may take.
    pub size: Bytes,
    /// Whether Flight Recorder is asked: `never`, `auto` (where its start is not felt) or `always`.
    pub jfr: Choice,
    /// Whether async-profiler is loaded.
    pub agent: Choice,
    /// Collectors that are left out.
    pub without: Vec<String>,
}

/// Whether something is done to a JVM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// In no case.
    Never,
    /// Where it is not felt.
    Auto,
    /// In any case.
    Always,
}

/// Who is notified.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tell {
    /// Address of `/metrics`, for example `127.0.0.1:9464`.
    pub metrics: Option<String>,
    /// A program that is run for each incident, with its arguments; `{folder}` and `{verdict}` stand for paths.
    pub command: Vec<String>,
    /// Where people reach the page (`fathom open` of the folder), for messages.
    pub page: Option<String>,
    /// Addresses to which incidents are reported.
    pub webhook: Vec<Webhook>,
    /// User and group whose configuration it is, where that is not the service's user.
    #[serde(skip)]
    pub(crate) owner: Option<Owner>,
}

/// An address to which incidents are reported.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Webhook {
    /// Where to.
    #[serde(default)]
    pub url: Option<String>,
    /// A file that holds the address, where that is a secret.
    #[serde(default)]
    pub url_file: Option<PathBuf>,
    /// What the body looks like.
    #[serde(default)]
    pub format: Format,
    /// A file that holds a token, which is sent as `Authorization: Bearer`.
    #[serde(default)]
    pub token_file: Option<PathBuf>,
    /// Whether a message says at once that something was noticed, before the verdict.
    #[serde(default = "yes")]
    pub noticed: bool,
}

fn yes() -> bool {
    true
}

/// What a body looks like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// The incident as it is (docs/watch.md).
    #[default]
    Json,
    /// A text for Slack, Mattermost and others.
    Slack,
    /// An alert for the API of Alertmanager (`/api/v2/alerts`).
    Alertmanager,
}

/// What is kept of each minute.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Minutes {
    /// Whether a row of each JVM and minute is kept.
    pub enabled: bool,
    /// What all of them may take on the disk; the oldest hours go.
    pub disk: Bytes,
}

/// A size, `200M` or `2G`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Bytes(pub u64);

impl TryFrom<String> for Bytes {
    type Error = String;

    fn try_from(text: String) -> Result<Bytes, String> {
        let form = || format!("{text:?} is no size: write it like 200M or 2G");
        let units = ["K", "M", "G", "T"].iter().enumerate();
        let found = units.filter_map(|(at, unit)| Some((at, text.strip_suffix(unit)?))).next();
        let (shift, number) = found.ok_or_else(form)?;
        let number: u64 = number.parse().map_err(|_| form())?;
        number.checked_mul(1 << (10 * (shift + 1))).filter(|bytes| *bytes > 0).map(Bytes).ok_or_else(form)
    }
}

fn a_time<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    time(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

fn perhaps_a_time<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    a_time(deserializer).map(Some)
}

impl Default for Config {
    fn default() -> Config {
        Config {
            folder: PathBuf::from("/var/lib/fathom"),
            target: Vec::new(),
            signals: Signals::default(),
            requests: Requests::default(),
            events: Events::default(),
            rule: Vec::new(),
            capture: Capture::default(),
            quiet: Vec::new(),
            tell: Tell::default(),
            minutes: Minutes::default(),
        }
    }
}

impl Default for Minutes {
    fn default() -> Minutes {
        Minutes { enabled: true, disk: Bytes(200 << 20) }
    }
}

impl Default for Signals {
    fn default() -> Signals {
        let collectors = ["hsperfdata", "requests", "jvm_probes", "cgroup", "threads", "sockets", "scheduler"];
        Signals { collectors: collectors.map(str::to_owned).to_vec(), jvms_max: 50, requests_per_second: 200 }
    }
}

impl Default for Requests {
    fn default() -> Requests {
        Requests {
            enabled: true,
            slow: Duration::from_millis(5),
            stall: Duration::from_millis(50),
            warm_up: Duration::from_secs(60),
        }
    }
}

impl Default for Events {
    fn default() -> Events {
        Events {
            stop: Duration::from_millis(500),
            wait: Duration::from_millis(500),
            throttled: 0.2,
            oom_kill: true,
            vanished: true,
            lost: true,
        }
    }
}

impl Default for Capture {
    fn default() -> Capture {
        Capture {
            before: Duration::from_secs(60),
            length: Duration::from_secs(30),
            cool_down: Duration::from_secs(600),
            learn: None,
            per_hour: 6,
            per_jvm: 3,
            same_per_day: 3,
            at_once: 2,
            disk: Bytes(2 << 30),
            size: Bytes(200 << 20),
            jfr: Choice::Never,
            agent: Choice::Never,
            without: Vec::new(),
        }
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// It is no TOML, or has what is not known.
    #[error("{}: {says}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// What is wrong, in one line.
        says: String,
    },
    /// It cannot be opened, or others can change it.
    #[error("{0}")]
    Refused(String),
    /// A value makes no sense.
    #[error("{0}")]
    Value(String),
}

/// More is not read of a configuration.
const FILE_MAX_BYTES: u64 = 1 << 20;

impl Config {
    /// Reads a file and checks it. One that others can change is refused: the service may be root.
    pub fn read(path: &Path) -> Result<Config, ConfigError> {
        let cannot = |source| ConfigError::Io { path: path.to_owned(), source };
        let (file, owner) = trusted::file(path).map_err(|error| ConfigError::Refused(error.to_string()))?;
        let mut text = String::new();
        file.take(FILE_MAX_BYTES).read_to_string(&mut text).map_err(cannot)?;
        let mut config = Config::parse(&text, path)?;
        config.tell.owner = owner;
        Ok(config)
    }

    /// The same with the text at hand.
    pub fn parse(text: &str, path: &Path) -> Result<Config, ConfigError> {
        let config: Config = toml::from_str(text).map_err(|error| {
            let line_ends = |before: &[u8]| before.iter().filter(|byte| **byte == b'\n').count();
            let line = error.span().and_then(|span| Some(1 + line_ends(text.as_bytes().get(..span.start)?)));
            let at = line.map_or_else(String::new, |line| format!("line {line}: "));
            ConfigError::Toml { path: path.to_owned(), says: format!("{at}{}", error.message().trim()) }
        })?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let known: Vec<&str> = fathom_collectors::collectors().iter().map(|collector| collector.name()).collect();
        let named = self.signals.collectors.iter().chain(&self.capture.without);
        let unknown = named.clone().find(|name| !known.contains(&name.as_str()));
        let has_two = |webhook: &&Webhook| webhook.url.is_some() == webhook.url_file.is_some();
        let says = match () {
            () if unknown.is_some() => {
                format!("no collector is called {}; there are {}", unknown.map_or("", String::as_str), known.join(", "))
            }
            () if self.signals.collectors.is_empty() => "signals.collectors is empty: nothing would be seen".to_owned(),
            () if self.signals.jvms_max == 0 => "signals.jvms_max is 0: nothing would be watched".to_owned(),
            () if self.capture.before > BEFORE_MAX => {
                format!("capture.before is more than {} s, which stay in memory for each JVM", BEFORE_MAX.as_secs())
            }
            () if self.tell.webhook.iter().any(|webhook| has_two(&webhook)) => {
                "a webhook has either url or url_file".to_owned()
            }
            () if !(0.0..=1.0).contains(&self.events.throttled) => "events.throttled is a share, 0 to 1".to_owned(),
            () => return Ok(()),
        };
        Err(ConfigError::Value(says))
    }
}

/// Longest time before that is kept: some ten megabytes of a busy service.
const BEFORE_MAX: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, String> {
        Config::parse(text, Path::new("watch.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_has_to_be_set() {
        let config = read("").unwrap();
        assert!(config.target.is_empty() && config.capture.jfr == Choice::Never);
        assert_eq!(config.capture.disk, Bytes(2 << 30));
    }

    /// A file without the marks before lines that are examples.
    fn uncommented(text: &str) -> String {
        let plain = |line: &str| match line.strip_prefix("# ") {
            Some(code) if code.starts_with('[') || code.contains(" = ") => code.to_owned(),
            _ => line.to_owned(),
        };
        text.lines().map(plain).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_file_that_comes_with_it_is_the_default_and_its_examples_are_taken() {
        let text = include_str!("../service/watch.toml");
        let (read_file, default) = (read(text).unwrap(), Config::default());
        assert_eq!(format!("{read_file:?}"), format!("{default:?}"));
        let with_examples = read(&uncommented(text)).unwrap();
        assert_eq!((with_examples.rule.len(), with_examples.tell.webhook.len(), with_examples.target.len()), (1, 1, 1));
        assert_eq!((with_examples.quiet.len(), with_examples.capture.learn), (1, Some(Duration::from_secs(86_400))));
    }

    #[test]
    fn what_a_cluster_is_given_is_a_configuration() {
        let text = include_str!("../../../packages/kubernetes/watch.toml");
        assert_eq!(read(text).unwrap().tell.metrics.as_deref(), Some("0.0.0.0:9464"));
    }

    #[test]
    fn what_is_wrong_is_reported_in_one_line() {
        for (text, says) in [
            ("folder = 1", "line 1"),
            ("\n\n[capture]\nlenght = \"3s\"", "line 4: unknown field `lenght`"),
            ("[capture]\nlength = \"soon\"", "line 2: "),
            ("[capture]\nlength = \"soon\"", "is no time"),
            ("[capture]\ndisk = \"much\"", "is no size"),
            ("[capture]\nbefore = \"1h\"", "stay in memory"),
            ("[signals]\ncollectors = [\"tarot\"]", "no collector is called tarot"),
            ("[[rule]]\nname = \"x\"\nwhen = \"moon > 3\"", "rule x: no signal is called moon"),
            ("[[tell.webhook]]\nformat = \"slack\"", "either url or url_file"),
            ("[events]\nthrottled = 2.0", "is a share"),
            ("[[quiet]]\nfrom = \"2\"\nto = \"04:00\"", "line 1: \"2\" is no time of the day"),
            ("[capture]\nlearn = \"a day\"", "is no time"),
        ] {
            let reported = read(text).unwrap_err();
            assert!(reported.contains(says) && !reported.contains('\n'), "{text}: {reported}");
        }
    }

    #[test]
    fn sizes() {
        for (text, bytes) in [("1K", Some(1 << 10)), ("200M", Some(200 << 20)), ("0G", None), ("5", None), ("é", None)]
        {
            assert_eq!(Bytes::try_from(text.to_owned()).ok(), bytes.map(Bytes), "{text}");
        }
    }
}
