//! Every answer on the recordings of testdata, compared with counts that are made from the tables themselves.

use std::collections::HashMap;

use arrow_array::types::{Float32Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type};
use fathom_causes::ExplainOptions;
use fathom_evidence::{Recording, StackId, Table as _};

use crate::world::{Table, ask, json, load, near, recordings, table};

/// The time of a recording, in ns since its origin.
fn ends(overview: &serde_json::Value) -> (i64, i64) {
    (overview["from"].as_i64().unwrap(), overview["to"].as_i64().unwrap())
}

/// Sum of the weights and number of the samples of an event within a time, straight from the table.
fn counted(recording: &Recording, event: &str, unit: &str, from_ns: i64, to_ns: i64) -> (f64, u64) {
    let of_event = recording.samples.rows().filter(|sample| recording.text(sample.event) == event);
    let within = of_event.filter(|sample| sample.time_ns >= from_ns && sample.time_ns < to_ns);
    within.fold((0.0, 0), |(sum, count), sample| {
        let weight = match unit {
            "ns" => sample.weight_ns as f64,
            "bytes" => sample.size_bytes as f64,
            _ => 1.0,
        };
        (sum + weight, count + 1)
    })
}

#[test]
fn flames_heat_maps_and_frames_add_up_to_the_samples() {
    for (name, recording) in recordings() {
        let page = load(&recording);
        let overview = json(&page, "overview");
        let (from, to) = ends(&overview);
        let origin: i64 = overview["origin_ns"].as_str().unwrap().parse().unwrap();
        let middle = from + (to - from) / 3;
        for event in overview["events"].as_array().unwrap() {
            let (word, unit) = (event["id"].as_str().unwrap(), event["unit"].as_str().unwrap());
            for (from, to) in [(from, to), (from, middle), (middle, to)] {
                let what = format!("{name} {word} {from}..{to}");
                let selection = format!("event={word}&from={from}&to={to}");
                let (weight, samples, of_threads) = match word.split_once('/') {
                    Some(("spans", kind)) => lasted(&recording, kind, unit, origin + from, origin + to),
                    Some(_) => {
                        let flame = table(&page, &format!("flame?{selection}&min_share=0"));
                        (flame.note("total"), flame.note("samples") as u64, flame.note("total"))
                    }
                    None => {
                        let (weight, samples) = counted(&recording, word, unit, origin + from, origin + to);
                        let of_threads = without_process(&recording, word, unit, origin + from, origin + to).0;
                        (weight, samples, of_threads)
                    }
                };
                check_flame(&table(&page, &format!("flame?{selection}&min_share=0")), weight, samples, &what);
                check_flame(
                    &table(&page, &format!("flame?{selection}&min_share=0&inverted=1")),
                    weight,
                    samples,
                    &what,
                );
                let frames = table(&page, &format!("frames?{selection}&limit=10000"));
                let flame = table(&page, &format!("flame?{selection}&min_share=0"));
                let own: f64 = frames.floats("self").iter().sum::<f64>() + flame.floats("self")[0];
                assert!(near(own, weight, 1e-9), "{what}: frames {own} {weight}");
                let whole: f64 = table(&page, &format!("subsecond?{selection}"))
                    .numbers::<Float32Type>("weight")
                    .into_iter()
                    .map(f64::from)
                    .sum();
                assert!(near(whole, weight, 1e-4), "{what}: subsecond {whole} {weight}");
                let heat: f64 = table(&page, &format!("heat?{selection}&columns=37"))
                    .numbers::<Float32Type>("value")
                    .into_iter()
                    .map(f64::from)
                    .sum();
                assert!(near(heat, of_threads, 1e-4), "{what}: heat {heat} {of_threads}");
            }
        }
    }
}

/// Spans of a kind: how much of them lies in some time, of how many, and how much of that belongs to threads. Instants are
/// counted.
fn lasted(recording: &Recording, kind: &str, unit: &str, from_ns: i64, to_ns: i64) -> (f64, u64, f64) {
    let kind = recording.strings.find(kind);
    let mut sums = (0.0, 0, 0.0);
    for span in recording.spans.rows().filter(|span| Some(span.kind) == kind) {
        let part = match unit {
            "ns" => (span.end_ns().min(to_ns) - span.time_ns.max(from_ns)).max(0) as f64,
            _ => f64::from(u8::from((from_ns..to_ns).contains(&span.time_ns))),
        };
        sums.0 += part;
        sums.1 += u64::from(part > 0.0);
        sums.2 += if span.tid == 0 { 0.0 } else { part };
    }
    sums
}

