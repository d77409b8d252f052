//! One chunk: every record looked at once, the ones that are read become rows.

use rustc_hash::FxHashMap;

use fathom_evidence::tables::Sample;
use fathom_evidence::{Recording, StackId, StrId, kinds};

use super::load_events::{Event, Map, Weight};
use super::load_gc::Collections;
use super::load_handlers::{Bound, Handler, Handlers, MAX_SLOTS, SampleMap};
use super::load_resolve::Resolver;
use super::load_safepoint::SafepointEvent;
use super::load_settings::Profiler;
use super::load_stacks::{ClassLeaves, StackTable};
use super::parse_chunk::{Chunk, HEADER_BYTES, record};
use super::parse_plan::Kind;
use super::parse_pools::{Layout, Pool, Pools};

/// What all rows of this reader name as their source.
pub(super) const SOURCE: &str = "jfr";

/// What one chunk gives.
#[derive(Default)]
pub(super) struct Loaded {
    pub(super) recording: Recording,
    pub(super) collections: Collections,
    pub(super) safepoints: Vec<SafepointEvent>,
    pub(super) damage: Damage,
}

/// What of a chunk could not be used.
#[derive(Debug, Default)]
pub(super) struct Damage {
    /// First byte, from the start of the chunk, that belongs to no record.
    pub(super) stopped_at: Option<usize>,
    /// Events whose bytes do not fit their type, with the type's name.
    pub(super) events: FxHashMap<&'static str, u64>,
    /// Checkpoints that could not be read to their end.
    pub(super) checkpoints: usize,
    /// Stacks that could not be decoded.
    pub(super) stacks: u64,
    /// Keys that no pool has.
    pub(super) keys: u64,
}

/// Reads `chunk`. `profiler` is how async-profiler sampled, if it wrote this chunk.
pub(super) fn load(chunk: &Chunk<'_>, layout: &Layout, profiler: Option<&Profiler>) -> Loaded {
    let pools = Pools::read(chunk, &layout.types, &layout.checkpoints);
    let mut loaded = Loaded::default();
    loaded.damage.checkpoints = pools.damaged.len();
    let resolver = Resolver::new(chunk.data, &layout.types, &pools, chunk.clock);
    let mut loader = Loader::new(resolver, loaded, chunk, profiler);
    let handlers = Handlers::of(&layout.types);
    loader.records(chunk, &handlers);
    loader.finish()
}

/// A chunk that is being read.
pub(super) struct Loader<'a> {
    pub(super) resolver: Resolver<'a>,
    pub(super) out: Loaded,
    profiler: Option<&'a Profiler>,
    start_ns: i64,
    /// Thread id of each entry of the pool of threads.
    tids: Vec<i64>,
    stacks: StackTable,
    stack_pool: &'a Pool,
    class_leaves: ClassLeaves,
    /// Periods of the JVM's own samplers, by event.
    pub(super) periods: FxHashMap<String, i64>,
    pub(super) source: StrId,
    /// Detail that is being written.
    pub(super) text: String,
}

/// Times, thread and stack of an event.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) time_ns: i64,
    pub(super) duration_ns: i64,
    pub(super) tid: i64,
    pub(super) stack_id: StackId,
}

impl<'a> Loader<'a> {
    fn new(mut resolver: Resolver<'a>, mut out: Loaded, chunk: &Chunk<'_>, profiler: Option<&'a Profiler>) -> Self {
        let tids = threads(&mut resolver, &mut out.recording);
        let stacks = StackTable::load(&mut resolver, &mut out.recording);
        out.damage.stacks = stacks.damaged;
        let stack_pool = resolver.pool("jdk.types.StackTrace");
        let source = out.recording.strings.intern(SOURCE);
        Loader {
            resolver,
            out,
            profiler,
            start_ns: chunk.clock.start_ns,
            tids,
            stacks,
            stack_pool,
            class_leaves: ClassLeaves::default(),
            periods: FxHashMap::default(),
            source,
            text: String::new(),
        }
    }

