//! Events to stages of bios, with btt's definitions. Knows no output.

use std::collections::BTreeMap;

use super::parse::{Event, action};

const SECTOR_BYTES: u32 = 512;

/// Bios that are under way at once; a trace without completions would fill the memory.
const UNDER_WAY_MAX: usize = 4_000_000;

/// Stages in the order in which they are printed, with what they are.
pub(super) const STAGES: [(&str, &str); 9] = [
    ("Q2Q", "between arrivals"),
    ("Q2G", "waiting for a request structure"),
    ("G2I", "up to the scheduler's queue"),
    ("Q2M", "up to the merge into another request"),
    ("I2D", "in the scheduler's queue"),
    ("M2D", "from the merge to the driver"),
    ("G2D", "to the driver without a queue"),
    ("D2C", "at the device"),
    ("Q2C", "in all"),
];

/// Index of a stage.
pub(crate) type StageIndex = usize;
pub(super) const Q2Q: StageIndex = 0;
const Q2G: StageIndex = 1;
const G2I: StageIndex = 2;
const Q2M: StageIndex = 3;
const I2D: StageIndex = 4;
const M2D: StageIndex = 5;
const G2D: StageIndex = 6;
const D2C: StageIndex = 7;
const Q2C: StageIndex = 8;

/// Whose bio it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Whose {
    pub(crate) device: (u32, u32),
    /// Who queued it.
    pub(crate) pid: u32,
}

/// Device and first sector.
type Key = ((u32, u32), u64);

#[derive(Debug)]
struct Bio {
    whose: Whose,
    end: u64,
    operation: &'static str,
    queued_ns: u64,
    got_ns: Option<u64>,
    merged_ns: Option<u64>,
    inserted_ns: Option<u64>,
    issued_ns: Option<u64>,
}

impl Bio {
    fn done(&self, sector: u64, completed_ns: u64) -> Done {
        let Bio { whose, end, operation, queued_ns, got_ns, inserted_ns, issued_ns, .. } = *self;
        let bytes = end.saturating_sub(sector).saturating_mul(u64::from(SECTOR_BYTES));
        Done { whose, sector, bytes, operation, queued_ns, got_ns, inserted_ns, issued_ns, completed_ns }
    }
}

/// What is added up.
pub(crate) trait Takes {
    /// A stage of a bio took so long.
    fn ended(&mut self, whose: Whose, stage: StageIndex, ns: u64);
    /// A bio arrived. How long after the one before it that was is of each device and process another time.
    fn arrived(&mut self, whose: Whose, at_ns: u64);
    /// A bio that had been issued is complete.
    fn completed(&mut self, _: &Done) {}
}

/// A bio that is complete: when it came to each stage.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) whose: Whose,
    pub(crate) sector: u64,
    pub(crate) bytes: u64,
    /// `read`, `write` or `discard`.
    pub(crate) operation: &'static str,
    pub(crate) queued_ns: u64,
    pub(crate) got_ns: Option<u64>,
    pub(crate) inserted_ns: Option<u64>,
    pub(crate) issued_ns: Option<u64>,
    pub(crate) completed_ns: u64,
}

/// Follows bios from arrival to completion.
#[derive(Debug, Default)]
pub(crate) struct Bios {
    under_way: BTreeMap<Key, Bio>,
    /// Those that an event completes, in memory that is used again.
    completed: Vec<Key>,
    /// Bios that had arrived when another one of the same first sector did.
    pub(crate) overlapping: u64,
    /// Issued more than once.
    pub(crate) reissued: u64,
    /// Completed without having been issued: the trace began later, or events are missing.
    pub(crate) not_issued: u64,
}

impl Bios {
    /// Takes an event; gives each stage that it ends.
    pub(crate) fn see(&mut self, event: &Event<'_>, to: &mut impl Takes) {
        if event.bytes == 0 {
            return;
        }
        let at = event.time_ns;
        match event.action {
            action::QUEUE => self.queue(event, to),
            action::GET_REQUEST => {
                self.one(event, |bio| &mut bio.got_ns, |bio| to.ended(bio.whose, Q2G, since(bio.queued_ns, at)))
            }
            action::BACK_MERGE | action::FRONT_MERGE => {
                self.one(event, |bio| &mut bio.merged_ns, |bio| to.ended(bio.whose, Q2M, since(bio.queued_ns, at)));
            }
            action::INSERT => self.within(event).for_each(|bio| insert(bio, at, to)),
            action::ISSUE => self.issue(event, to),
            action::COMPLETE => self.complete(event, to),
            _ => {}
        }
    }

