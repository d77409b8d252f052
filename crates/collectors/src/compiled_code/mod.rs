//! Which code the JVM has loaded and compiled, and where: names for the addresses that the kernel's collectors see. It
//! is gathered here, on a thread that may wait for a disk or the JVM.
//!
//! This is not needed where the JVM's memory can be read ([`crate::symbols`]). Otherwise the JVM is asked through its
//! attach socket to write a perf map (JDK 17 and later). It holds its code cache's lock meanwhile, so it is asked only
//! when a collector wants names of compiled code, again only when new code has appeared, and rarely. The file is in
//! `/tmp`, which every user can write to: it is read only if it is the JVM's own, and removed afterwards.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fathom_evidence::Recording;
use fathom_evidence::kinds::loss;
use rustix::fs::FileType;

use crate::attach::{Attach, AttachError, PATIENCE, own_action};
use crate::hostile_files::{open_file, remove_file, stat, tmp_of};
use crate::{Collector, Observer, Order, Refusal, Target, Tier};

const NAME: &str = "compiled_code";
const COMMAND: &str = "Compiler.perfmap";
/// Collectors that start with this one have said by then what they want.
const PERIOD: Duration = Duration::from_millis(200);
/// From one question to the next: twice as long each time, as a JVM compiles most at its start.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The pause is at least this many times as long as the JVM took to answer.
const PAUSE_PER_ANSWER: u32 = 500;
/// A perf map has some 100 bytes per compiled method.
const LARGEST_MAP_BYTES: u64 = 64 << 20;

pub(crate) static COLLECTOR: CompiledCode = CompiledCode;

/// The collector.
pub(crate) struct CompiledCode;

impl Collector for CompiledCode {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sees(&self) -> &'static str {
        "names of compiled Java methods, for the stacks of other collectors"
    }

    fn tier(&self) -> Tier {
        Tier::Process
    }

    fn check(&self, target: &Target) -> Result<(), Refusal> {
        Ok(Attach::check(target)?)
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        self.check(target)?;
        let (ask_at, pause) = (Instant::now(), SHORTEST_PAUSE);
        Ok(Box::new(Asker {
            target: target.clone(),
            order: order.clone(),
            ask_at,
            pause,
            is_refused: false,
            unanswered: None,
        }))
    }
}

/// Why there is no perf map.
#[derive(Debug, thiserror::Error)]
enum MapError {
    #[error(transparent)]
    Attach(AttachError),
    #[error("{name} in the process's /tmp: {source}")]
    File { name: String, source: io::Error },
    #[error("this JVM cannot tell them: JDK 17 and later can")]
    Unknown,
    #[error("{0} in the process's /tmp is not the JVM's own file: remove it")]
    InTheWay(String),
}

impl From<AttachError> for MapError {
    fn from(error: AttachError) -> MapError {
        if error.is_unknown_command() { MapError::Unknown } else { MapError::Attach(error) }
    }
}

struct Asker {
    target: Target,
    order: Order,
    ask_at: Instant,
    pause: Duration,
    is_refused: bool,
    /// Why the JVM has not answered yet.
    unanswered: Option<String>,
}

impl Observer for Asker {
    fn period(&self) -> Duration {
        PERIOD
    }

    fn look(&mut self, found: &mut Recording) {
        let asked = Instant::now();
        if asked >= self.ask_at && !self.is_refused && self.order.images.code().is_wanted() {
            match self.ask(found) {
                Ok(()) => self.unanswered = None,
                Err(MapError::Attach(error)) if error.may_pass() => self.unanswered = Some(error.to_string()),
                Err(error) => {
                    self.is_refused = true;
                    lose(&error.to_string(), found);
                }
            }
            self.ask_at = Instant::now() + self.pause.max(asked.elapsed() * PAUSE_PER_ANSWER);
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn finish(self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        if let Some(why) = &self.unanswered {
            lose(why, found);
        }
        Vec::new()
    }
}

fn lose(why: &str, found: &mut Recording) {
    found.add_loss(NAME, loss::REFUSED, 1, &format!("compiled Java code has no names: {why}"));
}

impl Asker {
    fn ask(&self, found: &mut Recording) -> Result<(), MapError> {
        // First what needs no answer: the process may end at any time.
        self.order.images.load_all(&self.target);
        let attach = self.order.attach.of(&self.target, &self.order.clock, found)?;
        let map = MapFile::of(&self.target)?;
        own_action(&self.order.clock, found, COMMAND, || attach.diagnose(COMMAND, PATIENCE))?;
        let text = map.take(&self.target)?;
        self.order.images.code().read(&self.target, &text);
        Ok(())
    }
}

/// The file that the JVM writes.
struct MapFile {
    tmp: OwnedFd,
    name: String,
    /// It was there before: another program wanted it.
    is_old: bool,
}

impl MapFile {
    /// The JVM would write through a link planted there: it is asked only when nothing has the name, or a file of its
    /// own.
    fn of(target: &Target) -> Result<MapFile, MapError> {
        let name = format!("perf-{}.map", target.inner_pid);
        let tmp = tmp_of(target).map_err(|source| MapError::File { name: name.clone(), source })?;
        let before = stat(target, &tmp, &name);
        let map = MapFile { tmp, name, is_old: matches!(before, Ok(Some(_))) };
        match before {
            Ok(None) => Ok(map),
            Err(error) => Err(map.error(error)),
            Ok(Some(is)) => {
                let is_file = FileType::from_raw_mode(is.st_mode) == FileType::RegularFile && is.st_nlink == 1;
                if is_file && is.st_uid == target.uid { Ok(map) } else { Err(MapError::InTheWay(map.name)) }
            }
        }
    }

    /// Its text. What was not there before is taken away.
    fn take(self, target: &Target) -> Result<Vec<u8>, MapError> {
        let text = open_file(target, &self.tmp, &self.name).and_then(|file| {
            if !self.is_old {
                remove_file(target, &self.tmp, &self.name)?;
            }
            read(file)
        });
        text.map_err(|error| self.error(error))
    }

    fn error(&self, source: io::Error) -> MapError {
        MapError::File { name: self.name.clone(), source }
    }
}

fn read(file: File) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.take(LARGEST_MAP_BYTES).read_to_end(&mut text)?;
    Ok(text)
}
