//! A page of the catalogue on a terminal: the few elements of Markdown that the pages use.

use crate::TextOptions;
use crate::sheet::{Sheet, Tone, styled};

/// Wider text is hard to read.
const PROSE_MAX_COLUMNS: usize = 100;

/// An element of a page.
#[derive(Debug, PartialEq)]
enum Element {
    Heading(String),
    /// Text that may be wrapped anew.
    Prose(String),
    /// An item of a list: how deep it is indented, its mark, its text.
    Item(usize, String, String),
    /// A line that stays as it is: code, or a row of a table.
    Verbatim(String),
    Blank,
}

/// A page of Markdown as text.
pub fn page(markdown: &str, options: &TextOptions) -> String {
    let mut sheet = Sheet::new(options.width.min(PROSE_MAX_COLUMNS));
    for element in elements(markdown) {
        match element {
            Element::Heading(text) => sheet.line(0, [styled(Tone::Strong, &plain(&text))]),
            Element::Prose(text) => sheet.paragraph(2, Tone::Plain, &plain(&text)),
            Element::Item(depth, mark, text) => {
                let hang = 2 + depth + mark.len() + 1;
                sheet.labelled(2 + depth, hang, styled(Tone::Faint, &mark), &plain(&text));
            }
            Element::Verbatim(text) => sheet.line(4, [styled(Tone::Faint, &text)]),
            Element::Blank => sheet.blank(),
        }
    }
    sheet.render(options.color)
}

fn elements(markdown: &str) -> Vec<Element> {
    let mut elements = Vec::new();
    let mut in_code = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if in_code || line.starts_with('|') {
            elements.push(Element::Verbatim(line.to_owned()));
        } else {
            add_line(&mut elements, line);
        }
    }
    elements
}

/// Adds a line of text; a line that begins nothing new goes on with the element before it.
fn add_line(elements: &mut Vec<Element>, line: &str) {
    let text = line.trim();
    if text.is_empty() {
        elements.push(Element::Blank);
    } else if let Some(heading) = text.strip_prefix('#') {
        elements.push(Element::Heading(heading.trim_start_matches('#').trim().to_owned()));
    } else if let Some((mark, rest)) = list_mark(text) {
        let depth = line.len() - line.trim_start().len();
        elements.push(Element::Item(depth, mark.to_owned(), rest.to_owned()));
    } else if let Some(Element::Prose(before) | Element::Item(_, _, before)) = elements.last_mut() {
        before.extend([" ", text]);
    } else {
        elements.push(Element::Prose(text.to_owned()));
    }
}

/// `- text`, `* text` or `12. text`, apart.
fn list_mark(text: &str) -> Option<(&str, &str)> {
    let (mark, rest) = text.split_once(' ')?;
    let number = mark.strip_suffix('.').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    (mark == "-" || mark == "*" || number).then_some((mark, rest))
}

/// Without the marks for bold text and code, and with links as `text (address)`.
fn plain(text: &str) -> String {
    let text = text.replace("**", "").replace('`', "");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some((before, label, address, after)) = next_link(rest) {
        out.push_str(before);
        out.push_str(&if label == address { label.to_owned() } else { format!("{label} ({address})") });
        rest = after;
    }
    out + rest
}

/// What stands before the first link, its text and address, and what follows.
fn next_link(text: &str) -> Option<(&str, &str, &str, &str)> {
    let middle = text.find("](")?;
    let open = text[..middle].rfind('[')?;
    let close = middle + text[middle..].find(')')?;
    Some((&text[..open], &text[open + 1..middle], &text[middle + 2..close], &text[close + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    #[test]
    fn a_page() {
        let markdown = "# `some_cause`: a title\n\n## What you see\n\nOne sentence that goes\non in the **next** line, see [the book](book.html).\n\n\
            - first item\n  continued\n- second\n\n1. numbered\n\n```\n-XX:Flag=1   # kept\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
        let options = TextOptions { width: 60, color: false, all: false, zone: TimeZone::UTC };
        insta::assert_snapshot!(page(markdown, &options));
    }

    #[test]
    fn brackets_that_are_no_links() {
        for (text, expected) in [
            ("a ](b", "a ](b"),
            ("[x](y", "[x](y"),
            ("list[0] is (not) a link", "list[0] is (not) a link"),
            ("[u](u) and [v](w)", "u and v (w)"),
            (")](", ")]("),
        ] {
            assert_eq!(plain(text), expected);
        }
    }
}
