//! Shared code for the readers of other tools' profiles. Knows the words of evidence, and no format.

use std::borrow::Cow;
use std::path::Path;

use fathom_evidence::kinds::{UNTIMED, event, frame, loss, span};
use fathom_evidence::tables::Sample;
use fathom_evidence::{Frame, FrameId, Recording, StackId, Table};
use rustc_hash::FxHashMap;

use crate::LoadError;

/// Frames that are kept of a stack: no profiler walks further.
pub(crate) const FRAMES_MAX: usize = 2_048;

/// Entries that are kept of a table of a profile. A message of two bytes is an entry, so that a file of 1 GB could have
/// half a billion.
pub(crate) const ENTRIES_MAX: usize = 1 << 22;

/// Samples that are kept.
pub(crate) const SAMPLES_MAX: usize = 1 << 23;

/// What flame graph tools put behind a name to say its layer.
const SUFFIXES: &[(&str, &str)] = &[
    ("_[0]", frame::INTERPRETED),
    ("_[1]", frame::C1),
    ("_[j]", frame::COMPILED),
    ("_[i]", frame::INLINED),
    ("_[k]", frame::KERNEL),
];

/// The name of a frame and its layer, as far as they can be told: many profiles have no layers.
pub(crate) fn name_and_layer<'a>(name: &'a str, module: &str) -> (Cow<'a, str>, &'static str) {
    let marked = SUFFIXES.iter().find_map(|(suffix, layer)| Some((name.strip_suffix(suffix)?, *layer)));
    let (name, layer) = marked.unwrap_or_else(|| (name, layer_of_module(module)));
    (with_dots(name), layer)
}

fn layer_of_module(module: &str) -> &'static str {
    let file = module.rsplit('/').next().unwrap_or(module);
    match () {
        () if file.starts_with("libjvm.") => frame::VM,
        () if module.starts_with("[kernel") || file.starts_with("vmlinux") || file.ends_with(".ko") => frame::KERNEL,
        () if file.contains(".so") => frame::NATIVE,
        () => "",
    }
}

/// async-profiler writes classes as the JVM has them: `java/lang/Thread.run` is `java.lang.Thread.run`.
fn with_dots(name: &str) -> Cow<'_, str> {
    let is_of_java = |c: char| c.is_alphanumeric() || "/._$<>-+".contains(c);
    // Packages of Go have slashes too, and no capitals.
    let is_class = |class: &str| {
        let name = class.rsplit_once('/').filter(|(package, _)| !package.is_empty()).map(|(_, name)| name);
        !class.contains('.') && name.is_some_and(|name| name.starts_with(char::is_uppercase))
    };
    match name.rsplit_once('.') {
        Some((class, _)) if is_class(class) && name.chars().all(is_of_java) => name.replace('/', ".").into(),
        _ => name.into(),
    }
}

/// A frame by its name, with the layer if that is known.
pub(crate) fn intern_frame(recording: &mut Recording, name: &str, module: &str, line: u32) -> FrameId {
    let (name, layer) = name_and_layer(name, module);
    frame_of(recording, &name, module, line, layer)
}

/// A frame of a layer.
pub(crate) fn frame_of(recording: &mut Recording, name: &str, module: &str, line: u32, layer: &str) -> FrameId {
    let file = module.rsplit('/').next().unwrap_or(module);
    let strings = &mut recording.strings;
    let [symbol, module, kind] = [name, file, layer].map(|text| strings.intern(text));
    recording.stacks.intern_frame(Frame { symbol, module, kind, line })
}

/// Why a profile without times explains nothing, where that is wanted.
pub(crate) fn refusal(path: &Path, of: &str) -> LoadError {
    let says = format!(
        "{of} without a time of each sample: it cannot tell slow time from quiet time; fathom open shows its flame graph, fathom export converts it"
    );
    LoadError::Unusable { path: path.to_owned(), says }
}

/// What of a file could not be read.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Missing<'a> {
    /// Why its end is missing.
    pub(crate) cut: Option<&'a str>,
    /// Behind this byte nothing makes sense.
    pub(crate) ends: Option<usize>,
    /// Names and stacks that there was no room for.
    pub(crate) too_many: i64,
}