/// What threads waited for in two halves of the time is what they waited for in all of it, and no more than the threads' time.
#[test]
fn waits_are_divided_by_time() {
    let mut any = false;
    for (name, recording) in recordings() {
        let page = load(&recording);
        let overview = json(&page, "overview");
        let (from, to) = ends(&overview);
        let middle = from + (to - from) / 3;
        let events = overview["events"].as_array().unwrap();
        let waits = events.iter().filter_map(|event| event["id"].as_str()).filter(|id| id.starts_with("waits/"));
        for id in waits {
            let total =
                |from: i64, to: i64| table(&page, &format!("flame?event={id}&from={from}&to={to}")).note("total");
            let (all, parts) = (total(from, to), total(from, middle) + total(middle, to));
            assert!(near(all, parts, 1e-9), "{name} {id}: {all} {parts}");
            assert!(all <= (to - from) as f64 * overview["threads_count"].as_f64().unwrap(), "{name} {id}: {all}");
            any |= all > 0.0;
        }
    }
    assert!(any);
}

/// The same of samples that belong to a thread.
fn without_process(recording: &Recording, event: &str, unit: &str, from_ns: i64, to_ns: i64) -> (f64, u64) {
    let mut of_threads = recording.clone();
    let keep: Vec<bool> = of_threads.samples.tid.iter().map(|tid| *tid != 0).collect();
    of_threads.samples.retain(&keep);
    counted(&of_threads, event, unit, from_ns, to_ns)
}

/// Each row has what it has itself and what its children have; the root has everything.
fn check_flame(flame: &Table, weight: f64, samples: u64, what: &str) {
    let (depths, totals, own) = (flame.numbers::<UInt16Type>("depth"), flame.floats("total"), flame.floats("self"));
    assert!(near(totals[0], weight, 1e-9), "{what}: flame {} {weight}", totals[0]);
    assert_eq!(flame.note("samples") as u64, samples, "{what}");
    assert_eq!(depths[0], 0, "{what}");
    let mut below = vec![0.0; totals.len()];
    let mut path: Vec<usize> = Vec::new();
    for (row, depth) in depths.iter().enumerate() {
        path.truncate(usize::from(*depth));
        assert_eq!(path.len(), usize::from(*depth), "{what}: depths go down one by one");
        if let Some(parent) = path.last() {
            below[*parent] += totals[row];
        }
        path.push(row);
    }
    // When rows are cut for their number a parent has more than its children.
    let is_cut = flame.note("cut") > 0.0;
    for row in 0..totals.len() {
        let sum = own[row] + below[row];
        assert!(near(sum, totals[row], 1e-9) || (is_cut && sum < totals[row]), "{what}: row {row}");
    }
}

#[test]
fn the_explanation_is_that_of_the_terminal() {
    for (name, recording) in recordings() {
        let mut explanation = fathom_causes::explain(&recording, &ExplainOptions::default());
        if explanation.recording.title.is_empty() {
            explanation.recording.title = "test".to_owned();
        }
        let page = load(&recording);
        // As text, so that not the last digit of a number differs.
        let expected = format!("\"explanation\":{},", serde_json::to_string(&explanation).unwrap());
        assert!(String::from_utf8(ask(&page, "overview").unwrap()).unwrap().contains(&expected), "{name}");
        let overview = json(&page, "overview");
        assert_eq!(overview["facts"].as_array().unwrap().len(), recording.facts.len(), "{name}");
        let has_page = |id: &str| overview["pages"][id]["title"].is_string();
        assert!(explanation.causes.iter().all(|cause| has_page(&cause.id)), "{name}");
    }
}

