//! Turns the keys in events into text, thread ids and times: each pool value is decoded once.

use rustc_hash::FxHashMap;

use fathom_evidence::{StrId, Strings};

use super::load_map::MAX_SLOTS;
use super::parse_bytes::{Text, text};
use super::parse_chunk::Clock;
use super::parse_metadata::{Types, Unit};
use super::parse_plan::{Kind, Leaf, Plan};
use super::parse_pools::{Pool, Pools};

/// How far a value may refer to other values: method, class, symbol.
const MAX_DEPTH: usize = 4;

/// Longest symbol, in bytes: a class with a long name must not be copied into each of its methods.
const MAX_SYMBOL: usize = 1_000;
/// Longest text within a row, in bytes: see [`Resolver::short_text`].
const MAX_SHORT: usize = 250;

/// `text` cut to at most `max` bytes.
fn shorten(mut text: String, max: usize) -> String {
    text.truncate(text.floor_char_boundary(max));
    text
}

/// The constants of a chunk.
pub(super) struct Resolver<'p, 'a> {
    pub(super) data: &'a [u8],
    pub(super) types: &'p Types,
    pub(super) pools: &'p Pools,
    pub(super) clock: Clock,
    plans: FxHashMap<u64, Plan>,
    texts: FxHashMap<(u64, u64), StrId>,
    /// Whether async-profiler wrote the chunk.
    pub(super) is_profiler: bool,
    /// Keys that no pool has.
    pub(super) unresolved: u64,
}

impl<'p, 'a> Resolver<'p, 'a> {
    pub(super) fn new(data: &'a [u8], types: &'p Types, pools: &'p Pools, clock: Clock) -> Self {
        let plans = types.iter().filter(|(id, _)| pools.get(*id).len() > 0);
        let plan = |id| Plan::compile(types, id).filter(|plan| plan.slots() <= MAX_SLOTS);
        let plans = plans.filter_map(|(id, _)| Some((id, plan(id)?))).collect();
        Resolver {
            data,
            types,
            pools,
            clock,
            plans,
            texts: FxHashMap::default(),
            is_profiler: is_of_profiler(types),
            unresolved: 0,
        }
    }

