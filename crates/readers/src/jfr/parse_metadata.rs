//! The metadata of a chunk: which types it has, their fields, and the units of the fields.
//!
//! Type ids, field order and even the set of fields differ between JDKs, between vendors and from
//! chunk to chunk, so nothing else in the reader knows them. The metadata is a table of strings
//! and a tree of elements whose names and attributes refer to it.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::parse_bytes::{Text, text, varint};

/// Largest metadata that is read, and most types; real ones have some 100 KB and 3,000. Both bound the memory
/// and time that a hostile file can cost.
const MAX_BYTES: usize = 16 << 20;
const MAX_TYPES: usize = 20_000;

/// How deep elements may nest. Real ones are four deep: root, metadata, class, field, annotation.
const MAX_DEPTH: usize = 16;

/// What a number means, from the annotations of its field.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// As it stands.
    #[default]
    Plain,
    /// A length of time in ticks of the chunk's clock.
    SpanTicks,
    /// A length of time of that many nanoseconds a unit.
    SpanNs(i64),
    /// An instant in ticks of the chunk's clock.
    InstantTicks,
    /// An instant since the Unix epoch, of that many nanoseconds a unit.
    InstantNs(i64),
}

/// A field of a type.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) type_id: u64,
    /// Whether the file holds a key of the type's constant pool instead of the value.
    pub(super) pooled: bool,
    /// Whether the file holds a count and that many values.
    pub(super) array: bool,
    pub(super) unit: Unit,
    pub(super) unsigned: bool,
}

/// A type: an event, a struct or a primitive.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Type {
    pub(super) name: String,
    pub(super) fields: Vec<Field>,
}

/// All types of a chunk by id.
#[derive(Debug, Default)]
pub(super) struct Types {
    by_id: FxHashMap<u64, Type>,
    by_name: FxHashMap<String, u64>,
}

impl Types {
    pub(super) fn get(&self, id: u64) -> Option<&Type> {
        self.by_id.get(&id)
    }

    pub(super) fn id_of(&self, name: &str) -> Option<u64> {
        self.by_name.get(name).copied()
    }

    /// Id and type of every type.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Type)> {
        self.by_id.iter().map(|(id, kind)| (*id, kind))
    }

    fn add(&mut self, id: u64, kind: Type) {
        self.by_name.insert(kind.name.clone(), id);
        self.by_id.insert(id, kind);
    }
}

impl FromIterator<(u64, Type)> for Types {
    fn from_iter<I: IntoIterator<Item = (u64, Type)>>(items: I) -> Self {
        let mut types = Types::default();
        items.into_iter().for_each(|(id, kind)| types.add(id, kind));
        types
    }
}

/// Metadata that were parsed already: the chunks of a recorder repeat theirs byte for byte.
#[derive(Default)]
pub(super) struct KnownTypes<'a>(Mutex<Vec<(&'a [u8], Arc<Types>)>>);

impl<'a> KnownTypes<'a> {
    /// Most different ones that are remembered.
    const MAX: usize = 4;

    /// The types in the payload of a metadata record.
    pub(super) fn parse(&self, payload: &'a [u8]) -> Option<Arc<Types>> {
        let mut at = 0;
        // Start, duration and id of the metadata differ from chunk to chunk.
        for _ in 0..3 {
            at = varint(payload, at)?.1;
        }
        let payload = &payload[at..];
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, types)) = known().iter().find(|(bytes, _)| *bytes == payload) {
            return Some(Arc::clone(types));
        }
        let types = Arc::new(parse(payload)?);
        let mut known = known();
        if known.len() < KnownTypes::MAX {
            known.push((payload, Arc::clone(&types)));
        }
        Some(types)
    }
}

/// Parses strings and elements.
fn parse(payload: &[u8]) -> Option<Types> {
    if payload.len() > MAX_BYTES {
        return None;
    }
    let mut at = 0;
    let strings = strings(payload, &mut at)?;
    let mut tree = Tree { data: payload, at, strings: &strings };
    let root = tree.element(0)?;
    types(&root)
}

fn strings<'a>(data: &'a [u8], at: &mut usize) -> Option<Vec<Text<'a>>> {
    let (count, mut next) = varint(data, *at)?;
    let count = usize::try_from(count).ok().filter(|count| *count <= data.len() - next)?;
    let mut strings = Vec::with_capacity(count);
    for _ in 0..count {
        let (string, end) = text(data, next)?;
        strings.push(string);
        next = end;
    }
    *at = next;
    Some(strings)
}

/// An element of the tree; names and values are still texts.
struct Element<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
    children: Vec<Element<'a>>,
}

