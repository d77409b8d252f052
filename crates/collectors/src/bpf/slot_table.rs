//! Tables that programs fill, most of whose entries have a place in an array that is mapped here; the others are in a hash map
//! (`slot_table.bpf.h`).

use std::collections::HashSet;

use super::{MappedArray, Programs, Table, words};
use crate::Refusal;

/// A table whose rows are so many words: the key, the thread in its lower half, and the value.
pub(crate) struct SlotTable<const WORDS: usize> {
    places: MappedArray<WORDS>,
    others: Table,
    /// How many rows went to hash maps, all tables of the programs together.
    spilled: MappedArray<1>,
}

impl<const WORDS: usize> SlotTable<WORDS> {
    /// The table `name` of `programs`.
    pub(crate) fn new(programs: &Programs, name: &str) -> Result<SlotTable<WORDS>, Refusal> {
        Ok(SlotTable {
            places: MappedArray::new(&programs.map(&format!("{name}_places"))?)?,
            others: Table::new(programs.map(name)?),
            spilled: MappedArray::new(&programs.map(".data.spilled")?)?,
        })
    }

    /// Reads what has no place; the others are read as they are asked for.
    pub(crate) fn read(&mut self) {
        if self.spilled.rows().any(|[spilled]| spilled > 0) {
            self.others.read();
        }
    }

    /// All rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = [u64; WORDS]> {
        let row = |(key, value)| {
            let mut all = words(key).chain(words(value));
            std::array::from_fn(|_| all.next().unwrap_or(0))
        };
        self.places.rows().filter(|row| row[0] != 0).chain(self.others.rows().map(row))
    }

    /// Whether more than half of the places or of the room beside them is taken.
    pub(crate) fn is_filling(&self) -> bool {
        self.others.is_filling() || self.places.keys().filter(|key| *key != 0).count() * 2 > self.places.len()
    }

    /// Threads of the rows, once for each; of those without a place, as they were read last.
    pub(crate) fn tids(&self) -> impl Iterator<Item = u32> {
        let others = self.others.rows().filter_map(|(key, _)| words(key).next());
        self.places.keys().filter(|key| *key != 0).chain(others).map(|key| key as u32)
    }

    /// Takes out the rows of threads that have ended.
    pub(crate) fn forget(&self, ended: &HashSet<u32>) {
        self.places.free(|key| ended.contains(&(key as u32)));
        self.others.forget(ended);
    }

    /// Takes out a row whose thread has ended.
    pub(crate) fn remove(&self, key: u64) {
        self.places.free(|other| other == key);
        if self.spilled.rows().any(|[spilled]| spilled > 0) {
            self.others.remove(&key.to_ne_bytes());
        }
    }
}
