//! The scoreboard as text.

use std::fmt::Write;

use crate::score::{Board, Score};

pub(crate) fn text(board: &Board, with_wrongs: bool) -> String {
    let mut text = String::from(
        "| sources | answers | sick | right first | open | wrong first | accused wrongly | acquitted wrongly | false all-clear | false alarm | turned | share error | time error |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for (set, mixes) in &board.rows {
        for (mix, score) in mixes {
            let name = if mix.is_empty() { format!("**{set}**") } else { mix.replace('+', ", ") };
            text += &row(&name, score);
        }
    }
    if with_wrongs {
        text.push('\n');
        board.wrongs.iter().for_each(|wrong| writeln!(text, "{wrong}").expect("a text takes all"));
    }
    text
}

fn row(name: &str, score: &Score) -> String {
    let mean = |sum: f64, count: usize| match count {
        0 => String::new(),
        count => format!("{:.2}", sum / count as f64),
    };
    let counts = [
        score.answers,
        score.sick,
        score.first_right,
        score.open,
        score.first_wrong,
        score.accused_wrongly,
        score.acquitted_wrongly,
        score.false_all_clears,
        score.false_alarms,
        score.turned,
    ];
    let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
    let (share, time) = (mean(score.share_error, score.with_dose), mean(score.interval_error, score.with_time));
    format!("| {name} | {} | {share} | {time} |\n", counts.join(" | "))
}
