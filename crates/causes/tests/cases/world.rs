//! A world as text: what happened in and around a JVM, who recorded it, and what must be said of it.
//!
//! ```text
//! # A lock is held for 200 ms at a time from second 20 on.
//! jvm 25 G1 cpus 2 up 600s             # release, collector, CPUs, age when the world begins
//! flag ReservedCodeCacheSize 6MB
//! fact host container docker           # subject, key, value of any other fact
//! thread 11..14 handler-$n
//! loss live refused "the JVM did not answer"   # recorder, kind, sentence
//!
//! 0s..60s every 1s counter cpu_process_ratio user 5%
//! 0s..60s every 1s counter compile_code_bytes rising 3MB/s from 1MB
//! 0s..60s every 1s counter code_cache_used_bytes swinging 2MB..5MB over 4s
//! 0s..60s every 20ms sample execution thread 11 for 20ms stack interpreted:a.B.c < compiled:Main.run
//! 20s..40s every 250ms span monitor_enter 200ms thread 12..14 name shop.Cart detail {"previous_owner":"handler-1"}
//! 0s..60s every 2s collection young 8ms heap 180MB>20MB of 256MB old 15MB>15MB of 128MB cause "Allocation Failure" cpu 12ms
//! 20s..40s every 2s cycle 300ms pauses 2ms cause "CodeCache GC Threshold"
//! 12s..58s 23 times safepoint 202ms waiting 200ms for G1CollectForAllocation
//! 0s..60s every 10ms request 3ms
//!
//! seen by jfr | jfr gc_log             # recorders: jfr, profiler, gc_log, latency, live, probes, requests, pcap, iostat, standing; each combination is a case
//! expect slow 20s..40s by locks        # each slow stretch, within 2 s; or: expect slow never
//! expect lock_contention shown 80%..100% "shop.Cart"
//! expect full_gc_old_generation_full ruled_out
//! expect evidence lock_contention "waits for shop.Cart" 48s
//! expect unexplained 0%..20%
//! expect chain receive_queue_overflow explicit_gc   # what stands behind it, the nearest first
//! expect together lock_contention slow_downstream unexplained 90%..100%   # the sum of their shares
//! expect only lock_contention 60%..80% # what no other cause claims; `reach`: all that it claims
//! expect at 24s..26s lock_contention 90%..100%   # in the explanation of the slow stretch at that time
//! expect headline "no sign of slowness"          # what stands above all; or: expect no headline "nothing was slow"
//! expect changed "handler-1"           # an entry of what changed has the text
//! expect text "287 ms"                 # anywhere in the answer; or: expect no text "at 1970"
//! expect no figure "longest stop"      # a figure of that name is not given
//! expect look "waits/lock"             # the first cause says to look at that
//!
//! seen by gc_log
//! expect lock_contention not_enough "JFR.start"
//! ```
//!
//! - A `#` begins a comment. A name or detail with spaces stands in `"`; `$n` in it counts from 0.
//! - *When* is a time, `FROM..TO every STEP` or `FROM..TO N times`; the end is not included.
//! - The recorder `probes` knows when each collection paused the application, and not which one it was.
//! - The recorder `profiler` writes what `jfr` does, but nothing measures waits: looks at threads (`sample wall`) stand for them.
//! - The recorder `standing` is `fathom watch` before a trigger: it has `sampled_wait` spans and nothing else.
//! - What happened is written down as each recorder would: a `collection` is a pause with all its
//!   figures for both, counters and samples are JFR's, requests those of the latency file. Times in
//!   a log have milliseconds.
//! - Facts are those of the JVM's recorder; when it looked, and for what, is the live recorder's.
//! - The JVM's recorder has Fathom's settings; `fact setting jdk.JavaMonitorEnter#threshold "20 ms"`
//!   or `fact setting jdk.SocketRead#enabled false` says otherwise, for the words of the recording
//!   only: a world does not hold what was not kept.
//! - `given slow FROM..TO` says what a person knew. A line that begins with `baseline` is of another recording of the
//!   same service, in which it was well.
//! - A verdict may have alternatives (`shown|likely`); `minor` is any of them with at most 10 % of the lost time (or what
//!   the line says): what was seen but is small is not acquitted. Texts must occur in what is said of the
//!   cause, what is missing for it or what to do. `not_enough` must name a command.
//! - Causes that are `shown` or `likely` must come in the order of their lines. **A cause that no
//!   line names must be neither**, in every case, unless it is said to be next to nothing.
//! - `headline`, `changed`, `slow[].causes`, `only` and `reach` are read from the JSON: until the answer has such a field a
//!   line about it does not hold.

use crate::expect::Expectation;
use crate::happen::{Event, When};
use crate::text::{Words, range, time};

