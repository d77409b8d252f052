//! Names of methods, from the JVM's descriptions of them.

use rustc_hash::FxHashMap;

use super::code::number;
use super::layout::Layout;
use super::structs::Field;
use crate::elf::ReadAt;

/// Names that are kept; a JVM has some ten thousand methods that run.
const MOST_NAMES: usize = 1 << 16;
/// Longer names are cut: generated classes have some.
const LONGEST_NAME_BYTES: u64 = 1024;
/// What is read of a text at once: most are shorter.
const PIECE_BYTES: u64 = 64;
const PAGE_BYTES: u64 = 4096;

/// Names by the address of the method and of the part of it that never changes: when a class is unloaded, another may come
/// to lie there.
#[derive(Debug, Default, Clone)]
pub(super) struct Names(FxHashMap<(u64, u64), Option<String>>);

impl Names {
    /// `class.method`.
    pub(super) fn of(&mut self, method: u64, layout: &Layout, memory: &dyn ReadAt) -> Option<String> {
        let constant = number(memory, method, layout.method.constant)?;
        if self.0.len() >= MOST_NAMES {
            self.0.clear();
        }
        self.0.entry((method, constant)).or_insert_with(|| name(constant, layout, memory)).clone()
    }
}

fn name(constant: u64, layout: &Layout, memory: &dyn ReadAt) -> Option<String> {
    let of = &layout.method;
    let pool = number(memory, constant, of.pool)?;
    let index = number(memory, constant, of.name_index)?;
    let entry = pool.checked_add(of.pool_bytes)?.checked_add(index.checked_mul(8)?)?;
    let method = symbol(number(memory, entry, Field { place: 0, size_bytes: 8 })?, layout, memory)?;
    let class = number(memory, pool, of.pool_holder)?;
    let class = symbol(number(memory, class, of.class_name)?, layout, memory)?;
    (!class.is_empty() && !method.is_empty()).then(|| format!("{}.{method}", external(&class)))
}

/// A class as people write it. Hidden ones have the address of their loader behind a plus, which the JVM shows as a slash.
fn external(class: &str) -> String {
    class.replace('/', ".").replace("+0x", "/0x")
}

fn symbol(address: u64, layout: &Layout, memory: &dyn ReadAt) -> Option<String> {
    let length = number(memory, address, layout.method.symbol_length)?.min(LONGEST_NAME_BYTES);
    let body = memory.read_at(address.checked_add(layout.method.symbol_body.place)?, length as usize)?;
    let text = std::str::from_utf8(&body).ok()?;
    (!text.chars().any(char::is_control)).then(|| text.to_owned())
}

/// The text at an address, up to its zero; `None` without one, or when there is none.
pub(super) fn text(address: u64, memory: &dyn ReadAt) -> Option<String> {
    let mut text = Vec::new();
    let mut at = address;
    while address != 0 && text.len() < LONGEST_NAME_BYTES as usize {
        // Not beyond a page, behind which nothing may be.
        let size_bytes = PIECE_BYTES.min(PAGE_BYTES - at % PAGE_BYTES);
        let piece = memory.read_at(at, size_bytes as usize)?;
        let end = memchr::memchr(0, &piece);
        text.extend_from_slice(&piece[..end.unwrap_or(piece.len())]);
        if end.is_some() {
            return String::from_utf8(text).ok().filter(|text| !text.is_empty());
        }
        at = at.checked_add(size_bytes)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_the_names_that_people_write() {
        for (internal, expected) in [
            ("java/lang/Object", "java.lang.Object"),
            ("Main", "Main"),
            ("java/lang/invoke/LambdaForm$MH+0x00007f2a30001000", "java.lang.invoke.LambdaForm$MH/0x00007f2a30001000"),
        ] {
            assert_eq!(external(internal), expected);
        }
    }

    #[test]
    fn texts_end_with_a_zero() {
        let long = [b'a'; 200];
        let mut memory = vec![0; 16];
        memory.extend(b"name\0");
        memory.extend(long);
        memory.push(0);
        memory.extend([b'b'; 4096]);
        memory.truncate(4096);
        for (address, expected) in [
            (0, None),
            (16, Some("name")),
            (18, Some("me")),
            (20, None),
            (21, std::str::from_utf8(&long).ok()),
            (222, None),
        ] {
            assert_eq!(text(address, &memory).as_deref(), expected, "{address}");
        }
    }
}
