//! What chunks have in common: a group of frames that was seen before, in this chunk or an earlier one, is recognised
//! by its bytes and not decoded again.
//!
//! Stacks are found by a hash of all their bytes from the root on. It has 96 bits and a secret start value, so no file
//! can be made with a collision, and among a billion groups a collision happens by chance once in 10^11 files.

use std::hash::{BuildHasher, Hasher, RandomState};

use rustc_hash::FxHashMap;

use fathom_evidence::{FrameId, StackId, memory};

/// Smallest tables, as powers of two.
const MIN_GROUP_BITS: u32 = 12;
const MIN_FRAME_BITS: u32 = 10;

/// Secret numbers of this run.
#[derive(Debug, Clone)]
pub(super) struct Secrets([u64; 4]);

impl Secrets {
    fn new() -> Secrets {
        let state = RandomState::new();
        Secrets([1_u64, 2, 3, 4].map(|number| {
            let mut hasher = state.build_hasher();
            hasher.write_u64(number);
            hasher.finish() | 1
        }))
    }
}

/// A hash of the bytes of some groups of frames, from the root on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Hash {
    first: u64,
    second: u64,
}

impl Hash {
    /// Of nothing.
    pub(super) fn new(secrets: &Secrets) -> Hash {
        Hash { first: secrets.0[0], second: secrets.0[1] }
    }

    /// Of these bytes after those before.
    #[inline]
    pub(super) fn with(mut self, bytes: &[u8], secrets: &Secrets) -> Hash {
        // The length keeps apart what differs by padding only.
        self.first ^= bytes.len() as u64;
        let mut rest = bytes;
        while let Some((words, more)) = rest.split_first_chunk::<16>() {
            self = self.add(u128::from_le_bytes(*words), secrets);
            rest = more;
        }
        match (rest, bytes.last_chunk::<16>()) {
            ([], _) => self,
            (_, Some(last)) => self.add(u128::from_le_bytes(*last), secrets),
            (few, None) => {
                let mut words = [0; 16];
                words[..few.len()].copy_from_slice(few);
                self.add(u128::from_le_bytes(words), secrets)
            }
        }
    }

    #[inline(always)]
    fn add(self, words: u128, secrets: &Secrets) -> Hash {
        let (low, high) = (words as u64, (words >> 64) as u64);
        Hash {
            first: fold(self.first ^ low, secrets.0[2] ^ high),
            second: fold(self.second ^ high, secrets.0[3] ^ low),
        }
    }
}

/// Both halves of a product.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Stacks by the hash of their groups.
pub(super) struct Groups {
    /// Hash and stack id; 0 where there is none.
    slots: Vec<(u64, u32, u32)>,
    bits: u32,
    used: usize,
}

impl Groups {
    fn new(bits: u32) -> Groups {
        Groups { slots: memory::filled(1 << bits), bits, used: 0 }
    }

    /// Makes room for `more` stacks.
    pub(super) fn reserve(&mut self, more: usize) {
        while (self.used + more) * 3 > self.slots.len() * 2 {
            self.grow();
        }
    }

    #[inline]
    pub(super) fn get(&self, hash: Hash) -> Option<StackId> {
        let (_, _, id) = self.slots[self.find(hash)];
        (id != 0).then_some(StackId(id))
    }

    /// Brings what is looked up with `hash` into the caches; what it returns only keeps the compiler from leaving
    /// that out.
    #[inline(always)]
    pub(super) fn warm(&self, hash: Hash) -> u64 {
        self.slots[self.first_slot(hash)].0
    }

    #[inline(always)]
    fn first_slot(&self, hash: Hash) -> usize {
        (hash.first >> (u64::BITS - self.bits)) as usize & (self.slots.len() - 1)
    }

    pub(super) fn insert(&mut self, hash: Hash, id: StackId) {
        let slot = self.find(hash);
        self.used += usize::from(self.slots[slot].2 == 0);
        self.slots[slot] = (hash.first, hash.second as u32, id.0);
        if self.used * 3 > self.slots.len() * 2 {
            self.grow();
        }
    }

    #[inline]
    fn find(&self, hash: Hash) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.first_slot(hash);
        loop {
            let (first, second, id) = self.slots[slot & mask];
            if (first == hash.first && second == hash.second as u32) || id == 0 {
                return slot & mask;
            }
            slot += 1;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let mut larger = Groups::new(self.bits + 1);
        for (first, second, id) in self.slots.iter().filter(|slot| slot.2 != 0) {
            larger.insert(Hash { first: *first, second: u64::from(*second) }, StackId(*id));
        }
        *self = larger;
    }
}

/// Frames by their bytes.
pub(super) struct Frames<'a> {
    /// Those of at most [`Key::BYTES`], which nearly all are: key and frame + 1; 0 where there is none.
    slots: Vec<(Key, u32)>,
    bits: u32,
    used: usize,
    factor: u64,
    large: FxHashMap<&'a [u8], FrameId>,
}

/// The bytes of a frame as a number. Frames with other bytes have other numbers: how long a frame is, its bytes tell
/// themselves.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Key {
    low: u64,
    high: u32,
}

impl Key {
    /// So that a slot has 16 bytes.
    const BYTES: usize = 12;

    /// The bytes `data[from..to]`, if they are not too many and the data go on far enough behind them.
    #[inline(always)]
    fn of(data: &[u8], from: usize, to: usize) -> Option<Key> {
        let (low, high) = *KEY_BITS.get(to.wrapping_sub(from))?;
        let window = data.get(from..)?.first_chunk::<16>()?;
        let words = u128::from_le_bytes(*window);
        Some(Key { low: words as u64 & low, high: (words >> 64) as u32 & high })
    }
}

