//! What a page can draw over time: every counter of the recording, the signal that finds slow seconds, the account.
//!
//! Counters are moved here from their table. A counter that only grows becomes its rate; counters of threads become one
//! per role, because two thousand lines are unreadable.

use fathom_evidence::kinds::{counter, only_grows};
use fathom_evidence::{Recording, SERIES_FROM, StrId};
use fathom_timeline::{Analysis, BUCKET_NS, Series, SignalKind, ThreadState, Wait};
use rustc_hash::FxHashMap;

use super::figures::figures;
use super::lane::{Instance, Lane, LaneKind, Points, Shade};
use super::threads::{ROLES, Threads};
use super::words;
use crate::axis::Axis;

/// More instances of a counter than this are not kept: those that change most are.
const INSTANCES_MAX: usize = 256;

/// Sums over threads are made on a grid of this step, the pace at which threads are looked at, in ns.
const STEP_NS: i64 = 100_000_000;

/// The grid has no more steps than this, whatever the length of the recording.
const STEPS_MAX: i64 = 36_000;

/// All lanes of a recording, in the order of the page.
pub(crate) fn lanes(analysis: &Analysis<'_>, axis: &Axis, threads: &Threads) -> Vec<Lane> {
    let recording = analysis.sources.recording;
    let mut lanes = slow_signals(analysis, axis);
    lanes.extend(account(analysis, axis));
    let counters = analysis.sources.counter_rows();
    let mut of_counters: Vec<Lane> =
        counters.filter_map(|(word, rows)| of_counter(recording, axis, threads, word, rows)).collect();
    of_counters.sort_by_key(|lane| (words::group_rank(lane.group), words::counter_rank(&lane.id)));
    lanes.extend(figures(&analysis.sources, axis, &of_counters));
    lanes.extend(of_counters);
    lanes
}

/// The signals that told slow seconds.
fn slow_signals(analysis: &Analysis<'_>, axis: &Axis) -> Vec<Lane> {
    let which = |kind| match kind {
        SignalKind::MedianLatency => "median ",
        SignalKind::MeanLatency => "mean ",
        _ => "",
    };
    let told = analysis.slowdown.detected.iter().map(|told| Lane {
        id: format!("slowdown.{}{}", which(told.kind).replace(' ', "."), told.kind.name()),
        group: words::PAIN,
        title: format!("{}{}", which(told.kind), words::title(told.kind.name())),
        says: "The signal that tells slow seconds.".to_owned(),
        unit: told.kind.unit(),
        kind: LaneKind::Counter,
        instances: vec![Instance {
            name: String::new(),
            state: None,
            part: None,
            points: per_second(analysis, axis, &told.values),
        }],
        words: Vec::new(),
        threshold: Some(told.threshold),
        figure: None,
    });
    told.collect()
}

/// Values of the account's seconds; none where nothing was observed.
fn per_second(analysis: &Analysis<'_>, axis: &Axis, values: &[f64]) -> Points {
    let begin = |index: usize| axis.at(analysis.account.grid.start_of(index));
    let known = values.iter().enumerate().filter(|(_, value)| value.is_finite());
    Points::Steps(known.map(|(index, value)| (begin(index), begin(index + 1), *value)).collect())
}

/// The colour of time in which a thread had nothing to do, as far as anybody knows.
const IDLE: &str = "idle";

/// Waits that may be idleness, or that have no known reason.
const UNNAMED: ThreadState = ThreadState::Blocked(Wait::Unnamed);

/// What of those waits counts as lost, in ns per bucket: what is beyond the usual, in the slow time as much as can be lost.
fn unnamed_loss(analysis: &Analysis<'_>) -> Option<Vec<f64>> {
    let excess = analysis.excess.of(UNNAMED).filter(|excess| excess.lost_ns() > 0.0)?;
    let row = analysis.account.states.get(&UNNAMED)?;
    let usual_ns = excess.baseline_ns / analysis.excess.slow_ns * BUCKET_NS as f64;
    let beyond: Vec<f64> = row.iter().map(|ns| (ns - usual_ns).max(0.0)).collect();
    let slow_ns: f64 = analysis.slowdown.slow_buckets().map(|index| beyond[index]).sum();
    let lost = (excess.lost_ns() / slow_ns).min(1.0);
    Some(beyond.iter().map(|ns| ns * lost).collect())
}

