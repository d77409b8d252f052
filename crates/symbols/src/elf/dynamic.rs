//! The dynamic table: the dynamic linker reads it, so it exists even in a file that was stripped of its section
//! headers.

use object::LittleEndian as LE;
use object::elf::{
    DF_1_NOW, DF_BIND_NOW, DT_BIND_NOW, DT_FLAGS, DT_FLAGS_1, DT_GNU_HASH, DT_HASH, DT_JMPREL, DT_NEEDED, DT_NULL,
    DT_PLTRELSZ, DT_SONAME, DT_STRSZ, DT_STRTAB, DT_SYMTAB, Dyn64, DynamicTag,
};
use object::pod;

use super::headers::{Headers, SegmentKind};
use super::{ReadAt, read_part, text_at};

/// A dynamic table has a few dozen entries, or one per needed library.
const LARGEST_TABLE_BYTES: u64 = 1 << 20;

/// Symbols that share a hash bucket; a table with more is damaged.
const LONGEST_CHAIN: u64 = 1 << 16;
/// Programs ask for some dozens.
const MOST_NEEDED: usize = 1024;

/// When the dynamic linker looks up the functions of other libraries that an image calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binding {
    /// Each at its first call, unless `LD_BIND_NOW` is set: a first call can wait for a disk.
    Lazy,
    /// All when it is loaded.
    Now,
    /// It calls no function of another library through the linkage table.
    None,
}

/// The dynamic table.
#[derive(Debug)]
pub(crate) struct Dynamic {
    entries: Vec<(DynamicTag, u64)>,
    pub(crate) binding: Binding,
    pub(crate) soname: Option<String>,
    pub(crate) needed: Vec<String>,
}

impl Dynamic {
    pub(crate) fn read(file: &dyn ReadAt, headers: &Headers) -> Dynamic {
        let entries = read_entries(file, headers).unwrap_or_default();
        let mut dynamic = Dynamic { entries, binding: Binding::None, soname: None, needed: Vec::new() };
        dynamic.binding = dynamic.find_binding();
        if let Some(texts) = dynamic.texts(file, headers) {
            let text = |offset: u64| Some(text_at(&texts, usize::try_from(offset).ok()?).to_owned());
            let text = |offset| text(offset).filter(|text| !text.is_empty());
            dynamic.soname = dynamic.value(DT_SONAME).and_then(text);
            dynamic.needed = dynamic.values(DT_NEEDED).take(MOST_NEEDED).filter_map(text).collect();
        }
        dynamic
    }

    /// The value of the first entry `tag`.
    pub(crate) fn value(&self, tag: DynamicTag) -> Option<u64> {
        self.values(tag).next()
    }

    fn values(&self, tag: DynamicTag) -> impl Iterator<Item = u64> + '_ {
        self.entries.iter().filter(move |(other, _)| *other == tag).map(|(_, value)| *value)
    }

    /// The bytes of a table that the entry `start` points to, with the size that the entry `size` has.
    pub(crate) fn table<'a>(
        &self,
        file: &'a dyn ReadAt,
        headers: &Headers,
        start: DynamicTag,
        size: DynamicTag,
    ) -> Option<std::borrow::Cow<'a, [u8]>> {
        read_part(file, headers.file_offset_of(self.value(start)?)?, self.value(size)?)
    }

    /// The texts of the dynamic symbols.
    pub(crate) fn texts<'a>(&self, file: &'a dyn ReadAt, headers: &Headers) -> Option<std::borrow::Cow<'a, [u8]>> {
        self.table(file, headers, DT_STRTAB, DT_STRSZ)
    }

    /// Where the dynamic symbols are in the file, and how many.
    pub(crate) fn symbols(&self, file: &dyn ReadAt, headers: &Headers) -> Option<(u64, u64)> {
        let at = headers.file_offset_of(self.value(DT_SYMTAB)?)?;
        let count = self.count_by_hash(file, headers).or_else(|| self.count_by_gnu_hash(file, headers))?;
        Some((at, count))
    }

    fn find_binding(&self) -> Binding {
        let has_flag = |tag, flag: u64| self.value(tag).unwrap_or_default() & flag != 0;
        let is_now =
            self.value(DT_BIND_NOW).is_some() || has_flag(DT_FLAGS, DF_BIND_NOW.0) || has_flag(DT_FLAGS_1, DF_1_NOW.0);
        let calls = self.value(DT_JMPREL).and(self.value(DT_PLTRELSZ)).unwrap_or_default();
        match (is_now, calls) {
            (true, _) => Binding::Now,
            (false, 0) => Binding::None,
            (false, _) => Binding::Lazy,
        }
    }

    /// The old hash table has one chain entry per symbol.
    fn count_by_hash(&self, file: &dyn ReadAt, headers: &Headers) -> Option<u64> {
        let at = headers.file_offset_of(self.value(DT_HASH)?)?;
        Some(u64::from(word(file, at.checked_add(4)?)?))
    }

    /// The GNU hash table does not say how many symbols there are: the last chain, followed to its
    /// end (a set lowest bit), ends at the last symbol.
    fn count_by_gnu_hash(&self, file: &dyn ReadAt, headers: &Headers) -> Option<u64> {
        let at = headers.file_offset_of(self.value(DT_GNU_HASH)?)?;
        let header = |index: u64| Some(u64::from(word(file, at.checked_add(4 * index)?)?));
        let (bucket_count, first, bloom_count) = (header(0)?, header(1)?, header(2)?);
        let buckets_at = at.checked_add(16)?.checked_add(bloom_count * 8)?;
        let buckets = read_part(file, buckets_at, bucket_count * 4)?;
        let last = words(&buckets).max().map(u64::from).filter(|last| *last >= first)?;
        let chains_at = buckets_at.checked_add(bucket_count * 4)?;
        let chain_at = chains_at.checked_add((last - first) * 4)?;
        (0..LONGEST_CHAIN).find_map(|index| match word(file, chain_at.checked_add(4 * index)?) {
            Some(hash) if hash & 1 == 0 => None,
            found => found.map(|_| last + index + 1),
        })
    }
}

fn read_entries(file: &dyn ReadAt, headers: &Headers) -> Option<Vec<(DynamicTag, u64)>> {
    let segment = headers.segments_of(SegmentKind::Dynamic).next()?;
    let size_bytes = segment.file_bytes.min(LARGEST_TABLE_BYTES) / 16 * 16;
    let bytes = read_part(file, segment.file_offset, size_bytes)?;
    let raw = pod::slice_from_all_bytes::<Dyn64<LE>>(&bytes).ok()?;
    let entries = raw.iter().map(|entry| (entry.d_tag.get(LE), entry.d_val.get(LE)));
    Some(entries.take_while(|(tag, _)| *tag != DT_NULL).collect())
}

fn word(file: &dyn ReadAt, at: u64) -> Option<u32> {
    words(&file.read_at(at, 4)?).next()
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}