/// The bits of a key of so many bytes.
static KEY_BITS: [(u64, u32); Key::BYTES + 1] = {
    let mut masks = [(u64::MAX, 0); Key::BYTES + 1];
    let mut bytes = 0;
    while bytes < 8 {
        masks[bytes].0 = (1 << (8 * bytes)) - 1;
        bytes += 1;
    }
    while bytes <= Key::BYTES {
        masks[bytes].1 = ((1_u64 << (8 * (bytes - 8))) - 1) as u32;
        bytes += 1;
    }
    masks
};

impl<'a> Frames<'a> {
    fn new(factor: u64) -> Frames<'a> {
        let (bits, large) = (MIN_FRAME_BITS, FxHashMap::default());
        Frames { slots: memory::filled(1 << bits), bits, used: 0, factor, large }
    }

    /// The frame whose bytes are `data[from..to]`.
    #[inline(always)]
    pub(super) fn get(&self, data: &'a [u8], from: usize, to: usize) -> Option<FrameId> {
        match Key::of(data, from, to) {
            Some(key) => self.slots[self.find(key)].1.checked_sub(1).map(FrameId),
            None => self.get_large(&data[from..to]),
        }
    }

    #[cold]
    fn get_large(&self, bytes: &[u8]) -> Option<FrameId> {
        self.large.get(bytes).copied()
    }

    pub(super) fn insert(&mut self, data: &'a [u8], from: usize, to: usize, frame: FrameId) {
        match Key::of(data, from, to) {
            Some(key) => self.insert_key(key, frame),
            None => drop(self.large.insert(&data[from..to], frame)),
        }
    }

    fn insert_key(&mut self, key: Key, frame: FrameId) {
        let slot = self.find(key);
        self.used += usize::from(self.slots[slot].1 == 0);
        self.slots[slot] = (key, frame.0 + 1);
        if self.used * 3 > self.slots.len() * 2 {
            self.grow();
        }
    }

    #[inline(always)]
    fn find(&self, key: Key) -> usize {
        let mask = self.slots.len() - 1;
        let mixed = (key.low.wrapping_mul(self.factor) ^ u64::from(key.high)).wrapping_mul(self.factor);
        let mut slot = (mixed >> (u64::BITS - self.bits)) as usize;
        while self.slots[slot & mask].0 != key && self.slots[slot & mask].1 != 0 {
            slot += 1;
        }
        slot & mask
    }

    #[cold]
    fn grow(&mut self) {
        self.bits += 1;
        self.used = 0;
        let old = std::mem::replace(&mut self.slots, memory::filled(1 << self.bits));
        for (key, number) in old.iter().filter(|slot| slot.1 != 0) {
            self.insert_key(*key, FrameId(number - 1));
        }
    }
}

/// Everything that is known of frames and stacks by their bytes.
pub(super) struct StackCache<'a> {
    pub(super) secrets: Secrets,
    pub(super) groups: Groups,
    pub(super) frames: Frames<'a>,
}

impl Default for StackCache<'_> {
    fn default() -> Self {
        let secrets = Secrets::new();
        let factor = secrets.0[2];
        StackCache { groups: Groups::new(MIN_GROUP_BITS), frames: Frames::new(factor), secrets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_tell_bytes_and_groups_apart() {
        let secrets = Secrets::new();
        let hash = |groups: &[&[u8]]| groups.iter().fold(Hash::new(&secrets), |hash, bytes| hash.with(bytes, &secrets));
        let bytes: Vec<u8> = (1..=255).collect();
        let mut all = vec![hash(&[])];
        for length in 1..=100 {
            all.extend([
                hash(&[&bytes[..length]]),
                hash(&[&vec![0; length]]),
                hash(&[&bytes[..length], &bytes[..length]]),
            ]);
        }
        for (number, first) in all.iter().enumerate() {
            assert!(all.iter().skip(number + 1).all(|second| second != first), "{number}");
        }
        assert_eq!(hash(&[&bytes, &bytes[3..]]), hash(&[&bytes, &bytes[3..]]));
        assert_ne!(hash(&[&bytes]), Hash::new(&Secrets::new()).with(&bytes, &Secrets::new()), "secrets are");
    }

    #[test]
    fn groups_and_frames_are_found_after_growing() {
        let mut cache = StackCache::default();
        let data: Vec<u8> = (0..40_000_u32).flat_map(|number| number.wrapping_mul(0x9E37_79B1).to_le_bytes()).collect();
        let places: Vec<(usize, usize)> =
            (0..9_000).map(|n| (n * 17, n * 17 + 4 + n % 17)).chain([(data.len() - 5, data.len())]).collect();
        for round in 0..2 {
            for (id, (from, to)) in (1..).zip(&places) {
                let hash = Hash::new(&cache.secrets).with(&data[*from..*to], &cache.secrets);
                if round == 0 {
                    assert_eq!(cache.groups.get(hash), None);
                    assert_eq!(cache.frames.get(&data, *from, *to), None);
                    cache.groups.insert(hash, StackId(id));
                    cache.frames.insert(&data, *from, *to, FrameId(id - 1));
                }
                assert_eq!(cache.groups.get(hash), Some(StackId(id)));
                assert_eq!(cache.frames.get(&data, *from, *to), Some(FrameId(id - 1)), "{from} {to}");
            }
        }
        cache.groups.reserve(100_000);
        assert!(cache.groups.slots.len() > 100_000);
    }
}
