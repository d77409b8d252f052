//! Damaged recordings: for any bytes, reading ends soon with a result, and nothing panics.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::LazyLock;

use fathom_evidence::{Recording, Table};
use fathom_readers::{LoadError, LoadOptions, Reader, readers};
use proptest::prelude::*;

fn read(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/jfr").join(name)).unwrap()
}

static WHOLE: LazyLock<[Vec<u8>; 3]> =
    LazyLock::new(|| [read("ap_page_faults.jfr"), read("jdk11_parallel.jfr"), read("jdk25_live.jfr")]);

/// Reads `bytes` as a JFR file, whatever they begin with. For verdicts it must be readable as well, and with fewer rows.
fn load(bytes: &[u8]) -> Result<Recording, LoadError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let reader: &dyn Reader = *readers().iter().find(|reader| reader.name() == "jfr").unwrap();
    let load =
        |for_verdicts| reader.load(&[file.path().to_owned()], &LoadOptions { for_verdicts, ..LoadOptions::default() });
    let (all, less) = (load(false), load(true));
    assert_eq!(less.as_ref().map_or(0, rows).min(all.as_ref().map_or(0, rows)), less.as_ref().map_or(0, rows));
    assert_eq!(less.is_ok(), all.is_ok());
    all
}

fn rows(recording: &Recording) -> usize {
    recording.samples.len() + recording.spans.len() + recording.counters.len()
}

/// What is left of a file: an error in one line, or rows within what the whole file gives (a changed byte
/// may turn one event into another) and a loss if there are fewer.
fn check(bytes: &[u8], whole: usize) -> Result<Option<Recording>, TestCaseError> {
    match load(bytes) {
        Err(error) => {
            prop_assert!(matches!(error, LoadError::Unusable { .. }), "{error:?}");
            prop_assert!(!error.to_string().contains('\n'));
            Ok(None)
        }
        Ok(recording) => {
            prop_assert!(rows(&recording) >= whole || !recording.losses.is_empty() || whole == 0);
            Ok(Some(recording))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn cut_at_any_byte(file in 0..3_usize, cut in any::<prop::sample::Index>()) {
        let bytes = &WHOLE[file];
        let whole = rows(&load(bytes).unwrap());
        let cut = cut.index(bytes.len());
        check(&bytes[..cut], whole)?;
    }

    #[test]
    fn any_bytes_changed(file in 0..3_usize, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = WHOLE[file].clone();
        for (index, value) in changes {
            let index = index.index(bytes.len());
            bytes[index] = value;
        }
        check(&bytes, 0)?;
    }

    #[test]
    fn garbage_behind_a_header(garbage in prop::collection::vec(any::<u8>(), 0..4096)) {
        let mut bytes = WHOLE[0][..68].to_vec();
        bytes.extend(garbage);
        check(&bytes, 0)?;
    }

    #[test]
    fn garbage_between_chunks(garbage in prop::collection::vec(any::<u8>(), 1..512)) {
        let whole = rows(&load(&WHOLE[0]).unwrap());
        let bytes = [WHOLE[0].as_slice(), &garbage, &WHOLE[0]].concat();
        let recording = check(&bytes, 0)?.expect("two chunks are whole");
        prop_assert_eq!(rows(&recording), 2 * whole);
        prop_assert!(!recording.losses.is_empty());
    }
}

/// Everything before the cut is there: each event of a shorter file is in the longer one.
#[test]
fn a_longer_piece_never_gives_less() {
    let bytes = &WHOLE[2];
    let mut before = 0;
    for cut in (68..bytes.len()).step_by(2_003) {
        if let Ok(recording) = load(&bytes[..cut]) {
            // Joined safepoints and derived counters may come later; events do not go away.
            assert!(rows(&recording) >= before, "at {cut}");
            before = rows(&recording);
        }
    }
    assert!(before > 500);
}
