//! Encodes and decodes the rows of a second: small, fast, and for one version of Fathom only, as they live for a minute or two.
//!
//! Texts come first, then frames and stacks, threads, and each table column by column.

use std::collections::HashMap;

use fathom_evidence::{Column, ColumnMut, Frame, FrameId, Recording, StackId, Stacks, StrId, Strings, Table};

/// Texts of one segment, each once.
#[derive(Default)]
struct Texts {
    numbers: HashMap<StrId, u32>,
    bytes: Vec<u8>,
}

impl Texts {
    fn number(&mut self, id: StrId, strings: &Strings) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(id).or_insert_with(|| {
            let text = strings.get(id).as_bytes();
            self.bytes.extend((text.len() as u32).to_le_bytes());
            self.bytes.extend(text);
            next
        })
    }
}

/// The rows as bytes.
pub(crate) fn encode(segment: &Recording) -> Vec<u8> {
    let (mut texts, mut rows) = (Texts::default(), Vec::new());
    write_stacks(segment, &mut texts, &mut rows);
    rows.extend((segment.threads.len() as u32).to_le_bytes());
    for (tid, thread) in segment.threads.iter() {
        rows.extend(tid.to_le_bytes());
        rows.extend(texts.number(thread.name, &segment.strings).to_le_bytes());
    }
    write(&segment.facts, segment, &mut texts, &mut rows);
    write(&segment.samples, segment, &mut texts, &mut rows);
    write(&segment.spans, segment, &mut texts, &mut rows);
    write(&segment.counters, segment, &mut texts, &mut rows);
    write(&segment.logs, segment, &mut texts, &mut rows);
    write(&segment.losses, segment, &mut texts, &mut rows);
    write(&segment.clocks, segment, &mut texts, &mut rows);
    [&(texts.numbers.len() as u32).to_le_bytes()[..], &texts.bytes, &rows].concat()
}

/// Frames and stacks but for the first of each, which stands for none.
fn write_stacks(segment: &Recording, texts: &mut Texts, rows: &mut Vec<u8>) {
    let stacks = &segment.stacks;
    rows.extend((stacks.frame_count() as u32 - 1).to_le_bytes());
    for frame in (1..stacks.frame_count()).map(|id| stacks.frame(FrameId(id as u32))) {
        for text in [frame.symbol, frame.module, frame.kind] {
            rows.extend(texts.number(text, &segment.strings).to_le_bytes());
        }
        rows.extend(frame.line.to_le_bytes());
    }
    rows.extend((stacks.stack_count() as u32 - 1).to_le_bytes());
    for stack in (1..stacks.stack_count()).map(|id| stacks.stack(StackId(id as u32))) {
        rows.extend(stack.parent.0.to_le_bytes());
        rows.extend(stack.frame.0.to_le_bytes());
    }
}

fn write<T: Table>(table: &T, segment: &Recording, texts: &mut Texts, rows: &mut Vec<u8>) {
    rows.extend((table.len() as u32).to_le_bytes());
    for column in table.values() {
        match column {
            Column::Int64(values) => values.iter().for_each(|value| rows.extend(value.to_le_bytes())),
            Column::Int32(values) => values.iter().for_each(|value| rows.extend(value.to_le_bytes())),
            Column::UInt32(values) => values.iter().for_each(|value| rows.extend(value.to_le_bytes())),
            Column::Float64(values) => values.iter().for_each(|value| rows.extend(value.to_le_bytes())),
            Column::Text(ids) => {
                ids.iter().for_each(|id| rows.extend(texts.number(*id, &segment.strings).to_le_bytes()));
            }
            Column::Stack(ids) => ids.iter().for_each(|id| rows.extend(id.0.to_le_bytes())),
        }
    }
}

/// Bytes of which nothing is believed.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    /// How many follow, each of a byte at least.
    fn count(&mut self) -> Option<usize> {
        let count = self.number()? as usize;
        (count <= self.0.len()).then_some(count)
    }

    fn text(&mut self) -> Option<&str> {
        let length = self.count()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }
}

