//! Removes secrets from a JFR file in place, so that it can be shared and every tool still reads it.
//!
//! Other recordings that run at the same time influence what a JVM writes into ours: its properties, its environment,
//! its command line. The texts of these events, and the names of threads, are masked as in tables, and padded to their
//! old length: no offset and no size in the file changes. A text that occurs more than once is in a pool and is found
//! through the events' references. Nothing else in the file is changed. What cannot be understood is left as it is only
//! if it cannot contain such an event.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use fathom_evidence::mask;
use rustc_hash::{FxHashMap, FxHashSet};

use super::parse_bytes::{Text, text, varint};
use super::parse_chunk::{Chunk, HEADER_BYTES, record, split};
use super::parse_metadata::{KnownTypes, Types};
use super::parse_plan::{Kind, Plan};
use super::parse_pools::{Layout, Pools, layout};
use crate::{Input, LoadError};

/// Events of the JVM whose texts may be secrets. Of those that applications define nothing is known, so any may be.
const EVENTS: &[&str] = &[
    "jdk.JVMInformation",
    "jdk.StringFlag",
    "jdk.StringFlagChanged",
    "jdk.InitialSystemProperty",
    "jdk.InitialEnvironmentVariable",
    "jdk.InitialSecurityProperty",
    "jdk.SystemProcess",
    "jdk.ProcessStart",
];

const THREAD: &str = "java.lang.Thread";

/// How names begin that applications do not give to their events.
const OF_THE_JVM: &[&str] = &["jdk.", "java.", "profiler.", "fathom."];

/// Bytes to write at a place of the file.
struct Change {
    offset: usize,
    bytes: Vec<u8>,
}

/// Masks the secrets of a file; how many texts were changed.
pub(crate) fn scrub(path: &Path) -> Result<usize, LoadError> {
    let input = Input::open(path)?;
    let known = KnownTypes::default();
    let changes: Vec<Change> = split(&input).0.iter().flat_map(|chunk| of_chunk(chunk, &known)).collect();
    write(path, &changes).map_err(|source| LoadError::Io { path: path.to_owned(), source })?;
    Ok(changes.len())
}

fn write(path: &Path, changes: &[Change]) -> io::Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let mut file: File = OpenOptions::new().write(true).open(path)?;
    changes.iter().try_for_each(|change| {
        file.seek(SeekFrom::Start(change.offset as u64))?;
        file.write_all(&change.bytes)
    })
}

/// What is known of a chunk, and what is to be changed in it.
struct Scrubbing<'a> {
    data: &'a [u8],
    types: &'a Types,
    pools: Pools,
    /// Places of texts of the pool, with the fields that they were looked at for: many events have the same one.
    looked_at: FxHashSet<(usize, String)>,
    changes: Vec<Change>,
}

fn of_chunk<'a>(chunk: &Chunk<'a>, known: &KnownTypes<'a>) -> Vec<Change> {
    // One that was cut off has metadata of an earlier flush at most.
    let Some(Layout { types, checkpoints }) = layout(chunk, known) else { return Vec::new() };
    let pools = Pools::read(chunk, &types, &checkpoints);
    let (looked_at, changes) = Default::default();
    let mut scrubbing = Scrubbing { data: chunk.data, types: &types, pools, looked_at, changes };
    scrubbing.events();
    scrubbing.threads();
    let mut changes = scrubbing.changes;
    changes.iter_mut().for_each(|change| change.offset += chunk.offset);
    changes
}

/// Types of events whose texts are masked, with how they are laid out.
fn secret(types: &Types) -> FxHashMap<u64, (&str, Plan)> {
    let is_meant = |name: &str| EVENTS.contains(&name) || !OF_THE_JVM.iter().any(|start| name.starts_with(start));
    let meant = types.iter().filter(|(_, kind)| is_meant(&kind.name));
    meant.filter_map(|(id, kind)| Some((id, (kind.name.as_str(), Plan::compile(types, id)?)))).collect()
}

