//! Samples: most of the rows of a recording, so nothing here looks anything up by name or hash.

use fathom_evidence::tables::Sample;
use fathom_evidence::{Recording, StackId, StrId, kinds};

use super::load_chunk::Loader;
use super::load_handlers::{Bound, Handler};
use super::load_map::{Event, MAX_SLOTS, Map, Weight};
use super::load_profiler::Profiler;
use super::parse_metadata::Unit;
use super::parse_plan::{Kind, Plan};

/// Makes samples of the events of one type.
pub(super) struct Sampler {
    event: StrId,
    weight: BoundWeight,
    class: Option<Bound>,
    state: Vec<Bound>,
    /// Texts of the states seen last, by the low bits of their keys.
    states: [(u64, StrId); 8],
    is_added_up: bool,
}

enum BoundWeight {
    Time(i64),
    /// Bytes in a field that needs no conversion.
    Bytes(usize),
    Periods(Bound, i64),
    TimeOf(Bound),
    BytesOf(Bound),
}

impl BoundWeight {
    fn bytes(field: Bound) -> BoundWeight {
        match (field.leaf.kind, field.leaf.unit) {
            (Kind::Integer { signed_bits: 64 }, Unit::Plain) => BoundWeight::Bytes(field.slot),
            _ => BoundWeight::BytesOf(field),
        }
    }

    fn of(plan: &Plan, weight: &Weight, profiler: Option<&Profiler>) -> BoundWeight {
        let bind = |path: &str| Bound::of(plan, path);
        let bound = match weight {
            // The JVM's own periods are filled in at the end of the chunk, when they are known.
            Weight::Period => Some(BoundWeight::Time(profiler.map_or(0, Profiler::period_ns))),
            Weight::Periods(path) => {
                bind(path).map(|field| BoundWeight::Periods(field, profiler.map_or(0, Profiler::wall_period_ns)))
            }
            Weight::Time(path) => bind(path).map(BoundWeight::TimeOf),
            Weight::Bytes(path) => bind(path).map(BoundWeight::bytes),
        };
        bound.unwrap_or(BoundWeight::Time(0))
    }
}

impl Loader<'_, '_> {
    /// The sampler for the events of `handler`, if they are samples.
    pub(super) fn sampler(&mut self, handler: &Handler) -> Option<Sampler> {
        let Map::Sample { event, weight, class, state } = handler.sample? else { return None };
        let word = match event {
            Event::Is(word) => word,
            Event::Setting => self.profiler.map_or(kinds::event::EXECUTION, Profiler::event),
        };
        Some(Sampler {
            event: self.out.recording.strings.intern(word),
            weight: BoundWeight::of(&handler.plan, weight, self.profiler),
            class: Bound::of(&handler.plan, class),
            state: state.iter().filter_map(|path| Bound::of(&handler.plan, path)).collect(),
            states: [(u64::MAX, StrId(0)); 8],
            is_added_up: self.bytes.is_some() && handler.is_of_bytes(),
        })
    }

    /// The sample that an event is. Its time is still in ticks.
    #[inline(always)]
    pub(super) fn sample(&mut self, handler: &Handler, sampler: &mut Sampler, slots: &[u64; MAX_SLOTS]) -> Sample {
        let (weight_ns, size_bytes) = match &sampler.weight {
            BoundWeight::Time(time_ns) => (*time_ns, 0),
            BoundWeight::Bytes(slot) => (0, slots[*slot] as i64),
            BoundWeight::Periods(field, period_ns) => (self.amount(field, slots).saturating_mul(*period_ns), 0),
            BoundWeight::TimeOf(field) => (self.amount(field, slots), 0),
            BoundWeight::BytesOf(field) => (0, self.amount(field, slots)),
        };
        Sample {
            time_ns: handler.time.map_or(self.resolver.clock.start_ticks, |slot| slots[slot] as i64),
            tid: self.tid(handler, slots),
            cpu: -1,
            event: sampler.event,
            weight_ns,
            size_bytes,
            state: self.state(sampler, slots),
            stack_id: self.sample_stack(handler, sampler, slots),
        }
    }