impl Missing<'_> {
    pub(crate) fn tell(self, recording: &mut Recording, source: &str, name: &str) {
        if let Some(says) = self.cut {
            recording.add_loss(source, loss::TRUNCATED, 0, &format!("{name}: {says}"));
        } else if let Some(ends) = self.ends {
            let says = format!("{name}: what follows byte {ends} makes no sense and was not read");
            recording.add_loss(source, loss::DAMAGED, 0, &says);
        }
        if self.too_many > 0 {
            let says = format!("{name}: {} names and stacks were left out, as there are too many", self.too_many);
            recording.add_loss(source, loss::LIMIT, self.too_many, &says);
        }
    }
}

/// What a value of a sample is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// One of them in ns.
    Time {
        ns: i64,
    },
    /// One of them in bytes.
    Size {
        bytes: i64,
    },
    Count,
}

impl Unit {
    /// By the name that a profile gives it.
    pub(crate) fn of(name: &str) -> Unit {
        match name {
            "nanoseconds" | "nanosecond" | "ns" => Unit::Time { ns: 1 },
            "microseconds" | "us" | "µs" | "μs" => Unit::Time { ns: 1_000 },
            "milliseconds" | "ms" => Unit::Time { ns: 1_000_000 },
            "seconds" | "s" => Unit::Time { ns: 1_000_000_000 },
            "bytes" | "byte" | "B" | "By" => Unit::Size { bytes: 1 },
            "kilobytes" | "kB" | "KiB" => Unit::Size { bytes: 1_024 },
            "megabytes" | "MB" | "MiB" => Unit::Size { bytes: 1_048_576 },
            _ => Unit::Count,
        }
    }
}

/// The word of an event of a profile, as profilers name what they count. Without times it is another word.
pub(crate) fn event_of(name: &str, unit: Unit, has_times: bool) -> Cow<'static, str> {
    let name = name.strip_suffix(UNTIMED).unwrap_or(name);
    let word = match (name, unit) {
        ("cpu" | "cpu-clock" | "task-clock" | "cycles" | "itimer" | "ctimer", _) => event::CPU,
        ("alloc_space" | "alloc_in_new_tlab_bytes" | "alloc" | "allocation", Unit::Size { .. }) => event::ALLOCATION,
        ("wall", _) => event::WALL,
        ("" | "samples" | "sample" | "count" | "events", _) => event::SAMPLED,
        // A word of evidence says more than a profile of another tool means by it.
        (other, _) if has_times && event::ALL.iter().any(|known| known.word == other) => event::SAMPLED,
        (other, _) if has_times => return other.to_owned().into(),
        (other, _) => return format!("{other}{UNTIMED}").into(),
    };
    match word {
        _ if has_times => word.into(),
        event::CPU => event::CPU_UNTIMED.into(),
        event::ALLOCATION => event::ALLOCATION_UNTIMED.into(),
        event::SAMPLED => event::SAMPLED_UNTIMED.into(),
        other => format!("{other}{UNTIMED}").into(),
    }
}

/// Numbers of threads of which only the names are known: above those of any system.
pub(crate) const FIRST_THREAD: i64 = 1 << 33;

/// The samples of a profile that has no time of each.
pub(crate) struct Untimed {
    pub(crate) recording: Recording,
    source: &'static str,
    at_ns: i64,
    /// Samples that are counted, and how often each was.
    counted: Vec<(Sample, u64)>,
    threads: FxHashMap<String, i64>,
    negative: i64,
    /// Samples that there was no room for.
    pub(crate) too_many: i64,
}

impl Untimed {
    pub(crate) fn new(source: &'static str, at_ns: i64) -> Untimed {
        Untimed {
            recording: Recording::default(),
            source,
            at_ns,
            counted: Vec::new(),
            threads: FxHashMap::default(),
            negative: 0,
            too_many: 0,
        }
    }

    /// The number of a thread of which the name is known.
    pub(crate) fn thread(&mut self, name: &str) -> i64 {
        if let Some(known) = self.threads.get(name) {
            return *known;
        }
        let tid = FIRST_THREAD + self.threads.len() as i64;
        self.recording.add_thread(tid, name);
        self.threads.insert(name.to_owned(), tid);
        tid
    }

    /// Adds what a stack has of an event. Differences of two profiles have negative values, which are left out.
    pub(crate) fn add(&mut self, event: &str, tid: i64, stack_id: StackId, value: f64, unit: Unit) {
        if value <= 0.0 {
            self.negative += i64::from(value < 0.0);
            return;
        }
        if self.counted.len() + self.recording.samples.len() >= SAMPLES_MAX {
            self.too_many += 1;
            return;
        }
        let event = self.recording.strings.intern(event);
        let row = Sample { time_ns: self.at_ns, tid, cpu: -1, event, stack_id, ..Sample::default() };
        match unit {
            Unit::Time { ns } => self.recording.samples.push(Sample { weight_ns: (value * ns as f64) as i64, ..row }),
            Unit::Size { bytes } => {
                self.recording.samples.push(Sample { size_bytes: (value * bytes as f64) as i64, ..row })
            }
            Unit::Count => self.counted.push((row, value as u64)),
        }
    }

