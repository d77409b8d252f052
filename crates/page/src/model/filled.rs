//! What each thread did in each column of a picture: the segments of the partition, and what was counted or sampled beside them.

use fathom_timeline::{Layer, Series, State, ThreadState};
use rayon::prelude::*;

use super::raster::Raster;
use crate::index::cover;
use crate::index::samples::{Event, Unit};
use crate::index::threads::{ROLES, ThreadSet};
use crate::loaded::Loaded;

/// Cells whose samples are looked at together: what is known of them fits into the cache of a processor.
const CELLS_AT_ONCE: usize = 1 << 14;

/// A picture is worked on in at least so many parts.
const PARTS_MIN: usize = 16;

/// Which thread in which column.
pub(super) struct Of {
    pub(super) thread: u32,
    /// The first column of its part of the picture, and which one after it.
    pub(super) first: usize,
    pub(super) number: usize,
    pub(super) time: Time,
}

/// What every thread did in every column, a few columns at a time: `start` makes what a part of so many columns becomes,
/// `add` adds a thread's column to it. Gives the parts, each with its first column.
pub(super) fn each_filled<A: Send>(
    page: &Loaded,
    raster: Raster,
    threads: Option<&ThreadSet>,
    start: impl Fn(usize) -> A + Sync,
    add: impl Fn(&mut A, &Of, &Filled) + Sync,
) -> Vec<(usize, A)> {
    let numbers: Vec<u32> =
        (0..page.threads.len() as u32).filter(|n| threads.is_none_or(|set| set.contains(*n))).collect();
    let layers = Layers::new(page);
    // A thread's segments are found once for a few columns; what its samples say of them stays in the cache.
    let at_once = (CELLS_AT_ONCE / page.threads.len().max(1)).clamp(1, raster.columns.div_ceil(PARTS_MIN));
    let of_columns = |first: usize| {
        let windows: Vec<Window> =
            (first..raster.columns.min(first + at_once)).map(|column| Window::of(page, raster, column)).collect();
        let seen = layers.seen(page, &windows);
        let mut all = start(windows.len());
        for thread in &numbers {
            each_column(page, *thread, &windows, &seen, |number, filled| {
                add(&mut all, &Of { thread: *thread, first, number, time: windows[number].time }, filled);
            });
        }
        (first, all)
    };
    (0..raster.columns.div_ceil(at_once)).into_par_iter().map(|part| of_columns(part * at_once)).collect()
}

/// What one thread did in each of some columns.
fn each_column(page: &Loaded, thread: u32, windows: &[Window], seen: &Seen, mut add: impl FnMut(usize, &Filled)) {
    let mut segments = page.cover.threads[thread as usize].segments.as_slice();
    if let Some(window) = windows.first() {
        segments = &segments[segments.partition_point(|segment| segment.1 <= window.time.from)..];
    }
    for (number, window) in windows.iter().enumerate() {
        let over = segments.iter().take_while(|segment| segment.1 <= window.time.from).count();
        segments = &segments[over..];
        add(number, &Filled::new(page, thread, window, segments, seen.of(number, thread)));
    }
}

pub(super) type Amounts = [f64; State::ALL.len()];

/// The time of one column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Time {
    from: i64,
    to: i64,
}

impl Time {
    pub(super) fn length(self) -> f64 {
        self.to.saturating_sub(self.from).max(0) as f64
    }

    /// What of it lies within another time.
    fn within(self, (from, to): (i64, i64)) -> Time {
        Time { from: self.from.max(from), to: self.to.min(to) }
    }

    /// Whether a counter was read before and after this time.
    fn is_within(self, series: &Series) -> bool {
        let read = |point: Option<&(i64, f64)>| point.map(|point| point.0);
        read(series.0.first()).is_some_and(|first| first <= self.from)
            && read(series.0.last()).is_some_and(|last| last >= self.to)
    }

    /// Adds the stops of the application within this time.
    fn add_stops(self, stops: &[(i64, i64, State)], amounts: &mut Amounts) {
        let first = stops.partition_point(|segment| segment.1 <= self.from);
        self.add(&stops[first..], |from, to, state| amounts[state as usize] += to.saturating_sub(from).max(0) as f64);
    }

    /// Adds what `segments`, of which the first ends after the beginning of this time, have within it.
    fn add(self, segments: &[(i64, i64, State)], mut amount: impl FnMut(i64, i64, State)) {
        for (from, to, state) in segments.iter().take_while(|segment| segment.0 < self.to) {
            amount((*from).max(self.from), (*to).min(self.to), *state);
        }
    }
}

/// One column: its time, and whether the application was stopped in it.
#[derive(Debug)]
struct Window {
    time: Time,
    is_stopped: bool,
}

impl Window {
    fn of(page: &Loaded, raster: Raster, column: usize) -> Window {
        let to = if column + 1 == raster.columns { raster.stretch.to } else { raster.begin(column + 1) };
        let time = Time { from: raster.begin(column), to };
        let first = page.cover.stops.partition_point(|segment| segment.1 <= time.from);
        let is_stopped = page.cover.stops.get(first).is_some_and(|segment| segment.0 < time.to);
        Window { time, is_stopped }
    }
}

/// What samples say of the code that ran.
struct Layers<'p> {
    event: Option<&'p Event>,
    /// State of a thread that runs code of each place.
    of_place: Vec<State>,
}

