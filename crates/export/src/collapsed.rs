//! One line for each stack: frames from the root to the leaf with semicolons between them, and the weight.

use std::collections::BTreeMap;
use std::io::{self, Write};

use fathom_evidence::Recording;

use crate::selection::{Selected, name_with_layer, root_to_leaf, thread_name};

pub(crate) fn write(recording: &Recording, selected: &Selected, out: &mut dyn Write) -> io::Result<()> {
    let mut stacks: BTreeMap<String, i64> = BTreeMap::new();
    for sample in &selected.samples {
        let frames = root_to_leaf(recording, sample.stack_id);
        let names = frames.iter().map(|frame| clean(&name_with_layer(recording, frame)));
        let thread = clean(&thread_name(recording, sample.tid));
        let stack = std::iter::once(thread).chain(names).collect::<Vec<_>>().join(";");
        let weight = stacks.entry(stack).or_default();
        *weight = weight.saturating_add(selected.weight(sample));
    }
    stacks.iter().try_for_each(|(stack, weight)| writeln!(out, "{stack} {weight}"))
}

/// A name that cannot be taken for two frames or two lines.
fn clean(name: &str) -> String {
    name.chars().map(|c| if c == ';' || c.is_control() { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Selection;
    use crate::selection::tests::recording;

    #[test]
    fn stacks_with_their_layers() {
        let recording = recording();
        let mut out = Vec::new();
        write(&recording, &Selection::default().choose(&recording).unwrap(), &mut out).unwrap();
        let expected = "C2 CompilerThread0;Compile::Compile 10000000\nhttp-1;main_[0];shop.Cart.add_all_[j] 10000000\n\
             http-1;main_[0];shop.Cart.add_all_[j];write_[k] 10000000\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
