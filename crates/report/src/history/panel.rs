//! A part of the chart: from runs and parts of its height to elements of SVG.

use crate::clean::escaped;
use crate::units::amount;

/// Where a part of the chart is, in pixels, and how many runs lie side by side in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Panel {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) runs: usize,
}

/// From values to parts of a height.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    is_logarithmic: bool,
}

impl Scale {
    /// For values that vary by factors; it does not begin with zero.
    pub(super) fn logarithmic(values: &[f64]) -> Scale {
        let positive = || values.iter().copied().filter(|value| *value > 0.0);
        let (low, high) = (positive().fold(f64::INFINITY, f64::min), positive().fold(0.0, f64::max));
        match low.is_finite() {
            true => Scale { low: low / 1.2, high: high * 1.2, is_logarithmic: true },
            false => Scale { low: 1.0, high: 10.0, is_logarithmic: true },
        }
    }

    /// From zero.
    pub(super) fn linear(values: &[f64]) -> Scale {
        let high = values.iter().copied().fold(0.0, f64::max);
        Scale { low: 0.0, high: if high > 0.0 { high * 1.05 } else { 1.0 }, is_logarithmic: false }
    }

    /// Which part of the height a value is at.
    pub(super) fn part(&self, value: f64) -> f64 {
        let part = match self.is_logarithmic {
            true => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
            false => value / self.high,
        };
        part.clamp(0.0, 1.0)
    }

    /// Values at the lower end, the middle and the upper end.
    fn ticks(&self) -> [f64; 3] {
        let middle = if self.is_logarithmic { (self.low * self.high).sqrt() } else { (self.low + self.high) / 2.0 };
        [self.low, middle, self.high]
    }
}

impl Panel {
    fn x(&self, index: usize) -> f64 {
        self.left + self.width * (index as f64 + 0.5) / self.runs.max(1) as f64
    }

    fn y(&self, part: f64) -> f64 {
        self.top + self.height * (1.0 - part)
    }

    /// Title, lines at three values, and these values.
    pub(super) fn frame(&self, title: &str, scale: &Scale, unit: &str) -> String {
        let (left, right) = (self.left, self.left + self.width);
        let mut text =
            format!("<text x=\"{left}\" y=\"{:.1}\" fill=\"#444\">{}</text>\n", self.top - 8.0, escaped(title));
        for value in scale.ticks() {
            let y = self.y(scale.part(value));
            text += &format!(
                "<path d=\"M{left} {y:.1}H{right}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" \
                 fill=\"#666\">{}</text>\n",
                left - 6.0,
                y + 4.0,
                escaped(&amount(value, unit))
            );
        }
        text
    }

    /// A line through the values that are known.
    pub(super) fn line(&self, values: &[Option<f64>], scale: &Scale, colour: &str, dashes: &str) -> String {
        let points = values
            .iter()
            .enumerate()
            .filter_map(|(index, value)| Some(format!("{:.1},{:.1}", self.x(index), self.y(scale.part((*value)?)))));
        let points: Vec<String> = points.collect();
        format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-dasharray=\"{dashes}\"/>\n",
            points.join(" ")
        )
    }

    pub(super) fn point(&self, index: usize, part: f64, colour: &str, says: &str) -> String {
        let (x, y) = (self.x(index), self.y(part));
        format!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"><title>{}</title></circle>\n",
            escaped(says)
        )
    }

    pub(super) fn bar(&self, index: usize, parts: [f64; 2], colour: &str, says: &str) -> String {
        let width = (self.width / self.runs.max(1) as f64 * 0.7).max(1.0);
        let (x, y, height) = (self.x(index) - width / 2.0, self.y(parts[1]), (parts[1] - parts[0]) * self.height);
        format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"><title>{}</title></rect>\n",
            escaped(says)
        )
    }

    pub(super) fn legend(&self, place: usize, colour: &str, name: &str) -> String {
        let x = self.left + 150.0 + place as f64 * 145.0;
        let y = self.top - 17.0;
        format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"9\" height=\"9\" fill=\"{colour}\"/><text x=\"{:.1}\" y=\"{:.1}\" \
             font-size=\"11\">{}</text>\n",
            x + 13.0,
            y + 9.0,
            escaped(name)
        )
    }

    /// A vertical line before a run, down to `to_y`.
    pub(super) fn mark(&self, index: usize, to_y: f64, says: &str) -> String {
        let part = index as f64 / self.runs.max(1) as f64;
        let x = self.left + self.width * part;
        // The words stay within the chart.
        let (gap, anchor) = if part > 0.7 { (-4.0, "end") } else { (4.0, "start") };
        format!(
            "<path d=\"M{x:.1} {:.1}V{to_y:.1}\" stroke=\"#c0392b\" stroke-width=\"1.5\"/><text x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"{anchor}\" fill=\"#c0392b\">{}</text>\n",
            self.top,
            x + gap,
            self.top + 12.0,
            escaped(says)
        )
    }

    pub(super) fn number(&self, index: usize) -> String {
        let (x, y) = (self.x(index), self.top + self.height + 16.0);
        format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" fill=\"#666\">{}</text>\n", index + 1)
    }
}