    /// Whether nothing was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.counted.is_empty() && self.recording.samples.is_empty()
    }

    /// What was added, of a profile that covers a time from its beginning on.
    pub(crate) fn finish(mut self, name: &str, duration_ns: i64) -> Recording {
        self.spread();
        let source = self.source;
        let length = if duration_ns > 0 { format!(", of {:.1} s", duration_ns as f64 / 1e9) } else { String::new() };
        let says = format!(
            "{name}: sums{length} without a time of each sample, which are all at its beginning: slow time cannot be told from quiet time"
        );
        self.recording.add_loss(source, loss::NO_TIMES, 0, &says);
        if duration_ns > 0 {
            self.recording.add_span(self.at_ns, duration_ns, 0, span::PROFILE, name, "", source);
        }
        for (kind, count, says) in [
            (
                loss::NOT_UNDERSTOOD,
                self.negative,
                "samples have negative values and were left out: give the two profiles",
            ),
            (loss::LIMIT, self.too_many, "samples were left out, as there are too many"),
        ] {
            if count > 0 {
                self.recording.add_loss(source, kind, count, &format!("{name}: {count} {says}"));
            }
        }
        self.recording
    }

    /// A row for each time that a stack was counted. Of very many, a row stands for several.
    fn spread(&mut self) {
        const ROWS_MAX: u128 = 1 << 20;
        let total: u128 = self.counted.iter().map(|(_, count)| u128::from(*count)).sum();
        let each = total.div_ceil(ROWS_MAX).max(1);
        let mut carried = 0;
        for (row, count) in std::mem::take(&mut self.counted) {
            carried += u128::from(count);
            (0..carried / each).for_each(|_| self.recording.samples.push(row));
            carried %= each;
        }
        if each > 1 {
            let says = format!("the file counts {total} samples: each row stands for {each} of them");
            self.recording.add_loss(self.source, loss::LIMIT, 0, &says);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_layers() {
        for (name, module, expected, layer) in [
            ("java/lang/Thread.run_[j]", "", "java.lang.Thread.run", frame::COMPILED),
            ("a.B.c_[0]", "", "a.B.c", frame::INTERPRETED),
            ("do_futex_[k]", "", "do_futex", frame::KERNEL),
            ("Parse::do_one_block()", "/usr/lib/libjvm.so", "Parse::do_one_block()", frame::VM),
            ("start_thread", "libc.so.6", "start_thread", frame::NATIVE),
            ("runtime/internal/sys.x", "", "runtime/internal/sys.x", ""),
            ("java/lang/Thread.run", "", "java.lang.Thread.run", ""),
            ("/usr/lib/x.so", "", "/usr/lib/x.so", ""),
            ("a (b/c.d)", "", "a (b/c.d)", ""),
        ] {
            assert_eq!(name_and_layer(name, module), (expected.into(), layer), "{name}");
        }
    }

    #[test]
    fn counts_become_rows_and_very_many_a_part_of_them() {
        for (counts, rows, losses) in [(&[3, 2][..], 5, 1), (&[1 << 30, 1 << 30], 1 << 20, 2), (&[0], 0, 1)] {
            let mut untimed = Untimed::new("test", 1);
            counts.iter().for_each(|count| untimed.add("x", 1, StackId(0), f64::from(*count), Unit::Count));
            let recording = untimed.finish("file", 0);
            assert_eq!((recording.samples.len(), recording.losses.len()), (rows, losses));
        }
    }

    #[test]
    fn events() {
        for (name, unit, untimed, timed) in [
            ("cpu", Unit::of("nanoseconds"), "cpu_untimed", "cpu"),
            ("cpu_untimed", Unit::of("nanoseconds"), "cpu_untimed", "cpu"),
            ("alloc_space", Unit::of("bytes"), "allocation_untimed", "allocation"),
            ("samples", Unit::Count, "sampled_untimed", "sampled"),
            ("delay", Unit::of("nanoseconds"), "delay_untimed", "delay"),
            ("execution", Unit::Count, "execution_untimed", "sampled"),
        ] {
            assert_eq!((event_of(name, unit, false), event_of(name, unit, true)), (untimed.into(), timed.into()));
        }
    }
}