/// Everything that a file says.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) jvm: Jvm,
    /// Subject, key, value.
    pub(crate) facts: Vec<(String, String, String)>,
    pub(crate) threads: Vec<(i64, String)>,
    /// Recorder, kind, sentence.
    pub(crate) losses: Vec<(String, String, String)>,
    pub(crate) events: Vec<(When, Event)>,
    /// What happened in another recording, when the service was well.
    pub(crate) baseline: Vec<(When, Event)>,
    pub(crate) slow: Option<(i64, i64)>,
    pub(crate) views: Vec<View>,
}

/// Identity of the JVM.
#[derive(Debug, Default, Clone)]
pub(crate) struct Jvm {
    pub(crate) release: u32,
    pub(crate) collector: String,
    pub(crate) cpus: u32,
    /// Age when the world begins, in ns.
    pub(crate) age_ns: i64,
}

/// What is expected when some recorders were there.
#[derive(Debug, Default)]
pub(crate) struct View {
    /// Alternatives, each a set of recorders.
    pub(crate) recorders: Vec<Vec<String>>,
    pub(crate) expectations: Vec<Expectation>,
}

/// Reads a world; an error begins with the number of its line.
pub(crate) fn parse(text: &str) -> Result<World, String> {
    let mut world = World::default();
    for (index, line) in text.lines().enumerate() {
        world.line(index + 1, without_comment(line)).map_err(|error| format!("{}: {error}", index + 1))?;
    }
    match world.views.iter().all(|view| !view.expectations.is_empty()) && !world.views.is_empty() {
        true => Ok(world),
        false => Err("1: every `seen by` needs an `expect`".to_owned()),
    }
}

/// A comment begins at the start of a line or after white space, outside quotes.
fn without_comment(line: &str) -> &str {
    let mut in_quotes = false;
    let mut before = ' ';
    let is_comment = |c: char| {
        in_quotes ^= c == '"';
        let begins = c == '#' && !in_quotes && before.is_whitespace();
        before = c;
        begins
    };
    line.find(is_comment).map_or(line, |at| &line[..at])
}

impl World {
    fn line(&mut self, number: usize, line: &str) -> Result<(), String> {
        let mut words = Words::of(line);
        let Some(first) = words.optional() else { return Ok(()) };
        match first.as_str() {
            "jvm" => self.jvm = jvm(words)?,
            "flag" => self.facts.push(("flag".to_owned(), words.next("flag")?, plain(&words.next("value")?))),
            "fact" => self.facts.push((words.next("subject")?, words.next("key")?, words.next("value")?)),
            "thread" => self.threads(words)?,
            "loss" => self.losses.push((words.next("recorder")?, words.next("kind")?, words.next("sentence")?)),
            "given" if words.skip("slow") => self.slow = Some(range(&words.next("range")?, time)?),
            "seen" if words.skip("by") => self.views.push(View::of(&words.rest())),
            "expect" => {
                let view = self.views.last_mut().ok_or("`expect` comes after `seen by`")?;
                view.expectations.push(Expectation::parse(number, line.trim(), words)?);
            }
            "baseline" => self.baseline.push(event(words)?),
            _ => self.events.push(event(Words::of(line))?),
        }
        Ok(())
    }

    fn threads(&mut self, mut words: Words) -> Result<(), String> {
        let (tids, name) = (crate::happen::tids(&words.next("thread")?)?, words.next("name")?);
        let named = tids.iter().enumerate().map(|(index, tid)| (*tid, name.replace("$n", &index.to_string())));
        self.threads.extend(named);
        words.end()
    }
}

fn event(mut words: Words) -> Result<(When, Event), String> {
    let when = When::parse(&mut words)?;
    Ok((when, Event::parse(words)?))
}

impl View {
    fn of(words: &[String]) -> View {
        let recorders = words.split(|word| word == "|").map(<[String]>::to_vec).collect();
        View { recorders, expectations: Vec::new() }
    }
}

fn jvm(mut words: Words) -> Result<Jvm, String> {
    let number = |word: String| word.parse().map_err(|_| format!("`{word}` is not a number"));
    let release = number(words.next("release")?)?;
    let collector = words.next("collector")?;
    let cpus = if words.skip("cpus") { number(words.next("CPUs")?)? } else { 2 };
    let age_ns = if words.skip("up") { time(&words.next("age")?)? } else { 3_600_000_000_000 };
    words.end()?;
    Ok(Jvm { release, collector, cpus, age_ns })
}

/// Flags have plain numbers; `6MB` is written out.
fn plain(value: &str) -> String {
    crate::text::quantity(value).map_or(value.to_owned(), |number| format!("{number}"))
}
