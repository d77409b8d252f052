//! Constant pools: values that events refer to by key, written in checkpoints.
//!
//! Checkpoints form a chain from the last one back to the first; a chunk without a trustworthy header is searched for
//! them record by record. Values are not decoded here: a pool remembers where each value starts, and the code that
//! needs a value decodes it once. Keys are any 64-bit number, but most pools number their values densely, so that a
//! lookup is an array access.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::parse_bytes::varint;
use super::parse_chunk::{CHECKPOINT, Chunk, HEADER_BYTES, METADATA, record};
use super::parse_map::KeyMap;
use super::parse_metadata::{KnownTypes, Types};
use super::parse_plan::Plan;
use super::parse_stacks::{RawStacks, STACK_TYPE, StackReader};

/// Room made ahead for a pool; a stated count beyond it has to prove itself value by value.
const RESERVE: u64 = 1 << 16;

/// The values of one type.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// Key and offset of each value, later checkpoints last.
    entries: Vec<(u64, usize)>,
    index: Index,
}

/// From key to entry.
#[derive(Debug)]
enum Index {
    /// Entry + 1 of the key `base + position`; 0 where there is none.
    Dense {
        base: u64,
        entries: Vec<u32>,
    },
    Sparse(KeyMap),
}

impl Default for Index {
    fn default() -> Self {
        Index::Dense { base: 0, entries: Vec::new() }
    }
}

impl Index {
    /// Keys may be spread this much thinner than densely before a hash table takes less.
    const SPREAD: u64 = 32;

    fn new(entries: &[(u64, usize)]) -> Index {
        let base = entries.iter().map(|entry| entry.0).min().unwrap_or(0);
        let last = entries.iter().map(|entry| entry.0).max().unwrap_or(0);
        let numbered = (1_u32..).zip(entries);
        if last - base > (entries.len() as u64 + 64) * Index::SPREAD {
            let mut sparse = KeyMap::with_room(entries.len());
            numbered.for_each(|(number, entry)| sparse.insert(entry.0, number));
            return Index::Sparse(sparse);
        }
        let mut dense = vec![0; (last - base) as usize + 1];
        for (number, entry) in numbered {
            dense[(entry.0 - base) as usize] = number;
        }
        Index::Dense { base, entries: dense }
    }

    #[inline]
    fn find(&self, key: u64) -> Option<usize> {
        let number = match self {
            Index::Dense { base, entries } => *entries.get(key.wrapping_sub(*base) as usize)?,
            Index::Sparse(entries) => entries.get(key),
        };
        (number as usize).checked_sub(1)
    }
}

impl Pool {
    /// The number of the value with `key`, less than [`Pool::len`].
    #[inline]
    pub(super) fn number(&self, key: u64) -> Option<usize> {
        self.index.find(key)
    }

    /// Where the value with `key` starts.
    pub(super) fn offset(&self, key: u64) -> Option<usize> {
        self.number(key).map(|number| self.entries[number].1)
    }

    /// Key and offset of each value in order of their numbers.
    pub(super) fn entries(&self) -> &[(u64, usize)] {
        &self.entries
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

/// All pools of a chunk by type.
#[derive(Debug, Default)]
pub(super) struct Pools {
    pools: FxHashMap<u64, Pool>,
    none: Pool,
    /// The values of the pool of stacks.
    pub(super) stacks: RawStacks,
    /// Offsets of checkpoints that could not be read to their end.
    pub(super) damaged: Vec<usize>,
}

impl Pools {
    /// The pool of `type_id`; an empty one when there is none.
    pub(super) fn get(&self, type_id: u64) -> &Pool {
        self.pools.get(&type_id).unwrap_or(&self.none)
    }

    /// Reads the checkpoints at `offsets`.
    pub(super) fn read(chunk: &Chunk<'_>, types: &Types, offsets: &[usize]) -> Pools {
        let mut reader = PoolReader {
            types,
            stack_type: types.id_of(STACK_TYPE),
            stacks: StackReader::new(types),
            plans: FxHashMap::default(),
            pools: FxHashMap::default(),
        };
        let mut damaged = Vec::new();
        for offset in offsets {
            if reader.checkpoint(chunk.data, *offset).is_none() {
                damaged.push(*offset);
            }
        }
        let finish = |(id, entries): (u64, Vec<(u64, usize)>)| (id, Pool { index: Index::new(&entries), entries });
        let stacks = reader.stacks.map(|stacks| stacks.raw).unwrap_or_default();
        Pools { pools: reader.pools.into_iter().map(finish).collect(), none: Pool::default(), stacks, damaged }
    }
}

struct PoolReader<'a> {
    types: &'a Types,
    stack_type: Option<u64>,
    stacks: Option<StackReader>,
    plans: FxHashMap<u64, Option<Plan>>,
    pools: FxHashMap<u64, Vec<(u64, usize)>>,
}

impl PoolReader<'_> {
    fn checkpoint(&mut self, data: &[u8], offset: usize) -> Option<()> {
        let record = record(data, offset)?;
        let data = &data[..record.end];
        let mut at = checkpoint_head(data, record.payload)?.1;
        let (pools, next) = varint(data, at)?;
        at = next;
        for _ in 0..pools {
            at = self.pool(data, at)?;
        }
        Some(())
    }