impl Scrubbing<'_> {
    fn events(&mut self) {
        let secret = secret(self.types);
        let mut at = HEADER_BYTES;
        while let Some(event) = record(self.data, at) {
            if let Some((kind, plan)) = secret.get(&event.type_id) {
                self.value(event.payload, event.end, kind, plan);
            }
            at = event.end.max(at + 1);
        }
    }

    /// Their names are in the pool only.
    fn threads(&mut self) {
        let Some(type_id) = self.types.id_of(THREAD) else { return };
        let Some(plan) = Plan::compile(self.types, type_id) else { return };
        let places: Vec<usize> = self.pools.get(type_id).entries().iter().map(|(_, place)| *place).collect();
        places.into_iter().for_each(|place| self.value(place, self.data.len(), THREAD, &plan));
    }

    /// An event, or a value of a pool.
    fn value(&mut self, payload: usize, end: usize, kind: &str, plan: &Plan) {
        let data = &self.data[..end];
        let mut slots = vec![0; plan.slots()];
        if plan.run(data, payload, &mut slots).is_none() {
            return;
        }
        let mut name = String::new();
        for slot in (0..slots.len()).filter(|slot| plan.leaf(*slot).kind == Kind::Text) {
            let (field, at) = (plan.leaf(slot).path.as_str(), slots[slot] as usize);
            match text(data, at) {
                Some((Text::Inline(text), _)) if is_name(kind, field) => name = text.into_owned(),
                Some((Text::Inline(text), next)) => {
                    self.changes.extend(change(data, at, next, &text, &masked(kind, field, &name, &text)));
                }
                Some((Text::Pooled(key), _)) => self.pooled(key, kind, field),
                _ => {}
            }
        }
    }

    /// A text that more than one event has.
    fn pooled(&mut self, key: u64, kind: &str, field: &str) {
        let of_texts = self.types.id_of("java.lang.String").map(|type_id| self.pools.get(type_id));
        let Some(at) = of_texts.and_then(|pool| pool.offset(key)) else { return };
        if let (true, Some((Text::Inline(found), next))) =
            (self.looked_at.insert((at, field.to_owned())), text(self.data, at))
        {
            self.changes.extend(change(self.data, at, next, &found, &masked(kind, field, "", &found)));
        }
    }
}

/// Whether the field tells what the next one is.
fn is_name(kind: &str, field: &str) -> bool {
    field == "key" || field == "name" && kind.starts_with("jdk.StringFlag")
}

/// The text without its secrets.
fn masked(kind: &str, field: &str, name: &str, text: &str) -> String {
    match field {
        "value" | "oldValue" | "newValue" if kind.starts_with("jdk.StringFlag") => mask::flag(name, text).into_owned(),
        "value" if EVENTS.contains(&kind) => mask::value(name, text).into_owned(),
        "jvmArguments" | "jvmFlags" => mask::options(text).into_owned(),
        _ if kind == THREAD => mask::text(&mask::thread_name(text)).into_owned(),
        // A field of an application's event may be called like a secret itself.
        field => mask::flag(field, text).into_owned(),
    }
}

/// What to write for a text that stands at `at..end`; `None` when nothing of it is secret.
fn change(data: &[u8], at: usize, end: usize, text: &str, masked: &str) -> Option<Change> {
    if text == masked {
        return None;
    }
    let start = varint(data, at + 1)?.1;
    let bytes = match data[at] {
        // Characters of their own length each: none of them stays.
        4 => data[start..end].iter().map(|byte| if byte & 0x80 == 0 { b'*' } else { 0x80 | b'*' }).collect(),
        _ => fitted(masked, end - start),
    };
    Some(Change { offset: start, bytes })
}

/// The text with exactly so many bytes: cut at a character, or with blanks behind it.
fn fitted(text: &str, length: usize) -> Vec<u8> {
    let cut = text.floor_char_boundary(length.min(text.len()));
    let mut bytes = text.as_bytes()[..cut].to_vec();
    bytes.resize(length, b' ');
    bytes
}

#[cfg(test)]
mod tests {
    use super::super::parse_bytes::skip_text;
    use super::*;

    #[test]
    fn lengths_stay() {
        for (text, length, expected) in [
            ("[masked]", 8, "[masked]"),
            ("[masked]", 3, "[ma"),
            ("[masked]", 10, "[masked]  "),
            ("aé", 2, "a "),
            ("", 2, "  "),
        ] {
            assert_eq!(fitted(text, length), expected.as_bytes(), "{text}");
        }
    }

    #[test]
    fn texts_of_every_encoding_lose_their_secrets() {
        let secret = "-Dpwd=hunter2é";
        let latin: Vec<u8> = secret.chars().map(|c| c as u8).collect();
        let chars: Vec<u8> =
            secret.chars().flat_map(|c| if c == 'é' { vec![0xe9, 1] } else { vec![c as u8] }).collect();
        for (encoding, count, bytes) in
            [(3, secret.len(), secret.as_bytes()), (5, latin.len(), &latin), (4, latin.len(), &chars)]
        {
            let mut data = [&[encoding, count as u8], bytes].concat();
            let end = skip_text(&data, 0).unwrap();
            let changed = change(&data, 0, end, secret, "-Dpwd=[masked]").unwrap();
            data[changed.offset..][..changed.bytes.len()].copy_from_slice(&changed.bytes);
            let Some((Text::Inline(now), length)) = text(&data, 0) else { panic!("{encoding}") };
            assert!(!now.contains("hunter2") && length == data.len(), "{encoding}: {now}");
        }
    }
}
