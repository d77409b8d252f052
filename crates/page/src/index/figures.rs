//! Lanes that combine related lines: how full something is, together with its limit, what was lost there, and the
//! stages that something goes through. They are made of lanes of counters, and of the collections in a log.

use fathom_evidence::Recording;
use fathom_evidence::detail::{Gc, from_text};
use fathom_evidence::kinds::{counter, span, subject};
use fathom_timeline::Sources;

use super::lane::{Figure, Instance, Lane, LaneKind, Part, Points};
use super::words;
use crate::axis::Axis;

/// Of many queues, and of many devices, those with the most in them.
const FIGURES_MAX: usize = 4;

/// Stages of a request to a block device, in their order and as `btt` calls them.
const STAGES: &[(&str, &str)] = &[("q2g", "Q2G"), ("g2i", "G2I"), ("i2d", "I2D"), ("g2d", "G2D"), ("d2c", "D2C")];

/// Queues: what is in them, what may be, and what was lost there.
const QUEUES: &[(&str, &str, &str, &str)] = &[
    (
        counter::SOCKET_ACCEPT_QUEUE_COUNT,
        counter::SOCKET_ACCEPT_QUEUE_LIMIT_COUNT,
        counter::SOCKET_ACCEPT_DROPS_COUNT,
        "accept queue",
    ),
    (counter::SOCKET_RECEIVE_QUEUE_BYTES, "", counter::SOCKET_DROPS_COUNT, "receive queue"),
    (counter::DATAGRAM_QUEUE_MOST_COUNT, "", counter::SOCKET_DROPS_COUNT, "datagrams queued"),
    (counter::COMPILE_QUEUE_COUNT, "", "", "compile queue"),
    (counter::DISK_IN_FLIGHT_COUNT, "", "", "requests in flight"),
];

/// The figures that a recording has the numbers for; `lanes` are those of its counters.
pub(crate) fn figures(sources: &Sources<'_>, axis: &Axis, lanes: &[Lane]) -> Vec<Lane> {
    let heap = heap(lanes).or_else(|| heap_of_pauses(sources, axis));
    let mut figures: Vec<Lane> = heap.into_iter().chain(cache(lanes)).collect();
    figures.extend(free_memory(sources.recording, axis, lanes));
    figures.extend(QUEUES.iter().flat_map(|queue| queues(lanes, queue)));
    figures.extend(stages(lanes));
    figures
}

fn lane_of<'l>(lanes: &'l [Lane], word: &str) -> Option<&'l Lane> {
    lanes.iter().find(|lane| lane.id == word)
}

fn line_of<'l>(lane: Option<&'l Lane>, name: &str) -> Option<&'l Instance> {
    lane?.instances.iter().find(|instance| instance.name == name)
}

fn part(name: &str, part: Part, points: &Points) -> Instance {
    Instance { name: name.to_owned(), state: None, part: Some(part), points: points.clone() }
}

/// A figure with everything that is the same for all; none of no lines.
fn figure(kind: &'static str, unit: &'static str, instances: Vec<Instance>, words: &[&str]) -> Option<Lane> {
    let group = words.first().map_or("", |word| words::counter_group(word));
    let is_any = instances.iter().any(|instance| matches!(instance.part, Some(Part::Level | Part::Stage)));
    is_any.then(|| Lane {
        id: kind.to_owned(),
        group,
        title: kind.to_owned(),
        says: String::new(),
        unit,
        kind: LaneKind::Counter,
        instances,
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        threshold: None,
        figure: Some(Figure { kind, marks: &[] }),
    })
}

const HEAP_SAYS: &str =
    "The heap after each collection, from where it had risen to before it, under what is committed.";

fn heap(lanes: &[Lane]) -> Option<Lane> {
    let (used, committed) = (lane_of(lanes, counter::HEAP_USED_BYTES), lane_of(lanes, counter::HEAP_COMMITTED_BYTES));
    let after = line_of(used, "after_gc")?;
    let before = line_of(used, "before_gc").map(|line| part("before", Part::Before, &line.points));
    let limit = line_of(committed, "after_gc").map(|line| part("committed", Part::Limit, &line.points));
    let lines = before.into_iter().chain([part("after", Part::Level, &after.points)]).chain(limit).collect();
    let lane = figure("heap", "bytes", lines, &[counter::HEAP_USED_BYTES, counter::HEAP_COMMITTED_BYTES])?;
    Some(Lane { says: HEAP_SAYS.to_owned(), ..lane })
}

