//! Runs over time: a table, and a chart as SVG or in a page of its own.

mod chart;
mod panel;

use fathom_compare::{History, Mark, Measure, Run};

use crate::TextOptions;
use crate::compared::Section;
use crate::sheet::{Sheet, Tone};
use crate::units::{amount, date_and_time};
pub use chart::svg;

/// Causes named in a row.
const CAUSES: usize = 3;

/// The runs as a table, and what changed when.
pub fn history(history: &History, options: &TextOptions) -> String {
    let mut sheet = Sheet::new(options.width);
    for section in [runs(history, options), marks(history)] {
        section.write(&mut sheet, Tone::Strong);
    }
    sheet.render(options.color)
}

/// The chart and the table in one HTML file that needs nothing else.
pub fn history_page(history: &History, options: &TextOptions) -> String {
    let sections: String = [marks(history), runs(history, options)].iter().map(Section::html).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Runs over time</title>\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <style>{STYLE}</style></head><body>\n<h1>Runs over time</h1>\n{}\n{sections}</body></html>\n",
        svg(history)
    )
}

const STYLE: &str = "body{font:14px system-ui,sans-serif;margin:24px;color:#222;background:#fff}\
    h1{font-size:18px}h2{font-size:15px}td,th{padding:2px 12px 2px 0;text-align:left;white-space:nowrap}svg{max-width:100%}";

fn runs(history: &History, options: &TextOptions) -> Section {
    let has_requests = history.runs.iter().any(|run| run.latencies.is_some());
    let measures: &[Measure] = match has_requests {
        true => &[Measure::P50, Measure::P99, Measure::Mean],
        false => &[Measure::Stopped, Measure::Lost],
    };
    let mut head = vec!["", "run", "began"];
    head.extend(measures.iter().map(|measure| measure.name()));
    head.push("causes");
    let row = |(index, run): (usize, &Run)| {
        let is_marked = history.marks.iter().any(|mark| mark.at == index);
        let number = format!("{}{}", if is_marked { "▶ " } else { "" }, index + 1);
        let mut row = vec![number, run.name.clone(), date_and_time(run.from_ns, &options.zone)];
        let value = |measure: &Measure| measure.of(run).map_or("–".to_owned(), |value| amount(value, measure.unit()));
        row.extend(measures.iter().map(value));
        row.push(causes(run));
        row
    };
    let rows = history.runs.iter().enumerate().map(row).collect();
    Section::new("Runs").table(&head, rows, usize::MAX)
}

fn causes(run: &Run) -> String {
    let mut causes: Vec<(&String, &f64)> = run.causes.iter().collect();
    causes.sort_by(|x, y| y.1.total_cmp(x.1));
    let names: Vec<&str> = causes.iter().take(CAUSES).map(|(id, _)| id.as_str()).collect();
    names.join(", ")
}

fn marks(history: &History) -> Section {
    let row = |mark: &Mark| {
        let run = history.runs.get(mark.at).map_or("", |run| run.name.as_str());
        vec![format!("{}", mark.at + 1), run.to_owned(), mark.by(), mark.with_it().join("; ")]
    };
    let section = Section::new("Changes").table(
        &["from run", "", "by", "with it"],
        history.marks.iter().map(row).collect(),
        usize::MAX,
    );
    match history.marks.is_empty() {
        true => section.note("no change found; a change needs three runs on each side"),
        false => section.note(format!(
            "found by E-divisive; of series without a change {} get a mark",
            amount(history.false_alarms, "ratio")
        )),
    }
}
