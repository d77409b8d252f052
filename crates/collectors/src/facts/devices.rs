//! Facts about block devices, identified by their entries in sysfs and never by their numbers: the same number is a
//! disk on one machine and a device-mapper volume on another.

use std::path::Path;

use fathom_evidence::kinds::subject;

use super::parse;
use super::sheet::Sheet;
use crate::procfs::{self, text_of};

/// More devices than this are not told.
const MAX_DEVICES: usize = 500;

/// Settings of a device, by the file below its folder.
const SETTINGS: &[(&str, &str)] = &[
    ("device", "dev"),
    ("model", "device/model"),
    ("scheduler", "queue/scheduler"),
    ("nr_requests", "queue/nr_requests"),
    ("queue_depth", "device/queue_depth"),
    ("rotational", "queue/rotational"),
    ("read_ahead_kb", "queue/read_ahead_kb"),
    ("write_cache", "queue/write_cache"),
    ("wbt_lat_usec", "queue/wbt_lat_usec"),
    ("logical_block_size", "queue/logical_block_size"),
    ("max_sectors_kb", "queue/max_sectors_kb"),
    ("backing_file", "loop/backing_file"),
    ("direct_io", "loop/dio"),
    ("volume", "dm/name"),
];

/// Writes them.
pub(super) fn note(sheet: &mut Sheet<'_>) {
    for entry in procfs::names("/sys/block").take(MAX_DEVICES) {
        let folder = Path::new("/sys/block").join(&entry);
        let sectors = text_of(folder.join("size")).and_then(|text| text.parse::<u64>().ok());
        // Unused loop devices have no size.
        let Some(sectors) = sectors.filter(|sectors| *sectors > 0) else { continue };
        let name = entry.replace('!', "/");
        let mut add =
            |what: &str, value: Option<String>| sheet.add_some(subject::DISK, &format!("{name}.{what}"), value);
        add("kind", Some(kind(&folder).to_owned()));
        add("size_bytes", Some(sectors.saturating_mul(512).to_string()));
        add("made_of", made_of(&folder));
        for (what, file) in SETTINGS {
            add(what, text_of(folder.join(file)).map(|text| parse::chosen(&text).to_owned()));
        }
    }
}

fn kind(folder: &Path) -> &'static str {
    let kinds = [
        ("dm", "device_mapper"),
        ("md", "raid"),
        ("loop", "loop"),
        ("mm_stat", "zram"),
        ("bcache", "bcache"),
        ("device", "disk"),
    ];
    kinds.iter().find(|(file, _)| folder.join(file).exists()).map_or("other", |(_, kind)| kind)
}

/// The devices that this one is made of.
fn made_of(folder: &Path) -> Option<String> {
    let slaves = folder.join("slaves");
    let mut names: Vec<String> = procfs::names(&slaves).collect();
    names.sort();
    slaves.is_dir().then(|| names.join(" "))
}

/// The whole device that `device` (`major:minor`) is, or is a partition of; failing that, that of the
/// device file a file system was mounted from, as some have numbers of their own.
pub(super) fn name_of(device: &str, from: &str) -> Option<String> {
    let by_number = procfs::real(Path::new("/sys/dev/block").join(device));
    let by_name = || procfs::real(Path::new("/sys/class/block").join(from.strip_prefix("/dev/")?.replace('/', "!")));
    // What a file system was mounted from is any text: it may lead out of sysfs.
    let found = by_number.or_else(by_name).filter(|found| found.starts_with("/sys"))?;
    let whole = if found.join("partition").exists() { found.parent()?.to_owned() } else { found };
    Some(whole.file_name()?.to_string_lossy().replace('!', "/"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn devices_are_known_by_what_is_there() {
        let place = tempfile::tempdir().unwrap();
        for (files, expected) in [
            (&["dm", "slaves"][..], "device_mapper"),
            (&["loop"], "loop"),
            (&["device"], "disk"),
            (&["mm_stat", "disksize"], "zram"),
            (&["queue"], "other"),
        ] {
            let folder = place.path().join(expected);
            files.iter().for_each(|file| fs::create_dir_all(folder.join(file)).unwrap());
            assert_eq!(kind(&folder), expected);
        }
        fs::create_dir_all(place.path().join("device_mapper/slaves/vdb")).unwrap();
        fs::create_dir_all(place.path().join("device_mapper/slaves/vda")).unwrap();
        assert_eq!(made_of(&place.path().join("device_mapper")).as_deref(), Some("vda vdb"));
        assert_eq!(name_of("0:0", "overlay"), None);
        assert_eq!(name_of("../../../etc", "/dev/../../etc"), None);
    }
}
