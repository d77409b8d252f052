//! Lines of styled text that fit a width.
//!
//! Everything printed goes through a [`Sheet`]: it wraps, aligns, and makes text from files safe,
//! so that no part of a report can forget to. Styles are kept apart from the text until the end,
//! because escape sequences have no width.

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use crate::clean;

/// What a text is, which decides how it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    /// Names and headings.
    Strong,
    /// Beside the point.
    Faint,
    /// Something is wrong and certain.
    Bad,
    /// Something to be careful about.
    Warn,
    /// Something is fine.
    Good,
}

impl Tone {
    fn style(self) -> Style {
        let color = |color: AnsiColor| Style::new().fg_color(Some(color.into())).bold();
        match self {
            Tone::Plain => Style::new(),
            Tone::Strong => Style::new().bold(),
            Tone::Faint => Style::new().dimmed(),
            Tone::Bad => color(AnsiColor::Red),
            Tone::Warn => color(AnsiColor::Yellow),
            Tone::Good => color(AnsiColor::Green),
        }
    }
}

/// Text of one tone.
#[derive(Debug, Clone)]
pub(crate) struct Styled {
    tone: Tone,
    text: String,
}

/// Text of a tone, made safe to print.
pub(crate) fn styled(tone: Tone, text: &str) -> Styled {
    Styled { tone, text: clean::line(text) }
}

/// Columns that `text` fills.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// Lines under construction.
#[derive(Debug)]
pub(crate) struct Sheet {
    width: usize,
    lines: Vec<Vec<Styled>>,
}

/// Narrower than this nothing readable fits; lines are then longer than the terminal.
const WIDTH_MIN: usize = 40;

impl Sheet {
    pub(crate) fn new(width: usize) -> Self {
        Sheet { width: width.max(WIDTH_MIN), lines: Vec::new() }
    }

    /// Columns left of a line that is indented.
    pub(crate) fn room(&self, indent: usize) -> usize {
        self.width.saturating_sub(indent).max(WIDTH_MIN / 2)
    }

    /// Lines so far.
    pub(crate) fn height(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn blank(&mut self) {
        self.lines.push(Vec::new());
    }

    /// A line as it is, indented.
    pub(crate) fn line(&mut self, indent: usize, texts: impl IntoIterator<Item = Styled>) {
        let start = Styled { tone: Tone::Plain, text: " ".repeat(indent) };
        self.lines.push(std::iter::once(start).chain(texts).collect());
    }

    /// A command that goes into a text at `indent`: it is not broken if it fits into a line, nor
    /// after its first word.
    pub(crate) fn unbroken(&self, indent: usize, command: &str) -> String {
        match columns(&clean::line(command)) <= self.room(indent) {
            true => command.replace(' ', NO_BREAK),
            false => command.replacen(' ', NO_BREAK, 1),
        }
    }

    /// A text at `indent`, with the command that goes with it, if there is one.
    pub(crate) fn with_command(&self, indent: usize, text: &str, command: &str) -> String {
        match command.is_empty() {
            true => text.to_owned(),
            false => format!("{text} {}", self.unbroken(indent, &format!("→ {command}"))),
        }
    }

    /// A text that wraps; all its lines begin at `indent`. Nothing if there is no text.
    pub(crate) fn paragraph(&mut self, indent: usize, tone: Tone, text: &str) {
        for line in wrap(&clean::line(text), self.room(indent)).into_iter().filter(|line| !line.is_empty()) {
            self.line(indent, [Styled { tone, text: line }]);
        }
    }

    /// A label at `indent`, and a text to its right that wraps at `hang`.
    pub(crate) fn labelled(&mut self, indent: usize, hang: usize, label: Styled, text: &str) {
        let gap = hang.saturating_sub(indent + columns(&label.text)).max(1);
        let mut label = Some(label);
        for line in wrap(&clean::line(text), self.room(hang)) {
            let text = Styled { tone: Tone::Plain, text: line };
            match label.take() {
                Some(label) => self.line(indent, [label, Styled { tone: Tone::Plain, text: " ".repeat(gap) }, text]),
                None => self.line(hang, [text]),
            }
        }
    }

    /// Items that are not broken unless they fill more than a line, with a separator between those
    /// that share one. Lines after the first begin at `hang`.
    pub(crate) fn items(&mut self, hang: usize, items: Vec<Styled>, separator: &str) {
        self.items_after(Vec::new(), hang, items, separator);
    }

    /// The same, to the right of labels.
    pub(crate) fn items_after(&mut self, labels: Vec<Styled>, hang: usize, items: Vec<Styled>, separator: &str) {
        let mut used: usize = labels.iter().map(|label| columns(&label.text)).sum();
        let mut line = labels;
        let mut between = "";
        for item in items {
            let item = Styled { text: fit(&item.text, self.room(hang)), ..item };
            let needed = columns(between) + columns(&item.text);
            if used + needed > self.width {
                self.line(0, std::mem::take(&mut line));
                line.push(Styled { tone: Tone::Plain, text: " ".repeat(hang) });
                (between, used) = ("", hang);
            }
            line.push(Styled { tone: Tone::Faint, text: between.to_owned() });
            used += columns(between) + columns(&item.text);
            line.push(item);
            between = separator;
        }
        self.line(0, line);
    }

    /// The text, with escape sequences if `color`.
    pub(crate) fn render(&self, color: bool) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let shown = line.iter().rposition(|part| !part.text.trim().is_empty()).map_or(0, |last| last + 1);
            for Styled { tone, text: words } in &line[..shown] {
                match color && *tone != Tone::Plain {
                    true => text.push_str(&format!("{}{words}{:#}", tone.style(), tone.style())),
                    false => text.push_str(words),
                }
            }
            text.push('\n');
        }
        text
    }
}