#[test]
fn tables_and_bars_have_every_span_of_their_source() {
    for (name, recording) in recordings() {
        let page = load(&recording);
        let overview = json(&page, "overview");
        let origin: i64 = overview["origin_ns"].as_str().unwrap().parse().unwrap();
        let extent = &overview["extent"];
        let (from, to) = (extent["from"].as_i64().unwrap(), extent["to"].as_i64().unwrap() + 1);
        let view = fathom_timeline::Sources::new(&recording);
        for lane in overview["lanes"].as_array().unwrap().iter().filter(|lane| lane["kind"] == "spans") {
            let kind = lane["id"].as_str().unwrap();
            let what = format!("{name} {kind}");
            let count = view.as_ref().unwrap().spans(kind).len();
            let rows = table(&page, &format!("table?kinds={kind}&from={from}&to={to}&limit=20000"));
            assert_eq!((rows.len(), rows.note("total") as usize), (count.min(20_000), count), "{what}");
            let durations = rows.numbers::<Int64Type>("duration");
            assert!(durations.is_sorted_by(|a, b| a >= b), "{what}");
            let bars = table(&page, &format!("spans?kinds={kind}&from={from}&to={to}&width=200"));
            let longest = bars.numbers::<Int64Type>("longest");
            let within = longest.iter().zip(bars.numbers::<Int64Type>("duration")).all(|(one, bar)| *one <= bar);
            assert!(within && longest.iter().max() == durations.first(), "{what}");
            let merged: u32 = bars.numbers::<UInt32Type>("merged").iter().sum();
            assert_eq!(merged as usize + bars.note("cut") as usize, count, "{what}");
            let each = table(&page, &format!("spans?kinds={kind}&from={from}&to={to}"));
            assert_eq!(each.len() + each.note("cut") as usize, count, "{what}");
            let middle = from + (to - from) / 2;
            let part = table(&page, &format!("table?kinds={kind}&from={middle}&to={to}"));
            let touching = view.as_ref().unwrap().spans(kind).filter(|span| {
                let begin = span.time_ns - origin;
                begin >= middle || begin + span.duration_ns.max(0) > middle
            });
            assert_eq!(part.note("total") as usize, touching.count(), "{what}");
        }
    }
}

#[test]
fn searching_and_paging_a_table_lose_nothing() {
    let recording = crate::world::recording("jfr/jdk17_g1.jfr");
    let page = load(&recording);
    let all = table(&page, "table?limit=20000&sort=time&order=asc");
    let times = all.numbers::<Int64Type>("t");
    assert!(times.is_sorted() && all.len() > 100);
    let mut paged: Vec<u32> = Vec::new();
    for offset in (0..all.len()).step_by(50) {
        paged.extend(
            table(&page, &format!("table?limit=50&sort=time&order=asc&offset={offset}")).numbers::<UInt32Type>("row"),
        );
    }
    assert_eq!(paged, all.numbers::<UInt32Type>("row"));
    let found = table(&page, "table?find=PAUSE&limit=20000");
    let says = |row: usize| {
        let column = |name: &str| found.texts(name)[row].to_lowercase();
        column("name") + &column("kind") + &column("detail")
    };
    assert!(found.len() > 0 && (0..found.len()).all(|row| says(row).contains("pause")));
}

#[test]
fn a_baseline_of_the_same_time_is_no_difference() {
    for (name, recording) in recordings().into_iter().filter(|(_, recording)| !recording.samples.is_empty()) {
        let page = load(&recording);
        let overview = json(&page, "overview");
        let (from, to) = ends(&overview);
        for inverted in [0, 1] {
            let flame = table(&page, &format!("flame?min_share=0.001&inverted={inverted}&baseline={from}..{to}"));
            let pairs = [("total", "base_total"), ("self", "base_self")];
            for (own, base) in pairs {
                let same = flame.floats(own).iter().zip(flame.floats(base)).all(|(a, b)| near(*a, b, 1e-6));
                assert!(same, "{name} {own}");
            }
        }
    }
}

