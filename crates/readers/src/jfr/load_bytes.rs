//! Samples of bytes when only verdicts are wanted. They are most of a recording, and a verdict needs only their sums.
//! So samples of one thread and a short time become one row, and stacks that only they use are not decoded.

use fathom_evidence::StrId;
use fathom_evidence::tables::Sample;

use super::load_handlers::Handlers;
use super::load_map::MAX_SLOTS;
use super::parse_chunk::{HEADER_BYTES, short_record};
use super::parse_pools::Pool;

/// Rows that are gathered before equal ones are looked for: as many as the processor's caches hold.
const GATHERED: usize = 1 << 14;

/// The samples of bytes of a chunk.
#[derive(Debug, Default)]
pub(super) struct Bytes {
    rows: Vec<Sample>,
    /// Rows at the last look for equal ones.
    looked_at: usize,
    /// The last in time stays a row of its own: with it a recording ends.
    latest: Option<Sample>,
}

impl Bytes {
    #[inline]
    pub(super) fn add(&mut self, sample: Sample) {
        let is_latest = self.latest.is_none_or(|latest| latest.time_ns <= sample.time_ns);
        let earlier = if is_latest { self.latest.replace(sample) } else { Some(sample) };
        let Some(sample) = earlier else { return };
        match self.rows.last_mut() {
            Some(last) if together(last) == together(&sample) => put_to(last, &sample),
            _ => self.push(sample),
        }
    }

    fn push(&mut self, sample: Sample) {
        if self.rows.len() >= self.looked_at * 2 + GATHERED {
            self.join();
        }
        self.rows.push(sample);
    }

    /// Makes one row of those that are together.
    fn join(&mut self) {
        self.rows.sort_unstable_by_key(together);
        self.rows.dedup_by(|row, first| {
            let is_same = together(row) == together(first);
            if is_same {
                put_to(first, row);
            }
            is_same
        });
        self.looked_at = self.rows.len();
    }

    pub(super) fn finish(mut self) -> Vec<Sample> {
        self.join();
        self.rows.extend(self.latest);
        self.rows
    }
}

/// What rows have in common that may be one.
fn together(sample: &Sample) -> (i64, i64, StrId) {
    (sample.counts_at_ns(), sample.tid, sample.event)
}

fn put_to(sum: &mut Sample, sample: &Sample) {
    sum.time_ns = sum.time_ns.min(sample.time_ns);
    sum.size_bytes = sum.size_bytes.saturating_add(sample.size_bytes);
}

/// Of each stack of the pool, whether events other than samples of bytes have it.
pub(super) fn wanted_stacks(data: &[u8], handlers: &Handlers, pool: &Pool) -> Vec<bool> {
    let (mut wanted, mut slots) = (vec![false; pool.len()], [0; MAX_SLOTS]);
    let mut at = HEADER_BYTES;
    while let Some(record) = short_record(data, at) {
        at = record.end;
        let handler = handlers.number(record.type_id).map(|number| &handlers.all()[number]);
        let Some((handler, slot)) = handler.filter(|one| !one.is_of_bytes()).and_then(|one| Some((one, one.stack?)))
        else {
            continue;
        };
        let decoded = handler.plan.run(data, record.payload, &mut slots);
        if let Some(number) = decoded.and_then(|_| pool.number(slots[slot])) {
            wanted[number] = true;
        }
    }
    wanted
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fathom_evidence::tables::BYTES_TOGETHER_NS;

    use super::*;

    #[test]
    fn bytes_of_a_thread_and_a_short_time_are_one_row() {
        let sample = |number: i64| Sample {
            time_ns: 7 + number.wrapping_mul(48_271).rem_euclid(50) * BYTES_TOGETHER_NS / 3,
            tid: number % 3,
            event: StrId(number as u32 % 2),
            size_bytes: 1 + number % 1_000,
            ..Sample::default()
        };
        for count in [0, 1, 2, 10, 100_000] {
            let all: Vec<Sample> = (0..count).map(sample).collect();
            let mut bytes = Bytes::default();
            all.iter().for_each(|sample| bytes.add(*sample));
            let rows = bytes.finish();
            let sums = |rows: &[Sample]| {
                let mut sums = BTreeMap::new();
                rows.iter().for_each(|row| *sums.entry(together(row)).or_insert(0) += row.size_bytes);
                sums
            };
            let ends = |rows: &[Sample]| {
                let times = || rows.iter().map(|row| row.time_ns);
                (times().min(), times().max())
            };
            assert_eq!((sums(&rows), ends(&rows)), (sums(&all), ends(&all)));
            assert!(rows.len() <= sums(&all).len() + 1, "{count}");
        }
    }
}
