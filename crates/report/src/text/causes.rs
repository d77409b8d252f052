//! The causes that explain something, and what none of them explains.

use fathom_causes::explanation::{CauseVerdict, Evidence, Explanation, Missing, StackShare, Verdict};

use super::detail::{Detail, OfCause};
use super::lists;
use crate::clean::shorten;
use crate::sheet::{Sheet, Tone, columns, styled};
use crate::units;

/// Where the text of a cause begins, below its share.
const INDENT: usize = 8;
/// Where the text of its labels begins.
const LABEL_HANG: usize = INDENT + 7;
/// What is unexplained is described from this share on: less changes no decision.
const UNEXPLAINED_TOLD_PERCENT: u32 = 5;
const ID_MAX_CHARS: usize = 40;
const SYMBOL_MAX_CHARS: usize = 60;
/// How HotSpot marks the class of a lambda.
const LAMBDA: &str = "$$Lambda";
const FIGURE_NAME_MAX_CHARS: usize = 58;

pub(super) fn write(sheet: &mut Sheet, explanation: &Explanation, detail: &Detail<'_>) {
    let named: Vec<&CauseVerdict> = explanation
        .causes
        .iter()
        .filter(|cause| matches!(cause.verdict, Verdict::Shown | Verdict::Likely | Verdict::Possible))
        .filter(|cause| detail.all || !lists::explains_nothing(cause))
        .collect();
    let mut shares: Vec<f64> = named.iter().map(|cause| cause.share).collect();
    shares.push(explanation.unexplained.share);
    let percents = units::whole_percents(&shares);
    for (index, (cause, percent)) in named.iter().zip(&percents).take(detail.causes).enumerate() {
        sheet.blank();
        let of_cause = if index == 0 { detail.first } else { detail.others };
        write_cause(sheet, (*cause, *percent), of_cause, detail);
    }
    let hidden = named.iter().zip(&percents).skip(detail.causes);
    if let Some(more) = named.len().checked_sub(detail.causes).filter(|more| *more > 0) {
        let percent: u32 = hidden.map(|(_, percent)| percent).sum();
        sheet.blank();
        let causes = if more == 1 { "cause" } else { "causes" };
        sheet.line(0, [styled(Tone::Faint, &format!("{percent:>4} %  {more} more {causes}: --all"))]);
    }
    if explanation.unexplained.share > 0.0 || named.is_empty() {
        sheet.blank();
        write_unexplained(sheet, explanation, percents.last().copied().unwrap_or(0), detail);
    }
}

/// A share as it stands right-aligned at the beginning of a line.
fn share_text(share: f64, percent: u32) -> String {
    match percent {
        0 if share > 0.0 => "  <1 %".to_owned(),
        0 => "   - ".to_owned(),
        _ => format!("{percent:>4} %"),
    }
}

fn write_cause(sheet: &mut Sheet, (cause, percent): (&CauseVerdict, u32), of_cause: OfCause, detail: &Detail<'_>) {
    let (tone, word) = verdict_word(cause.verdict);
    let cost = cause.cost.as_ref().map_or(String::new(), |cost| format!("  {}", units::cost(cost)));
    let head = [
        styled(Tone::Strong, &format!("{:<8}", share_text(cause.share, percent))),
        styled(Tone::Strong, &shorten(&cause.id, ID_MAX_CHARS)),
        styled(Tone::Plain, "  "),
        styled(tone, word),
        styled(Tone::Plain, &cost),
    ];
    sheet.line(0, head);
    sheet.paragraph(INDENT, Tone::Plain, &cause.says);
    write_evidence(sheet, &cause.evidence, of_cause.evidence, detail);
    write_chain(sheet, cause);
    write_advice(sheet, cause, of_cause);
}

/// A verdict as it is printed, and how alarming it is.
pub(crate) fn verdict_word(verdict: Verdict) -> (Tone, &'static str) {
    match verdict {
        Verdict::Shown => (Tone::Bad, "shown"),
        Verdict::Likely => (Tone::Warn, "likely"),
        Verdict::Possible => (Tone::Faint, "possible"),
        Verdict::NotEnough => (Tone::Faint, "cannot tell"),
        Verdict::RuledOut => (Tone::Faint, "ruled out"),
    }
}

fn write_evidence(sheet: &mut Sheet, evidence: &[Evidence], most: usize, detail: &Detail<'_>) {
    let shown = most.min(evidence.len());
    let figures: Vec<(&str, String)> =
        evidence[..shown].iter().map(|figure| (figure.says.as_str(), with_baseline(figure))).collect();
    write_figures(sheet, INDENT, &figures);
    if detail.all {
        evidence.iter().filter(|figure| !figure.stack.is_empty()).for_each(|figure| {
            sheet.labelled(INDENT, LABEL_HANG, styled(Tone::Faint, "stack"), &stack_text(&figure.stack, usize::MAX));
        });
    }
    if (1..evidence.len()).contains(&shown) {
        let more = format!("{} more with --all", evidence.len() - shown);
        sheet.line(INDENT, [styled(Tone::Faint, &more)]);
    }
}

fn with_baseline(figure: &Evidence) -> String {
    match figure.baseline {
        Some(before) => units::against(figure.value, before, &figure.unit),
        None => units::amount(figure.value, &figure.unit),
    }
}

