//! Everything except the rows: the explanation, and the questions that can be asked.

use std::collections::BTreeMap;

use fathom_causes::explanation::Explanation;
use fathom_evidence::Table;
use fathom_evidence::kinds::{counter, span};
use fathom_timeline::StateRow;
use serde::Serialize;

use super::Answer;
use super::pages::{Page, pages};
use crate::index::change::Change;
use crate::index::lane::{LaneKind, Part};
use crate::index::threads::ROLES;
use crate::index::words;
use crate::loaded::Loaded;

/// Version of the page's questions and answers.
const SCHEMA: u32 = 1;

/// Of more threads only those that did most are named.
const THREADS_MAX: usize = 20_000;

/// More facts than this are not shown.
const FACTS_MAX: usize = 20_000;

/// Spans that a page shows from the beginning; the others can be chosen.
const SHOWN_SPANS: &[&str] = &[
    span::GC_PAUSE,
    span::GC_CONCURRENT,
    span::SAFEPOINT,
    span::TIME_TO_SAFEPOINT,
    span::COMPILATION,
    span::CODE_CACHE_FULL,
    span::PAGE_FAULT,
    span::BLOCK_REQUEST,
    span::PACKET_DROP,
    span::DATAGRAMS_LATE,
    span::HOST_STALL,
    span::MONITOR_ENTER,
    span::OWN_ACTION,
    span::NOT_RECORDED,
];

/// The signals that are drawn in the picture of all requests, that of the 99th percentile first.
const LATENCY_SIGNALS: [&str; 2] = ["slowdown.request_latency", "slowdown.median.request_latency"];

/// Figures that a page shows from the beginning.
const SHOWN_FIGURES: &[&str] = &["heap", "cache"];

/// Counters that a page shows from the beginning.
const SHOWN_COUNTERS: &[&str] =
    &[counter::COMPILE_COUNT, counter::CPU_PROCESS_RATIO, counter::THREAD_CPU_NS, counter::THREAD_RUN_QUEUE_NS];

/// The answer.
#[derive(Debug, Serialize)]
pub(crate) struct Overview<'a> {
    schema: u32,
    id: u32,
    name: &'a str,
    /// As text: a browser's numbers do not hold it.
    origin_ns: String,
    from: i64,
    to: i64,
    extent: Stretch,
    explanation: &'a Explanation,
    baseline: Vec<Stretch>,
    baseline_recording: Option<&'a str>,
    pages: BTreeMap<&'static str, Page>,
    roles: Vec<Named<'a>>,
    threads: Vec<Thread<'a>>,
    threads_count: usize,
    pub(crate) lanes: Vec<Lane<'a>>,
    events: Vec<Event<'a>>,
    states: Vec<State>,
    facts: Vec<Fact<'a>>,
    logs: usize,
    /// How many of them can be shown: all but in a file.
    pub(crate) logs_held: usize,
    has: Has,
    /// Of how many samples one is kept; 1 but in a file.
    pub(crate) thinned: u32,
}

#[derive(Debug, Serialize)]
struct Stretch {
    from: i64,
    to: i64,
}

#[derive(Debug, Serialize)]
struct Named<'a> {
    id: &'a str,
    title: String,
}

#[derive(Debug, Serialize)]
struct Thread<'a> {
    index: usize,
    tid: i64,
    name: &'a str,
    role: &'static str,
    cpu_ns: f64,
    samples: u64,
    /// From when to when it lived, as far as that is known.
    from: i64,
    to: i64,
    /// What told of it: sources of rows, and events of samples.
    sources: Vec<&'a str>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Lane<'a> {
    id: &'a str,
    group: &'a str,
    title: String,
    says: &'a str,
    unit: &'a str,
    pub(crate) kind: &'static str,
    pub(crate) instances: Vec<&'a str>,
    /// How many there are: of ports a file may have only those where most time was lost.
    instances_count: usize,
    pub(crate) kinds: Vec<&'a str>,
    words: Vec<&'a str>,
    #[serde(rename = "pain")]
    slowdown: bool,
    /// What each instance is, if the lane is a figure that puts lines together.
    parts: Vec<&'static str>,
    /// Whether the instances are parts of a whole, each a state with its colour.
    stacked: bool,
    colors: Vec<&'static str>,
    states: Vec<&'static str>,
    shown: bool,
    threshold: Option<f64>,
    /// Of each line, or of the spans: how it is in the slow time beside the baseline.
    changes: Vec<Option<Change>>,
    /// How many spans there are, and how many of them, the longest, can be shown one by one: all but in a file.
    pub(crate) total: usize,
    pub(crate) held: usize,
}

