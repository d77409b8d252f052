//! Names and labels of a series. Knows no evidence.

use std::collections::BTreeMap;

use crate::cursor::Cursor;

/// Labels of a series that are kept; none has so many.
const LABELS_MAX: usize = 64;

/// The label that is the metric's name.
const NAME: &str = "__name__";

/// Labels that say whose a series is: Prometheus puts the first two to each, and discovery of pods the others.
const OF_TARGET: [&str; 4] = ["job", "instance", "namespace", "pod"];

/// The labels of a series.
#[derive(Debug, Default, Clone, PartialEq, Eq, Hash)]
pub(super) struct Labels(BTreeMap<String, String>);

impl Labels {
    pub(super) fn add(&mut self, label: String, value: String) {
        if self.0.len() < LABELS_MAX {
            self.0.insert(label, value);
        }
    }

    pub(super) fn get(&self, label: &str) -> Option<&str> {
        self.0.get(label).map(String::as_str)
    }

    /// The metric; none where a function of the query took it away.
    pub(super) fn name(&self) -> Option<&str> {
        self.get(NAME).filter(|name| !name.is_empty())
    }

    pub(super) fn name_it(&mut self, name: &str) {
        self.add(NAME.to_owned(), name.to_owned());
    }

    /// Whether there are others than the metric's name.
    pub(super) fn are_several(&self) -> bool {
        self.0.len() > 1
    }

    /// Whose the series is: the labels that say so, as a selector has them.
    pub(super) fn target(&self) -> String {
        let of = |label: &&str| Some(format!("{label}=\"{}\"", self.get(label)?));
        OF_TARGET.iter().filter_map(of).collect::<Vec<String>>().join(",")
    }

    /// A series as a query selects it: `name{label="value",...}`. None for any other text.
    pub(super) fn of_selector(text: &str) -> Option<Labels> {
        let mut cursor = Cursor(text.trim().as_bytes());
        let name = utf8(cursor.run(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':')))?;
        let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        let mut labels = Labels::default();
        if is_name {
            labels.name_it(&name);
        }
        if cursor.eat(b"{") {
            while !cursor.eat(b"}") {
                labels.next(&mut cursor)?;
            }
        }
        (cursor.is_done() && labels.name().is_some()).then_some(labels)
    }

    /// `label="value"`, with the comma behind it.
    fn next(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        cursor.spaces();
        let label = utf8(cursor.run(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))?;
        cursor.expect(b"=")?;
        cursor.expect(b"\"")?;
        let value = utf8(cursor.until(b'"')?)?;
        cursor.spaces();
        cursor.eat(b",");
        cursor.spaces();
        (!label.is_empty()).then(|| self.add(label, value))
    }
}

fn utf8(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors() {
        for (text, name, cpu) in [
            ("node_load1", Some("node_load1"), None),
            ("node_cpu_seconds_total{cpu=\"0\", mode=\"idle\"}", Some("node_cpu_seconds_total"), Some("0")),
            ("{__name__=\"node_load1\", cpu=\"1\"}", Some("node_load1"), Some("1")),
            ("rate(node_load1[1m])", None, None),
            ("{cpu=\"0\"}", None, None),
            ("node_load1{cpu=\"0\"", None, None),
            ("p99 latency", None, None),
            ("", None, None),
        ] {
            let labels = Labels::of_selector(text);
            let labels = labels.as_ref();
            assert_eq!(
                (labels.and_then(Labels::name), labels.and_then(|labels| labels.get("cpu"))),
                (name, cpu),
                "{text}"
            );
        }
    }
}