/// Names and values in two columns; a name that is too long for that has its value on the next line.
pub(super) fn write_figures(sheet: &mut Sheet, indent: usize, figures: &[(&str, String)]) {
    let names: Vec<String> = figures.iter().map(|(name, _)| shorten(name, FIGURE_NAME_MAX_CHARS)).collect();
    let widest_value = figures.iter().map(|(_, value)| columns(value)).max().unwrap_or(0);
    let room = sheet.room(indent).saturating_sub(widest_value + 2);
    let hang = indent + names.iter().map(|name| columns(name)).filter(|width| *width <= room).max().unwrap_or(2) + 2;
    for (name, (_, value)) in names.iter().zip(figures) {
        let fits = columns(name) <= room;
        if !fits {
            sheet.paragraph(indent, Tone::Faint, name);
        }
        sheet.labelled(indent, hang, styled(Tone::Faint, if fits { name } else { "" }), value);
    }
}

fn write_chain(sheet: &mut Sheet, cause: &CauseVerdict) {
    if !cause.chain.is_empty() {
        let chain = std::iter::once(&cause.id).chain(&cause.chain).map(String::as_str).collect::<Vec<_>>();
        sheet.labelled(INDENT, LABEL_HANG, styled(Tone::Strong, "chain"), &chain.join(" ← "));
    }
}

fn write_advice(sheet: &mut Sheet, cause: &CauseVerdict, of_cause: OfCause) {
    let mut label = "do";
    for action in cause.actions.iter().take(of_cause.actions) {
        sheet.labelled(INDENT, LABEL_HANG, styled(Tone::Good, std::mem::take(&mut label)), action);
    }
    if !of_cause.has_commands {
        return;
    }
    if !cause.prove.is_empty() {
        let command = sheet.unbroken(LABEL_HANG, &cause.prove);
        sheet.labelled(INDENT, LABEL_HANG, styled(Tone::Strong, "prove"), &command);
    }
    let can_be_surer = |missing: &&Missing| cause.verdict != Verdict::Shown && !missing.record_with.is_empty();
    for missing in cause.missing.iter().filter(can_be_surer).take(of_cause.actions) {
        let text = sheet.with_command(LABEL_HANG, &missing.says, &missing.record_with);
        sheet.labelled(INDENT, LABEL_HANG, styled(Tone::Strong, "surer"), &text);
    }
}

fn write_unexplained(sheet: &mut Sheet, explanation: &Explanation, percent: u32, detail: &Detail<'_>) {
    let unexplained = &explanation.unexplained;
    let share = format!("{:<8}", share_text(unexplained.share, percent));
    sheet.line(0, [styled(Tone::Strong, &share), styled(Tone::Plain, "unexplained")]);
    let is_little = unexplained.share > 0.0 && percent < UNEXPLAINED_TOLD_PERCENT;
    if is_little && !detail.all {
        return;
    }
    sheet.paragraph(INDENT, Tone::Plain, &unexplained.says);
    for StackShare { stack, share } in unexplained.stacks.iter().take(detail.stacks) {
        let share = units::amount(*share, "ratio");
        let text = stack_text(stack, detail.frames);
        sheet.labelled(INDENT, LABEL_HANG, styled(Tone::Faint, &format!("{share:>6}")), &text);
    }
}

/// A stack from the leaf: `HashMap.get ← Cache.find ← …`.
fn stack_text(stack: &str, shown: usize) -> String {
    let mut frames = stack.split(';');
    let mut text = frames.by_ref().take(shown).map(short_symbol).collect::<Vec<_>>().join(" ← ");
    if frames.next().is_some() {
        text.push_str(" ← …");
    }
    text
}

/// `java.util.HashMap.get` as `HashMap.get`; symbols of other languages stay whole. What the JVM
/// adds to the names of classes for lambdas says nothing and is left out.
fn short_symbol(symbol: &str) -> String {
    let named = match (symbol.find(LAMBDA), symbol.rfind('.')) {
        (Some(lambda), Some(dot)) if dot > lambda => format!("{}{}", &symbol[..lambda + LAMBDA.len()], &symbol[dot..]),
        _ => symbol.to_owned(),
    };
    last_two_names(&named)
}

/// What GCC and Clang append to the name of a function of which they made a copy.
const COPIES: [&str; 5] = [".isra.", ".constprop.", ".part.", ".llvm.", ".cold"];

fn last_two_names(symbol: &str) -> String {
    if let Some(at) = COPIES.iter().filter_map(|copy| symbol.find(copy)).min() {
        return shorten(&symbol[..at], SYMBOL_MAX_CHARS);
    }
    let is_java = |c: char| c.is_alphanumeric() || "._$<>/".contains(c);
    let mut cut = symbol;
    if symbol.chars().all(is_java) {
        let dots: Vec<usize> = symbol.match_indices(['.', '/']).map(|(at, _)| at).collect();
        cut = dots.len().checked_sub(2).map_or(symbol, |last| &symbol[dots[last] + 1..]);
    }
    shorten(cut, SYMBOL_MAX_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols() {
        for (symbol, expected) in [
            ("java.util.HashMap.get", "HashMap.get"),
            ("java/util/HashMap.get", "HashMap.get"),
            ("Main.run", "Main.run"),
            ("main", "main"),
            ("finish_task_switch.isra.0", "finish_task_switch"),
            ("sort_range.constprop.0.cold", "sort_range"),
            ("com.acme.App$$Lambda/0x00007f.run", "App$$Lambda.run"),
            ("com.acme.App$$Lambda$94+0x00000007f8.1800031768.run", "App$$Lambda.run"),
            ("com.acme.App$$Lambda", "acme.App$$Lambda"),
            ("CodeHeap::allocate(unsigned long)", "CodeHeap::allocate(unsigned long)"),
            ("", ""),
        ] {
            assert_eq!(short_symbol(symbol), expected);
        }
    }
}
