//! The JSON answer of a range query, series by series: of the whole only one is in memory. Knows no evidence.

use std::fmt;
use std::path::Path;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;

use super::labels::Labels;
use super::parse::{Points, Read, Take};
use crate::{Input, LoadError};

/// A larger file is refused: a query is answered with at most some thousand series of 11,000 points.
const MAX_BYTES: usize = 512 << 20;

/// Where the type of the answer stands at the latest.
const TYPE_WITHIN_BYTES: usize = 4_096;

const MATRIX: &str = "matrix";

/// Why an answer of another type gives nothing.
const ONE_INSTANT: &str = "an answer of Prometheus for one instant; ask for a range: curl -G PROMETHEUS/api/v1/query_range --data-urlencode 'query={instance=\"HOST:PORT\"}' -d start=EPOCH -d end=EPOCH -d step=5 > jvm.json";

/// Whether a file that begins with `head` is an answer of a query.
pub(super) fn is_answer(head: &[u8]) -> bool {
    let near = &head[..head.len().min(TYPE_WITHIN_BYTES)];
    let has = |text: &[u8]| memchr::memmem::find(near, text).is_some();
    near.trim_ascii_start().starts_with(b"{") && has(b"\"resultType\"") && has(b"\"result\"")
}

/// Gives each series to `take`.
pub(super) fn read(file: &Path, take: &mut Take<'_>) -> Result<Read, LoadError> {
    let input = Input::open(file)?;
    if input.len() > MAX_BYTES {
        let says = "an answer of Prometheus of more than 512 MB; ask for fewer series".to_owned();
        return Err(LoadError::Unusable { path: file.to_owned(), says });
    }
    let mut read = Read::default();
    let mut deserializer = serde_json::Deserializer::from_slice(&input);
    let ended = Part(Place::Answer, &mut read, take).deserialize(&mut deserializer).and_then(|()| deserializer.end());
    let says = ended.err().map(|error| match error.classify() {
        Category::Eof => "it ends in the middle of the answer".to_owned(),
        _ => format!("it is damaged: {error}"),
    });
    read.cut = input.cut().map(str::to_owned).or(says);
    Ok(read)
}

/// Where in the answer.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Answer,
    Data,
    Result,
    Series,
}

/// A part of the answer, which fills what was read.
struct Part<'a, 'b>(Place, &'a mut Read, &'a mut Take<'b>);

impl<'de> DeserializeSeed<'de> for Part<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an answer of Prometheus")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Part(place, read, take) = self;
        match place {
            Place::Series => return series(map, read, take),
            // What is a list in a matrix is something else elsewhere.
            Place::Result => return ignore(map),
            Place::Answer | Place::Data => {}
        }
        while let Some(key) = map.next_key::<String>()? {
            match (place, key.as_str()) {
                (Place::Answer, "data") => map.next_value_seed(Part(Place::Data, read, take))?,
                (Place::Data, "resultType") => {
                    let is_matrix = map.next_value::<String>()? == MATRIX;
                    read.refused = (!is_matrix).then_some(ONE_INSTANT);
                }
                (Place::Data, "result") => map.next_value_seed(Part(Place::Result, read, take))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Part(place, read, take) = self;
        if place != Place::Result || read.refused.is_some() {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        while list.next_element_seed(Part(Place::Series, read, take))?.is_some() {}
        Ok(())
    }
}

fn ignore<'de, A: MapAccess<'de>>(mut map: A) -> Result<(), A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

/// `{"metric":{...},"values":[[time,"value"],...]}`. What a cut leaves of its points is given as well.
fn series<'de, A: MapAccess<'de>>(mut map: A, read: &mut Read, take: &mut Take<'_>) -> Result<(), A::Error> {
    let (mut labels, mut points) = (Labels::default(), Points::default());
    let mut fill = || -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "metric" => map.next_value_seed(Metric(&mut labels))?,
                "values" => map.next_value_seed(Values(&mut points))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    };
    let ended = fill();
    points.give(&labels, read, take);
    ended
}

/// The labels of a series.
struct Metric<'a>(&'a mut Labels);

impl<'de> DeserializeSeed<'de> for Metric<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Metric<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("labels")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((label, value)) = map.next_entry()? {
            self.0.add(label, value);
        }
        Ok(())
    }
}

/// The points of a series.
struct Values<'a>(&'a mut Points);

impl<'de> DeserializeSeed<'de> for Values<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Values<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("points")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some((seconds, Number(value))) = list.next_element::<(f64, Number)>()? {
            // Prometheus keeps milliseconds.
            let ms = (seconds * 1e3).round();
            if !ms.is_finite() {
                return Err(A::Error::custom("a time that is none"));
            }
            self.0.add((ms as i64).saturating_mul(1_000_000), value);
        }
        Ok(())
    }
}

/// A value, which stands as text: there are many, and none is kept as one.
struct Number(Option<f64>);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        deserializer.deserialize_str(OfText)
    }
}

struct OfText;

impl Visitor<'_> for OfText {
    type Value = Number;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number as text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
        Ok(Number(text.parse().ok()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const ANSWER: &str = r#"{"status":"success","data":{"resultType":"matrix","result":[
        {"metric":{"__name__":"node_load1","instance":"a:1"},"values":[[1795942908,"1"],[1795942909.5,"NaN"],[1795942910,"2.5e1"]]},
        {"values":[[1795942908,"7"]],"metric":{"job":"x"}}]},"warnings":["w"]}"#;

    fn of(text: &str) -> (Vec<(Option<String>, usize)>, Read) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let mut found = Vec::new();
        let read =
            read(file.path(), &mut |labels, points| found.push((labels.name().map(str::to_owned), points.len())));
        (found, read.unwrap())
    }

    #[test]
    fn series_of_an_answer() {
        assert!(is_answer(ANSWER.as_bytes()));
        let (found, read) = of(ANSWER);
        assert_eq!(found, [(Some("node_load1".to_owned()), 2), (None, 1)]);
        assert_eq!((read.series, read.left_out, read.cut, read.refused), (2, 1, None, None));
    }

    #[test]
    fn what_a_cut_leaves() {
        let (found, read) = of(&ANSWER[..ANSWER.find("[1795942910").unwrap()]);
        assert_eq!(found, [(Some("node_load1".to_owned()), 1)]);
        assert_eq!(read.cut.as_deref(), Some("it ends in the middle of the answer"));
        let instant = r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"2"]}]}}"#;
        let (found, read) = of(instant);
        assert!(found.is_empty() && read.refused.is_some() && read.cut.is_none());
    }
}