/// The rows again; nothing of what is damaged.
pub(crate) fn decode(bytes: &[u8]) -> Option<Recording> {
    let (mut cursor, mut segment) = (Cursor(bytes), Recording::default());
    let count = cursor.count()?;
    let mut texts: Vec<String> = Vec::with_capacity(count.min(bytes.len() / 4));
    for _ in 0..count {
        texts.push(cursor.text()?.to_owned());
    }
    let ids: Vec<StrId> = texts.iter().map(|text| segment.strings.intern(text)).collect();
    segment.stacks = read_stacks(&mut cursor, &ids)?;
    for _ in 0..cursor.count()? {
        let (tid, name) = (i64::from_le_bytes(cursor.take()?), cursor.number()? as usize);
        segment.add_thread(tid, texts.get(name)?);
    }
    segment.facts = read(&mut cursor, &ids)?;
    segment.samples = read(&mut cursor, &ids)?;
    segment.spans = read(&mut cursor, &ids)?;
    segment.counters = read(&mut cursor, &ids)?;
    segment.logs = read(&mut cursor, &ids)?;
    segment.losses = read(&mut cursor, &ids)?;
    segment.clocks = read(&mut cursor, &ids)?;
    Some(segment)
}

/// What was written in order has the same ids again.
fn read_stacks(cursor: &mut Cursor<'_>, ids: &[StrId]) -> Option<Stacks> {
    let mut stacks = Stacks::default();
    for _ in 0..cursor.count()? {
        let mut text = || ids.get(cursor.number()? as usize).copied();
        let (symbol, module, kind) = (text()?, text()?, text()?);
        stacks.intern_frame(Frame { symbol, module, kind, line: cursor.number()? });
    }
    for _ in 0..cursor.count()? {
        let (parent, frame) = (StackId(cursor.number()?), FrameId(cursor.number()?));
        stacks.intern(parent, frame);
    }
    Some(stacks)
}

fn read<T: Table>(cursor: &mut Cursor<'_>, ids: &[StrId]) -> Option<T> {
    let mut table = T::default();
    let rows = cursor.count()?;
    for column in table.values_mut() {
        match column {
            ColumnMut::Int64(values) => fill(values, rows, || cursor.take().map(i64::from_le_bytes))?,
            ColumnMut::Int32(values) => fill(values, rows, || cursor.take().map(i32::from_le_bytes))?,
            ColumnMut::UInt32(values) => fill(values, rows, || cursor.take().map(u32::from_le_bytes))?,
            ColumnMut::Float64(values) => fill(values, rows, || cursor.take().map(f64::from_le_bytes))?,
            ColumnMut::Text(values) => fill(values, rows, || ids.get(cursor.number()? as usize).copied())?,
            ColumnMut::Stack(values) => fill(values, rows, || cursor.number().map(StackId))?,
        }
    }
    Some(table)
}

fn fill<V>(values: &mut Vec<V>, rows: usize, mut next: impl FnMut() -> Option<V>) -> Option<()> {
    for _ in 0..rows {
        values.push(next()?);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn segment() -> Recording {
        let mut segment = Recording::default();
        segment.add_fact("jvm", "version", "25", "test");
        segment.add_thread(7, "handler-1");
        segment.add_span(5, 6, 7, "request", ":80", "{}", "requests");
        segment.add_span(8, 9, 7, "request", ":81", "", "requests");
        segment.add_counter(5, "gc_runs_count", "young é", 1.5, "hsperfdata");
        segment.add_loss("requests", "events_lost", 3, "some were lost");
        let [symbol, module, kind] = ["park", "libjvm.so", "native"].map(|text| segment.strings.intern(text));
        let frames = [1, 2].map(|line| segment.stacks.intern_frame(Frame { symbol, module, kind, line }));
        segment.spans.stack_id[1] = segment.stacks.intern_from_root(frames);
        segment
    }

    #[test]
    fn what_was_written_is_read() {
        let before = segment();
        let after = decode(&encode(&before)).unwrap();
        assert_eq!(after.spans.rows().collect::<Vec<_>>().len(), 2);
        let span = after.spans.row(1);
        assert_eq!((span.time_ns, span.duration_ns, after.text(span.name)), (8, 9, ":81"));
        assert_eq!(after.text(after.counters.row(0).instance), "young é");
        assert_eq!((after.counters.row(0).value, after.losses.row(0).count), (1.5, 3));
        let lines: Vec<u32> = after.stacks.leaf_to_root(span.stack_id).map(|frame| frame.line).collect();
        assert_eq!(lines, [2, 1]);
        assert_eq!(
            (after.fact("jvm", "version"), after.text(after.threads.get(7).unwrap().name)),
            (Some("25"), "handler-1")
        );
        assert_eq!(encode(&after), encode(&before));
    }

    #[test]
    fn damage_is_nothing_and_never_a_panic() {
        let bytes = encode(&segment());
        for cut in 0..bytes.len() {
            assert!(decode(&bytes[..cut]).is_none(), "{cut}");
        }
        for at in 0..bytes.len() {
            for change in [1, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= change;
                let _ = decode(&damaged);
            }
        }
    }
}
