//! Samples and marks as one table, with a heading.

use std::io::{self, Write};

use fathom_evidence::Recording;

use crate::markers::Marker;
use crate::selection::{Selected, name_with_layer, root_to_leaf, thread_name};

const HEADING: &str = "time_ns,duration_ns,tid,thread,kind,name,weight,stack";

pub(crate) fn write(
    recording: &Recording,
    selected: &Selected,
    markers: &[Marker],
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{HEADING}")?;
    for sample in &selected.samples {
        let frames = root_to_leaf(recording, sample.stack_id);
        let stack = frames.iter().map(|frame| name_with_layer(recording, frame)).collect::<Vec<_>>().join(";");
        let thread = thread_name(recording, sample.tid);
        let row = [&thread, &selected.event, recording.text(sample.state)].map(quoted);
        let weight = selected.weight(sample);
        writeln!(
            out,
            "{},0,{},{},{},{},{weight},{}",
            sample.time_ns,
            sample.tid,
            row[0],
            row[1],
            row[2],
            quoted(&stack)
        )?;
    }
    for marker in markers {
        let thread = if marker.tid == 0 { String::new() } else { thread_name(recording, marker.tid) };
        let row = [&thread, marker.track, &marker.name].map(quoted);
        let length_ns = marker.to_ns.saturating_sub(marker.from_ns);
        writeln!(out, "{},{length_ns},{},{},{},{},,", marker.from_ns, marker.tid, row[0], row[1], row[2])?;
    }
    Ok(())
}

/// A field; quoted where it has to be. What a spreadsheet would take for a formula is none.
fn quoted(text: &str) -> String {
    let text = if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text.to_owned() };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Selection;
    use crate::selection::tests::recording;

    #[test]
    fn fields_are_quoted() {
        for (text, expected) in [("a", "a"), ("a,\"b\"", "\"a,\"\"b\"\"\""), ("=1+1", "'=1+1"), ("", "")] {
            assert_eq!(quoted(text), expected);
        }
    }

    #[test]
    fn a_row_for_each_sample_and_mark() {
        let recording = recording();
        let mut out = Vec::new();
        let selected = Selection::default().choose(&recording).unwrap();
        write(&recording, &selected, &crate::markers::of(&recording, selected.range_ns), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 1 + 3 + 2, "{text}");
        assert!(text.lines().all(|line| line.split(',').count() == HEADING.split(',').count()), "{text}");
    }
}