    /// Takes a sample that will not be a row of its own; any other comes back.
    #[inline(always)]
    pub(super) fn add_up(&mut self, sampler: &Sampler, sample: Sample) -> Option<Sample> {
        let Some(bytes) = self.bytes.as_mut().filter(|_| sampler.is_added_up) else { return Some(sample) };
        bytes.add(Sample { time_ns: self.resolver.clock.time_ns(sample.time_ns as u64), ..sample });
        None
    }

    /// Puts samples whose time is in ticks into their columns. Divisions take long, but many of them one after
    /// the other do not wait for each other.
    pub(super) fn enter_samples(&mut self, samples: &mut Vec<Sample>) {
        let clock = self.resolver.clock;
        samples.iter_mut().for_each(|sample| sample.time_ns = clock.time_ns(sample.time_ns as u64));
        self.out.recording.samples.extend(samples);
        samples.clear();
    }

    #[inline]
    fn amount(&self, field: &Bound, slots: &[u64]) -> i64 {
        self.integer(field, slots).unwrap_or(0)
    }

    #[inline(always)]
    fn sample_stack(&mut self, handler: &Handler, sampler: &Sampler, slots: &[u64]) -> StackId {
        let number = handler.stack.and_then(|slot| self.stack_number(slots[slot]));
        if sampler.is_added_up {
            return StackId(0);
        }
        let Some(class) = &sampler.class else {
            return number.map_or(StackId(0), |number| self.stacks.get(number));
        };
        let (key, leaf) = (slots[class.slot], &class.leaf);
        let (resolver, recording) = (&mut self.resolver, &mut self.out.recording);
        let last = number.and_then(|number| self.stacks.last_with_class(number, key));
        last.unwrap_or_else(|| self.stacks.with_class(number, key, leaf, resolver, recording))
    }

    #[inline]
    fn state(&mut self, sampler: &mut Sampler, slots: &[u64]) -> StrId {
        let [Bound { slot, leaf }] = sampler.state.as_slice() else {
            return self.first_true(&sampler.state, slots);
        };
        let key = slots[*slot];
        let known = &mut sampler.states[key as usize % 8];
        if known.0 != key || !matches!(leaf.kind, Kind::Key(_)) {
            *known = (key, self.resolver.text_id(&mut self.out.recording.strings, leaf, key));
        }
        known.1
    }

    /// The name of the first of several truth values that is set.
    fn first_true(&mut self, fields: &[Bound], slots: &[u64]) -> StrId {
        let set = fields.iter().find(|bound| slots[bound.slot] != 0);
        set.map_or(StrId(0), |bound| self.out.recording.strings.intern(&bound.leaf.path))
    }

    /// Names sampled allocations plainly when the chunk has no others.
    pub(super) fn name_allocations(&mut self) {
        let Recording { strings, samples, .. } = &mut self.out.recording;
        let (plain, sampled) =
            (strings.intern(kinds::event::ALLOCATION), strings.find(kinds::event::ALLOCATION_SAMPLED));
        let (Some(sampled), events) = (sampled, &mut samples.event[self.samples_before..]) else { return };
        if !events.contains(&plain) {
            events.iter_mut().filter(|event| **event == sampled).for_each(|event| *event = plain);
        }
    }

    /// Gives samples of the JVM's own samplers the period that the chunk's settings state.
    pub(super) fn fill_periods(&mut self) {
        if self.profiler.is_some() {
            return;
        }
        let recording = &mut self.out.recording;
        for (event, word) in
            [("jdk.ExecutionSample", kinds::event::EXECUTION), ("jdk.NativeMethodSample", kinds::event::NATIVE)]
        {
            let (Some(period), word) = (self.periods.get(event), recording.strings.intern(word)) else { continue };
            let samples = &mut recording.samples;
            let of_chunk = samples.event.iter().zip(&mut samples.weight_ns).skip(self.samples_before);
            let of_event = of_chunk.filter(|(event, _)| **event == word);
            of_event.for_each(|(_, weight)| *weight = *period);
        }
    }
}