    /// The pool of the type `name`.
    pub(super) fn pool(&self, name: &str) -> &'p Pool {
        self.types.id_of(name).map_or(self.pools.get(u64::MAX), |id| self.pools.get(id))
    }

    /// The plan of a type that has a pool.
    pub(super) fn plan(&self, type_id: u64) -> Option<&Plan> {
        self.plans.get(&type_id)
    }

    /// The text of a field, whatever its kind; empty when there is none.
    pub(super) fn text_id(&mut self, strings: &mut Strings, leaf: &Leaf, value: u64) -> StrId {
        let Kind::Key(type_id) = leaf.kind else {
            return strings.intern(&self.text(leaf, value));
        };
        if let Some(id) = self.texts.get(&(type_id, value)) {
            return *id;
        }
        let id = strings.intern(&self.text(leaf, value));
        self.texts.insert((type_id, value), id);
        id
    }

    /// The text of a field, whatever its kind; empty when there is none.
    pub(super) fn text(&mut self, leaf: &Leaf, value: u64) -> String {
        match leaf.kind {
            Kind::Key(type_id) => self.pooled(type_id, value, 0).unwrap_or_default(),
            Kind::Text => self.string(value as usize, 0).unwrap_or_default(),
            Kind::Boolean => (value != 0).to_string(),
            Kind::Float | Kind::Double => float(leaf.kind, value).to_string(),
            Kind::Integer { .. } => self.integer(leaf, value).map(|v| v.to_string()).unwrap_or_default(),
            Kind::Array => String::new(),
        }
    }

    /// The text of a field, cut to a length that every row of a recording may have.
    pub(super) fn short_text(&mut self, leaf: &Leaf, value: u64) -> String {
        shorten(self.text(leaf, value), MAX_SHORT)
    }

    /// The number in a field: times in nanoseconds, everything else as it stands. `None` when it
    /// is no number, or the value by which JFR says that there is none.
    pub(super) fn number(&self, leaf: &Leaf, value: u64) -> Option<f64> {
        match leaf.kind {
            Kind::Float | Kind::Double => Some(float(leaf.kind, value)),
            Kind::Boolean => Some(value as f64),
            _ => self.integer(leaf, value).map(|value| value as f64),
        }
    }

    /// The integer in a field, times in nanoseconds.
    pub(super) fn integer(&self, leaf: &Leaf, value: u64) -> Option<i64> {
        let Kind::Integer { signed_bits } = leaf.kind else { return None };
        let unused = 64 - signed_bits;
        let value = ((value << unused) as i64) >> unused;
        match leaf.unit {
            Unit::Plain => Some(value),
            _ if value == i64::MIN => None,
            Unit::SpanTicks => Some(self.clock.duration_ns(value)),
            Unit::InstantTicks => Some(self.clock.time_ns(value as u64)),
            Unit::SpanNs(scale) | Unit::InstantNs(scale) => Some(value.saturating_mul(scale)),
        }
    }

    /// The text of the value with `key` in the pool of `type_id`.
    pub(super) fn pooled(&mut self, type_id: u64, key: u64, depth: usize) -> Option<String> {
        if depth > MAX_DEPTH {
            return None;
        }
        let Some(offset) = self.pools.get(type_id).offset(key) else {
            self.unresolved += u64::from(key != 0);
            return None;
        };
        match self.types.get(type_id)?.name.as_str() {
            "java.lang.Class" => Some(class_name(&self.part(type_id, offset, "name", depth)?)),
            "java.lang.Thread" => {
                let java = self.part(type_id, offset, "javaName", depth).filter(|name| !name.is_empty());
                java.or_else(|| self.part(type_id, offset, "osName", depth))
            }
            "jdk.types.Method" => {
                let class = self.part(type_id, offset, "type", depth).unwrap_or_default();
                let name = self.part(type_id, offset, "name", depth)?;
                let symbol = if class.is_empty() { name } else { format!("{class}.{name}") };
                Some(shorten(symbol, MAX_SYMBOL))
            }
            // The many small types are a text with a name around it.
            _ => {
                let plan = self.plan(type_id)?;
                let slot = (0..plan.slots()).find(|slot| matches!(plan.leaf(*slot).kind, Kind::Text | Kind::Key(_)))?;
                self.slot_text(type_id, offset, slot, depth)
            }
        }
    }

    /// Class and name of the method behind a field, apart.
    pub(super) fn function(&mut self, leaf: &Leaf, key: u64) -> Option<(String, String)> {
        let Kind::Key(type_id) = leaf.kind else { return None };
        let offset = self.pools.get(type_id).offset(key)?;
        let class = self.part(type_id, offset, "type", 0).unwrap_or_default();
        Some((class, self.part(type_id, offset, "name", 0)?))
    }

    fn part(&mut self, type_id: u64, offset: usize, field: &str, depth: usize) -> Option<String> {
        let slot = self.plan(type_id)?.slot(field)?;
        self.slot_text(type_id, offset, slot, depth)
    }

    fn slot_text(&mut self, type_id: u64, offset: usize, slot: usize, depth: usize) -> Option<String> {
        let plan = self.plan(type_id)?;
        let mut slots = [0; MAX_SLOTS];
        plan.run(self.data, offset, &mut slots)?;
        let value = *slots.get(slot)?;
        match plan.leaf(slot).kind {
            Kind::Key(type_id) => self.pooled(type_id, value, depth + 1),
            Kind::Text => self.string(value as usize, depth + 1),
            _ => None,
        }
    }

    fn string(&mut self, offset: usize, depth: usize) -> Option<String> {
        match text(self.data, offset)?.0 {
            Text::Null => None,
            Text::Inline(string) => Some(string.into_owned()),
            Text::Pooled(key) => self.pooled(self.types.id_of("java.lang.String")?, key, depth + 1),
        }
    }
}

fn float(kind: Kind, bits: u64) -> f64 {
    match kind {
        Kind::Float => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    }
}

/// A class as Java source writes it: `java.lang.Thread`, `byte[]`.
fn class_name(internal: &str) -> String {
    let element = internal.trim_start_matches('[');
    let dimensions = internal.len() - element.len();
    if dimensions == 0 {
        return internal.replace('/', ".");
    }
    let name = match element {
        "B" => "byte",
        "C" => "char",
        "D" => "double",
        "F" => "float",
        "I" => "int",
        "J" => "long",
        "S" => "short",
        "Z" => "boolean",
        class => class.strip_prefix('L').and_then(|class| class.strip_suffix(';')).unwrap_or(class),
    };
    name.replace('/', ".") + &"[]".repeat(dimensions)
}

/// Whether a chunk is async-profiler's.
pub(super) fn is_of_profiler(types: &Types) -> bool {
    types.iter().any(|(_, kind)| kind.name.starts_with("profiler."))
}

#[cfg(test)]
mod tests {
    use super::class_name;

    #[test]
    fn class_names_are_those_of_java_source() {
        for (internal, name) in [
            ("java/lang/Thread", "java.lang.Thread"),
            ("[B", "byte[]"),
            ("[[Ljava/lang/String;", "java.lang.String[][]"),
            ("A$$Lambda/0x7f", "A$$Lambda.0x7f"),
            ("[", "[]"),
            ("", ""),
        ] {
            assert_eq!(class_name(internal), name, "{internal}");
        }
    }
}
