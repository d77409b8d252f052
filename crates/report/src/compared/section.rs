//! A part of a comparison: a heading, sentences, a table.

use std::fmt::Write;

use crate::clean::{self, escaped};
use crate::sheet::{Sheet, Tone, columns, fit, styled};
use crate::ticket::safe;

/// Wider cells are cut in their middle.
const CELL_MAX_COLUMNS: usize = 44;

/// A part of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Section {
    heading: &'static str,
    /// The verdict: printed as it is, and the heading of the Markdown.
    verdict: Option<String>,
    /// Names of the columns; the first row.
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Sentences below the table.
    notes: Vec<String>,
}

impl Section {
    pub(crate) fn new(heading: &'static str) -> Section {
        Section { heading, ..Section::default() }
    }

    pub(crate) fn verdict(says: &str) -> Section {
        Section { heading: "Verdict", verdict: Some(says.to_owned()), ..Section::default() }
    }

    pub(crate) fn is_verdict(&self) -> bool {
        self.verdict.is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.verdict.is_none() && self.rows.is_empty() && self.notes.is_empty()
    }

    /// A table. Rows beyond the first `most` are counted.
    pub(crate) fn table(mut self, head: &[&str], rows: Vec<Vec<String>>, most: usize) -> Section {
        let more = rows.len().saturating_sub(most);
        self.head = head.iter().map(|name| (*name).to_owned()).collect();
        self.rows = rows.into_iter().take(most).collect();
        if more > 0 {
            self.notes.push(format!("{more} more rows: --all"));
        }
        self
    }

    pub(crate) fn note(mut self, says: impl Into<String>) -> Section {
        self.notes.push(says.into());
        self
    }

    pub(crate) fn write(&self, sheet: &mut Sheet, tone: Tone) {
        sheet.line(0, [styled(Tone::Strong, self.heading)]);
        if let Some(verdict) = &self.verdict {
            sheet.paragraph(2, tone, verdict);
        }
        let widths = self.widths();
        for (row, tone) in self.lines() {
            let mut cells = row.iter().zip(&widths).map(|(cell, width)| {
                let cell = fit(&clean::line(cell), CELL_MAX_COLUMNS);
                let gap = " ".repeat(width.saturating_sub(columns(&cell)) + 2);
                styled(tone, &cell.chars().chain(gap.chars()).collect::<String>())
            });
            let first = cells.next();
            sheet.line(2, first.into_iter().chain(cells));
        }
        self.notes.iter().for_each(|note| sheet.paragraph(2, Tone::Faint, note));
        sheet.blank();
    }

    fn lines(&self) -> impl Iterator<Item = (&Vec<String>, Tone)> {
        let head = (!self.rows.is_empty()).then_some((&self.head, Tone::Faint));
        head.into_iter().chain(self.rows.iter().map(|row| (row, Tone::Plain)))
    }

    fn widths(&self) -> Vec<usize> {
        let width = |place: usize| {
            let cells = self.lines().filter_map(|(row, _)| row.get(place));
            cells.map(|cell| columns(&fit(&clean::line(cell), CELL_MAX_COLUMNS))).max().unwrap_or(0)
        };
        (0..self.head.len()).map(width).collect()
    }

    /// As a part of a page.
    pub(crate) fn html(&self) -> String {
        let cells = |row: &Vec<String>, tag: &str| -> String {
            row.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect()
        };
        let rows: String = self.rows.iter().map(|row| format!("<tr>{}</tr>\n", cells(row, "td"))).collect();
        let notes: String = self.notes.iter().map(|note| format!("<p>{}</p>\n", escaped(note))).collect();
        let head = if self.rows.is_empty() { String::new() } else { format!("<tr>{}</tr>\n", cells(&self.head, "th")) };
        format!("<h2>{}</h2>\n<table>{head}{rows}</table>\n{notes}", self.heading)
    }

    /// A heading of a document.
    pub(crate) fn markdown_heading(says: &str) -> String {
        let mut letters = says.chars();
        let capital: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
        format!("## {}\n\n", safe(&capital))
    }

    pub(crate) fn markdown(&self) -> String {
        let mut text = format!("**{}**\n\n", self.heading);
        let line = |row: &Vec<String>| {
            let cells: Vec<String> = row.iter().map(|cell| safe(cell)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        if !self.rows.is_empty() {
            let rule = vec!["---"; self.head.len()].join("|");
            // Writing into a text does not fail.
            let _ = write!(text, "{}|{rule}|\n{}\n", line(&self.head), self.rows.iter().map(line).collect::<String>());
        }
        self.notes.iter().for_each(|note| text.push_str(&format!("{}\n\n", safe(note))));
        text
    }
}