#[test]
fn a_root_gives_its_subtree_and_a_sandwich_both_sides() {
    let page = load(&crate::world::recording("jfr/ap_everything.jfr"));
    let flame = table(&page, "flame?min_share=0");
    let (nodes, totals, names) = (flame.numbers::<UInt32Type>("node"), flame.floats("total"), flame.texts("name"));
    let hottest = (1..flame.len()).max_by(|a, b| totals[*a].total_cmp(&totals[*b])).unwrap();
    let subtree = table(&page, &format!("flame?min_share=0&root={}", nodes[hottest]));
    assert_eq!(
        (subtree.texts("name")[0].as_str(), subtree.floats("total")[0]),
        (names[hottest].as_str(), totals[hottest])
    );
    let frames = table(&page, "frames?sort=total&limit=10000");
    let mut by_name: HashMap<String, (f64, usize)> = HashMap::new();
    for (name, total) in frames.texts("name").into_iter().zip(frames.floats("total")) {
        let sum = by_name.entry(name).or_default();
        *sum = (sum.0 + total, sum.1 + 1);
    }
    // A name of one kind only: where kinds call each other the sum of both is more than the whole.
    let (name, total) = by_name
        .into_iter()
        .filter(|(_, sum)| sum.1 == 1)
        .map(|(name, sum)| (name, sum.0))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap();
    let encoded: String = form_urlencoded::byte_serialize(name.as_bytes()).collect();
    for side in ["callers", "callees"] {
        let sandwich = table(&page, &format!("sandwich?frame={encoded}&side={side}&min_share=0"));
        assert_eq!(sandwich.texts("name")[0], name);
        assert!(near(sandwich.floats("total")[0], total, 1e-9), "{side}");
    }
}

#[test]
fn states_fill_no_more_than_the_time() {
    for (name, recording) in recordings() {
        let page = load(&recording);
        let states = json(&page, "overview")["states"].as_array().unwrap().len();
        let cover = table(&page, "heat?by=state&columns=64");
        let values = cover.numbers::<Float32Type>("value");
        assert!(values.iter().all(|value| *value > 0.0 && *value <= 1.0), "{name}");
        let known = cover.numbers::<Float32Type>("known");
        assert!(values.iter().zip(&known).all(|(value, known)| *value <= known + 1e-5 && *known <= 1.0), "{name}");
        assert!(cover.numbers::<UInt8Type>("state").iter().all(|state| usize::from(*state) < states), "{name}");
        let mut cells: Vec<(i32, u16)> =
            cover.numbers::<Int32Type>("thread").into_iter().zip(cover.numbers::<UInt16Type>("column")).collect();
        let count = cells.len();
        cells.sort_unstable();
        cells.dedup();
        assert_eq!(cells.len(), count, "{name}: one state per cell");
    }
}

/// Thread, state and value of the cells of each column.
fn cells_by_column(heat: &Table) -> HashMap<u16, Vec<(i32, u8, f32)>> {
    let mut columns: HashMap<u16, Vec<(i32, u8, f32)>> = HashMap::new();
    let (threads, states) = (heat.numbers::<Int32Type>("thread"), heat.numbers::<UInt8Type>("state"));
    let values = heat.numbers::<Float32Type>("value");
    for (row, column) in heat.numbers::<UInt16Type>("column").into_iter().enumerate() {
        columns.entry(column).or_default().push((threads[row], states[row], values[row]));
    }
    columns.values_mut().for_each(|cells| cells.sort_by_key(|cell| cell.0));
    columns
}

#[test]
fn a_column_is_the_same_whatever_stands_beside_it() {
    for (name, recording) in recordings() {
        let page = load(&recording);
        let overview = json(&page, "overview");
        let (from, to) = ends(&overview);
        // A damaged file may have one instant only.
        let length = ((to - from) / 64).max(1);
        for by in ["state", "samples"] {
            let ask = |columns: i64, from: i64, to: i64| {
                cells_by_column(&table(&page, &format!("heat?by={by}&columns={columns}&from={from}&to={to}")))
            };
            let mut together = ask(64, from, from + 64 * length);
            for column in [0, 1, 2, 17, 31, 32, 62, 63] {
                let begin = from + i64::from(column) * length;
                let alone = ask(1, begin, begin + length).remove(&0);
                assert_eq!(together.remove(&column), alone, "{name} {by} {column}");
            }
        }
    }
}

