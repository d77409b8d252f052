//! Any bytes as the files of an unfinished recording: reading must end, and not panic, and what was read is consistent.
//!
//! The seeds are the files of a recorder that was killed after two writes, with and without its journal, concatenated
//! as below. Without a journal nothing has a checksum, and streams are read as far as they are valid. The other seeds
//! are one stream each, so that short inputs are useful as well.
//!
//! Parquet is left out: the store catches panics of its library, but libFuzzer would report them as findings.

use std::fs;

const FILES: [&str; 12] = [
    "journal",
    "threads.arrows",
    "frames.arrows",
    "stacks.arrows",
    "facts.arrows",
    "samples.arrows",
    "spans.arrows",
    "counters.arrows",
    "logs.arrows",
    "losses.arrows",
    "clocks.arrows",
    "manifest.json",
];

pub(crate) fn run(bytes: &[u8]) {
    fathom_fuzz::in_folder(|folder| {
        let mut rest = bytes;
        let mut written = [false; FILES.len()];
        // Each file: its number, its length in three bytes, its content.
        while let [number, a, b, c, behind @ ..] = rest {
            let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
            let (content, others) = behind.split_at(length.min(behind.len()));
            let number = usize::from(*number) % FILES.len();
            fs::write(folder.join(FILES[number]), content).expect("the file can be written");
            written[number] = true;
            rest = others;
        }
        if let Ok(recording) = fathom_store::open(folder) {
            fathom_fuzz::follow(&recording);
        }
        for (name, _) in FILES.iter().zip(written).filter(|(_, is_written)| *is_written) {
            let _ = fs::remove_file(folder.join(name));
        }
    });
}