    fn records(&mut self, chunk: &Chunk<'_>, handlers: &Handlers) {
        let data = chunk.data;
        let words = self.sample_words(handlers);
        let mut slots = [0; MAX_SLOTS];
        let mut at = HEADER_BYTES;
        while let Some(record) = record(data, at) {
            at = record.end;
            let Some(number) = handlers.number(record.type_id) else { continue };
            let handler = &handlers.all()[number];
            match handler.plan.run(data, record.payload, &mut slots) {
                Some(end) if end <= record.end => self.event(handler, words[number], &slots),
                _ => *self.out.damage.events.entry(handler.event).or_default() += 1,
            }
        }
        self.out.damage.stopped_at = (at < data.len()).then_some(at);
    }

    #[inline]
    fn event(&mut self, handler: &Handler, word: StrId, slots: &[u64]) {
        let head = self.head(handler, slots);
        if let Some(sample) = &handler.sample {
            self.sample(head, word, sample, slots);
        }
        for action in &handler.actions {
            self.act(head, action, slots);
        }
    }

    #[inline]
    fn head(&mut self, handler: &Handler, slots: &[u64]) -> Head {
        let clock = self.resolver.clock;
        Head {
            time_ns: handler.time.map_or(self.start_ns, |slot| clock.time_ns(slots[slot])),
            duration_ns: handler.duration.as_ref().map_or(0, |bound| self.integer(bound, slots).unwrap_or(0).max(0)),
            tid: handler.thread.as_ref().map_or(0, |bound| self.tid(bound, slots)),
            stack_id: handler.stack.map_or(StackId(0), |slot| self.stack(slots[slot])),
        }
    }

    #[inline]
    fn tid(&mut self, bound: &Bound, slots: &[u64]) -> i64 {
        let (Kind::Key(type_id), key) = (bound.leaf.kind, slots[bound.slot]) else { return 0 };
        match self.resolver.pools.get(type_id).number(key) {
            Some(number) => self.tids[number],
            None if key == 0 => 0,
            None => self.unknown_tid(key),
        }
    }

    /// Keys of threads are OS thread ids in async-profiler's recordings, Java thread ids in the JVM's.
    #[cold]
    fn unknown_tid(&mut self, key: u64) -> i64 {
        self.resolver.unresolved += 1;
        let id = i64::try_from(key).unwrap_or(0);
        if self.profiler.is_some() { id } else { -id }
    }

    #[inline]
    fn stack(&mut self, key: u64) -> StackId {
        match self.stack_pool.number(key) {
            Some(number) => self.stacks.get(number),
            None => {
                self.resolver.unresolved += u64::from(key != 0);
                StackId(0)
            }
        }
    }

    #[inline]
    pub(super) fn integer(&self, bound: &Bound, slots: &[u64]) -> Option<i64> {
        self.resolver.integer(&bound.leaf, slots[bound.slot])
    }

    fn sample(&mut self, head: Head, event: StrId, sample: &SampleMap, slots: &[u64]) {
        let Map::Sample { weight, .. } = sample.map else { return };
        let value = sample.weight.as_ref().and_then(|bound| self.integer(bound, slots)).unwrap_or(0);
        let (weight_ns, size_bytes) = match weight {
            Weight::None => (0, 0),
            // The JVM's own periods are filled in at the end of the chunk, when they are known.
            Weight::Period => (self.profiler.map_or(0, Profiler::period_ns), 0),
            Weight::Periods(_) => (self.profiler.map_or(0, Profiler::wall_period_ns).saturating_mul(value), 0),
            Weight::Time(_) => (value, 0),
            Weight::Bytes(_) => (0, value),
        };
        let stack_id = match &sample.class {
            Some(class) => {
                let (resolver, recording) = (&mut self.resolver, &mut self.out.recording);
                self.class_leaves.on_top(resolver, recording, head.stack_id, &class.leaf, slots[class.slot])
            }
            None => head.stack_id,
        };
        let state = self.state(&sample.state, slots);
        let Head { time_ns, tid, .. } = head;
        let row = Sample { time_ns, tid, cpu: -1, event, weight_ns, size_bytes, state, stack_id };
        self.out.recording.samples.push(row);
    }