impl<'a> Element<'a> {
    fn attribute(&self, key: &str) -> Option<&'a str> {
        self.attributes.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    fn number(&self, key: &str) -> Option<u64> {
        // Ids are written as signed numbers.
        self.attribute(key)?.parse::<i64>().ok().map(|id| id as u64)
    }

    fn named(&self, name: &'static str) -> impl Iterator<Item = &Element<'a>> {
        self.children.iter().filter(move |child| child.name == name)
    }
}

struct Tree<'a> {
    data: &'a [u8],
    at: usize,
    strings: &'a [Text<'a>],
}

impl<'a> Tree<'a> {
    fn number(&mut self) -> Option<usize> {
        let (value, end) = varint(self.data, self.at)?;
        self.at = end;
        usize::try_from(value).ok()
    }

    fn string(&mut self) -> Option<&'a str> {
        let index = self.number()?;
        match self.strings.get(index)? {
            Text::Inline(string) => Some(string),
            Text::Null | Text::Pooled(_) => Some(""),
        }
    }

    fn element(&mut self, depth: usize) -> Option<Element<'a>> {
        if depth > MAX_DEPTH {
            return None;
        }
        let name = self.string()?;
        // Counts are not used to allocate: each item is read, and the data ends before long.
        let attributes = self.list(|tree| Some((tree.string()?, tree.string()?)))?;
        let children = self.list(|tree| tree.element(depth + 1))?;
        Some(Element { name, attributes, children })
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(item(self)?);
        }
        Some(items)
    }
}

fn types(root: &Element<'_>) -> Option<Types> {
    let classes: Vec<&Element<'_>> = root.named("metadata").flat_map(|metadata| metadata.named("class")).collect();
    if classes.len() > MAX_TYPES {
        return None;
    }
    let names: FxHashMap<u64, &str> =
        classes.iter().filter_map(|class| Some((class.number("id")?, class.attribute("name")?))).collect();
    let kind = |class: &Element<'_>| {
        let fields = class.named("field").filter_map(|element| field(element, &names)).collect();
        Some((class.number("id")?, Type { name: current_name(class.attribute("name")?), fields }))
    };
    Some(classes.into_iter().filter_map(kind).collect())
}

/// JDK 9 and 10 have the same types under names of their own.
fn current_name(name: &str) -> String {
    const FORMER: [(&str, &str); 2] = [("com.oracle.jdk.", "jdk."), ("com.oracle.jfr.types.", "jdk.types.")];
    let rest = |(former, current)| Some(format!("{current}{}", name.strip_prefix(former)?));
    FORMER.into_iter().find_map(rest).unwrap_or_else(|| name.to_owned())
}

fn field(element: &Element<'_>, names: &FxHashMap<u64, &str>) -> Option<Field> {
    let mut field = Field {
        name: element.attribute("name")?.to_owned(),
        type_id: element.number("class")?,
        pooled: element.attribute("constantPool") == Some("true"),
        array: element.attribute("dimension").is_some_and(|dimension| dimension != "0"),
        ..Field::default()
    };
    for annotation in element.named("annotation") {
        let name = annotation.number("class").and_then(|id| names.get(&id)).copied().unwrap_or("");
        annotate(&mut field, name, annotation.attribute("value").unwrap_or(""));
    }
    Some(field)
}

fn annotate(field: &mut Field, annotation: &str, value: &str) {
    match annotation {
        "jdk.jfr.Unsigned" => field.unsigned = true,
        "jdk.jfr.Timestamp" => {
            field.unit = match value {
                "TICKS" => Unit::InstantTicks,
                "MILLISECONDS_SINCE_EPOCH" => Unit::InstantNs(1_000_000),
                "NANOSECONDS_SINCE_EPOCH" => Unit::InstantNs(1),
                _ => Unit::Plain,
            }
        }
        "jdk.jfr.Timespan" => {
            field.unit = match value {
                "TICKS" => Unit::SpanTicks,
                "NANOSECONDS" => Unit::SpanNs(1),
                "MICROSECONDS" => Unit::SpanNs(1_000),
                "MILLISECONDS" => Unit::SpanNs(1_000_000),
                "SECONDS" => Unit::SpanNs(1_000_000_000),
                _ => Unit::Plain,
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::current_name;

    #[test]
    fn types_of_jdk_9_have_the_names_of_today() {
        for (former, current) in [
            ("com.oracle.jdk.GarbageCollection", "jdk.GarbageCollection"),
            ("com.oracle.jfr.types.StackTrace", "jdk.types.StackTrace"),
            ("jdk.GarbageCollection", "jdk.GarbageCollection"),
            ("com.oracle.jdkless", "com.oracle.jdkless"),
            ("profiler.Log", "profiler.Log"),
        ] {
            assert_eq!(current_name(former), current);
        }
    }
}
