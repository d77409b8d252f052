//! One line of a lane, reduced to what a picture of some width can show.
//!
//! Each pixel has the least, the greatest and the last value that it covers, so that no spike is lost. All lines of a
//! lane come as one answer, if they are requested by their numbers.

use arrow_array::types::{Float64Type, Int64Type, UInt32Type};

use super::Answer;
use super::select::{self, Stretch};
use crate::columns::Columns;
use crate::index::lane::{Instance, Lane, Points};
use crate::loaded::Loaded;
use crate::query::Query;
use crate::refused::Refused;

const WIDTH: usize = 1_500;
const WIDTH_MAX: usize = 16_384;

/// More lines than this do not come together; their numbers may be repeated without end.
const INSTANCES_MAX: usize = 256;

/// What a pixel shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pixel {
    /// Its beginning.
    t: i64,
    min: f64,
    max: f64,
    last: f64,
}

/// Answers `counter`.
pub(super) fn answer(page: &Loaded, query: &Query) -> Result<Answer, Refused> {
    let stretch = Stretch::of(page, query)?;
    let width = query.count("width", WIDTH, WIDTH_MAX, "a number of pixels up to 16384")?.max(1);
    let id = query.required("lane", "the id of a lane")?;
    let lane = page.lanes.iter().find(|lane| lane.id == id).ok_or_else(|| Refused::not_there("lane", id))?;
    let count = lane.instances.len();
    let Some(numbers) = select::numbers(query, "instances", count)? else {
        return Answer::table(table(&thin(&instance(lane, query)?.points, stretch, width)));
    };
    let mut is_wanted = vec![false; count];
    numbers.into_iter().flatten().take(INSTANCES_MAX).for_each(|number| is_wanted[number] = true);
    let (mut numbers, mut pixels) = (Vec::new(), Vec::new());
    for (number, instance) in (0_u32..).zip(&lane.instances).filter(|(number, _)| is_wanted[*number as usize]) {
        pixels.extend(thin(&instance.points, stretch, width));
        numbers.resize(pixels.len(), number);
    }
    Answer::table(table(&pixels).numbers::<UInt32Type>("instance", numbers))
}

/// The one line that `instance` names.
fn instance<'l>(lane: &'l Lane, query: &Query) -> Result<&'l Instance, Refused> {
    let name = query.text("instance").unwrap_or("");
    let named = lane.instances.iter().find(|instance| instance.name == name);
    let only = || lane.instances.first().filter(|_| name.is_empty() && lane.instances.len() == 1);
    named.or_else(only).ok_or_else(|| Refused::not_there("instance", name))
}

/// The pixels as a table.
pub(crate) fn table(pixels: &[Pixel]) -> Columns {
    Columns::default()
        .numbers::<Int64Type>("t", pixels.iter().map(|pixel| pixel.t))
        .numbers::<Float64Type>("min", pixels.iter().map(|pixel| pixel.min))
        .numbers::<Float64Type>("max", pixels.iter().map(|pixel| pixel.max))
        .numbers::<Float64Type>("last", pixels.iter().map(|pixel| pixel.last))
}

/// Values within a stretch, one row per pixel that has any.
pub(crate) fn thin(points: &Points, stretch: Stretch, width: usize) -> Vec<Pixel> {
    let mut pixels: Vec<Pixel> = Vec::new();
    let step = (stretch.to.saturating_sub(stretch.from) as f64 / width as f64).max(1.0);
    let number = |time: i64| (time.saturating_sub(stretch.from) as f64 / step) as i64;
    let begin = |number: i64| stretch.from.saturating_add((number as f64 * step) as i64);
    match points {
        Points::Levels(points) => {
            let first = points.partition_point(|point| point.0 < stretch.from);
            for (time, value) in points[first..].iter().take_while(|point| point.0 < stretch.to) {
                put(&mut pixels, begin(number(*time)), *value);
            }
        }
        Points::Steps(steps) => {
            let first = steps.partition_point(|step| step.1 <= stretch.from);
            for (from, to, value) in steps[first..].iter().take_while(|step| step.0 < stretch.to) {
                let last = number((*to).min(stretch.to) - 1).min(width as i64 - 1);
                for pixel in number((*from).max(stretch.from))..=last {
                    put(&mut pixels, begin(pixel), *value);
                }
            }
        }
    }
    pixels
}

fn put(pixels: &mut Vec<Pixel>, t: i64, value: f64) {
    match pixels.last_mut() {
        Some(pixel) if pixel.t == t => {
            pixel.min = pixel.min.min(value);
            pixel.max = pixel.max.max(value);
            pixel.last = value;
        }
        _ => pixels.push(Pixel { t, min: value, max: value, last: value }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_spike_is_lost() {
        let levels = Points::Levels((0..1_000).map(|n| (n, if n == 777 { 9.0 } else { 1.0 })).collect());
        let stretch = Stretch { from: 0, to: 1_000 };
        let pixels = thin(&levels, stretch, 10);
        assert_eq!(pixels.len(), 10);
        assert_eq!(pixels[7], Pixel { t: 700, min: 1.0, max: 9.0, last: 1.0 });
        assert_eq!(thin(&levels, stretch, 5_000).len(), 1_000);
    }

    #[test]
    fn steps_fill_the_pixels_that_they_cover() {
        let steps = Points::Steps(vec![(0, 30, 1.0), (30, 40, 5.0), (90, 95, 2.0)]);
        let pixels = thin(&steps, Stretch { from: 10, to: 110 }, 10);
        let found: Vec<(i64, f64)> = pixels.iter().map(|pixel| (pixel.t, pixel.max)).collect();
        assert_eq!(found, [(10, 1.0), (20, 1.0), (30, 5.0), (90, 2.0)]);
        assert!(thin(&steps, Stretch { from: i64::MIN, to: i64::MAX }, 3).len() <= 3);
    }
}
