//! Takes secrets out of a JFR file in place, so that it can be given away and every tool still reads it.
//!
//! Recordings of others that run at the same time decide with ours what a JVM writes: its properties, its environment, its
//! command line. The texts of these events are masked as those of tables are, and padded to the length that they
//! had: no offset and no size in the file changes. Nothing else of the file is touched, and what cannot be
//! understood is left as it is only if no such event can be in it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use fathom_evidence::mask;
use rustc_hash::FxHashMap;

use super::parse_bytes::{Text, skip_text, text, varint};
use super::parse_chunk::{Chunk, HEADER_BYTES, METADATA, record, split};
use super::parse_metadata::{KnownTypes, Type, Types};
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
    let file: File = OpenOptions::new().write(true).open(path)?;
    changes.iter().try_for_each(|change| file.write_all_at(&change.bytes, change.offset as u64))
}

fn of_chunk<'a>(chunk: &Chunk<'a>, known: &KnownTypes<'a>) -> Vec<Change> {
    let Some(types) = types(chunk, known) else { return Vec::new() };
    let secret = secret(&types);
    let mut changes = Vec::new();
    let mut at = HEADER_BYTES;
    while let Some(event) = record(chunk.data, at) {
        if let Some(kind) = secret.get(&event.type_id) {
            changes.extend(of_event(&chunk.data[..event.end], event.payload, kind, &types));
        }
        at = event.end.max(at + 1);
    }
    changes.iter_mut().for_each(|change| change.offset += chunk.offset);
    changes
}

/// Types of events whose texts are masked.
fn secret(types: &Types) -> FxHashMap<u64, &Type> {
    let is_meant = |name: &str| EVENTS.contains(&name) || !OF_THE_JVM.iter().any(|start| name.starts_with(start));
    types.iter().filter(|(_, kind)| is_meant(&kind.name)).collect()
}

/// The types of a chunk; one that was cut off has metadata of an earlier flush at most.
fn types<'a>(chunk: &Chunk<'a>, known: &KnownTypes<'a>) -> Option<std::sync::Arc<Types>> {
    let stated = record(chunk.data, chunk.metadata).filter(|found| found.type_id == METADATA && chunk.metadata > 0);
    let found = || {
        let mut at = HEADER_BYTES;
        let mut last = None;
        while let Some(record) = record(chunk.data, at) {
            last = if record.type_id == METADATA { Some(record) } else { last };
            at = record.end.max(at + 1);
        }
        last
    };
    let metadata = stated.or_else(found)?;
    known.parse(&chunk.data[metadata.payload..metadata.end])
}

/// The changes of one event, whose fields stand one after the other.
fn of_event(data: &[u8], payload: usize, kind: &Type, types: &Types) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut at = payload;
    let mut name = String::new();
    for field in &kind.fields {
        let is_text = !field.pooled && types.get(field.type_id).is_some_and(|kind| kind.name == "java.lang.String");
        let next = if is_text { skip_text(data, at) } else { varint(data, at).map(|(_, end)| end) };
        // A field that cannot be told ends the event: what follows would be taken for something else.
        let Some(next) = next else { break };
        if is_text && let Some((Text::Inline(text), _)) = text(data, at) {
            match field.name.as_str() {
                "key" => name = text.into_owned(),
                "name" if kind.name.starts_with("jdk.StringFlag") => name = text.into_owned(),
                field => changes.extend(change(data, at, next, &text, &masked(&kind.name, field, &name, &text))),
            }
        }
        at = next;
    }
    changes
}

/// The text without its secrets.
fn masked(kind: &str, field: &str, name: &str, text: &str) -> String {
    match field {
        "value" | "oldValue" | "newValue" if kind.starts_with("jdk.StringFlag") => mask::flag(name, text).into_owned(),
        "value" if EVENTS.contains(&kind) => mask::value(name, text).into_owned(),
        "jvmArguments" | "jvmFlags" => mask::options(text).into_owned(),
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
