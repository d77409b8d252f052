//! Joins what several lines of a unified log say about one pause: the pause, its generations, its CPU time.
//!
//! The generations come before the pause's own line and the CPU time after it; all share the number of the collection.
//! A pause is passed on when its CPU time has come or another pause begins.

use crate::gc_log::event::{Change, Event, Family, Pause, Safepoint, Space};

/// G1 logs its generations as numbers of regions, so the region size is needed. If it is not logged, it can be inferred
/// from a heap of at least this many regions.
const MIN_REGIONS_TO_INFER: u64 = 8;

/// Sizes that a region of G1 may have.
const REGION_SIZES: std::ops::RangeInclusive<u32> = 20..=29;

/// Generations seen, waiting for their pause.
#[derive(Debug, Default, Clone, Copy)]
struct Sizes {
    gc_id: Option<u64>,
    young: Option<Change>,
    old: Option<Change>,
    metaspace: Option<Change>,
    eden: Option<Change>,
    survivors: Option<Change>,
    old_regions: Option<Change>,
    humongous: Option<Change>,
}

/// A pause without the text of its line.
#[derive(Debug, Default, Clone)]
pub(super) struct Gathered {
    /// As logged, with empty texts.
    pub(super) pause: Pause<'static>,
    /// When it began, as placed when its line was read: those that are gathered are handed on later.
    pub(super) start_ns: Option<i64>,
    pub(super) name: String,
    pub(super) cause: String,
    pub(super) trouble: String,
}

/// Joins events.
#[derive(Debug, Default)]
pub(super) struct Gather {
    sizes: Sizes,
    waiting: Option<Gathered>,
    /// Number under which the CPU time of the waiting pause will come.
    cpu_id: Option<u64>,
    region_bytes: Option<u64>,
    pub(super) family: Option<Family>,
}

impl Gather {
    /// Takes `event`, which began at `start_ns` if it is a pause, and returns a pause that is complete now.
    pub(super) fn event(&mut self, event: &Event<'_>, start_ns: Option<i64>) -> Option<Gathered> {
        match event {
            Event::Collector(family) => self.family = Some(self.more_exact(*family)),
            Event::RegionSize(bytes) => self.region_bytes = Some(*bytes),
            Event::Resize { gc_id, family, space, change } => {
                self.family = self.family.or(*family);
                self.resize(*gc_id, *space, *change);
            }
            Event::Cpu { gc_id, times } => {
                let mut done = self.waiting.take()?;
                if self.cpu_id == *gc_id {
                    done.pause.cpu = Some(*times);
                }
                return Some(done);
            }
            Event::Pause(pause) => {
                self.family = self.family.or(pause.family);
                let gathered = Gathered { start_ns, ..self.join(pause) };
                self.cpu_id = pause.gc_id;
                return self.untangle(gathered);
            }
            Event::PauseBegins { .. } => return self.waiting.take(),
            _ => {}
        }
        None
    }

    /// Makes `next` wait and returns the one that waited.
    ///
    /// In JDK 9-16 a young collection that turns into a full one ends after it and includes it. Then the
    /// full one keeps the time that is its own, and gets the generations, which the young one logs.
    fn untangle(&mut self, mut next: Gathered) -> Option<Gathered> {
        match self.waiting.take() {
            Some(mut inner) if includes(&next, &inner) => {
                let (outer, pause) = (&mut next.pause, &mut inner.pause);
                outer.duration_ns -= pause.duration_ns;
                for (theirs, own) in [
                    (&mut outer.young, &mut pause.young),
                    (&mut outer.old, &mut pause.old),
                    (&mut outer.metaspace, &mut pause.metaspace),
                ] {
                    *own = own.or(theirs.take());
                }
                if let (Some(before), Some(after)) = (pause.heap, outer.heap.as_mut()) {
                    after.after = before.before;
                }
                self.waiting = Some(inner);
                Some(next)
            }
            waited => {
                self.waiting = Some(next);
                waited
            }
        }
    }

    /// The pause that is still waiting.
    pub(super) fn finish(&mut self) -> Option<Gathered> {
        self.waiting.take()
    }

    /// ZGC says first that it is ZGC and later that it is generational.
    fn more_exact(&self, family: Family) -> Family {
        if self.family == Some(Family::ZGenerational) { Family::ZGenerational } else { family }
    }

    fn resize(&mut self, gc_id: Option<u64>, space: Space, change: Change) {
        if self.sizes.gc_id != gc_id {
            self.sizes = Sizes { gc_id, ..Sizes::default() };
        }
        let slot = match space {
            Space::Young => &mut self.sizes.young,
            Space::Old => &mut self.sizes.old,
            Space::Metaspace => &mut self.sizes.metaspace,
            Space::EdenRegions => &mut self.sizes.eden,
            Space::SurvivorRegions => &mut self.sizes.survivors,
            Space::OldRegions => &mut self.sizes.old_regions,
            Space::HumongousRegions => &mut self.sizes.humongous,
        };
        *slot = Some(change);
    }