impl<'p> Layers<'p> {
    fn new(page: &'p Loaded) -> Layers<'p> {
        let state = |place: &crate::index::tree::Place| {
            ThreadState::Running(Layer::of_frame(page.recording.text(place.kind))).state()
        };
        let event = page.events.iter().find(|event| event.is_on_cpu() && event.unit == Unit::Nanoseconds);
        Layers { event, of_place: page.tree.places.iter().map(state).collect() }
    }

    /// Time that the samples of each thread stand for in neighbouring columns.
    fn seen(&self, page: &Loaded, windows: &[Window]) -> Seen {
        let threads = page.threads.len();
        let none = Seen { threads, amounts: Vec::new() };
        let (Some(event), Some(first), Some(last)) = (self.event, windows.first(), windows.last()) else { return none };
        if event.within(first.time.from, last.time.to).is_empty() {
            return none;
        }
        let mut amounts = vec![[0.0; LAYERS]; windows.len() * threads];
        for (window, amounts) in windows.iter().zip(amounts.chunks_mut(threads.max(1))) {
            for index in event.within(window.time.from, window.time.to) {
                if let Some(amounts) = amounts.get_mut(event.thread[index] as usize) {
                    let state = self.of_place[page.tree.place[event.node[index] as usize] as usize];
                    amounts[state as usize - FIRST_LAYER] += event.weight(index);
                }
            }
        }
        Seen { threads, amounts }
    }
}

/// The states of running that samples tell apart are neighbours.
const FIRST_LAYER: usize = State::Java as usize;
const LAYERS: usize = State::Kernel as usize - FIRST_LAYER + 1;

type OfLayers = [f64; LAYERS];

/// Time that samples stand for, by column, thread and layer of code.
struct Seen {
    threads: usize,
    amounts: Vec<OfLayers>,
}

impl Seen {
    fn of(&self, number: usize, thread: u32) -> OfLayers {
        self.amounts.get(number * self.threads + thread as usize).copied().unwrap_or_default()
    }
}

/// The states of one thread in one column.
pub(super) struct Filled {
    pub(super) amounts: Amounts,
    /// How much of the column the thread lived.
    lived_ns: f64,
}

impl Filled {
    fn new(page: &Loaded, thread: u32, window: &Window, segments: &[(i64, i64, State)], seen: OfLayers) -> Filled {
        let mut amounts = [0.0; State::ALL.len()];
        let own = cover::of_role(ROLES[usize::from(page.threads[thread as usize].role)]);
        window.time.add(segments, |from, to, state| amounts[state as usize] += (to - from) as f64);
        let of = &page.cover.threads[thread as usize];
        let lived = window.time.within(of.life);
        if of.stops && window.is_stopped {
            lived.add_stops(&page.cover.stops, &mut amounts);
        }
        let mut filled = Filled { amounts, lived_ns: lived.length() };
        filled.add_queue(page, thread, window.time);
        filled.add_running(page, thread, window.time, own, &seen);
        let is_counted = of.cpu.as_ref().is_some_and(|cpu| window.time.is_within(cpu));
        if own.is_some() && is_counted {
            // Threads of the JVM have nothing else to do than their work.
            filled.amounts[State::Idle as usize] += (filled.lived_ns - filled.known_ns()).max(0.0);
        }
        filled
    }

    fn known_ns(&self) -> f64 {
        self.amounts.iter().sum()
    }

    /// The part of its time of which anything is known.
    pub(super) fn known(&self) -> f64 {
        if self.lived_ns > 0.0 { (self.known_ns() / self.lived_ns).min(1.0) } else { 1.0 }
    }

    fn left(&self, time: Time) -> f64 {
        (time.length() - self.known_ns()).max(0.0)
    }

    /// Waiting for CPUs that was counted beyond the waits that were recorded one by one.
    fn add_queue(&mut self, page: &Loaded, thread: u32, time: Time) {
        let Some(queue) = &page.cover.threads[thread as usize].queue else { return };
        let told = self.amounts[State::Runnable as usize];
        let counted = queue.rise_within(time.from, time.to) - told;
        self.amounts[State::Runnable as usize] += counted.clamp(0.0, self.left(time));
    }

    /// Running fills what is left: as counted, else as sampled; samples say which code.
    fn add_running(&mut self, page: &Loaded, thread: u32, time: Time, own: Option<State>, seen: &OfLayers) {
        let sampled: f64 = seen.iter().sum();
        let running = match &page.cover.threads[thread as usize].cpu {
            Some(cpu) if time.is_within(cpu) => cpu.rise_within(time.from, time.to),
            // Readings that begin or end within the column say too little of it.
            Some(cpu) => cpu.rise_within(time.from, time.to).max(sampled),
            None => sampled,
        };
        let running = running.clamp(0.0, self.left(time));
        match own {
            Some(own) => self.amounts[own as usize] += running,
            None if sampled > 0.0 => {
                let layers = self.amounts[FIRST_LAYER..].iter_mut().zip(seen);
                layers.for_each(|(amount, seen)| *amount += running * seen / sampled);
            }
            None => self.amounts[State::Running as usize] += running,
        }
    }

    /// The state that has most of the column, with its part of it.
    pub(super) fn largest(&self, time: Time) -> Option<(State, f64)> {
        let known = State::ALL.iter().zip(&self.amounts).filter(|(state, ns)| **state != State::Idle && **ns > 0.0);
        let found = known.max_by(|a, b| a.1.total_cmp(b.1)).map(|(state, ns)| (*state, *ns));
        let idle = self.amounts[State::Idle as usize];
        let (state, ns) = found.or((idle > 0.0).then_some((State::Idle, idle)))?;
        Some((state, (ns / time.length().max(1.0)).min(1.0)))
    }
}