/// The heap as a log tells it with each collection.
fn heap_of_pauses(sources: &Sources<'_>, axis: &Axis) -> Option<Lane> {
    let (mut before, mut after, mut committed) = (Vec::new(), Vec::new(), Vec::new());
    for pause in sources.spans(span::GC_PAUSE) {
        let detail: Gc = from_text(sources.recording.text(pause.detail));
        let (begin, end) = (axis.at(pause.time_ns), axis.at(pause.time_ns.saturating_add(pause.duration_ns.max(0))));
        before.extend(detail.heap_before_bytes.map(|bytes| (begin, bytes as f64)));
        after.extend(detail.heap_after_bytes.map(|bytes| (end, bytes as f64)));
        committed.extend(detail.heap_committed_bytes.map(|bytes| (end, bytes as f64)));
    }
    let lines =
        [("before", Part::Before, before), ("after", Part::Level, after), ("committed", Part::Limit, committed)];
    let lines = lines.into_iter().filter(|(.., points)| !points.is_empty());
    let lines = lines.map(|(name, of, mut points): (&str, Part, Vec<(i64, f64)>)| {
        points.sort_by_key(|point| point.0);
        part(name, of, &Points::Levels(points))
    });
    let lane = figure("heap", "bytes", lines.collect(), &[])?;
    Some(Lane { group: words::counter_group(counter::HEAP_USED_BYTES), says: HEAP_SAYS.to_owned(), ..lane })
}

/// The code cache: its segments on top of each other, under what is reserved for all.
fn cache(lanes: &[Lane]) -> Option<Lane> {
    let (used, reserved) =
        (lane_of(lanes, counter::CODE_CACHE_USED_BYTES)?, lane_of(lanes, counter::CODE_CACHE_RESERVED_BYTES));
    let level = |line: &Instance| part(&line.name, Part::Level, &line.points);
    let limits = reserved.map(|lane| lane.instances.as_slice()).unwrap_or_default();
    let limits = limits.iter().filter(|limit| used.instances.iter().any(|line| line.name == limit.name));
    let limits = limits.map(|line| part(&format!("{} reserved", line.name), Part::Limit, &line.points));
    let lines = used.instances.iter().map(level).chain(limits).collect();
    let lane = figure("cache", "bytes", lines, &[counter::CODE_CACHE_USED_BYTES, counter::CODE_CACHE_RESERVED_BYTES])?;
    Some(Lane {
        title: "code cache".to_owned(),
        says: "The code cache in use under what is reserved, with the sweeps that freed code and the allocations that failed.".to_owned(),
        figure: Some(Figure { kind: "cache", marks: &[span::CODE_CACHE_SWEEP, span::CODE_CACHE_FULL] }),
        ..lane
    })
}

/// Free memory, which falls until the kernel reclaims some: what happened on the way is marked.
fn free_memory(recording: &Recording, axis: &Axis, lanes: &[Lane]) -> Option<Lane> {
    let memory = lane_of(lanes, counter::MEMINFO_BYTES);
    let free = line_of(memory, "MemFree")?;
    let marks = [("low watermark", "memory_low_watermark_bytes"), ("high watermark", "memory_high_watermark_bytes")];
    let limits = marks.into_iter().filter_map(|(name, key)| {
        let bytes: f64 = recording.fact(subject::HOST, key)?.parse().ok()?;
        Some(part(name, Part::Limit, &Points::Levels(vec![(axis.from, bytes), (axis.to, bytes)])))
    });
    let lines = [part("free", Part::Level, &free.points)].into_iter().chain(limits).collect();
    let lane = figure("sawtooth", "bytes", lines, &["meminfo_bytes|MemFree"])?;
    Some(Lane {
        title: "free memory".to_owned(),
        says: "Free memory of the machine over the marks at which the kernel reclaims, with slow page faults and dropped packets.".to_owned(),
        figure: Some(Figure { kind: "sawtooth", marks: &[span::PAGE_FAULT, span::PACKET_DROP] }),
        ..lane
    })
}

