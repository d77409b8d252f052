//! No content of a file or an address makes an answer panic or become markup.

use fathom_evidence::kinds::{counter, event, role, span};
use fathom_evidence::tables::{Counter, Log, Sample, Span};
use fathom_evidence::{Frame, Recording, StackId, Thread};
use fathom_page::Loaded;
use proptest::prelude::*;

use crate::world::{ask, json, load, table};

/// Names that would do something to a terminal, a page or a parser.
pub(crate) fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        "<img src=x onerror=alert(1)>",
        "</script><script>alert(1)</script>",
        "<!--FATHOM-DATA-->",
        "\u{1b}[2J\u{7}\0\u{9b}31m",
        "\u{202e}gpj.exe\u{200b}",
        "\"quotes\" 'and' \\backslashes\\ ${x} {{y}}",
        "line\nbreak\r\ttab",
        "; DROP TABLE samples",
        "名前 🦀 e\u{301}",
    ]
    .map(str::to_owned)
    .to_vec();
    names.push("x".repeat(10_000));
    names
}

/// A recording whose every name is hostile and whose numbers are absurd.
pub(crate) fn recording() -> Recording {
    let mut recording = Recording::default();
    let base = 1_700_000_000_000_000_000;
    let names = names();
    let mut parent = StackId(0);
    for (index, name) in names.iter().enumerate() {
        let symbol = recording.strings.intern(name);
        let frame = recording.stacks.intern_frame(Frame { symbol, module: symbol, kind: symbol, line: u32::MAX });
        parent = recording.stacks.intern(parent, frame);
        let tid = index as i64 + 1;
        // As a table of others may hold it: what enters here loses its free text.
        let role = recording.strings.intern(role::JAVA);
        recording.threads.insert(tid, Thread { name: symbol, role });
        recording.add_fact(name, name, name, name);
        recording.add_log(base, name, name, name, name);
        recording.add_counter(base + tid, counter::HEAP_USED_BYTES, name, f64::MAX, "jfr");
        recording.add_counter(base + tid, name, name, f64::MIN, "jfr");
        recording.add_span(base + tid, 1_000_000, tid, name, name, name, name);
        recording.add_span(base + tid, i64::MAX, tid, span::MONITOR_ENTER, name, "{]", "jfr");
        let event = recording.strings.intern(if index == 1 { name } else { event::CPU });
        let sample = Sample {
            time_ns: base + tid * 1_000_000,
            tid,
            event,
            weight_ns: i64::MAX,
            stack_id: parent,
            ..Sample::default()
        };
        (0..3).for_each(|_| recording.samples.push(sample));
    }
    recording
}

#[test]
fn hostile_names_go_out_as_they_are() {
    let page = load(&recording());
    let overview = json(&page, "overview");
    let threads: Vec<&str> =
        overview["threads"].as_array().unwrap().iter().map(|thread| thread["name"].as_str().unwrap()).collect();
    let frames = table(&page, "flame?min_share=0").texts("name");
    let spans = table(&page, "table?limit=1000");
    for name in names() {
        assert!(threads.contains(&name.as_str()), "{name}");
        assert!(frames.contains(&name), "{name}");
        assert!(spans.texts("name").contains(&name), "{name}");
    }
    let markdown = String::from_utf8(ask(&page, "markdown").unwrap()).unwrap();
    assert!(!markdown.contains('<') && !markdown.contains('\u{1b}'), "{markdown}");
}

const QUESTIONS: &[&str] = &[
    "overview",
    "counter",
    "spans",
    "table",
    "stack",
    "heat",
    "subsecond",
    "flame",
    "frames",
    "sandwich",
    "log",
    "markdown",
    "compare",
    "",
    "../x",
];

const PARAMETERS: &[&str] = &[
    "from",
    "to",
    "width",
    "threads",
    "event",
    "kinds",
    "lane",
    "instance",
    "instances",
    "limit",
    "offset",
    "sort",
    "order",
    "find",
    "id",
    "by",
    "sum",
    "columns",
    "rows",
    "inverted",
    "root",
    "baseline",
    "min_share",
    "frame",
    "side",
];

