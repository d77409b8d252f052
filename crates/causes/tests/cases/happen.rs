//! What happens in a world: when, and what.

use crate::text::{Words, quantity, range, time};

/// The instants of a line, in ns since the world began.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct When(pub(crate) Vec<i64>);

/// More instants than this are a mistake in the file.
const INSTANTS_MAX: i64 = 1_000_000;

impl When {
    pub(crate) fn parse(words: &mut Words) -> Result<When, String> {
        let word = words.next("time")?;
        if !word.contains("..") {
            return Ok(When(vec![time(&word)?]));
        }
        let (from, to) = range(&word, time)?;
        let step = match words.next("`every` or a number of times")?.as_str() {
            "every" => time(&words.next("step")?)?,
            times if words.skip("times") => {
                (to - from) / times.parse::<i64>().map_err(|error| error.to_string())?.max(1)
            }
            other => return Err(format!("`{other}`: expected `every STEP` or `N times`")),
        };
        if step <= 0 || (to - from) / step > INSTANTS_MAX {
            return Err(format!("`{word}` has too many steps"));
        }
        Ok(When((from..to).step_by(step as usize).collect()))
    }
}

/// A thread, or a range of them; each has what the line says.
pub(crate) fn tids(word: &str) -> Result<Vec<i64>, String> {
    let number = |word: &str| word.parse::<i64>().map_err(|_| format!("`{word}` is not a thread id"));
    match word.contains("..") {
        true => range(word, number).map(|(first, last)| (first..=last).collect()),
        false => Ok(vec![number(word)?]),
    }
}

/// How a counter goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    Constant(f64),
    Rising { per_second: f64, from: f64 },
    Swinging { low: f64, high: f64, period_ns: i64 },
}

impl Value {
    fn parse(words: &mut Words) -> Result<Value, String> {
        let first = words.next("value")?;
        match first.as_str() {
            "rising" => {
                let rate = words.next("rate")?;
                let per_second = quantity(rate.strip_suffix("/s").ok_or("a rate ends with /s")?)?;
                let from = if words.skip("from") { quantity(&words.next("value")?)? } else { 0.0 };
                Ok(Value::Rising { per_second, from })
            }
            "swinging" => {
                let (low, high) = range(&words.next("range")?, quantity)?;
                let period_ns = if words.skip("over") { time(&words.next("period")?)? } else { 4_000_000_000 };
                Ok(Value::Swinging { low, high, period_ns })
            }
            constant => Ok(Value::Constant(quantity(constant)?)),
        }
    }

    /// Its value some time after the line's first instant.
    pub(crate) fn at(self, after_ns: i64) -> f64 {
        match self {
            Value::Constant(value) => value,
            Value::Rising { per_second, from } => from + per_second * after_ns as f64 / 1e9,
            Value::Swinging { low, high, period_ns } => {
                low + (high - low) * (after_ns % period_ns) as f64 / period_ns as f64
            }
        }
    }
}

/// Bytes in use before and after, and how many there is room for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Occupancy {
    pub(crate) before: f64,
    pub(crate) after: f64,
    pub(crate) capacity: f64,
}

impl Occupancy {
    fn parse(words: &mut Words) -> Result<Occupancy, String> {
        let change = words.next("occupancy")?;
        let (before, after) = change.split_once('>').ok_or_else(|| format!("`{change}` is not BEFORE>AFTER"))?;
        let capacity = if words.skip("of") { quantity(&words.next("capacity")?)? } else { 0.0 };
        Ok(Occupancy { before: quantity(before)?, after: quantity(after)?, capacity })
    }
}

/// What the rest of a span's or sample's line says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Extra {
    /// Threads; 0 is the process.
    pub(crate) tids: Vec<i64>,
    pub(crate) name: String,
    pub(crate) detail: String,
    pub(crate) weight_ns: i64,
    pub(crate) size_bytes: i64,
    /// Kind and symbol, leaf first.
    pub(crate) stack: Vec<(String, String)>,
}

impl Extra {
    fn parse(mut words: Words) -> Result<Extra, String> {
        let mut extra = Extra { tids: vec![0], ..Extra::default() };
        while let Some(word) = words.optional() {
            match word.as_str() {
                "thread" => extra.tids = tids(&words.next("thread")?)?,
                "name" => extra.name = words.next("name")?,
                "detail" => extra.detail = words.next("detail")?,
                "for" => extra.weight_ns = time(&words.next("time")?)?,
                "bytes" => extra.size_bytes = quantity(&words.next("bytes")?)? as i64,
                "stack" => {
                    extra.stack = stack(&words.rest())?;
                    return Ok(extra);
                }
                other => return Err(format!("`{other}` is not understood")),
            }
        }
        Ok(extra)
    }
}

