//! Decode plans: what to do with the bytes of one type, worked out once per chunk.
//!
//! Decoding by asking the metadata for each field of each event is what makes JFR readers slow.
//! A [`Plan`] is the type flattened (structs that are stored in place included) into a few steps,
//! most often a single run of compressed integers. Running it fills an array of slots, one for each
//! leaf field, whose positions the caller looked up once by name. Steps behind the last wanted field
//! are left out.

use super::parse_bits::{Bits, Portable};
use super::parse_bytes::{skip_text, skip_varints, varint, varints_by};
use super::parse_metadata::{Types, Unit};

/// How deep structs may nest in place, and how many fields a type may have with those of its structs; real
/// ones have 3 and 40. Structs without fields of their own count as well, for they can nest without end.
const MAX_DEPTH: usize = 8;
const MAX_FIELDS: usize = 2_000;

/// What the slot of a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An integer, with the number of bits that it has when it is signed.
    Integer { signed_bits: u32 },
    /// A truth value.
    Boolean,
    /// Bits of an `f32`.
    Float,
    /// Bits of an `f64`.
    Double,
    /// Offset of a string.
    Text,
    /// A key of the constant pool of this type.
    Key(u64),
    /// Offset of a count and that many values.
    Array,
}

/// A field that holds a value, by its path, for example `heapSpace.committedSize`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Leaf {
    pub(super) path: String,
    pub(super) kind: Kind,
    pub(super) unit: Unit,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// That many compressed integers.
    Varints(usize),
    /// One raw byte.
    Byte,
    /// A big-endian value of four bytes.
    Four,
    /// A big-endian value of eight bytes.
    Eight,
    Text,
    /// A count, then that many times these steps.
    Array(Box<[Step]>),
}

/// How to decode a type.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Plan {
    steps: Vec<Step>,
    leaves: Vec<Leaf>,
    /// Fields looked at while compiling.
    fields: usize,
}

impl Plan {
    /// The plan of type `type_id`. `None` when the metadata does not describe it fully, or nonsensically.
    pub(super) fn compile(types: &Types, type_id: u64) -> Option<Plan> {
        let mut plan = Plan::default();
        let kind = types.get(type_id)?;
        match primitive(&kind.name, false) {
            // The pool of a primitive (strings) has bare values.
            Some((kind, step)) => plan.push("", kind, Unit::Plain, step),
            None => plan.struct_fields(types, type_id, "", 0)?,
        }
        Some(plan)
    }

    fn struct_fields(&mut self, types: &Types, type_id: u64, prefix: &str, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        for field in &types.get(type_id)?.fields {
            self.fields += 1;
            if self.fields > MAX_FIELDS {
                return None;
            }
            let path = if prefix.is_empty() { field.name.clone() } else { format!("{prefix}.{}", field.name) };
            let name = types.get(field.type_id)?.name.as_str();
            let single = match (field.pooled, primitive(name, field.unsigned)) {
                (true, _) => Some((Kind::Key(field.type_id), Step::Varints(1))),
                (false, single) => single,
            };
            match (single, field.array) {
                (Some((_, step)), true) => self.push(&path, Kind::Array, field.unit, Step::Array([step].into())),
                (Some((kind, step)), false) => self.push(&path, kind, field.unit, step),
                (None, true) => {
                    let mut item = Plan { fields: self.fields, ..Plan::default() };
                    item.struct_fields(types, field.type_id, "", depth + 1)?;
                    self.fields = item.fields;
                    self.push(&path, Kind::Array, field.unit, Step::Array(item.steps.into()));
                }
                (None, false) => self.struct_fields(types, field.type_id, &path, depth + 1)?,
            }
        }
        Some(())
    }

    fn push(&mut self, path: &str, kind: Kind, unit: Unit, step: Step) {
        match (self.steps.last_mut(), &step) {
            (Some(Step::Varints(count)), Step::Varints(more)) => *count += more,
            _ => self.steps.push(step),
        }
        self.leaves.push(Leaf { path: path.to_owned(), kind, unit });
    }

    /// The slot of the field `path`.
    pub(super) fn slot(&self, path: &str) -> Option<usize> {
        self.leaves.iter().position(|leaf| leaf.path == path)
    }

    /// The field that fills `slot`.
    pub(super) fn leaf(&self, slot: usize) -> &Leaf {
        &self.leaves[slot]
    }

    /// How many slots a run fills.
    pub(super) fn slots(&self) -> usize {
        self.leaves.len()
    }

    /// Forgets everything behind the slots that are wanted. Not for plans that must find the end of a value.
    pub(super) fn keep(&mut self, slots: usize) {
        self.leaves.truncate(slots);
        let mut left = slots;
        let mut steps = Vec::new();
        for step in self.steps.drain(..) {
            if left == 0 {
                break;
            }
            let step = match step {
                Step::Varints(count) => Step::Varints(count.min(left)),
                other => other,
            };
            left -= if let Step::Varints(count) = step { count } else { 1 };
            steps.push(step);
        }
        self.steps = steps;
    }

