//! What the page says about threads and their states.

use crate::world::{json, load, recordings};

#[test]
fn the_page_has_a_colour_for_every_state() {
    let palette = include_str!("../../../../ui/src/charts/palette.ts");
    let colours = palette.split_once("const STATES").unwrap().1.split_once("};").unwrap().0;
    for state in fathom_timeline::State::ALL {
        let row = state.row();
        assert!(colours.contains(&format!("\n  {}: [", row.color)), "{}: {}", row.id, row.color);
    }
}

#[test]
fn threads_say_when_they_lived_and_what_told_of_them() {
    for (name, recording) in recordings() {
        let page = load(&recording);
        let overview = json(&page, "overview");
        for thread in overview["threads"].as_array().unwrap() {
            assert!(thread["from"].as_i64().unwrap() <= thread["to"].as_i64().unwrap(), "{name}: {thread}");
            let sampled = thread["samples"].as_u64().unwrap() > 0;
            let sources = thread["sources"].as_array().unwrap();
            let is_of_samples = |source: &serde_json::Value| source.as_str().unwrap().starts_with("samples of ");
            assert_eq!(sources.iter().any(is_of_samples), sampled, "{name}: {thread}");
        }
    }
}
