//! Names of methods, from the JVM's descriptions of them.

use rustc_hash::FxHashMap;

use super::layout::Layout;
use super::memory::{Field, LONGEST_NAME_BYTES, number};
use crate::elf::ReadAt;

/// Names that are kept; a JVM has some ten thousand methods that run.
const MOST_NAMES: usize = 1 << 16;

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

#[cfg(test)]
mod tests {
    use super::super::memory::text;
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
