//! The chart as SVG: latency, or stopped time, of each run; below it the lost time by cause; marks through both.
//!
//! It needs no script: the browser shows what a point is by its title.

use fathom_compare::{History, Mark, Measure, Run};

use super::panel::{Panel, Scale};
use crate::units::amount;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;

/// Causes with a colour of their own; the others are drawn together.
const COLOURS: [&str; 5] = ["#c0392b", "#d68910", "#2471a3", "#7d3c98", "#148f77"];
const OTHERS: &str = "#999";

const LINES: [(&str, &str); 2] = [("#1f4e79", ""), ("#1f4e79", "4 3")];

/// The chart of runs in order of time.
pub fn svg(history: &History) -> String {
    let top = Panel { left: LEFT, top: 40.0, width: WIDTH - LEFT - RIGHT, height: 190.0, runs: history.runs.len() };
    let bottom = Panel { top: 285.0, height: 90.0, ..top };
    let parts = [lines(history, top), bars(history, bottom), marks(history, top, bottom), axis(history, bottom)];
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n{}</svg>\n",
        parts.concat()
    )
}

fn lines(history: &History, panel: Panel) -> String {
    let has_requests = history.runs.iter().any(|run| run.latencies.is_some());
    let (measures, title): (&[Measure], &str) = match has_requests {
        true => (&[Measure::P50, Measure::P99], "latency: p50 (line), p99 (dashed)"),
        false => (&[Measure::Stopped], "part of the time in which the application was stopped"),
    };
    let values = |measure: &Measure| -> Vec<Option<f64>> { history.runs.iter().map(|run| measure.of(run)).collect() };
    let all: Vec<f64> = measures.iter().flat_map(values).flatten().collect();
    let scale = if has_requests { Scale::logarithmic(&all) } else { Scale::linear(&all) };
    let mut text = panel.frame(title, &scale, measures[0].unit());
    for (measure, (colour, dashes)) in measures.iter().zip(LINES) {
        text += &panel.line(&values(measure), &scale, colour, dashes);
        for (index, value) in values(measure).into_iter().enumerate() {
            let Some(value) = value else { continue };
            let says = format!("{}: {} {}", history.runs[index].name, measure.name(), amount(value, measure.unit()));
            text += &panel.point(index, scale.part(value), colour, &says);
        }
    }
    text
}

/// Lost time per request or second, one bar a run, the largest causes of all runs with a colour each.
fn bars(history: &History, panel: Panel) -> String {
    let largest = history.causes();
    let colour = |id: &str| {
        let place = largest.iter().position(|known| *known == id).unwrap_or(usize::MAX);
        COLOURS.get(place).copied().unwrap_or(OTHERS)
    };
    let totals: Vec<f64> = history.runs.iter().map(|run| run.per_unit(run.causes.values().sum())).collect();
    let scale = Scale::linear(&totals);
    let title = if largest.is_empty() { "lost time by cause: none in any run" } else { "lost time by cause" };
    let mut text = panel.frame(title, &scale, "ns");
    for (index, run) in history.runs.iter().enumerate() {
        text += &stack(run, index, panel, &scale, &colour);
    }
    for (place, &id) in largest.iter().take(COLOURS.len()).enumerate() {
        text += &panel.legend(place, colour(id), id);
    }
    text
}

fn stack(run: &Run, index: usize, panel: Panel, scale: &Scale, colour: &impl Fn(&str) -> &'static str) -> String {
    let mut below = 0.0;
    let mut text = String::new();
    for (id, ns) in &run.causes {
        let ns = run.per_unit(*ns);
        let says = format!("{}: {id} {}", run.name, amount(ns, "ns"));
        text += &panel.bar(index, [scale.part(below), scale.part(below + ns)], colour(id), &says);
        below += ns;
    }
    text
}

fn marks(history: &History, top: Panel, bottom: Panel) -> String {
    let says = |mark: &Mark| format!("run {}: {}", mark.at + 1, mark.by());
    history.marks.iter().map(|mark| top.mark(mark.at, bottom.top + bottom.height, &says(mark))).collect()
}

/// Numbers of runs, about ten of them.
fn axis(history: &History, panel: Panel) -> String {
    let every = history.runs.len().div_ceil(10).max(1);
    (0..history.runs.len()).step_by(every).map(|index| panel.number(index)).collect()
}