#[test]
fn roles_have_what_their_busy_threads_have() {
    for (name, recording) in recordings() {
        let page = load(&recording);
        let overview = json(&page, "overview");
        let idle = overview["states"].as_array().unwrap().iter().position(|state| state["color"] == "idle").unwrap();
        let roles = overview["roles"].as_array().unwrap();
        let role = |thread: i32| {
            let role = &overview["threads"][thread as usize]["role"];
            roles.iter().position(|known| known["id"] == *role).unwrap() as u8
        };
        let mut threads_of: HashMap<u8, f64> = HashMap::new();
        let count = overview["threads"].as_array().unwrap().len() as i32;
        (0..count).for_each(|thread| *threads_of.entry(role(thread)).or_default() += 1.0);
        for by in ["state", "samples"] {
            let mut largest: HashMap<(u8, u16, u8), f64> = HashMap::new();
            for (column, cells) in cells_by_column(&table(&page, &format!("heat?by={by}&columns=50"))) {
                for (thread, state, value) in cells.into_iter().filter(|cell| usize::from(cell.1) != idle) {
                    *largest.entry((role(thread), column, state)).or_default() += f64::from(value);
                }
            }
            let sums = table(&page, &format!("heat?by={by}&columns=50&sum=role"));
            let states = sums.numbers::<UInt8Type>("state");
            let columns = sums.numbers::<UInt16Type>("column").into_iter().zip(&states);
            let places = sums.numbers::<UInt8Type>("role").into_iter().zip(columns);
            let places = places.map(|(role, (column, state))| (role, column, *state));
            let found: HashMap<(u8, u16, u8), f32> = places.zip(sums.numbers::<Float32Type>("value")).collect();
            // Of a thread's column a picture of threads has the largest state, that of roles has all of them.
            for (place, sum) in &largest {
                let told = f64::from(found[place]);
                assert!(told >= sum * (1.0 - 1e-5), "{name} {by} {place:?}");
                assert!(by == "state" || near(told, *sum, 1e-6), "{name} {place:?}");
            }
            let mut all: HashMap<(u8, u16), f64> = HashMap::new();
            found
                .iter()
                .for_each(|((role, column, _), value)| *all.entry((*role, *column)).or_default() += f64::from(*value));
            let is_possible = |(place, sum): (&(u8, u16), &f64)| *sum <= threads_of[&place.0] * (1.0 + 1e-5);
            assert!(by == "samples" || all.iter().all(is_possible), "{name}: more threads than there are");
            assert!(by == "state" || found.len() == largest.len(), "{name}");
        }
    }
}

#[test]
fn requests_are_counted_by_time_and_length() {
    let mut any = false;
    for (name, recording) in recordings() {
        let page = load(&recording);
        let served = table(&page, "table?kinds=request&limit=20000");
        let cells = table(&page, "latency?columns=40");
        let lines = table(&page, "latency?columns=10&as=lines");
        let (begin, lengths) = (served.numbers::<Int64Type>("t"), served.numbers::<Int64Type>("duration"));
        let (from, to) = ends(&json(&page, "overview"));
        let is_in = |t: &&i64| (from..to).contains(*t);
        let count = begin.iter().filter(is_in).count();
        any |= count > 100;
        assert_eq!(cells.numbers::<Float32Type>("count").iter().sum::<f32>() as usize, count, "{name}");
        assert_eq!(lines.floats("count").iter().sum::<f64>() as usize, count, "{name}");
        let longest = begin.iter().zip(&lengths).filter(|(t, _)| is_in(t)).map(|(_, length)| *length).max();
        assert_eq!(lines.numbers::<Int64Type>("max").into_iter().max(), longest, "{name}");
        let middle = longest.unwrap_or(0) / 2;
        let long = table(&page, &format!("table?kinds=request&limit=20000&at_least={middle}"));
        assert_eq!(long.len(), lengths.iter().filter(|length| **length >= middle).count(), "{name}");
    }
    assert!(any);
}

fn is_of_numbers(lane: &&serde_json::Value) -> bool {
    lane["kind"] == "counter" || lane["kind"] == "rate"
}

#[test]
fn lines_that_come_together_are_those_that_come_alone() {
    for (name, recording) in recordings() {
        let page = load(&recording);
        for lane in json(&page, "overview")["lanes"].as_array().unwrap().iter().filter(is_of_numbers) {
            let id = lane["id"].as_str().unwrap();
            let together = table(&page, &format!("counter?lane={id}&instances=0-9999&width=100"));
            let (numbers, last) = (together.numbers::<UInt32Type>("instance"), together.floats("last"));
            for (number, instance) in (0..).zip(lane["instances"].as_array().unwrap()) {
                let encoded: String = form_urlencoded::byte_serialize(instance.as_str().unwrap().as_bytes()).collect();
                let alone = table(&page, &format!("counter?lane={id}&instance={encoded}&width=100"));
                let own = numbers.iter().zip(&last).filter(|(known, _)| **known == number).map(|(_, value)| *value);
                assert_eq!(own.collect::<Vec<f64>>(), alone.floats("last"), "{name} {id} {instance}");
            }
        }
    }
}