fn value() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "",
        "0",
        "1",
        "-1",
        "all",
        "none",
        "baseline",
        "recording:0",
        "recording:x",
        "0..1",
        "1..0",
        "-9e18..9e18",
        "9e18",
        "-9e18",
        "1e999",
        "NaN",
        "0-4294967295",
        "3-1,,7",
        "cpu",
        "heap_used_bytes",
        "account",
        "gc_pause",
        "monitor_enter",
        "duration",
        "time",
        "asc",
        "samples",
        "state",
        "callers",
        "callees",
        "18446744073709551616",
        "</script>",
        "\0",
        "java.lang.Thread.run",
        "self",
        "growth",
        "4",
        "100",
        "0.5",
    ]);
    prop_oneof![4 => words.prop_map(str::to_owned), 1 => any::<i64>().prop_map(|n| n.to_string()), 1 => ".{0,12}"]
}

fn query() -> impl Strategy<Value = String> {
    let pair = (prop::sample::select(PARAMETERS), value());
    prop::collection::vec(pair, 0..6).prop_map(|pairs| {
        let mut text = form_urlencoded::Serializer::new(String::new());
        pairs.iter().for_each(|(name, value)| {
            text.append_pair(name, value);
        });
        text.finish()
    })
}

fn check(page: &Loaded, question: &str, query: &str) {
    // Any answer will do, and a refusal is one line.
    if let Err(refused) = ask(page, &format!("{question}?{query}")) {
        let says = refused.to_string();
        assert!(!says.contains('\n') && says.len() < 400, "{says}");
    }
}

#[test]
fn no_parameter_makes_an_answer_panic() {
    let pages =
        [load(&crate::world::recording("jfr/ap_everything.jfr")), load(&recording()), load(&Recording::default())];
    let strategy = (prop::sample::select(QUESTIONS), query());
    let mut runner =
        proptest::test_runner::TestRunner::new(ProptestConfig { cases: 2_000, ..ProptestConfig::default() });
    runner
        .run(&strategy, |(question, query)| {
            pages.iter().for_each(|page| check(page, question, &query));
            Ok(())
        })
        .unwrap();
}

/// Any time, also those that no clock shows.
fn time() -> impl Strategy<Value = i64> {
    prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX), 0..10_000_000_000_i64]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_rows_make_an_answer_panic(
        samples in prop::collection::vec((time(), -2..9_i64, any::<i64>(), 0..9_u32), 0..40),
        spans in prop::collection::vec((time(), time(), -2..9_i64, 0..6_usize), 0..40),
        counters in prop::collection::vec((time(), any::<f64>(), 0..9_i64, 0..4_usize), 0..40),
    ) {
        let mut recording = Recording::default();
        let kinds = [span::MONITOR_ENTER, span::GC_PAUSE, span::SAFEPOINT, span::COMPILATION, span::BLOCKED, "other"];
        let words = [counter::THREAD_CPU_NS, counter::HEAP_USED_BYTES, counter::COMPILE_COUNT, counter::CPU_THREAD_RATIO];
        let cpu = recording.strings.intern(event::CPU);
        for (time_ns, tid, weight_ns, stack) in samples {
            recording.samples.push(Sample { time_ns, tid, weight_ns, event: cpu, stack_id: StackId(stack), ..Sample::default() });
        }
        for (time_ns, duration_ns, tid, kind) in spans {
            let kind = recording.strings.intern(kinds[kind]);
            recording.spans.push(Span { time_ns, duration_ns, tid, kind, stack_id: StackId(77), ..Span::default() });
        }
        for (time_ns, value, tid, word) in counters {
            let name = recording.strings.intern(words[word]);
            recording.counters.push(Counter { time_ns, value, tid, name, ..Counter::default() });
        }
        recording.logs.push(Log { time_ns: i64::MIN, ..Log::default() });
        let page = load(&recording);
        let wide = "from=-9e18&to=9e18&threads=all";
        for question in QUESTIONS {
            check(&page, question, "");
            check(&page, question, wide);
            check(&page, question, "by=state&columns=50&width=50&lane=heap_used_bytes&frame=x&side=callers&id=0&baseline=0..1");
        }
    }
}