    /// Bios whose end the trace does not have.
    pub(super) fn unended(&self) -> usize {
        self.under_way.len()
    }

    fn queue(&mut self, event: &Event<'_>, to: &mut impl Takes) {
        let whose = Whose { device: event.device, pid: event.pid };
        to.arrived(whose, event.time_ns);
        if self.under_way.len() >= UNDER_WAY_MAX {
            return;
        }
        let end = event.sector.saturating_add(u64::from(event.bytes / SECTOR_BYTES));
        let queued_ns = event.time_ns;
        let operation = match (event.is_discard, event.is_read) {
            (true, _) => "discard",
            (_, true) => "read",
            _ => "write",
        };
        let bio =
            Bio { whose, end, operation, queued_ns, got_ns: None, merged_ns: None, inserted_ns: None, issued_ns: None };
        self.overlapping += u64::from(self.under_way.insert((event.device, event.sector), bio).is_some());
    }

    /// The bio that begins at an event's sector, if this has not happened to it yet.
    fn one(&mut self, event: &Event<'_>, when: impl Fn(&mut Bio) -> &mut Option<u64>, ended: impl FnOnce(&Bio)) {
        let Some(bio) = self.under_way.get_mut(&(event.device, event.sector)) else { return };
        if when(bio).is_none() {
            *when(bio) = Some(event.time_ns);
            ended(bio);
        }
    }

    /// The bios that lie within an event's sectors.
    fn within(&mut self, event: &Event<'_>) -> impl Iterator<Item = &mut Bio> {
        let end = end_of(event);
        let near = self.under_way.range_mut((event.device, event.sector)..(event.device, end));
        near.map(|(_, bio)| bio).filter(move |bio| bio.end <= end)
    }

    fn issue(&mut self, event: &Event<'_>, to: &mut impl Takes) {
        let at = event.time_ns;
        let mut reissued = 0;
        for bio in self.within(event) {
            reissued += u64::from(bio.issued_ns.replace(at).is_some());
            match (bio.merged_ns, bio.inserted_ns, bio.got_ns) {
                (Some(merged_ns), ..) => to.ended(bio.whose, M2D, since(merged_ns, at)),
                (None, Some(inserted_ns), _) => to.ended(bio.whose, I2D, since(inserted_ns, at)),
                (None, None, Some(got_ns)) => to.ended(bio.whose, G2D, since(got_ns, at)),
                _ => {}
            }
        }
        self.reissued += reissued;
    }

    fn complete(&mut self, event: &Event<'_>, to: &mut impl Takes) {
        let (at, end) = (event.time_ns, end_of(event));
        let near = self.under_way.range((event.device, event.sector)..(event.device, end));
        self.completed.extend(near.filter(|(_, bio)| bio.end <= end).map(|(key, _)| *key));
        for (key, bio) in self.completed.drain(..).filter_map(|key| Some((key, self.under_way.remove(&key)?))) {
            match bio.issued_ns {
                Some(issued_ns) => {
                    to.ended(bio.whose, D2C, since(issued_ns, at));
                    to.completed(&bio.done(key.1, at));
                }
                None => self.not_issued += 1,
            }
            to.ended(bio.whose, Q2C, since(bio.queued_ns, at));
        }
    }
}

fn end_of(event: &Event<'_>) -> u64 {
    event.sector.saturating_add(u64::from(event.bytes / SECTOR_BYTES))
}

fn insert(bio: &mut Bio, at: u64, to: &mut impl Takes) {
    if let (Some(got_ns), None) = (bio.got_ns, bio.inserted_ns) {
        to.ended(bio.whose, G2I, since(got_ns, at));
    }
    bio.inserted_ns = Some(at);
}

/// At least a nanosecond: clocks of CPUs may differ by more than a stage takes.
pub(super) fn since(from_ns: u64, to_ns: u64) -> u64 {
    to_ns.saturating_sub(from_ns).max(1)
}