#[derive(Debug, Serialize)]
struct Event<'a> {
    id: &'a str,
    title: String,
    says: &'static str,
    unit: &'static str,
    samples: usize,
    on_cpu: bool,
    /// Whether its rows are spans of time, of which a selection may cut off a part.
    lasting: bool,
}

#[derive(Debug, Serialize)]
struct State {
    id: &'static str,
    title: &'static str,
    color: &'static str,
}

impl State {
    fn of(row: &StateRow) -> State {
        State { id: row.id, title: row.title, color: row.color }
    }
}

#[derive(Debug, Serialize)]
struct Fact<'a> {
    subject: &'a str,
    key: &'a str,
    value: &'a str,
    source: &'a str,
}

#[derive(Debug, Serialize)]
struct Has {
    samples: bool,
    spans: bool,
    cover: bool,
    logs: bool,
}

/// Answers `overview`.
pub(crate) fn answer(page: &Loaded) -> Answer {
    Answer::json(&overview(page))
}

/// The overview of a recording.
pub(crate) fn overview(page: &Loaded) -> Overview<'_> {
    let stretch = |range: &(i64, i64)| Stretch { from: range.0, to: range.1 };
    let logs = page.recording.logs.len();
    Overview {
        schema: SCHEMA,
        id: page.about.id,
        name: &page.about.name,
        origin_ns: page.axis.origin_ns.to_string(),
        from: page.axis.from,
        to: page.axis.to,
        extent: stretch(&page.axis.extent),
        explanation: &page.explanation,
        baseline: page.baseline().iter().map(stretch).collect(),
        baseline_recording: page.about.baseline.as_ref().map(|baseline| baseline.name()),
        pages: pages(),
        roles: ROLES.iter().map(|role| Named { id: role, title: role_title(role) }).collect(),
        threads: threads(page),
        threads_count: page.threads.len(),
        lanes: lanes(page),
        events: events(page),
        states: fathom_timeline::State::ALL.iter().map(|state| State::of(state.row())).collect(),
        facts: facts(page),
        logs,
        logs_held: logs,
        has: Has {
            samples: !page.events.is_empty(),
            spans: !page.spans.kinds.is_empty(),
            cover: page.cover.has_any() || page.events.iter().any(|event| event.is_on_cpu()),
            logs: logs > 0,
        },
        thinned: 1,
    }
}

fn role_title(role: &str) -> String {
    let says = match role {
        "handler" => "requests",
        "java" => "application",
        "gc" => "collector",
        "vm" => "JVM",
        "kernel" => return "kernel and other programs".to_owned(),
        other => other,
    };
    format!("{says} threads")
}

fn threads(page: &Loaded) -> Vec<Thread<'_>> {
    let mut shown: Vec<usize> = (0..page.threads.len()).collect();
    if shown.len() > THREADS_MAX {
        let did = |number: &usize| (page.threads[*number].cpu_ns as u64, page.threads[*number].samples);
        shown.sort_by_key(|number| std::cmp::Reverse(did(number)));
        shown.truncate(THREADS_MAX);
        shown.sort_unstable();
    }
    let thread = |index: usize| {
        let thread = page.threads[index];
        let life = page.cover.threads.get(index).map_or(page.axis.extent, |of| of.life);
        Thread {
            index,
            tid: thread.tid,
            name: page.recording.text(thread.name),
            role: ROLES[usize::from(thread.role)],
            cpu_ns: thread.cpu_ns,
            samples: thread.samples,
            from: life.0,
            to: life.1,
            sources: page.provenance.of(index).collect(),
        }
    };
    shown.into_iter().map(thread).collect()
}