    /// Decodes the value at `at` into `slots`, which must have room for [`Plan::slots`]; returns its end.
    pub(super) fn run(&self, data: &[u8], at: usize, slots: &mut [u64]) -> Option<usize> {
        self.run_by::<Portable>(data, at, slots)
    }

    /// [`Plan::run`] on a processor of a kind.
    #[inline(always)]
    pub(super) fn run_by<B: Bits>(&self, data: &[u8], at: usize, slots: &mut [u64]) -> Option<usize> {
        match self.steps.as_slice() {
            [Step::Varints(count)] => varints_by::<B>(data, at, slots.get_mut(..*count)?),
            steps => run_steps(steps, data, at, slots),
        }
    }

    /// What a run on the value at `at` would put into `slot`.
    pub(super) fn value(&self, data: &[u8], mut at: usize, slot: usize) -> Option<u64> {
        let mut left = slot;
        for step in &self.steps {
            let here = if let Step::Varints(count) = step { *count } else { 1 };
            if left >= here {
                at = skip_steps(std::slice::from_ref(step), data, at)?;
                left -= here;
            } else if let Step::Varints(_) = step {
                return varint(data, skip_varints(data, at, left as u64)?).map(|(value, _)| value);
            } else {
                return single(step, data, at).map(|(value, _)| value);
            }
        }
        None
    }

    /// The end of the value at `at`.
    pub(super) fn skip(&self, data: &[u8], at: usize) -> Option<usize> {
        skip_steps(&self.steps, data, at)
    }

    /// The plans for a type around its field `array`, an array of structs that are stored in place.
    pub(super) fn around_array(types: &Types, type_id: u64, array: &str) -> Option<ArrayPlan> {
        let field = types.get(type_id)?.fields.iter().find(|field| field.name == array && field.array)?;
        let item = (!field.pooled).then(|| Plan::compile(types, field.type_id))??;
        let whole = Plan::compile(types, type_id)?;
        let slot = whole.slot(array)?;
        let (mut before, mut behind) = (whole.clone(), whole);
        before.keep(slot);
        // An array is a step of its own, so the steps before it are those that were kept.
        behind.steps.drain(..=before.steps.len());
        behind.leaves.drain(..=slot);
        let item_varints = match item.steps.as_slice() {
            [Step::Varints(count)] => u32::try_from(*count).ok(),
            _ => None,
        };
        Some(ArrayPlan { before, item, item_varints, after: behind })
    }
}

/// How to read a type that has an array in the middle.
#[derive(Debug)]
pub(super) struct ArrayPlan {
    pub(super) before: Plan,
    /// One item of the array.
    pub(super) item: Plan,
    /// Of how many compressed integers an item consists, if of nothing else.
    pub(super) item_varints: Option<u32>,
    pub(super) after: Plan,
}

fn run_steps(steps: &[Step], data: &[u8], mut at: usize, slots: &mut [u64]) -> Option<usize> {
    let mut next = 0;
    for step in steps {
        let count = if let Step::Varints(count) = step { *count } else { 1 };
        let slots = slots.get_mut(next..next + count)?;
        next += count;
        match step {
            Step::Varints(_) => at = varints_by::<Portable>(data, at, slots)?,
            _ => (slots[0], at) = single(step, data, at)?,
        }
    }
    Some(at)
}

fn single(step: &Step, data: &[u8], at: usize) -> Option<(u64, usize)> {
    match step {
        Step::Byte => Some((u64::from(*data.get(at)?), at + 1)),
        Step::Four => Some((u64::from(u32::from_be_bytes(data.get(at..at + 4)?.try_into().ok()?)), at + 4)),
        Step::Eight => Some((u64::from_be_bytes(data.get(at..at + 8)?.try_into().ok()?), at + 8)),
        Step::Varints(_) | Step::Text | Step::Array(_) => {
            Some((at as u64, skip_steps(std::slice::from_ref(step), data, at)?))
        }
    }
}

fn skip_steps(steps: &[Step], data: &[u8], mut at: usize) -> Option<usize> {
    for step in steps {
        at = match step {
            Step::Varints(count) => skip_varints(data, at, *count as u64)?,
            Step::Byte => at + 1,
            Step::Four => at + 4,
            Step::Eight => at + 8,
            Step::Text => skip_text(data, at)?,
            Step::Array(item) => skip_array(item, data, at)?,
        };
        if at > data.len() {
            return None;
        }
    }
    Some(at)
}

