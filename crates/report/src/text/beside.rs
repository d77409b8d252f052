//! Several explanations of the same service in columns: sick beside fixed.

use fathom_causes::explanation::{Evidence, Explanation, HeadlineKind, Verdict};

use crate::clean::{line, shorten};
use crate::sheet::{Sheet, Tone, columns, styled};
use crate::{TextOptions, units};

const NAME_MAX_CHARS: usize = 40;

/// One column.
#[derive(Debug, Clone)]
pub struct Variant<'a> {
    /// Its heading, for example `sick`.
    pub name: &'a str,
    /// What was said of it.
    pub explanation: &'a Explanation,
    /// What was measured besides, as name and value.
    pub measured: Vec<(String, String)>,
}

/// One line of the table: a name and a value for each variant.
struct Row {
    name: String,
    values: Vec<String>,
}

/// The table of what differs: slow time, causes, what was measured besides, and the headline
/// figures that any of them has.
pub fn beside(variants: &[Variant], options: &TextOptions) -> String {
    let mut sheet = Sheet::new(options.width);
    let rows = rows(variants);
    let name_width = rows.iter().map(|row| columns(&row.name)).max().unwrap_or(0);
    let each = sheet.room(name_width + 2 * variants.len()) / variants.len().max(1);
    for (index, Row { name, values }) in rows.iter().enumerate() {
        let tone = if index == 0 { Tone::Strong } else { Tone::Plain };
        let cell = |(column, value): (usize, &String)| match column + 1 == values.len() {
            true => format!("  {}", shorten(value, each)),
            false => format!("  {}", padded(&shorten(value, each), each)),
        };
        let cells = values.iter().enumerate().map(cell).map(|cell| styled(tone, &cell)).collect::<Vec<_>>();
        sheet.line(0, std::iter::once(styled(Tone::Faint, &padded(name, name_width))).chain(cells));
    }
    sheet.render(options.color)
}

/// Pads to a number of columns, which formatting by characters would miss for wide ones.
fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

fn rows(variants: &[Variant]) -> Vec<Row> {
    let row = |name: &str, value: &dyn Fn(&Variant) -> String| Row {
        name: shorten(name, NAME_MAX_CHARS),
        values: variants.iter().map(|variant| line(&value(variant))).collect(),
    };
    let mut rows = vec![
        row("", &|variant| variant.name.to_owned()),
        row("slow", &|variant| slow(variant.explanation)),
        row("first cause", &|variant| first_cause(variant.explanation)),
    ];
    let measured = variants.iter().flat_map(|variant| variant.measured.iter().map(|(name, _)| name.as_str()));
    for name in without_repetitions(measured) {
        rows.push(row(name, &|variant| measurement(variant, name)));
    }
    let figures = variants.iter().flat_map(|variant| variant.explanation.figures.iter().map(|f| f.says.as_str()));
    for name in without_repetitions(figures) {
        rows.push(row(name, &|variant| figure(variant.explanation, name)));
    }
    rows
}

fn slow(explanation: &Explanation) -> String {
    let lengths = explanation.slow.iter().map(|slow| slow.to_ns.saturating_sub(slow.from_ns));
    match explanation.headline.kind {
        _ if !explanation.slow.is_empty() => units::duration(lengths.fold(0i64, i64::saturating_add)),
        HeadlineKind::NothingSlow => "nothing was slow".to_owned(),
        HeadlineKind::NoSign => "no sign of it".to_owned(),
        HeadlineKind::CannotTell | HeadlineKind::Slow => "cannot tell".to_owned(),
    }
}

fn first_cause(explanation: &Explanation) -> String {
    let named = explanation.causes.first().filter(|cause| cause.verdict <= Verdict::Possible);
    match named.filter(|_| !explanation.slow.is_empty()) {
        Some(cause) => {
            let (_, verdict) = super::causes::verdict_word(cause.verdict);
            format!("{} {verdict} {}", cause.id, units::amount(cause.share, "ratio"))
        }
        None => "none".to_owned(),
    }
}

/// Names in the order in which they first appear.
fn without_repetitions<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn measurement(variant: &Variant, name: &str) -> String {
    let found = variant.measured.iter().find(|(known, _)| known == name);
    found.map_or_else(|| "-".to_owned(), |(_, value)| value.clone())
}

fn figure(explanation: &Explanation, name: &str) -> String {
    let found = explanation.figures.iter().find(|figure| figure.says == name);
    found.map_or_else(|| "-".to_owned(), |Evidence { value, unit, .. }| units::amount(*value, unit))
}