/// Lanes of numbers and of spans together, by group.
fn lanes(page: &Loaded) -> Vec<Lane<'_>> {
    let has_requests = !page.requests.ports().is_empty();
    let is_latency = |lane: &crate::index::lane::Lane| LATENCY_SIGNALS.contains(&lane.id.as_str());
    let numbers = page.lanes.iter().zip(&page.changes.lanes).map(|(lane, changes)| Lane {
        id: &lane.id,
        group: lane.group,
        title: lane.title.clone(),
        says: &lane.says,
        unit: lane.unit,
        kind: match (&lane.figure, lane.kind) {
            (Some(figure), _) => figure.kind,
            (None, LaneKind::Rate) => "rate",
            (None, LaneKind::Counter) => "counter",
        },
        parts: lane.instances.iter().filter_map(|instance| instance.part).map(|part| part.name()).collect(),
        instances: lane.instances.iter().map(|instance| instance.name.as_str()).collect(),
        instances_count: lane.instances.len(),
        kinds: marks_of(page, lane),
        words: lane.words.iter().map(String::as_str).collect(),
        slowdown: lane.threshold.is_some(),
        stacked: lane.instances.iter().any(|instance| instance.state.is_some()),
        colors: lane.instances.iter().filter_map(|instance| Some(instance.state?.color)).collect(),
        states: lane.instances.iter().filter_map(|instance| Some(instance.state?.id)).collect(),
        shown: (lane.words.is_empty() && !(has_requests && is_latency(lane)))
            || SHOWN_COUNTERS.contains(&lane.id.as_str())
            || is_shown_figure(lane),
        threshold: lane.threshold,
        changes: changes.clone(),
        total: 0,
        held: 0,
    });
    let counted = page.spans.kinds.iter().map(|kind| (kind.word.as_str(), kind.rows.len()));
    let mut kinds: Vec<((&str, usize), Option<Change>)> = counted.zip(page.changes.spans.iter().copied()).collect();
    kinds.sort_by_key(|((kind, _), _)| words::span_rank(kind));
    let spans = kinds.into_iter().map(|((kind, count), change)| Lane {
        id: kind,
        group: words::counter_group(kind),
        title: words::title(kind),
        says: words::meaning(kind),
        unit: "ns",
        kind: "spans",
        parts: Vec::new(),
        instances: Vec::new(),
        instances_count: 0,
        kinds: vec![kind],
        words: vec![kind],
        slowdown: false,
        stacked: false,
        colors: Vec::new(),
        states: Vec::new(),
        shown: SHOWN_SPANS.contains(&kind),
        threshold: None,
        changes: vec![change],
        total: count,
        held: count,
    });
    let latency = has_requests.then(|| latency(page));
    let mut lanes: Vec<Lane<'_>> = latency.into_iter().chain(spans).chain(numbers).collect();
    lanes.sort_by_key(|lane| (words::group_rank(lane.group), !lane.slowdown));
    lanes
}

/// The spans that are marked on a figure, as far as there are any.
fn marks_of<'p>(page: &Loaded, lane: &crate::index::lane::Lane) -> Vec<&'p str> {
    let is_there = |kind: &&&str| page.spans.kinds.iter().any(|known| known.word == ***kind);
    lane.figure.iter().flat_map(|figure| figure.marks.iter().filter(is_there).copied()).collect()
}

/// Heap and code cache say something of every JVM, a queue when something was dropped there.
fn is_shown_figure(lane: &crate::index::lane::Lane) -> bool {
    let lost =
        lane.instances.iter().any(|line| line.part == Some(Part::Drops) && line.points.values().any(|one| one > 0.0));
    lane.figure.as_ref().is_some_and(|figure| SHOWN_FIGURES.contains(&figure.kind)) || lost
}

/// The picture of all requests.
fn latency(page: &Loaded) -> Lane<'_> {
    let p99 = page.lanes.iter().find(|lane| lane.id == LATENCY_SIGNALS[0]);
    Lane {
        id: "latency",
        group: words::PAIN,
        title: "request latency".to_owned(),
        says: "How long requests took: the darker, the more of that length began then; lines are the median and the 99th percentile, dashes the longest.",
        unit: "ns",
        kind: "latency",
        parts: Vec::new(),
        // The port that leads comes first: its requests tell slow time.
        instances: page.requests.ports().iter().map(|port| port.name.as_str()).collect(),
        instances_count: page.requests.ports().len(),
        kinds: vec![span::REQUEST],
        words: vec![span::REQUEST],
        slowdown: true,
        stacked: false,
        colors: Vec::new(),
        states: Vec::new(),
        shown: true,
        threshold: p99.and_then(|lane| lane.threshold),
        changes: Vec::new(),
        total: 0,
        held: 0,
    }
}

fn events(page: &Loaded) -> Vec<Event<'_>> {
    let mut events = Vec::with_capacity(page.events.len());
    for event in &page.events {
        events.push(Event {
            id: &event.word,
            title: words::event_title(&event.word),
            says: words::event_meaning(&event.word),
            unit: event.unit.name(),
            samples: event.len(),
            on_cpu: event.is_on_cpu(),
            lasting: event.is_lasting(),
        });
    }
    events
}

fn facts(page: &Loaded) -> Vec<Fact<'_>> {
    let text = |id| page.recording.text(id);
    let facts = page.recording.facts.rows().take(FACTS_MAX);
    facts
        .map(|fact| Fact {
            subject: text(fact.subject),
            key: text(fact.key),
            value: text(fact.value),
            source: text(fact.source),
        })
        .collect()
}
