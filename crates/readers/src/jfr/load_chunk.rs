//! One chunk: every record is visited once, and records of known types become rows.

use rustc_hash::FxHashMap;

use fathom_evidence::kinds::subject;
use fathom_evidence::{Recording, StackId, StrId, Table};

use super::load_bytes::{Bytes, wanted_stacks};
use super::load_gc::Collections;
use super::load_handlers::{Bound, Handler, Handlers};
use super::load_map::MAX_SLOTS;
use super::load_profiler::Profiler;
use super::load_resolve::Resolver;
use super::load_safepoint::SafepointEvent;
use super::load_stack_shape::KnownStacks;
use super::load_stacks::{Parts, StackTable};
use super::parse_chunk::{Chunk, HEADER_BYTES, short_record};
use super::parse_pools::{Layout, Pool, Pools};
use super::parse_stacks::STACK_TYPE;

/// What all rows of this reader name as their source.
pub(super) const SOURCE: &str = "jfr";

/// What one chunk gives.
#[derive(Default)]
pub(super) struct Loaded {
    /// The rows of the chunks before, and of this one.
    pub(super) recording: Recording,
    /// When the JVM of this chunk was started, as text.
    pub(super) jvm_started: Option<String>,
    pub(super) collections: Collections,
    pub(super) safepoints: Vec<SafepointEvent>,
    /// What the recorder says that it lost.
    pub(super) lost: Vec<Lost>,
    /// Stacks of the chunk, and those of them whose callers are missing because they were deeper than the
    /// recorder goes.
    pub(super) stacks: Stacks,
    pub(super) damage: Damage,
}

/// Something that the recorder lost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lost {
    pub(super) says: &'static str,
    pub(super) count: i64,
    pub(super) time_ns: i64,
}

/// Numbers of stacks.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Stacks {
    pub(super) all: usize,
    pub(super) truncated: usize,
}

impl std::ops::AddAssign for Stacks {
    fn add_assign(&mut self, more: Stacks) {
        self.all += more.all;
        self.truncated += more.truncated;
    }
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
    /// Keys that no pool has.
    pub(super) keys: u64,
}

/// What a chunk follows.
pub(super) struct Before<'k, 'a> {
    /// The rows of the chunks before.
    pub(super) recording: Recording,
    pub(super) known: &'k mut KnownStacks<'a>,
    /// Bytes to read into the recording, those of this chunk included.
    pub(super) left: usize,
    /// Whether verdicts are all that is wanted of it.
    pub(super) for_verdicts: bool,
}

/// Reads `chunk` and appends its rows. `profiler` is how async-profiler sampled, if it wrote this chunk.
pub(super) fn load<'a>(
    chunk: &Chunk<'a>,
    layout: &Layout,
    profiler: Option<&Profiler>,
    before: Before<'_, 'a>,
) -> Loaded {
    let Before { recording, known, left, for_verdicts } = before;
    let pools = Pools::read(chunk, &layout.types, &layout.checkpoints);
    let mut loaded = Loaded { recording, ..Loaded::default() };
    loaded.damage.checkpoints = pools.damaged.len();
    loaded.stacks = Stacks { all: pools.stacks.len(), truncated: pools.stacks.truncated };
    let mut resolver = Resolver::new(chunk.data, &layout.types, &pools, chunk.clock);
    let is_whole = chunk.complete && pools.damaged.is_empty();
    let handlers = Handlers::of(&layout.types);
    // What is damaged is read as it stands, so that the losses are those of all of it.
    let adds_up = for_verdicts && is_whole;
    let wanted = adds_up.then(|| wanted_stacks(chunk.data, &handlers, resolver.pool(STACK_TYPE)));
    let parts = Parts { is_whole, left: left.div_ceil(chunk.data.len()), wanted };
    let stacks = StackTable::load(&mut resolver, &mut loaded.recording, known, &parts);
    let mut loader = Loader::new(resolver, loaded, stacks, chunk, profiler);
    loader.bytes = adds_up.then(Bytes::default);
    loader.make_room(chunk, &handlers, left);
    loader.records(chunk, &handlers);
    loader.finish()
}

/// A chunk that is being read.
pub(super) struct Loader<'p, 'a> {
    pub(super) resolver: Resolver<'p, 'a>,
    pub(super) out: Loaded,
    pub(super) profiler: Option<&'p Profiler>,
    start_ns: i64,
    /// Rows that were there before this chunk.
    pub(super) samples_before: usize,
    facts_before: usize,
    /// Thread id of each entry of the pool of threads.
    tids: Vec<i64>,
    thread_pool: &'p Pool,
    pub(super) stacks: StackTable,
    stack_pool: &'p Pool,
    /// Periods of the JVM's own samplers, by event.
    pub(super) periods: FxHashMap<String, i64>,
    pub(super) source: StrId,
    /// Detail that is being written.
    pub(super) text: String,
    /// Samples of bytes, where they are added up.
    pub(super) bytes: Option<Bytes>,
}

/// Times, thread and stack of an event.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) time_ns: i64,
    pub(super) duration_ns: i64,
    pub(super) tid: i64,
    pub(super) stack_id: StackId,
}

