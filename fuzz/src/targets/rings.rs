//! Any bytes as a second of a ring that a killed service left: reading must end, and not panic. What was read is
//! consistent and can be written again.

#[path = "../../../crates/watch/src/segment.rs"]
mod segment;

pub(crate) fn run(bytes: &[u8]) {
    let Some(read) = segment::decode(bytes) else { return };
    fathom_fuzz::follow(&read);
    let again = segment::decode(&segment::encode(&read));
    assert_eq!(again.map(|again| again.row_counts()), Some(read.row_counts()));
}