/// A space at which no line is broken.
const NO_BREAK: &str = "\u{a0}";

/// What stands behind a number and says what it counts.
const UNITS: &[&str] = &["%", "ns", "µs", "ms", "s", "min", "h", "B", "KB", "MB", "GB", "TB", "/s", "MB/s", "×"];

/// The text with no break between a number and its unit.
fn with_units(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', ';', ':', '.', ')']));
        let follows_number = kept.ends_with(|last: char| last.is_ascii_digit());
        if !kept.is_empty() {
            kept.push_str(if is_unit && follows_number { NO_BREAK } else { " " });
        }
        kept.push_str(word);
    }
    kept
}

/// Breaks a text at spaces; a word that is wider than a line is shortened in its middle.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in with_units(text).split(' ').filter(|word| !word.is_empty()) {
        let word = fit(&word.replace(NO_BREAK, " "), width);
        let last = lines.last_mut().filter(|line| line.is_empty() || columns(line) + 1 + columns(&word) <= width);
        match last {
            Some(line) if line.is_empty() => line.push_str(&word),
            Some(line) => line.extend([" ", &word]),
            None => lines.push(word),
        }
    }
    lines
}

/// A text without its middle if it is wider than `width` columns.
pub(crate) fn fit(word: &str, width: usize) -> String {
    match columns(word) > width {
        // Wide characters fill two columns, so half as many characters surely fit.
        true if columns(word) > word.chars().count() => clean::shorten(word, width / 2),
        true => clean::shorten(word, width),
        false => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_the_sheet() {
        let texts = ["a few short words", &"word ".repeat(100), &"x".repeat(500), &"名前".repeat(100), "", "   "];
        for width in [40, 80, 100] {
            for text in texts {
                let mut sheet = Sheet::new(width);
                sheet.paragraph(8, Tone::Plain, text);
                sheet.labelled(4, 16, styled(Tone::Strong, "label"), text);
                sheet.items(4, vec![styled(Tone::Plain, text), styled(Tone::Faint, text)], " · ");
                for line in sheet.render(false).lines() {
                    assert!(columns(line) <= width, "{width}: {line}");
                }
            }
        }
    }

    #[test]
    fn wrapping_loses_no_word() {
        let text = "the quick brown fox jumps over the lazy dog";
        for width in 6..60 {
            assert_eq!(wrap(text, width).join(" "), text);
        }
    }

    #[test]
    fn a_number_keeps_its_unit() {
        for width in 8..30 {
            let lines = wrap("paused for 22.7 ms, 92 % of it (3 MB).", width);
            assert!(lines.iter().all(|line| !line.starts_with(['m', '%', 'M'])), "{lines:?}");
        }
    }

    #[test]
    fn colour_only_when_asked() {
        let mut sheet = Sheet::new(80);
        sheet.line(2, [styled(Tone::Bad, "shown")]);
        assert_eq!(sheet.render(false), "  shown\n");
        assert_eq!(sheet.render(true), "  \u{1b}[1m\u{1b}[31mshown\u{1b}[0m\n");
    }
}