impl<'p, 'a> Loader<'p, 'a> {
    fn new(
        mut resolver: Resolver<'p, 'a>,
        mut out: Loaded,
        stacks: StackTable,
        chunk: &Chunk<'_>,
        profiler: Option<&'p Profiler>,
    ) -> Self {
        let tids = threads(&mut resolver, &mut out.recording);
        let stack_pool = resolver.pool(STACK_TYPE);
        let source = out.recording.strings.intern(SOURCE);
        Loader {
            profiler,
            start_ns: chunk.clock.start_ns,
            samples_before: out.recording.samples.len(),
            facts_before: out.recording.facts.len(),
            tids,
            thread_pool: resolver.pool("java.lang.Thread"),
            stacks,
            stack_pool,
            periods: FxHashMap::default(),
            source,
            text: String::new(),
            bytes: None,
            resolver,
            out,
        }
    }

    /// Makes room for all samples at once, for twice the share that they have in the first chunk: room that is
    /// not used takes no memory, but growing takes time.
    fn make_room(&mut self, chunk: &Chunk<'_>, handlers: &Handlers, left: usize) {
        const WORTHWHILE_BYTES: usize = 1 << 20;
        const SMALLEST_SAMPLE_BYTES: usize = 16;
        let samples = &mut self.out.recording.samples;
        if !samples.is_empty() || left < WORTHWHILE_BYTES {
            return;
        }
        let (mut at, mut found) = (HEADER_BYTES, 0);
        while let Some(record) = short_record(chunk.data, at) {
            at = record.end;
            let handler = handlers.number(record.type_id).map(|number| &handlers.all()[number]);
            found += usize::from(handler.is_some_and(|handler| handler.sample.is_some()));
        }
        // Behind damage nothing more of the chunk is read.
        let left = left.saturating_sub(chunk.data.len() - at);
        samples.reserve((left.div_ceil(at) * found * 2).min(left / SMALLEST_SAMPLE_BYTES));
    }

    pub(super) fn act_on(&mut self, handler: &Handler, slots: &[u64; MAX_SLOTS]) {
        let head = Head {
            time_ns: self.time_ns(handler, slots),
            duration_ns: handler.duration.as_ref().map_or(0, |bound| self.integer(bound, slots).unwrap_or(0).max(0)),
            tid: self.tid(handler, slots),
            stack_id: self.stack(handler, slots),
        };
        for action in &handler.actions {
            self.act(head, action, slots);
        }
    }

    #[inline]
    pub(super) fn time_ns(&self, handler: &Handler, slots: &[u64]) -> i64 {
        handler.time.map_or(self.start_ns, |slot| self.resolver.clock.time_ns(slots[slot]))
    }

    #[inline(always)]
    pub(super) fn tid(&mut self, handler: &Handler, slots: &[u64]) -> i64 {
        let Some(slot) = handler.thread else { return 0 };
        let key = slots[slot];
        match self.thread_pool.number(key) {
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

    fn stack(&mut self, handler: &Handler, slots: &[u64]) -> StackId {
        let number = handler.stack.and_then(|slot| self.stack_number(slots[slot]));
        number.map_or(StackId(0), |number| self.stacks.get(number))
    }

    /// The number of a stack in its pool.
    #[inline]
    pub(super) fn stack_number(&mut self, key: u64) -> Option<usize> {
        let number = self.stack_pool.number(key);
        self.resolver.unresolved += u64::from(number.is_none() && key != 0);
        number
    }

    #[inline]
    pub(super) fn integer(&self, bound: &Bound, slots: &[u64]) -> Option<i64> {
        self.resolver.integer(&bound.leaf, slots[bound.slot])
    }

    pub(super) fn text_id(&mut self, bound: &Bound, slots: &[u64]) -> StrId {
        self.resolver.text_id(&mut self.out.recording.strings, &bound.leaf, slots[bound.slot])
    }

    pub(super) fn short_text(&mut self, bound: &Bound, slots: &[u64]) -> String {
        self.resolver.short_text(&bound.leaf, slots[bound.slot])
    }

    pub(super) fn text(&mut self, bound: &Bound, slots: &[u64]) -> String {
        self.resolver.text(&bound.leaf, slots[bound.slot])
    }

    fn finish(mut self) -> Loaded {
        self.fill_periods();
        self.name_allocations();
        self.out.damage.keys = self.resolver.unresolved;
        self.out.jvm_started = self.jvm_started();
        self.out
    }

    fn jvm_started(&self) -> Option<String> {
        let recording = &self.out.recording;
        let (jvm, started) = (recording.strings.find(subject::JVM)?, recording.strings.find("started_at_ns")?);
        let mut facts = (self.facts_before..recording.facts.len()).map(|row| recording.facts.row(row));
        let fact = facts.find(|fact| fact.subject == jvm && fact.key == started)?;
        Some(recording.text(fact.value).to_owned())
    }
}

/// Enters the threads of the chunk into the dictionary; returns the thread id of each pool entry.
fn threads(resolver: &mut Resolver<'_, '_>, recording: &mut Recording) -> Vec<i64> {
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
