//! The names that Flight Recorder uses for collectors and for the purposes of pauses, so that a log and a recording of
//! one JVM say the same.

use crate::gc_log::event::Family;

/// What a pause collects or does, by its name.
pub(super) fn scope(name: &str) -> &'static str {
    const SCOPES: &[(&str, &str)] = &[
        ("Pause Young (Mixed)", "mixed"),
        ("Pause Young", "young"),
        ("Pause Mixed", "mixed"),
        ("Pause Full", "full"),
        ("Pause Remark", "remark"),
        ("Pause Cleanup", "cleanup"),
        ("Pause Mark Start", "mark_start"),
        ("Pause Initial Mark", "mark_start"),
        ("Pause Init Mark", "mark_start"),
        ("Pause Mark End", "mark_end"),
        ("Pause Final Mark", "mark_end"),
        ("Pause Relocate Start", "relocate_start"),
        ("Pause Degenerated", "degenerated"),
    ];
    SCOPES.iter().find(|(prefix, _)| name.starts_with(prefix)).map_or("other", |(_, scope)| scope)
}

/// The recorder's name of the collector that did a pause of this `scope`.
pub(super) fn collector(family: Option<Family>, scope: &str) -> &'static str {
    let is_full = scope == "full";
    let is_young = matches!(scope, "young" | "mixed");
    match family {
        Some(Family::Serial) => {
            if is_full {
                "SerialOld"
            } else {
                "DefNew"
            }
        }
        Some(Family::Parallel) => {
            if is_full {
                "ParallelOld"
            } else {
                "ParallelScavenge"
            }
        }
        Some(Family::Cms) if is_full => "SerialOld",
        Some(Family::Cms) => {
            if is_young {
                "ParNew"
            } else {
                "ConcurrentMarkSweep"
            }
        }
        Some(Family::G1) if is_full => "G1Full",
        Some(Family::G1) => {
            if is_young {
                "G1New"
            } else {
                "G1Old"
            }
        }
        Some(Family::Shenandoah) => "Shenandoah",
        Some(Family::Z) => "Z",
        Some(Family::ZGenerational) => "ZGC",
        Some(Family::Epsilon) | None => "",
    }
}

/// The recorder's name of a whole collection, from the name that the log has for it.
pub(super) fn whole_collection(logged: &str, family: Option<Family>, scope: &str) -> &'static str {
    match logged {
        "Minor Collection" => "ZGC Minor",
        "Major Collection" => "ZGC Major",
        "Garbage Collection" => "Z",
        _ => collector(family, scope),
    }
}

/// What the option that selects the collector is called after.
pub(super) fn family_name(family: Family) -> &'static str {
    match family {
        Family::Serial => "Serial",
        Family::Parallel => "Parallel",
        Family::Cms => "CMS",
        Family::G1 => "G1",
        Family::Shenandoah => "Shenandoah",
        Family::Z => "ZGC",
        Family::ZGenerational => "ZGC (generational)",
        Family::Epsilon => "Epsilon",
    }
}

/// The scope's word, as kept with a collection.
pub(super) fn known_scope(scope: &str) -> &'static str {
    const ALL: &[&str] =
        &["young", "mixed", "full", "remark", "cleanup", "mark_start", "mark_end", "relocate_start", "degenerated"];
    ALL.iter().find(|known| **known == scope).copied().unwrap_or("other")
}