    /// Words of the sample events of all handlers, interned once.
    fn sample_words(&mut self, handlers: &Handlers) -> Vec<StrId> {
        let word = |handler: &Handler| match handler.sample.as_ref().map(|sample| sample.map) {
            Some(Map::Sample { event: Event::Is(word), .. }) => word,
            Some(Map::Sample { .. }) => self.profiler.map_or(kinds::event::EXECUTION, Profiler::event),
            _ => "",
        };
        handlers.all().iter().map(|handler| self.out.recording.strings.intern(word(handler))).collect()
    }

    fn state(&mut self, fields: &[Bound], slots: &[u64]) -> StrId {
        for bound in fields {
            let value = slots[bound.slot];
            match bound.leaf.kind {
                Kind::Boolean if value == 0 => {}
                Kind::Boolean => return self.out.recording.strings.intern(&bound.leaf.path),
                _ => return self.text_id(bound, slots),
            }
        }
        StrId(0)
    }

    pub(super) fn text_id(&mut self, bound: &Bound, slots: &[u64]) -> StrId {
        self.resolver.text_id(&mut self.out.recording.strings, &bound.leaf, slots[bound.slot])
    }

    pub(super) fn text(&mut self, bound: &Bound, slots: &[u64]) -> String {
        self.resolver.text(&bound.leaf, slots[bound.slot])
    }

    fn finish(mut self) -> Loaded {
        self.fill_periods();
        self.out.damage.keys = self.resolver.unresolved;
        self.out
    }

    /// Gives samples of the JVM's own samplers the period that the chunk's settings state.
    fn fill_periods(&mut self) {
        if self.profiler.is_some() {
            return;
        }
        let recording = &mut self.out.recording;
        for (event, word) in
            [("jdk.ExecutionSample", kinds::event::EXECUTION), ("jdk.NativeMethodSample", kinds::event::NATIVE)]
        {
            let (Some(period), word) = (self.periods.get(event), recording.strings.intern(word)) else { continue };
            let samples = &mut recording.samples;
            let of_event = samples.event.iter().zip(&mut samples.weight_ns).filter(|(event, _)| **event == word);
            of_event.for_each(|(_, weight)| *weight = *period);
        }
    }
}

/// Enters the threads of the chunk into the dictionary; returns the thread id of each pool entry.
fn threads(resolver: &mut Resolver<'_>, recording: &mut Recording) -> Vec<i64> {
    let pool = resolver.pool("java.lang.Thread");
    let Some(type_id) = resolver.types.id_of("java.lang.Thread") else { return Vec::new() };
    let Some(plan) = resolver.plan(type_id).cloned() else { return Vec::new() };
    let [os_id, java_id, is_virtual] = ["osThreadId", "javaThreadId", "virtual"].map(|field| plan.slot(field));
    let mut slots = vec![0; plan.slots()];
    let mut tids = Vec::with_capacity(pool.len());
    for (key, offset) in pool.entries() {
        let decoded = plan.run(resolver.data, *offset, &mut slots).is_some();
        let field = |slot: Option<usize>| slot.filter(|_| decoded).map_or(0, |slot| slots[slot] as i64);
        let tid = match field(os_id) {
            id if id != 0 && field(is_virtual) == 0 => id,
            _ => field(java_id).wrapping_neg(),
        };
        let name = resolver.pooled(type_id, *key, 0).unwrap_or_default();
        if tid != 0 {
            recording.add_thread(tid, &name);
        }
        tids.push(tid);
    }
    tids
}