    fn join(&mut self, pause: &Pause<'_>) -> Gathered {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut gathered = Gathered {
            pause: Pause { name: b"", cause: b"", trouble: b"", ..*pause },
            name: text(pause.name),
            cause: text(pause.cause),
            trouble: text(pause.trouble),
            start_ns: None,
        };
        if self.sizes.gc_id == pause.gc_id && pause.gc_id.is_some() {
            let sizes = std::mem::take(&mut self.sizes);
            let heap_before = pause.heap.map(|heap| heap.before);
            let joined = &mut gathered.pause;
            joined.young = joined.young.or(sizes.young).or_else(|| self.young_of_regions(&sizes, heap_before));
            joined.old = joined.old.or(sizes.old).or_else(|| self.old_of_regions(&sizes, heap_before));
            joined.metaspace = joined.metaspace.or(sizes.metaspace);
        }
        gathered
    }

    fn young_of_regions(&mut self, sizes: &Sizes, heap_before: Option<u64>) -> Option<Change> {
        let size = self.region_bytes_of(sizes, heap_before)?;
        let (eden, survivors) = (sizes.eden?, sizes.survivors?);
        let capacity = eden.capacity.map(|regions| regions.saturating_add(survivors.after));
        Some(Change { capacity: capacity.map(|regions| regions.saturating_mul(size)), ..sum(&[eden, survivors], size) })
    }

    fn old_of_regions(&mut self, sizes: &Sizes, heap_before: Option<u64>) -> Option<Change> {
        let size = self.region_bytes_of(sizes, heap_before)?;
        Some(sum(&[sizes.old_regions?, sizes.humongous.unwrap_or_default()], size))
    }

    /// Size of G1's regions: as logged, or the smallest with which the heap in use fits into the regions in use.
    fn region_bytes_of(&mut self, sizes: &Sizes, heap_before: Option<u64>) -> Option<u64> {
        if self.region_bytes.is_none() {
            let spaces = [sizes.eden?, sizes.survivors?, sizes.old_regions?, sizes.humongous.unwrap_or_default()];
            let regions = sum(&spaces, 1).before;
            let used = heap_before.filter(|_| regions >= MIN_REGIONS_TO_INFER)?;
            self.region_bytes =
                REGION_SIZES.map(|bits| 1_u64 << bits).find(|size| regions.saturating_mul(*size) >= used);
        }
        self.region_bytes
    }
}

/// Whether `inner`, which ended first, was a part of `outer`.
fn includes(outer: &Gathered, inner: &Gathered) -> bool {
    let are_young_and_full = outer.name.starts_with("Pause Young") && inner.name == "Pause Full";
    let (outer, inner) = (&outer.pause, &inner.pause);
    let is_later = inner.gc_id > outer.gc_id && outer.gc_id.is_some();
    let begins = |pause: &Pause<'_>| pause.start.uptime_ns.or(pause.start.wall_ns);
    // Lines are stamped in milliseconds.
    let began_before =
        begins(outer).zip(begins(inner)).is_some_and(|(outer, inner)| outer <= inner.saturating_add(1_000_000));
    are_young_and_full && is_later && began_before && outer.duration_ns >= inner.duration_ns
}

fn sum(regions: &[Change], region_bytes: u64) -> Change {
    let bytes = |count: fn(&Change) -> u64| {
        regions.iter().map(count).fold(0_u64, u64::saturating_add).saturating_mul(region_bytes)
    };
    Change { before: bytes(|c| c.before), after: bytes(|c| c.after), capacity: None }
}

/// Joins the lines that say one safepoint in pieces: its name in one, its times in another.
#[derive(Debug, Default)]
pub(super) struct SafepointGather {
    operation: Option<String>,
    coarse: Option<(Safepoint<'static>, String)>,
}

impl SafepointGather {
    /// The name of the next safepoint.
    pub(super) fn name(&mut self, operation: &[u8]) {
        self.operation = Some(String::from_utf8_lossy(operation).into_owned());
    }

    /// Takes a safepoint, and returns those that are complete now, with their names.
    pub(super) fn event(&mut self, safepoint: &Safepoint<'_>) -> [Option<(Safepoint<'static>, String)>; 2] {
        let operation = String::from_utf8_lossy(safepoint.operation).into_owned();
        let mut bare = Safepoint { operation: b"", ..*safepoint };
        if safepoint.coarse {
            return [self.coarse.replace((bare, operation)), None];
        }
        if !operation.is_empty() {
            return [self.coarse.take(), Some((bare, operation))];
        }
        if let Some((coarse, operation)) = self.coarse.take() {
            (bare.threads, bare.running_threads) = (coarse.threads, coarse.running_threads);
            return [None, Some((bare, operation))];
        }
        [None, Some((bare, self.operation.take().unwrap_or_default()))]
    }

    /// The safepoint that is still waiting for its exact times.
    pub(super) fn finish(&mut self) -> Option<(Safepoint<'static>, String)> {
        self.coarse.take()
    }
}