#[test]
fn waits_for_a_lock_are_seen_on_their_threads() {
    let page = load(&recordings().into_iter().find(|(name, _)| name.contains("lock_contention")).unwrap().1);
    let overview = json(&page, "overview");
    let states = overview["states"].as_array().unwrap();
    let lock = states.iter().position(|state| state["id"] == "lock").unwrap();
    let slow = &overview["explanation"]["slow"][0];
    let origin: i64 = overview["origin_ns"].as_str().unwrap().parse().unwrap();
    let at = |name: &str| slow[name].as_i64().unwrap() - origin;
    let cover = table(&page, &format!("heat?by=state&columns=10&from={}&to={}", at("from_ns"), at("to_ns")));
    let waiting: Vec<i32> = cover
        .numbers::<Int32Type>("thread")
        .into_iter()
        .zip(cover.numbers::<UInt8Type>("state"))
        .filter(|(_, state)| usize::from(*state) == lock)
        .map(|(thread, _)| thread)
        .collect();
    let name = |thread: i32| overview["threads"][thread as usize]["name"].as_str().unwrap().to_owned();
    assert!(waiting.len() >= 10 && waiting.iter().all(|thread| name(*thread).starts_with("handler")), "{waiting:?}");
}

#[test]
fn lanes_have_the_values_of_their_counters() {
    for (name, recording) in recordings() {
        let page = load(&recording);
        let overview = json(&page, "overview");
        let extent = &overview["extent"];
        let (from, to) = (extent["from"].as_i64().unwrap(), extent["to"].as_i64().unwrap() + 1);
        for lane in overview["lanes"].as_array().unwrap().iter().filter(is_of_numbers) {
            let id = lane["id"].as_str().unwrap();
            for instance in lane["instances"].as_array().unwrap() {
                let instance = instance.as_str().unwrap();
                let encoded: String = form_urlencoded::byte_serialize(instance.as_bytes()).collect();
                let question = format!("counter?lane={id}&instance={encoded}&from={from}&to={to}");
                let wide = table(&page, &format!("{question}&width=16000"));
                let narrow = table(&page, &format!("{question}&width=20"));
                let greatest = |table: &Table| table.floats("max").into_iter().fold(f64::MIN, f64::max);
                let least = |table: &Table| table.floats("min").into_iter().fold(f64::MAX, f64::min);
                assert!(wide.len() > 0 && narrow.len() <= 21, "{name} {id} {instance}");
                assert_eq!(greatest(&wide), greatest(&narrow), "{name} {id} {instance}");
                assert_eq!(least(&wide), least(&narrow), "{name} {id} {instance}");
                let table = recording.counters.rows().filter(|row| {
                    recording.text(row.name) == id && recording.text(row.instance) == instance && row.tid == 0
                });
                let highest = table.map(|row| row.value).fold(f64::MIN, f64::max);
                let is_level = lane["kind"] == "counter" && highest > f64::MIN;
                assert!(!is_level || greatest(&wide) <= highest, "{name} {id} {instance}");
            }
        }
    }
}

#[test]
fn stacks_and_logs_are_those_of_the_tables() {
    let recording = crate::world::recording("jfr/ap_everything.jfr");
    let page = load(&recording);
    let id = StackId(recording.stacks.stack_count() as u32 - 1);
    let expected: Vec<String> =
        recording.stacks.leaf_to_root(id).map(|frame| recording.text(frame.symbol).to_owned()).collect();
    let stack = json(&page, &format!("stack?id={}", id.0));
    let found: Vec<&str> =
        stack["frames"].as_array().unwrap().iter().map(|frame| frame["name"].as_str().unwrap()).collect();
    assert_eq!(found, expected);
    let page = load(&crate::world::recording("gc_log/jdk21-g1-gcstar.log"));
    assert!(String::from_utf8(ask(&page, "markdown").unwrap()).unwrap().starts_with("## Why "));
    let logs = table(&page, "log");
    assert_eq!(logs.len(), (logs.note("total") as usize).min(1_000));
}