/// Thread time by state, as the number of threads on average. What may be idleness would hide all the rest: most threads wait for work.
fn account(analysis: &Analysis<'_>, axis: &Axis) -> Option<Lane> {
    let states = analysis.account.states.iter();
    let part = |name: String, state: Shade, row: &[f64]| {
        let threads: Vec<f64> = row.iter().map(|ns| ns / BUCKET_NS as f64).collect();
        Instance { name, state: Some(state), part: None, points: per_second(analysis, axis, &threads) }
    };
    let shade = |state: ThreadState| Shade { id: state.row().id, color: state.row().color };
    let known = states.filter(|(state, row)| state.row().color != IDLE && row.iter().any(|ns| *ns > 0.0));
    let known = known.map(|(state, row)| part(state.to_string(), shade(*state), row));
    let lost = Shade { color: "unknown", ..shade(UNNAMED) };
    let unnamed = unnamed_loss(analysis).map(|row| part(format!("{UNNAMED}, beyond the usual"), lost, &row));
    let instances: Vec<Instance> = known.chain(unnamed).collect();
    (!instances.is_empty()).then(|| Lane {
        id: "account".to_owned(),
        group: words::ACCOUNT,
        title: "thread time by state".to_owned(),
        says: "What the threads did, as the number of threads on average: what causes are judged by. \
               Of waits that may be idle time only what counts as lost is shown."
            .to_owned(),
        unit: "threads",
        kind: LaneKind::Counter,
        instances,
        words: Vec::new(),
        threshold: None,
        figure: None,
    })
}

fn of_counter(recording: &Recording, axis: &Axis, threads: &Threads, word: StrId, rows: &[u32]) -> Option<Lane> {
    let name = recording.text(word);
    let mut tids = rows.iter().map(|row| recording.counters.tid[*row as usize]);
    let is_of_threads = tids.any(|tid| tid != 0 && tid < SERIES_FROM);
    let (grows, is_share) = (only_grows(name), name == counter::CPU_THREAD_RATIO);
    let mut instances = match is_of_threads {
        true => by_role(recording, axis, threads, rows, grows || is_share),
        false => by_instance(recording, axis, rows, grows),
    };
    if is_share {
        // Shares were added up as time, so that a rate is a share again.
        instances.iter_mut().for_each(|instance| instance.points.scale(1.0 / BUCKET_NS as f64));
    }
    let kind = if grows { LaneKind::Rate } else { LaneKind::Counter };
    let (unit, factor) = words::unit(name, kind);
    instances.iter_mut().for_each(|instance| instance.points.scale(factor));
    let lane = Lane {
        id: name.to_owned(),
        group: words::counter_group(name),
        title: words::title(name),
        says: words::meaning(name).to_owned(),
        unit,
        kind,
        instances,
        words: vec![name.to_owned()],
        threshold: None,
        figure: None,
    };
    (!lane.instances.is_empty()).then_some(lane)
}

/// A line for each instance, those that change most first to be kept.
fn by_instance(recording: &Recording, axis: &Axis, rows: &[u32], grows: bool) -> Vec<Instance> {
    let table = &recording.counters;
    let mut found: FxHashMap<(StrId, i64), Vec<(i64, f64)>> = FxHashMap::default();
    for row in rows.iter().map(|row| *row as usize) {
        found
            .entry((table.instance[row], table.tid[row]))
            .or_default()
            .push((axis.at(table.time_ns[row]), table.value[row]));
    }
    let mut lines: Vec<(String, Vec<(i64, f64)>)> =
        found.into_iter().map(|((name, _), points)| (recording.text(name).to_owned(), points)).collect();
    for (_, points) in &mut lines {
        points.sort_by_key(|point| point.0);
    }
    if grows {
        lines.retain(|(_, points)| points.windows(2).any(|pair| pair[1].1 > pair[0].1));
    }
    lines.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.0.cmp(&b.0)));
    lines.truncate(INSTANCES_MAX);
    lines.sort_by(|a, b| a.0.cmp(&b.0));
    let points = |points: Vec<(i64, f64)>| if grows { Points::Steps(rates(&points)) } else { Points::Levels(points) };
    lines.into_iter().map(|(name, line)| Instance { name, state: None, part: None, points: points(line) }).collect()
}

/// Rises per second. A fall means that the counter began anew: nothing is known of that stretch.
fn rates(points: &[(i64, f64)]) -> Vec<(i64, i64, f64)> {
    let pairs = points.windows(2).map(|pair| (pair[0].0, pair[1].0, pair[1].1 - pair[0].1));
    let known = pairs.filter(|(from, to, rise)| from < to && *rise >= 0.0);
    known.map(|(from, to, rise)| (from, to, rise * BUCKET_NS as f64 / to.saturating_sub(from) as f64)).collect()
}