fn skip_array(item: &[Step], data: &[u8], at: usize) -> Option<usize> {
    let (count, mut at) = varint(data, at)?;
    if let [Step::Varints(each)] = item {
        return skip_varints(data, at, count.checked_mul(*each as u64)?);
    }
    // An item without steps takes no bytes; a huge count of them must not become a long loop.
    if item.is_empty() {
        return Some(at);
    }
    for _ in 0..count {
        at = skip_steps(item, data, at)?;
    }
    Some(at)
}

fn primitive(name: &str, unsigned: bool) -> Option<(Kind, Step)> {
    let integer = |bits| Kind::Integer { signed_bits: if unsigned { 64 } else { bits } };
    match name {
        "boolean" => Some((Kind::Boolean, Step::Byte)),
        "byte" => Some((integer(8), Step::Byte)),
        "short" => Some((integer(16), Step::Varints(1))),
        "char" => Some((Kind::Integer { signed_bits: 64 }, Step::Varints(1))),
        "int" => Some((integer(32), Step::Varints(1))),
        "long" => Some((integer(64), Step::Varints(1))),
        "float" => Some((Kind::Float, Step::Four)),
        "double" => Some((Kind::Double, Step::Eight)),
        "java.lang.String" => Some((Kind::Text, Step::Text)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_metadata::{Field, Type};
    use super::*;

    fn field(name: &str, type_id: u64, pooled: bool, array: bool) -> Field {
        Field { name: name.into(), type_id, pooled, array, ..Field::default() }
    }

    fn types(types: Vec<(u64, &str, Vec<Field>)>) -> Types {
        let named = |(id, name, fields): (u64, &str, _)| (id, Type { name: name.to_owned(), fields });
        types.into_iter().map(named).collect()
    }

    fn primitives() -> Vec<(u64, &'static str, Vec<Field>)> {
        let names = ["int", "long", "byte", "boolean", "float", "double", "java.lang.String"];
        (1..).zip(names).map(|(id, name)| (id, name, Vec::new())).collect()
    }

    #[test]
    fn structs_are_flattened_and_ends_are_found() {
        let mut all = primitives();
        all.push((10, "Space", vec![field("start", 2, false, false), field("name", 7, false, false)]));
        all.push((11, "Frame", vec![field("method", 10, true, false), field("line", 1, false, false)]));
        let fields = vec![
            field("time", 2, false, false),
            field("space", 10, false, false),
            field("frames", 11, false, true),
            field("flag", 4, false, false),
            field("ratio", 5, false, false),
            field("numbers", 1, false, true),
            field("last", 10, true, false),
        ];
        all.push((20, "Event", fields));
        let plan = Plan::compile(&types(all), 20).expect("a plan");
        let data = [0x85, 1, 7, 3, 1, b'x', 2, 9, 8, 9, 8, 1, 0x3f, 0x80, 0, 0, 1, 4, 0x81, 2, /* behind */ 99];
        let mut slots = [0; 16];
        assert_eq!(plan.run(&data, 0, &mut slots), Some(20));
        assert_eq!(plan.skip(&data, 0), Some(20));
        let paths = ["time", "space.start", "space.name", "frames", "flag", "ratio", "numbers", "last"];
        let found = paths.map(|path| slots[plan.slot(path).expect(path)]);
        assert_eq!(found, [133, 7, 3, 6, 1, 0x3f80_0000, 16, 257]);
        let alone = (0..=plan.slots()).map(|slot| plan.value(&data, 0, slot));
        assert!(alone.eq(slots[..plan.slots()].iter().copied().map(Some).chain([None])));
        for cut in 0..20 {
            assert_eq!(plan.run(&data[..cut], 0, &mut slots), None, "{cut}");
            assert_eq!(plan.skip(&data[..cut], 0), None, "{cut}");
        }
    }

    #[test]
    fn types_that_nest_without_end_are_refused() {
        let itself = types(vec![(1, "A", vec![field("a", 1, false, false)])]);
        assert_eq!(Plan::compile(&itself, 1), None);
        let wide = |id: u64| (0..100).map(|n| field(&n.to_string(), id + 1, false, false)).collect::<Vec<_>>();
        let bushy = types((0..7).map(|id| (id, "B", wide(id))).chain([(7, "C", Vec::new())]).collect());
        assert_eq!(Plan::compile(&bushy, 0), None);
    }

    #[test]
    fn counts_beyond_the_data_end_at_once() {
        let mut all = primitives();
        all.push((10, "Nothing", Vec::new()));
        all.push((11, "Many", vec![field("nothings", 10, false, true), field("numbers", 1, false, true)]));
        let plan = Plan::compile(&types(all), 11).expect("a plan");
        let huge = [0xff; 9];
        assert_eq!(plan.skip(&[&huge[..], &huge].concat(), 0), None);
        assert_eq!(plan.skip(&[&huge[..], &[2, 1, 1]].concat(), 0), Some(12));
    }
}
