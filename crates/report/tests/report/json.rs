//! The JSON is what `docs/json.md` says it is.

use crate::answers;
use fathom_report::json;

use serde_json::Value;

const PAGE: &str = include_str!("../../../../docs/json.md");

fn fields(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => object.iter().for_each(|(key, value)| {
            found.push(key.clone());
            fields(value, found);
        }),
        Value::Array(items) => items.iter().for_each(|item| fields(item, found)),
        _ => {}
    }
}

#[test]
fn every_field_is_described() {
    let text = json::explanations(&[answers::complete(), answers::healthy()]);
    let mut found = Vec::new();
    fields(&serde_json::from_str(&text).unwrap(), &mut found);
    found.sort();
    found.dedup();
    assert!(found.len() > 30, "the answer is not complete: {found:?}");
    for field in found {
        assert!(PAGE.contains(&format!("| `{field}` |")), "docs/json.md has no row for `{field}`");
    }
}

#[test]
fn one_is_an_object_and_several_are_a_list() {
    for (count, several) in [(0, true), (1, false), (2, true)] {
        let answers = vec![answers::complete(); count];
        let value: Value = serde_json::from_str(&json::explanations(&answers)).unwrap();
        assert_eq!(value["schema"], 1);
        assert_eq!(value.get("explanations").is_some(), several, "{count}");
        assert_eq!(value.get("causes").is_some(), !several, "{count}");
    }
}

#[test]
fn several_are_written_as_they_come() {
    let answers = [answers::complete(), answers::hostile(), answers::healthy()];
    for count in 0..=answers.len() {
        let mut several = json::Several::default();
        let pieces: String = answers[..count].iter().map(|answer| several.add(answer)).collect();
        assert_eq!(pieces + &several.end(), json::explanations(&answers[..count]), "{count}");
    }
}

#[test]
fn hostile_names_come_back_as_they_were() {
    let answer = answers::hostile();
    let text = json::explanations(std::slice::from_ref(&answer));
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["recording"]["title"], answer.recording.title);
    assert_eq!(value["causes"][0]["evidence"][1]["value"], Value::Null);
}
