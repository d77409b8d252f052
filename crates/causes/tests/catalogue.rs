//! The catalogue itself: pages and declarations keep the required form, and what they name exists.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use fathom_causes::{Cause, catalog, cause};
use fathom_evidence::kinds::{counter, event, frame, loss, role, span, subject, unsent};

/// Every cause that there has to be.
const IDS: &[&str] = &[
    "allocation_pressure",
    "block_device_slow",
    "block_queue_wait",
    "chatty_socket_reads",
    "code_cache_churn",
    "code_cache_full",
    "cpu_quota_throttled",
    "deoptimization_storm",
    "explicit_gc",
    "file_pages_evicted",
    "full_gc_old_generation_full",
    "gc_log_blocked",
    "icache_flush_storm",
    "jit_warm_up",
    "lazy_symbol_binding",
    "lock_contention",
    "long_time_to_safepoint",
    "more_traffic",
    "nmethod_barrier_storm",
    "perf_data_writeback",
    "read_then_write_faults",
    "receive_queue_overflow",
    "routing_skew",
    "run_queue_wait",
    "slow_downstream",
    "stolen_cpu",
    "swap_in",
];

/// The headings of a page, in order.
const HEADINGS: &[&str] = &[
    "What you see",
    "Mechanism",
    "Evidence",
    "What would rule it out",
    "What to do",
    "How sure this is",
    "References",
];

/// Which cause comes before which where both claim the same time, because its mechanism is the more specific one.
const BEFORE: &[(&str, &str)] = &[
    ("code_cache_full", "code_cache_churn"),
    ("code_cache_churn", "deoptimization_storm"),
    ("deoptimization_storm", "jit_warm_up"),
    ("full_gc_old_generation_full", "allocation_pressure"),
    ("delayed_acknowledgement", "slow_downstream"),
    ("jit_warm_up", "more_traffic"),
    ("retransmissions", "slow_downstream"),
];

/// The page has a line of so much room beside share and verdict.
const MAX_NAME_CHARS: usize = 30;

fn folder(id: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("catalog").join(id)
}

/// The text of a page below one of its headings.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let from = page.split_once(&format!("\n## {heading}\n")).map_or("", |(_, rest)| rest);
    from.split("\n## ").next().unwrap_or("")
}

#[test]
fn every_cause_is_there_and_named_like_its_folder() {
    let found: Vec<&str> = catalog().iter().map(|cause| cause.id).collect();
    let missing: Vec<&&str> = IDS.iter().filter(|id| !found.contains(id)).collect();
    assert!(missing.is_empty(), "missing: {missing:?}");
    for id in found {
        assert!(folder(id).join("mod.rs").is_file(), "the folder of {id} has another name");
    }
}

#[test]
fn pages_have_the_same_form() {
    for Cause { id, readme, .. } in catalog() {
        let headings: Vec<&str> = readme.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(headings, HEADINGS, "headings of {id}");
        for heading in HEADINGS {
            assert!(section(readme, heading).trim().len() > 40, "{id} says nothing below {heading}");
        }
    }
}

#[test]
fn names_are_short_words_of_people_and_one_cause_each() {
    for cause in catalog() {
        let name = cause.name();
        let is_short = (3..=MAX_NAME_CHARS).contains(&name.chars().count());
        assert!(is_short && name != cause.id && !name.contains(['_', '`', '.']), "name of {}: {name}", cause.id);
    }
    let names: HashSet<&str> = catalog().iter().map(|cause| cause.name()).collect();
    assert_eq!(names.len(), catalog().len());
}

#[test]
fn titles_are_one_sentence() {
    for cause in catalog() {
        let title = cause.title();
        let is_sentence = title.ends_with('.') && !title.contains(". ") && title.starts_with(char::is_uppercase);
        assert!(is_sentence, "title of {}: {title}", cause.id);
    }
}

#[test]
fn actions_say_something() {
    for Cause { id, actions, .. } in catalog() {
        assert!(!actions.is_empty(), "{id} knows nothing to do");
        for action in *actions {
            assert!(action.len() > 15 && !action.ends_with('.') && action.trim() == *action, "{id}: {action}");
        }
    }
}

#[test]
fn labs_are_where_they_are_said_to_be() {
    for Cause { id, readme, has_lab, .. } in catalog() {
        assert_eq!(*has_lab, folder(id).join("lab").is_dir(), "whether {id} has a lab");
        let is_named = section(readme, "How sure this is").contains(&format!("`fathom lab run {id}`"));
        assert_eq!(*has_lab, is_named, "whether the page of {id} names its lab below `How sure this is`");
    }
}

#[test]
fn the_more_specific_mechanism_refines_the_other() {
    for (first, second) in BEFORE {
        let causes = cause(first).zip(cause(second));
        assert!(causes.is_some_and(|(first, second)| first.refines(second)), "{first} refines {second}");
    }
}

#[test]
fn every_cause_has_cases() {
    for Cause { id, .. } in catalog() {
        let worlds = std::fs::read_dir(folder(id).join("cases")).into_iter().flatten().flatten();
        let count = worlds.filter(|entry| entry.path().extension().is_some_and(|end| end == "world")).count();
        assert!(count > 0, "{id} has no world");
    }
}

/// Every word of the schema: the kinds, what their descriptions name, and the tables.
fn schema_words() -> HashSet<String> {
    let ours = [counter::ALL, event::ALL, frame::ALL, loss::ALL, role::ALL, span::ALL, subject::ALL, unsent::ALL];
    let texts = ours.into_iter().flatten().flat_map(|word| [word.word, word.meaning]);
    let tables = [
        "facts samples spans counters logs losses threads frames stacks name source class instance size_bytes true false",
    ];
    let is_part = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    texts.chain(tables).flat_map(|text| text.split(is_part)).map(str::to_owned).collect()
}

/// What stands in backticks in the part of an item of `Evidence` that says where to look.
fn evidence_words(page: &str) -> Vec<String> {
    let section = section(page, "Evidence").replace("\n  ", " ");
    let items = section.lines().filter(|line| {
        ["facts", "samples", "spans", "counters"].iter().any(|table| line.starts_with(&format!("- `{table}`")))
    });
    let places = items.filter_map(|item| item.split_once(": ").map(|(place, _)| place.to_owned()));
    places.flat_map(|place| place.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn pages_name_only_evidence_that_the_schema_has() {
    let known = schema_words();
    for Cause { id, readme, .. } in catalog() {
        let words = evidence_words(readme);
        // Names of flags, of causes of collections and the like are the JVM's, not the schema's.
        let is_ours = |word: &&String| word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        let unknown: Vec<&String> = words.iter().filter(is_ours).filter(|word| !known.contains(*word)).collect();
        assert!(unknown.is_empty(), "{id} names evidence that the schema does not have: {unknown:?}");
    }
}
