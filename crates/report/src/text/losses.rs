//! What was lost: in full where it could change the answer, in one line where it could not.

use fathom_causes::explanation::{Explanation, LossNote};
use fathom_evidence::kinds::loss;

use super::HANG;
use super::detail::Detail;
use super::source::spelled;
use crate::sheet::{Sheet, Tone, styled};

/// Of so few stacks or names that some are not whole changes nothing that was measured.
const FEW: u64 = 100;

pub(super) fn write(sheet: &mut Sheet, explanation: &Explanation, detail: &Detail<'_>) {
    let losses = &explanation.losses;
    if losses.is_empty() {
        return;
    }
    sheet.blank();
    if detail.all {
        return write_each(sheet, losses.iter(), usize::MAX);
    }
    let telling = losses.iter().filter(|loss| !is_detail(loss));
    let shown = telling.clone().count().min(detail.losses);
    if shown == 0 {
        let text = format!("{}: none changes the answer (--all: {})", details(losses), losses.len());
        return sheet.labelled(0, HANG, styled(Tone::Faint, "lost"), &text);
    }
    write_each(sheet, telling, detail.losses);
    if losses.len() > shown {
        sheet.line(HANG, [styled(Tone::Faint, &format!("{} more with --all", losses.len() - shown))]);
    }
}

fn write_each<'a>(sheet: &mut Sheet, losses: impl Iterator<Item = &'a LossNote>, shown: usize) {
    let mut label = "lost";
    for loss in losses.take(shown) {
        let text = format!("{}: {}", spelled(&loss.source), loss.says);
        sheet.labelled(0, HANG, styled(Tone::Warn, std::mem::take(&mut label)), &text);
    }
}

/// Whether it is so small, or of such a kind, that every verdict and share would be the same without it.
pub(super) fn is_detail(loss: &LossNote) -> bool {
    let share = share(&loss.says);
    match loss.kind.as_str() {
        loss::STACKS_CUT | loss::NAMES_MISSING => share.is_none_or(|(lost, of)| of < FEW || lost <= of / 2),
        loss::TICKS_MISSED => share.is_some_and(|(lost, of)| lost <= of / 4),
        // Sums are whole; only the shorter ones of many are not kept one by one.
        loss::LIMIT => loss.says.contains("are counted but are no spans"),
        _ => false,
    }
}

/// How many of how many, for a text that begins with `9 of 210 looks`.
fn share(says: &str) -> Option<(u64, u64)> {
    let mut words = says.split(' ');
    let lost = words.next()?.parse().ok()?;
    (words.next()? == "of").then_some((lost, words.next()?.parse().ok()?))
}

/// For example `callers, names and looks`.
fn details(losses: &[LossNote]) -> String {
    const KINDS: [(&str, &str); 4] = [
        (loss::STACKS_CUT, "callers"),
        (loss::NAMES_MISSING, "names"),
        (loss::LIMIT, "single waits"),
        (loss::TICKS_MISSED, "looks"),
    ];
    let is_there = |kind: &str| losses.iter().any(|loss| loss.kind == kind);
    let mut words: Vec<&str> = KINDS.iter().filter(|(kind, _)| is_there(kind)).map(|(_, word)| *word).collect();
    match words.pop() {
        Some(last) if words.is_empty() => format!("some {last}"),
        Some(last) => format!("some {} and {last}", words.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_change_an_answer_is_no_detail() {
        let cases = [
            (loss::STACKS_CUT, "9 of 9 user stacks may lack callers", true),
            (loss::STACKS_CUT, "900 of 1000 user stacks may lack callers", false),
            (loss::NAMES_MISSING, "20 of 88 user addresses have no name: compiled code", true),
            (loss::TICKS_MISSED, "16 of 210 looks each 200 ms were missed", true),
            (loss::TICKS_MISSED, "116 of 210 looks each 200 ms were missed", false),
            (loss::TICKS_MISSED, "nobody knows how many looks were missed", false),
            (loss::LIMIT, "block requests beyond a number: they are counted but are no spans", true),
            (loss::LIMIT, "threads: 40 threads beyond 10000 were not looked at", false),
            (loss::CUT_OFF, "the recorder was killed", false),
            (loss::EVENTS_LOST, "1 of 900 events", false),
        ];
        for (kind, says, is_small) in cases {
            let loss = LossNote { source: "test".to_owned(), kind: kind.to_owned(), says: says.to_owned() };
            assert_eq!(is_detail(&loss), is_small, "{kind}: {says}");
        }
    }
}
