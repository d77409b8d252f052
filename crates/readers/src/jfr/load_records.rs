//! The loop over the records of a chunk: everything in it runs millions of times.

use fathom_evidence::tables::Sample;

use super::load_bytes::Bytes;
use super::load_chunk::Loader;
use super::load_handlers::Handlers;
use super::load_map::MAX_SLOTS;
use super::load_samples::Sampler;
use super::parse_bits::{Bits, Work, on_this_processor};
use super::parse_chunk::{Chunk, HEADER_BYTES, short_record};

/// Samples that are gathered before they go into their columns.
const BATCH: usize = 256;

impl Loader<'_, '_> {
    /// Reads all records.
    pub(super) fn records(&mut self, chunk: &Chunk<'_>, handlers: &Handlers) {
        let mut samplers: Vec<_> = handlers.all().iter().map(|handler| self.sampler(handler)).collect();
        on_this_processor(ReadRecords { loader: self, chunk, handlers, samplers: &mut samplers });
    }

    #[inline(always)]
    fn each_record<B: Bits>(&mut self, chunk: &Chunk<'_>, handlers: &Handlers, samplers: &mut [Option<Sampler>]) {
        let data = chunk.data;
        let mut batch: Vec<Sample> = Vec::with_capacity(BATCH);
        let mut slots = [0; MAX_SLOTS];
        let mut at = HEADER_BYTES;
        while let Some(record) = short_record(data, at) {
            at = record.end;
            let Some(number) = handlers.number(record.type_id) else { continue };
            let handler = &handlers.all()[number];
            if handler.plan.run_by::<B>(data, record.payload, &mut slots).is_none_or(|end| end > record.end) {
                *self.out.damage.events.entry(handler.event).or_default() += 1;
                continue;
            }
            if let Some(sampler) = &mut samplers[number] {
                if batch.len() == BATCH {
                    self.enter_samples(&mut batch);
                }
                let sample = self.sample(handler, sampler, &slots);
                batch.extend(self.add_up(sampler, sample));
            }
            if !handler.actions.is_empty() {
                self.act_on(handler, &slots);
            }
        }
        self.enter_samples(&mut batch);
        let added_up = self.bytes.take().map(Bytes::finish).unwrap_or_default();
        self.out.recording.samples.extend(&added_up);
        self.out.damage.stopped_at = (at < data.len()).then_some(at);
    }
}

/// The loop, see [`Loader::records`].
struct ReadRecords<'r, 'p, 'a> {
    loader: &'r mut Loader<'p, 'a>,
    chunk: &'r Chunk<'r>,
    handlers: &'r Handlers,
    samplers: &'r mut [Option<Sampler>],
}

impl Work for ReadRecords<'_, '_, '_> {
    type Result = ();

    #[inline(always)]
    fn run<B: Bits>(self) {
        self.loader.each_record::<B>(self.chunk, self.handlers, self.samplers);
    }
}
