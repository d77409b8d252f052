//! The control groups that a process is in: where they are, and what their files say.

pub(crate) mod parse;
pub(crate) mod place;

use crate::{Target, procfs};
use place::Places;

/// How often the target's groups were throttled since they began, all levels together.
pub(crate) fn throttled_count(target: &Target) -> u64 {
    let Ok(places) = Places::of(target) else { return 0 };
    let mut buffer = Vec::new();
    let groups = places.unified().into_iter().chain(places.controller("cpu"));
    let counts = groups.map(|group| {
        let file = procfs::ProcFile::open(group.folder.join("cpu.stat"));
        let text = file.as_ref().ok().and_then(|file| file.read(&mut buffer).ok()).unwrap_or_default();
        procfs::named_numbers(text).find(|(field, _)| *field == "nr_throttled").map_or(0, |(_, count)| count)
    });
    counts.fold(0, u64::saturating_add)
}
