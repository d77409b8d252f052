//! The tables of the pack, with as many rows as their detail allows.

use arrow_array::types::{Float32Type, Int32Type, UInt8Type, UInt32Type};
use fathom_evidence::Table;

use crate::columns::Columns;
use crate::index::tree::Place;
use crate::loaded::Loaded;
use crate::model::raster::Raster;
use crate::model::select::Stretch;
use crate::model::{counter, heat, latency, log, table};

use super::spans::{Chosen, Held};

/// Times of samples are in this unit, in ns; in the next one if two are too far apart for it.
const TIME_UNITS_NS: [i64; 2] = [1_000, 1_000_000];

/// How much is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Detail {
    points: usize,
    spans: usize,
    samples: usize,
    /// Columns of the picture of states and of the spans that are left out, and cells of that picture.
    columns: usize,
    cells: usize,
    logs: usize,
}

impl Detail {
    /// What a page on a large screen can show.
    pub(super) const FULL: Detail =
        Detail { points: 1_500, spans: 200_000, samples: 2_000_000, columns: 2_000, cells: 1_000_000, logs: 5_000 };

    /// Half of it; nothing when that would not be worth looking at.
    pub(super) fn less(self) -> Option<Detail> {
        let half = Detail {
            points: self.points / 2,
            spans: self.spans / 2,
            samples: self.samples / 2,
            columns: self.columns / 2,
            cells: self.cells / 2,
            logs: self.logs / 2,
        };
        (half.columns >= 100).then_some(half)
    }
}

/// The parts, and what they hold of all there is.
pub(super) struct Parts {
    pub(super) tables: Vec<(String, Columns)>,
    /// Of how many samples one is kept.
    pub(super) thinned: u32,
    pub(super) spans: Vec<Held>,
    pub(super) logs: usize,
}

/// All parts.
pub(super) fn all(page: &Loaded, detail: Detail) -> Parts {
    let mut parts = counters(page, detail);
    let samples = Samples::choose(page, detail.samples);
    let chosen = Chosen::new(page, detail.spans, detail.columns);
    let nodes = Nodes::of(page, &samples, &chosen.rows);
    let spans = table::table(page, &chosen.rows, |stack| nodes.row[page.node_of(stack) as usize]);
    let total: usize = chosen.kinds.iter().map(|kind| kind.total).sum();
    let total_ns: f64 = chosen.kinds.iter().map(|kind| kind.total_ns).sum();
    parts.push(("spans".to_owned(), spans.note("total", total).note("total_ns", total_ns)));
    parts.push(("span_density".to_owned(), chosen.density()));
    parts.push(("samples".to_owned(), samples.table(page, &nodes)));
    parts.push(("stacks".to_owned(), nodes.table(page)));
    parts.push(("frames".to_owned(), frames(page)));
    let raster = raster(page, detail);
    parts.push(("cover".to_owned(), heat::table(&heat::states(page, raster, None), raster)));
    parts.push(("cover_roles".to_owned(), heat::by_role(page, raster, None)));
    parts.extend(latency(page, detail));
    parts.push(("logs".to_owned(), logs(page, detail.logs)));
    let logs = page.recording.logs.len().min(detail.logs);
    Parts { tables: parts, thinned: samples.every as u32, spans: chosen.kinds, logs }
}

fn counters(page: &Loaded, detail: Detail) -> Vec<(String, Columns)> {
    let (from, to) = page.axis.extent;
    let stretch = Stretch { from, to: to.saturating_add(1) };
    let lines = page.lanes.iter().flat_map(|lane| lane.instances.iter().map(move |instance| (lane, instance)));
    let part = |(lane, instance): (&crate::index::lane::Lane, &crate::index::lane::Instance)| {
        let pixels = counter::thin(&instance.points, stretch, detail.points);
        (format!("counter/{}/{}", lane.id, instance.name), counter::table(&pixels))
    };
    lines.map(part).collect()
}

/// The samples that are kept, in order of time.
struct Samples {
    /// Event and index in it.
    kept: Vec<(u8, u32)>,
    /// One of so many is kept, and stands for all of them.
    every: usize,
}

impl Samples {
    fn choose(page: &Loaded, max: usize) -> Samples {
        let all: usize = page.events.iter().map(|event| event.len()).sum();
        let every = all.div_ceil(max.max(1)).max(1);
        let mut kept: Vec<(u8, u32)> = Vec::with_capacity(all / every + page.events.len());
        for (number, event) in (0_u8..).zip(&page.events) {
            kept.extend((0..event.len()).step_by(every).map(|index| (number, index as u32)));
        }
        kept.sort_by_key(|(event, index)| page.events[usize::from(*event)].time[*index as usize]);
        Samples { kept, every }
    }

