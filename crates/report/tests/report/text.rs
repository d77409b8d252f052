//! The text of explanations, whole: a change of the layout is a change of these snapshots.

use crate::answers;
use fathom_causes::explanation::Explanation;
use fathom_report::{TextOptions, Variant, beside, causes, explanation};
use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr;

fn options(width: usize) -> TextOptions {
    TextOptions { width, color: false, all: false, zone: TimeZone::UTC }
}

/// The text at a width, after checking what holds for every text.
fn text(answer: &Explanation, options: &TextOptions) -> String {
    let text = explanation(answer, options);
    for line in text.lines() {
        assert!(line.width() <= options.width, "wider than {}: {line}", options.width);
        assert_eq!(line, line.trim_end(), "blanks at the end");
    }
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "control characters: {text:?}");
    text
}

#[test]
fn healthy() {
    insta::assert_snapshot!(text(&answers::healthy(), &options(100)));
}

#[test]
fn one_cause() {
    insta::assert_snapshot!(text(&answers::one_cause(), &options(100)));
}

#[test]
fn one_cause_in_80_columns() {
    insta::assert_snapshot!(text(&answers::one_cause(), &options(80)));
}

#[test]
fn two_causes() {
    insta::assert_snapshot!(text(&answers::two_causes(), &options(100)));
}

#[test]
fn everything_that_is_known() {
    insta::assert_snapshot!(text(&answers::complete(), &TextOptions { all: true, ..options(100) }));
}

#[test]
fn all_not_enough() {
    insta::assert_snapshot!(text(&answers::all_not_enough(), &options(80)));
}

#[test]
fn losses() {
    insta::assert_snapshot!(text(&answers::losses(), &options(80)));
}

#[test]
fn losses_that_change_nothing() {
    insta::assert_snapshot!(text(&answers::details(), &options(80)));
}

#[test]
fn one_loss_that_matters_among_others() {
    let mut answer = answers::details();
    answer.losses.extend(answers::losses().losses.into_iter().take(1));
    insta::assert_snapshot!(text(&answer, &options(80)));
}

#[test]
fn hostile_names() {
    insta::assert_snapshot!(text(&answers::hostile(), &options(80)));
}

#[test]
fn sick_beside_fixed() {
    let (sick, fixed) = (answers::one_cause(), answers::healthy());
    let measured = |p99: &str| vec![("requests, 99th percentile".to_owned(), p99.to_owned())];
    let variants = [
        Variant { name: "sick", explanation: &sick, measured: measured("19.8 ms") },
        Variant { name: "fixed", explanation: &fixed, measured: measured("1.4 ms") },
    ];
    insta::assert_snapshot!(beside(&variants, &options(100)));
}

#[test]
fn the_list_of_causes() {
    let list = [
        ("code_cache_churn", "compiled code is thrown away and compiled again"),
        ("swap_in", "pages come back from swap"),
    ];
    insta::assert_snapshot!(causes(list, &options(60)));
}

#[test]
fn every_answer_fits_every_width() {
    for answer in
        [answers::healthy(), answers::complete(), answers::all_not_enough(), answers::losses(), answers::hostile()]
    {
        for width in [60, 72, 80, 132] {
            for all in [false, true] {
                text(&answer, &TextOptions { all, ..options(width) });
            }
        }
    }
}

#[test]
fn colour_changes_nothing_but_the_looks() {
    let colored = explanation(&answers::one_cause(), &TextOptions { color: true, ..options(80) });
    assert!(colored.contains("\x1b["));
    let mut plain = String::new();
    for (index, part) in colored.split("\x1b[").enumerate() {
        plain.push_str(if index == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    assert_eq!(plain, explanation(&answers::one_cause(), &options(80)));
}
