//! Columns of JSON: numbers, or nothing, in arrays of bounded length. Knows no format.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::profiles::SAMPLES_MAX;

/// Numbers of an array; what is none is not a number.
#[derive(Debug, Default, Clone)]
pub(crate) struct Column {
    numbers: Vec<f64>,
    /// Those that there was no room for.
    pub(crate) left_out: i64,
}

impl Column {
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    pub(crate) fn number(&self, row: usize) -> Option<f64> {
        self.numbers.get(row).copied().filter(|value| value.is_finite())
    }

    /// A place in another table.
    pub(crate) fn index(&self, row: usize) -> Option<usize> {
        self.number(row).filter(|value| *value >= 0.0).map(|value| value as usize)
    }
}

/// The first entries of an array: those behind `MAX` are counted.
#[derive(Debug)]
pub(crate) struct First<T, const MAX: usize> {
    pub(crate) entries: Vec<T>,
    pub(crate) left_out: i64,
}

impl<T, const MAX: usize> Default for First<T, MAX> {
    fn default() -> Self {
        First { entries: Vec::new(), left_out: 0 }
    }
}

struct FirstVisitor<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for FirstVisitor<T, MAX> {
    type Value = First<T, MAX>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<First<T, MAX>, A::Error> {
        let mut first = First::default();
        while first.entries.len() < MAX {
            match all.next_element()? {
                Some(entry) => first.entries.push(entry),
                None => return Ok(first),
            }
        }
        while all.next_element::<IgnoredAny>()?.is_some() {
            first.left_out += 1;
        }
        Ok(first)
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for First<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(FirstVisitor(PhantomData))
    }
}

/// A number, a text or nothing.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Scalar {
    pub(crate) number: Option<f64>,
    pub(crate) text: String,
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a number, a text or nothing")
    }

    fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
        Ok(Scalar { number: Some(value), text: String::new() })
    }

    fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
        Ok(Scalar { number: Some(value as f64), text: String::new() })
    }

    fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
        Ok(Scalar { number: Some(value as f64), text: String::new() })
    }

    fn visit_str<E>(self, value: &str) -> Result<Scalar, E> {
        Ok(Scalar { number: None, text: value.to_owned() })
    }

    fn visit_bool<E>(self, _: bool) -> Result<Scalar, E> {
        Ok(Scalar::default())
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Scalar, A::Error> {
        while all.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Scalar, A::Error> {
        while all.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::default())
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Scalar, D::Error> {
        from.deserialize_any(ScalarVisitor)
    }
}

struct ColumnVisitor;

impl<'de> Visitor<'de> for ColumnVisitor {
    type Value = Column;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an array of numbers")
    }

    fn visit_unit<E>(self) -> Result<Column, E> {
        Ok(Column::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Column, A::Error> {
        let mut column = Column::default();
        while let Some(scalar) = all.next_element::<Scalar>()? {
            match column.numbers.len() < SAMPLES_MAX {
                true => column.numbers.push(scalar.number.unwrap_or(f64::NAN)),
                false => column.left_out += 1,
            }
        }
        Ok(column)
    }
}

impl<'de> Deserialize<'de> for Column {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Column, D::Error> {
        from.deserialize_any(ColumnVisitor)
    }
}

/// An array of arrays of places, in two arrays.
#[derive(Debug, Default, Clone)]
pub(crate) struct Lists {
    places: Vec<u32>,
    ends: Vec<usize>,
    /// Lists that there was no room for.
    pub(crate) left_out: i64,
}

impl Lists {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn list(&self, row: usize) -> &[u32] {
        let Some(to) = self.ends.get(row) else { return &[] };
        let from = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.places[from..*to]
    }
}

/// One of the arrays.
struct List<'l>(&'l mut Lists);

impl<'de> DeserializeSeed<'de> for List<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an array of places")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        let is_wanted = self.0.ends.len() < SAMPLES_MAX;
        while let Some(scalar) = all.next_element::<Scalar>()? {
            if is_wanted && self.0.places.len() < PLACES_MAX {
                self.0.places.push(scalar.number.map_or(u32::MAX, |number| number as u32));
            }
        }
        match is_wanted {
            true => self.0.ends.push(self.0.places.len()),
            false => self.0.left_out += 1,
        }
        Ok(())
    }
}

/// Places that are kept of all lists together: 512 MB.
const PLACES_MAX: usize = 1 << 27;

struct ListsVisitor;

impl<'de> Visitor<'de> for ListsVisitor {
    type Value = Lists;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an array of arrays")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Lists, A::Error> {
        let mut lists = Lists::default();
        while all.next_element_seed(List(&mut lists))?.is_some() {}
        Ok(lists)
    }
}

impl<'de> Deserialize<'de> for Lists {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Lists, D::Error> {
        from.deserialize_seq(ListsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_take_what_stands_in_them() {
        let column: Column = serde_json::from_str("[1, null, -1, 2.5, \"x\", [1], {\"a\": 2}]").unwrap();
        assert_eq!(column.len(), 7);
        assert_eq!([0, 1, 2, 3, 4, 9].map(|row| column.index(row)), [Some(1), None, None, Some(2), None, None]);
        let lists: Lists = serde_json::from_str("[[0, 1], [], [2]]").unwrap();
        assert_eq!((lists.len(), lists.list(0), lists.list(1), lists.list(2)), (3, &[0, 1][..], &[][..], &[2][..]));
        assert!(lists.list(9).is_empty());
        let first: First<Scalar, 2> = serde_json::from_str("[1, 2, [3], {}]").unwrap();
        assert_eq!((first.entries.len(), first.left_out), (2, 2));
    }
}