    fn iter<'a>(&'a self, page: &'a Loaded) -> impl Iterator<Item = (&'a crate::index::samples::Event, usize)> {
        self.kept.iter().map(|(event, index)| (&page.events[usize::from(*event)], *index as usize))
    }

    /// Times as differences, so that they compress well.
    fn times(&self, page: &Loaded) -> (i64, Vec<i32>) {
        for unit in TIME_UNITS_NS {
            let mut before = 0;
            let steps = self.iter(page).map(|(event, index)| {
                let time = event.time[index].div_euclid(unit);
                let step = time.saturating_sub(before);
                before = time;
                i32::try_from(step).ok()
            });
            if let Some(steps) = steps.collect::<Option<Vec<i32>>>() {
                return (unit, steps);
            }
        }
        // Months without a sample: a clock that is wrong. What cannot be placed stands at the edge.
        (TIME_UNITS_NS[1], vec![0; self.kept.len()])
    }

    fn table(&self, page: &Loaded, nodes: &Nodes) -> Columns {
        let (unit_ns, times) = self.times(page);
        let every = self.every as f64;
        Columns::default()
            .numbers::<Int32Type>("t", times)
            .numbers::<Int32Type>("thread", self.iter(page).map(|(event, index)| event.thread[index] as i32))
            .numbers::<UInt8Type>("event", self.kept.iter().map(|(event, _)| *event))
            .numbers::<UInt32Type>("stack", self.iter(page).map(|(event, index)| nodes.row[event.node[index] as usize]))
            .numbers::<Float32Type>(
                "weight",
                self.iter(page).map(|(event, index)| (event.weight(index) * every) as f32),
            )
            .note("unit_ns", unit_ns)
            .note("thinned", self.every)
    }
}

/// The nodes of the tree of stacks that something refers to, numbered anew in the same order.
struct Nodes {
    kept: Vec<u32>,
    /// Row of each node of the tree; 0 for those that are left out.
    row: Vec<u32>,
}

impl Nodes {
    fn of(page: &Loaded, samples: &Samples, spans: &[u32]) -> Nodes {
        let mut is_used = vec![false; page.tree.len()];
        let of_samples = samples.iter(page).map(|(event, index)| event.node[index]);
        let table = &page.recording.spans;
        let stacks = spans.iter().flat_map(|row| [table.stack_id[*row as usize], table.kernel_stack_id[*row as usize]]);
        of_samples.chain(stacks.map(|stack| page.node_of(stack))).for_each(|node| is_used[node as usize] = true);
        is_used[0] = true;
        for node in (1..is_used.len()).rev() {
            if is_used[node] {
                is_used[page.tree.parent[node] as usize] = true;
            }
        }
        let mut row = vec![0; is_used.len()];
        let kept: Vec<u32> = (0..is_used.len() as u32).filter(|node| is_used[*node as usize]).collect();
        (0..).zip(&kept).for_each(|(number, node)| row[*node as usize] = number);
        Nodes { kept, row }
    }

    fn table(&self, page: &Loaded) -> Columns {
        let parent = |node: &u32| match *node {
            0 => -1,
            node => self.row[page.tree.parent[node as usize] as usize] as i32,
        };
        Columns::default()
            .numbers::<Int32Type>("parent", self.kept.iter().map(parent))
            .numbers::<UInt32Type>("frame", self.kept.iter().map(|node| page.tree.place[*node as usize]))
    }
}

fn frames(page: &Loaded) -> Columns {
    let text = |id| page.recording.text(id);
    let places = || page.tree.places.iter();
    let column = |of: fn(&Place) -> fathom_evidence::StrId| places().map(move |place| text(of(place)));
    Columns::default()
        .texts("name", column(|place| place.symbol))
        .words("kind", column(|place| place.kind))
        .words("module", column(|place| place.module))
}

/// The columns of the pictures of states.
fn raster(page: &Loaded, detail: Detail) -> Raster {
    let columns = detail.columns.min(detail.cells / page.threads.len().max(1)).max(1);
    Raster { stretch: Stretch { from: page.axis.from, to: page.axis.to }, columns }
}

/// More ports than this are not in the file.
pub(super) const PORTS_MAX: usize = 8;

/// The pictures of the requests of each port, at a third of the resolution of lines: they are drawn in cells.
fn latency(page: &Loaded, detail: Detail) -> Vec<(String, Columns)> {
    let stretch = Stretch { from: page.axis.from, to: page.axis.to };
    let raster = |columns: usize| Raster { stretch, columns: columns.max(1) };
    let seconds = (stretch.length() / 1e9).ceil() as usize;
    let ports = page.requests.ports().iter().take(PORTS_MAX);
    let of_port = ports.flat_map(|port| {
        let cells = latency::cells(port, raster(detail.points / 3));
        let lines = latency::lines(port, raster(seconds.min(detail.points)));
        [(format!("latency/{}", port.name), cells), (format!("latency_lines/{}", port.name), lines)]
    });
    of_port.collect()
}

fn logs(page: &Loaded, max: usize) -> Columns {
    let mut rows: Vec<usize> = (0..page.recording.logs.len()).collect();
    rows.sort_by_key(|row| page.recording.logs.time_ns[*row]);
    let total = rows.len();
    rows.truncate(max);
    log::table(page, &rows).note("total", total)
}