fn stack(words: &[String]) -> Result<Vec<(String, String)>, String> {
    let frames = words.iter().filter(|word| *word != "<");
    let frame = |word: &String| word.split_once(':').map(|(kind, symbol)| (kind.to_owned(), symbol.to_owned()));
    frames.map(|word| frame(word).ok_or_else(|| format!("`{word}` is not KIND:SYMBOL"))).collect()
}

/// One thing that happens.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    Counter { name: String, instance: String, tids: Vec<i64>, value: Value },
    Span { kind: String, duration_ns: i64, extra: Extra },
    Sample { event: String, extra: Extra },
    Collection(Collection),
    Cycle { duration_ns: i64, pause_ns: i64, cause: String },
    Safepoint { duration_ns: i64, waiting_ns: i64, operation: String },
    Request { duration_ns: i64 },
}

/// A collection in one pause.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Collection {
    pub(crate) scope: String,
    pub(crate) duration_ns: i64,
    pub(crate) cause: String,
    pub(crate) cpu_ns: Option<i64>,
    pub(crate) heap: Option<Occupancy>,
    pub(crate) old: Option<Occupancy>,
    /// Of JDK 7 and before.
    pub(crate) permanent: Option<Occupancy>,
}

impl Event {
    pub(crate) fn parse(mut words: Words) -> Result<Event, String> {
        match words.next("what happens")?.as_str() {
            "counter" => counter(words),
            "span" => {
                let (kind, duration_ns) = (words.next("kind")?, time(&words.next("length")?)?);
                Ok(Event::Span { kind, duration_ns, extra: Extra::parse(words)? })
            }
            "sample" => Ok(Event::Sample { event: words.next("event")?, extra: Extra::parse(words)? }),
            "collection" => collection(words).map(Event::Collection),
            "cycle" => cycle(words),
            "safepoint" => safepoint(words),
            "request" => {
                let duration_ns = time(&words.next("latency")?)?;
                words.end().map(|()| Event::Request { duration_ns })
            }
            other => Err(format!("`{other}` is not something that happens")),
        }
    }
}

/// `NAME [INSTANCE] [thread TID] VALUE`
fn counter(mut words: Words) -> Result<Event, String> {
    let name = words.next("counter")?;
    let is_instance = |word: &str| !matches!(word, "thread" | "rising" | "swinging") && quantity(word).is_err();
    let instance = if words.peek().is_some_and(is_instance) { words.next("instance")? } else { String::new() };
    let tids = if words.skip("thread") { tids(&words.next("thread")?)? } else { vec![0] };
    let value = Value::parse(&mut words)?;
    words.end().map(|()| Event::Counter { name, instance, tids, value })
}

fn collection(mut words: Words) -> Result<Collection, String> {
    let scope = words.next("scope")?;
    let duration_ns = time(&words.next("length")?)?;
    let mut collection = Collection { scope, duration_ns, ..Collection::default() };
    while let Some(word) = words.optional() {
        match word.as_str() {
            "heap" => collection.heap = Some(Occupancy::parse(&mut words)?),
            "old" => collection.old = Some(Occupancy::parse(&mut words)?),
            "permanent" => collection.permanent = Some(Occupancy::parse(&mut words)?),
            "cause" => collection.cause = words.next("cause")?,
            "cpu" => collection.cpu_ns = Some(time(&words.next("CPU time")?)?),
            other => return Err(format!("`{other}` is not part of a collection")),
        }
    }
    Ok(collection)
}

fn cycle(mut words: Words) -> Result<Event, String> {
    let duration_ns = time(&words.next("length")?)?;
    let pause_ns = if words.skip("pauses") { time(&words.next("length of its pauses")?)? } else { 1_000_000 };
    let cause = if words.skip("cause") { words.next("cause")? } else { "G1 Evacuation Pause".to_owned() };
    words.end().map(|()| Event::Cycle { duration_ns, pause_ns, cause })
}

fn safepoint(mut words: Words) -> Result<Event, String> {
    let duration_ns = time(&words.next("length")?)?;
    let waiting_ns = if words.skip("waiting") { time(&words.next("wait")?)? } else { 0 };
    let operation = if words.skip("for") { words.next("operation")? } else { String::new() };
    words.end().map(|()| Event::Safepoint { duration_ns, waiting_ns, operation })
}