/// The queues of one kind that ever had anything in them, the longest first.
fn queues(lanes: &[Lane], (depth, limit, drops, what): &(&'static str, &str, &str, &str)) -> Vec<Lane> {
    let Some(lane) = lane_of(lanes, depth) else { return Vec::new() };
    let (limits, lost) = (lane_of(lanes, limit), lane_of(lanes, drops));
    let peak = |line: &Instance| line.points.values().fold(0.0, f64::max);
    let mut lines: Vec<&Instance> = lane.instances.iter().filter(|line| peak(line) > 0.0).collect();
    lines.sort_by(|a, b| peak(b).total_cmp(&peak(a)));
    let queue = |line: &&Instance| {
        let other = |lane, of| line_of(lane, &line.name).map(|line: &Instance| part(of_name(of), of, &line.points));
        let parts =
            [Some(part("in it", Part::Level, &line.points)), other(limits, Part::Limit), other(lost, Part::Drops)];
        let word = |counter: &str| format!("{counter}|{}", line.name);
        let queue = figure("queue", lane.unit, parts.into_iter().flatten().collect(), &[depth])?;
        Some(Lane {
            id: format!("queue/{depth}/{}", line.name),
            title: [*what, line.name.as_str()].join(" ").trim_end().to_owned(),
            says: "How much waits in the queue, under what fits into it, and what was dropped there.".to_owned(),
            words: [*depth, *limit, *drops].into_iter().filter(|counter| !counter.is_empty()).map(word).collect(),
            ..queue
        })
    };
    lines.iter().take(FIGURES_MAX).filter_map(queue).collect()
}

fn of_name(part: Part) -> &'static str {
    if part == Part::Drops { "dropped" } else { "fits" }
}

/// How long requests to each device took on average, by stage; those with most requests come first.
fn stages(lanes: &[Lane]) -> Vec<Lane> {
    let Some((times, requests)) =
        lane_of(lanes, counter::BLOCK_STAGE_NS).zip(lane_of(lanes, counter::BLOCK_REQUESTS_COUNT))
    else {
        return Vec::new();
    };
    let stages_of = |device: &Instance| {
        let Points::Steps(requests) = &device.points else { return None };
        let lines = STAGES.iter().filter_map(|(stage, title)| {
            let line = line_of(Some(times), &format!("{} {stage}", device.name))?;
            let Points::Steps(steps) = &line.points else { return None };
            Some(part(title, Part::Stage, &Points::Steps(each(steps, requests))))
        });
        let lane = figure("stages", "ns", lines.collect(), &[counter::BLOCK_STAGE_NS])?;
        Some(Lane {
            id: format!("stages/{}", device.name),
            title: format!("a request of {}", device.name),
            says: "How long a request to the device took on average, by stage: until it had a place (Q2G), until it was in the \
                   scheduler's queue (G2I), until the driver got it (I2D, or G2D without a scheduler), at the device (D2C)."
                .to_owned(),
            words: [counter::BLOCK_STAGE_NS, counter::BLOCK_REQUESTS_COUNT].map(|word| format!("{word}|{}", device.name)).into(),
            ..lane
        })
    };
    let count = |line: &Instance| line.points.values().sum::<f64>();
    let mut devices: Vec<&Instance> = requests.instances.iter().collect();
    devices.sort_by(|a, b| count(b).total_cmp(&count(a)));
    devices.into_iter().filter_map(stages_of).take(FIGURES_MAX).collect()
}

type Steps = [(i64, i64, f64)];