/// A line for each role: the sum over its threads, on a grid.
fn by_role(recording: &Recording, axis: &Axis, threads: &Threads, rows: &[u32], is_amount: bool) -> Vec<Instance> {
    let table = &recording.counters;
    let grows = rows.first().is_some_and(|row| only_grows(recording.text(table.name[*row as usize])));
    let mut found: FxHashMap<(i64, StrId), Vec<(i64, f64)>> = FxHashMap::default();
    for row in rows.iter().map(|row| *row as usize) {
        let point = (axis.at(table.time_ns[row]), table.value[row]);
        found.entry((table.tid[row], table.instance[row])).or_default().push(point);
    }
    if !is_amount {
        return Vec::new();
    }
    let step = STEP_NS.max((axis.to - axis.from) / STEPS_MAX);
    let count = ((axis.to - axis.from) / step + 1) as usize;
    let mut sums: Vec<Vec<f64>> = vec![Vec::new(); ROLES.len()];
    for ((tid, _), mut points) in found {
        points.sort_by_key(|point| point.0);
        let role = threads.get(threads.number(tid)).map_or(1, |thread| usize::from(thread.role));
        let sum = &mut sums[role];
        sum.resize(count, 0.0);
        for (from, to, amount) in amounts(points, grows) {
            spread(sum, axis.from, step, from, to, amount);
        }
    }
    let named = ROLES.iter().zip(sums).filter(|(_, sum)| sum.iter().any(|amount| *amount > 0.0));
    named
        .map(|(role, sum)| Instance {
            name: (*role).to_owned(),
            state: None,
            part: None,
            points: steps(&sum, axis.from, step),
        })
        .collect()
}

/// What a thread's counter says of the stretches between its readings: rises, or averages over the time before.
fn amounts(points: Vec<(i64, f64)>, grows: bool) -> Vec<(i64, i64, f64)> {
    let series = Series(points);
    if grows {
        return series.rises().collect();
    }
    let pairs = series.0.windows(2).map(|pair| (pair[0].0, pair[1].0, pair[1].1));
    pairs.map(|(from, to, share)| (from, to, share * to.saturating_sub(from) as f64)).collect()
}

/// Adds an amount to the steps of its time, each by its part.
fn spread(sum: &mut [f64], origin: i64, step: i64, from: i64, to: i64, amount: f64) {
    let end = origin.saturating_add(step.saturating_mul(sum.len() as i64));
    let length = to.saturating_sub(from).max(1) as f64;
    let (first, last) = (from.max(origin), to.min(end));
    if first >= last {
        return;
    }
    let (from_step, to_step) = (((first - origin) / step) as usize, ((last - 1 - origin) / step) as usize);
    for (index, slot) in sum.iter_mut().enumerate().take(to_step + 1).skip(from_step) {
        let begin = origin + step * index as i64;
        let overlap = last.min(begin + step) - first.max(begin);
        *slot += amount * overlap as f64 / length;
    }
}

fn steps(sum: &[f64], origin: i64, step: i64) -> Points {
    let per_second = BUCKET_NS as f64 / step as f64;
    let begin = |index: usize| origin + step * index as i64;
    Points::Steps(sum.iter().enumerate().map(|(i, amount)| (begin(i), begin(i + 1), amount * per_second)).collect())
}

impl Points {
    /// The values alone.
    pub(crate) fn values(&self) -> Box<dyn Iterator<Item = f64> + '_> {
        match self {
            Points::Levels(points) => Box::new(points.iter().map(|point| point.1)),
            Points::Steps(steps) => Box::new(steps.iter().map(|step| step.2)),
        }
    }

    fn scale(&mut self, factor: f64) {
        if factor == 1.0 {
            return;
        }
        match self {
            Points::Levels(points) => points.iter_mut().for_each(|point| point.1 *= factor),
            Points::Steps(steps) => steps.iter_mut().for_each(|step| step.2 *= factor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_kept_when_spread() {
        for (from, to, expected) in [
            (0, 10, [8.0, 0.0, 0.0]),
            (5, 15, [4.0, 4.0, 0.0]),
            (-10, 10, [4.0, 0.0, 0.0]),
            (20, 40, [0.0, 0.0, 4.0]),
            (40, 50, [0.0; 3]),
            (i64::MIN, i64::MAX, [0.0; 3]),
        ] {
            let mut sum = vec![0.0; 3];
            spread(&mut sum, 0, 10, from, to, 8.0);
            let near = sum.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(near, "{from}..{to}: {sum:?}");
        }
    }

    #[test]
    fn rates_know_restarts_and_standstill() {
        let points = [(0, 5.0), (10, 5.0), (20, 15.0), (20, 16.0), (30, 2.0), (31, 3.0)];
        assert_eq!(rates(&points), [(0, 10, 0.0), (10, 20, 1e9), (30, 31, 1e9)]);
    }
}
