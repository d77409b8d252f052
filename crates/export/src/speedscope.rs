//! speedscope's own format: frames once, and for each thread its samples with their weights.

use std::collections::HashMap;
use std::io::{self, Write};

use fathom_evidence::{Frame, Recording, StackId};
use serde_json::{Value, json};

use crate::selection::{Selected, Unit, name_with_layer, root_to_leaf, thread_name};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

pub(crate) fn write(recording: &Recording, selected: &Selected, out: &mut dyn Write) -> io::Result<()> {
    let mut frames = Frames::default();
    let profiles: Vec<Value> = selected
        .by_thread()
        .into_iter()
        .map(|(tid, samples)| {
            let stacks: Vec<Vec<usize>> = samples.iter().map(|sample| frames.of(recording, sample.stack_id)).collect();
            let weights: Vec<i64> = samples.iter().map(|sample| selected.weight(sample)).collect();
            json!({
                "type": "sampled", "name": thread_name(recording, tid), "unit": unit(selected.unit()), "startValue": 0,
                "endValue": weights.iter().fold(0_i64, |sum, weight| sum.saturating_add(*weight)), "samples": stacks, "weights": weights,
            })
        })
        .collect();
    let file = json!({
        "$schema": SCHEMA, "exporter": "fathom", "name": selected.name(), "activeProfileIndex": 0,
        "shared": {"frames": frames.rows}, "profiles": profiles,
    });
    serde_json::to_writer(out, &file).map_err(io::Error::from)
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "nanoseconds",
        Unit::Bytes => "bytes",
        Unit::Count => "none",
    }
}

#[derive(Default)]
struct Frames {
    rows: Vec<Value>,
    ids: HashMap<Frame, usize>,
    stacks: HashMap<StackId, Vec<usize>>,
}

impl Frames {
    fn of(&mut self, recording: &Recording, stack: StackId) -> Vec<usize> {
        if let Some(known) = self.stacks.get(&stack) {
            return known.clone();
        }
        let ids: Vec<usize> = root_to_leaf(recording, stack).iter().map(|frame| self.frame(recording, frame)).collect();
        self.stacks.insert(stack, ids.clone());
        ids
    }

    fn frame(&mut self, recording: &Recording, frame: &Frame) -> usize {
        *self.ids.entry(*frame).or_insert_with(|| {
            let mut row = json!({"name": name_with_layer(recording, frame)});
            let module = recording.text(frame.module);
            if !module.is_empty() {
                row["file"] = json!(module);
            }
            if frame.line > 0 {
                row["line"] = json!(frame.line);
            }
            self.rows.push(row);
            self.rows.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Selection;
    use crate::selection::tests::recording;

    #[test]
    fn each_thread_has_its_samples() {
        let recording = recording();
        let mut out = Vec::new();
        write(&recording, &Selection::default().choose(&recording).unwrap(), &mut out).unwrap();
        let file: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(file["shared"]["frames"].as_array().unwrap().len(), 4);
        assert_eq!(file["profiles"][0]["name"], "http-1");
        assert_eq!(file["profiles"][0]["samples"], json!([[0, 1], [0, 1, 2]]));
        assert_eq!(file["profiles"][1]["weights"], json!([10_000_000]));
    }
}