/// Time per request: `times` is how many requests were in the stage on average, `requests` how many there were per second.
fn each(times: &Steps, requests: &Steps) -> Vec<(i64, i64, f64)> {
    let per_request = |(from, to, rate): &(i64, i64, f64)| {
        let first = times.partition_point(|step| step.1 <= *from);
        let within = times[first..].iter().take_while(|step| step.0 < *to);
        let overlap = |step: &(i64, i64, f64)| step.1.min(*to).saturating_sub(step.0.max(*from)) as f64 * step.2;
        let ns: f64 = within.map(overlap).sum();
        let count = rate * to.saturating_sub(*from) as f64 / 1e9;
        (count > 0.0).then(|| (*from, *to, ns / count))
    };
    requests.iter().filter_map(per_request).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(id: &str, unit: &'static str, lines: Vec<(&str, Points)>) -> Lane {
        let line = |(name, points): (&str, Points)| Instance { name: name.to_owned(), state: None, part: None, points };
        let (id, title, says) = (id.to_owned(), String::new(), String::new());
        let instances = lines.into_iter().map(line).collect();
        let (group, words, kind) = ("", Vec::new(), LaneKind::Counter);
        Lane { id, group, title, says, unit, kind, instances, words, threshold: None, figure: None }
    }

    fn levels(values: &[f64]) -> Points {
        Points::Levels((0..).zip(values.iter().copied()).collect())
    }

    fn parts(lane: &Lane) -> Vec<(&str, &str)> {
        lane.instances.iter().map(|line| (line.name.as_str(), line.part.unwrap().name())).collect()
    }

    #[test]
    fn a_heap_is_what_was_left_and_what_there_was_before() {
        let used = vec![("after_gc", levels(&[1.0])), ("before_gc", levels(&[3.0]))];
        let committed = vec![("after_gc", levels(&[9.0])), ("before_gc", levels(&[9.0]))];
        let lanes =
            [lane(counter::HEAP_USED_BYTES, "bytes", used), lane(counter::HEAP_COMMITTED_BYTES, "bytes", committed)];
        assert_eq!(parts(&heap(&lanes).unwrap()), [("before", "before"), ("after", "level"), ("committed", "limit")]);
        assert!(heap(&lanes[1..]).is_none());
    }

    #[test]
    fn a_cache_has_the_limits_of_the_segments_that_are_in_it() {
        let used = vec![("a", levels(&[1.0])), ("b", levels(&[2.0]))];
        let lanes = [
            lane(counter::CODE_CACHE_USED_BYTES, "bytes", used),
            lane(counter::CODE_CACHE_RESERVED_BYTES, "bytes", vec![("a", levels(&[5.0])), ("c", levels(&[7.0]))]),
        ];
        assert_eq!(parts(&cache(&lanes).unwrap()), [("a", "level"), ("b", "level"), ("a reserved", "limit")]);
    }

    #[test]
    fn queues_that_were_empty_are_none_and_the_fullest_come_first() {
        let depth = |name, most| (name, levels(&[0.0, most]));
        let lines = vec![depth("x", 0.0), depth("y", 2.0), depth("z", 7.0)];
        let lanes = [
            lane(counter::SOCKET_ACCEPT_QUEUE_COUNT, "count", lines),
            lane(counter::SOCKET_ACCEPT_QUEUE_LIMIT_COUNT, "count", vec![("z", levels(&[8.0]))]),
            lane(counter::SOCKET_ACCEPT_DROPS_COUNT, "1/s", vec![("z", Points::Steps(vec![(0, 1, 4.0)]))]),
        ];
        let found = queues(&lanes, &QUEUES[0]);
        assert_eq!(
            found.iter().map(parts).collect::<Vec<_>>(),
            [vec![("in it", "level"), ("fits", "limit"), ("dropped", "drops")], vec![("in it", "level")],]
        );
        assert_eq!(found[0].words[2], "socket_accept_drops_count|z");
    }

    #[test]
    fn a_stage_takes_its_time_by_the_requests_of_that_time() {
        // 0.5 requests were in the stage for 2 s, then 1 for 2 s, at 100 and 50 requests per second.
        let s = 1_000_000_000;
        let times = [(0, 2 * s, 0.5), (2 * s, 4 * s, 1.0)];
        let found = each(&times, &[(0, s, 100.0), (s, 3 * s, 50.0), (3 * s, 4 * s, 0.0)]);
        assert_eq!(found, [(0, s, 5_000_000.0), (s, 3 * s, 15_000_000.0)]);
    }
}