    fn pool(&mut self, data: &[u8], at: usize) -> Option<usize> {
        let (type_id, at) = varint(data, at)?;
        let (count, mut at) = varint(data, at)?;
        let types = self.types;
        let plan = self.plans.entry(type_id).or_insert_with(|| Plan::compile(types, type_id)).as_ref()?;
        let entries = self.pools.entry(type_id).or_default();
        entries.reserve(count.min(RESERVE) as usize);
        if let Some(stacks) = self.stacks.as_mut().filter(|_| Some(type_id) == self.stack_type) {
            return stacks.stacks(data, at, count, |key, value| entries.push((key, value)));
        }
        for _ in 0..count {
            let (key, value) = varint(data, at)?;
            at = plan.skip(data, value)?;
            entries.push((key, value));
        }
        Some(at)
    }
}

/// Distance to the checkpoint before, and where the pools start.
fn checkpoint_head(data: &[u8], payload: usize) -> Option<(i64, usize)> {
    let (_start, at) = varint(data, payload)?;
    let (_duration, at) = varint(data, at)?;
    let (delta, at) = varint(data, at)?;
    // A byte of flags tells what kind of checkpoint it is; all kinds hold pools.
    Some((delta as i64, at + 1))
}

/// Where the tables of a chunk are.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) types: Arc<Types>,
    /// Offsets of all checkpoints in the order of the file.
    pub(super) checkpoints: Vec<usize>,
}

/// Finds metadata and checkpoints through the header, or where that fails by walking the records.
pub(super) fn layout<'a>(chunk: &Chunk<'a>, known: &KnownTypes<'a>) -> Option<Layout> {
    let stated = || Some((metadata_at(chunk.data, chunk.metadata, known)?, chain(chunk)?));
    if let Some((types, checkpoints)) = chunk.complete.then(stated).flatten() {
        return Some(Layout { types, checkpoints });
    }
    let (metadata, checkpoints) = walk(chunk.data);
    // A later metadata record knows all types of an earlier one and more.
    let types = metadata.iter().rev().find_map(|offset| metadata_at(chunk.data, *offset, known))?;
    Some(Layout { types, checkpoints })
}

fn metadata_at<'a>(data: &'a [u8], offset: usize, known: &KnownTypes<'a>) -> Option<Arc<Types>> {
    let record = record(data, offset).filter(|record| record.type_id == METADATA)?;
    known.parse(&data[record.payload..record.end])
}

fn chain(chunk: &Chunk<'_>) -> Option<Vec<usize>> {
    let mut offsets = Vec::new();
    let mut at = chunk.checkpoint;
    // The chain only goes back, and no checkpoint reaches into the next: otherwise a short file could make
    // us read the same bytes over and over.
    let mut limit = chunk.data.len();
    loop {
        let record = record(chunk.data, at).filter(|record| record.type_id == CHECKPOINT && record.end <= limit)?;
        limit = at;
        offsets.push(at);
        let (delta, _) = checkpoint_head(chunk.data, record.payload)?;
        if delta == 0 {
            offsets.reverse();
            return Some(offsets);
        }
        let back = usize::try_from(delta.checked_neg()?).ok()?;
        at = at.checked_sub(back).filter(|at| *at >= HEADER_BYTES)?;
    }
}

fn walk(data: &[u8]) -> (Vec<usize>, Vec<usize>) {
    let (mut metadata, mut checkpoints) = (Vec::new(), Vec::new());
    let mut at = HEADER_BYTES;
    while let Some(record) = record(data, at) {
        match record.type_id {
            METADATA => metadata.push(at),
            CHECKPOINT => checkpoints.push(at),
            _ => {}
        }
        at = record.end;
    }
    (metadata, checkpoints)
}
