//! How long answers take on a large recording: `cargo run --release -p fathom-page --example questions [SAMPLES]`.
//!
//! The recording is synthetic: one hour, 2,000 threads, some 300,000 stacks of about 40 frames, some of them much more
//! frequent than others, a million spans. Each question is asked several times; best and median are printed.

use std::env;
use std::fs;
use std::time::{Duration, Instant};

use fathom_evidence::kinds::{event, frame, span};
use fathom_evidence::tables::{Sample, Span};
use fathom_evidence::{Frame, FrameId, Recording, StackId};
use fathom_page::model::{Alone, answer};
use fathom_page::{About, Loaded, Query};

const SAMPLES: usize = 10_000_000;
const SPANS: usize = 1_000_000;
const THREADS: u64 = 2_000;
const STACKS: usize = 300_000;
const HOUR_NS: i64 = 3_600_000_000_000;
const BEGIN_NS: i64 = 1_700_000_000_000_000_000;
const TIMES: usize = 7;

const QUESTIONS: &[&str] = &[
    "overview",
    "flame",
    "flame?from=0&to=600e9",
    "flame?threads=0-15",
    "flame?from=600e9&to=1200e9&baseline=0..600000000000",
    "flame?inverted=1",
    "frames",
    "sandwich?frame=app.Service12.call&side=callers",
    "heat?columns=1500",
    "heat?by=state&columns=1500",
    "heat?columns=1500&threads=0-49",
    "subsecond",
    "spans?width=1500",
    "table?limit=500",
];

/// Numbers that are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// Small numbers much more often than large ones.
    fn skewed(&mut self, end: u64) -> u64 {
        let part = self.below(1 << 20) as f64 / (1 << 20) as f64;
        (part * part * part * end as f64) as u64
    }
}

fn main() {
    let samples = env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(SAMPLES);
    let recording = recording(samples);
    println!("{samples} samples, {} stacks, {SPANS} spans", recording.stacks.stack_count());
    println!("{:>9} MB with the tables", resident_mb());
    let (page, took) = timed(|| Loaded::new(recording, About::default()));
    println!("{:>9.1} s to explain and sort, {} MB then", took.as_secs_f64(), resident_mb());
    for question in QUESTIONS {
        let (name, query) = question.split_once('?').unwrap_or((question, ""));
        let query = Query::parse(query);
        let mut bytes = 0;
        let mut took: Vec<Duration> = (0..TIMES)
            .map(|_| {
                let (answered, took) = timed(|| answer(&page, name, &query, &Alone));
                bytes = answered.map_or(0, |answer| answer.bytes.len());
                took
            })
            .collect();
        took.sort();
        let ms = |took: Duration| took.as_secs_f64() * 1e3;
        println!(
            "{:>9.1} ms best {:>7.1} ms middle {:>9} kB  {question}",
            ms(took[0]),
            ms(took[TIMES / 2]),
            bytes / 1024
        );
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    let done = work();
    (done, began.elapsed())
}

fn recording(samples: usize) -> Recording {
    let mut random = Random(7);
    let mut recording = Recording::default();
    let stacks = stacks(&mut recording, &mut random);
    (1..=THREADS as i64).for_each(|tid| recording.add_thread(tid, &format!("handler-{tid}")));
    let cpu = recording.strings.intern(event::CPU);
    recording.samples.reserve(samples);
    for index in 0..samples {
        let time_ns = BEGIN_NS + HOUR_NS / samples as i64 * index as i64;
        let (tid, stack_id) = (random.skewed(THREADS) as i64 + 1, stacks[random.skewed(stacks.len() as u64) as usize]);
        recording.samples.push(Sample {
            time_ns,
            tid,
            event: cpu,
            weight_ns: 10_000_000,
            stack_id,
            ..Sample::default()
        });
    }
    let kinds = [span::PARK, span::PAGE_FAULT, span::MONITOR_ENTER].map(|kind| recording.strings.intern(kind));
    for index in 0..SPANS {
        let time_ns = BEGIN_NS + HOUR_NS / SPANS as i64 * index as i64;
        let (tid, kind) = (random.skewed(THREADS) as i64 + 1, kinds[index % kinds.len()]);
        let duration_ns = random.skewed(50_000_000) as i64;
        recording.spans.push(Span { time_ns, duration_ns, tid, kind, ..Span::default() });
    }
    recording
}

/// Stacks that share their beginnings, as those of a server do.
fn stacks(recording: &mut Recording, random: &mut Random) -> Vec<StackId> {
    let kinds = [frame::COMPILED, frame::INLINED, frame::C1, frame::NATIVE].map(|kind| recording.strings.intern(kind));
    let frames: Vec<FrameId> = (0..20_000)
        .map(|number| {
            let symbol = recording.strings.intern(&format!(
                "app.Service{}.call{}",
                number / 3,
                ["", "Inner", "Leaf"][number % 3]
            ));
            let kind = kinds[random.skewed(4) as usize];
            recording.stacks.intern_frame(Frame { symbol, kind, line: number as u32, ..Frame::default() })
        })
        .collect();
    let mut stacks = vec![StackId(0)];
    while stacks.len() < STACKS {
        let mut stack = stacks[random.below(stacks.len() as u64) as usize];
        for _ in 0..random.below(12) + 1 {
            stack = recording.stacks.intern(stack, frames[random.skewed(frames.len() as u64) as usize]);
            stacks.push(stack);
        }
    }
    stacks
}

/// Memory of this process, as the kernel counts it.
fn resident_mb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).map_or(0, |kb: u64| kb / 1024)
}
